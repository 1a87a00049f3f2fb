# SPDX-License-Identifier: GPL-2.0
"""hetlab pack, hetlab unpack: the lab as one file."""

from pathlib import Path
from typing import Annotated

import typer

from hetlab.build import pack
from hetlab.build import unpack as unpacking
from hetlab.cli.campaigns import err


def write(
    file: Annotated[Path, typer.Argument(metavar="FILE.tar.gz", help="what to write")],
) -> None:
    """The lab as one file: kernels that are built, modules, tools, Python.

    Unpacked anywhere (tar xf, or hetlab unpack) its tools/hetlab runs without compiler and without packages.
    """
    print(pack.write(err, file))


def unpack(
    file: Annotated[Path, typer.Argument(metavar="FILE.tar.gz", exists=True, help="of hetlab pack")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="an empty directory, or a new one")],
) -> None:
    """Unpack a pack; prints where its hetlab is."""
    print(unpacking.unpack(file, directory) / "tools" / "hetlab")
