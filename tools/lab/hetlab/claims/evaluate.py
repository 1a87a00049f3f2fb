# SPDX-License-Identifier: GPL-2.0
"""The papers' claims: which evidence each needs, and what must hold of it.

Two kinds. A claim about whole connections is a function from runs to a Verdict;
it is evaluated once for each source of Santa Cruz's forward delay: timestamps on
the unpatched kernel, and the option on the patched one, where it is the
scenario's variant ``option``. A claim about packets is a set of packet scripts
that name it; they must hold on the patched kernel, and what the unpatched one
does is reported. A claim that does not hold on a modern stack may name the
measured cause; it stays in the table, and if it holds all the same, the cause is
stale and the claim fails.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hetlab.claims.evidence import BY_OPTION, BY_TIMESTAMPS, Evidence, RunKey
from hetlab.errors import LabError
from hetlab.model import names
from hetlab.packet import host

Status = Literal["holds", "FAILS", "excepted", "stale cause"]
UNPATCHED = "unpatched"


@dataclass(frozen=True)
class Verdict:
    """Does it hold, and what was measured? One that is only reported does not count."""

    holds: bool
    ours: str
    counts: bool = True


Check = Callable[[Evidence], Verdict]


@dataclass(frozen=True)
class Claim:
    """One entry of the papers' list, about whole connections or (``scripts``) about packets.

    ``cost_s``: seconds of real time that its virtual machines take on one CPU, roughly; 0: it is not slow.
    """

    id: str
    paper: str
    needs: tuple[RunKey, ...]
    checks: Mapping[str, Check]
    cause: str = ""
    scripts: tuple[Path, ...] = ()
    cost_s: int = 0

    @property
    def kind(self) -> str:
        """What it is about."""
        return "packets" if self.scripts else "connections"

    @property
    def slow(self) -> bool:
        """Whether its runs take so long that ``make check`` leaves it to ``make claims``."""
        return self.cost_s > 0


CLAIMS: dict[str, Claim] = {}


def claim(
    name: str, *, paper: str, needs: Iterable[RunKey], cause: str = "", option: bool = True, cost_s: int = 0
) -> Callable[[Check], Check]:
    """Register a check of whole connections.

    ``cause`` says why it does not hold, if it does not; without ``option`` it is one about timestamps alone; a slow
    one says its cost in seconds (see Claim).
    """

    def register(check: Check) -> Check:
        given = tuple(needs)
        wanted = dict.fromkeys([*given, *(n.with_option() for n in given if option)])
        sources = (BY_TIMESTAMPS, BY_OPTION) if len(wanted) > len(set(given)) else (BY_TIMESTAMPS,)
        checks = {source: _seen_from(source, check) for source in sources}
        CLAIMS[name] = Claim(name, paper, tuple(wanted), checks, cause, cost_s=cost_s)
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
    """Claims whose ids, or old ids, begin with one of these, a whole id that one alone; all without any."""
    names.register("claims")
    chosen = set()
    for prefix in prefixes:
        found = [prefix] if prefix in CLAIMS else names.begin_with(list(CLAIMS), prefix)
        if not found:
            raise LabError(f"{prefix}: no such claim; there are {', '.join(CLAIMS)}")
        chosen.update(found)
    return [c for c in CLAIMS.values() if not prefixes or c.id in chosen]


@dataclass(frozen=True)
class Judgement:
    """A claim and its verdict from each source."""

    claim: Claim
    verdicts: dict[str, Verdict]

    @property
    def status(self) -> Status:
        """All that count must hold; a cause excepts a claim that does not, and must not outlive that."""
        holds = all(v.holds for v in self.verdicts.values() if v.counts)
        if self.claim.cause:
            return "stale cause" if holds else "excepted"
        return "holds" if holds else "FAILS"

    @property
    def good(self) -> bool:
        """Nothing to mend."""
        return self.status in ("holds", "excepted")

    def as_json(self) -> str:
        """One line."""
        c = self.claim
        sources = {s: {"holds": bool(v.holds), "ours": v.ours, "counts": v.counts} for s, v in self.verdicts.items()}
        return json.dumps(
            {"id": c.id, "verdict": self.status, "paper": c.paper, "sources": sources, "cause": c.cause},
            ensure_ascii=False,
        )

    def as_markdown(self) -> str:
        """Rows of a table: claim, verdict, paper, source, ours."""
        first = f"{self.claim.id} | {self.status} | {self.claim.paper}"
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
