# SPDX-License-Identifier: GPL-2.0
"""Tables on the terminal."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from hetlab.model import files, names
from hetlab.model.result import RunResult
from hetlab.results.columns import TERMINAL

if TYPE_CHECKING:
    from hetlab.claims import evaluate


def claims_table(judged: "list[evaluate.Judgement]") -> Table:
    """A line for each source of each claim, and one for the cause if there is any."""
    t = Table(box=None, pad_edge=False)
    for head in ("claim", "", "source", "", "ours", "paper"):
        t.add_column(head)
    for j in judged:
        name, word, paper = j.claim.id, str(j.word), j.claim.paper
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


def table(rows: list[RunResult]) -> Table:
    """One line per run, in the order of scenario, congestion control, seed."""
    t = Table(box=None, pad_edge=False)
    for head in ("scenario", "cc"):
        t.add_column(f"{head}\n", no_wrap=True)
    for head in ("seed\n", *(f"{column.name}\n{column.unit}" for column in TERMINAL)):
        t.add_column(head, justify="right", no_wrap=True)
    for run in rows:
        t.add_row(run.scenario, run.label, str(run.seed), *(column.text(column.value(run)) for column in TERMINAL))
    return t


def show(t: Table) -> None:
    """Print a table at its own width where stdout is not a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    console.print(t)
