# SPDX-License-Identifier: GPL-2.0
"""One sweep by this machine, two workers of Dask, Slurm and ssh: the same bytes, whatever breaks in between.

Ten scenarios by five congestion controls by CLUSTER_SEEDS seeds (default 1; 10: 500 runs). Needs munge, slurmctld,
slurmd and sshd: make check-cluster.
"""

import getpass
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clusters import Dask, dask, free_port, results, until
from commands import TOP, Done, call, call_hetlab

pytestmark = pytest.mark.cluster
SLURM = TOP / "tests" / "cluster" / "slurm.sh"
SEEDS = int(os.environ.get("CLUSTER_SEEDS", "1"))
SCENARIOS = (
    "access-20",
    "after-idle",
    "app-limited",
    "bulk",
    "geo",
    "geo-clean",
    "lte",
    "requests",
    "starlink",
    "video",
)
CCS = ("reno", "cubic", "bbr", "santacruz", "hybla_ext")
SWEEP = [
    *("run", *SCENARIOS, *(word for cc in CCS for word in ("--cc", cc)), "--seeds", str(SEEDS)),
    *("--set", "duration_s=3", "--set", "sweep={}", "--store", "none", "--out"),
]
RUNS = len(SCENARIOS) * len(CCS) * SEEDS
LONG_S = 60 + 10 * RUNS
# A batch is a job of one worker with one thread, as docs/cluster.md has it for 16
JOBQUEUE = """
jobqueue:
  slurm: {cores: 1, processes: 1, memory: 2GB, walltime: "04:00:00", queue: normal, interface: lo, log-directory: LOGS}
"""
SSH = """
Host one two
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {d}/id
  UserKnownHostsFile {d}/.ssh/known_hosts
"""
SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {d}/host
AuthorizedKeysFile {d}/id.pub
StrictModes no
UsePAM no
PidFile none
"""


def sweep(out: Path, *more: str, **env: str) -> None:
    done = call_hetlab(*SWEEP, out, *more, env=env, timeout=LONG_S)
    assert done.returncode == 0, done.stderr


def begin(out: Path, *more: str, **env: str) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "hetlab", *SWEEP, str(out), *more]
    return subprocess.Popen(words, env=os.environ | env, stderr=subprocess.PIPE)


def end(begun: "subprocess.Popen[bytes]") -> str:
    """What a sweep that was begun said on stderr; it has to succeed."""
    said = begun.communicate(timeout=LONG_S)[1].decode()
    assert begun.returncode == 0, said
    return said


def some_results(out: Path) -> bool:
    """Whether a sweep is under way: a part of its runs is there."""
    return len(list(out.glob("*/*/seed-*/result.json"))) >= RUNS // 10


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Results of this machine."""
    out = tmp_path_factory.mktemp("here")
    sweep(out)
    found = results(out)
    assert sum(name.endswith("/result.json") for name in found) == RUNS
    return found


def same(out: Path, here: dict[str, bytes]) -> None:
    """Compare; not by ==, which would print all bytes."""
    there = results(out)
    assert sorted(there) == sorted(here)
    assert [name for name in here if here[name] != there[name]] == []


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Dask]:
    with dask(tmp_path) as running:
        yield running


def test_two_workers_with_folders_of_their_own(here: dict[str, bytes], scheduler: Dask, tmp_path: Path) -> None:
    sweep(tmp_path / "out", "--cluster", scheduler.address)
    same(tmp_path / "out", here)


def test_a_killed_worker_and_a_restarted_scheduler(here: dict[str, bytes], scheduler: Dask, tmp_path: Path) -> None:
    out = tmp_path / "out"
    begun = begin(out, "--cluster", scheduler.address)
    until(lambda: some_results(out), begun)
    scheduler.workers[0].kill()
    scheduler.restart()
    scheduler.worker("three")
    said = end(begun)
    assert "runs are lost and carried out again" in said
    same(out, here)


@contextmanager
def slurm(directory: Path) -> Iterator[dict[str, str]]:
    """Slurm of this machine; the environment in which it is used."""
    own = directory / "slurm"
    (directory / "dask").mkdir()
    (directory / "dask" / "jobqueue.yaml").write_text(JOBQUEUE.replace("LOGS", str(directory)))
    try:
        begun = call(SLURM, "start", own, str(free_port()), str(free_port()))
        assert begun.returncode == 0, begun.stderr
        yield {"SLURM_CONF": str(own / "slurm.conf"), "DASK_CONFIG": str(directory / "dask")}
    finally:
        call(SLURM, "stop", own)


def in_slurm(env: dict[str, str], *words: str) -> Done:
    done = call(*words, timeout=60, **env)
    assert done.returncode == 0, done.stderr
    return done


def test_slurm_with_a_cancelled_job_and_a_restarted_controller(here: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with slurm(tmp_path) as env:
        begun = begin(out, "--cluster", "slurm:2", **env)
        until(lambda: some_results(out), begun)
        jobs = in_slurm(env, "squeue", "-h", "-o", "%i").stdout.split()
        assert len(jobs) == 2
        in_slurm(env, "scancel", jobs[0])
        assert call(SLURM, "restart", tmp_path / "slurm").returncode == 0
        end(begun)
    same(out, here)


def test_what_slurm_refuses_is_said_at_once(tmp_path: Path) -> None:
    with slurm(tmp_path) as env:
        told = tmp_path / "dask" / "jobqueue.yaml"
        told.write_text(told.read_text().replace("normal", "absent"))
        done = call_hetlab(*SWEEP, tmp_path / "out", "--cluster", "slurm:1", env=env, timeout=60)
    assert done.returncode == 2
    assert "invalid partition specified: absent" in done.stderr
    assert "Traceback" not in done.stderr


def listens(port: int) -> bool:
    """Whether a server of this machine takes connections."""
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[dict[str, str]]:
    """This machine as two hosts, by an sshd of one's own; the environment in which they are known."""
    port = free_port()
    told = {"d": tmp_path, "port": port, "user": getpass.getuser()}
    for name in ("host", "id"):
        assert call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name).returncode == 0
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(SSH.format(**told))
    names = f"one,two,[127.0.0.1]:{port},[one]:{port},[two]:{port}"
    (tmp_path / ".ssh" / "known_hosts").write_text(f"{names} {(tmp_path / 'host.pub').read_text()}")
    (tmp_path / "sshd_config").write_text(SSHD.format(**told))
    # Debian's service makes it at boot, and it is gone with the next one
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    daemon = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", tmp_path / "sshd_config", "-E", tmp_path / "log"])
    until(lambda: listens(port), daemon)
    yield {"HOME": str(tmp_path)}
    daemon.terminate()
    daemon.wait()


def test_ssh(here: dict[str, bytes], ssh: dict[str, str], tmp_path: Path) -> None:
    sweep(tmp_path / "out", "--cluster", "ssh:one,two", **ssh)
    same(tmp_path / "out", here)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted, which needs root")
def test_a_full_disk(here: dict[str, bytes], tmp_path: Path) -> None:
    """The store's: said, nothing lost. That of --out: said, the same command goes on where there is room again."""
    disk, out = tmp_path / "disk", tmp_path / "out"
    disk.mkdir()
    assert call("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk).returncode == 0
    try:
        done = call_hetlab(*SWEEP, out, "--store", disk / "store", timeout=LONG_S)
        assert (done.returncode, done.stderr.count("No space left")) == (0, 1), done.stderr
        same(out, here)
        assert call_hetlab("cache", "check", "--store", disk / "store").returncode == 0
        for path in disk.iterdir():
            assert call("rm", "-r", path).returncode == 0
        done = call_hetlab(*SWEEP, disk / "out", "--store", tmp_path / "store", timeout=LONG_S)
        assert done.returncode == 1
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert call("mount", "-o", "remount,size=1g", disk).returncode == 0
        done = call_hetlab(*SWEEP, disk / "out", "--store", tmp_path / "store", timeout=LONG_S)
        assert done.returncode == 0, done.stderr
        same(disk / "out", here)
    finally:
        call("umount", disk)
