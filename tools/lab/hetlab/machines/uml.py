# SPDX-License-Identifier: GPL-2.0
"""Start and stop virtual-time machines.

A machine is one process tree pinned to one CPU: its threads alternate
all the time, and switching between CPUs makes a run five times as slow.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hetlab.build.packed import LIBRARIES, PROGRAMS, manifest
from hetlab.errors import LabError
from hetlab.paths import BIN, GUEST, LAB, TRACES, VENV

# Guests start here: 2025-01-01, so that no result depends on the day
EPOCH_NS = 1_735_689_600 * 10**9
# A pack's programs come last: what the host has, it knows how to run
SYSTEM_PATH = f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin{f':{PROGRAMS}' if manifest() else ''}"
# Of a pack's programs
LOADER = {"LD_LIBRARY_PATH": str(LIBRARIES)} if manifest() else {}
MEMORY = "1G"
BOOT_SEED = 1


@dataclass
class Machine:
    """A running machine."""

    proc: "subprocess.Popen[bytes]"
    job: Path
    log: Path
    started: float

    def status(self) -> int | None:
        """Exit status of the job, None if the machine ended without one."""
        try:
            return int(self.job.with_name(self.job.name + ".status").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def polled(self) -> list[str]:
        """A line for each program that waited by asking again and again; known when the machine has ended."""
        try:
            lines = self.job.with_name(self.job.name + ".polls").read_text().splitlines()
        except FileNotFoundError:
            return []
        found = (line.split(" ", 2) for line in lines)
        return [
            f"{name} polled: {calls} calls moved virtual time on by {int(ns) / 1e9:.3f} s" for calls, ns, name in found
        ]

    def kill(self) -> None:
        """End the machine and all its threads."""
        if self.proc.poll() is None:
            os.killpg(self.proc.pid, signal.SIGKILL)
        self.proc.wait()

    def console_tail(self, lines: int = 8) -> str:
        """Last lines of the machine's console."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def boot(
    executable: Path,
    modules: Path,
    script: str,
    directory: Path,
    cpu: int | None,
    load: Sequence[str] | None = None,
) -> Machine:
    """Boot a machine that runs a shell script and stops; ``load``: names of the modules that it loads, if not all."""
    job = directory / "job.sh"
    exports = "\n".join(f"export {k}={shlex.quote(v)}" for k, v in _environment(modules).items())
    job.write_text(f"{exports}\n{script}\n")
    args = [
        *([] if cpu is None else ["taskset", "-c", str(cpu)]),
        str(executable),
        f"mem={MEMORY}",
        "root=none",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
        f"init={BIN}/hetinit",
        "time-travel=inf-cpu",
        f"time-travel-start={EPOCH_NS}",
        f"random.lab_seed={BOOT_SEED}",
        f"uml_dir={directory}/uml/",
        "con=null",
        "con0=null,fd:1",
        "quiet",
        "loglevel=3",
        f"PATH={SYSTEM_PATH}",
        *(f"{name}={value}" for name, value in LOADER.items()),
        f"HETLAB_JOB={job}",
        f"HETLAB_MODULES={modules}",
        *([] if load is None else [f"HETLAB_LOAD={','.join(load)}"]),
    ]
    for arg in args:
        if " " in arg:
            raise LabError(f"{arg}: a path with a space cannot be given to the kernel")
    log = directory / "console.log"
    with open(log, "wb") as out:
        proc = subprocess.Popen(
            args,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={"PATH": SYSTEM_PATH, "TMPDIR": "/dev/shm"},
        )
    return Machine(proc, job, log, time.monotonic())


def _environment(modules: Path) -> dict[str, str]:
    """Variables of what runs in a machine."""
    return {
        "PATH": f"{GUEST}/bin:{BIN}:{VENV}/bin:{SYSTEM_PATH}",
        "HETLAB_BIN": str(BIN),
        "HETLAB_MODULES": str(modules),
        "HETLAB_TRACES": str(TRACES),
        "PYTHONPATH": str(LAB),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        # Mininet imports distutils; that of setuptools, the only one since Python 3.12, takes half a second here
        "SETUPTOOLS_USE_DISTUTILS": "stdlib" if sys.version_info < (3, 12) else "local",
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "TERM": os.environ.get("TERM", "dumb"),
        **LOADER,
    }


def cpus() -> list[int]:
    """CPUs that machines may be pinned to."""
    return sorted(os.sched_getaffinity(0))
