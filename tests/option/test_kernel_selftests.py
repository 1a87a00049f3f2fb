# SPDX-License-Identifier: GPL-2.0
"""The kernel's own selftests for TCP: the patch takes none of them away, with its sysctl at 0 or 2."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from hetlab.build.kernel import OPTION_PATCH
from hetlab.paths import TOP

pytestmark = pytest.mark.virtual
KERNEL = TOP / "tests" / "option" / "kernel_selftests"
RUN = KERNEL / "run.sh"
POINT = re.compile(r"^(ok|not ok) \d+ - (\S+)(?: # (SKIP))?$")
# Points of the selftests' own TAP, by number: their texts have times and process numbers in them
SUBTEST = re.compile(r"^# ((?:not )?ok \d+)\b(?:.*(# (?:SKIP|XFAIL)))?")
VARIANTS: dict[str, list[str]] = {"unpatched": []} | (
    {"0": ["--patched", "--mode", "0"], "2": ["--patched", "--mode", "2"]} if OPTION_PATCH.is_file() else {}
)
Outcomes = dict[str, "Outcome"]


@dataclass
class Outcome:
    """What a selftest said."""

    result: str
    points: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)


def lines(name: str) -> list[list[str]]:
    """Words of a list in kernel_selftests, without comments."""
    text = (KERNEL / name).read_text()
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


EXPECTED = {name: expect for _directory, name, _limit, _poll, expect, *_command in lines("selftests.list")}


def parse(tap: str) -> Outcomes:
    """Outcomes by name, in the order they were run in."""
    found: Outcomes = {}
    current = None
    for line in tap.splitlines():
        if point := POINT.match(line):
            result = "skip" if point[3] else "pass" if point[1] == "ok" else "fail"
            current = found[point[2]] = Outcome(result)
        elif current:
            current.output.append(line)
            if subtest := SUBTEST.match(line):
                current.points.append(subtest[1] + (subtest[2] or ""))
    return found


def run(variant: str) -> Outcomes:
    done = subprocess.run([RUN, *VARIANTS[variant]], capture_output=True, text=True, timeout=600, check=False)
    found = parse(done.stdout)
    assert f"1..{len(found)}" in done.stdout.splitlines(), done.stdout[-3000:] + done.stderr
    return found


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcomes]:
    """All selftests, one machine per kernel and mode."""
    subprocess.run([RUN, "--build"], check=True)
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(VARIANTS, pool.map(run, VARIANTS), strict=True))


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("variant", VARIANTS)
def test_selftest(outcomes: dict[str, Outcomes], variant: str, name: str) -> None:
    before, now = outcomes["unpatched"][name], outcomes[variant][name]
    assert now.result == EXPECTED[name], "\n".join(now.output[-60:])
    assert now.points == before.points


def test_nothing_is_left_out(outcomes: dict[str, Outcomes]) -> None:
    """What is listed ran, and each selftest of the kernel for TCP is listed: as one that runs or as one that cannot."""
    for found in outcomes.values():
        assert list(found) == list(EXPECTED)
    assert sum(expect == "pass" for expect in EXPECTED.values()) >= 20
    unrunnable = {name for name, *_reason in lines("unrunnable.list")}
    assert all(len(words) > 3 for words in lines("unrunnable.list"))
    assert not unrunnable & set(EXPECTED)


def test_help_and_wrong_usage() -> None:
    assert "usage:" in subprocess.run([RUN, "--help"], capture_output=True, text=True, check=True).stdout
    assert subprocess.run([RUN, "--nonsense"], capture_output=True, check=False).returncode != 0
