# SPDX-License-Identifier: GPL-2.0
"""Columns of tables of results: the one list for the terminal, the page and scripts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hetlab.model.result import RunResult

NONE = "-"
Value = Callable[[RunResult], float | None]


@dataclass(frozen=True)
class Column:
    """A number of a run; ``over``: how the values of several seeds become one, ``best``: which values are good."""

    name: str
    unit: str
    places: int
    best: Literal["high", "low", ""]
    value: Value
    over: Callable[[Sequence[float]], Any] = np.mean
    spread: bool = False

    def text(self, value: float | None) -> str:
        """Fixed places, but none for whole numbers of things counted; ``-`` where there is no value."""
        if value is None:
            return NONE
        return f"{value:.0f}" if self.places == 1 and value == int(value) else f"{value:.{self.places}f}"

    def values(self, runs: Sequence[RunResult]) -> list[float]:
        """Of each run, without the runs that do not have it."""
        return [float(v) for v in map(self.value, runs) if v is not None]


def of(part: str, key: str) -> Value:
    """A number of one part of a result, such as the queue."""
    return lambda run: getattr(getattr(run, part), key, None)


def total_of(key: str) -> Value:
    """Sum over the TCP flows; None if no flow has the value."""

    def total(run: RunResult) -> float | None:
        values = [value for flow in run.tcp if (value := getattr(flow, key)) is not None]
        return sum(values) if values else None

    return total


goodput = total_of("goodput_mbit")


def _share(run: RunResult) -> float | None:
    """Payload of all TCP flows, from the first start to the last end, in percent of what the bottleneck's rate carries.

    The sum of goodputs cannot be used: each is over its flow's own time, and theirs may add up to more than the rate.
    """
    way = run.scenario_resolved.bottleneck
    if not (way and way.rate_mbit and run.tcp):
        return None
    megabits = sum(flow.goodput_mbit * (flow.end_s - flow.start_s) for flow in run.tcp)
    lasted_s = max(flow.end_s for flow in run.tcp) - min(flow.start_s for flow in run.tcp)
    return 100 * megabits / (way.rate_mbit * lasted_s) if lasted_s else None


def _jain(run: RunResult) -> float | None:
    """None where there is one flow only."""
    return run.jain if len(run.tcp) > 1 else None


COLUMNS = {
    column.name: column
    for column in (
        Column("goodput", "Mbit/s", 3, "high", goodput, spread=True),
        Column("share", "% of link", 1, "high", _share),
        Column("retrans.", "pkts", 1, "low", total_of("retransmits")),
        Column("timeouts", "", 1, "low", total_of("timeouts")),
        Column("queue mean", "pkts", 1, "low", of("queue", "steady_mean_pkts")),
        Column("queue p95", "pkts", 0, "low", of("queue", "p95_pkts")),
        Column("queue max", "pkts", 0, "low", of("queue", "max_pkts"), max),
        Column("drops", "by queue", 1, "low", of("queue", "drops")),
        Column("lost", "by link", 1, "", of("queue", "loss_model_drops")),
        Column("delay mean", "ms", 1, "low", of("owd_ms", "mean")),
        Column("delay p95", "ms", 1, "low", of("owd_ms", "p95")),
        Column("queueing p95", "ms", 1, "low", of("queueing_ms", "p95")),
        Column("Jain", "", 3, "high", _jain),
        Column("wall", "s", 2, "", lambda run: run.wall_s),
    )
}
PAGE = tuple(column for name, column in COLUMNS.items() if name != "wall")
TERMINAL = tuple(column for name, column in COLUMNS.items() if name not in ("share", "queue p95", "queueing p95"))
SCRIPT = tuple(COLUMNS[name] for name in ("goodput", "retrans.", "timeouts", "queue mean", "delay p95"))
