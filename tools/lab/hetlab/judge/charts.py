# SPDX-License-Identifier: GPL-2.0
"""Curves that zoom, for the scorecard and the report: style, script, and the data that it draws."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hetlab.judge.curves import PERCENTILES, curves, delay_percentiles, points_for
from hetlab.judge.seen import Seen
from hetlab.model.scenario import Experiment
from hetlab.plots import style
from hetlab.report.description import event_marks
from hetlab.report.page import Charts
from hetlab.report.runs import Group

HERE = Path(__file__).parent
AGAIN = "#d55e00"  # vermilion of Okabe and Ito


def looks(labels: Sequence[str]) -> dict[str, style.Style]:
    """How each is drawn; one that is there twice has a colour and dash of its own the second time."""
    found = style.styles(labels)
    again = [label for label in labels if label.endswith(")")]
    return found | {label: replace(found[label], colour=AGAIN, dash=(6.0, 3.0)) for label in again}


def styles() -> str:
    """Style sheet of uPlot and of the charts."""
    return _text("vendor/uPlot.min.css") + _text("templates/charts.css")


def script() -> str:
    """uPlot, and what draws with it."""
    return _text("vendor/uPlot.iife.min.js") + "\n" + _text("templates/charts.js")


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def data(labels: Sequence[str], cases: Mapping[str, dict[str, Any]]) -> str:
    """JSON for the script, safe inside of HTML; ``cases``: as ``case`` makes them, by their names."""
    drawn = looks(labels)
    found = {
        "ccs": {label: {"colour": drawn[label].colour, "dash": list(drawn[label].dash)} for label in labels},
        "percentiles": [float(f"{p:.4g}") for p in PERCENTILES],
        "cases": cases,
    }
    return json.dumps(found, separators=(",", ":")).replace("<", "\\u003c")


def case(sc: Experiment, runs: Mapping[str, Sequence[Seen]], points: int) -> dict[str, Any]:
    """What is drawn of a scenario: curves of the first seed, of so many points; delays and throughputs of all."""
    have = {label: sorted(of, key=lambda run: run.result.seed) for label, of in runs.items() if of}
    return {
        "events": [[at, text] for at, text in event_marks(sc)],
        "curves": {label: curves(of[0], points) for label, of in have.items()},
        "delays": {label: delay_percentiles(of) for label, of in have.items()},
        "points": {label: [_point_of(run) for run in of] for label, of in have.items()},
    }


def _point_of(run: Seen) -> list[float | None]:
    """95th percentile of the queueing delay (ms), and goodput of all TCP flows until the last has ended (Mbit/s)."""
    delay = run.result.queueing_ms
    end_s = min(max((f.end_s for _i, f in run.flows()), default=run.end_s), run.end_s)
    total = run.megabits(None, 0, end_s) / end_s
    return [None if delay is None else round(delay.p95, 3), round(total, 4)]


def of_groups(groups: Sequence[Group]) -> Charts:
    """For hetlab report."""
    labels = list(dict.fromkeys(label for g in groups for label in g.runs))
    seen = [{k: [Seen(r.directory, r.result) for r in runs] for k, runs in g.runs.items()} for g in groups]
    points = points_for(of[0] for runs in seen for of in runs.values() if of)
    cases = {g.slug: case(g.resolved, runs, points) for g, runs in zip(groups, seen, strict=True)}
    return Charts(styles(), script(), data(labels, cases))
