# SPDX-License-Identifier: GPL-2.0
"""Programs of every day in virtual time, unchanged: they end, and their rates are flowgen's."""

import json
import re

import pytest

from commands import TOP, Hetlab
from hetlab.paths import BUILD

pytestmark = pytest.mark.virtual

HERE = TOP / "tests" / "lab"
TCP = ["iperf3", "iperf3 -P 8", "iperf3 -R", "iperf3 -C", "iperf", "netperf", "http.server", "nginx", "scp"]
# Mbit/s of the client's option; iperf 2 reads M as 1024 * 1024
CAPPED = {"iperf3 -b": 5, "iperf3 -u": 5, "iperf -u": 5 * 1.024**2}
RTT_MS = 10 + 2 * 64e-6 / 10 * 1e3


def found(hetlab: Hetlab, program: str) -> dict[str, float]:
    """What programs_guest.py found of a program, and how it said so."""
    done = hetlab("exec", "--wall-limit", "100", "--", "python3", HERE / "programs_guest.py", program, BUILD)
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def reference_mbit(hetlab: Hetlab) -> float:
    """Of flowgen over the same link."""
    return found(hetlab, "flowgen")["mbit"]


@pytest.mark.parametrize("program", TCP)
def test_rate_is_that_of_flowgen(hetlab: Hetlab, reference_mbit: float, program: str) -> None:
    assert 9.6 < reference_mbit < 9.7
    seen = found(hetlab, program)
    own = 0.02 if program == "scp" else 0.01  # ssh's hand-shake and what it adds to each packet count as time
    assert seen["mbit"] == pytest.approx(reference_mbit, rel=own)
    assert seen.get("ms", RTT_MS) == pytest.approx(RTT_MS, rel=0.01), "request and response of netperf"


@pytest.mark.parametrize("program", CAPPED)
def test_rate_is_what_was_asked_for(hetlab: Hetlab, program: str) -> None:
    assert found(hetlab, program)["mbit"] == pytest.approx(CAPPED[program], rel=0.01)


def test_flood_ping_waits_for_the_answer(hetlab: Hetlab) -> None:
    """In the first second of a machine's life iputils' takes the clock for one that it has not read."""
    seen = found(hetlab, "ping -f")
    assert seen["lost_percent"] == 0
    assert seen["ms"] == pytest.approx(10.13, rel=0.01)
    assert 9 < seen["seconds"] < 11


def test_coursework_runs_unmodified(hetlab: Hetlab) -> None:
    """net.iperf(), iperf3, ping and tc by hand in plain Mininet; which program polls is reported."""
    done = hetlab("exec", "--wall-limit", "200", "--", "python3", HERE / "coursework.py")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    for name in ("tcp", "eight", "reverse", "reno"):
        assert seen[name] == pytest.approx(9.55, rel=0.01), name
    assert seen["iperf"] == pytest.approx([9.55, 9.55], rel=0.01)
    assert seen["iperf_udp"] == pytest.approx([5.25, 5.25], rel=0.01)
    assert (seen["udp"], seen["paced"]) == pytest.approx((5, 5), rel=0.01)
    assert (seen["lost"], seen["ping_ms"], seen["slower_ms"]) == pytest.approx((0, 10, 30), abs=0.1)
    assert re.search(r"hetlab: iperf3 polled: \d+ calls moved virtual time on by 0\.\d+ s", done.stderr)


def test_names_are_asked_of_nobody(hetlab: Hetlab) -> None:
    """Not of the servers that the host happens to have: it would take seconds, and another number elsewhere."""
    script = (
        "import socket, time\nbegun = time.time()\ntry:\n    socket.getaddrinfo('a.invalid', 80)\nexcept OSError:\n"
    )
    done = hetlab("exec", "--", "python3", "-c", f"{script}    print(time.time() - begun < 0.1)")
    assert done.stdout == "True\n", done.stderr


POLLER = "import time\nend = time.monotonic() + 0.05\nwhile time.monotonic() < end:\n    pass\n"


def test_a_program_that_polls_ends_under_strace(hetlab: Hetlab) -> None:
    """Each of its calls stops it twice for strace, which is no sleep."""
    traced = ("strace", "-f", "-o", "/dev/null", "python3", "-c", POLLER)
    done = hetlab("exec", "--wall-limit", "60", "--", *traced)
    assert done.returncode == 0, done.stderr
    assert re.search(r"hetlab: python3 polled: \d+ calls moved virtual time on by 0\.050 s", done.stderr)
