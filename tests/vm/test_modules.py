# SPDX-License-Identifier: GPL-2.0
"""The module selftests (TAP) and iperf3 in Debian's own kernels."""

import json
import re
import subprocess
from collections.abc import Callable

import pytest

from hetlab.paths import TOP

SELFTESTS = TOP / "tests" / "selftests"
NAMES = sorted(p.name for p in SELFTESTS.iterdir() if p.stat().st_mode & 0o100)
CCS = ["santacruz", "westwood_fr", "westwood_gfr", "hybla_ext"]
SECTION = re.compile(r"^begin (\S+)\n(.*?)^end \1 (\d+)$", re.M | re.S)
Sections = dict[str, tuple[str, int]]


@pytest.fixture(scope="module", params=["6.12", "6.1"])
def said(request: pytest.FixtureRequest, hetlab: Callable[..., "subprocess.CompletedProcess[str]"]) -> Sections:
    """What each program said, and its exit status: all in one machine."""
    where = ["--on", "vm", "--kernel", request.param, "--wall-limit", 3000]
    done = hetlab("exec", *map(str, where), "--", TOP / "tests" / "vm" / "guest.sh", timeout=3600)
    assert done.returncode == 0, done.stderr
    return {name: (text, int(status)) for name, text, status in SECTION.findall(done.stdout)}


@pytest.mark.parametrize("name", NAMES)
def test_selftest(said: Sections, name: str) -> None:
    text, status = said[name]
    failed = [line for line in text.splitlines() if line.startswith(("not ok", "#"))]
    assert status == 0 and not failed, "\n".join(failed)
    count = sum(line.startswith("ok ") for line in text.splitlines())
    assert f"1..{count}" in text.splitlines()
    assert count >= 5


def test_iperf3(said: Sections) -> None:
    text, status = said["iperf3"]
    assert status == 0, text
    runs = [json.loads(part) for part in re.findall(r"^\{.*?^\}$", text, re.M | re.S)]
    assert [run["end"]["sender_tcp_congestion"] for run in runs] == CCS
    for run in runs:
        assert 8e6 < run["end"]["sum_received"]["bits_per_second"] < 10e6
