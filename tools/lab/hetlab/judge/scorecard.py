# SPDX-License-Identifier: GPL-2.0
"""The scorecard: one HTML file that needs nothing but itself. Tables without scripts, curves with uPlot."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hetlab.judge import charts
from hetlab.judge.baseline import rank
from hetlab.judge.case import Case, Judgement
from hetlab.judge.compare import Difference
from hetlab.judge.curves import points_for
from hetlab.judge.matrix import FROM_S, NETS, Square, seeds_text
from hetlab.judge.plan import FIRST_SEEDS, Found, point_of
from hetlab.judge.seen import Seen
from hetlab.judge.verdict import Cell, Word, number, passed
from hetlab.plots import network, style

HERE = Path(__file__).parent
SIGNS: dict[Word, str] = {"pass": "✓", "fail": "✗", "open": "?", "value": "·", "none": "-"}
WORDS: dict[Word, str] = {
    "pass": "passed",
    "fail": "failed",
    "open": "open: the limit is within the interval",
    "value": "no limit is set: the first number of the case",
    "none": "no number",
}
ENVIRONMENT = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True)
class GroupRow:
    """A case in the first table: what became of each congestion control."""

    case: Case
    words: Sequence[Word]


@dataclass(frozen=True)
class Group:
    """A group of cases, and for each congestion control how many it passed of how many that ask for something."""

    name: str
    rows: Sequence[GroupRow]
    counts: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Shown:
    """A verdict as text: median, interval and seeds, rank; empty where there is none."""

    word: Word
    text: str
    spread: str = ""
    rank: str = ""


@dataclass(frozen=True)
class Row:
    """What a case asks, its limit as text, and the verdict of each congestion control."""

    asked: Judgement
    limit: str
    cells: Sequence[Shown]


@dataclass(frozen=True)
class Section:
    """A case on the page; ``drawing``: its network as SVG, ``command``: what repeats it."""

    case: Case
    title: str
    note: str
    rows: Sequence[Row]
    seeds: Sequence[int]
    drawing: str
    command: str


def write(
    path: Path,
    cases: Sequence[Case],
    labels: Sequence[str],
    found: Found,
    cells: Sequence[Cell],
    changes: Sequence[Difference] = (),
    asked: Sequence[str] = (),
) -> Path:
    """Write the scorecard of these congestion controls; ``changes``: from the first to the second, if that is asked.

    ``asked``: arguments of hetlab judge that name them, as they were given, for the command that repeats a case.
    """
    sections = [_section(case, labels, found[case.id], cells, asked) for case in cases]
    points = points_for(of[0] for case in cases for of in found[case.id].values() if of)
    drawn = {
        case.id: charts.case(point_of(case)[1], {label: found[case.id].get(label, []) for label in labels}, points)
        for case in cases
    }
    html = ENVIRONMENT.get_template("scorecard.html.j2").render(
        compared=bool(changes),
        changes=[d for d in changes if d.word not in ("same", "none")],
        number=number,
        labels=labels,
        looks=charts.looks(labels),
        groups=_groups(cases, labels, cells),
        sections=sections,
        signs=SIGNS,
        words=WORDS,
        provenance=_provenance(found),
        charts_style=charts.styles(),
        script=charts.script(),
        data=charts.data(labels, drawn),
    )
    return _save(path, html)


def _save(path: Path, html: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html, encoding="utf-8")
    return path


def write_matrix(path: Path, labels: Sequence[str], found: Found, squares: Sequence[Square]) -> Path:
    """Write the heat maps of a coexistence matrix."""
    at = {(square.net, square.row, square.column): square for square in squares}
    tables = [
        {"net": net, "rows": {row: [at.get((net, row, column)) for column in labels] for row in labels}} for net in NETS
    ]
    marked = any(square.seeds == FIRST_SEEDS for square in squares)  # else the words above the tables say it of all
    html = ENVIRONMENT.get_template("matrix.html.j2").render(
        labels=labels,
        tables=tables,
        from_s=f"{FROM_S:g}",
        seeds_text=seeds_text(squares),
        enough=FIRST_SEEDS if marked else 0,
        provenance=_provenance(found),
    )
    return _save(path, html)


def _groups(cases: Sequence[Case], labels: Sequence[str], cells: Sequence[Cell]) -> list[Group]:
    """Of each group the cases, and how many each congestion control passed."""
    found = []
    for name, members in groupby(cases, key=lambda case: case.group):
        rows = [GroupRow(case, [_word(case, label, cells) for label in labels]) for case in members]
        columns = [[row.words[i] for row in rows] for i in range(len(labels))]
        counts = [(words.count("pass"), len(words) - words.count("value")) for words in columns]
        found.append(Group(name, rows, counts))
    return found


def _of(case: Case, label: str, cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.case.id == case.id and cell.cc == label]


def _word(case: Case, label: str, cells: Sequence[Cell]) -> Word:
    return passed(_of(case, label, cells))


def _section(
    case: Case, labels: Sequence[str], runs: dict[str, list[Seen]], cells: Sequence[Cell], asked: Sequence[str]
) -> Section:
    """What the page says of a case without scripts."""
    point, sc = point_of(case)
    rows = [Row(j, _limit_text(j), [_cell(cell) for cell in _row(case, j, labels, cells)]) for j in case.judge]
    seeds = sorted({run.result.seed for of in runs.values() for run in of})
    return Section(
        case=case,
        title=point.scenario.title,
        note=point.scenario.note,
        rows=rows,
        seeds=seeds,
        drawing=_inline(style.drawn(network.network(sc), "svg", letters=True).decode()),
        command=shlex.join(["tools/hetlab", "judge", *asked, *_named(case)]),
    )


def _named(case: Case) -> list[str]:
    """Arguments that name a case."""
    suite = ["--suite", case.suite] if case.suite else []
    return [*suite, "--case", case.id]


def _row(case: Case, j: Judgement, labels: Sequence[str], cells: Sequence[Cell]) -> list[Cell]:
    by_label = {cell.cc: cell for cell in cells if cell.case.id == case.id and cell.judgement is j}
    return [by_label[label] for label in labels]


def _cell(cell: Cell) -> Shown:
    ours = cell.ours
    if ours is None:
        return Shown(cell.word, "none")
    spread = "" if ours.low == ours.high else f"{ours.low:.3g} to {ours.high:.3g}, {ours.n} seeds"
    return Shown(cell.word, f"{ours.median:.3g}", spread, str(rank(cell) or ""))


def _limit_text(j: Judgement) -> str:
    """The limit alone: ``≥ 0.9``, ``≤ 1.1 x cubic``."""
    limit = j.at_most if j.at_most is not None else j.at_least
    if limit is None:
        return ""
    sign = "≤" if j.at_most is not None else "≥"
    return f"{sign} {limit:g}" + (f" x {j.of}" if j.of else "") + (f" + {j.plus:g}" if j.plus else "")


def _inline(svg: str) -> str:
    """An SVG without its XML head, to stand in a page."""
    return svg[svg.index("<svg") :]


def _provenance(found: Found) -> list[tuple[str, str]]:
    """What the numbers were measured with."""
    runs = [run.result for of in found.values() for some in of.values() for run in some]

    def every(key: str) -> str:
        return ", ".join(sorted({str(run.hashes[key]) for run in runs if key in run.hashes})) or "none"

    return [
        ("kernel", ", ".join(sorted({run.kernel_release for run in runs})) + f" ({every('kernel')})"),
        ("modules", ", ".join(sorted({item for run in runs for item in run.hashes["modules"].split(", ")}))),
        ("sources of candidates", every("candidates")),
        ("commit", every("commit")),
        ("runs", str(len(runs))),
    ]
