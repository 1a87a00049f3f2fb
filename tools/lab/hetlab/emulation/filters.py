# SPDX-License-Identifier: GPL-2.0
"""Policer, ECN bleaching and MTU black hole of a direction: a BPF program where the link delivers.

The program (tools/bpf/link.c) is compiled before the run, once for all links. What a
link does is written into a copy of the object, behind a mark in its read-only data.
"""

import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hetlab.errors import LabError
from hetlab.model.link import Direction
from hetlab.paths import BIN, LINK_PROGRAM

MARK = struct.pack("=Q", 0x4B4E494C54454821)
BLEACH = {"none": 0, "ce": 1, "all": 2}
NS = 1_000_000_000


def config(d: Direction) -> bytes:
    """struct config of the program, without its mark."""
    bps = round((d.police_mbit or 0) * 1e6)
    depth = d.policed_bytes * 8 * NS
    fill_ns = depth // bps if bps else 0
    return struct.pack("=QQQII", bps, depth, fill_ns, d.blackhole_above_bytes or 0, BLEACH[d.ecn_bleach])


def program(d: Direction) -> bytes:
    """The object with what this direction does; LabError if it was not compiled."""
    path = Path(os.environ.get("HETLAB_BIN") or BIN) / LINK_PROGRAM
    if not path.exists():
        raise LabError(
            f"{path} is missing, the program of policers, ecn_bleach and blackhole_above_bytes: it needs clang, "
            "which tools/setup.sh --check (as root) installs; then start this by tools/hetlab once more"
        )
    data = path.read_bytes()
    if data.count(MARK) != 1:
        raise LabError(f"{path}: not the program of tools/bpf/link.c: remove it")
    at, own = data.index(MARK) + len(MARK), config(d)
    return data[:at] + own + data[at + len(own) :]


@contextmanager
def loadable(d: Direction) -> Iterator[str]:
    """Name of a file with the program for this direction, for as long as tc needs it."""
    with tempfile.NamedTemporaryFile(suffix=".o") as copy:
        copy.write(program(d))
        copy.flush()
        yield copy.name


def attach(dev: str, name: str) -> str:
    """Commands that have all that leaves a device pass the program of a file."""
    load = f"bpf direct-action object-file {name} section link"
    return f"tc qdisc add dev {dev} clsact\ntc filter add dev {dev} egress {load}"
