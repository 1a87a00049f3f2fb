# SPDX-License-Identifier: GPL-2.0
"""--cluster: batches, and workers of Dask with build folders of their own give the same bytes; one that dies, too."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import Hetlab
from hetlab.cli.planned import real_s
from hetlab.engine import cluster, work
from hetlab.errors import LabError
from hetlab.machines.runner import Outcome
from hetlab.model import files, jobs
from hetlab.model.job import Job
from hetlab.paths import BUILD

pytestmark = pytest.mark.fast
HASHES = {"kernel": "k", "modules": "m"}


def some(number: int) -> list[Job]:
    return jobs.make(files.load("bulk"), [jobs.Variant("reno")], list(range(1, number + 1)))


def test_batches_last_seconds_to_minutes_and_keep_the_order() -> None:
    planned = some(100)
    for cost_s, workers, sizes in ((0.1, 2, 20), (1, 2, 13), (1, 50, 2), (50, 2, 2), (500, 2, 1)):
        cut = cluster.batches(planned, workers, lambda _job, s=cost_s: s)  # type: ignore[misc]
        assert [job for batch in cut for job in batch] == planned
        assert max(map(len, cut)) == sizes
    assert cluster.batches([], 0, real_s) == []


def test_what_cannot_be_a_cluster_is_said() -> None:
    for told in ("ssh:", "slurm:many"):
        with pytest.raises(LabError, match=f"--cluster {told.partition(':')[0]}"):
            cluster.start(told)


def test_a_worker_with_another_kernel_is_refused() -> None:
    batch = work.Batch((), False, HASHES, "lab")
    with pytest.raises(work.OtherLabError, match="kernel other, asked for k: give it the same tree"):
        work._same(batch, HASHES | {"kernel": "other"}, "lab")
    work._same(batch, HASHES | {"commit": "any"}, "lab")


class Future:
    """One that has ended."""

    def __init__(self, status: str, result: Any = None) -> None:
        self.status, self._result = status, result

    def done(self) -> bool:
        return True

    def exception(self) -> Any:
        return self._result

    def result(self) -> Any:
        return self._result


class Client:
    """A scheduler that loses the first tasks it is given."""

    dashboard_link = ""

    def __init__(self, loses: int) -> None:
        self.loses, self.given = loses, 0

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {"one": n_workers}}

    def submit(self, _function: Any, batch: work.Batch, **_told: Any) -> Future:
        self.given += 1
        if self.given <= self.loses:
            return Future("cancelled")
        return Future("finished", [work.Done("why", b"", 1.0) for _job in batch.jobs])

    def cancel(self, _futures: Any) -> None:
        pass


@pytest.mark.parametrize(("loses", "error"), [(2, "why"), (3, "lost 3 times with its worker")])
def test_a_batch_that_a_scheduler_lost_is_given_again(
    loses: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: list[tuple[int, str | None]] = []
    outcome: Outcome = lambda job, error, _wall_s: ended.append((job.seed, error))  # noqa: E731
    runner = cluster.ClusterRunner(Client(loses), False, HASHES, "lab", lambda _job: 0.1)
    runner.run(some(3), outcome)
    assert ended == [(seed, error) for seed in (1, 2, 3)]
    assert capsys.readouterr().err.count("3 runs are lost and carried out again: cancelled") == loses


def test_two_workers_of_a_machine_have_two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "cpus", lambda: [1000, 1001])
    with work.cpu() as first, work.cpu() as second:
        assert {first, second} == {1000, 1001}


def own_build(directory: Path) -> Path:
    """A build folder with kernels, modules, tools of its own: copies, but of the environment and the sources."""
    directory.mkdir()
    (directory / "venv").symlink_to(BUILD / "venv")
    for name in ("modules", "bin"):
        subprocess.run(["cp", "-a", BUILD / name, directory / name], check=True)
    for source in (BUILD / "kernel").glob("src-*"):
        for built in source.glob("um-*"):
            if (built / ".complete").exists():
                to = directory / "kernel" / source.name / built.name
                to.mkdir(parents=True)
                (to / ".complete").touch()
                subprocess.run(["cp", "-a", built / "linux", to / "linux"], check=True)
                for needed in ("Makefile", ".complete"):
                    (to.parent / needed).touch()
    return directory


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers with build folders of their own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--host", address]
    running = [subprocess.Popen(dask, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
    for name in ("one", "two"):
        env = os.environ | {"HETCC_BUILD": str(own_build(tmp_path / name))}
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads=1", "--no-dashboard"]
        told = [*worker, "--no-nanny", "--name", name, "--local-directory", str(tmp_path / f"dask-{name}")]
        with open(tmp_path / f"{name}.log", "wb") as log:
            running.append(subprocess.Popen(told, env=env, stdout=log, stderr=subprocess.STDOUT))
    yield address, running
    for process in running:
        process.kill()
        process.wait()


def results(directory: Path) -> dict[str, bytes]:
    """Every file of every run but what is of the clock."""
    found = (path for path in directory.rglob("*.*") if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


@pytest.mark.virtual
def test_workers_give_the_same_bytes_and_a_dead_one_loses_nothing(
    hetlab: Hetlab, tmp_path: Path, scheduler: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, running = scheduler
    words = ["run", "bulk", "--set", "duration_s=3", "--cc", "reno", "--cc", "santacruz", "--seeds", "3"]
    assert hetlab(*words, "--out", tmp_path / "here").returncode == 0
    there = [*words, "--cluster", address, "--out"]
    done = hetlab(*there, tmp_path / "there", "--store", tmp_path / "store")
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "there") == results(tmp_path / "here")
    for name in ("one", "two"):
        assert list((tmp_path / name / "run").glob("raw-*")), "each of them had some"

    begun = subprocess.Popen([sys.executable, "-m", "hetlab", *there, tmp_path / "less"], stderr=subprocess.PIPE)
    raw = tmp_path / "one" / "run"
    before = len(list(raw.glob("raw-*")))
    end = time.monotonic() + 60
    while len(list(raw.glob("raw-*"))) == before and begun.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    running[1].send_signal(signal.SIGKILL)
    _out, said = begun.communicate(timeout=300)
    assert begun.returncode == 0, said.decode()
    assert results(tmp_path / "less") == results(tmp_path / "here")
