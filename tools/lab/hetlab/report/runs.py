# SPDX-License-Identifier: GPL-2.0
"""Runs and groups of runs that a page compares: same scenario, kernel and modules."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hetlab.plots import style
from hetlab.results import store

NONE = "-"
Result = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run: its directory and its result.json."""

    directory: Path
    result: Result

    @property
    def label(self) -> str:
        """``cc:param=value``."""
        return store.label(self.result["cc"], self.result["cc_params"])

    @property
    def tcp(self) -> list[Result]:
        """Results of the TCP flows."""
        return [f for f in self.result["flows"] if f["proto"] == "tcp"]


@dataclass
class Group:
    """The runs of one scenario with the same kernel and modules."""

    name: str
    resolved: dict[str, Any]
    slug: str
    runs: dict[str, list[Run]] = field(default_factory=dict)

    @property
    def every(self) -> list[Run]:
        """All runs, in the order of tables."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def bottleneck(self) -> dict[str, Any]:
        """The direction of a link that is the bottleneck; empty if there is none."""
        link, _, way = (self.resolved["measure"]["bottleneck"] or "").partition(".")
        return dict(self.resolved["links"][link][way]) if link else {}


def group(found: Iterable[tuple[Path, Result]]) -> list[Group]:
    """Runs by scenario; different settings, kernels or modules under one name stay apart."""
    groups: dict[str, Group] = {}
    seen: set[str] = set()
    for directory, result in found:
        same = json.dumps({k: v for k, v in result.items() if k != "wall_s"}, sort_keys=True)
        if same in seen:
            continue
        seen.add(same)
        measured_with = {k: v for k, v in result["hashes"].items() if k != "commit"}
        key = json.dumps([result["scenario"], result["scenario_resolved"], measured_with], sort_keys=True)
        if key not in groups:
            slug = _slug(result["scenario"], {g.slug for g in groups.values()})
            groups[key] = Group(result["scenario"], result["scenario_resolved"], slug)
        run = Run(directory, result)
        groups[key].runs.setdefault(run.label, []).append(run)
    for g in groups.values():
        g.runs = {label: sorted(g.runs[label], key=lambda r: r.result["seed"]) for label in style.styles(g.runs)}
    return list(groups.values())


def _slug(name: str, taken: set[str]) -> str:
    """Part of a file name, and the anchor of a section."""
    base = re.sub(r"[^\w.,=+\-]+", "_", name)[:80].strip("_") or "scenario"
    slug, number = base, 2
    while slug in taken:
        slug, number = f"{base}-{number}", number + 1
    return slug


def values_of(runs: Sequence[Run], value: Callable[[Run], float | None]) -> list[float]:
    """A number of each run, without the runs that do not have it."""
    return [float(v) for v in map(value, runs) if v is not None]


# ---------------------------------------------------------------- provenance


def words_of(values: Iterable[Any]) -> str:
    """Values as a list in a sentence."""
    return ", ".join(str(v) for v in values)
