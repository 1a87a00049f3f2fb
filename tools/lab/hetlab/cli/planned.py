# SPDX-License-Identifier: GPL-2.0
"""What a command would run and how long that takes, and which seeds changed nothing."""

from collections.abc import Iterable
from itertools import groupby

from rich.table import Table

from hetlab.cli.tables import measured, widest
from hetlab.model.congestion import label
from hetlab.model.job import Job
from hetlab.model.result import RunResult

# Real time of a virtual-time run on one CPU, from docs/lab.md: start and set-up, and each packet over three links
RUN_S = 1.5
PACKET_S = 8e-6


MTU = 1500  # where no link is emulated


def real_s(job: Job) -> float:
    """About how long a run takes on one CPU: as if the bottleneck were full all the time."""
    mtu = min((link.mtu for link in job.scenario.links.values()), default=MTU)
    pkts = (job.scenario.rate_mbit or 0) * 1e6 / 8 / mtu * job.scenario.duration_s
    return RUN_S + PACKET_S * pkts


def plan_tables(planned: list[Job], cpus: int | None, width: int) -> list[Table]:
    """A line for each scenario and congestion control, and their sum; ``cpus`` None: not in virtual time.

    Where that is wider than ``width`` characters each scenario has a table of its own, with its name above.
    """
    whole = _plan(planned, cpus)
    _totals(whole, planned, cpus)
    if measured(whole).maximum <= width:
        return [whole]
    parts = [_plan(list(those), cpus, name) for name, those in groupby(planned, key=lambda job: job.name)]
    _totals(parts[-1], planned, cpus)
    widths = [max(widest(t.columns[i]) for t in parts) for i in range(len(parts[0].columns))]
    for t in parts:
        for column, least in zip(t.columns, widths, strict=True):
            column.min_width = least
    return parts


def _plan(planned: list[Job], cpus: int | None, title: str = "") -> Table:
    """Of one scenario, if there is a title, which then is its name."""
    t = Table(box=None, pad_edge=False, title=title or None, title_justify="left", title_style="bold")
    for head in ("cc",) if title else ("scenario", "cc"):
        t.add_column(head, no_wrap=True)
    for head in ("runs", "virtual" if cpus else "length", "real, if idle" if cpus else "real"):
        t.add_column(head, justify="right", no_wrap=True)
    for (name, cc), group in groupby(planned, key=lambda job: (job.name, label(job.cc, job.cc_params))):
        jobs = list(group)
        length, real = sum(job.scenario.duration_s for job in jobs), sum(map(real_s, jobs))
        names = (cc,) if title else (name, cc)
        t.add_row(*names, str(len(jobs)), f"{length:.0f} s", _duration(real if cpus else length))
    return t


def _totals(t: Table, planned: list[Job], cpus: int | None) -> None:
    """The last line: all that is planned."""
    virtual, real = sum(job.scenario.duration_s for job in planned), sum(map(real_s, planned))
    sum_s = f"{_duration(real / min(cpus, len(planned)))} on {cpus} CPUs" if cpus else f"{_duration(virtual)} at least"
    names = ("all", *("" for _column in t.columns[4:]))
    t.add_row(*names, str(len(planned)), f"{virtual:.0f} s", sum_s)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def alike(rows: Iterable[RunResult]) -> list[str]:
    """A line for each scenario whose seeds all gave the same: nothing in it is random."""
    by_scenario: dict[str, dict[str, list[RunResult]]] = {}
    for run in rows:
        by_scenario.setdefault(run.scenario, {}).setdefault(run.label, []).append(run)
    return [
        f"{name}: every seed gave the same numbers; nothing in it is random"
        " (loss, jitter, an AQM that draws lots, start_jitter_s of a flow)"
        for name, runs in by_scenario.items()
        if any(len(of) > 1 for of in runs.values())
        and all(
            (one.flows, one.queue, one.owd_ms) == (of[0].flows, of[0].queue, of[0].owd_ms)
            for of in runs.values()
            for one in of
        )
    ]
