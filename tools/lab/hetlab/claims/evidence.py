# SPDX-License-Identifier: GPL-2.0
"""Finished runs: which a claim or a figure needs, and what they gave."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hetlab import paths
from hetlab.model import files, jobs, resolve, scenario
from hetlab.model.congestion import label
from hetlab.model.job import Job
from hetlab.model.result import RunResult
from hetlab.results import store

MAIN_FLOW = 0
PACKET, PAYLOAD = 1500, scenario.packet_payload(1500)  # bytes: IP packet, and what is left of it beside timestamps
Floats = npt.NDArray[np.float64]
BY_TIMESTAMPS, BY_OPTION = "timestamps", "option"
OPTION = "option"  # the variant of a scenario in which santacruz has the option


@dataclass(frozen=True)
class RunKey:
    """One run: a scenario (a point of a sweep by its full name), a congestion control, a seed.

    ``trace`` asks for the tables trace and trace-loss as well; it is the same run.
    """

    scenario: str
    cc: str
    seed: int = 1
    trace: bool = field(default=False, compare=False)

    def with_option(self) -> "RunKey":
        """The same with the Santa Cruz option as the source; other congestion controls have no use for it."""
        if jobs.parse_cc(self.cc).cc != jobs.TRACED:
            return self
        name, bracket, point = self.scenario.partition("[")
        return dataclasses.replace(self, scenario=f"{name}@{OPTION}{bracket}{point}")


def point(name: str, cc: str, swept: Mapping[str, Any]) -> RunKey:
    """A run at a point of a scenario's sweep; without any, of the scenario."""
    keys = ",".join(f"{key}={value}" for key, value in swept.items())
    return RunKey(f"{name}[{keys}]" if keys else name, cc)


def plain_keys(swept: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a sweep from keyword arguments: a__b for a.b."""
    return {key.replace("__", "."): value for key, value in swept.items()}


@dataclass
class Evidence:
    """Finished runs, and what the packet scripts gave: (patched kernel, script, IP version) to held."""

    out: Path
    wanted: dict[tuple[str, str, int], RunKey] = field(default_factory=dict)
    runs: dict[RunKey, RunResult] = field(default_factory=dict)
    points: dict[tuple[bool, str, int], bool] = field(default_factory=dict)
    source: str = BY_TIMESTAMPS

    def by(self, source: str) -> "Evidence":
        """The same evidence, seen from a source: the runs of santacruz are those with it."""
        return dataclasses.replace(self, source=source)

    def of(self, need: RunKey) -> RunKey:
        """The run that stands for a need, seen from this source."""
        return need.with_option() if self.source == BY_OPTION else need

    def add(self, result: RunResult) -> None:
        """Take a result."""
        self.runs[self.wanted[_key(result.scenario, result)]] = result

    def __getitem__(self, need: RunKey) -> RunResult:
        """Result of a run."""
        return self.runs[self.of(need)]

    def table(self, need: RunKey, name: str) -> dict[str, list[Any]]:
        """One of a run's tables."""
        return store.series(store.run_dir(self.out, self[need]), name)

    def series(self, need: RunKey, table: str, column: str, since_s: float = 0) -> Floats:
        """A column of one of the run's tables (of the first flow, of the bottleneck's queue) from a time on."""
        directory = store.run_dir(self.out, self[need])
        columns = store.columns(directory, table, ["t", "id", "queue", column])
        keep = columns["t"] >= since_s
        for key, main in (("id", MAIN_FLOW), ("queue", self[need].queue.link)):
            if key in columns:
                keep &= columns[key] == main
        return np.asarray(columns[column], float)[keep]


def _key(name: str, run: Job | RunResult) -> tuple[str, str, int]:
    return name, label(run.cc, run.cc_params), run.seed


def plan(needs: Iterable[RunKey], evidence: Evidence) -> list[Job]:
    """Jobs of all runs that are needed, each once."""
    asked = list(needs)
    needs = list(dict.fromkeys(asked))
    traced = {need for need in asked if need.trace}
    points = {p.name: p for base in {n.scenario.partition("[")[0] for n in needs} for p in files.load(base)}
    resolved = {n.scenario: resolve.resolve(points[n.scenario]) for n in needs}
    for name in resolved:
        jobs.keep_traces(points[name])
    scratch = paths.scratch("raw-")
    planned = [
        jobs.one(
            points[n.scenario], resolved[n.scenario], jobs.parse_cc(n.cc), n.seed, scratch / f"{i:05d}", n in traced
        )
        for i, n in enumerate(needs)
    ]
    evidence.wanted = {_key(j.name, j): n for n, j in zip(needs, planned, strict=True)}
    return planned
