# SPDX-License-Identifier: GPL-2.0
"""Which runs a case needs: the congestion controls under test, those it is compared with, and how many seeds."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hetlab.errors import LabError
from hetlab.judge.case import Case
from hetlab.judge.measures import Seen, values
from hetlab.judge.verdict import estimate
from hetlab.model import files, jobs
from hetlab.model.job import Job
from hetlab.model.jobs import Variant
from hetlab.model.resolve import resolve
from hetlab.model.scenario import Experiment, Point

FIRST_SEEDS = 2
# Seeds of the second of two entrants of one name begin so much higher
APART = 1000
Found = dict[str, dict[str, list[Seen]]]  # runs by name of the scenario and label of the entrant


@dataclass(frozen=True)
class Entrant:
    """A congestion control under test or beside it; ``first_seed`` tells two of one name apart."""

    variant: Variant
    label: str
    first_seed: int = 1


def entrants(variants: Sequence[Variant]) -> list[Entrant]:
    """Congestion controls with labels; one that is named again gets other seeds: what chance alone makes of it."""
    found, seen = [], Counter[str]()
    for variant in variants:
        name = jobs.label_of(variant)
        found.append(Entrant(variant, _label(name, seen[name]), 1 + seen[name] * APART))
        seen[name] += 1
    return found


def _label(name: str, times: int) -> str:
    return f"{name} ({times + 1})" if times else name


def label_of(seen: Seen) -> str:
    """Label of the entrant that a run belongs to."""
    return _label(seen.result.label, (seen.result.seed - 1) // APART)


def references(case: Case, under_test: Sequence[Entrant]) -> list[Entrant]:
    """Congestion controls that limits of the case speak of, and that are not under test."""
    have = {e.label for e in under_test}
    return [Entrant(Variant(cc), cc) for cc in dict.fromkeys(j.of for j in case.judge if j.of) if cc not in have]


def point_of(case: Case) -> tuple[Point, Experiment]:
    """The scenario of a case."""
    (point,) = files.load(case.path)
    point = replace(point, name=case.id)
    return point, resolve(point)


def alone(case: Case) -> list[str]:
    """Flows whose harm is asked, and which therefore also run without the others."""
    return list(dict.fromkeys(str(j.with_["flow"]) for j in case.judge if j.measure == "harm"))


def name_alone(case: Case, flow: str) -> str:
    """Name of the scenario in which a flow of a case is alone."""
    return f"{case.id}-alone-{flow}"


def only(experiment: Experiment, name: str, flow: str) -> Experiment:
    """The same network with one flow (or group of flows)."""
    chosen = [f for f in experiment.flows if flow in (f.name, f.name.rstrip("0123456789").rstrip("-."))]
    if not chosen:
        raise LabError(f"{experiment.name}: harm: there is no flow {flow!r}")
    return replace(experiment, name=name, flows=tuple(replace(f, id=i) for i, f in enumerate(chosen)))


def attach(case: Case, found: Found) -> None:
    """Give each run of a case the runs of the flows alone, which harm needs."""
    for flow in alone(case):
        _point, experiment = point_of(case)
        fixed = next(f.cc for f in experiment.flows if f.name.startswith(flow))
        by_label = found.get(name_alone(case, flow), {})
        for label, runs in found[case.id].items():
            for seen in runs:
                seen.alone[flow] = by_label.get(fixed or label, [])


def more(case: Case, under_test: Sequence[Entrant], found: Found, most: int, scratch: Path) -> list[Job]:
    """Runs still wanting: two seeds; where these differ, more until all numbers are sharp or ``most`` are there."""
    point, experiment = point_of(case)
    attach(case, found)
    planned = list(_seeds_of(case, under_test, found[case.id], most, precise=True))
    made = [
        jobs.one(point, experiment, e.variant, seed, scratch / case.id / f"{i:03d}")
        for i, (e, seed) in enumerate(planned)
    ]
    for flow in alone(case):
        made += _solo(case, flow, under_test, found, scratch)
    return made


def _solo(case: Case, flow: str, under_test: Sequence[Entrant], found: Found, scratch: Path) -> list[Job]:
    """Runs of a flow alone: of its own congestion control, else of each under test."""
    point, experiment = point_of(case)
    name = name_alone(case, flow)
    bare = only(experiment, name, flow)
    own = bare.flows[0].cc
    chosen = [Entrant(Variant(own), own)] if own else under_test
    planned = _seeds_of(case, chosen, found.get(name, {}), FIRST_SEEDS, precise=False)
    at = replace(point, name=name)
    return [jobs.one(at, bare, e.variant, seed, scratch / name / f"{i:03d}") for i, (e, seed) in enumerate(planned)]


def _seeds_of(
    case: Case, under_test: Sequence[Entrant], runs: dict[str, list[Seen]], most: int, precise: bool
) -> Iterator[tuple[Entrant, int]]:
    for e in under_test:
        for seed in _seeds(case, e, runs.get(e.label, []), most, precise):
            yield e, seed


def _seeds(case: Case, e: Entrant, runs: list[Seen], most: int, precise: bool) -> list[int]:
    """Seeds to run next; none where there is enough."""
    done = {run.result.seed for run in runs}
    first = range(e.first_seed, e.first_seed + min(FIRST_SEEDS, most))
    if wanting := [seed for seed in first if seed not in done]:
        return wanting
    if not precise or len(done) >= most or alike(runs) or all(_sharp(case, runs, i) for i in range(len(case.judge))):
        return []
    return [max(done) + 1]


def alike(runs: Sequence[Seen]) -> bool:
    """Whether nothing is random: the flows' numbers of all seeds are the same."""
    return all(run.result.flows == runs[0].result.flows for run in runs)


def _sharp(case: Case, runs: list[Seen], number: int) -> bool:
    j = case.judge[number]
    found = estimate(values(runs, j.measure, j.with_))
    return found is None or found.sharp
