# SPDX-License-Identifier: GPL-2.0
"""What a command would run and how long that takes, and which seeds changed nothing."""

from collections.abc import Iterable
from itertools import groupby

from rich.table import Table

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


def plan_table(planned: list[Job], cpus: int | None) -> Table:
    """A line for each scenario and congestion control, and their sum; ``cpus`` None: not in virtual time."""
    t = Table(box=None, pad_edge=False, show_footer=True)
    virtual, real = sum(job.scenario.duration_s for job in planned), sum(map(real_s, planned))
    sum_s = f"{_duration(real / min(cpus, len(planned)))} on {cpus} CPUs" if cpus else f"{_duration(virtual)} at least"
    t.add_column("scenario", "all", overflow="fold")
    t.add_column("cc", "", overflow="fold")
    t.add_column("runs", str(len(planned)), justify="right")
    t.add_column("virtual" if cpus else "length", f"{virtual:.0f} s", justify="right")
    t.add_column("real, if idle" if cpus else "real", sum_s, justify="right")
    for (name, cc), group in groupby(planned, key=lambda job: (job.name, label(job.cc, job.cc_params))):
        jobs = list(group)
        length, real = sum(job.scenario.duration_s for job in jobs), sum(map(real_s, jobs))
        t.add_row(name, cc, str(len(jobs)), f"{length:.0f} s", _duration(real if cpus else length))
    return t


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
