# SPDX-License-Identifier: GPL-2.0
"""Tables of results: one row a congestion control, one column a number."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hetlab.model.result import RunResult
from hetlab.plots import style
from hetlab.report.description import MANY_FLOWS
from hetlab.report.findings import marked
from hetlab.report.runs import Group
from hetlab.results.columns import NONE, PAGE, Column


def _cells(results: Mapping[str, Sequence[RunResult]], column: Column) -> list[dict[str, Any]]:
    """A column of the table, a cell for each congestion control; marked as report/findings.py says."""
    best = marked(results, column)
    found = {label: column.values(runs) for label, runs in results.items()}
    return [
        {
            "text": column.text(float(column.over(v)) if v else None),
            "range": f"[{min(v):.{column.places}f} … {max(v):.{column.places}f}]"
            if column.spread and len(v) > 1
            else "",
            "best": label in best,
        }
        for label, v in found.items()
    ]


def table(g: Group) -> dict[str, Any]:
    """The table of results of a group: a row for each congestion control, the best values marked."""
    looks = style.styles(g.runs)
    shared = any(len(run.result.tcp) > 1 for run in g.every)
    columns = [column for column in PAGE if shared or column.name != "Jain"]
    cells = list(zip(*(_cells(g.results, column) for column in columns), strict=True))
    rows = [
        {
            "cc": runs[0].cc,
            "look": looks[label],
            "base": style.styles([runs[0].cc])[runs[0].cc].name,
            "params": ", ".join(f"{k}={v}" for k, v in sorted(runs[0].cc_params.items())),
            "n": len(runs),
            "cells": cells[i],
        }
        for i, (label, runs) in enumerate(g.results.items())
    ]
    return {"heads": columns, "rows": rows, "params": any(row["params"] for row in rows)}


def flow_table(g: Group) -> dict[str, Any] | None:
    """Mean goodput of every flow, where there are several."""
    names = [flow.name for flow in g.resolved.flows]
    if not 1 < len(names) <= 2 * MANY_FLOWS:
        return None
    rows = []
    for label, runs in g.results.items():
        of = {n: [f.goodput_mbit for run in runs for f in run.flows if f.name == n] for n in names}
        cells = [f"{np.mean(values):.3f}" if values else NONE for values in of.values()]
        rows.append({"look": style.styles(g.runs)[label], "cells": cells})
    heads = [(f.name, "UDP" if f.proto == "udp" else f.cc or "under test") for f in g.resolved.flows]
    return {"heads": heads, "rows": rows}
