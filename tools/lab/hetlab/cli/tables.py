# SPDX-License-Identifier: GPL-2.0
"""Tables on the terminal."""

import re
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from hetlab.model import files, names
from hetlab.model.congestion import label
from hetlab.model.job import Job
from hetlab.model.result import RunResult
from hetlab.results.columns import TERMINAL, Column

if TYPE_CHECKING:
    from hetlab.claims import evaluate

# Heads of more than 5 characters, in parts for a narrow terminal
NARROW = {"timeouts": ("time-", "outs"), "retrans.": ("re-", "trans.")}


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


def scenarios_table() -> Table:
    """Scenarios and their variants, those of a folder together."""
    t = Table(box=None, pad_edge=False)
    t.add_column("scenario", no_wrap=True)
    t.add_column("what it models")
    t.add_column("length", justify="right", no_wrap=True)
    for folder in ("", *names.papers()):
        t.add_row("", "", "")
        t.add_row(f"{folder or 'general'}:", (names.papers()[folder].__doc__ or "") if folder else "", "")
        for name in (name for name in names.scenarios() if names.folder_of(name) == folder):
            for address in (name, *(f"{name}@{variant}" for variant in files.variants(name))):
                scenario = files.load(address)[0].scenario
                if not scenario.abstract:
                    t.add_row(f"  {address}", scenario.title, f"{scenario.duration_s:g} s")
    return t


def in_order(rows: list[RunResult], planned: list[Job]) -> list[RunResult]:
    """Results as their runs were asked for: they end in any order."""
    order = {(job.name, label(job.cc, job.cc_params), job.seed): i for i, job in enumerate(planned)}
    return sorted(rows, key=lambda run: order.get((run.scenario, run.label, run.seed), len(order)))


def notes(rows: list[RunResult]) -> list[str]:
    """What must be known to read the table: whose links were not emulated."""
    real = dict.fromkeys(run.scenario for run in rows if run.hosts and run.hosts["netem"] == "none")
    return [f"{', '.join(real)}: links not emulated (--netem none); these are numbers of the real path"] if real else []


def results_tables(rows: list[RunResult], width: int) -> list[Table]:
    """A line for each run: one table, or where it is wider than ``width`` characters one for each scenario."""
    wide = _results(rows, TERMINAL)
    if _widths(wide).maximum <= width:
        return [wide]
    columns = tuple(column for column in TERMINAL if column.name != "wall")
    return [_results(list(runs), columns, name) for name, runs in groupby(rows, key=lambda run: run.scenario)]


def _results(rows: list[RunResult], columns: tuple[Column, ...], scenario: str = "") -> Table:
    """Runs and their numbers; with a scenario, which stands above, as narrow as possible."""
    narrow = bool(scenario)
    t = Table(box=None, pad_edge=False, title=scenario or None, title_justify="left", title_style="bold")
    t.padding = (0, 1, 0, 0) if narrow else t.padding
    for head in ("cc",) if narrow else ("scenario", "cc"):
        t.add_column(f"{head}\n", no_wrap=True)
    for head in ("seed\n", *(_head(column, narrow) for column in columns)):
        t.add_column(head, justify="right", no_wrap=True)
    for run in rows:
        names = (re.sub("[@:,]", r"\n\g<0>", run.label),) if narrow else (run.scenario, run.label)
        t.add_row(*names, str(run.seed), *(column.text(column.value(run)) for column in columns))
    return t


def _head(column: Column, narrow: bool) -> str:
    """Name and unit of a column; narrow: a word a line."""
    if not narrow:
        return f"{column.name}\n{column.unit}"
    return "\n".join((*NARROW.get(column.name, column.name.split()), *column.unit.split()))


def _widths(t: Table) -> Measurement:
    """Characters that a table needs at least, without cutting what is never wrapped, and at most."""
    console = Console(width=10_000)
    return Measurement.get(console, console.options, t)


def show(*shown: Table, to: Console | None = None) -> None:
    """Print tables at the width of the terminal, where stdout is none at 200; wider rather than cut."""
    console = to or Console(highlight=False)
    width = _width_of(console)
    for t in shown:
        console.width = max(width, _widths(t).minimum)
        console.print(t)


def show_results(rows: list[RunResult]) -> None:
    """Print the tables of runs, and below what must be known to read them."""
    show(*results_tables(rows, terminal_width()))
    for note in notes(rows):
        print(note)


def terminal_width() -> int:
    """Characters of a line of the terminal; of what is no terminal 200."""
    return _width_of(Console())


def _width_of(console: Console) -> int:
    return console.width if console.is_terminal else 200
