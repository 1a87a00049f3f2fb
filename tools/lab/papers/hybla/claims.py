# SPDX-License-Identifier: GPL-2.0
"""Claims of the Hybla paper: congestion, link losses, fairness; those about the ideal channel are in ideal.py.

Goodput is in Mbit/s of payload. What is compared with others is what a user gets; the paper recommends packet spacing,
which hybla_ext has.
"""

import numpy as np

from hetlab.claims.evaluate import Verdict
from hetlab.claims.evidence import Evidence, RunKey
from hetlab.model.result import known
from papers.common import claim, goodput, row, tcp
from papers.hybla import ideal  # noqa: F401 - registers its claims, which come first
from papers.hybla.runs import (
    INTREE,
    JUDGED,
    LEGS_MS,
    LINK_MBIT,
    NEWRENO,
    OURS,
    PAPER,
    PAPER_NOSACK,
    RIVALS,
    SACK,
    SPACED,
    point,
    rtt_ms,
    sweep,
)

# ---------------------------------------------------- congestion, link losses

CONGESTION = {
    cc: sweep("hybla-congestion", cc) for cc in (PAPER, PAPER_NOSACK, SPACED, OURS, INTREE, SACK, NEWRENO, "vegas")
}
LONG_MS = 300
FAIR_MBIT = LINK_MBIT / 6


def over(e: Evidence, runs: dict[int, RunKey], name: str = "main") -> dict[int, float]:
    """Goodput by round trip in ms."""
    return {ms: goodput(e, run, name) for ms, run in runs.items()}


def ends(values: dict[int, float]) -> str:
    """At the shortest round trip, at 300 ms, at the longest."""
    return row([values[min(values)], values[LONG_MS], values[max(values)]])


@claim(
    "hybla-f6",
    paper="at 600 ms 0.7 of its goodput at 25 ms, 0.6 of the fair share; from 300 ms on 5 times Reno; wired flows 0.8",
    needs=[run for runs in CONGESTION.values() for run in runs.values()],
    cost_s=200,
)
def congested(e: Evidence) -> Verdict:
    """By default, to the better Reno; the paper's rules and the others are reported, not judged, at 25, 300, 600 ms."""
    got = {cc: over(e, runs) for cc, runs in CONGESTION.items()}
    ours = got[JUDGED]
    first, last = ours[min(ours)], ours[max(ours)]
    times = min(ours[ms] / max(got[cc][ms] for cc in RIVALS) for ms in ours if ms >= LONG_MS)
    wired = min(over(e, CONGESTION[JUDGED], "wired").values()) / FAIR_MBIT
    good = last >= 0.7 * first and last >= 0.6 * FAIR_MBIT and times >= 5 and wired >= 0.8
    said = f"{last / first:.2f} of 25 ms, {last / FAIR_MBIT:.2f} of fair, {times:.1f} times Reno, wired {wired:.2f}"
    return Verdict(good, f"{said}. " + "; ".join(f"{cc} {ends(values)}" for cc, values in got.items()))


LOSSY = {cc: sweep("hybla-loss", cc) for cc in CONGESTION}
TIMES_NEWRENO = 10
SHORT_MBIT, LONG_MBIT = 3, 2


def drawn_mbit(ms: float) -> float:
    """What figure 7 has at least: from 3 Mbit/s at 25 ms to 2 at 600 ms."""
    return float(np.interp(ms, (rtt_ms(LEGS_MS[0]), rtt_ms(LEGS_MS[-1])), (SHORT_MBIT, LONG_MBIT)))


@claim(
    "hybla-f7",
    paper="1 % lost: 3-2 Mbit/s from 25 to 600 ms, more than 10 times NewReno above 300 ms",
    needs=[run for runs in LOSSY.values() for run in runs.values()],
    cost_s=200,
)
def lossy(e: Evidence) -> Verdict:
    """By default; the paper's rules and the others are reported, not judged, at 25, 300, 600 ms."""
    got = {cc: over(e, runs) for cc, runs in LOSSY.items()}
    ours = got[JUDGED]
    share = min(mbit / drawn_mbit(ms) for ms, mbit in ours.items())
    times = min(ours[ms] / got[NEWRENO][ms] for ms in ours if ms > LONG_MS)
    said = f"at least {share:.2f} of the paper's, {times:.1f} times NewReno. "
    return Verdict(
        share >= 1 and times > TIMES_NEWRENO, said + "; ".join(f"{cc} {ends(values)}" for cc, values in got.items())
    )


PERCENTS = (0, 1, 5)
BOTH = {
    (cc, p): sweep("hybla-both", cc, percent=p) if p else CONGESTION[cc] for cc in (PAPER, OURS, SACK) for p in PERCENTS
}
SATISFACTORY = {1: 0.5, 5: 0.25}  # of the fair share, at every round trip


@claim(
    "hybla-f8",
    paper="congestion and losses of 1, 5 %: satisfactory at every RTT (0.5, 0.25 of fair); less than both apart",
    needs=[run for runs in (*BOTH.values(), LOSSY[JUDGED]) for run in runs.values()],
    cause="0.97 times the product at 50 ms, 0.98 at 25, 1.03 to 1.18 from 100 ms on: alone with 1 % lost the flow has "
    "9.0 Mbit/s at both, 8.3 at 25 ms with the law before 2026-11-30, and beside others 1.75 and 1.37 (1.67 at 25 ms)",
    cost_s=300,
)
def both(e: Evidence) -> Verdict:
    """By default. Apart: the product of what each alone leaves of the link, which is less than their sum."""
    got = {key: over(e, runs) for key, runs in BOTH.items()}
    alone = over(e, LOSSY[JUDGED])
    least = {p: min(got[JUDGED, p].values()) / FAIR_MBIT for p in SATISFACTORY}
    joint = min(got[JUDGED, 1][ms] / (got[JUDGED, 0][ms] * alone[ms] / LINK_MBIT) for ms in alone)
    good = all(least[p] >= share for p, share in SATISFACTORY.items()) and joint > 1
    said = f"least of fair {row(least)}; {joint:.1f} times the product of both. "
    return Verdict(good, said + "; ".join(f"{cc} {p} %: {ends(values)}" for (cc, p), values in got.items()))


# ------------------------------------------------------------------ fairness

FAIR = {cc: point("hybla-fair", cc) for cc in (PAPER, SPACED, OURS, INTREE, SACK, NEWRENO, PAPER_NOSACK)}
EVEN = 0.95


def used(e: Evidence, run: RunKey) -> float:
    """Sum of the goodputs, in shares of the bottleneck."""
    return float(sum(flow.goodput_mbit for flow in e[run].flows)) / LINK_MBIT


def resent(e: Evidence, run: RunKey) -> float:
    """Share of the bytes that are retransmissions, all flows."""
    flows = e[run].flows
    return float(sum(known(f.bytes_retrans) for f in flows) / sum(known(f.bytes_sent) for f in flows))


@claim(
    "hybla-f9-f10",
    paper="Reno starves flows of 300 ms; with Hybla all six have the same: Jain 0.95",
    needs=FAIR.values(),
    cost_s=70,
)
def fair(e: Evidence) -> Verdict:
    """By default; others are reported, not judged: Jain, and Mbit/s of a long and of a wired flow."""
    said = [
        f"{cc} {known(e[run].jain):.3f} ({goodput(e, run):.2f}, {goodput(e, run, 'wired'):.2f})"
        for cc, run in FAIR.items()
    ]
    return Verdict(known(e[FAIR[JUDGED]].jain) >= EVEN, "; ".join(said))


@claim(
    "hybla-f11",
    paper="packet spacing: every flow gains, the retransmitted share halves",
    needs=[FAIR[cc] for cc in (PAPER, SPACED, OURS)],
    cost_s=30,
)
def spaced(e: Evidence) -> Verdict:
    """Goodput of all six is above, and what is resent at most half."""
    total = {cc: used(e, FAIR[cc]) for cc in (PAPER, SPACED, OURS)}
    again = {cc: resent(e, FAIR[cc]) for cc in total}
    gain = {
        name: goodput(e, FAIR[SPACED], name) / goodput(e, FAIR[PAPER], name)
        for name in ("main", "wired")
        if tcp(e, FAIR[PAPER], name)
    }
    good = total[SPACED] > total[PAPER] and again[SPACED] <= again[PAPER] / 2
    return Verdict(good, f"of the link {row(total, 3)}; resent {row(again, 4)}; goodput with spacing {row(gain)}")
