# SPDX-License-Identifier: GPL-2.0
"""Dask on this machine for tests: a scheduler, and workers that share nothing with this build folder but its venv."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hetlab.paths import BUILD

WAIT_S = 600.0


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


def free_port() -> int:
    """A TCP port of this machine that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@dataclass
class Dask:
    """A scheduler and workers, which are processes."""

    directory: Path
    address: str
    scheduler: "subprocess.Popen[bytes]"
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def worker(self, name: str) -> None:
        """Start a worker; its build folder is the one of that name, or a new one."""
        build = self.directory / name
        env = os.environ | {"HETCC_BUILD": str(build if build.exists() else own_build(build))}
        told = ["--nthreads=1", "--no-dashboard", "--no-nanny", "--name", name]
        told += ["--local-directory", str(self.directory / f"dask-{name}")]
        with open(self.directory / f"{name}.log", "ab") as log:
            words = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, *told]
            self.workers.append(subprocess.Popen(words, env=env, stdout=log, stderr=subprocess.STDOUT))

    def restart(self) -> None:
        """Kill the scheduler; another one takes its address."""
        self.scheduler.kill()
        self.scheduler.wait()
        self.scheduler = _scheduler(self.address)


def _scheduler(address: str) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--host", address]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def dask(directory: Path) -> Iterator[Dask]:
    """A scheduler and two workers with build folders of their own below a directory."""
    address = f"tcp://127.0.0.1:{free_port()}"
    running = Dask(directory, address, _scheduler(address))
    try:
        for name in ("one", "two"):
            running.worker(name)
        yield running
    finally:
        for process in (running.scheduler, *running.workers):
            process.kill()
            process.wait()


def until(happened: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    """Wait for something that is to happen before a process ends."""
    end = time.monotonic() + WAIT_S
    while not happened() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert process.poll() is None, "it ended before that"
    assert happened()


def results(directory: Path) -> dict[str, bytes]:
    """Every file of every run but what is of the clock."""
    found = (path for path in directory.rglob("*.*") if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}
