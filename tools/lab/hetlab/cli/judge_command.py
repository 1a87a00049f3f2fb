# SPDX-License-Identifier: GPL-2.0
"""hetlab judge: arguments in; tables, rows, pages and an exit status out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hetlab.cli.arguments import ClusterOption, JsonOption, PatchOption, SeriesOption, StoreOption, VerifyOption
from hetlab.cli.campaigns import err, fail_on, kept
from hetlab.cli.candidates import variants_of
from hetlab.cli.tables import show, terminal_width
from hetlab.errors import LabError
from hetlab.paths import BUILD
from hetlab.ported.kernel import DEFAULT, Series

if TYPE_CHECKING:
    from hetlab.cli.judge import Session
    from hetlab.judge.case import Case
    from hetlab.judge.compare import Difference
    from hetlab.judge.limits import Limits
    from hetlab.judge.plan import Entrant
    from hetlab.judge.verdict import Cell


SEEDS, QUICK_SEEDS = 5, 3
MostOption = Annotated[
    int | None,
    typer.Option(
        metavar="K", min=2, max=100, help=f"seeds at most, where they differ; default: {SEEDS}, --quick {QUICK_SEEDS}"
    ),
]
OutOption = Annotated[Path | None, typer.Option(metavar="DIR", help="results; default build/judge, build/judge-SERIES")]


@dataclass(frozen=True)
class Printing:
    """How verdicts are printed: JSON lines, another kind, or (neither) a table on the terminal."""

    as_json: bool
    kind: str
    output: Path | None

    def cells(self, cells: "Sequence[Cell]") -> None:
        """Print or write verdicts."""
        from hetlab.cli import judge, judged

        if self.as_json:
            for cell in cells:
                print(judged.as_json(cell))
        elif self.kind or self.output:
            judged.write(cells, self.kind, self.output)
        else:
            show(judge.verdicts_table(cells, terminal_width()))

    def changes(self, found: "Sequence[Difference]") -> None:
        """Print what changed."""
        from hetlab.cli import judge, judged

        if self.as_json:
            judged.print_changes(found)
        elif not self.kind:
            show(judge.changes_table(found, terminal_width()))


def command(
    ccs: Annotated[list[str] | None, typer.Argument(metavar="CC...", help="names or .c files, as --cc of run")] = None,
    case: Annotated[list[str] | None, typer.Option(metavar="ID", help="how cases begin; repeatable")] = None,
    group: Annotated[list[str] | None, typer.Option(metavar="GROUP,...", help="letter or word; repeatable")] = None,
    quick: Annotated[bool, typer.Option(help="some 20 cases, and those of --case")] = False,
    suite: Annotated[str, typer.Option(metavar="NAME", help="a published suite instead: bbr, c4, tcpeval")] = "",
    compare: Annotated[bool, typer.Option("--compare", help="two: what got better or worse from the first")] = False,
    matrix: Annotated[bool, typer.Option("--matrix", help="no cases: each beside each other, shares and harm")] = False,
    seeds: MostOption = None,
    limits: Annotated[Path | None, typer.Option(metavar="FILE", help="TOML: what decides the exit status")] = None,
    patch: PatchOption = None,
    series: SeriesOption = DEFAULT,
    out: OutOption = None,
    store: StoreOption = None,
    verify: VerifyOption = 0,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
    csv: Annotated[bool, typer.Option("--csv", help="a row for each verdict")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="the same; needs --output")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="a table")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="a table for the package booktabs")] = False,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="of --csv and so on; default: stdout")] = None,
    list_: Annotated[bool, typer.Option("--list", help="cases and what is asked; nothing is run")] = False,
    machines: Annotated[
        int | None, typer.Option("--machines", "--jobs", min=1, max=64, help="virtual machines side by side")
    ] = None,
) -> None:
    """Judge congestion controls by the gauntlet, side by side.

    What an earlier command measured is taken from there. Status 1 if a case was failed, or as --limits says.
    """
    from hetlab.cli import judge as judging
    from hetlab.judge import case as cases
    from hetlab.judge import limits as own_limits

    named = cases.select(case or [], group or [], quick, suite)
    own = own_limits.read(limits) if limits else own_limits.Limits()
    if limits:
        named = own_limits.changed(own, limits, named, list(cases.every(suite)))
    if list_:
        show(judging.cases_table(named))
        return
    named = _runnable(named, series, case or [])
    printing = Printing(as_json, _kind(csv=csv, parquet=parquet, markdown=markdown, latex=latex), output)
    under_test = _under_test(ccs or [], compare, patch or (), series)
    most = seeds or (QUICK_SEEDS if quick else SEEDS)
    before = kept(store, verify, again=False)
    where = out or BUILD / ("judge" if series == DEFAULT else f"judge-{series}")
    session = judging.Session(where, machines, most, tuple(patch or ()), before, cluster, series)
    if matrix:
        _matrix(session, under_test, as_json)
    else:
        asked = [*(ccs or []), *["--compare"] * compare, *(word for p in patch or () for word in ("--patch", str(p)))]
        asked += [] if series == DEFAULT else ["--series", series]
        _judge(session, named, under_test, asked, printing, own)


def _kind(**given: bool) -> str:
    """The one kind of table that is asked for."""
    kinds = [name for name, on in given.items() if on]
    if len(kinds) > 1:
        raise LabError(f"give --{kinds[0]} or --{kinds[1]}, not both")
    return kinds[0] if kinds else ""


def _runnable(named: "Sequence[Case]", series: Series, names: Sequence[str]) -> "list[Case]":
    """Cases that this Linux can run; the others are named on stderr."""
    from hetlab.judge.case import of_series

    found = of_series(named, series, names)
    if left := [f"{case.id} (--series {case.series})" for case in named if case not in found]:
        err.print(f"hetlab: not of Linux {series}, left out: {', '.join(left)}")
    if not found:
        raise LabError(f"judge: none of these cases is of Linux {series}")
    return found


def _under_test(ccs: list[str], compare: bool, patches: Sequence[Path], series: Series) -> "list[Entrant]":
    from hetlab.judge.plan import entrants

    if not ccs:
        raise LabError("judge: name congestion controls, or --list")
    found = entrants(variants_of(ccs, patches=patches, series=series))
    if compare and len(found) != 2:
        raise LabError(f"--compare: takes two congestion controls, not {len(found)}")
    return found


def _judge(
    session: "Session",
    named: "Sequence[Case]",
    under_test: "Sequence[Entrant]",
    asked: Sequence[str],
    printing: Printing,
    own: "Limits",
) -> None:
    """Verdicts; with --compare in ``asked``, the arguments, what changed from the first to the second."""
    from hetlab.cli.judge import cells_of
    from hetlab.judge import scorecard
    from hetlab.judge.compare import differences

    compare = "--compare" in asked
    found, campaign = session.gather(named, under_test)
    cells = cells_of(named, under_test, found, session.series)
    labels = [e.label for e in under_test]
    changes = differences(cells, *labels) if compare else []
    if compare:
        printing.changes(changes)
    else:
        printing.cells(cells)
    card = scorecard.write(session.out / "scorecard.html", named, labels, found, cells, changes, asked)
    err.print(f"scorecard {card}", soft_wrap=True)
    fail_on(campaign)
    if not own.held([] if compare else cells, changes):
        raise typer.Exit(1)


def _matrix(session: "Session", under_test: "Sequence[Entrant]", as_json: bool) -> None:
    from hetlab import paths
    from hetlab.cli import judge as judging
    from hetlab.judge import matrix, scorecard
    from hetlab.judge.plan import Found

    matrix.check(under_test)
    found: Found = {}
    scratch = paths.scratch("judge-")
    campaign = session.carry_out(lambda lost: judging.without(matrix.wanting(under_test, found, scratch), lost), found)
    squares = matrix.squares(under_test, found)
    if as_json:
        judging.print_squares(squares)
    else:
        show(*judging.matrix_tables(squares, [e.label for e in under_test]))
    page = scorecard.write_matrix(session.out / "matrix.html", [e.label for e in under_test], found, squares)
    err.print(f"matrix {page}", soft_wrap=True)
    fail_on(campaign)
