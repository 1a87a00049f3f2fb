# SPDX-License-Identifier: GPL-2.0
"""Guest side: carry out one job.

A job is a JSON file; beside it ``NAME.begun`` (empty), then ``NAME.done`` (empty)
or ``NAME.error`` (text) say how it stands.
"""

import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from mininet.log import setLogLevel
from mininet.net import Mininet

from hetlab.emulation.experiment import run_job
from hetlab.emulation.modules import described, set_seed
from hetlab.errors import LabError
from hetlab.model.job import Candidate, Job, from_json

WARM_UP_SEED = 1
TCP_MEMORY = Path("/proc/sys/net/ipv4/tcp_mem")
CONSOLE_LEVEL = Path("/proc/sys/kernel/printk")
PANIC_ON_OOPS = Path("/proc/sys/kernel/panic_on_oops")
# In pages of 4 KB: half of the machine's memory. By default the kernel closes windows from 46 MB on
TCP_MEMORY_PAGES = 131_072


def leave_error(path: Path, error: str) -> None:
    """Write NAME.error atomically: the host polls for it."""
    draft = path.with_suffix(".draft")
    draft.write_text(error)
    draft.rename(path.with_suffix(".error"))


def free_windows() -> None:
    """Raise tcp_mem so that TCP's memory limits no flow."""
    TCP_MEMORY.write_text(" ".join([str(TCP_MEMORY_PAGES)] * 3))


def warm_up() -> None:
    """Make the kernel draw its once-only secrets (hash keys, sequence numbers) from one seed."""
    set_seed(WARM_UP_SEED)
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as server:
            server.bind((host, 0))
            server.listen()
            with socket.create_connection(server.getsockname()[:2]) as client:
                server.accept()[0].close()
                client.close()


def load(job: Job, path: Path) -> None:
    """Load the user's own modules; NAME.where says where their code is, for hetlab.machines.faults.

    A fault of the kernel ends the machine: what comes after one proves nothing. Parameters are given here: many can
    be set at no other time, or are read by module_init() alone.
    """
    where = []
    for candidate in job.candidates:
        _insert(candidate, job.cc_params if candidate == job.candidate else {})
        text = Path("/sys/module") / candidate.module / "sections" / ".text"
        where.append(f"{text.read_text().strip()} {candidate.ko}")
    if where:
        PANIC_ON_OOPS.write_text("1")
        CONSOLE_LEVEL.write_text("7")
        path.with_suffix(".where").write_text("\n".join(where))


def _insert(candidate: Candidate, params: Mapping[str, str]) -> None:
    words = [f"{name}={value}" for name, value in params.items()]
    done = subprocess.run(["insmod", candidate.ko, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        told = [f"{word}: {described(candidate.ko, word.partition('=')[0])}" for word in words]
        raise LabError("\n".join([f"{candidate.module}: cannot be loaded: {done.stderr.strip()}", *told]))


def main() -> None:
    """Entry point: ``python -m hetlab.emulation.agent JOB``."""
    path = Path(sys.argv[1])
    path.with_suffix(".begun").touch()
    setLogLevel("error")
    Mininet.inited = True  # skips fixLimits: it would raise the descriptor limit, see guest/bin/mnexec
    free_windows()
    try:
        job = from_json(path.read_text())
        load(job, path)
        warm_up()
        run_job(job, dismantle=False)
        path.with_suffix(".done").touch()
    except LabError as err:
        leave_error(path, str(err))
    except Exception:
        leave_error(path, traceback.format_exc())


if __name__ == "__main__":
    main()
