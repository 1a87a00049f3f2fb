# SPDX-License-Identifier: GPL-2.0
"""The papers' claims: which runs each needs, and what must hold of them.

A claim is a function from the runs it asks for to a Verdict, registered under
the id that the papers' list gives it. A claim that does not hold on a modern
stack may name the measured cause; it stays in the table.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hetlab import jobs, results, scenario, uml
from hetlab.errors import LabError

MAIN_FLOW = 0
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Need:
    """One run: a scenario (a point of a sweep by its full name), a congestion control, a seed.

    ``trace`` asks for the tables trace and trace-loss as well; it is the same run.
    """

    scenario: str
    cc: str
    seed: int = 1
    trace: bool = field(default=False, compare=False)


@dataclass
class Evidence:
    """Finished runs."""

    out: Path
    wanted: dict[tuple[str, str, int], Need] = field(default_factory=dict)
    runs: dict[Need, dict[str, Any]] = field(default_factory=dict)

    def add(self, result: dict[str, Any]) -> None:
        """Take a result."""
        self.runs[self.wanted[_key(result["scenario"], result)]] = result

    def __getitem__(self, need: Need) -> dict[str, Any]:
        """Result of a run."""
        return self.runs[need]

    def series(self, need: Need, table: str, column: str, since_s: float = 0) -> Floats:
        """A column of one of the run's tables (of the first flow, of the bottleneck's queue) from a time on."""
        variant = jobs.parse_cc(need.cc)
        job = {"scenario": {"name": need.scenario}, "cc": variant.cc, "cc_params": self.runs[need]["cc_params"]}
        columns = results.series(results.run_dir(self.out, job | {"seed": need.seed}), table)
        keep = np.array(columns["t"]) >= since_s
        for key, main in (("id", MAIN_FLOW), ("queue", self.runs[need]["queue"]["link"])):
            if key in columns:
                keep &= np.array(columns[key]) == main
        return np.array(columns[column], float)[keep]


def _key(name: str, run: dict[str, Any]) -> tuple[str, str, int]:
    return name, results.label(run["cc"], run["cc_params"]), run["seed"]


@dataclass(frozen=True)
class Verdict:
    """Does it hold, and what was measured?"""

    holds: bool
    ours: str


@dataclass(frozen=True)
class Claim:
    """One entry of the papers' list."""

    id: str
    paper: str
    needs: tuple[Need, ...]
    check: Callable[[Evidence], Verdict]
    cause: str = ""


CLAIMS: dict[str, Claim] = {}


def claim(
    name: str, *, paper: str, needs: Iterable[Need], cause: str = ""
) -> Callable[[Callable[[Evidence], Verdict]], Callable[[Evidence], Verdict]]:
    """Register a check; ``cause`` says why it does not hold, if it does not."""

    def register(check: Callable[[Evidence], Verdict]) -> Callable[[Evidence], Verdict]:
        CLAIMS[name] = Claim(name, paper, tuple(needs), check, cause)
        return check

    return register


def select(prefixes: list[str]) -> list[Claim]:
    """Claims whose ids begin with one of these; all without any."""
    from hetlab import claims_real, claims_santacruz  # noqa: F401 - register

    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in CLAIMS):
            raise LabError(f"{prefix}: no such claim; there are {', '.join(CLAIMS)}")
    return [c for c in CLAIMS.values() if not prefixes or c.id.startswith(tuple(prefixes))]


def plan(chosen: list[Claim], evidence: Evidence) -> list[dict[str, Any]]:
    """Jobs of all runs that the claims need, each once."""
    needs = dict.fromkeys(need for c in chosen for need in c.needs)
    traced = {need for c in chosen for need in c.needs if need.trace}
    points = {p.name: p for base in {n.scenario.partition("[")[0] for n in needs} for p in scenario.load(base)}
    resolved = {n.scenario: scenario.resolve(points[n.scenario]) for n in needs}
    scratch = uml.scratch("raw-")
    planned = [
        jobs.one(
            points[n.scenario], resolved[n.scenario], jobs.parse_cc(n.cc), n.seed, scratch / f"{i:05d}", n in traced
        )
        for i, n in enumerate(needs)
    ]
    evidence.wanted = {_key(j["scenario"]["name"], j): n for n, j in zip(needs, planned, strict=True)}
    return planned


def judge(chosen: list[Claim], evidence: Evidence) -> list[tuple[Claim, Verdict]]:
    """Evaluate; a claim whose runs are missing does not hold."""
    verdicts = []
    for c in chosen:
        missing = [n for n in c.needs if n not in evidence.runs]
        if missing:
            verdicts.append((c, Verdict(False, f"no result of {missing[0].scenario} {missing[0].cc}")))
        else:
            verdicts.append((c, c.check(evidence)))
    return verdicts
