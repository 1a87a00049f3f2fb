# SPDX-License-Identifier: GPL-2.0
"""Tables of results: one row a congestion control, one column a number."""

from collections.abc import Sequence
from typing import Any

from hetlab.model.result import RunResult
from hetlab.plots import style
from hetlab.report.description import MANY_FLOWS
from hetlab.report.runs import Group
from hetlab.results.columns import COLUMNS, NONE, PAGE, Column
from hetlab.results.intervals import over_seeds


def _cells(results: Sequence[Sequence[RunResult]], column: Column) -> list[dict[str, Any]]:
    """A column of the table, a cell for each congestion control; the best values are marked unless all are equal."""
    found = [column.texts(column.over(runs)) for runs in results]
    shown = [float(text) for text, _half in found if text != NONE]
    best = {"high": max, "low": min}.get(column.best, lambda _values, default: default)(shown, default=None)
    marked = len(set(shown)) > 1
    return [
        {"text": text, "range": half, "best": marked and text != NONE and float(text) == best} for text, half in found
    ]


def table(g: Group) -> dict[str, Any]:
    """The table of results of a group: a row for each congestion control, the best values marked."""
    looks = style.styles(g.runs)
    shared = any(len(run.result.tcp) > 1 for run in g.every)
    columns = [column for column in PAGE if shared or column.name != "Jain"]
    cells = list(zip(*(_cells(list(g.results.values()), column) for column in columns), strict=True))
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
    """Mean goodput of every flow, and half its interval, where there are several."""
    names = [flow.name for flow in g.resolved.flows]
    if not 1 < len(names) <= 2 * MANY_FLOWS:
        return None
    rows, goodput = [], COLUMNS["goodput"]
    for label, runs in g.results.items():
        of = {n: [f.goodput_mbit for run in runs for f in run.flows if f.name == n] for n in names}
        cells = [" ".join(goodput.texts(over_seeds(values))).strip() for values in of.values()]
        rows.append({"look": style.styles(g.runs)[label], "cells": cells})
    heads = [(f.name, "UDP" if f.proto == "udp" else f.cc or "under test") for f in g.resolved.flows]
    return {"heads": heads, "rows": rows}
