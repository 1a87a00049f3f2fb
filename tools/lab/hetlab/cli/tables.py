# SPDX-License-Identifier: GPL-2.0
"""Tables on the terminal."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column as TableColumn
from rich.table import Table

from hetlab.model import files, names
from hetlab.model.congestion import label
from hetlab.model.job import Job
from hetlab.model.result import RunResult
from hetlab.model.scenario import Scenario
from hetlab.results.columns import TERMINAL, Column, shown

if TYPE_CHECKING:
    from hetlab.claims import evaluate

# Heads of more than 5 characters, in parts for a narrow terminal
NARROW = {"timeouts": ("time-", "outs"), "retrans.": ("re-", "trans.")}
# What a terminal of 80 characters can do without, first to go first: intervals of several seeds make columns wide
DISPENSABLE = ("queue max", "lost", "timeouts")
NARROWEST = 80


def claims_table(judged: "list[evaluate.Judgement]") -> Table:
    """A line for each source of each claim, and one for the cause if there is any."""
    t = Table(box=None, pad_edge=False)
    for head in ("claim", "", "source", "", "ours", "paper"):
        t.add_column(head)
    for j in judged:
        name, word, paper = j.claim.id, str(j.status), j.claim.paper
        for source, v in j.verdicts.items():
            t.add_row(name, word, source, "yes" if v.holds else "no", v.ours, paper)
            name = word = paper = ""
        if j.claim.cause:
            t.add_row("", "", "cause", "", j.claim.cause, "")
    return t


def claims_list(chosen: "list[evaluate.Claim]") -> Table:
    """What each claim needs: runs or packet scripts, and roughly the real time on one CPU."""
    t = Table(box=None, pad_edge=False)
    for head in ("claim", "about", "runs", "scripts", "seconds"):
        t.add_column(head, justify="left" if head in ("claim", "about") else "right", no_wrap=True)
    for c in chosen:
        t.add_row(c.id, c.kind, str(len(c.needs) or "-"), str(len(c.scripts) or "-"), str(c.cost_s or "short"))
    return t


def scenarios_table(prefix: str) -> Table:
    """Scenarios whose names begin so, with their variants and what they model; the short ones first."""
    t = Table(box=None, pad_edge=False)
    t.add_column("scenario", no_wrap=True)
    t.add_column("what it models", min_width=30)
    t.add_column("length", justify="right", no_wrap=True)
    for _folder, found in _by_folder(prefix):
        for name, scenario in found:
            t.add_row(name, scenario.title, f"{scenario.duration_s:g} s")
            for variant in files.variants(name):
                other = files.load(f"{name}@{variant}")[0].scenario
                if not other.abstract:
                    t.add_row(f"  @{variant}", other.title, f"{other.duration_s:g} s")
    return t


def scenarios_overview() -> list[RenderableType]:
    """Names of all scenarios, those of a folder together, the short ones first: one screen."""
    parts: list[RenderableType] = []
    for folder, found in _by_folder(""):
        parts.append(f"{folder or 'general'}: {(names.papers()[folder].__doc__ or '') if folder else ''}".strip(": \n"))
        parts.append(Padding(", ".join(name for name, _scenario in found), (0, 0, 0, 2)))
    return [*parts, "", "What they model, and their variants: hetlab list NAME, or how names begin"]


def _by_folder(prefix: str) -> Iterator[tuple[str, list[tuple[str, Scenario]]]]:
    """Each folder that has any: its scenarios that begin so and are no mere base, by their length."""
    for folder in ("", *names.papers()):
        every = [name for name in names.scenarios() if names.folder_of(name) == folder and name.startswith(prefix)]
        loaded = [(name, files.load(name)[0].scenario) for name in every]
        if found := sorted((p for p in loaded if not p[1].abstract), key=lambda p: p[1].duration_s):
            yield folder, found


def in_order(rows: list[RunResult], planned: list[Job]) -> list[RunResult]:
    """Results as their runs were asked for: they end in any order."""
    order = {(job.name, label(job.cc, job.cc_params), job.seed): i for i, job in enumerate(planned)}
    return sorted(rows, key=lambda run: order.get((run.scenario, run.label, run.seed), len(order)))


@dataclass(frozen=True)
class Line:
    """Runs that stand on one line: of one scenario and congestion control."""

    scenario: str
    label: str
    runs: Sequence[RunResult]


def each_run(rows: Iterable[RunResult]) -> list[Line]:
    """A line for each run."""
    return [Line(run.scenario, run.label, [run]) for run in rows]


def over_seeds(rows: Iterable[RunResult]) -> list[Line]:
    """A line for each scenario and congestion control, in the order of their first runs."""
    lines: dict[tuple[str, str], list[RunResult]] = {}
    for run in rows:
        lines.setdefault((run.scenario, run.label), []).append(run)
    return [Line(*names, runs) for names, runs in lines.items()]


def notes(lines: list[Line]) -> list[str]:
    """What must be known to read the table: whose links were not emulated, and intervals of two seeds."""
    rows = [run for line in lines for run in line.runs]
    real = dict.fromkeys(run.scenario for run in rows if run.hosts and run.hosts["netem"] == "none")
    said = []
    if any(len(line.runs) == 2 for line in lines):
        said.append("an interval of two seeds is 7 times as wide as one of five that spread alike: --seeds 5")
    if real:
        said.append(f"{', '.join(real)}: links not emulated (--netem none); these are numbers of the real path")
    return said


def results_tables(lines: list[Line], width: int, asked: tuple[Column, ...] = ()) -> list[Table]:
    """Lines in one table, or where it is wider than ``width`` characters in one for each scenario.

    Of several seeds there are the mean and half its 95 % interval; in a narrow table that stands below. Columns that
    are asked for are there even where no run has a value.
    """
    columns = asked or shown(TERMINAL, [run for line in lines for run in line.runs])
    wide = _results(lines, columns)
    if measured(wide).maximum <= width:
        return [wide]
    columns = asked or tuple(column for column in columns if column.name != "wall")
    return [
        _narrow(list(those), columns, name, width) for name, those in groupby(lines, key=lambda line: line.scenario)
    ]


def _narrow(lines: list[Line], columns: tuple[Column, ...], scenario: str, width: int) -> Table:
    """One scenario, without columns that can be done without where it is still too wide; it says which."""
    left_out: list[str] = []
    t = _results(lines, columns, scenario)
    for name in DISPENSABLE:
        if measured(t).maximum <= max(width, NARROWEST):
            break
        left_out.append(name)
        t = _results(lines, tuple(c for c in columns if c.name not in left_out), scenario)
    if left_out:
        t.caption = f"left out: {', '.join(left_out)}; hetlab table DIR --csv has all"
        t.caption_justify = "left"
    return t


def _results(lines: list[Line], columns: tuple[Column, ...], scenario: str = "") -> Table:
    """Runs and their numbers; with a scenario, which stands above, as narrow as possible."""
    narrow = bool(scenario)
    t = Table(box=None, pad_edge=False, title=scenario or None, title_justify="left", title_style="bold")
    t.padding = (0, 1, 0, 0) if narrow else t.padding
    for head in ("cc",) if narrow else ("scenario", "cc"):
        t.add_column(f"{head}\n", no_wrap=True)
    several = any(len(line.runs) > 1 for line in lines)
    for head in ("seeds\n" if several else "seed\n", *(_head(column, narrow) for column in columns)):
        t.add_column(head, justify="right", no_wrap=True)
    for line in lines:
        names = (re.sub("[@:,]", r"\n\g<0>", line.label),) if narrow else (line.scenario, line.label)
        seeds = str(len(line.runs) if several else line.runs[0].seed)
        cells = (column.texts(column.over(line.runs)) for column in columns)
        t.add_row(*names, seeds, *(("\n" if narrow else " ").join(filter(None, texts)) for texts in cells))
    return t


def _head(column: Column, narrow: bool) -> str:
    """Name and unit of a column; narrow: a word a line."""
    if not narrow:
        return f"{column.name}\n{column.unit}"
    return "\n".join((*NARROW.get(column.name, column.name.split()), *column.unit.split()))


def measured(t: Table) -> Measurement:
    """Characters that a table needs at least, without cutting what is never wrapped, and at most."""
    console = Console(width=10_000, markup=False)
    most = Measurement.get(console, console.options, t).maximum
    # Not rich's own minimum: it would cut columns that must not be wrapped
    slack = sum(widest(column) - max(widest(column, str.split), column.min_width or 0) for column in wrapped(t))
    return Measurement(most - slack, most)


def wrapped(t: Table) -> list[TableColumn]:
    """Columns whose texts may go on in the next line."""
    return [column for column in t.columns if not column.no_wrap]


def widest(column: TableColumn, parts: Callable[[str], list[str]] = str.splitlines) -> int:
    """Characters of the longest line of a column's head and cells, or with str.split of the longest word."""
    texts = (str(column.header), *map(str, column.cells))
    return max((cell_len(part) for text in texts for part in parts(text)), default=0)


def show(*shown: Table, to: Console | None = None) -> None:
    """Print tables at the width of the terminal, where stdout is none at $COLUMNS or 200; wider rather than cut."""
    console = to or Console(highlight=False, markup=False)
    width = _width_of(console)
    for t in shown:
        if t.title:  # rich folds it at the width of the table
            console.print(t.title, style=t.title_style, soft_wrap=True)
            t.title = None
        console.width = max(width, measured(t).minimum)
        console.print(t)


def show_results(rows: list[RunResult], each: bool = False) -> None:
    """Print the tables of runs (``each``: a line for each), and below what must be known to read them."""
    lines = (each_run if each else over_seeds)(rows)
    show(*results_tables(lines, terminal_width()))
    for note in notes(lines):
        print(note)


def terminal_width() -> int:
    """Characters of a line of the terminal; of what is no terminal $COLUMNS or 200."""
    return _width_of(Console())


def _width_of(console: Console) -> int:
    return console.width if console.is_terminal or "COLUMNS" in os.environ else 200
