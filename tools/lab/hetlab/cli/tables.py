# SPDX-License-Identifier: GPL-2.0
"""Tables on the terminal."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

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
