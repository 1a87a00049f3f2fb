# SPDX-License-Identifier: GPL-2.0
"""Carry out jobs: several virtual-time machines side by side, or this host.

Both runners take the same jobs and leave the same files. A machine that dies or
overruns its wall-clock limit costs its own job and no other.
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
    """Each job in a virtual-time machine of its own, one a CPU: what a run measures cannot depend on another."""

    def __init__(self, executable: Path, modules: Path, machines: int | None = None) -> None:
        self.executable = executable
        self.modules = modules
        self.cpus = uml.cpus()[: machines or None]

    def run(self, jobs: list[dict[str, Any]], outcome: Outcome) -> None:
        """Run all jobs; ``outcome(job, error or None, wall seconds)`` is called for each as it ends."""
        queue = uml.scratch("queue-")
        waiting = list(enumerate(jobs))
        at_work: dict[int, _Seat] = {}
        try:
            while waiting or at_work:
                for cpu in self.cpus:
                    if cpu not in at_work and waiting:
                        number, job = waiting.pop(0)
                        at_work[cpu] = _Seat(self, job, queue / f"{number:05d}", cpu)
                for cpu, seat in list(at_work.items()):
                    if seat.over():
                        seat.machine.kill()
                        outcome(seat.job, seat.error, seat.wall_s)
                        del at_work[cpu]
                time.sleep(POLL_S)
        finally:
            for seat in at_work.values():
                seat.machine.kill()


class _Seat:
    """A job and its machine. See agent.py for the files through which they speak."""

    def __init__(self, runner: VirtualRunner, job: dict[str, Any], directory: Path, cpu: int) -> None:
        directory.mkdir()
        self.job = job
        self.path = directory / "job.json"
        self.path.write_text(json.dumps(job))
        script = f"exec {shlex.quote(str(VENV))}/bin/python -m hetlab.agent {shlex.quote(str(self.path))}"
        self.machine = uml.boot(runner.executable, runner.modules, script, directory, cpu)
        self.limit_s = wall_limit_s(job)
        self.error: str | None = None
        self.wall_s = 0.0

    def over(self) -> bool:
        """Whether the run is over, well or not; LabError if the machine does not start at all."""
        dead = self.machine.proc.poll() is not None  # before the files: a machine may end in between
        begun, done, error = (self.path.with_suffix(f".{s}") for s in ("begun", "done", "error"))
        if done.exists() or error.exists():
            end = done if done.exists() else error
            self.error = error.read_text() if end is error else None
            self.wall_s = max(end.stat().st_mtime - begun.stat().st_mtime, 0.0)
        elif dead and not begun.exists():
            raise LabError(f"a virtual-time machine does not start:\n{self.machine.console_tail(20)}")
        elif dead:
            self.error = f"the machine ended during this run:\n{self.machine.console_tail()}"
        elif time.monotonic() - self.machine.started > self.limit_s:
            limit = f"no end after {self.limit_s:.0f} s of real time"
            self.error = f"{limit}: stopped (a busy loop holds virtual time still)"
        else:
            return False
        return True


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
