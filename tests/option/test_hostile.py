# SPDX-License-Identifier: GPL-2.0
"""A hostile peer; what it does is in tests/README. With KASAN and UBSAN: make check-hostile."""

import json
import subprocess
import sys

import pytest

from hetlab.build.kernel import OPTION_PATCH
from hetlab.paths import TOP

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.skipif(not OPTION_PATCH.is_file(), reason="this tree has no santacruz_opt.patch"),
]
FUZZ = TOP / "tests" / "option" / "fuzz"
# The kernel with the checkers takes as long to build as the two others together
CAMPAIGN = [sys.executable, str(FUZZ / "campaign.py"), "--plain"]
PACKETS = 600_000
CHUNK = 100_000
COUNTERS = ["TCPSCEstab", "TCPSCMalformed", "TCPSCIgnored", "TCPSCSpurious", "TCPSCStripped"]
REACHED = ["TCPTimeouts", "TCPSackRecovery", "TCPLossUndo", "TCPFullUndo", "TCPOFOQueue", "TCPBacklogCoalesce"]


def test_hostile_peer() -> None:
    """No report, no stall, nothing leaked, nothing wrong sent; the packets got where they were to get."""
    command = [*CAMPAIGN, f"--packets={PACKETS}", f"--chunk={CHUNK}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2400)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    *chunks, total = [json.loads(line) for line in done.stdout.splitlines()]
    assert total["packets"] >= PACKETS and len(chunks) == PACKETS // CHUNK
    assert {(c["ip"], c["role"]) for c in chunks} == {(ip, role) for ip in (4, 6) for role in ("send", "recv", "both")}
    for chunk in chunks:
        assert chunk["ok"] and chunk["transfer"] and not chunk["kernel_faults"]
        assert chunk["probes"] > chunk["batches"] / 2
        assert all(chunk["counters"].get(name, 0) > 0 for name in COUNTERS), chunk["counters"]
    assert all(total["counters"].get(name, 0) > 0 for name in REACHED), total["counters"]
    assert total["negotiated"] > total["connections"] * 0.8
    assert total["lively"] > total["with_options"] * 0.2
    assert total["backlogs"] > 0


def test_same_seed_same_run() -> None:
    """A failure can be repeated: all counters are those of the first run."""
    command = [*CAMPAIGN, "--packets=40000", "--chunk=20000", "--seed=7"]
    runs = []
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr[-4000:]
        runs.append([json.loads(line) | {"wall_s": 0, "per_s": 0} for line in done.stdout.splitlines()])
    assert runs[0] == runs[1]


def test_wrong_arguments() -> None:
    subprocess.run(["make", "-s", "-C", str(FUZZ)], check=True)
    for wrong in (["--ip=5"], ["--role=x"], ["--count=0"], ["stray"]):
        done = subprocess.run([TOP / "build" / "bin" / "scfuzz", *wrong], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "--help" in done.stderr
