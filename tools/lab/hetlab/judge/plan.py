# SPDX-License-Identifier: GPL-2.0
"""Which runs a case needs: the congestion controls under test, those it is compared with, and how many seeds."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hetlab.judge.case import Case
from hetlab.judge.measures import Seen, values
from hetlab.judge.verdict import estimate
from hetlab.model import files, jobs
from hetlab.model.job import Job
from hetlab.model.jobs import Variant
from hetlab.model.resolve import resolve
from hetlab.model.scenario import Experiment, Point

FIRST_SEEDS = (1, 2)


def references(case: Case, ccs: Sequence[Variant]) -> list[Variant]:
    """Congestion controls that limits of the case speak of, and that are not under test."""
    have = {v.cc for v in ccs if not v.params}
    return [Variant(cc) for cc in dict.fromkeys(j.of for j in case.judge if j.of) if cc not in have]


def point_of(case: Case) -> tuple[Point, Experiment]:
    """The scenario of a case."""
    (point,) = files.load(case.path)
    point = replace(point, name=case.id)
    return point, resolve(point)


def more(case: Case, variants: Sequence[Variant], seen: dict[str, list[Seen]], most: int, scratch: Path) -> list[Job]:
    """Runs still wanting: two seeds; where these differ, more until all numbers are sharp or ``most`` are there."""
    point, experiment = point_of(case)
    found: list[Job] = []
    for v in variants:
        label = jobs.label_of(v)
        for seed in _seeds(case, seen.get(label, []), most):
            found.append(jobs.one(point, experiment, v, seed, scratch / case.id / f"{len(found):03d}"))
    return found


def _seeds(case: Case, runs: list[Seen], most: int) -> list[int]:
    """Seeds to run next; none where there is enough."""
    done = {run.result.seed for run in runs}
    if wanting := [seed for seed in FIRST_SEEDS[:most] if seed not in done]:
        return wanting
    if len(done) >= most or alike(runs) or all(_sharp(case, runs, i) for i in range(len(case.judge))):
        return []
    return [max(done) + 1]


def alike(runs: Sequence[Seen]) -> bool:
    """Whether nothing is random: the flows' numbers of all seeds are the same."""
    return all(run.result.flows == runs[0].result.flows for run in runs)


def _sharp(case: Case, runs: list[Seen], number: int) -> bool:
    j = case.judge[number]
    found = estimate(values(runs, j.measure, j.with_))
    return found is None or found.sharp
