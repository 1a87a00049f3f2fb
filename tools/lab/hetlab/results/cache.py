# SPDX-License-Identifier: GPL-2.0
"""One store of results by content, for all commands: what was measured once is not run again.

The key of a run is a hash of all that its numbers depend on. An entry is one file, so that it is there whole or not at
all, on a local disk, a shared one, or whatever fsspec has a name for (s3://, sftp://, memory://):

    STORE/ab/abcd...   "hetlab-result SHA256\\n", then a tar of the run's directory, which has that hash

An entry whose hash is another one is of no use to anybody: it is removed, said, and its run is carried out again.
"""

import hashlib
import io
import json
import os
import tarfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec

from hetlab.errors import LabError
from hetlab.model.congestion import label
from hetlab.model.job import Job
from hetlab.model.keys import as_plain
from hetlab.model.result import FORMAT_VERSION
from hetlab.results import loaded

MAGIC = b"hetlab-result "
NONE, DAMAGED = "none", "damaged"
# Pictures are drawn again from the tables
SUFFIXES = (".json", ".parquet", ".pcap")
# A write to a shared disk that was interrupted leaves this; nobody writes an entry for a day
DRAFT, DRAFT_AGE_S = ".draft-", 86_400


def key(job: Job, hashes: dict[str, str], lab: str) -> str:
    """Name of a run's entry: everything that decides its result; ``hashes`` and ``lab`` as in store.kept."""
    parts = {
        "format": FORMAT_VERSION,
        "scenario": as_plain(job.scenario),
        "cc": job.cc,
        "cc_params": job.cc_params,
        "seed": job.seed,
        "trace": job.trace,
        "candidates": [own.digest for own in job.candidates],
        "kernel": hashes["kernel"],
        "modules": loaded.of_run(job, hashes)["modules"],
        "lab": lab,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class UnreachableError(LabError, OSError):
    """What a remote store answers that is no OSError of its package's: no credentials, no such host."""

    def __init__(self, text: str, answer: str) -> None:
        super().__init__(text)
        self.strerror = answer


@contextmanager
def _remote(where: str) -> Iterator[None]:
    """UnreachableError for what packages of fsspec raise beside OSError, each its own."""
    try:
        yield
    except (OSError, LabError):
        raise
    except Exception as err:
        raise UnreachableError(f"store {where}: {err}", str(err)) from err


class CorruptError(LabError):
    """An entry that is not what was written."""


def pack(directory: Path) -> bytes:
    """A run's directory as an entry; the same files give the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(directory.iterdir()):
            if path.suffix in SUFFIXES:
                info = tarfile.TarInfo(path.name)
                info.size = path.stat().st_size
                with path.open("rb") as file:
                    tar.addfile(info, file)
    data = out.getvalue()
    return MAGIC + hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def unpack(entry: bytes, directory: Path) -> None:
    """Write the files of an entry to a directory; CorruptError before that if it is not whole."""
    with _opened(entry) as tar:
        for member in tar:
            file = tar.extractfile(member)
            if not file or Path(member.name).name != member.name:
                raise CorruptError(f"{member.name!r} is no file of a run")
            (directory / member.name).write_bytes(file.read())


def _opened(entry: bytes) -> tarfile.TarFile:
    """The files of an entry; CorruptError if it is not whole."""
    head, _newline, data = entry.partition(b"\n")
    if head != MAGIC + hashlib.sha256(data).hexdigest().encode():
        raise CorruptError("its contents do not have the hash that was written with them")
    return tarfile.open(fileobj=io.BytesIO(data))


@dataclass(frozen=True)
class Entry:
    """What is known of an entry without reading it: bytes, when it was written or (local disk) last used."""

    key: str
    size: int
    used_s: float


class Cache:
    """A store at a directory or URL."""

    def __init__(self, where: str) -> None:
        self.where = where
        try:
            self.fs, self.root = fsspec.core.url_to_fs(where)
        except (ImportError, ValueError, OSError) as err:
            raise LabError(f"--store {where}: {err}") from err

    @property
    def local(self) -> bool:
        """Whether it is a directory of this machine's."""
        return "file" in self.fs.protocol

    def _path(self, name: str) -> str:
        return f"{self.root}/{name[:2]}/{name}"

    def get(self, name: str) -> bytes | None:
        """An entry, which then was used; None: there is none. OSError where the store cannot be read."""
        data = self._read(name)
        if self.local and data is not None:
            with suppress(OSError):  # a store of others may be read-only
                os.utime(self._path(name))
        return data

    def _read(self, name: str) -> bytes | None:
        try:
            with _remote(self.where):
                data: bytes = self.fs.cat_file(self._path(name))
        except FileNotFoundError:
            return None
        return data

    def put(self, name: str, entry: bytes) -> None:
        """Write an entry, whole or not at all; OSError if that cannot be done."""
        path = self._path(name)
        draft = f"{path[: -len(name)]}{DRAFT}{uuid.uuid4().hex}"
        with _remote(self.where):
            self.fs.makedirs(self.fs._parent(path), exist_ok=True)
            try:
                self.fs.pipe_file(draft, entry)
                self.fs.mv(draft, path)
            except BaseException:
                with suppress(Exception):  # the first error is the one to tell
                    if self.fs.exists(draft):
                        self.fs.rm_file(draft)
                raise

    def sound(self, name: str) -> bool:
        """Whether an entry is what was written."""
        return self.describe(name) != DAMAGED

    def describe(self, name: str) -> str:
        """Which run an entry is: scenario, congestion control, seed."""
        try:
            with _opened(self._read(name) or b"") as tar:
                file = tar.extractfile("result.json")
                result = json.load(file) if file else {}
        except (CorruptError, KeyError, ValueError):
            return DAMAGED
        return f"{result['scenario']} {label(result['cc'], result['cc_params'])} seed {result['seed']}"

    def remove(self, name: str) -> None:
        """Remove an entry, if it is there."""
        with _remote(self.where):
            if self.fs.exists(path := self._path(name)):
                self.fs.rm_file(path)

    def entries(self) -> Iterator[Entry]:
        """All entries, the one that was not used for longest first."""
        return iter(sorted((e for e in self._files() if not e.key.startswith(DRAFT)), key=lambda e: (e.used_s, e.key)))

    def _files(self) -> Iterator[Entry]:
        with _remote(self.where):
            self.fs.invalidate_cache()
            found = self.fs.find(self.root, detail=True) if self.fs.exists(self.root) else {}
        for path, info in found.items():
            yield Entry(path.rpartition("/")[2], info["size"], _seconds(info))

    def collect(self, most_bytes: int | None, most_age_s: float | None) -> list[Entry]:
        """Remove what was not used for so long, then the oldest until the rest is no larger, and drafts; what went."""
        now = time.time()
        for draft in (e for e in self._files() if e.key.startswith(DRAFT) and now - e.used_s > DRAFT_AGE_S):
            self.fs.rm_file(f"{self.root}/{self._folder(draft.key)}/{draft.key}")
        there = list(self.entries())
        size, gone = sum(e.size for e in there), []
        for entry in there:
            old = most_age_s is not None and now - entry.used_s > most_age_s
            if old or (most_bytes is not None and size > most_bytes):
                self.remove(entry.key)
                size -= entry.size
                gone.append(entry)
        return gone

    def _folder(self, draft: str) -> str:
        """Folder of a draft, whose name does not say it."""
        path: str = next(p for p in self.fs.find(self.root) if p.endswith(f"/{draft}"))
        return path.split("/")[-2]


def _seconds(info: dict[str, Any]) -> float:
    """When a file was changed, however its file system says so; those that do not: now, so that nothing is old."""
    when = next((info[name] for name in ("mtime", "LastModified", "last_modified", "created") if name in info), None)
    if when is None:
        return time.time()
    return float(when) if isinstance(when, int | float) else float(when.timestamp())
