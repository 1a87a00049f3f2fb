# SPDX-License-Identifier: GPL-2.0
"""Runs and groups of runs that a page compares: same scenario and kernel, of no module two versions."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hetlab.model.keys import as_plain
from hetlab.model.result import RunResult
from hetlab.model.scenario import Experiment
from hetlab.plots import style
from hetlab.results import loaded, points


@dataclass(frozen=True)
class Run:
    """One run: its directory and its result.json."""

    directory: Path
    result: RunResult

    @property
    def label(self) -> str:
        """``cc:param=value``."""
        return self.result.label


@dataclass
class Group:
    """The runs of one scenario with the same kernel; ``modules``: those that they loaded, of each one version."""

    name: str
    resolved: Experiment
    slug: str
    runs: dict[str, list[Run]] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)

    def fits(self, modules: dict[str, str]) -> bool:
        """Whether a run with these modules had no other version of one than the runs that are here."""
        return all(self.modules.get(name, digest) == digest for name, digest in modules.items())

    @property
    def every(self) -> list[Run]:
        """All runs, in the order of tables."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def results(self) -> dict[str, list[RunResult]]:
        """Results by label."""
        return {label: [run.result for run in runs] for label, runs in self.runs.items()}

    @property
    def rate_mbit(self) -> float | None:
        """Rate of the bottleneck; of a trace its mean in the time of the run."""
        return self.resolved.rate_mbit

    @property
    def queue_pkts(self) -> int | None:
        """Packets that may wait at the bottleneck."""
        way = self.resolved.bottleneck
        return way.queue_pkts if way else None

    @property
    def path_ms(self) -> float | None:
        """Delay of the path without any queue; None if delays are not recorded or a delay changes on the way."""
        sc = self.resolved
        if not sc.owd_pairs or not sc.links or any(change.delay_ms is not None for change in sc.events):
            return None
        if any("delay" in played.kinds for played in sc.traces.values()):
            return None
        paths = [sc.path(src, dst) for src, dst in sc.owd_pairs]
        return min(sum(sc.links[name].way(way).delay_ms for name, way in path) for path in paths)


def group(found: Iterable[tuple[Path, RunResult]]) -> list[Group]:
    """Runs by scenario, points of a sweep in the order of their values.

    Different settings, kernels or modules under one name stay apart.
    """
    groups: dict[str, list[Group]] = {}
    every: list[Group] = []
    seen: set[str] = set()
    for directory, result in sorted(found, key=lambda item: points.order(item[1].scenario)):
        same = result.as_json()
        if same in seen:
            continue
        seen.add(same)
        measured_with = {k: v for k, v in result.hashes.items() if k not in ("commit", "modules", "candidates")}
        key = json.dumps([result.scenario, as_plain(result.scenario_resolved), measured_with], sort_keys=True)
        modules = loaded.by_name(result.hashes.get("modules", "")) | _own(result)
        g = next((g for g in groups.setdefault(key, []) if g.fits(modules)), None)
        if not g:
            g = Group(result.scenario, result.scenario_resolved, _slug(result.scenario, {g.slug for g in every}))
            groups[key].append(g)
            every.append(g)
        g.modules |= modules
        run = Run(directory, result)
        g.runs.setdefault(run.label, []).append(run)
    for g in every:
        g.runs = {label: sorted(g.runs[label], key=lambda r: r.result.seed) for label in style.styles(g.runs)}
    return every


def _own(result: RunResult) -> dict[str, str]:
    """Sources of a congestion control of the user's own, by its name: two versions of one file have the same."""
    digest = result.hashes.get("candidates")
    return {f"{result.cc} of a file": digest} if digest else {}


def _slug(name: str, taken: set[str]) -> str:
    """Part of a file name, and the anchor of a section."""
    base = style.file_word(name)[:80].strip("-") or "scenario"
    slug, number = base, 2
    while slug in taken:
        slug, number = f"{base}-{number}", number + 1
    return slug


def words_of(values: Iterable[Any]) -> str:
    """Values as a list in a sentence."""
    return ", ".join(str(v) for v in values)
