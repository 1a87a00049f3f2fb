# SPDX-License-Identifier: GPL-2.0
"""Claims about links that no paper lists; goodput is payload, in Mbit/s."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hetlab.claims.evaluate import Verdict
from hetlab.claims.evidence import Evidence, RunKey
from hetlab.model.result import known
from papers import drawn
from papers.any_link import causes, draws
from papers.common import claim, goodput, point, row, tcp

HYBLA, HYBLA_PAPER, FR, GFR = "hybla_ext", "hybla_paper", "westwood_fr", "westwood_gfr"
BOTH = (HYBLA, FR)
QUEUE_PKTS = "link.bottleneck.forward.queue_pkts"
DELAYS = "link.bottleneck.forward.delay_ms+link.bottleneck.reverse.delay_ms"


def runs(name: str, ccs: Iterable[str], key: str, values: Iterable[Any]) -> dict[tuple[str, Any], RunKey]:
    """By congestion control and point of a sweep."""
    return {(cc, value): point(f"any_link-{name}", cc, {key: value}) for cc in ccs for value in values}


def steady(e: Evidence, run: RunKey) -> float:
    """Goodput of the flows called main from the time on that the scenario says, mean."""
    return goodput(e, run, key="steady_goodput_mbit")


def drops(e: Evidence, run: RunKey) -> int:
    """Packets that the bottleneck's queue dropped."""
    return known(e[run].queue.drops)


# ------------------------------------------------------------- short queues

SHORT_PKTS = (5, 10, 20)
SHARE_LOW, SHARE_HIGH, MORE_DROPS = 0.5, 1.5, 1.5


def _beside(cc: str, name: str, cause: str) -> None:
    found = runs("beside-reno", (cc, "reno"), QUEUE_PKTS, SHORT_PKTS)

    @claim(
        f"any_link-beside-reno-{name}",
        paper="beside four Reno, 5, 10, 20 packets: 0.5 to 1.5 of the fair share, 1.5 times the drops of five Reno",
        needs=found.values(),
        cause=cause,
        cost_s=25,
    )
    def check(e: Evidence) -> Verdict:
        """At each queue."""
        share, more = {}, {}
        for pkts in SHORT_PKTS:
            flows = e[found[cc, pkts]].tcp
            whole = sum(known(flow.steady_goodput_mbit) for flow in flows)
            share[pkts] = steady(e, found[cc, pkts]) * len(flows) / whole
            more[pkts] = drops(e, found[cc, pkts]) / drops(e, found["reno", pkts])
        good = all(SHARE_LOW <= s <= SHARE_HIGH for s in share.values()) and max(more.values()) <= MORE_DROPS
        return Verdict(good, f"of the fair share {row(share)}; drops to those of five Reno {row(more)}")


for ours, why in ((HYBLA, causes.REFERENCE), (HYBLA_PAPER, causes.REFERENCE), (FR, ""), (GFR, "")):
    _beside(ours, ours, why)
_beside(f"{HYBLA}:rtt0_ms=40", f"{HYBLA}-rtt0", "")  # told that the others' round trip is its own

RATES_MBIT = (30, 50)
RATE = "link.bottleneck.forward.rate_mbit"
LOST = 0.01
ABOUT = 0.98  # of Reno's: where its sawtooth stands when the run ends


@claim(
    "any_link-alone",
    paper="alone behind 5, 10, 30 packets at 30 and 50 Mbit/s, 30 ms: at least 0.98 of Reno's goodput, 1 % lost",
    needs=[
        point("any_link-alone", cc, {RATE: mbit, QUEUE_PKTS: pkts})
        for cc in (HYBLA, FR, GFR, "reno")
        for mbit in RATES_MBIT
        for pkts in (5, 10, 30)
    ],
    cause=causes.BURSTS,
    cost_s=40,
)
def alone(e: Evidence) -> Verdict:
    """Each of ours at each point; lost is what is sent again."""
    good, said = True, []
    for cc in (HYBLA, FR, GFR):
        ratios, lost = [], []
        for mbit in RATES_MBIT:
            for pkts in (5, 10, 30):
                ours, reno = (point("any_link-alone", name, {RATE: mbit, QUEUE_PKTS: pkts}) for name in (cc, "reno"))
                (flow,) = tcp(e, ours)
                ratios.append(steady(e, ours) / steady(e, reno))
                lost.append(known(flow.bytes_retrans) / known(flow.bytes_sent))
        good &= min(ratios) >= ABOUT and max(lost) <= LOST
        said.append(f"{cc} to Reno {row(ratios)}, lost at most {max(lost):.4f}")
    return Verdict(bool(good), "; ".join(said))


# ------------------------------------------------------------------ satellite

SEEDS = range(1, 11)
GEO = {(cc, seed): replace(RunKey("any_link-geo", cc), seed=seed) for cc in BOTH for seed in SEEDS}
GEO_MBIT = 20
MEDIAN_USED, WORST_USED = 0.6, 0.5


@claim(
    "any_link-geo",
    paper="GEO, 1 % lost, ten seeds: median 0.6 of the link, the worst 0.5, start-up included",
    needs=GEO.values(),
    cost_s=120,
)
def geo(e: Evidence) -> Verdict:
    """hybla_ext and westwood_fr; where a loss comes before the bandwidth is known is the seed's."""
    good, said = True, []
    for cc in BOTH:
        used = [goodput(e, GEO[cc, seed]) / GEO_MBIT for seed in SEEDS]
        good &= float(np.median(used)) >= MEDIAN_USED and min(used) >= WORST_USED
        said.append(f"{cc} median {np.median(used):.2f}, worst {min(used):.2f}")
    return Verdict(bool(good), "; ".join(said))


FOUR = {cc: RunKey("any_link-geo-four", cc) for cc in (HYBLA, FR, GFR, "reno")}
EVEN = {HYBLA: 0.95, FR: 0.8, GFR: 0.8}


@claim(
    "any_link-geo-four",
    paper="four flows behind one GEO queue, begun 10 s apart: Jain 0.95 with hybla_ext, 0.8 with westwood",
    needs=FOUR.values(),
    cause=causes.LATE,
    cost_s=30,
)
def four(e: Evidence) -> Verdict:
    """From 15 s after the last one has begun."""
    jain = {cc: known(e[run].jain_steady) for cc, run in FOUR.items()}
    return Verdict(all(jain[cc] >= least for cc, least in EVEN.items()), row(jain))


# ---------------------------------------------------------- radio, access

SLOTS = "link.bottleneck.forward.slot_ms+link.bottleneck.reverse.slot_ms"
RIVALS = ("illinois", "bbr")  # the best two of the kernel there
SLOTTED = runs("slots", (*BOTH, *RIVALS), SLOTS, (5, 10))
NEARLY = 0.9


@claim(
    "any_link-slots",
    paper="Wi-Fi-like slots, 0.1 % lost: hybla_ext and westwood_fr 0.9 of the better of illinois and bbr",
    needs=SLOTTED.values(),
    cause=causes.SLOTS,
    cost_s=20,
)
def slots(e: Evidence) -> Verdict:
    """By length of the slots in ms."""
    got = {key: steady(e, run) for key, run in SLOTTED.items()}
    good = all(got[cc, ms] >= NEARLY * max(got[rival, ms] for rival in RIVALS) for cc in BOTH for ms in (5, 10))
    said = [f"{cc} {row([got[cc, ms] for ms in (5, 10)], 1)}" for cc in (*BOTH, *RIVALS)]
    return Verdict(good, "; ".join(said))


THIN = {cc: RunKey("any_link-asym", cc) for cc in (*BOTH, "reno")}


@claim(
    "any_link-asym",
    paper="a return path of a hundredth: at least Reno's goodput",
    needs=THIN.values(),
    cause=causes.THIN,
)
def thin(e: Evidence) -> Verdict:
    """hybla_ext and westwood_fr."""
    got = {cc: steady(e, run) for cc, run in THIN.items()}
    return Verdict(all(got[cc] >= got["reno"] for cc in BOTH), f"{row(got, 1)} Mbit/s")


WAYS_MS = (13, 15, 16, 20)
BORDER = runs("border", BOTH, DELAYS, WAYS_MS)
APART = 0.15


@claim(
    "any_link-border",
    paper="0.1 % lost, round trips of 26, 30, 32, 40 ms: neighbours differ by at most 15 %",
    needs=BORDER.values(),
    cost_s=15,
)
def border(e: Evidence) -> Verdict:
    """There is no rho at which another law begins."""
    good, said = True, []
    for cc in BOTH:
        got = np.array([steady(e, BORDER[cc, way]) for way in WAYS_MS])
        good &= bool(np.all(np.abs(np.diff(got)) <= APART * got[:-1]))
        said.append(f"{cc} {row(list(got), 1)}")
    return Verdict(good, f"{'; '.join(said)} Mbit/s")


# --------------------------------------------------- beside what the kernel has

IN_TREE = ("reno", "cubic", "bbr", "illinois", "westwood", "hybla")
OURS = (HYBLA, FR, GFR)
MICROWAVE = runs("microwave", (*BOTH, *IN_TREE), DELAYS, (10, 20))
SATELLITES = {
    "clean": "any_link-geo-50",
    "0.01 %": "any_link-geo-50@few",
    "0.2 %": "any_link-geo-50@some",
    "2 %": "any_link-geo-50@many",
    "bursts": "any_link-geo-50@bursts",
    "MEO": "any_link-geo-50@meo",
    "Starlink": "real_networks-starlink",
}
ABOVE = {(cc, link): RunKey(scenario, cc) for cc in (*OURS, *IN_TREE) for link, scenario in SATELLITES.items()}
JITTER_MS = "link.bottleneck.forward.jitter_ms"
LEO = {(cc, ms): point("real_networks-leo", cc, {JITTER_MS: ms}) for cc in (*OURS, *IN_TREE) for ms in (0, 3)}
SAME = 1.001  # as good, to a thousandth
Found = dict[str, float]


def _beside_the_kernels(
    e: Evidence, runs_of: Mapping[tuple[str, Any], RunKey], holds: Callable[[Found, Found, str], bool]
) -> Verdict:
    """Judge each point by goodput, p95 of queueing in ms, and the best in-tree congestion control; tell all three."""
    good, said = True, []
    for at in dict.fromkeys(at for _cc, at in runs_of):
        here = {cc: run for (cc, where), run in runs_of.items() if where == at}
        got = {cc: steady(e, run) for cc, run in here.items()}
        late_ms = {cc: known(e[run].queueing_ms).p95 for cc, run in here.items()}
        rival = max(IN_TREE, key=got.__getitem__)
        held = holds(got, late_ms, rival)
        good &= held
        shown = [cc for cc in here if cc in (*OURS, rival, "bbr")]
        said.append(
            f"{'' if held else 'NOT '}{at}: " + ", ".join(f"{cc} {got[cc]:.1f} ({late_ms[cc]:.0f} ms)" for cc in shown)
        )
    return Verdict(good, "; ".join(said))


def near_bbr(got: Found, _late_ms: Found, _rival: str) -> bool:
    """hybla_ext and westwood_fr have 0.9 of bbr's goodput."""
    return all(got[cc] >= NEARLY * got["bbr"] for cc in BOTH)


def ahead(got: Found, late_ms: Found, rival: str) -> bool:
    """That, and one of ours has the most goodput at no more delay than the best in-tree one."""
    first = any(got[cc] * SAME >= got[rival] and late_ms[cc] <= late_ms[rival] for cc in OURS)
    return first and near_bbr(got, late_ms, rival)


def near_the_best(got: Found, late_ms: Found, rival: str) -> bool:
    """hybla_ext and westwood_fr have 0.9 of the best in-tree goodput at no more delay."""
    return all(got[cc] >= NEARLY * got[rival] and late_ms[cc] <= late_ms[rival] for cc in BOTH)


@claim(
    "any_link-satellites",
    paper="GEO 50/5 Mbit/s, MEO, Starlink: one of ours ahead of the kernel's at no higher p95 delay, both 0.9 of bbr",
    needs=ABOVE.values(),
    cause=causes.STARLINK,
    cost_s=400,
)
def satellites(e: Evidence) -> Verdict:
    """By loss and orbit."""
    return _beside_the_kernels(e, ABOVE, ahead)


@claim(
    "any_link-leo",
    paper="LEO-like 150 Mbit/s, no jitter or 3 ms: hybla_ext and westwood_fr 0.9 of bbr",
    needs=LEO.values(),
    cost_s=300,
)
def leo(e: Evidence) -> Verdict:
    """By jitter in ms."""
    return _beside_the_kernels(e, LEO, near_bbr)


@claim(
    "any_link-microwave",
    paper="0.2 % lost in bursts of 5: hybla_ext and westwood_fr 0.9 of the kernel's best, p95 delay not above its",
    needs=MICROWAVE.values(),
    cause=causes.MICROWAVE,
    cost_s=60,
)
def microwave(e: Evidence) -> Verdict:
    """By one-way delay in ms."""
    return _beside_the_kernels(e, MICROWAVE, near_the_best)


SHALLOW = {cc: RunKey("real_networks-shallow", cc) for cc in (*BOTH, "cubic")}
FEW_DROPS = 0.1


@claim(
    "any_link-fast-start",
    paper="1 Gbit/s, 80 ms, 0.1 BDP: dropped at most a tenth of cubic's",
    needs=SHALLOW.values(),
    cost_s=60,
)
def fast_start(e: Evidence) -> Verdict:
    """hybla_ext and westwood_fr; a window that fills the path is 6700 packets."""
    lost = {cc: float(drops(e, run)) for cc, run in SHALLOW.items()}
    return Verdict(all(lost[cc] <= FEW_DROPS * lost["cubic"] for cc in BOTH), row(lost, 0))


# ---------------------------------------------------------------- drawn links

DRAWN = {
    (cc, number, seed): replace(RunKey(f"any_link-sweep@{drawn.name(number)}", cc), seed=seed)
    for number in range(1, draws.DRAWS + 1)
    for seed in draws.RUN_SEEDS
    for cc in (*BOTH, *IN_TREE)
}
LEAST_DRAW, NEARLY_ALL, LEAST_OF_ANY = 0.85, 0.95, 0.5
WORST_TOLD = 5


def drawn_mbit(e: Evidence, cc: str, number: int) -> float:
    """Goodput of a draw, start-up included, mean over the seeds."""
    return float(np.mean([goodput(e, DRAWN[cc, number, seed]) for seed in draws.RUN_SEEDS]))


@claim(
    "any_link-sweep",
    paper=f"{draws.DRAWS} links drawn at random: of the best in-tree goodput there 95 % have 0.85, and none below 0.5",
    needs=DRAWN.values(),
    cause=causes.SWEEP,
    cost_s=600,
)
def sweep(e: Evidence) -> Verdict:
    """hybla_ext and westwood_fr; the worst five of each are listed, with the best there."""
    good, said = True, []
    for cc in BOTH:
        ratios, bests = {}, {}
        for number in range(1, draws.DRAWS + 1):
            theirs = {rival: drawn_mbit(e, rival, number) for rival in IN_TREE}
            bests[number] = max(theirs, key=lambda rival: theirs[rival])
            ratios[number] = drawn_mbit(e, cc, number) / theirs[bests[number]]
        enough = float(np.mean([ratio >= LEAST_DRAW for ratio in ratios.values()]))
        good &= enough >= NEARLY_ALL and min(ratios.values()) >= LEAST_OF_ANY
        worst = sorted(ratios, key=lambda number: ratios[number])[:WORST_TOLD]
        told = [f"{ratios[i]:.2f} of {bests[i]} ({draws.draw(draws.SEED, i).title})" for i in worst]
        median = np.median(list(ratios.values()))
        said.append(f"{cc}: {enough:.2f} of the draws, median {median:.2f}; {'; '.join(told)}")
    return Verdict(bool(good), ". ".join(said))
