# SPDX-License-Identifier: GPL-2.0
"""Verdicts as rows for other programs (JSON, CSV, Parquet) and as texts for papers (Markdown, LaTeX)."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from hetlab.cli import export
from hetlab.errors import LabError
from hetlab.judge.baseline import rank
from hetlab.judge.case import Judgement
from hetlab.judge.compare import Difference
from hetlab.judge.verdict import Cell, Estimate, median, number

SIGNS = {"pass": "+", "fail": "-", "open": "?", "value": "", "none": "n/a"}


def rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """One flat row for each judgement of each congestion control."""
    return [
        {
            "case": cell.case.id,
            "group": cell.case.group,
            "cc": cell.cc,
            "measure": cell.judgement.measure,
            "unit": cell.judgement.unit,
            "asked": cell.judgement.text,
            "grade": cell.judgement.grade,
            "limit": cell.limit,
            "verdict": cell.word,
            **_numbers(cell.ours),
            "rank": str(rank(cell) or "") or None,
            "source": cell.judgement.source,
        }
        for cell in cells
    ]


def _numbers(ours: Estimate | None) -> dict[str, Any]:
    if ours is None:
        return dict.fromkeys(("median", "low", "high", "seeds", "missing"))
    return {"median": ours.median, "low": ours.low, "high": ours.high, "seeds": ours.n, "missing": ours.missing}


def changes(found: Sequence[Difference]) -> list[dict[str, Any]]:
    """One flat row for each judgement that two were compared by."""
    return [
        {
            "case": d.case.id,
            "group": d.case.group,
            "asked": d.judgement.text,
            "change": d.word,
            "percent": d.percent,
            **{f"before_{k}": v for k, v in _numbers(d.before).items()},
            **{f"after_{k}": v for k, v in _numbers(d.after).items()},
        }
        for d in found
    ]


def print_changes(found: Sequence[Difference]) -> None:
    """A JSON object on a line for each."""
    for row in changes(found):
        print(json.dumps(row))


def as_json(cell: Cell) -> str:
    """One judgement as a JSON object on one line: the rows' keys, and how it was asked."""
    (row,) = rows([cell])
    asked = {("with" if k == "with_" else k): v for k, v in asdict(cell.judgement).items()}
    return json.dumps(row | {"judge": asked})


def write(cells: Sequence[Cell], kind: str, output: Path | None) -> None:
    """To a file, or stdout without; LabError where it cannot be written."""
    if not kind:
        raise LabError("--output needs --csv, --markdown, --latex or --parquet")
    if kind == "parquet":
        if output is None:
            raise LabError("--parquet needs --output FILE")
        export.writing(output, lambda: export.write_parquet(rows(cells), output))
        return
    text = export.as_csv(rows(cells)) if kind == "csv" else _tabulated(cells, kind)
    if output is None:
        sys.stdout.write(text)
    else:
        export.writing(output, lambda: output.write_text(text, encoding="utf-8"))


def _tabulated(cells: Sequence[Cell], kind: str) -> str:
    """A row for each judgement, a column for each congestion control."""
    import tabulate

    ccs = list(dict.fromkeys(cell.cc for cell in cells))
    lines = []
    for (case, at), row in groupby(cells, key=lambda c: (c.case.id, c.case.judge.index(c.judgement))):
        of = list(row)
        lines.append([case if at == 0 else "", asked(of[0].judgement), *(short(cell) for cell in of)])
    style = "pipe" if kind == "markdown" else "latex_booktabs"
    align = ("left", "left", *("right" for _cc in ccs))
    return (
        str(tabulate.tabulate(lines, ["case", "asked", *ccs], tablefmt=style, disable_numparse=True, colalign=align))
        + "\n"
    )


def asked(judgement: Judgement) -> str:
    """What a value must be, and its unit."""
    return f"{judgement.text} ({judgement.unit})" if judgement.unit else judgement.text


def short(cell: Cell, interval: bool = True) -> str:
    """Value, interval unless it is not wanted, and sign: ``0.94 (0.93..0.95) +``."""
    if cell.ours is None:
        return f"none {SIGNS[cell.word]}".strip()
    value = number(cell.ours) if interval else median(cell.ours)
    return f"{value} {SIGNS[cell.word]}".strip()
