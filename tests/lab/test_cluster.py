# SPDX-License-Identifier: GPL-2.0
"""--cluster: batches, and workers of Dask with build folders of their own give the same bytes; one that dies, too."""

import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusters import Dask, dask, results, until
from commands import Hetlab
from hetlab.build import kernel
from hetlab.build.unpack import ROOT
from hetlab.cli.planned import real_s
from hetlab.engine import cluster, packs, work
from hetlab.errors import LabError
from hetlab.machines.runner import Outcome
from hetlab.model import files, jobs
from hetlab.model.job import Job

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


@pytest.mark.parametrize(
    ("own", "store", "by"),
    [
        ("the same", True, "this lab"),
        ("another", True, "pack"),
        ("another", False, "refused"),
        ("not built", True, "pack"),
        ("not built", False, "this lab"),
        ("no compiler", True, "pack"),
    ],
)
def test_who_carries_out_a_batch(monkeypatch: pytest.MonkeyPatch, own: str, store: bool, by: str) -> None:
    """The worker's own lab, building it if need be, or a pack of the store."""

    def built(_patched: bool) -> kernel.Kernel | None:
        if own == "no compiler":
            raise FileNotFoundError("gcc")
        return None if own == "not built" else kernel.Kernel(Path(), Path(), "k")

    def by_this_lab(_batch: work.Batch) -> list[work.Done]:
        if own == "another":
            raise work.OtherLabError("refused")
        return [work.Done("this lab", b"", 0)]

    monkeypatch.setattr(kernel, "built", built)
    monkeypatch.setattr(work, "by_this_lab", by_this_lab)
    monkeypatch.setattr(packs, "fetched", lambda _store, name: Path(name))
    monkeypatch.setattr(work, "_by_pack", lambda _command, _batch: [work.Done("pack", b"", 0)])
    batch = work.Batch((), False, HASHES, "lab", store="somewhere" if store else "")
    if by == "refused":
        with pytest.raises(work.OtherLabError):
            work.carry_out(batch)
    else:
        assert [done.error for done in work.carry_out(batch)] == [by]


def test_what_a_pack_says_when_it_fails_is_the_error(tmp_path: Path) -> None:
    command = tmp_path / "hetlab"
    command.write_text("#!/bin/sh\necho 'hetlab: no such thing' >&2\nexit 2\n")
    command.chmod(0o755)
    with pytest.raises(LabError, match=f"^worker on .*, {command}: hetlab: no such thing$"):
        work._by_pack(command, work.Batch((), False, HASHES, "lab"))


def small_pack(store: Path, name: str, commit: str = "abc") -> Path:
    """A file of a store with no more of a pack than its manifest and a command; where it is."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for file, text in (("build/pack.json", json.dumps({"commit": commit})), ("tools/hetlab", "")):
            info = tarfile.TarInfo(f"{ROOT}/{file}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    packs.Store(str(store)).put(name, packs._sealed(out.getvalue()))
    return store / name[:2] / name


def test_a_pack_is_found_by_what_a_batch_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "DIRECTORY", tmp_path / "packs")
    where, name = tmp_path / "store", packs.key(HASHES, "lab")
    others = {packs.key(HASHES | {of: "x"}, "lab") for of in HASHES} | {packs.key(HASHES, "x")}
    assert len(others | {name}) == 4
    assert packs.key(HASHES | {"commit": "x"}, "lab") == name
    assert packs.fetched(str(where), name) is None
    there = small_pack(where, name)
    assert packs.Store(str(where)).describe(name) == "pack of commit abc"
    command = packs.fetched(packs.address(str(where)), name)
    assert command == tmp_path / "packs" / name[:16] / ROOT / "tools" / "hetlab" and command.exists()
    there.unlink()
    assert packs.fetched(str(where), name) == command, "a host takes it once"


def test_a_damaged_pack_is_removed_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "DIRECTORY", tmp_path / "packs")
    there = small_pack(tmp_path / "store", "ab12")
    there.write_bytes(there.read_bytes()[:-1])
    assert packs.Store(str(tmp_path / "store")).describe("ab12") == "damaged"
    with pytest.raises(LabError, match="pack ab12 was damaged and is removed; again: hetlab pack --store"):
        packs.fetched(str(tmp_path / "store"), "ab12")
    assert not there.exists()


def test_a_store_out_of_reach_has_no_packs(capsys: pytest.CaptureFixture[str]) -> None:
    assert packs.fetched("absent://store", "ab12") is None
    assert "hetlab: store absent://store: " in capsys.readouterr().err


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


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Dask]:
    """A scheduler and two workers with build folders of their own."""
    with dask(tmp_path) as running:
        yield running


def raws(build: Path) -> list[Path]:
    """What machines of the first worker left, one for each of its batches."""
    return list((build / "one" / "run").glob("raw-*"))


@pytest.mark.virtual
def test_workers_give_the_same_bytes_and_a_dead_one_loses_nothing(
    hetlab: Hetlab, tmp_path: Path, scheduler: Dask
) -> None:
    words = ["run", "bulk", "--set", "duration_s=3", "--cc", "reno", "--cc", "santacruz", "--seeds", "3"]
    assert hetlab(*words, "--out", tmp_path / "here").returncode == 0
    there = [*words, "--cluster", scheduler.address, "--out"]
    done = hetlab(*there, tmp_path / "there", "--store", tmp_path / "store")
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "there") == results(tmp_path / "here")
    for name in ("one", "two"):
        assert list((tmp_path / name / "run").glob("raw-*")), "each of them had some"

    begun = subprocess.Popen([sys.executable, "-m", "hetlab", *there, tmp_path / "less"], stderr=subprocess.PIPE)
    before = len(raws(tmp_path))
    until(lambda: len(raws(tmp_path)) > before, begun)
    scheduler.workers[0].kill()
    _out, said = begun.communicate(timeout=300)
    assert begun.returncode == 0, said.decode()
    assert results(tmp_path / "less") == results(tmp_path / "here")


@pytest.mark.cluster
def test_a_worker_without_a_kernel_takes_the_lab_from_the_store(hetlab: Hetlab, tmp_path: Path) -> None:
    """Its build folder is empty; that of the other worker is not."""
    store = tmp_path / "store"
    put = hetlab("pack", "--store", store)
    assert put.returncode == 0, put.stderr
    names = put.stdout.split()
    assert {path.name for path in store.glob("*/*")} == set(names)
    assert hetlab("cache", "check", "--store", store).returncode == 0
    assert "pack of commit" in hetlab("cache", "list", "--store", store).stdout
    words = ["run", "bulk", "--set", "duration_s=3", "--cc", "reno", "--cc", "santacruz", "--seeds", "4"]
    assert hetlab(*words, "--out", tmp_path / "here").returncode == 0
    (tmp_path / "two").mkdir()
    with dask(tmp_path) as running:
        until(lambda: "Registered to" in (tmp_path / "two.log").read_text(), running.workers[1])
        done = hetlab(*words, "--cluster", running.address, "--store", store, "--out", tmp_path / "there")
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "there") == results(tmp_path / "here")
    lab = tmp_path / "two" / "packs" / names[0][:16] / ROOT
    assert list((lab / "build" / "run").glob("raw-*")), "it had some of the runs"
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == ["packs"], "nothing is built there"
