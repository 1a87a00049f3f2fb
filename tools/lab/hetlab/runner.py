# SPDX-License-Identifier: GPL-2.0
"""Carry out jobs: several virtual-time machines side by side, or this host.

Both runners take the same jobs and leave the same files. A machine takes job
after job; one that dies or overruns its wall-clock limit costs its current job
and is replaced.
"""

import json
import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hetlab import uml
from hetlab.errors import LabError
from hetlab.paths import BIN, VENV

POLL_S = 0.05
# One second of scenario costs far less than this on any link we have
WALL_PER_VIRTUAL_S = 10.0
WALL_FLOOR_S = 300.0

Outcome = Callable[[dict[str, Any], str | None, float], None]


def wall_limit_s(job: dict[str, Any]) -> float:
    """After this much real time a job counts as hung."""
    return max(WALL_FLOOR_S, WALL_PER_VIRTUAL_S * float(job["scenario"]["duration_s"]))


class VirtualRunner:
    """Jobs in virtual-time machines that share a queue directory."""

    def __init__(self, executable: Path, modules: Path, machines: int | None = None) -> None:
        self.executable = executable
        self.modules = modules
        self.cpus = uml.cpus()[: machines or None]

    def run(self, jobs: list[dict[str, Any]], outcome: Outcome) -> None:
        """Run all jobs; ``outcome(job, error or None, wall seconds)`` is called for each as it ends."""
        queue = uml.scratch("queue-")
        pending = {}
        for i, job in enumerate(jobs):
            path = queue / f"{i:05d}.json"
            path.write_text(json.dumps(job))
            pending[path] = job
        team = [_Worker(self, queue, n, cpu) for n, cpu in enumerate(self.cpus[: len(jobs)])]
        try:
            while pending:
                for path in list(pending):
                    error, wall_s = _state(path)
                    if wall_s is not None:
                        outcome(pending.pop(path), error, wall_s)
                for worker in team:
                    worker.watch(pending)
                time.sleep(POLL_S)
        finally:
            for worker in team:
                worker.machine.kill()


def _state(path: Path) -> tuple[str | None, float | None]:
    """How a job stands: (error, wall seconds), wall None while it is not over."""
    done, error = path.with_suffix(".done"), path.with_suffix(".error")
    over = done if done.exists() else error if error.exists() else None
    if over is None:
        return None, None
    claim = path.with_suffix(".claim")
    begun = min((p.stat().st_mtime for p in claim.iterdir()), default=over.stat().st_mtime)
    text = error.read_text() if over is error else None
    return text, max(over.stat().st_mtime - begun, 0.0)


class _Worker:
    """One machine, replaced when it dies while jobs are left."""

    def __init__(self, runner: VirtualRunner, queue: Path, number: int, cpu: int) -> None:
        self.runner, self.queue, self.number, self.cpu = runner, queue, number, cpu
        self.generation = 0
        self.machine = self._boot()

    @property
    def name(self) -> str:
        return f"{self.number}.{self.generation}"

    def _boot(self) -> uml.Machine:
        script = f"exec {shlex.quote(str(VENV))}/bin/python -m hetlab.agent {shlex.quote(str(self.queue))} {self.name}"
        directory = self.queue / f"machine-{self.name}"
        directory.mkdir()
        return uml.boot(self.runner.executable, self.runner.modules, script, directory, self.cpu)

    def _current(self, pending: dict[Path, dict[str, Any]]) -> Path | None:
        for path in pending:
            if (path.with_suffix(".claim") / self.name).exists() and _state(path)[1] is None:
                return path
        return None

    def watch(self, pending: dict[Path, dict[str, Any]]) -> None:
        """Notice a dead or hung machine, blame its job, start another."""
        job = self._current(pending)
        dead = self.machine.proc.poll() is not None
        if job is not None and dead:
            self._blame(job, f"the machine ended during this run:\n{self.machine.console_tail()}")
        elif job is not None:
            begun = (job.with_suffix(".claim") / self.name).stat().st_mtime
            limit = wall_limit_s(pending[job])
            if time.time() - begun < limit:
                return
            self.machine.kill()
            self._blame(job, f"no end after {limit:.0f} s of real time: stopped (a busy loop holds virtual time still)")
        elif not dead:
            return
        left = [p for p in pending if not p.with_suffix(".claim").exists()]
        if not left:
            return
        if job is None and self.machine.status() != 0:
            raise LabError(f"a virtual-time machine does not start:\n{self.machine.console_tail(20)}")
        self.generation += 1
        self.machine = self._boot()

    @staticmethod
    def _blame(job: Path, text: str) -> None:
        if not job.with_suffix(".done").exists():
            job.with_suffix(".error").write_text(text)


class HostRunner:
    """Jobs one after the other in namespaces of this machine, in real time."""

    def __init__(self) -> None:
        if os.geteuid() != 0:
            raise LabError("--on host needs root (network namespaces, queueing disciplines)")
        os.environ["HETLAB_BIN"] = str(BIN)

    def run(self, jobs: list[dict[str, Any]], outcome: Outcome) -> None:
        """As VirtualRunner.run."""
        from mininet.log import setLogLevel  # Mininet is a system package: absent where only UML is used

        from hetlab.experiment import run_job

        setLogLevel("error")
        for job in jobs:
            begun = time.monotonic()
            try:
                run_job(job)
                error = None
            except LabError as err:
                error = str(err)
            outcome(job, error, time.monotonic() - begun)
