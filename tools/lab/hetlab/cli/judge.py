# SPDX-License-Identifier: GPL-2.0
"""hetlab judge: cases for congestion controls, verdicts on the terminal."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from rich.table import Table

from hetlab import paths
from hetlab.cli.campaigns import carry_out, virtual
from hetlab.judge.case import Case
from hetlab.judge.measures import Seen
from hetlab.judge.plan import more, references
from hetlab.judge.verdict import Cell, judge, passed
from hetlab.model import jobs
from hetlab.model.job import Job
from hetlab.model.jobs import Variant
from hetlab.model.result import RunResult
from hetlab.results import store
from hetlab.results.campaign import Campaign

MARKS = {"pass": "+", "fail": "-", "open": "?", "value": "", "none": "n/a"}
Found = dict[str, dict[str, list[Seen]]]  # case, label of the congestion control, runs


def gather(
    cases: Sequence[Case], variants: Sequence[Variant], most: int, out: Path, machines: int | None
) -> tuple[Found, Campaign]:
    """All runs that the cases need, those that ``out`` has taken from there; seeds until the numbers are sharp."""
    found: Found = {case.id: {} for case in cases}
    scratch = paths.scratch("judge-")

    def keep(result: RunResult) -> None:
        seen = Seen(store.run_dir(out, result), result)
        found[result.scenario].setdefault(result.label, []).append(seen)

    failed: list[tuple[Job, str]] = []
    costs, rounds = {case.id: case.cost_s for case in cases}, 0
    while True:
        lost = {(job.name, jobs.label_of(Variant(job.cc, job.cc_params)), job.seed) for job, _text in failed}
        planned = [
            job
            for case in cases
            for job in more(case, [*variants, *references(case, variants)], found[case.id], most, scratch)
            if (job.name, jobs.label_of(Variant(job.cc, job.cc_params)), job.seed) not in lost
        ]
        if not planned and rounds:
            break
        planned.sort(key=lambda job: -costs[job.name])
        campaign = carry_out(planned, virtual(machines), out, keep, resume=True)
        failed += campaign.failed
        rounds += 1
    campaign.failed = failed
    return found, campaign


def cells_of(cases: Sequence[Case], variants: Sequence[Variant], found: Found) -> list[Cell]:
    """Every judgement."""
    labels = [jobs.label_of(v) for v in variants]
    return [cell for case in cases for cell in judge(case, labels, found[case.id])]


def cases_table(cases: Sequence[Case]) -> Table:
    """What each case is, and what is asked."""
    t = Table(box=None, pad_edge=False)
    for head in ("case", "group", "asked", "covers"):
        t.add_column(head, no_wrap=head == "case")
    for case in cases:
        t.add_row(case.id, case.group, "\n".join(j.text for j in case.judge), case.covers)
    return t


def verdicts_table(cells: Sequence[Cell]) -> Table:
    """A row for each judgement: value and mark of each congestion control."""
    ccs = list(dict.fromkeys(cell.cc for cell in cells))
    t = Table(box=None, pad_edge=False)
    t.add_column("case", no_wrap=True)
    t.add_column("asked")
    for cc in ccs:
        t.add_column(cc, justify="right", no_wrap=True)
    for (case, number), row in groupby(cells, key=lambda c: (c.case.id, c.case.judge.index(c.judgement))):
        of = list(row)
        t.add_row(case if number == 0 else "", of[0].judgement.text, *(_text(cell) for cell in of))
    t.add_row("passed", "", *(_score(cells, cc) for cc in ccs))
    return t


def _text(cell: Cell) -> str:
    if cell.ours is None:
        return f"none {MARKS[cell.word]}".strip()
    spread = "" if cell.ours.low == cell.ours.high else f" ({cell.ours.low:.3g}..{cell.ours.high:.3g})"
    return f"{cell.ours.median:.3g}{spread} {MARKS[cell.word]}".strip()


def _score(cells: Sequence[Cell], cc: str) -> str:
    by_case = groupby((cell for cell in cells if cell.cc == cc), key=lambda cell: cell.case.id)
    words = [passed(list(of)) for _case, of in by_case]
    return f"{words.count('pass')}/{sum(word != 'value' for word in words)}"


def as_json(cell: Cell) -> str:
    """One judgement as a JSON object on one line."""
    return json.dumps(
        {
            "case": cell.case.id,
            "group": cell.case.group,
            "cc": cell.cc,
            "asked": asdict(cell.judgement),
            "limit": cell.limit,
            "ours": None if cell.ours is None else asdict(cell.ours),
            "verdict": cell.word,
        }
    )
