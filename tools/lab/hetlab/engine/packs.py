# SPDX-License-Identifier: GPL-2.0
"""The lab in the store: a worker whose kernel, modules or code are not those that are asked for takes them from there.

A pack is an entry beside those of results and like them; its key is a hash of what runs are measured with, of which the
worker is told for each batch.
"""

import hashlib
import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

from rich.console import Console

from hetlab import paths
from hetlab.build import identity, kernel, pack
from hetlab.build.kernel import locked
from hetlab.build.packed import MANIFEST
from hetlab.build.unpack import ROOT, unpack
from hetlab.errors import LabError
from hetlab.results import cache

DIRECTORY = paths.BUILD / "packs"


def key(hashes: dict[str, str], lab: str) -> str:
    """Name of the entry with the lab that a batch asks for."""
    parts = {"pack": [hashes["kernel"], hashes["modules"], lab]}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def address(where: str) -> str:
    """A store as workers in other directories name it."""
    there = cache.Cache(where)
    url: str = there.fs.unstrip_protocol(there.root)
    return url


class Store(cache.Cache):
    """A store that may have packs."""

    def describe(self, name: str) -> str:
        """Which run an entry is, or which lab."""
        if (found := super().describe(name)) != cache.DAMAGED:
            return found
        if (data := _contents(self._read(name) or b"")) is None:
            return found
        try:
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                file = tar.extractfile(f"{ROOT}/build/{MANIFEST}")
                return f"pack of commit {json.load(file)['commit']}" if file else found
        except (tarfile.TarError, KeyError, ValueError):
            return found


def _sealed(data: bytes) -> bytes:
    """Data as an entry."""
    return cache.MAGIC + hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def _contents(entry: bytes) -> bytes | None:
    """The data of an entry; None if they are not what was written."""
    data = entry.partition(b"\n")[2]
    return data if entry == _sealed(data) else None


def put(console: Console, where: str) -> list[str]:
    """Put this lab into a store, once for each of its kernels; the keys."""
    there = Store(where)
    with tempfile.TemporaryDirectory(dir=paths.BUILD) as scratch:
        entry = _sealed(pack.write(console, Path(scratch) / "hetcc.tar.gz").read_bytes())
    kernels = [k for patched in (False, True) if (k := kernel.built(patched))]
    names = [key(identity.hashes(k, kernel.modules(console, k)), identity.lab_digest()) for k in kernels]
    for name in names:
        try:
            there.put(name, entry)
        except OSError as err:
            raise LabError(f"store {where}: cannot be written: {err.strerror or err}") from err
    return names


def fetched(where: str, name: str) -> Path | None:
    """The command of a lab that the store has, unpacked once on this host; None where the store has no such lab."""
    directory = DIRECTORY / name[:16]
    command = directory / ROOT / "tools" / "hetlab"
    with locked(DIRECTORY):
        if not command.exists():
            if (data := _pack(where, name)) is None:
                return None
            with tempfile.TemporaryDirectory(dir=DIRECTORY) as scratch:
                file = Path(scratch) / "hetcc.tar.gz"
                file.write_bytes(data)
                unpack(file, Path(scratch) / "lab").parent.rename(directory)
    return command


def _pack(where: str, name: str) -> bytes | None:
    """A pack of a store; a store that this worker cannot read has none. LabError for one that is damaged."""
    try:
        there = Store(where)
        entry = there.get(name)
    except (LabError, OSError) as err:
        print(f"hetlab: store {where}: {err}", file=sys.stderr)
        return None
    if entry is None:
        return None
    if (data := _contents(entry)) is None:
        there.remove(name)
        raise LabError(f"store {where}: pack {name} was damaged and is removed; again: hetlab pack --store {where}")
    return data
