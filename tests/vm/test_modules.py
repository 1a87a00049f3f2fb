# SPDX-License-Identifier: GPL-2.0
"""The module selftests (TAP) and iperf3 in Debian's own kernels."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import call_hetlab
from hetlab.machines.qemu_files import SERIES
from hetlab.model import congestion
from hetlab.paths import TOP

SELFTESTS = TOP / "tests" / "selftests"
NAMES = sorted(p.name for p in SELFTESTS.iterdir() if p.stat().st_mode & 0o100)
CCS = list(congestion.ours())
SECTION = re.compile(r"^begin (\S+)\n(.*?)^end \1 (\d+)$", re.M | re.S)
# Whether one of few reductions is undone is chance; in virtual time, where this is demanded, it is the seed's
RANDOM = re.compile(r"^not ok \d+ - \w+: reordering was seen")
Sections = dict[str, tuple[str, int]]


def run(series: str) -> Sections:
    """All programs in one machine."""
    where = ("--on", "vm", "--kernel", series, "--wall-limit", "5400")
    done = call_hetlab("exec", *where, "--", "tests/vm/guest.sh", cwd=TOP, timeout=6000)
    assert done.returncode == 0, done.stderr
    return {name: (text, int(status)) for name, text, status in SECTION.findall(done.stdout)}


@pytest.fixture(scope="module")
def said() -> dict[str, Sections]:
    """What each program said, and its exit status, by kernel; both at the same time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(SERIES, pool.map(run, SERIES), strict=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("series", SERIES)
def test_selftest(said: dict[str, Sections], series: str, name: str) -> None:
    text, status = said[series][name]
    failed = [line for line in text.splitlines() if line.startswith(("not ok", "#"))]
    assert all(RANDOM.search(line) for line in failed), "\n".join(failed)
    assert status == bool(failed)
    count = sum(line.startswith("ok ") for line in text.splitlines())
    assert f"1..{count}" in text.splitlines()
    assert count >= 5


@pytest.mark.parametrize("series", SERIES)
def test_iperf3(said: dict[str, Sections], series: str) -> None:
    text, status = said[series]["iperf3"]
    assert status == 0, text
    runs = [json.loads(part) for part in re.findall(r"^\{.*?^\}$", text, re.M | re.S)]
    assert [run["end"]["sender_tcp_congestion"] for run in runs] == CCS
    for run in runs:
        assert 8e6 < run["end"]["sum_received"]["bits_per_second"] < 10e6
