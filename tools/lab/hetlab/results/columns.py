# SPDX-License-Identifier: GPL-2.0
"""Columns of tables of results: the one list for the terminal, the page and scripts."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from hetlab.model.result import RunResult
from hetlab.results.intervals import Statistics, over_seeds

NONE = "-"
UNIT_WORDS = {"Mbit/s": "mbit", "% of link": "percent"}
Value = Callable[[RunResult], float | None]


@dataclass(frozen=True)
class Column:
    """A number of a run; ``best``: which values are good; ``rare``: shown only where a run has it."""

    name: str
    unit: str
    places: int
    best: Literal["high", "low", ""]
    value: Value
    rare: bool = False

    @property
    def key(self) -> str:
        """Name and unit as one word, for files of tables: ``delay_p95_ms``."""
        return re.sub(r"\W+", "_", f"{self.name} {UNIT_WORDS.get(self.unit, self.unit)}".lower()).strip("_")

    def text(self, value: float | None) -> str:
        """Fixed places, but none for whole numbers of things counted; ``-`` where there is no value."""
        if value is None:
            return NONE
        return f"{value:.0f}" if self.places == 1 and value == int(value) else f"{value:.{self.places}f}"

    def values(self, runs: Sequence[RunResult]) -> list[float]:
        """Of each run, without the runs that do not have it."""
        return [float(v) for v in map(self.value, runs) if v is not None]

    def over(self, runs: Sequence[RunResult]) -> Statistics | None:
        """Mean, median and interval over the runs, of different seeds, that have it; None if none has."""
        return over_seeds(self.values(runs))

    def texts(self, found: Statistics | None) -> tuple[str, str]:
        """The mean, and half its interval with a sign: ``5.8``, ``±0.4``; empty where there is one run only."""
        if found is None:
            return NONE, ""
        return self.text(found.mean), "" if found.half is None else f"±{self.text(found.half)}"


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

    Of a trace it is what the trace has on average in the time of the run.

    The sum of goodputs cannot be used: each is over its flow's own time, and theirs may add up to more than the rate.
    """
    rate_mbit = run.scenario_resolved.rate_mbit
    if not (rate_mbit and run.tcp):
        return None
    megabits = sum(flow.goodput_mbit * (flow.end_s - flow.start_s) for flow in run.tcp)
    lasted_s = max(flow.end_s for flow in run.tcp) - min(flow.start_s for flow in run.tcp)
    return 100 * megabits / (rate_mbit * lasted_s) if lasted_s else None


def _completion_p95(run: RunResult) -> float | None:
    """Mean over the flows with a workload of the time that 95 % of their items take at most."""
    times = [f.completion.p95_s for f in run.flows if f.completion and f.completion.p95_s is not None]
    return sum(times) / len(times) if times else None


def _stalled(run: RunResult) -> float | None:
    """Of all videos together."""
    found = [flow.video.stalled_s for flow in run.flows if flow.video]
    return sum(found) if found else None


def _jain(run: RunResult) -> float | None:
    """None where there is one flow only."""
    return run.jain if len(run.tcp) > 1 else None


COLUMNS = {
    column.name: column
    for column in (
        Column("goodput", "Mbit/s", 3, "high", goodput),
        Column("share", "% of link", 1, "high", _share),
        Column("retrans.", "pkts", 1, "low", total_of("retransmits")),
        Column("timeouts", "", 1, "low", total_of("timeouts")),
        Column("queue mean", "pkts", 1, "low", of("queue", "steady_mean_pkts")),
        Column("queue p95", "pkts", 0, "low", of("queue", "p95_pkts")),
        Column("queue max", "pkts", 0, "low", of("queue", "max_pkts")),
        Column("drops", "by queue", 1, "low", of("queue", "drops")),
        Column("lost", "by link", 1, "", of("queue", "loss_model_drops")),
        Column("delay mean", "ms", 1, "low", of("owd_ms", "mean")),
        Column("delay p95", "ms", 1, "low", of("owd_ms", "p95")),
        Column("queueing p95", "ms", 1, "low", of("queueing_ms", "p95")),
        Column("completion p95", "s", 3, "low", _completion_p95, rare=True),
        Column("stalled", "s", 2, "low", _stalled, rare=True),
        Column("Jain", "", 3, "high", _jain),
        Column("wall", "s", 2, "", lambda run: run.wall_s),
    )
}


def shown(columns: Iterable[Column], runs: Sequence[RunResult]) -> tuple[Column, ...]:
    """Columns without the rare ones that no run has."""
    return tuple(column for column in columns if not column.rare or column.values(runs))


PAGE = tuple(column for name, column in COLUMNS.items() if name != "wall")
TERMINAL = tuple(column for name, column in COLUMNS.items() if name not in ("share", "queue p95", "queueing p95"))
SCRIPT = tuple(COLUMNS[name] for name in ("goodput", "retrans.", "timeouts", "queue mean", "delay p95"))
