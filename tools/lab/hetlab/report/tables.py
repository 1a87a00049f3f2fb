# SPDX-License-Identifier: GPL-2.0
"""Tables of results: one row a congestion control, one column a number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hetlab.model.result import FlowResult, RunResult
from hetlab.plots import style
from hetlab.report.description import MANY_FLOWS
from hetlab.report.findings import marked
from hetlab.report.runs import Group
from hetlab.results.columns import COLUMNS, NONE, PAGE, Column, shown
from hetlab.results.intervals import over_seeds

WORKLOAD_HEADS = ("flow", "cc under test", "items", "begun", "complete", "mean", "p50", "p95", "p99", "longest", "more")


@dataclass(frozen=True)
class Cell:
    """A number as text, half its interval, and whether it is among the best of its column."""

    text: str
    range: str
    best: bool


@dataclass(frozen=True)
class Row:
    """A congestion control: its looks, its name without parameters, these, how many seeds, a cell for each column."""

    cc: str
    look: style.Style
    base: str
    params: str
    n: int
    cells: Sequence[Cell]


@dataclass(frozen=True)
class ResultTable:
    """Columns and rows; ``params``: whether any row has parameters."""

    heads: Sequence[Column]
    rows: Sequence[Row]
    params: bool


@dataclass(frozen=True)
class FlowRow:
    """Goodput of each flow beside one congestion control under test."""

    look: style.Style
    cells: Sequence[str]


@dataclass(frozen=True)
class FlowTable:
    """Name and congestion control of each flow, and the rows."""

    heads: Sequence[tuple[str, str]]
    rows: Sequence[FlowRow]


def _cells(results: Mapping[str, Sequence[RunResult]], column: Column) -> list[Cell]:
    """A column of the table, a cell for each congestion control; marked as report/findings.py says."""
    best = marked(results, column)
    found = {label: column.texts(column.over(runs)) for label, runs in results.items()}
    return [Cell(text, half, label in best and text != NONE) for label, (text, half) in found.items()]


def table(g: Group) -> ResultTable:
    """The table of results of a group: a row for each congestion control, the best values marked."""
    looks = style.styles(g.runs)
    shared = any(len(run.result.tcp) > 1 for run in g.every)
    every = [run.result for run in g.every]
    columns = [column for column in shown(PAGE, every) if shared or column.name != "Jain"]
    cells = list(zip(*(_cells(g.results, column) for column in columns), strict=True))
    rows = [
        Row(
            cc=runs[0].cc,
            look=looks[label],
            base=style.styles([runs[0].cc])[runs[0].cc].name,
            params=", ".join(f"{k}={v}" for k, v in sorted(runs[0].cc_params.items())),
            n=len(runs),
            cells=cells[i],
        )
        for i, (label, runs) in enumerate(g.results.items())
    ]
    return ResultTable(columns, rows, params=any(row.params for row in rows))


def flow_table(g: Group) -> FlowTable | None:
    """Mean goodput of every flow, and half its interval, where there are several."""
    names = [flow.name for flow in g.resolved.flows]
    if not 1 < len(names) <= 2 * MANY_FLOWS:
        return None
    rows, goodput = [], COLUMNS["goodput"]
    for label, runs in g.results.items():
        of = {n: [f.goodput_mbit for run in runs for f in run.flows if f.name == n] for n in names}
        cells = [" ".join(goodput.texts(over_seeds(values))).strip() for values in of.values()]
        rows.append(FlowRow(style.styles(g.runs)[label], cells))
    heads = [(f.name, "UDP" if f.proto == "udp" else f.stack or f.cc or "under test") for f in g.resolved.flows]
    return FlowTable(heads, rows)


def workload_table(g: Group) -> list[list[str]] | None:
    """Completion times (s) of every flow with a workload, means of the seeds; None if there is none."""
    names = [flow.name for flow in g.resolved.flows if flow.workload]
    looks = style.styles(g.runs)
    rows = [
        [name, looks[label].name, *_workload_cells([f for run in runs for f in run.flows if f.name == name])]
        for name in names[: 2 * MANY_FLOWS]
        for label, runs in g.results.items()
    ]
    return rows or None


def _workload_cells(flows: Sequence[FlowResult]) -> list[str]:
    """One flow in runs of several seeds."""
    found = [flow.completion for flow in flows if flow.completion]
    if not found:
        return [NONE] * (len(WORKLOAD_HEADS) - 2)
    counts = [_mean([part.n for part in found], 0), _mean([part.done for part in found], 0)]
    times = [_mean([getattr(part, f"{key}_s") for part in found], 3) for key in ("mean", "p50", "p95", "p99", "max")]
    return [f"{found[0].kind}s", *counts, *times, _watched(flows)]


def _watched(flows: Sequence[FlowResult]) -> str:
    """A video's stalls and rate; connections that failed."""
    failed = sum(flow.failed or 0 for flow in flows)
    videos = [flow.video for flow in flows if flow.video]
    words = [f"{failed} failed"] if failed else []
    if videos:
        stalls, stalled = _mean([v.stalls for v in videos], 1), _mean([v.stalled_s for v in videos], 1)
        rate, startup = _mean([v.rate_mbit for v in videos], 2), _mean([v.startup_s for v in videos], 2)
        words.append(f"{rate} Mbit/s, begins after {startup} s, {stalls} stalls, {stalled} s in all")
    return ", ".join(words)


def _mean(values: Sequence[float | None], places: int) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.{places}f}" if known else NONE
