# SPDX-License-Identifier: GPL-2.0
"""Coexistence: each of a list beside each other, over queues, rates and round trips; shares and harm.

Networks: FIFO of 0.5, 1, 4 BDP and fq_codel; 8 and 50 Mbit/s (Prudentia's); both flows 50 ms, or the second one 150 ms.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hetlab.errors import LabError
from hetlab.judge.case import GAUNTLET
from hetlab.judge.measures import goodput, harm
from hetlab.judge.plan import FIRST_SEEDS, Entrant, Found, only
from hetlab.judge.seen import Seen
from hetlab.model import files, jobs
from hetlab.model.job import Job
from hetlab.model.resolve import resolve
from hetlab.model.scenario import Experiment, Point

BASE_MS = 50
PACKET_BITS = 12_000
FQ_PKTS = 1000
FROM_S = 20.0  # of 60: both have found their place
RATES_MBIT = (8.0, 50.0)
QUEUES = ("0.5", "1", "4", "fq_codel")
OTHERS_MS = (50, 150)


@dataclass(frozen=True)
class Net:
    """A network of the matrix: rate, queue in BDP or fq_codel, round trip of the second flow."""

    rate_mbit: float
    queue: str
    other_ms: int

    @property
    def name(self) -> str:
        """Of its scenarios."""
        return f"matrix-{self.rate_mbit:g}-{self.queue}-{self.other_ms}"

    @property
    def title(self) -> str:
        """For people."""
        queue = self.queue if self.queue == "fq_codel" else f"FIFO of {self.queue} BDP"
        return f"{self.rate_mbit:g} Mbit/s, {queue}, {BASE_MS} and {self.other_ms} ms"

    @property
    def sets(self) -> list[str]:
        """What it changes in the scenario of the matrix."""
        way = "link.bottleneck.forward"
        found = [f"link.bottleneck.{w}.rate_mbit={self.rate_mbit:g}" for w in ("forward", "reverse")]
        if self.queue == "fq_codel":
            found += [f"{way}.aqm=fq_codel", f"{way}.queue_pkts={FQ_PKTS}"]
        else:
            bdp_pkts = self.rate_mbit * 1e3 * BASE_MS / PACKET_BITS
            found.append(f"{way}.queue_pkts={max(2, round(float(self.queue) * bdp_pkts))}")
        if more_ms := self.other_ms - BASE_MS:
            found.append(f"link.access2.forward.delay_ms={more_ms:g}")
        return found


NETS = tuple(Net(*of) for of in itertools.product(RATES_MBIT, QUEUES, OTHERS_MS))


@dataclass(frozen=True)
class Square:
    """What became of a pair in a network: goodput of both (Mbit/s), harm done to each by the other.

    ``seeds``: how many runs these are the means of; fewer than asked for where some broke or are not there yet.
    """

    net: Net
    row: str
    column: str
    row_mbit: float
    column_mbit: float
    row_harm: float | None
    column_harm: float | None
    seeds: int

    @property
    def share(self) -> float:
        """Of the row's congestion control: 1 is half of what both got."""
        both = self.row_mbit + self.column_mbit
        return 2 * self.row_mbit / both if both else 0.0


def check(under_test: Sequence[Entrant]) -> None:
    """LabError for parameters: a machine has one set of a module's."""
    for e in under_test:
        if e.variant.params:
            raise LabError(f"--matrix: {e.label}: parameters are a module's, so two sets of them cannot meet")


def scenario(net: Net, other: str | None) -> tuple[Point, Experiment]:
    """A network with a second flow of this congestion control; None: that under test."""
    more = [f"flow.other.cc={other}"] if other else []
    (point,) = files.load(str(GAUNTLET / "_matrix.toml"), net.sets + more)
    point = replace(point, name=f"{net.name}-{other}" if other else net.name)
    return point, resolve(point)


def pairs(net: Net, under_test: Sequence[Entrant]) -> Iterator[tuple[Entrant, Entrant]]:
    """Of equal round trips each pair once."""
    if net.other_ms != BASE_MS:
        yield from itertools.product(under_test, repeat=2)
    else:
        yield from itertools.combinations_with_replacement(under_test, 2)


def wanting(under_test: Sequence[Entrant], found: Found, scratch: Path) -> list[Job]:
    """Runs that are not there yet: two seeds of every pair, and of each alone in both places.

    First seeds come first: the list is hours long, and what is there when it is interrupted is of all networks.
    """
    made: list[Job] = []

    def add(point: Point, experiment: Experiment, e: Entrant, beside: Entrant | None = None) -> None:
        have = {seen.result.seed for seen in found.get(point.name, {}).get(e.label, [])}
        for seed in range(1, FIRST_SEEDS + 1):
            if seed not in have:
                job = jobs.one(point, experiment, e.variant, seed, scratch / f"{len(made):05d}")
                made.append(_with(job, beside))

    for net in NETS:
        for e, beside in pairs(net, under_test):
            add(*scenario(net, beside.variant.cc), e, beside)
        for flow in ("main", "other") if net.other_ms != BASE_MS else ("main",):
            _each_alone(net, flow, under_test, add)
    return sorted(made, key=lambda job: job.seed)


def _each_alone(
    net: Net, flow: str, under_test: Sequence[Entrant], add: Callable[[Point, Experiment, Entrant], None]
) -> None:
    point, experiment = scenario(net, None)
    name = f"{net.name}-alone-{flow}"
    for e in under_test:
        add(replace(point, name=name), only(experiment, name, flow), e)


def _with(job: Job, beside: Entrant | None) -> Job:
    """The second flow's module is loaded, too."""
    own = beside.variant.candidate if beside else None
    return replace(job, candidates=(*job.candidates, own)) if own and own not in job.candidates else job


def squares(under_test: Sequence[Entrant], found: Found) -> list[Square]:
    """All pairs; of equal round trips also the other way round, from the same runs."""
    made = []
    for net in NETS:
        for e, beside in pairs(net, under_test):
            runs = found.get(f"{net.name}-{beside.variant.cc}", {}).get(e.label, [])
            if not runs:
                continue
            square = _square(net, e, beside, runs, found)
            made.append(square)
            if net.other_ms == BASE_MS and e is not beside:
                made.append(_turned(square))
    return made


def _square(net: Net, e: Entrant, beside: Entrant, runs: Sequence[Seen], found: Found) -> Square:
    place = "other" if net.other_ms != BASE_MS else "main"
    for run in runs:
        run.alone["main"] = found.get(f"{net.name}-alone-main", {}).get(e.label, [])
        # Alone in the second place; of equal round trips that is the first, under the name it has there
        run.alone["other"] = [
            _as(seen, "other") for seen in found.get(f"{net.name}-alone-{place}", {}).get(beside.label, [])
        ]
    mbit = {flow: _mean([goodput(run, flow, FROM_S) for run in runs]) or 0.0 for flow in ("main", "other")}
    harms = {flow: _mean([harm(run, flow, "goodput", FROM_S) for run in runs]) for flow in ("main", "other")}
    return Square(net, e.label, beside.label, mbit["main"], mbit["other"], harms["main"], harms["other"], len(runs))


def seeds_text(found: Sequence[Square]) -> str:
    """Of how many seeds the squares are, for people: ``mean of 2 seeds``, ``one seed``, or of some less."""
    few = sum(square.seeds < FIRST_SEEDS for square in found)
    if found and few == len(found):
        return "one seed"
    return f"mean of {FIRST_SEEDS} seeds" + (f", but one seed in {few} of {len(found)} cells, marked *" if few else "")


def _as(seen: Seen, name: str) -> Seen:
    """A run of one flow, with that flow under another name."""
    (flow,) = seen.result.flows
    return replace(seen, result=replace(seen.result, flows=(replace(flow, name=name),)))


def _mean(values: Sequence[float | None]) -> float | None:
    have = [v for v in values if v is not None]
    return float(np.mean(have)) if have else None


def _turned(square: Square) -> Square:
    return Square(
        square.net,
        square.column,
        square.row,
        square.column_mbit,
        square.row_mbit,
        square.column_harm,
        square.row_harm,
        square.seeds,
    )
