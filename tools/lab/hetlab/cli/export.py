# SPDX-License-Identifier: GPL-2.0
"""Tables of a result directory for other programs and for papers: CSV, Parquet, Markdown, LaTeX."""

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hetlab.cli import tables
from hetlab.cli.tables import Line
from hetlab.errors import LabError
from hetlab.report.runs import group
from hetlab.results import points, store
from hetlab.results.columns import COLUMNS, TERMINAL, Column, shown

Row = dict[str, Any]
Columns = Sequence[Column]


def write(directory: Path, kind: str, each: bool, names: Sequence[str], output: Path | None) -> None:
    """Read all runs below a directory; write them as csv, parquet, markdown or latex; "": as ``hetlab run`` shows them.

    each: a row for each run, else one for each scenario and congestion control. names: of columns; all without.
    output: a file; None: stdout.
    """
    if kind == "parquet" and output is None:
        raise LabError("--parquet needs --output FILE")
    if not kind and output:
        raise LabError("--output needs --csv, --markdown, --latex or --parquet")
    columns = select(names) if names or kind in ("csv", "parquet") else list(TERMINAL[:-1])
    lines = read(directory, each)
    if not names and kind not in ("csv", "parquet"):
        columns = list(shown(columns, [run for line in lines for run in line.runs]))
    if not kind:
        tables.show(*tables.results_tables(lines, tables.terminal_width(), tuple(columns) if names else ()))
    elif kind == "parquet" and output:
        writing(output, lambda: write_parquet(numbers(lines, columns, each), output))
    else:
        asked = bool(names)
        text = as_csv(numbers(lines, columns, each)) if kind == "csv" else TEXTS[kind](lines, columns, each, asked)
        if output:
            writing(output, lambda: output.write_text(text, encoding="utf-8"))
        else:
            sys.stdout.write(text)


def writing(output: Path, action: Callable[[], Any]) -> None:
    """LabError naming the file where it cannot be written."""
    try:
        action()
    except OSError as err:
        raise LabError(f"--output {output}: {err.strerror or err}") from err


def select(names: Sequence[str]) -> list[Column]:
    """Columns by their names or keys, in the order that is asked for; all without any."""
    known = {key: column for column in COLUMNS.values() for key in (column.name, column.key)}
    for name in names:
        if name not in known:
            raise LabError(f"--column {name}: no such column; there are: {', '.join(COLUMNS)}")
    return [known[name] for name in names] or list(COLUMNS.values())


def read(directory: Path, each: bool) -> list[Line]:
    """All runs below a directory in the order of the report; runs of one name with other settings or modules apart."""
    if not directory.is_dir():
        raise LabError(f"{directory}: no such directory")
    lines: list[Line] = []
    seen: Counter[str] = Counter()
    skipped = store.read_all(directory, lambda text: print(f"hetlab: skipped {text}", file=sys.stderr))
    for g in group(skipped):
        seen[g.name] += 1
        name = g.name if seen[g.name] == 1 else f"{g.name} ({seen[g.name]})"
        for label, runs in g.results.items():
            lines += [Line(name, label, [run]) for run in runs] if each else [Line(name, label, runs)]
    if repeated := [name for name, times in seen.items() if times > 1]:
        same = ", ".join(repeated)
        print(f"hetlab: {same}: (2), (3) ... have other settings, kernels or modules than the first", file=sys.stderr)
    if not lines:
        raise LabError(f"{directory}: no runs (result.json) below this directory")
    return lines


# ------------------------------------------------- for programs: one number a cell


def numbers(lines: Sequence[Line], columns: Columns, each: bool) -> list[Row]:
    """Rows with a column for each swept key and each number; None where there is none."""
    swept = list(dict.fromkeys(key for line in lines for key in points.split(line.runs[0].scenario)[1]))
    return [_row(line, swept, columns, each) for line in lines]


def _row(line: Line, swept: Sequence[str], columns: Columns, each: bool) -> Row:
    first = line.runs[0]
    at = points.split(first.scenario)[1]
    row: Row = {"scenario": line.scenario} | {key: _value(at.get(key)) for key in swept}
    row |= {"cc": first.cc, "cc_params": ",".join(f"{k}={v}" for k, v in sorted(first.cc_params.items()))}
    row |= {"seed": first.seed} if each else {"seeds": len(line.runs)}
    row |= {"kernel_release": first.kernel_release, "modules": first.hashes.get("modules")}
    for column in columns:
        row |= {column.key: column.value(first)} if each else dict(_statistics(column, line))
    return row


def _value(text: str | None) -> float | str | None:
    """A swept value as a number, if it is one."""
    return text if text is None or points.number(text) is None else points.number(text)


def _statistics(column: Column, line: Line) -> Iterator[tuple[str, float | None]]:
    found = column.over(line.runs)
    yield f"{column.key}_mean", found.mean if found else None
    yield f"{column.key}_median", found.median if found else None
    yield f"{column.key}_ci95_low", found.low if found else None
    yield f"{column.key}_ci95_high", found.high if found else None


def as_csv(rows: Sequence[Row]) -> str:
    """Text of a CSV file, numbers with ten digits; empty where there is none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([f"{v:.10g}" if isinstance(v, float) else v for v in row.values()] for row in rows)
    return out.getvalue()


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """A table; a swept key whose values are not all numbers is text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {key: [row[key] for row in rows] for key in rows[0]}
    for values in columns.values():
        if any(isinstance(v, str) for v in values):
            values[:] = [None if v is None else f"{v:g}" if isinstance(v, float) else str(v) for v in values]
    pq.write_table(pa.table(columns), path, compression="zstd")


# ------------------------------------------------- for people: texts


def as_markdown(lines: Sequence[Line], columns: Columns, each: bool, all_columns: bool) -> str:
    """A pipe table."""
    return _tabulated(lines, columns, each, all_columns, "pipe")


def as_latex(lines: Sequence[Line], columns: Columns, each: bool, all_columns: bool) -> str:
    """A tabular with the rules of the package booktabs."""
    return _tabulated(lines, columns, each, all_columns, "latex_booktabs").replace("±", r"$\pm$")


TEXTS = {"markdown": as_markdown, "latex": as_latex}


def _tabulated(lines: Sequence[Line], columns: Columns, each: bool, all_columns: bool, style: str) -> str:
    """Mean, half interval and, in parentheses, median; without ``all_columns`` not those that are empty everywhere."""
    import tabulate

    rows = [[_text(column, line) for line in lines] for column in columns]
    used = [(column, texts) for column, texts in zip(columns, rows, strict=True) if all_columns or set(texts) != {""}]
    heads = ["scenario", "cc", "seed" if each else "seeds", *(_head(column) for column, _texts in used)]
    seeds = [str(line.runs[0].seed if each else len(line.runs)) for line in lines]
    cells = [[line.scenario for line in lines], [line.label for line in lines], seeds, *(texts for _c, texts in used)]
    align = ("left", "left", *("right" for _ in heads[2:]))
    rows = [list(row) for row in zip(*cells, strict=True)]
    return str(tabulate.tabulate(rows, heads, tablefmt=style, disable_numparse=True, colalign=align)) + "\n"


def _head(column: Column) -> str:
    return f"{column.name} ({column.unit})" if column.unit else column.name


def _text(column: Column, line: Line) -> str:
    """``18.8 ± 0.4 (18.7)``; of one run its value."""
    found = column.over(line.runs)
    if found is None:
        return ""
    if found.half is None:
        return column.text(found.mean)
    return f"{column.text(found.mean)} ± {column.text(found.half)} ({column.text(found.median)})"
