# SPDX-License-Identifier: GPL-2.0
"""Tables of results: one row a congestion control, one column a number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hetlab.plots import style
from hetlab.report.description import MANY_FLOWS
from hetlab.report.runs import NONE, Group, Run, values_of

# -------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Column:
    """A column of the results; ``over``: how the values of the seeds become one."""

    head: str
    unit: str
    places: int
    best: Literal["high", "low", ""]
    value: Callable[[Run], float | None]
    over: Callable[[Sequence[float]], Any] = np.mean
    spread: bool = False


def of(part: str, key: str) -> Callable[[Run], float | None]:
    """A number of one part of a result, such as the queue."""
    return lambda run: (run.result[part] or {}).get(key)


def total_of(key: str) -> Callable[[Run], float | None]:
    """Sum over the TCP flows; None if no flow has the value."""

    def total(run: Run) -> float | None:
        values = [f[key] for f in run.tcp if f.get(key) is not None]
        return sum(values) if values else None

    return total


goodput = total_of("goodput_mbit")


def _columns(g: Group) -> list[Column]:
    """What the table shows; fairness only where flows share the link."""
    rate = g.bottleneck.get("rate_mbit")
    columns = [
        Column("goodput", "Mbit/s", 3, "high", goodput, spread=True),
        Column("share", "% of link", 1, "high", lambda run: 100 * (goodput(run) or 0) / rate if rate else None),
        Column("retrans.", "pkts", 1, "low", total_of("retransmits")),
        Column("timeouts", "", 1, "low", total_of("timeouts")),
        Column("queue", "mean pkts", 1, "low", of("queue", "steady_mean_pkts")),
        Column("queue", "p95 pkts", 0, "low", of("queue", "p95_pkts")),
        Column("queue", "max pkts", 0, "low", of("queue", "max_pkts"), max),
        Column("drops", "by queue", 1, "low", of("queue", "drops")),
        Column("drops", "by loss", 1, "", of("queue", "loss_model_drops")),
        Column("delay", "mean ms", 1, "low", of("owd_ms", "mean")),
        Column("delay", "p95 ms", 1, "low", of("owd_ms", "p95")),
    ]
    if any(len(run.tcp) > 1 for run in g.every):
        columns.append(Column("Jain", "", 3, "high", lambda run: run.result["jain"]))
    return columns


def _cells(g: Group, column: Column) -> list[dict[str, Any]]:
    """A column of the table; the best values are marked unless all are equal."""
    found = [values_of(runs, column.value) for runs in g.runs.values()]
    texts = [number(float(column.over(values)), column.places) if values else NONE for values in found]
    shown = [float(text) for text in texts if text != NONE]
    best = {"high": max, "low": min}.get(column.best, lambda _values, default: default)(shown, default=None)
    marked = len(set(shown)) > 1
    return [
        {
            "text": text,
            "range": f"[{min(v):.{column.places}f} … {max(v):.{column.places}f}]"
            if column.spread and len(v) > 1
            else "",
            "best": marked and text != NONE and float(text) == best,
        }
        for text, v in zip(texts, found, strict=True)
    ]


def number(value: float, places: int) -> str:
    """Fixed places, but none for whole numbers of things counted."""
    return f"{value:.0f}" if places == 1 and value == int(value) else f"{value:.{places}f}"


def table(g: Group) -> dict[str, Any]:
    """The table of results of a group: a row for each congestion control, the best values marked."""
    looks = style.styles(g.runs)
    columns = _columns(g)
    cells = list(zip(*(_cells(g, column) for column in columns), strict=True))
    rows = [
        {
            "cc": runs[0].result["cc"],
            "look": looks[label],
            "base": style.styles([runs[0].result["cc"]])[runs[0].result["cc"]].name,
            "params": ", ".join(f"{k}={v}" for k, v in sorted(runs[0].result["cc_params"].items())),
            "n": len(runs),
            "cells": cells[i],
        }
        for i, (label, runs) in enumerate(g.runs.items())
    ]
    return {"heads": columns, "rows": rows, "params": any(row["params"] for row in rows)}


def flow_table(g: Group) -> dict[str, Any] | None:
    """Mean goodput of every flow, where there are several."""
    names = [f["name"] for f in g.resolved["flows"]]
    if not 1 < len(names) <= 2 * MANY_FLOWS:
        return None
    rows = []
    for label, runs in g.runs.items():
        of = {n: [f["goodput_mbit"] for run in runs for f in run.result["flows"] if f["name"] == n] for n in names}
        cells = [f"{np.mean(values):.3f}" if values else NONE for values in of.values()]
        rows.append({"look": style.styles(g.runs)[label], "cells": cells})
    heads = [(f["name"], "UDP" if f["proto"] == "udp" else f["cc"] or "under test") for f in g.resolved["flows"]]
    return {"heads": heads, "rows": rows}
