# SPDX-License-Identifier: GPL-2.0
"""hetlab judge: cases for congestion controls, verdicts on the terminal."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path

from rich.table import Table

from hetlab import paths
from hetlab.cli.campaigns import IN_ITS_DIRECTORY, Kept, carry_out, virtual_on
from hetlab.cli.judged import asked, short
from hetlab.cli.tables import measured
from hetlab.judge.case import Case
from hetlab.judge.compare import Difference, count
from hetlab.judge.matrix import Square
from hetlab.judge.plan import Entrant, Found, attach, label_of, more
from hetlab.judge.seen import Seen
from hetlab.judge.verdict import Cell, judge, median, number, passed
from hetlab.model import jobs
from hetlab.model.job import Job
from hetlab.model.jobs import Variant
from hetlab.model.result import RunResult
from hetlab.ported.kernel import DEFAULT, Series
from hetlab.results import store
from hetlab.results.campaign import Campaign

SIGNS_MEAN = "+ passed  - failed  ? open: more seeds may tell"


@dataclass(frozen=True)
class Session:
    """Where runs of a command are kept and carried out: results, machines at a time, seeds at most, kernel."""

    out: Path
    machines: int | None
    most: int
    patches: tuple[Path, ...] = ()
    before: Kept = IN_ITS_DIRECTORY
    cluster: str | None = None
    series: Series = DEFAULT

    def gather(self, cases: Sequence[Case], under_test: Sequence[Entrant]) -> tuple[Found, Campaign]:
        """All runs that the cases need, those that are there taken; seeds until the numbers are sharp."""
        found: Found = {case.id: {} for case in cases}
        scratch, costs = paths.scratch("judge-"), {case.id: case.cost_s for case in cases}

        def wanting(failed: list[tuple[Job, str]]) -> list[Job]:
            planned = [job for case in cases for job in more(case, under_test, found, self.most, scratch)]
            planned = without(planned, failed)
            return sorted(planned, key=lambda job: -costs.get(job.name.partition("-alone-")[0], 0))

        campaign = self.carry_out(wanting, found)
        for case in cases:
            attach(case, found)
        return found, campaign

    def carry_out(self, wanting: Callable[[list[tuple[Job, str]]], list[Job]], found: Found) -> Campaign:
        """Run what ``wanting`` returns for the jobs that have failed so far, until it returns none."""

        def keep(result: RunResult) -> None:
            seen = Seen(store.run_dir(self.out, result), result)
            found.setdefault(result.scenario, {}).setdefault(label_of(seen), []).append(seen)

        failed: list[tuple[Job, str]] = []
        place = virtual_on(self.cluster, self.machines, self.patches, series=self.series, store=self.before.store)
        planned, campaign = wanting(failed), None
        while planned or campaign is None:
            campaign = carry_out(planned, place, self.out, keep, before=self.before, tell_others=False)
            failed += campaign.failed
            planned = wanting(failed)
        campaign.failed = failed
        return campaign


def _key(job: Job) -> tuple[str, str, int]:
    return job.name, jobs.label_of(Variant(job.cc, job.cc_params)), job.seed


def without(planned: Sequence[Job], failed: Sequence[tuple[Job, str]]) -> list[Job]:
    """Jobs that did not fail in this command already."""
    lost = {_key(job) for job, _text in failed}
    return [job for job in planned if _key(job) not in lost]


def cells_of(
    cases: Sequence[Case], under_test: Sequence[Entrant], found: Found, series: Series = DEFAULT
) -> list[Cell]:
    """Every judgement; ranks are of the default kernel."""
    labels, ranked = [e.label for e in under_test], series == DEFAULT
    return [replace(cell, ranked=ranked) for case in cases for cell in judge(case, labels, found[case.id])]


def cases_table(cases: Sequence[Case]) -> Table:
    """What each case is, and what is asked."""
    t = Table(box=None, pad_edge=False)
    for head in ("case", "group", "asked", "covers"):
        t.add_column(head, no_wrap=head == "case")
    for case in cases:
        t.add_row(case.id, case.group, "\n".join(j.text for j in case.judge), case.covers)
    return t


def verdicts_table(cells: Sequence[Cell], width: int) -> Table:
    """A row for each judgement: value and mark of each congestion control; intervals where ``width`` has room."""
    return _fitting(partial(_verdicts, cells), width)


def _fitting(table: Callable[..., Table], width: int) -> Table:
    """The table with intervals where ``width`` has room, else without."""
    full = table(intervals=True)
    return full if measured(full).minimum <= width else table(intervals=False)


def _verdicts(cells: Sequence[Cell], *, intervals: bool) -> Table:
    ccs = list(dict.fromkeys(cell.cc for cell in cells))
    t = Table(box=None, pad_edge=False, caption=SIGNS_MEAN, caption_justify="left")
    t.add_column("case", no_wrap=True)
    t.add_column("asked")
    for cc in ccs:
        t.add_column(cc, justify="right", no_wrap=True)
    for (case, at), row in groupby(cells, key=lambda c: (c.case.id, c.case.judge.index(c.judgement))):
        of = list(row)
        t.add_row(case if at == 0 else "", asked(of[0].judgement), *(short(cell, intervals) for cell in of))
    t.add_row("passed", "", *(_score(cells, cc) for cc in ccs))
    if not intervals:
        t.caption = f"{SIGNS_MEAN}; intervals: the scorecard, --csv or a wider terminal"
    return t


def _score(cells: Sequence[Cell], cc: str) -> str:
    by_case = groupby((cell for cell in cells if cell.cc == cc), key=lambda cell: cell.case.id)
    words = [passed(list(of)) for _case, of in by_case]
    return f"{words.count('pass')}/{sum(word != 'value' for word in words)}"


def changes_table(found: Sequence[Difference], width: int) -> Table:
    """A row for each judgement that is not the same in both, and how many are; intervals where there is room."""
    return _fitting(partial(_changes, found), width)


def _changes(found: Sequence[Difference], *, intervals: bool) -> Table:
    words = (f"{count(found, word)} {word}" for word in ("better", "worse", "changed", "open", "same"))
    t = Table(box=None, pad_edge=False, caption=f"all: {', '.join(words)}", caption_justify="left")
    for head in ("case", "asked", "before", "after", "change", ""):
        t.add_column(
            head, justify="right" if head in ("before", "after", "change") else "left", no_wrap=head != "asked"
        )
    for d in found:
        if d.word not in ("same", "none"):
            percent = "" if d.percent is None else f"{d.percent:+.1f} %"
            both = (number(of) if intervals else median(of) for of in (d.before, d.after))
            t.add_row(d.case.id, asked(d.judgement), *both, percent, d.word)
    return t


def matrix_tables(squares: Sequence[Square], labels: Sequence[str]) -> list[Table]:
    """Of each network the share of the row beside the column, in percent of half of what both get."""
    tables = []
    for net, group in groupby(squares, key=lambda square: square.net):
        at = {(square.row, square.column): square for square in group}
        t = Table(box=None, pad_edge=False, title=f"{net.title}: share in % of fair", title_justify="left")
        t.add_column("row beside column", no_wrap=True)
        for label in labels:
            t.add_column(label, justify="right", no_wrap=True)
        for row in labels:
            found = [at.get((row, column)) for column in labels]
            t.add_row(row, *("-" if square is None else f"{100 * square.share:.0f}" for square in found))
        tables.append(t)
    return tables


def print_squares(squares: Sequence[Square]) -> None:
    """A JSON object on a line for each pair in each network."""
    for square in squares:
        print(json.dumps(asdict(square) | {"share": square.share}))
