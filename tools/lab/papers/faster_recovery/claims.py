# SPDX-License-Identifier: GPL-2.0
"""Claims of the faster-recovery paper (MILCOM 2000), and those about long paths, friendliness and the estimate.

The paper's Reno is ``RENO``, without SACK; its SACK is today's ``reno``. Goodput is the mean of the connections, as in
the paper's figures, in Mbit/s of payload.
"""

import numpy as np

from hetlab.claims.evaluate import Verdict
from hetlab.claims.evidence import PACKET, PAYLOAD, Evidence, Floats, RunKey
from hetlab.model.result import known
from papers.common import WITHOUT_SACK, claim, goodput, need, point, row, tcp
from papers.faster_recovery import STREAMS as VARIANTS

FR, GFR, SACK = "westwood_fr", "westwood_gfr", "reno"
RENO = SACK + WITHOUT_SACK
COUNT = "flow.main.count"
RATE = "link.bottleneck.forward.rate_mbit"
DELAY = "link.bottleneck.forward.delay_ms"
COUNTS = (1, 2, 5, 10, 20, 30)
RATES_MBIT = (2, 10, 45, 100, 150)
ONOFF_DELAYS_MS = (10, 25, 50, 100, 150, 250, 500)
RANDOM_DELAYS_MS = (10, 25, 50, 100, 250, 500, 1000)
NOT_WORSE = 0.95


# ------------------------------------------------------------ bursty traffic

FEW, MANY = (1, 2, 5), (20, 30)
F2 = {
    (cc, n): need("faster_recovery-onoff", cc, flow__main__count=n) for cc in (GFR, SACK, RENO) for n in (*FEW, *MANY)
}


@claim(
    "faster_recovery-f2",
    paper="GFR above Reno and SACK for 1, 2, 5 connections; at least 0.95 of SACK for 20, 30",
    needs=F2.values(),
    cost_s=150,
)
def connections(e: Evidence) -> Verdict:
    """By number of connections."""
    got = {key: goodput(e, run) for key, run in F2.items()}
    above = {n: got[GFR, n] / max(got[SACK, n], got[RENO, n]) for n in FEW}
    beside = {n: got[GFR, n] / got[SACK, n] for n in MANY}
    good = min(above.values()) > 1 and min(beside.values()) >= NOT_WORSE
    return Verdict(good, f"to the better of Reno and SACK: {row(above)}; to SACK: {row(beside)}")


# The paper's own rules: what they take from bursty traffic, they take by a bias of the estimate that ours has not
BY_PAPER = "@paper"
FASTEST = max(RATES_MBIT)
F3 = {
    cc: point("faster_recovery-onoff-rate", cc, {RATE: FASTEST})
    for cc in (FR + BY_PAPER, GFR + BY_PAPER, SACK, RENO, FR, GFR)
}


@claim(
    "faster_recovery-f3",
    paper="150 Mbit/s: FR best, then GFR, then the rest",
    needs=F3.values(),
    cause="the paper's estimate is so far above the bottleneck's rate that no window is above ssthresh in 3985 samples:"
    " GFR's rule never applies, both send the same packets, and half of them are sent again",
    cost_s=120,
)
def fastest(e: Evidence) -> Verdict:
    """The same order with the paper's rules; retransmissions and the defaults are reported, not judged."""
    got = {cc: goodput(e, run) for cc, run in F3.items()}
    again = {cc: sum(known(flow.retransmits) for flow in tcp(e, F3[cc])) for cc in (FR + BY_PAPER, FR)}
    good = got[FR + BY_PAPER] > got[GFR + BY_PAPER] > max(got[SACK], got[RENO])
    said = f"by the paper's rules FR {got[FR + BY_PAPER]:.2f}, GFR {got[GFR + BY_PAPER]:.2f}; "
    rest = {cc: got[cc] for cc in (SACK, RENO, FR, GFR)}
    return Verdict(good, f"{said}{row(rest)} Mbit/s; FR resends {again[FR + BY_PAPER]}, by default {again[FR]}")


LONG_RTT_MS = 200
F4 = {
    (cc, ms): point("faster_recovery-onoff-delay", cc, {DELAY: ms})
    for cc in (FR + BY_PAPER, FR, SACK, RENO)
    for ms in ONOFF_DELAYS_MS
}


@claim(
    "faster_recovery-f4",
    paper="FR above Reno and SACK where the RTT is above 0.2 s; below it not worse than SACK (0.95)",
    needs=F4.values(),
    cost_s=220,
)
def delays(e: Evidence) -> Verdict:
    """Above by the paper's rules, below by the default estimator; the others are reported, not judged."""
    got = {key: goodput(e, run) for key, run in F4.items()}
    best = {ms: max(got[SACK, ms], got[RENO, ms]) for ms in ONOFF_DELAYS_MS}
    above = [ms for ms in ONOFF_DELAYS_MS if 2 * ms > LONG_RTT_MS]
    below = [ms for ms in ONOFF_DELAYS_MS if 2 * ms <= LONG_RTT_MS]
    ratio = {(cc, ms): got[cc, ms] / best[ms] for cc in (FR + BY_PAPER, FR) for ms in above}
    ratio |= {(cc, ms): got[cc, ms] / got[SACK, ms] for cc in (FR + BY_PAPER, FR) for ms in below}
    good = all(ratio[FR + BY_PAPER, ms] > 1 for ms in above) and all(ratio[FR, ms] >= NOT_WORSE for ms in below)
    said = [
        f"{name}: above {row({2 * ms: ratio[cc, ms] for ms in above})}; "
        f"to SACK below {row({2 * ms: ratio[cc, ms] for ms in below})}"
        for name, cc in (("by the paper's rules, RTT in ms and ratio", FR + BY_PAPER), ("by default", FR))
    ]
    return Verdict(good, ". ".join(said))


# ------------------------------------------------------------- random losses

LOSSY: dict[str, tuple[str, tuple[int, ...]]] = {
    "faster_recovery-random": (COUNT, COUNTS),
    "faster_recovery-random-rate": (RATE, RATES_MBIT),
    "faster_recovery-random-delay": (DELAY, RANDOM_DELAYS_MS),
}
POINTS = [(name, {key: value}) for name, (key, values) in LOSSY.items() for value in values]
ALMOST_ALL = 0.9
FULL = 0.99


def carried_mbit(e: Evidence, run: RunKey) -> float:
    """Payload that the bottleneck can carry, for each of the connections."""
    link = e[run].scenario_resolved.links["bottleneck"].forward.rate_mbit
    return known(link) * PAYLOAD / PACKET / len(tcp(e, run))


@claim(
    "faster_recovery-f5-f7",
    paper="FR and GFR above Reno and SACK in almost all cases (90 %); where both fill the link none can be",
    needs=[point(name, cc, at) for name, at in POINTS for cc in (FR, GFR, SACK, RENO)],
    cost_s=500,
)
def random_losses(e: Evidence) -> Verdict:
    """Each of the two, in the points of the three sweeps at which Reno and SACK leave something of the link."""
    best = [max(goodput(e, point(name, cc, at)) for cc in (SACK, RENO)) for name, at in POINTS]
    open_to = [i for i, (name, at) in enumerate(POINTS) if best[i] < FULL * carried_mbit(e, point(name, SACK, at))]
    good, said = True, []
    for ours in (FR, GFR):
        ratios = [goodput(e, point(POINTS[i][0], ours, POINTS[i][1])) / best[i] for i in open_to]
        above = sum(ratio > 1 for ratio in ratios)
        good &= above >= ALMOST_ALL * len(ratios)
        said.append(f"{ours} {above} of {len(ratios)}, {min(ratios):.2f}..{max(ratios):.2f} times")
    return Verdict(good, f"{'; '.join(said)}; full for all at {len(POINTS) - len(open_to)} more")


LATE_S = 100.0
F8 = {cc: need("faster_recovery-random", cc, flow__main__count=10) for cc in (FR, GFR, SACK, RENO)}
TIMES_RENO = 3


def late_mbit(e: Evidence, run: RunKey) -> Floats:
    """Goodput of each connection in the last 100 s."""
    end_s = float(e[run].scenario_resolved.duration_s)
    table = {key: np.array(column) for key, column in e.table(run, "received").items() if key in RECEIVED}
    found = []
    for flow in np.unique(table["id"]):
        mine = table["id"] == flow
        octets = np.interp((end_s - LATE_S, end_s), table["t"][mine], table["bytes_received"][mine])
        found.append((octets[1] - octets[0]) * 8 / 1e6 / LATE_S)
    return np.array(found)


RECEIVED = ("t", "id", "bytes_received")


@claim(
    "faster_recovery-f8",
    paper="one of 10 connections, last 100 s: FR and GFR at least 3 times Reno",
    needs=F8.values(),
    cost_s=25,
)
def sustained(e: Evidence) -> Verdict:
    """
    The first of the ten connections, which is the paper's one, and their mean.

    The ten are alike, and which of them has little for a while is chance: the median is reported, too, as Reno with
    SACK is. Reno is without SACK.
    """
    late = {cc: late_mbit(e, run) for cc, run in F8.items()}
    first = {cc: late[cc][0] / late[RENO][0] for cc in (FR, GFR)}
    median = {cc: float(np.median(late[cc]) / np.median(late[RENO])) for cc in (FR, GFR)}
    mean = {cc: float(late[cc].mean() / late[RENO].mean()) for cc in (FR, GFR)}
    good = min(*first.values(), *mean.values()) >= TIMES_RENO
    rates = {cc: float(mbit.mean()) for cc, mbit in late.items()}
    said = f"the first {row(first, 1)}; median {row(median, 1)}; mean {row(mean, 1)}; {row(rates)} Mbit/s"
    return Verdict(good, f"times Reno: {said}")


# -------------------------------------------------------- bandwidth estimate

EVERY = "every"  # packet is acknowledged: the scenario; the others are its variants
STREAMS = (EVERY, *VARIANTS)
SPEEDS_MBIT = (0.064, 1, 10, 100, 1000)
FASTER_THAN_MBIT = 1  # the scenarios for slow links end here
CLOSE, MOSTLY = 0.05, 0.9


def speed(stream: str, mbit: float, cc: str = FR) -> RunKey:
    """One flow at one rate and with one kind of ACK stream."""
    name = "faster_recovery-bwe-fast" if mbit > FASTER_THAN_MBIT else "faster_recovery-bwe-slow"
    return point(name if stream == EVERY else f"{name}@{stream}", cc, {RATE: mbit})


def within(t: Floats, errors: Floats, changes_s: list[float], end_s: float) -> Floats:
    """Share of the samples within 5 % in the last half of each period; 0 without any sample."""
    found = []
    for begin, end in zip([0.0, *changes_s], [*changes_s, end_s], strict=True):
        late = np.abs(errors[(t >= (begin + end) / 2) & (t < end)])
        found.append(float(np.mean(late <= CLOSE)) if len(late) else 0.0)
    return np.array(found)


def estimate_errors(e: Evidence, run: RunKey) -> tuple[Floats, Floats, list[float]]:
    """Time, relative error of the estimate, and when the rate changed."""
    resolved = e[run].scenario_resolved
    t, estimate = e.series(run, "flows", "t"), e.series(run, "flows", "cc_rttcnt")
    changes = [(float(event.at_s), known(event.rate_mbit)) for event in resolved.events]
    steps = [known(resolved.links["bottleneck"].forward.rate_mbit), *(mbit for _at, mbit in changes)]
    times = [at for at, _mbit in changes]
    truth = np.array(steps)[np.searchsorted(times, t, side="right")] * 1e6 / 8 * PAYLOAD / PACKET
    return t, estimate / truth - 1, times


def tracking(e: Evidence, run: RunKey) -> tuple[float, float]:
    """Least share of close samples over the periods, median error of all samples."""
    t, errors, changes_s = estimate_errors(e, run)
    periods = within(t, errors, changes_s, float(e[run].scenario_resolved.duration_s))
    return float(periods.min()), float(np.nanmedian(errors))


BWE = {(stream, mbit): speed(stream, mbit) for stream in STREAMS for mbit in SPEEDS_MBIT}


@claim(
    "faster_recovery-bwe",
    paper="64 kbit/s to 1 Gbit/s: within 5 % of the delivered rate, from above and below",
    needs=BWE.values(),
    cost_s=140,
)
def bandwidth(e: Evidence) -> Verdict:
    """Nine of ten samples in the last half of every period, at every rate, for each kind of ACK stream."""
    found = {key: tracking(e, run) for key, run in BWE.items()}
    said = []
    for stream in STREAMS:
        share, _off, mbit = min((found[stream, mbit][0], -abs(found[stream, mbit][1]), mbit) for mbit in SPEEDS_MBIT)
        median = found[stream, mbit][1]
        said.append(f"{stream}: {share:.2f} of the samples, median {median:+.3f} at {mbit:g} Mbit/s")
    least = min(share for share, _median in found.values())
    return Verdict(least >= MOSTLY, f"worst of {'; '.join(said)}")


# ----------------------------------------------------------------- long path

GEO_LOSSES = (0.1, 0.5, 1)
GEO_OURS, GEO_RIVALS, GEO_TOLD = (FR, GFR), ("westwood", "cubic"), ("bbr", "reno", "hybla_ext")
GEO_TIMES = 1.5


def geo(cc: str, percent: float) -> RunKey:
    """A run over the satellite."""
    return point("faster_recovery-geo", cc, {"link.satellite.forward.loss.percent": percent})


@claim(
    "faster_recovery-geo",
    paper="20 Mbit/s, 600 ms, losses of 0.1, 0.5, 1 %: 1.5 times the better of westwood and cubic",
    needs=[geo(cc, percent) for percent in GEO_LOSSES for cc in (*GEO_OURS, *GEO_RIVALS, *GEO_TOLD)],
    cost_s=45,
)
def satellite(e: Evidence) -> Verdict:
    """Both of ours at each loss rate; the others are reported, not judged."""
    times, said = [], []
    for percent in GEO_LOSSES:
        got = {cc: goodput(e, geo(cc, percent)) for cc in (*GEO_OURS, *GEO_RIVALS, *GEO_TOLD)}
        times.append(min(got[cc] for cc in GEO_OURS) / max(got[cc] for cc in GEO_RIVALS))
        said.append(f"{percent} %: {times[-1]:.1f} times; {row(got)}")
    return Verdict(min(times) >= GEO_TIMES, "; ".join(said))


LONGER = {cc: need("faster_recovery-longer", cc) for cc in (FR, GFR, f"{FR}@paper", "cubic")}
HALF = 0.5


@claim(
    "faster_recovery-longer",
    paper="40 ms become 140, 0.5 % loss: from 10 s after that half of the link",
    needs=LONGER.values(),
)
def longer_path(e: Evidence) -> Verdict:
    """Both of ours; the old minimum and cubic are reported, not judged."""
    got = {cc: goodput(e, run, key="steady_goodput_mbit") / carried_mbit(e, run) for cc, run in LONGER.items()}
    return Verdict(min(got[FR], got[GFR]) >= HALF, f"of the link {row(got)}")


# -------------------------------------------------------------- friendliness

FRIENDS = (FR, GFR, SACK)
FRIEND_DELAYS_MS, FRIEND_COUNTS = (5, 25, 100), (1, 5, 10)
FRIEND_OTHERS, FRIEND_AQMS = ("reno", "cubic"), ("fifo", "fq_codel")
FRIEND_MBIT = 20
LEAST_FOR_OTHERS = 0.2


def friendly(cc: str, delay_ms: int, count: int, other: str, aqm: str) -> RunKey:
    """A run beside as many flows of another kind."""
    at = {
        f"{DELAY}+link.bottleneck.reverse.delay_ms": delay_ms,
        f"{COUNT}+flow.other.count": count,
        "flow.other.cc": other,
        "link.bottleneck.forward.aqm": aqm,
    }
    return point("faster_recovery-friendly", cc, at)


def shares(e: Evidence, run: RunKey, own: RunKey) -> tuple[float, float, float]:
    """From 10 s on: ours to the other kind's, the other kind's to its own beside itself, and to the fair share."""
    ours, others = (goodput(e, run, name, "steady_goodput_mbit") for name in ("main", "other"))
    alone = goodput(e, own, "other", "steady_goodput_mbit")
    fair = FRIEND_MBIT * PAYLOAD / PACKET / 2 / len(tcp(e, run))
    return ours / others if others else np.inf, others / alone if alone else np.inf, others / fair


def _friendly(other: str, aqm: str) -> None:
    places = [(ms, count) for ms in FRIEND_DELAYS_MS for count in FRIEND_COUNTS]
    ccs = list(dict.fromkeys([*FRIENDS, other]))

    @claim(
        f"faster_recovery-friendly-{other}-{aqm}",
        paper=f"beside {other}, {aqm}: reported; the other kind keeps {LEAST_FOR_OTHERS} of its fair share",
        needs=[friendly(cc, ms, count, other, aqm) for cc in ccs for ms, count in places],
        cost_s=150,
    )
    def check(e: Evidence) -> Verdict:
        """Rows by kind of ours: round trips of 10, 50, 200 ms, and in each 1, 5, 10 flows of each kind."""
        least, said = np.inf, []
        for cc in ccs:
            found = [
                shares(e, friendly(cc, *place, other, aqm), friendly(other, *place, other, aqm)) for place in places
            ]
            least = min([least, *(fair for _r, _o, fair in found)]) if cc.startswith(OURS) else least
            ratios, kept, _fair = zip(*found, strict=True)
            said.append(f"{cc}: {_threes(ratios)}; of its own {_threes(kept)}")
        return Verdict(bool(least >= LEAST_FOR_OTHERS), f"least {least:.2f} of fair. " + ". ".join(said))


OURS = (FR, GFR)


def _threes(values: tuple[float, ...]) -> str:
    """Round trips apart."""
    n = len(FRIEND_COUNTS)
    return " / ".join(row(list(values[i : i + n])) for i in range(0, len(values), n))


for kind in FRIEND_OTHERS:
    for discipline in FRIEND_AQMS:
        _friendly(kind, discipline)
