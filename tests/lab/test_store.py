# SPDX-License-Identifier: GPL-2.0
"""The store of results: by content, whole or not at all, checked when it is read; --verify compares the bytes."""

import errno
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from commands import Hetlab
from hetlab import paths
from hetlab.build import kernel, programs
from hetlab.cli import campaigns
from hetlab.errors import LabError
from hetlab.machines import uml
from hetlab.machines.runner import VirtualRunner
from hetlab.model import files, jobs
from hetlab.model.job import Job
from hetlab.model.result import RunResult
from hetlab.results import cache, loaded, store
from hetlab.results.campaign import Campaign

pytestmark = pytest.mark.fast
HASHES, LAB = {"kernel": "k", "modules": "m"}, "lab"
RUN = ("run", "bulk", "--set", "duration_s=3", "--cc", "reno", "--json")


@pytest.fixture
def job() -> Job:
    return jobs.make(files.load("bulk"), [jobs.Variant("reno")], [1])[0]


@pytest.fixture
def there(tmp_path: Path) -> cache.Cache:
    return cache.Cache(str(tmp_path / "store"))


def directory(path: Path, text: str = "numbers") -> Path:
    path.mkdir()
    (path / "result.json").write_text(json.dumps({"scenario": text, "cc": "reno", "cc_params": {}, "seed": 1}))
    (path / "flows.parquet").write_bytes(bytes(range(256)))
    (path / "trace.png").touch()
    return path


def test_what_a_result_depends_on_is_in_its_key(job: Job) -> None:
    changed: list[tuple[Job, dict[str, str], str]] = [
        (replace(job, seed=2), HASHES, LAB),
        (replace(job, cc="cubic"), HASHES, LAB),
        (replace(job, cc_params={"a": "1"}), HASHES, LAB),
        (replace(job, trace=True), HASHES, LAB),
        (replace(job, scenario=replace(job.scenario, duration_s=9.0)), HASHES, LAB),
        (job, HASHES | {"kernel": "other"}, LAB),
        (job, HASHES | {"modules": "other"}, LAB),
        (job, HASHES, "other"),
    ]
    keys = {cache.key(*of) for of in changed}
    assert len(keys) == len(changed)
    assert cache.key(job, HASHES, LAB) not in keys
    assert cache.key(replace(job, dir="/else", asked=("x",)), HASHES | {"commit": "c"}, LAB) == cache.key(
        job, HASHES, LAB
    ), "where and when it was run does not matter"


def test_a_module_is_in_the_keys_of_runs_that_load_it_and_in_no_others() -> None:
    """All hashes of modules were in every key: a change of one ran everything again."""
    every = {name: f"{name} 1" for name in ("sch_replay", "tcp_hybla_ext", "tcp_santacruz", "tcp_westwood_fr")}

    def with_modules(changed: str = "") -> dict[str, str]:
        texts = [text + ("f" if name == changed else "") for name, text in every.items()]
        return HASHES | {"modules": ", ".join(texts)}

    def of(cc: str, params: dict[str, str] | None = None, trace: bool = False, default: str = "cubic") -> Job:
        made = jobs.make(files.load("bulk"), [jobs.Variant(cc, params or {})], [1])[0]
        sysctl: dict[str, int | str] = {"net.ipv4.tcp_congestion_control": default}
        return replace(made, trace=trace, scenario=replace(made.scenario, sysctl=sysctl))

    beside = of("cubic")
    rival = replace(beside.scenario.flows[0], id=1, name="rival", cc="hybla_ext")
    beside = replace(beside, scenario=replace(beside.scenario, flows=(*beside.scenario.flows, rival)))
    uses = {
        "reno": (of("reno"), set()),
        "santacruz": (of("santacruz", {"n_op": "2"}), {"tcp_santacruz"}),
        "gfr": (of("westwood_gfr"), {"tcp_westwood_fr"}),
        "paper": (of("hybla_paper"), {"tcp_hybla_ext"}),
        "rival": (beside, {"tcp_hybla_ext"}),
        "default": (of("cubic", default="westwood_fr"), {"tcp_westwood_fr"}),
        "traced": (of("reno", trace=True), {"tcp_santacruz"}),
    }
    for what, (made, own) in uses.items():
        before = cache.key(made, with_modules(), LAB)
        moved = {name for name in every if cache.key(made, with_modules(name), LAB) != before}
        assert moved == own | {"sch_replay"} == set(made.modules), what
        assert loaded.of_run(made, with_modules()) == HASHES | {
            "modules": ", ".join(every[name] for name in sorted(moved))
        }, "and what a result says of itself"


@pytest.mark.parametrize("where", ["{tmp}/store", "file://{tmp}/store", "memory://store"])
def test_entries_come_back_as_they_were(where: str, tmp_path: Path) -> None:
    there = cache.Cache(where.format(tmp=tmp_path))
    assert list(there.entries()) == [] and there.get("ab12") is None
    entry = cache.pack(directory(tmp_path / "run"))
    assert entry == cache.pack(tmp_path / "run")
    there.put("ab12", entry)
    assert there.get("ab12") == entry
    assert [(e.key, e.size) for e in there.entries()] == [("ab12", len(entry))]
    (tmp_path / "back").mkdir()
    cache.unpack(entry, tmp_path / "back")
    assert sorted(p.name for p in (tmp_path / "back").iterdir()) == ["flows.parquet", "result.json"]
    assert (tmp_path / "back" / "flows.parquet").read_bytes() == bytes(range(256))
    assert there.describe("ab12") == "numbers reno seed 1"
    there.remove("ab12")
    assert there.get("ab12") is None


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:200] + b"X" + b[201:], lambda b: b""])
def test_a_damaged_entry_is_no_result(damage: Any, tmp_path: Path) -> None:
    entry = damage(cache.pack(directory(tmp_path / "run")))
    with pytest.raises(cache.CorruptError, match="hash"):
        cache.unpack(entry, tmp_path)


def test_what_is_old_goes_and_of_too_much_the_oldest(there: cache.Cache, tmp_path: Path) -> None:
    for age_days, name in ((9, "aa1"), (2, "bb2"), (1, "cc3"), (0, "aa4")):
        there.put(name, b"x" * 100)
        os.utime(tmp_path / "store" / name[:2] / name, (time.time() - age_days * 86_400,) * 2)
    left = tmp_path / "store" / "aa" / f"{cache.DRAFT}0"
    left.touch()
    os.utime(left, (0, 0))
    assert [e.key for e in there.collect(None, 5 * 86_400)] == ["aa1"]
    assert not left.exists(), "of a write that was interrupted"
    assert [e.key for e in there.collect(250, None)] == ["bb2"]
    there.get("cc3")
    assert [e.key for e in there.collect(100, None)] == ["aa4"], "reading is using"


def test_a_full_disk_is_said_once_and_costs_no_result(
    there: cache.Cache, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory(tmp_path / "run")
    seen: list[RunResult] = []
    campaign = Campaign(tmp_path / "out", HASHES, LAB, seen.append, shared=there)

    def full(path: str, data: bytes) -> None:
        Path(path).write_bytes(data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def saved(*_args: Any) -> RunResult:
        result: RunResult = SOME
        return result

    monkeypatch.setattr(there.fs, "pipe_file", full)
    monkeypatch.setattr(store, "save", saved)
    monkeypatch.setattr(store, "run_dir", lambda _out, _job: tmp_path / "run")
    for _ in range(2):
        campaign.outcome(job, None, 1.0)
    assert (campaign.done, campaign.failed, len(seen)) == (2, [], 2)
    said = capsys.readouterr().err
    assert said.count("No space left on device") == 1 and f"{tmp_path / 'out'} alone" in said
    assert [p for p in (tmp_path / "store").rglob("*") if p.is_file()] == [], "nor half an entry"


class _Some:
    """A result of which only this is asked."""

    reproducible = True


SOME: Any = _Some()


def test_columns_are_those_of_the_table(tmp_path: Path) -> None:
    """As numpy has them; what a table lacks is left out."""
    store._write_columns({"t": [0.5, 1.5], "queue": ["a", "b"], "pkts": [1, None]}, tmp_path / "queue.parquet")
    found = store.columns(tmp_path, "queue", ["t", "id", "queue", "pkts"])
    assert list(found) == ["t", "queue", "pkts"]
    assert (found["queue"] == "b").tolist() == [False, True]
    assert found["t"].tolist() == [0.5, 1.5] and str(found["pkts"].tolist()) == "[1.0, nan]"


def test_what_no_disk_would_say_is_a_store_out_of_reach(there: cache.Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages for remote stores have exceptions of their own, which ended commands with a traceback."""

    class NoCredentialsError(Exception):
        pass

    def lost(*_args: Any, **_more: Any) -> Any:
        raise NoCredentialsError("no credentials")

    for name in ("cat_file", "pipe_file", "find", "exists"):
        monkeypatch.setattr(there.fs, name, lost)
    there.fs.makedirs(there.root)
    for use in (lambda: there.get("ab12"), lambda: there.put("ab12", b"x"), lambda: list(there.entries())):
        with pytest.raises(cache.UnreachableError, match=r"store /.*: no credentials") as caught:
            use()
        assert isinstance(caught.value, OSError) and caught.value.strerror == "no credentials"


def test_none_is_no_store() -> None:
    assert campaigns.kept("none", 0, again=False).store is None
    assert campaigns.kept(None, 0, again=True).take is False
    with pytest.raises(LabError, match="--store strange://x"):
        cache.Cache("strange://x")


@pytest.mark.virtual
def test_modules_that_a_run_does_not_use_are_not_loaded_and_would_change_nothing(tmp_path: Path) -> None:
    """So that their hashes can be left out of its key. The built files have no path of this checkout in them either."""
    quiet = Console(quiet=True)
    programs.tools(quiet)
    k = kernel.kernel(quiet)
    built = kernel.modules(quiet, k)
    assert not [ko.name for ko in built.glob("*.ko") if str(paths.TOP).encode() in ko.read_bytes()]
    every = sorted(ko.stem for ko in built.glob("*.ko"))
    for names in ([], ["tcp_santacruz"], ["sch_replay", "tcp_hybla_ext"], None):
        directory = paths.scratch("loaded-")
        script = f"cut -d' ' -f1 /proc/modules > {directory}/seen"
        uml.boot(k.executable, built, script, directory, None, names).proc.wait()
        assert sorted((directory / "seen").read_text().split()) == (every if names is None else names)

    few = jobs.make(files.load("bulk", ["duration_s=3"]), [jobs.Variant("cubic")], [1])[0]
    assert few.modules == ["sch_replay"]

    class All(Job):
        modules = every  # in place of the property

    errors: list[str | None] = []
    found = []
    for name, job in (("few", few), ("all", All(**vars(few)))):
        VirtualRunner(k.executable, built).run([job], lambda _job, error, _wall_s: errors.append(error))
        store.save(job, tmp_path / name, HASHES, 0, LAB)
        found.append({p.name: p.read_bytes() for p in (tmp_path / name).rglob("*") if p.suffix in cache.SUFFIXES})
    assert errors == [None, None]
    assert found[0] == found[1] and len(found[0]) > 4


@pytest.mark.virtual
def test_a_second_command_takes_what_the_first_measured(hetlab: Hetlab, tmp_path: Path) -> None:
    """Another directory, the same bytes; what is damaged is run again; --verify tells a result that was changed."""
    env = {"HETLAB_STORE": str(tmp_path / "store")}

    def run(name: str, *more: str) -> tuple[dict[str, bytes], str, int]:
        done = hetlab(*RUN, "--out", tmp_path / name, *more, env=env)
        files = {p.name: p.read_bytes() for p in (tmp_path / name).rglob("*.*") if p.is_file()}
        return files, done.stderr, done.returncode

    first, said, status = run("a")
    assert status == 0 and "are taken" not in said
    second, said, _status = run("b", "--verify", "100")
    assert second == first
    assert f"1 runs are in the store {tmp_path / 'store'}" in said
    assert "1 of the runs that were taken gave the same bytes again" in said

    (entry,) = (p for p in (tmp_path / "store").rglob("*") if p.is_file())
    whole = entry.read_bytes()
    entry.write_bytes(whole[:1000] + b"!" + whole[1001:])
    third, said, status = run("c")
    assert status == 0 and "is damaged, its run is carried out again" in said
    assert third["result.json"] == first["result.json"]
    assert hetlab("cache", "check", env=env).returncode == 0, "and was put there anew"

    replaced = "1 of the runs in"
    assert replaced not in run("c")[1], "the same settings"
    assert replaced in run("c", "--set", "duration_s=4")[1]

    (path,) = (tmp_path / "a").rglob("flows.parquet")
    path.write_bytes(path.read_bytes() + b"!")
    _files, said, status = run("a", "--resume", "--verify", "1")
    assert status == 1 and "other bytes: flows.parquet" in said

    assert hetlab("cache", "size", env=env).stdout.startswith("2 runs, ")
    assert "bulk" in hetlab("cache", "list", env=env).stdout
    assert hetlab("cache", "gc", "--most-gb", "0", env=env).stdout.startswith("2 runs, ")
    assert hetlab("cache", "size", env=env).stdout.startswith("0 runs, ")
