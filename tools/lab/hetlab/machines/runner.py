# SPDX-License-Identifier: GPL-2.0
"""Carry out jobs: several virtual-time or emulated machines side by side, this host, or two others.

All runners take the same jobs and leave the same files. A machine that dies or
overruns its wall-clock limit costs its own job and no other.
"""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from hetlab import paths
from hetlab.errors import LabError
from hetlab.machines import faults, qemu, qemu_files, standstill, uml
from hetlab.model.job import Job
from hetlab.model.scenario import Experiment
from hetlab.model.traces import SUFFIX
from hetlab.paths import BIN, VENV

POLL_S = 0.05
# One second of scenario costs far less than this on any link we have
WALL_PER_VIRTUAL_S = 10.0
WALL_FLOOR_S = 300.0
# Booting and running an emulated machine costs several times as much
VM_WALL_FACTOR = 4.0

Outcome = Callable[[Job, str | None, float], None]


def wall_limit_s(job: Job) -> float:
    """Real time (s) after which a job counts as hung."""
    return max(WALL_FLOOR_S, WALL_PER_VIRTUAL_S * job.scenario.duration_s)


class Runner(Protocol):
    """Carries out jobs."""

    def run(self, jobs: list[Job], outcome: Outcome) -> None:
        """Run all jobs; ``outcome(job, error or None, wall seconds)`` is called for each as it ends."""


class SideBySide:
    """Each job in a machine of its own, one per CPU, so that no run can influence another; ``on``: CPUs to use."""

    def __init__(self, machines: int | None = None, on: list[int] | None = None) -> None:
        self.cpus = on or uml.cpus()[: machines or None]

    def start(self, job: Job, directory: Path, cpu: int) -> "JobInMachine":
        """Start a machine for a job."""
        raise NotImplementedError

    def run(self, jobs: list[Job], outcome: Outcome) -> None:
        """See Runner or SideBySide."""
        queue = paths.scratch("queue-")
        waiting = list(enumerate(jobs))
        running: dict[int, JobInMachine] = {}
        try:
            while waiting or running:
                over = [cpu for cpu, current in running.items() if current.over()]
                ended = [running.pop(cpu) for cpu in over]
                for current in ended:
                    current.machine.kill()
                for cpu in self.cpus:
                    if cpu not in running and waiting:
                        number, job = waiting.pop(0)
                        directory = queue / f"{number:05d}"
                        directory.mkdir()
                        running[cpu] = self.start(job, directory, cpu)
                for current in ended:  # with the next ones under way
                    outcome(current.job, current.error, current.wall_s)
                if not ended:
                    time.sleep(POLL_S)
        finally:
            for current in running.values():
                current.machine.kill()


class JobInMachine:
    """A job and its machine; agent.py says by which files they communicate."""

    def __init__(self, job: Job, path: Path, machine: uml.Machine, limit_s: float) -> None:
        self.job = job
        self.path = path
        self.machine = machine
        self.limit_s = limit_s
        self.error: str | None = None
        self.wall_s = 0.0
        self.watch: standstill.Watch | None = None

    def over(self) -> bool:
        """Whether the run has ended, with success or not; LabError if the machine does not start at all."""
        dead = self.machine.proc.poll() is not None  # before the files: a machine may end in between
        begun, done, error = (self.path.with_suffix(f".{s}") for s in ("begun", "done", "error"))
        if dead:
            self.machine.status()
        if done.exists() or error.exists():
            end = done if done.exists() else error
            self.error = error.read_text() if end is error else None
            self.wall_s = max(end.stat().st_mtime - begun.stat().st_mtime, 0.0)
        elif dead and not begun.exists():
            raise LabError(f"a virtual-time machine does not start:\n{self.machine.console_tail(20)}")
        elif dead:
            self.error = faults.explain(self.machine.console_tail(400), self.path.with_suffix(".where"))
        elif self.watch and self.watch.stands_still():
            seen = standstill.instructions(self.machine.proc.pid)
            self.error = faults.endless(seen, self.watch.kernel, self.path.with_suffix(".where"))
        elif time.monotonic() - self.machine.started > self.limit_s:
            limit = f"no end after {self.limit_s:.0f} s of real time"
            self.error = f"{limit}: stopped (a busy loop holds virtual time still)"
        else:
            return False
        return True


class VirtualRunner(SideBySide):
    """Virtual-time machines: User-Mode Linux."""

    def __init__(
        self, executable: Path, modules: Path, machines: int | None = None, on: list[int] | None = None
    ) -> None:
        super().__init__(machines, on)
        self.executable = executable
        self.modules = modules

    def start(self, job: Job, directory: Path, cpu: int) -> JobInMachine:
        """See Runner or SideBySide."""
        path = directory / "job.json"
        path.write_text(job.as_json())
        script = f"exec {shlex.quote(str(VENV))}/bin/python -m hetlab.emulation.agent {shlex.quote(str(path))}"
        machine = uml.boot(self.executable, self.modules, script, directory, cpu, job.modules)
        running = JobInMachine(job, path, machine, wall_limit_s(job))
        running.watch = standstill.Watch(machine.proc.pid, self.executable, programs=bool(job.candidates))
        return running


class VmRunner(SideBySide):
    """Emulated machines: QEMU. Its files come back when a machine has ended."""

    def __init__(self, vm: qemu_files.VmKernel, clock: qemu.Clock = "icount", machines: int | None = None) -> None:
        super().__init__(machines)
        self.vm = vm
        self.clock = clock

    def run(self, jobs: list[Job], outcome: Outcome) -> None:
        """See Runner; warns where Debian's kernels behave differently from the lab's."""
        for name in dict.fromkeys(job.name for job in jobs if _has_red(job.scenario)):
            print(f"hetlab: {name}: RED of {self.vm.release} lacks the lab's patch, see docs/vm.md", file=sys.stderr)
        super().run(jobs, outcome)

    def start(self, job: Job, directory: Path, cpu: int) -> JobInMachine:
        """See Runner or SideBySide."""
        path = directory / "job.json"
        path.write_text(replace(job, dir=f"{qemu.OUT}/raw", emulated=True).as_json())
        script = f"exec python3 -m hetlab.emulation.agent {qemu.OUT}/job.json"
        machine = qemu.boot(
            self.vm,
            script,
            directory,
            files={f"{qemu.OUT}/job.json": path} | _traces(job),
            cpus=qemu.cpus_for(self.vm, self.clock),
            clock=self.clock,
            cpu=cpu if self.clock == "icount" else None,
        )
        return JobInVm(job, directory / "out" / "job.json", machine, VM_WALL_FACTOR * wall_limit_s(job))


def _traces(job: Job) -> dict[str, Path]:
    """Compiled traces of a job by their paths in the guest."""
    names = {f"{played.hash}{SUFFIX}" for played in job.scenario.traces.values()}
    return {f"{qemu_files.GUEST_TOP}/build/traces/{name}": paths.TRACES / name for name in sorted(names)}


def _has_red(experiment: Experiment) -> bool:
    return any(way.aqm == "red" for link in experiment.links.values() for way in (link.forward, link.back))


class JobInVm(JobInMachine):
    """A job and its emulated machine."""

    def over(self) -> bool:
        """See JobInMachine."""
        if self.machine.proc.poll() is not None and self.machine.status() is None:
            self.error = f"the machine ended during this run:\n{self.machine.console_tail()}"
            return True
        if not super().over():
            return False
        self.wall_s = time.monotonic() - self.machine.started
        raw = self.path.with_name("raw")
        if raw.is_dir():
            shutil.move(raw, self.job.dir)
        return True


class HostRunner:
    """Jobs one after the other in namespaces of this machine, in real time."""

    def __init__(self) -> None:
        if os.geteuid() != 0:
            raise LabError("--on host needs root (network namespaces, queueing disciplines)")
        os.environ["HETLAB_BIN"] = str(BIN)
        os.environ["HETLAB_TRACES"] = str(paths.TRACES)

    def run(self, jobs: list[Job], outcome: Outcome) -> None:
        """See Runner or SideBySide."""
        from mininet.log import setLogLevel  # Mininet is a system package: absent where only UML is used

        from hetlab.emulation.experiment import run_job

        setLogLevel("error")
        for job in jobs:
            begun = time.monotonic()
            try:
                run_job(job)
                error = None
            except LabError as err:
                error = str(err)
            outcome(job, error, time.monotonic() - begun)
