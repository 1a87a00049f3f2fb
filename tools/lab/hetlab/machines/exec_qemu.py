# SPDX-License-Identifier: GPL-2.0
"""hetlab exec --on vm: one command in an emulated machine, on a copy of the source tree."""

import os
import shlex
import shutil
import sys
import time
from pathlib import Path

from hetlab import paths
from hetlab.errors import LabError
from hetlab.machines import qemu, qemu_files
from hetlab.machines.variables import exports
from hetlab.paths import BUILD, TOP

POLL_S = 0.1
STOPPED = 124
LOST = 125
STREAMS = ("stdout", "stderr")
MEMORY_MB = {False: 1024, True: 2048}


def execute(
    vm: qemu_files.VmKernel,
    clock: qemu.Clock,
    command: list[str],
    wall_limit_s: float,
    libraries: Path | None,
    variables: dict[str, str],
) -> int:
    """Run a command; its exit status, or 124 after the limit, or 125 if the machine was lost.

    Its output comes when it has ended. ``libraries`` are qemu_files.environment's, if
    the command needs Python libraries; ``variables``: in its environment besides qemu.boot's.
    """
    directory = paths.scratch("exec-")
    machine = qemu.boot(
        vm,
        script(command, variables),
        directory,
        files=tree(),
        archives=[libraries] if libraries else [],
        cpus=qemu.cpus_for(vm, clock),
        memory_mb=MEMORY_MB[libraries is not None],
        clock=clock,
    )
    try:
        while machine.proc.poll() is None and time.monotonic() - machine.started < wall_limit_s:
            time.sleep(POLL_S)
        stopped = machine.proc.poll() is None
    finally:
        machine.kill()
    status = machine.status()
    if status is None:
        print(_lost(machine, stopped, command, wall_limit_s), file=sys.stderr)
        return STOPPED if stopped else LOST
    for name, to in zip(STREAMS, (sys.stdout.buffer, sys.stderr.buffer), strict=True):
        to.write((directory / "out" / name).read_bytes())
        to.flush()
    shutil.rmtree(directory)
    return status


def script(command: list[str], variables: dict[str, str]) -> str:
    """Shell script that runs the command where the caller stands, streams apart."""
    here = Path(os.getcwd())
    if not here.is_relative_to(TOP):
        raise LabError(f"exec --on vm takes {TOP} along and nothing else: call it from there")
    out, errors = (f"{qemu.OUT}/{name}" for name in STREAMS)
    place = shlex.quote(str(qemu_files.GUEST_TOP / here.relative_to(TOP)))
    return f"{exports(variables)}cd {place} || exit 1\n{shlex.join(command)} >{out} 2>{errors} </dev/null"


def tree() -> dict[str, Path]:
    """The source tree, at its place in the guest."""
    return {str(qemu_files.GUEST_TOP / p.name): p for p in TOP.iterdir() if p.name != ".git" and p.resolve() != BUILD}


def _lost(machine: qemu.Machine, stopped: bool, command: list[str], wall_limit_s: float) -> str:
    if stopped:
        return f"hetlab: {command[0]} was stopped after {wall_limit_s:g} s of real time (--wall-limit)"
    return f"hetlab: the machine ended before the command did:\n{machine.console_tail(20)}"
