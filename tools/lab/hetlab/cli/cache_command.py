# SPDX-License-Identifier: GPL-2.0
"""hetlab cache: what the store of results has, and what may go."""

import sys
import time
from typing import Annotated

import typer
from rich.table import Table

from hetlab.cli.arguments import StoreOption
from hetlab.cli.campaigns import kept
from hetlab.cli.tables import show
from hetlab.engine import packs
from hetlab.errors import LabError

app = typer.Typer(
    help="The store of results: what it has, what may go.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
DAY_S, MB, GB = 86_400, 1e6, 1e9


def _store(where: str | None) -> packs.Store:
    chosen = kept(where, 0, again=False).store
    if not chosen:
        raise LabError("--store none: there is no store")
    return packs.Store(chosen)


@app.command("list")
def list_command(store: StoreOption = None) -> None:
    """Each entry: when it was last used, its size, its run."""
    there = _store(store)
    t = Table(box=None, pad_edge=False)
    for head in ("key", "days unused", "MB", "run"):
        t.add_column(head, no_wrap=True, justify="left" if head in ("key", "run") else "right")
    for entry in there.entries():
        days = (time.time() - entry.used_s) / DAY_S
        t.add_row(entry.key[:12], f"{days:.1f}", f"{entry.size / MB:.2f}", there.describe(entry.key))
    show(t)


@app.command("size")
def size_command(store: StoreOption = None) -> None:
    """How many entries, and how large."""
    there = _store(store)
    sizes = [entry.size for entry in there.entries()]
    print(f"{len(sizes)} runs, {sum(sizes) / MB:.1f} MB in {there.where}")


@app.command("check")
def check_command(store: StoreOption = None) -> None:
    """Read every entry; what is damaged is named and removed.

    Status 1 if there was any.
    """
    there = _store(store)
    bad = [entry.key for entry in there.entries() if not there.sound(entry.key)]
    for name in bad:
        there.remove(name)
        print(f"hetlab: {name}: damaged, removed", file=sys.stderr)
    if bad:
        raise typer.Exit(1)


@app.command("gc")
def collect_command(
    store: StoreOption = None,
    most_gb: Annotated[float | None, typer.Option("--most-gb", metavar="GB", min=0, help="size that may stay")] = None,
    unused_days: Annotated[
        float | None, typer.Option("--unused-days", metavar="DAYS", min=0, help="not used for so long: goes")
    ] = None,
) -> None:
    """Remove what was not used for long, and the oldest of what is too much."""
    if most_gb is None and unused_days is None:
        raise LabError("cache gc: say --most-gb, --unused-days or both")
    there = _store(store)
    age_s = None if unused_days is None else unused_days * DAY_S
    gone = there.collect(None if most_gb is None else int(most_gb * GB), age_s)
    print(f"{len(gone)} runs, {sum(entry.size for entry in gone) / MB:.1f} MB removed")
