# SPDX-License-Identifier: GPL-2.0
"""hetlab exec: one command in a virtual-time machine, its output as it comes."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from hetlab import paths
from hetlab.machines import faults, uml
from hetlab.machines.variables import exports

POLL_S = 0.02
STOPPED = 124
LOST = 125
TOLD_LINES = 20


def script(command: list[str], directory: Path, variables: dict[str, str], load: Sequence[str] = ()) -> str:
    """Shell script that runs the command where the caller stands, streams apart; ``load``: arguments of insmod."""
    out, errors = directory / "stdout", directory / "stderr"
    return exports(variables) + "\n".join(
        [
            # ping -f takes a clock below 1 s for one that it has not read, and sends everything at once
            "sleep 1",
            *(f"insmod {words} 2>>{shlex.quote(str(errors))} || exit 1" for words in load),
            f"cd {shlex.quote(os.getcwd())} || exit 1",
            f"{shlex.join(command)} >{shlex.quote(str(out))} 2>{shlex.quote(str(errors))} </dev/null",
        ]
    )


class Stream:
    """Follows a file that the machine writes and copies it to one of our streams."""

    def __init__(self, path: Path, to: IO[bytes]) -> None:
        path.touch()
        self.source = open(path, "rb")  # noqa: SIM115 - closed in close()
        self.to = to

    def copy(self) -> None:
        """Pass on what is new."""
        data = self.source.read()
        if data:
            self.to.write(data)
            self.to.flush()

    def close(self) -> None:
        """Pass on the rest."""
        self.copy()
        self.source.close()


def execute(
    executable: Path,
    modules: Path,
    command: list[str],
    wall_limit_s: float,
    out: IO[bytes] | None = None,
    variables: dict[str, str] | None = None,
    load: Sequence[str] = (),
    lost: Callable[[str], object] | None = None,
) -> int:
    """Run a command; its exit status, or 124 after the limit, or 125 if the machine was lost.

    Its output goes to ``out`` or, without, to our own. ``variables``: in its environment besides uml.boot's. ``load``:
    modules with their parameters, as insmod takes them. ``lost``: what is told the console of a machine that was
    stopped or lost; without, the user is told.
    """
    directory = paths.scratch("exec-")
    streams = [Stream(directory / "stdout", out or sys.stdout.buffer), Stream(directory / "stderr", sys.stderr.buffer)]
    machine = uml.boot(executable, modules, script(command, directory, variables or {}, load), directory, uml.cpus()[0])
    status: int | None = None
    try:
        while machine.proc.poll() is None and time.monotonic() - machine.started < wall_limit_s:
            for stream in streams:
                stream.copy()
            time.sleep(POLL_S)
        stopped = machine.proc.poll() is None
        machine.kill()
        status = machine.status()
        for stream in streams:
            stream.close()
        if status is None and lost:
            lost(machine.console_tail(400))
            return STOPPED if stopped else LOST
        if status is None:
            return _explain(machine, stopped, command, wall_limit_s)
        for line in machine.polled():
            print(f"hetlab: {line}", file=sys.stderr)
        return status
    finally:
        machine.kill()
        if status is not None:
            shutil.rmtree(directory, ignore_errors=True)


def _explain(machine: uml.Machine, stopped: bool, command: list[str], wall_limit_s: float) -> int:
    if stopped:
        print(
            f"hetlab: {command[0]} was stopped after {wall_limit_s:g} s of real time. Virtual time stands still\n"
            "while a program computes: a loop without system calls never sees it move. --wall-limit gives more.",
            file=sys.stderr,
        )
        return STOPPED
    said = faults.last_words(machine.console_tail(400), TOLD_LINES)
    print(f"hetlab: the machine ended before the command did:\n{said}", file=sys.stderr)
    return LOST
