# SPDX-License-Identifier: GPL-2.0
"""From what the user asked for to jobs, and from finished jobs to results."""

import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path

from hetlab import paths
from hetlab.errors import LabError
from hetlab.model import congestion, traces
from hetlab.model.job import Candidate, Job
from hetlab.model.resolve import resolve
from hetlab.model.scenario import OPTION_SYSCTL, WAYS, Experiment, Point

TRACED = "santacruz"


@dataclass(frozen=True)
class Variant:
    """A congestion control with module parameters."""

    cc: str
    params: dict[str, str] = field(default_factory=dict)
    candidate: Candidate | None = None


def parse_cc(text: str) -> Variant:
    """``NAME[@PRESET][:param=value,...]``."""
    return Variant(*congestion.parse(text))


def parse_seeds(seed: list[int], seeds: int | None) -> list[int] | None:
    """``--seed N`` (repeated) or ``--seeds K`` (1..K); None: the scenario's own."""
    if seed and seeds:
        raise LabError("give --seed or --seeds, not both")
    if seeds is not None and not 1 <= seeds <= 10_000:
        raise LabError(f"--seeds {seeds}: allowed range is 1..10000")
    for n in seed:
        if not 0 <= n < 2**32:
            raise LabError(f"--seed {n}: allowed range is 0..{2**32 - 1}")
    return list(range(1, seeds + 1)) if seeds else seed or None


def keep_traces(point: Point) -> None:
    """Write the traces of a scenario's links where machines read them."""
    traces.keep(paths.TRACES, [link.way(side) for link in point.scenario.link.values() for side in WAYS])


def make(points: list[Point], variants: list[Variant], seeds: list[int] | None, trace: bool = False) -> list[Job]:
    """All runs of a command: scenarios x congestion controls x seeds; ``trace`` those with santacruz."""
    scratch = paths.scratch("raw-")
    jobs: list[Job] = []
    for point in points:
        experiment = resolve(point)
        keep_traces(point)
        if variants and all_fixed(experiment):
            raise LabError(f"{point.name}: --cc would change nothing, each of its flows names its congestion control")
        compared = [Variant(name) for name in point.scenario.compare]
        chosen = _fixed(experiment) or variants or compared or [Variant("cubic")]
        for variant, seed in itertools.product(chosen, seeds or point.scenario.seeds):
            jobs.append(one(point, experiment, variant, seed, scratch / f"{len(jobs):05d}", trace))
    if trace and not any(job.trace for job in jobs):
        raise LabError(f"--trace: no flow of these runs uses {TRACED}")
    return jobs


def all_fixed(experiment: Experiment) -> bool:
    """Whether each TCP flow names its own congestion control, so that none is under test."""
    tcp = [flow for flow in experiment.flows if flow.proto == "tcp"]
    return bool(tcp) and all(flow.cc for flow in tcp)


def _fixed(experiment: Experiment) -> list[Variant]:
    """Of flows that all name theirs: one run, called by all the names, such as ``cubic+bbr``."""
    named = dict.fromkeys(flow.cc for flow in experiment.flows if flow.cc)
    return [Variant("+".join(named))] if all_fixed(experiment) else []


def label_of(variant: Variant) -> str:
    """``cc@preset:param=value``."""
    return congestion.label(variant.cc, variant.params)


def one(point: Point, experiment: Experiment, variant: Variant, seed: int, directory: Path, trace: bool = False) -> Job:
    """One run, with raw results in a directory; ``trace`` asks for the events of santacruz if a flow uses it."""
    own = point.scenario.params.get(variant.cc, {})
    params = {k: str(v) for k, v in own.items()} | variant.params
    job = Job(scenario=experiment, cc=variant.cc, cc_params=params, seed=seed, dir=str(directory), asked=point.asked)
    job = replace(job, candidates=(variant.candidate,) if variant.candidate else ())
    return replace(job, trace=trace and TRACED in job.ccs)


def by_kernel(jobs: list[Job], patched: bool | None = None) -> dict[bool, list[Job]]:
    """Jobs by kernel, unpatched (False) or patched: as ``patched`` says, or as their sysctls need."""
    groups: dict[bool, list[Job]] = {}
    for job in jobs:
        needs = OPTION_SYSCTL in job.scenario.sysctl if patched is None else patched
        groups.setdefault(needs, []).append(job)
    return groups
