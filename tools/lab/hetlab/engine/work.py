# SPDX-License-Identifier: GPL-2.0
"""What a worker does: a batch of jobs in, an entry of the store for each out. It depends on nothing else.

A worker is a process of Dask on any machine with this source tree and its build folder (or a pack of them). That its
code, kernel and modules are the same as the client's is compared for every batch, not presumed. Where they are not, and
the store has a pack of those that are, the batch is carried out by the pack's lab, in a process of its own.
"""

import fcntl
import os
import pickle
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from hetlab import paths
from hetlab.build import identity, kernel, programs
from hetlab.engine import packs
from hetlab.errors import LabError
from hetlab.machines.runner import VirtualRunner
from hetlab.machines.uml import cpus
from hetlab.model.job import Job, from_json
from hetlab.model.traces import SUFFIX
from hetlab.results import cache, store


@dataclass(frozen=True)
class Batch:
    """Jobs as JSON; what they are to be measured with; contents of files that they need, by name; the store, whose
    packs have what a worker lacks (empty: there is no store).
    """

    jobs: tuple[str, ...]
    patched: bool
    hashes: dict[str, str]
    lab: str
    traces: dict[str, bytes] = field(default_factory=dict)
    candidates: dict[str, bytes] = field(default_factory=dict)
    store: str = ""


@dataclass(frozen=True)
class Done:
    """How a job ended: an error, or its entry; seconds of real time."""

    error: str | None
    entry: bytes
    wall_s: float


class OtherLabError(LabError):
    """A worker that would measure with something else than the client asks for."""


def carry_out(batch: Batch) -> list[Done]:
    """Run a batch with this worker's own lab; where that is another one, with a pack of the store, if it has one."""
    other: OtherLabError | None = None
    if _built(batch):
        try:
            return by_this_lab(batch)
        except OtherLabError as err:
            other = err
    if batch.store and (command := packs.fetched(batch.store, packs.key(batch.hashes, batch.lab))):
        return _by_pack(command, batch)
    if other:
        raise other
    return by_this_lab(batch)


def _built(batch: Batch) -> bool:
    """Whether this worker has the kernel without building it, for which it may have neither compiler nor source."""
    try:
        k = kernel.built(batch.patched)
    except (LabError, OSError):
        return False
    return k is not None and k.key == batch.hashes["kernel"]


def _by_pack(command: Path, batch: Batch) -> list[Done]:
    """Run a batch with the lab of a pack."""
    ended = subprocess.run([command, "carry-out"], input=pickle.dumps(batch), capture_output=True, check=False)
    if ended.returncode:
        raise LabError(f"worker on {os.uname().nodename}, {command}: {ended.stderr.decode(errors='replace').strip()}")
    done: list[Done] = pickle.loads(ended.stdout)
    return done


def by_this_lab(batch: Batch) -> list[Done]:
    """Run a batch on this worker, one machine at a time on a CPU of its own; in the order of its jobs."""
    console = Console(quiet=True)
    programs.tools(console)
    k = kernel.kernel(console, batch.patched)
    modules = kernel.modules(console, k)
    _same(batch, identity.hashes(k, modules), identity.lab_digest())
    _files(paths.TRACES, batch.traces)
    scratch = paths.scratch("raw-")
    jobs = [_here(from_json(text), scratch / f"{i:05d}", batch) for i, text in enumerate(batch.jobs)]
    programs.skew_objects({clock for job in jobs for clock in job.scenario.clocks.values()})
    if any(job.scenario.filtered for job in jobs):
        programs.link_program()
    done: dict[str, Done] = {}

    def outcome(job: Job, error: str | None, wall_s: float) -> None:
        done[job.dir] = Done(error, b"", wall_s) if error is not None else _evaluated(job, batch, wall_s)

    with cpu() as own:
        VirtualRunner(k.executable, modules, on=[own]).run(jobs, outcome)
    return [done[job.dir] for job in jobs]


def _same(batch: Batch, hashes: dict[str, str], lab: str) -> None:
    """OtherLabError naming what differs."""
    here = {"kernel": hashes["kernel"], "modules": hashes["modules"], "code": lab}
    asked = {"kernel": batch.hashes["kernel"], "modules": batch.hashes["modules"], "code": batch.lab}
    if other := [name for name in here if here[name] != asked[name]]:
        told = ", ".join(f"{name} {here[name]}, asked for {asked[name]}" for name in other)
        raise OtherLabError(
            f"worker on {os.uname().nodename}, {paths.TOP}: {told}: give it the same tree and compiler, or a pack in a"
            " store that it reads (hetlab pack --store)"
        )


def _files(directory: Path, contents: dict[str, bytes]) -> None:
    """Write files that are not there yet, each whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        if not (directory / name).exists():
            with tempfile.NamedTemporaryFile(dir=directory, delete=False) as file:
                file.write(data)
            Path(file.name).rename(directory / name)


def _here(job: Job, directory: Path, batch: Batch) -> Job:
    """A job with its files on this machine."""
    modules = paths.BUILD / "candidates" / "sent"
    _files(modules, batch.candidates)
    own = tuple(replace(c, ko=str(modules / sent_name(c.ko, c.digest))) for c in job.candidates)
    return replace(job, dir=str(directory), candidates=own)


def sent_name(ko: str, digest: str) -> str:
    """File name under which a candidate's module is sent."""
    return f"{digest}-{Path(ko).name}"


def _evaluated(job: Job, batch: Batch, wall_s: float) -> Done:
    """The result of a run that has ended, as an entry."""
    out = paths.scratch("result-")
    try:
        store.save(job, out, batch.hashes, wall_s, batch.lab)
        return Done(None, cache.pack(store.run_dir(out, job)), wall_s)
    except (LabError, OSError, KeyError, TypeError, ValueError) as err:
        return Done(f"cannot evaluate the run: {err!r}", b"", wall_s)


@contextmanager
def cpu() -> Iterator[int]:
    """A CPU of this machine that no other worker uses; where all are taken, the first that comes free by chance."""
    lock = Path(tempfile.gettempdir()) / f"hetlab-cpus-{os.getuid()}"
    lock.mkdir(exist_ok=True)
    own = cpus()
    for number in own:
        with open(lock / str(number), "w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield number
            return
    with open(lock / str(own[os.getpid() % len(own)]), "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield own[os.getpid() % len(own)]


def batch_of(jobs: list[Job], patched: bool, hashes: dict[str, str], lab: str, store: str = "") -> Batch:
    """Jobs with all that a worker needs and may not have."""
    names = {f"{played.hash}{SUFFIX}" for job in jobs for played in job.scenario.traces.values()}
    own = {sent_name(c.ko, c.digest): Path(c.ko) for job in jobs for c in job.candidates}
    return Batch(
        tuple(job.as_json() for job in jobs),
        patched,
        hashes,
        lab,
        {name: (paths.TRACES / name).read_bytes() for name in sorted(names)},
        {name: path.read_bytes() for name, path in own.items()},
        store,
    )
