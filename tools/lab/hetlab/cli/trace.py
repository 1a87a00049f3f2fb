# SPDX-License-Identifier: GPL-2.0
"""hetlab trace: what traces are like, conversion between formats, synthetic ones."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table as Grid

from hetlab.cli.tables import show
from hetlab.errors import LabError
from hetlab.model import trace_make, traces
from hetlab.model.trace import MS, Table, Trace, read

if TYPE_CHECKING:
    from hetlab.results.trace_facts import Facts

app = typer.Typer(
    help="Links over time: traces of capacity, delay and loss.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="Mahimahi, CSV, or a recipe as cellular:seed=1")]
DelayOption = Annotated[Path | None, typer.Option(metavar="FILE", help="delay: ms each 10 ms (LeoReplayer), or CSV")]
LossOption = Annotated[Path | None, typer.Option(metavar="FILE", help="loss: CSV of t_s,loss_percent")]


def _whole(file: str, delay: Path | None, loss: Path | None) -> Trace:
    """One trace of up to three files."""
    more = [read(path, kind) for path, kind in ((delay, "delay"), (loss, "loss")) if path]
    return Trace(tuple(t for one in (traces.load(file), *more) for t in one.tables))


@app.command("show")
def show_command(
    file: FileArgument,
    delay: DelayOption = None,
    loss: LossOption = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="draw it: .png, .svg or .pdf")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object per quantity")] = False,
) -> None:
    """What a trace is like, in numbers and as a picture.

    Percentiles are of means over 1 s. An outage is 200 ms or more without any capacity.
    """
    from hetlab.results import trace_facts

    found = _whole(file, delay, loss)
    rows = trace_facts.facts(found)
    if as_json:
        for row in rows:
            print(json.dumps(asdict(row)))
    else:
        show(_grid(rows))
    if picture:
        _draw(Path(file).name, found, picture)


def _grid(rows: list["Facts"]) -> Grid:
    heads = ("quantity", "length\ns", "entries", "mean", "p5", "p50", "p95", "least", "most", "unit")
    grid = Grid(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for head in (*heads, "outages", "in all\ns", "longest\ngap, s"):
        grid.add_column(head, justify="left" if head in ("quantity", "unit") else "right", no_wrap=True)
    for row in rows:
        numbers = (row.mean, row.p5, row.p50, row.p95, row.low, row.high)
        gaps = ("-", "-", "-")
        if row.outages is not None:
            gaps = (str(row.outages), f"{row.outage_s:.1f}", f"{row.longest_gap_s:.3f}")
        words = (row.kind, f"{row.duration_s:.1f}", str(row.entries), *(f"{n:.4g}" for n in numbers), row.unit, *gaps)
        grid.add_row(*words)
    return grid


def _draw(name: str, found: Trace, to: Path) -> None:
    from hetlab.plots import style, trace_file
    from hetlab.results.trace_facts import UNITS, over_time

    if to.suffix not in (".png", ".svg", ".pdf"):
        raise LabError(f"--picture {to}: must end in .png, .svg or .pdf")
    names = {"opportunities": "capacity", "rate": "capacity"}
    rows = [(f"{names.get(t.kind, t.kind)} ({UNITS[t.kind]})", over_time(t, _bin_s(t))) for t in found.tables]
    style.save(trace_file.trace(name, rows), to)
    print(to)


def _bin_s(table: Table) -> float:
    """Intervals of a picture: a few hundred."""
    return max(table.length_ns / 1e9 / 600, 0.02)


@app.command("convert")
def convert_command(
    file: FileArgument,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="where to write")],
    delay: DelayOption = None,
    loss: LossOption = None,
    to: Annotated[
        Literal["csv", "mahimahi", "delay"] | None,
        typer.Option(help="format; default: csv for OUT in .csv, else mahimahi"),
    ] = None,
    bin_ms: Annotated[int, typer.Option(min=1, max=10_000, help="csv: opportunities as the mean rate of this")] = 20,
) -> None:
    """Write a trace in another format.

    A rate becomes the opportunities that carry as many bits; opportunities become a rate, constant for --bin-ms.
    """
    from hetlab.results import trace_write

    found = _whole(file, delay, loss)
    wanted = to or ("csv" if output.suffix == ".csv" else "mahimahi")
    text = {"csv": lambda: trace_write.csv(found, bin_ms * MS), "mahimahi": lambda: trace_write.mahimahi(found)}
    text["delay"] = lambda: trace_write.delays(found)
    _write(output, text[wanted]())


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as err:
        raise LabError(f"{path}: {err.strerror}") from None
    print(path)


@app.command("make")
def make_command(
    kind: Annotated[Literal["cellular", "starlink", "wifi"], typer.Argument(help="what link it is like")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="capacity; CSV for .csv, else Mahimahi's format")],
    seed: Annotated[int, typer.Option(help="seed")] = 1,
    duration_s: Annotated[float, typer.Option(help="length")] = 60,
    mean_mbit: Annotated[float, typer.Option(help="mean capacity")] = 8,
    sigma: Annotated[float, typer.Option(help="cellular: volatility")] = 1,
    jitter_ms: Annotated[float, typer.Option(help="wifi: J of the C4 draft's model")] = 7,
    delay: Annotated[Path | None, typer.Option(metavar="FILE", help="starlink, wifi: write the delay there")] = None,
) -> None:
    """A synthetic trace; the same options give the same bytes.

    Scenarios name it without a file: trace = "cellular:seed=1,mean_mbit=8,duration_s=60".
    """
    from hetlab.results import trace_write

    recipe = trace_make.Recipe(kind, seed, mean_mbit, duration_s, sigma, jitter_ms)
    found = trace_make.make(recipe)
    if delay:
        if not found.of("delay"):
            raise LabError(f"--delay: a {kind} trace has no delay")
        _write(delay, trace_write.delays(found))
    _write(output, trace_write.csv(found, 20 * MS) if output.suffix == ".csv" else trace_write.mahimahi(found))
