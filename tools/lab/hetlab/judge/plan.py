# SPDX-License-Identifier: GPL-2.0
"""Which runs a case needs: the congestion controls under test, those it is compared with, and how many seeds."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hetlab import paths
from hetlab.errors import LabError
from hetlab.judge.case import Case
from hetlab.judge.seen import Seen, group_of
from hetlab.judge.verdict import SEEDS_APART, sharp
from hetlab.model import files, jobs, traces
from hetlab.model.job import Job
from hetlab.model.jobs import Variant
from hetlab.model.resolve import resolve
from hetlab.model.scenario import WAYS, Experiment, Point

FIRST_SEEDS = 2
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
        found.append(Entrant(variant, _label(name, seen[name]), 1 + seen[name] * SEEDS_APART))
        seen[name] += 1
    return found


def _label(name: str, times: int) -> str:
    return f"{name} ({times + 1})" if times else name


def label_of(seen: Seen) -> str:
    """Label of the entrant that a run belongs to."""
    return _label(seen.result.label, (seen.result.seed - 1) // SEEDS_APART)


def references(case: Case, under_test: Sequence[Entrant]) -> list[Entrant]:
    """Congestion controls that limits of the case speak of, and that are not under test."""
    have = {e.label for e in under_test}
    return [Entrant(Variant(cc), cc) for cc in dict.fromkeys(j.of for j in case.judge if j.of) if cc not in have]


def point_of(case: Case) -> tuple[Point, Experiment]:
    """The scenario of a case; files of its traces are kept for the runs."""
    (point,) = files.load(case.path)
    point = replace(point, name=case.id)
    traces.keep(paths.TRACES, [link.way(side) for link in point.scenario.link.values() for side in WAYS])
    return point, resolve(point)


def alone(case: Case) -> list[str]:
    """Flows whose harm is asked, and which therefore also run without the others."""
    return list(dict.fromkeys(str(j.with_["flow"]) for j in case.judge if j.measure == "harm"))


def name_alone(case: Case, flow: str) -> str:
    """Name of the scenario in which a flow of a case is alone."""
    return f"{case.id}-alone-{flow}"


def only(experiment: Experiment, name: str, flow: str) -> Experiment:
    """The same network with one flow (or group of flows)."""
    chosen = [f for f in experiment.flows if flow in (f.name, group_of(f.name))]
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
    planned += _beside(case, under_test, found[case.id], planned)
    made = [
        jobs.one(point, experiment, e.variant, seed, scratch / case.id / f"{i:03d}")
        for i, (e, seed) in enumerate(planned)
    ]
    for flow in alone(case):
        made += _solo(case, flow, under_test, found, scratch)
    return made


def _beside(
    case: Case, under_test: Sequence[Entrant], runs: dict[str, list[Seen]], planned: Sequence[tuple[Entrant, int]]
) -> list[tuple[Entrant, int]]:
    """Runs of those that limits speak of, for the seeds of all others: they are compared seed by seed."""
    labels = {e.label for e in under_test}
    numbers = {run.result.seed % SEEDS_APART for label in labels for run in runs.get(label, [])}
    numbers |= {seed % SEEDS_APART for _e, seed in planned}
    asked = {j.of for j in case.judge}
    wanted = [e for e in (*under_test, *references(case, under_test)) if e.label in asked]
    have = {(e.label, run.result.seed) for e in wanted for run in runs.get(e.label, [])}
    have |= {(e.label, seed) for e, seed in planned}
    return [(e, seed) for e in wanted for seed in sorted(numbers) if (e.label, seed) not in have]


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
        for seed in _seeds(case, e, runs, most, precise):
            yield e, seed


def _seeds(case: Case, e: Entrant, found: dict[str, list[Seen]], most: int, precise: bool) -> list[int]:
    """Seeds to run next; none where there is enough. References have those of the congestion controls under test."""
    runs = found.get(e.label, [])
    done = {run.result.seed for run in runs}
    first = range(e.first_seed, e.first_seed + min(FIRST_SEEDS, most))
    if wanting := [seed for seed in first if seed not in done]:
        return wanting
    if not precise or len(done) >= most or alike(runs):
        return []
    if all(sharp(j, runs, found.get(j.of or "", ())) for j in case.judge):
        return []
    return [max(done) + 1]


def alike(runs: Sequence[Seen]) -> bool:
    """Whether nothing is random: the flows' numbers of all seeds are the same."""
    return all(run.result.flows == runs[0].result.flows for run in runs)
