# SPDX-License-Identifier: GPL-2.0
"""The option between kernels: a client of one series, a server of another, each in a virtual-time machine of its own.

The cases are in between/: who offers and accepts, IPv4 and IPv6, with and without losses and reordering. Both ends
look at every packet that passes their interface.
"""

import itertools
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hetlab.paths import TOP
from hetlab.ported.kernel import SERIES
from option.between.ends import CASES
from option.between.link import ENDS

pytestmark = pytest.mark.series
GUEST = TOP / "tests" / "option" / "between"
WALL_LIMIT_S = 1200
NAMES = [case.name for case in CASES] + ["nothing in the kernel log"]
Done = subprocess.CompletedProcess[str]


def end(series: str, name: str, cpu: int, folder: Path) -> Done:
    """One of the two, on a CPU of its own where there are two."""
    command = ["taskset", "-c", str(cpu), str(TOP / "tools" / "hetlab"), "exec", "--patched", "--series", series]
    command += [f"--wall-limit={WALL_LIMIT_S}", "--", "python3", str(GUEST), name, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def connect(client: str, server: str, folder: Path) -> list[Done]:
    """What both ends say of all cases."""
    cpus = itertools.cycle(sorted(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(end, (client, server), ENDS, cpus, itertools.repeat(folder)))


def judge(name: str, done: Done) -> None:
    """All cases hold."""
    lines = done.stdout.splitlines()
    faults = [line for line in lines if line.startswith(("not ok", "# fault"))]
    assert done.returncode == 0 and not faults, f"{name}: " + "\n".join(faults[:60]) + done.stderr
    assert [line for line in lines if line.startswith("ok ")] == [f"ok {i} - {n}" for i, n in enumerate(NAMES, 1)]


@pytest.mark.parametrize(("client", "server"), list(itertools.permutations(SERIES, 2)))
def test_all_cases(client: str, server: str, tmp_path: Path) -> None:
    """Of a client and a server."""
    for name, done in zip(ENDS, connect(client, server, tmp_path), strict=True):
        judge(f"{name} of {client} and {server}", done)


def test_repeats(tmp_path: Path) -> None:
    """Every count and time of all cases, whichever machine was the faster; and no charge for waiting for the other."""
    runs = []
    for name in "ab":
        (tmp_path / name).mkdir()
        runs.append([(done.stdout, done.stderr) for done in connect("6.1", "7.2", tmp_path / name)])
    assert runs[0] == runs[1]
