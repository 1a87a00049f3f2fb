# SPDX-License-Identifier: GPL-2.0
"""hetlab pack, hetlab unpack: the lab as one file."""

import pickle
import sys
from pathlib import Path
from typing import Annotated

import typer

from hetlab.build import pack
from hetlab.build import unpack as unpacking
from hetlab.cli.arguments import StoreOption
from hetlab.cli.campaigns import err, kept
from hetlab.engine import packs, work
from hetlab.errors import LabError


def write(
    file: Annotated[Path | None, typer.Argument(metavar="FILE.tar.gz", help="what to write")] = None,
    store: StoreOption = None,
) -> None:
    """The lab as one file: kernels that are built, modules, tools, Python.

    Unpacked anywhere (tar xf, or hetlab unpack) its tools/hetlab runs without compiler and without packages. Without a
    FILE it goes to the store, from which workers (--cluster) take it whose own lab is another one, or not built.
    """
    if file:
        print(pack.write(err, file))
        return
    chosen = kept(store, 0, again=False).store
    if not chosen:
        raise LabError("hetlab pack: name a FILE, or a --store that is not none")
    print(*packs.put(err, chosen), sep="\n")


def carry_out() -> None:
    """For a worker, in a pack: a batch on stdin, what came of its jobs on stdout."""
    sys.stdout.buffer.write(pickle.dumps(work.by_this_lab(pickle.load(sys.stdin.buffer))))


def unpack(
    file: Annotated[Path, typer.Argument(metavar="FILE.tar.gz", exists=True, help="of hetlab pack")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="an empty directory, or a new one")],
) -> None:
    """Unpack a pack; prints where its hetlab is."""
    print(unpacking.unpack(file, directory) / "tools" / "hetlab")
