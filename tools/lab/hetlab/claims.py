# SPDX-License-Identifier: GPL-2.0
"""The papers' claims: which evidence each needs, and what must hold of it.

Two kinds. A claim about whole connections is a function from runs to a Verdict;
it is evaluated once for each source of Santa Cruz's forward delay: timestamps on
the unpatched kernel, and the option on the patched one, where the same scenario
has ``-option`` in its name. A claim about packets is a set of packet scripts
that name it; they must hold on the patched kernel, and what the unpatched one
does is reported. A claim that does not hold on a modern stack may name the
measured cause; it stays in the table, and if it holds all the same, the cause is
stale and the claim fails.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hetlab import jobs, results, scenario, uml
from hetlab.errors import LabError
from hetlab.packet import host

MAIN_FLOW = 0
PACKET, PAYLOAD = 1500, scenario.packet_payload(1500)  # bytes: IP packet, and what is left of it beside timestamps
Floats = npt.NDArray[np.float64]
Word = Literal["holds", "FAILS", "excepted", "stale cause"]
BY_TIMESTAMPS, BY_OPTION = "timestamps", "option"
UNPATCHED = "unpatched"
OURS = "santacruz"


@dataclass(frozen=True)
class Need:
    """One run: a scenario (a point of a sweep by its full name), a congestion control, a seed.

    ``trace`` asks for the tables trace and trace-loss as well; it is the same run.
    """

    scenario: str
    cc: str
    seed: int = 1
    trace: bool = field(default=False, compare=False)

    def with_option(self) -> "Need":
        """The same with the Santa Cruz option as the source; other congestion controls have no use for it."""
        if jobs.parse_cc(self.cc).cc != OURS:
            return self
        name, bracket, point = self.scenario.partition("[")
        return dataclasses.replace(self, scenario=f"{name}-option{bracket}{point}")


def point(name: str, cc: str, swept: Mapping[str, Any]) -> Need:
    """A run at a point of a scenario's sweep; without any, of the scenario."""
    keys = ",".join(f"{key}={value}" for key, value in swept.items())
    return Need(f"{name}[{keys}]" if keys else name, cc)


def plain_keys(swept: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a sweep from keyword arguments: a__b for a.b."""
    return {key.replace("__", "."): value for key, value in swept.items()}


@dataclass
class Evidence:
    """Finished runs, and what the packet scripts gave: (patched kernel, script, IP version) to held."""

    out: Path
    wanted: dict[tuple[str, str, int], Need] = field(default_factory=dict)
    runs: dict[Need, dict[str, Any]] = field(default_factory=dict)
    points: dict[tuple[bool, str, int], bool] = field(default_factory=dict)
    source: str = BY_TIMESTAMPS

    def by(self, source: str) -> "Evidence":
        """The same evidence, seen from a source: the runs of santacruz are those with it."""
        return dataclasses.replace(self, source=source)

    def of(self, need: Need) -> Need:
        """The run that stands for a need, seen from this source."""
        return need.with_option() if self.source == BY_OPTION else need

    def add(self, result: dict[str, Any]) -> None:
        """Take a result."""
        self.runs[self.wanted[_key(result["scenario"], result)]] = result

    def __getitem__(self, need: Need) -> dict[str, Any]:
        """Result of a run."""
        return self.runs[self.of(need)]

    def table(self, need: Need, name: str) -> dict[str, list[Any]]:
        """One of a run's tables."""
        run, seen = self[need], self.of(need)
        job = {"scenario": {"name": seen.scenario}, "cc": run["cc"], "cc_params": run["cc_params"], "seed": seen.seed}
        return results.series(results.run_dir(self.out, job), name)

    def series(self, need: Need, table: str, column: str, since_s: float = 0) -> Floats:
        """A column of one of the run's tables (of the first flow, of the bottleneck's queue) from a time on."""
        columns = self.table(need, table)
        keep = np.array(columns["t"]) >= since_s
        for key, main in (("id", MAIN_FLOW), ("queue", self[need]["queue"]["link"])):
            if key in columns:
                keep &= np.array(columns[key]) == main
        return np.array(columns[column], float)[keep]


def _key(name: str, run: dict[str, Any]) -> tuple[str, str, int]:
    return name, results.label(run["cc"], run["cc_params"]), run["seed"]


@dataclass(frozen=True)
class Verdict:
    """Does it hold, and what was measured? One that is only reported does not count."""

    holds: bool
    ours: str
    counts: bool = True


Check = Callable[[Evidence], Verdict]


@dataclass(frozen=True)
class Claim:
    """One entry of the papers' list, about whole connections or (``scripts``) about packets."""

    id: str
    paper: str
    needs: tuple[Need, ...]
    checks: Mapping[str, Check]
    cause: str = ""
    scripts: tuple[Path, ...] = ()


CLAIMS: dict[str, Claim] = {}


def claim(
    name: str, *, paper: str, needs: Iterable[Need], cause: str = "", option: bool = True
) -> Callable[[Check], Check]:
    """Register a check of whole connections.

    ``cause`` says why it does not hold, if it does not; without ``option`` it is one about timestamps alone.
    """

    def register(check: Check) -> Check:
        given = tuple(needs)
        wanted = dict.fromkeys([*given, *(n.with_option() for n in given if option)])
        sources = (BY_TIMESTAMPS, BY_OPTION) if len(wanted) > len(set(given)) else (BY_TIMESTAMPS,)
        checks = {source: _seen_from(source, check) for source in sources}
        CLAIMS[name] = Claim(name, paper, tuple(wanted), checks, cause)
        return check

    return register


def _seen_from(source: str, check: Check) -> Check:
    return lambda evidence: check(evidence.by(source))


def packet_claim(name: str, *, paper: str, ours: str, cause: str = "") -> None:
    """Register a claim that the packet scripts show which name it; ``ours`` says what they demand."""
    scripts = host.scripts_of(name)
    if not scripts:
        raise LabError(f"{name}: no packet script names this claim")

    def check(patched: bool) -> Check:
        def judged(evidence: Evidence) -> Verdict:
            held = {key[1:]: value for key, value in evidence.points.items() if key[0] == patched}
            told = {(p.name, v): held.get((p.name, v)) for p in scripts for v in host.versions_of(p)}
            if None in told.values():
                return Verdict(False, f"no result of {scripts[0].stem}", counts=patched)
            bad = sorted({Path(script).stem for (script, _v), good in told.items() if not good})
            return Verdict(not bad, f"not so: {', '.join(bad)}" if bad else ours, counts=patched)

        return judged

    CLAIMS[name] = Claim(name, paper, (), {BY_OPTION: check(True), UNPATCHED: check(False)}, cause, scripts)


def select(prefixes: list[str]) -> list[Claim]:
    """Claims whose ids begin with one of these; all without any."""
    from hetlab import (  # noqa: F401 - register
        claims_fr,
        claims_hybla,
        claims_real,
        claims_santacruz,
        claims_satellite,
    )

    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in CLAIMS):
            raise LabError(f"{prefix}: no such claim; there are {', '.join(CLAIMS)}")
    return [c for c in CLAIMS.values() if not prefixes or c.id.startswith(tuple(prefixes))]


def plan(needs: Iterable[Need], evidence: Evidence) -> list[dict[str, Any]]:
    """Jobs of all runs that are needed, each once."""
    asked = list(needs)
    needs = list(dict.fromkeys(asked))
    traced = {need for need in asked if need.trace}
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


@dataclass(frozen=True)
class Judgement:
    """A claim and its verdict from each source."""

    claim: Claim
    verdicts: dict[str, Verdict]

    @property
    def word(self) -> Word:
        """All that count must hold; a cause excepts a claim that does not, and must not outlive that."""
        holds = all(v.holds for v in self.verdicts.values() if v.counts)
        if self.claim.cause:
            return "stale cause" if holds else "excepted"
        return "holds" if holds else "FAILS"

    @property
    def good(self) -> bool:
        """Nothing to mend."""
        return self.word in ("holds", "excepted")

    def as_json(self) -> str:
        """One line."""
        c = self.claim
        sources = {s: {"holds": bool(v.holds), "ours": v.ours, "counts": v.counts} for s, v in self.verdicts.items()}
        return json.dumps(
            {"id": c.id, "verdict": self.word, "paper": c.paper, "sources": sources, "cause": c.cause},
            ensure_ascii=False,
        )

    def as_markdown(self) -> str:
        """Rows of a table: claim, verdict, paper, source, ours."""
        first = f"{self.claim.id} | {self.word} | {self.claim.paper}"
        rows = []
        for source, v in self.verdicts.items():
            rows.append(f"| {first} | {source} | {v.ours} |")
            first = " | | "
        return "\n".join(rows)


def judge(chosen: list[Claim], evidence: Evidence) -> list[Judgement]:
    """Evaluate; a claim whose runs are missing does not hold."""
    return [Judgement(c, _verdicts(c, evidence)) for c in chosen]


def _verdicts(c: Claim, evidence: Evidence) -> dict[str, Verdict]:
    missing = [n for n in c.needs if n not in evidence.runs]
    if missing:
        return {s: Verdict(False, f"no result of {missing[0].scenario} {missing[0].cc}") for s in c.checks}
    return {source: check(evidence) for source, check in c.checks.items()}
