# SPDX-License-Identifier: GPL-2.0
"""A result directory to one HTML page: tables, plots and where the numbers come from.

The page needs nothing but itself; the plots are also beside it, in ``plots/``.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hetlab.errors import LabError
from hetlab.report.description import Description, description
from hetlab.report.findings import AS_FAST, SAME, by_chance, finding
from hetlab.report.glossary import linked, terms
from hetlab.report.pictures import PNG, PagePicture, drawing_of, pictures_of, tradeoff_of
from hetlab.report.provenance import command_of, provenance
from hetlab.report.runs import Group, group
from hetlab.report.sweeps import sweeps_of
from hetlab.report.tables import WORKLOAD_HEADS, FlowTable, ResultTable, flow_table, table, workload_table
from hetlab.results import points, store

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Charts:
    """Curves that zoom: style sheet, script, and its data, JSON by the anchors of the scenarios."""

    style: str
    script: str
    data: str


@dataclass(frozen=True)
class Section:
    """One scenario on the page; the template reads these."""

    anchor: str
    name: str
    title: str
    finding: str
    by_chance: bool
    description: Description
    tradeoff: PagePicture | None
    drawing: PagePicture | None
    table: ResultTable
    flow_table: FlowTable | None
    workload_heads: Sequence[str]
    workload_table: Sequence[Sequence[str]] | None
    pictures: Sequence[PagePicture]
    provenance: Sequence[tuple[str, str]]
    command: str
    notes: Sequence[str]


def write_report(
    directory: Path,
    output: Path,
    title: str,
    formats: Sequence[str] = PNG,
    charts_of: Callable[[Sequence[Group]], Charts] | None = None,
) -> Path:
    """Write the page for all runs below ``directory``, and its plots beside it; names on stderr what is no result.

    ``formats``: of the plots beside it, png, svg or pdf; the page itself carries PNGs. ``charts_of``: makes curves that
    zoom.
    """
    skipped: list[str] = []
    try:
        groups = group(store.read_all(directory, skipped.append))
        for text in skipped:
            print(f"hetlab: skipped {text}", file=sys.stderr)
        if not groups:
            raise LabError(f"{directory}: no runs (result.json) below this directory")
        pictures = output.parent / "plots"
        pictures.mkdir(parents=True, exist_ok=True)
        sweeps = sweeps_of(groups, pictures, formats)
        sections = [_section(g, pictures, formats) for g in groups]
        output.write_text(_render(title, sweeps, sections, charts_of(groups) if charts_of else None), encoding="utf-8")
    except PermissionError:
        raise  # its path is named by main()
    except (OSError, ValueError, KeyError) as err:
        raise LabError(f"{directory}: cannot report on these results: {err!r}") from err
    return output


def _render(title: str, sweeps: Sequence[PagePicture], sections: Sequence[Section], charts: Charts | None) -> str:
    env = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters["linked"] = linked
    rule = {"same": f"{100 * SAME:g} %", "as_fast": f"{100 * AS_FAST:g} %"}
    return env.get_template("report.html.j2").render(
        title=title, sweeps=sweeps, sections=sections, terms=terms(), rule=rule, charts=charts
    )


def _title(g: Group) -> str:
    """The scenario's, with the point of its sweep."""
    at = ", ".join(f"{key}={value}" for key, value in points.split(g.name)[1].items())
    title = g.every[0].result.title
    return f"{title} ({at})" if at else title


def _section(g: Group, pictures: Path, formats: Sequence[str]) -> Section:
    command, notes = command_of(g)
    return Section(
        anchor=g.slug,
        name=g.name,
        title=_title(g),
        finding=finding(g),
        by_chance=by_chance(g),
        description=description(g),
        tradeoff=tradeoff_of(g, pictures, formats),
        drawing=drawing_of(g, pictures, formats),
        table=table(g),
        flow_table=flow_table(g),
        workload_heads=WORKLOAD_HEADS,
        workload_table=workload_table(g),
        pictures=pictures_of(g, pictures, formats),
        provenance=provenance(g),
        command=command,
        notes=notes,
    )
