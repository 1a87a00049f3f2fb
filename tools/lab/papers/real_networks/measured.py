# SPDX-License-Identifier: GPL-2.0
"""What the claims about real networks share: runs at points of sweeps, and numbers of theirs.

Goodput is payload; shares of a link count IP packets, as its rate does.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hetlab.claims.evaluate import Check, Verdict
from hetlab.claims.evidence import PACKET, PAYLOAD, Evidence, RunKey, point
from hetlab.judge.seen import Seen, group_of
from hetlab.model import congestion
from hetlab.model.result import known
from hetlab.results import store
from papers.common import claim

CC = "santacruz"
LINK_MBIT = 20  # of the scenarios that do not say otherwise
WAYS_DELAY = "link.bottleneck.forward.delay_ms+link.bottleneck.reverse.delay_ms"
QUEUE_PKTS, QUEUE_BDP = "link.bottleneck.forward.queue_pkts", "link.bottleneck.forward.queue_bdp"
Judge = Callable[[Evidence, RunKey, Mapping[str, RunKey]], tuple[bool, str]]


def in_tree() -> list[str]:
    """Congestion controls of the kernel; dctcp needs marks."""
    return [name for name, cc in congestion.known().items() if not cc.ours and name != "dctcp"]


@dataclass(frozen=True)
class Points:
    """Points of one scenario's sweep."""

    scenario: str
    swept: Mapping[str, Iterable[Any]]

    def of(self, cc: str) -> list[RunKey]:
        """A run at each."""
        values = itertools.product(*self.swept.values())
        return [point(f"real_networks-{self.scenario}", cc, dict(zip(self.swept, at, strict=True))) for at in values]


def each(
    name: str,
    paper: str,
    points: Iterable[Points],
    judge: Judge,
    beside: Iterable[str] = (),
    cause: str = "",
    cost_s: int = 0,
) -> None:
    """Register a claim that must hold at each point, beside the runs of other congestion controls there.

    ``cause`` and ``cost_s`` are those of hetlab.claims.evaluate.claim.
    """
    others = list(beside)
    ours = [run for some in points for run in some.of(CC)]
    theirs = {cc: [run for some in points for run in some.of(cc)] for cc in others}
    check = _check(judge, ours, theirs)
    needs = [*ours, *(run for runs in theirs.values() for run in runs)]
    claim(f"real_networks-{name}", paper=paper, needs=needs, cause=cause, cost_s=cost_s)(check)


def _check(judge: Judge, ours: list[RunKey], theirs: Mapping[str, list[RunKey]]) -> Check:
    def check(e: Evidence) -> Verdict:
        good, said = True, []
        for i, run in enumerate(ours):
            held, text = judge(e, run, {cc: runs[i] for cc, runs in theirs.items()})
            good &= held
            said.append(f"{'' if held else 'NOT '}{at(run)}{text}")
        return Verdict(good, "; ".join(said))

    return check


def at(run: RunKey) -> str:
    """Values of the point of a sweep, for the table."""
    _name, _, swept = run.scenario.rstrip("]").partition("[")
    return " ".join(item.partition("=")[2] for item in swept.split(",")) + ": " if swept else ""


def seen(e: Evidence, run: RunKey) -> Seen:
    """A run with its series, for the measures of hetlab.judge."""
    return Seen(store.run_dir(e.out, e[run]), e[run])


def goodput(e: Evidence, run: RunKey, steady: bool = False) -> float:
    """Of the flows called main together, in Mbit/s."""
    mine = [flow for flow in e[run].tcp if group_of(flow.name) == "main"]
    return sum(known(flow.steady_goodput_mbit) if steady else flow.goodput_mbit for flow in mine)


def used(e: Evidence, run: RunKey, link_mbit: float = LINK_MBIT, flow: int = 0, key: str = "goodput_mbit") -> float:
    """Share of the link that a flow gets."""
    return float(getattr(e[run].flows[flow], key)) * PACKET / PAYLOAD / link_mbit


def fair_share(e: Evidence, run: RunKey, steady: bool = False) -> float:
    """What the flow called main gets, of the mean of all TCP flows."""
    flows = e[run].tcp
    whole = sum(known(flow.steady_goodput_mbit) if steady else flow.goodput_mbit for flow in flows)
    return goodput(e, run, steady) * len(flows) / whole


def queueing_ms(e: Evidence, run: RunKey) -> float:
    """95th percentile of the one-way delay above the path's own, steady part."""
    return known(e[run].queueing_ms).p95


def late_ms(e: Evidence, run: RunKey, from_s: float, to_s: float = math.inf) -> float:
    """95th percentile of the one-way delay in a part of a run, above the least of the run."""
    t, owd = e.series(run, "owd-s-d", "t"), e.series(run, "owd-s-d", "owd_ms")
    return float(np.nanpercentile(owd[(t >= from_s) & (t < to_s)], 95) - np.nanmin(owd))


def drops(e: Evidence, run: RunKey) -> int:
    """Packets that the bottleneck's queue dropped."""
    return known(e[run].queue.drops)
