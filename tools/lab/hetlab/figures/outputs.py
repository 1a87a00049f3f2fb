# SPDX-License-Identifier: GPL-2.0
"""Figures and tables of the papers, from runs of our own; each paper registers its own.

Every figure and sheet of tables says which runs it needs, as a claim does; ``write`` makes pictures and Markdown of
the evidence.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from hetlab.claims.evidence import Evidence, RunKey
from hetlab.errors import LabError
from hetlab.model import names
from hetlab.plots.papers import save_small
from hetlab.plots.style import save


@dataclass(frozen=True)
class Picture:
    """A figure of a paper; it is written to NAME.png, or as SVG or PDF."""

    name: str
    needs: tuple[RunKey, ...]
    draw: Callable[[Evidence], Figure]


@dataclass(frozen=True)
class Sheet:
    """Tables; they are written to NAME.md."""

    name: str
    needs: tuple[RunKey, ...]
    compose: Callable[[Evidence], str]


Output = Picture | Sheet
PICTURES: list[Picture] = []
SHEETS: list[Sheet] = []


def picture(name: str, *needs: RunKey) -> Callable[[Callable[[Evidence], Figure]], Callable[[Evidence], Figure]]:
    """Register a figure; what it needs of santacruz is run from both sources."""

    def register(draw: Callable[[Evidence], Figure]) -> Callable[[Evidence], Figure]:
        PICTURES.append(Picture(name, both(needs), draw))
        return draw

    return register


def both(needs: Iterable[RunKey]) -> tuple[RunKey, ...]:
    """With the runs by the option."""
    needs = list(needs)
    return tuple(dict.fromkeys([*needs, *(need.with_option() for need in needs)]))


# -------------------------------------------------------------------- output


def select(prefixes: Iterable[str] = ()) -> list[Output]:
    """Figures and sheets whose names, or old names, begin with one of these; all without any."""
    names.register("figures")
    every: dict[str, Output] = {p.name: p for p in PICTURES} | {s.name: s for s in SHEETS}
    chosen: set[str] = set()
    for prefix in (prefixes := tuple(prefixes)):
        if not (found := names.begin_with(list(every), prefix)):
            raise LabError(f"{prefix}: no such figure; there are {', '.join(every)}")
        chosen.update(found)
    return [output for name, output in every.items() if not prefixes or name in chosen]


def needs(chosen: Iterable[Output]) -> list[RunKey]:
    """All runs."""
    return list(dict.fromkeys(need for output in chosen for need in output.needs))


def write(directory: Path, e: Evidence, chosen: Iterable[Output], formats: Sequence[str] = ("png",)) -> list[Path]:
    """Pictures in each of the formats (png, svg, pdf), and Markdown."""
    directory.mkdir(parents=True, exist_ok=True)
    return [path for output in chosen for path in _write(directory, e, output, formats)]


def _write(directory: Path, e: Evidence, output: Output, formats: Sequence[str]) -> list[Path]:
    if isinstance(output, Sheet):
        path = directory / f"{output.name}.md"
        path.write_text(output.compose(e) + "\n")
        return [path]
    figure = output.draw(e)
    paths = [directory / f"{output.name}.{kind}" for kind in dict.fromkeys(formats)]
    for path in paths:
        (save_small if path.suffix == ".png" else save)(figure, path)
    return paths
