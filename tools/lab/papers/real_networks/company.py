# SPDX-License-Identifier: GPL-2.0
"""Beside flows of others: a share that is kept, and a queue that is given back when they have gone."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hetlab.claims.evaluate import Verdict
from hetlab.claims.evidence import Evidence, RunKey
from papers import common
from papers.common import claim, row
from papers.real_networks import causes
from papers.real_networks import measured as m

Others = Mapping[str, RunKey]
LEAST, MOST = 0.6, 1.4  # of the fair share
BESIDE: dict[str, tuple[Any, ...]] = {"flow.other.cc": ("cubic", "bbr")}
QUEUES: dict[str, tuple[Any, ...]] = {m.QUEUE_BDP: (0.5, 1, 4), m.WAYS_DELAY: (10, 50)}
# Scenario, what, swept, why not, its cost
COMPANY = {
    "": ("1 CUBIC or 1 BBR, 20 Mbit/s", BESIDE | QUEUES, f"{causes.LIKE_CUBIC}; {causes.HALF_OF_THE_TIME}", 45),
    # One run there is chance: eight starts have 0.47 to 0.92
    "@two": (
        "2 CUBIC, 20 Mbit/s",
        QUEUES,
        f"{causes.HALF_OF_THE_TIME}: 0.64 in the mean of eight starts; 4 BDP, 20 ms: of three 0.64",
        25,
    ),
}


def keeps(e: Evidence, run: RunKey, _others: Others) -> tuple[bool, str]:
    """0.6 to 1.4 of the fair share, whole run."""
    share = m.fair_share(e, run)
    return LEAST <= share <= MOST, f"{share:.2f}"


def queued_apart(e: Evidence, run: RunKey, _others: Others) -> tuple[bool, str]:
    """0.9 of the fair share, whole run."""
    share = m.fair_share(e, run)
    return share >= 0.9, f"{share:.2f}"


for variant, (what, swept, cause, cost) in COMPANY.items():
    m.each(
        f"company{variant.replace('@', '-')}",
        f"beside {what}, FIFO of 0.5, 1, 4 BDP, 20 and 100 ms, 120 s: 0.6 to 1.4 of the fair share",
        [m.Points(f"company{variant}", swept)],
        keeps,
        cause=cause,
        cost_s=cost,
    )
m.each(
    "company-fq",
    "beside 1 CUBIC or 1 BBR, fq_codel: at least 0.9 of the fair share",
    [m.Points("company@fq", BESIDE | {m.WAYS_DELAY: (10, 50)})],
    queued_apart,
    cost_s=15,
)

CBR, _MIX = (common.need(f"real_networks-{name}", m.CC) for name in ("cbr", "mix"))
MIXES = [replace(_MIX, seed=seed) for seed in range(1, 11)]  # one run is right in 0.77 to 1.00 of the time
CBR_ALONE, CBR_BESIDE, CBR_AFTER = (10, 20), (30, 50), (60, 80)
# When the flow is alone for 10 s or longer, and beside whom, in mix.toml
ALONE = ((10, 20), (60, 70), (100, 110), (150, 160), (190, 200), (240, 250))
UDP = (80, 90)
IN_COMPANY = {"cubic": (30, 50), "bbr": (120, 140), "own": (170, 180), "reno": (210, 230)}
LEAST_OF_TIME = 0.9


def share_in(e: Evidence, run: RunKey, times_s: tuple[float, float], flows: int) -> float:
    """Of the fair share of a part of a run in which so many TCP flows send."""
    of = m.seen(e, run)
    return of.megabits("main", *times_s) * flows / of.megabits(None, *times_s)


@claim("real_networks-cbr", paper="beside and after UDP of half the link: delay as alone within 10 s", needs=[CBR])
def cbr(e: Evidence) -> Verdict:
    """A packet takes twice as long beside it, and so does each that waits; 0.9 of what is left is used."""
    alone, beside, after = (m.late_ms(e, CBR, *times) for times in (CBR_ALONE, CBR_BESIDE, CBR_AFTER))
    of = m.seen(e, CBR)
    rate = (of.capacity_megabits(*CBR_BESIDE) or 0) / 2
    used = of.megabits("main", *CBR_BESIDE) / rate
    good = beside <= 2 * alone + 1 and after <= 1.2 * alone + 0.5 and used >= 0.9
    return Verdict(
        good, f"p95 {alone:.1f} ms alone, {beside:.1f} beside UDP ({used:.2f} of the rest), {after:.1f} after"
    )


def right_in(e: Evidence, run: RunKey) -> tuple[float, float]:
    """Share of the time that is right, from 10 s after each change on, and the share beside BBR of a fair one."""
    first, *later = (m.late_ms(e, run, *times) for times in ALONE)
    beside_udp = m.late_ms(e, run, *UDP)
    shares = {k: share_in(e, run, times, 3 if k == "reno" else 2) for k, times in IN_COMPANY.items()}
    right = [late <= 1.2 * first + 0.5 for late in later] + [beside_udp <= 2 * first + 1]
    right += [LEAST <= share <= MOST for share in shares.values()]
    lengths = [b - a for a, b in (*ALONE[1:], UDP, *IN_COMPANY.values())]
    return float(np.average(right, weights=lengths)), shares["bbr"]


@claim(
    "real_networks-mix",
    paper="company comes and goes, ten seeds: the share kept, the delay as alone within 10 s, in 0.9 of the time",
    needs=MIXES,
    cost_s=110,
)
def mix(e: Evidence) -> Verdict:
    """The mean over the seeds; one is a matter of chance."""
    right, beside_bbr = map(list, zip(*(right_in(e, run) for run in MIXES), strict=True))
    text = f"right in {np.mean(right):.2f} of the time, by seed {row(right)}; beside BBR of fair {row(beside_bbr)}"
    return Verdict(float(np.mean(right)) >= LEAST_OF_TIME, text)
