# SPDX-License-Identifier: GPL-2.0
"""Names of scenarios, claims and figures: each paper's begin with its folder's name and a dash.

The papers are found, not known: every package below ``papers``. Its ``OLD_PREFIXES`` and ``OLD_SCENARIOS`` say how
names began, and what scenarios were called, before; such a name still works and says the new one on stderr.
"""

import functools
import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

from hetlab.paths import PAPERS, SCENARIOS


@functools.cache
def papers() -> dict[str, ModuleType]:
    """Packages of the papers by the name of their folder."""
    found = sorted(info.name for info in pkgutil.iter_modules([str(PAPERS)]) if info.ispkg)
    return {name: importlib.import_module(f"{PAPERS.name}.{name}") for name in found}


def register(kind: str) -> None:
    """Import the module ``claims`` or ``figures`` of every paper that has one."""
    for package in papers().values():
        if importlib.util.find_spec(f"{package.__name__}.{kind}"):
            importlib.import_module(f"{package.__name__}.{kind}")


@functools.cache
def scenarios() -> dict[str, Path]:
    """Files of all scenarios: the general ones by their stems, a paper's by its folder and the stem."""
    found = {path.stem: path for path in sorted(SCENARIOS.glob("*.toml"))}
    for name in papers():
        found |= {f"{name}-{path.stem}": path for path in sorted((PAPERS / name / "scenarios").glob("*.toml"))}
    return found


def folder_of(name: str) -> str:
    """The paper that a name belongs to; empty: none."""
    return max((paper for paper in papers() if name.startswith(f"{paper}-")), key=len, default="")


@functools.cache
def _prefixes() -> dict[str, str]:
    """Old beginnings of names and the new ones, the longest first."""
    every = {old: new for package in papers().values() for old, new in package.OLD_PREFIXES.items()}
    return dict(sorted(every.items(), key=lambda item: -len(item[0])))


def renamed(old: str) -> str:
    """An old name with its new beginning; the name itself where none is known."""
    for before, now in _prefixes().items():
        if old.startswith(before):
            return now + old.removeprefix(before)
    return old


def renamed_scenario(old: str) -> str:
    """The same of a scenario."""
    every = {old: new for package in papers().values() for old, new in package.OLD_SCENARIOS.items()}
    return every.get(old) or renamed(old)


def _replaced(name: str) -> list[tuple[str, str]]:
    """What a name began with before, and what it begins with now instead."""
    found = [(before, now) for before, now in _prefixes().items() if name.startswith(now)]
    longest = max((len(now) for _before, now in found), default=0)
    return [(before, now) for before, now in found if len(now) == longest]


def old_forms(name: str) -> list[str]:
    """What a claim or a figure was called before."""
    return [before + name.removeprefix(now) for before, now in _replaced(name)]


def begin_with(names: list[str], prefix: str) -> list[str]:
    """Names that begin so; or, where none does, those whose old names do."""
    if found := [name for name in names if name.startswith(prefix)]:
        return found
    told = set()
    for name in names:
        for before, now in _replaced(name):
            if (before + name.removeprefix(now)).startswith(prefix):
                found.append(name)
                told.add(now + prefix.removeprefix(before) if prefix.startswith(before) else now)
    if told:
        tell(prefix, ", ".join(sorted(told)))
    return found


@functools.cache
def tell(old: str, new: str) -> None:
    """One line on stderr, once."""
    print(f"hetlab: {old} is an old name, now {new}", file=sys.stderr)
