# SPDX-License-Identifier: GPL-2.0
"""The kernel's own selftests for TCP, run and read: without the patch, with its sysctl at 0 and at 2."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from hetlab.paths import TOP

KERNEL = TOP / "tests" / "option" / "kernel_selftests"
RUN = KERNEL / "run.sh"
POINT = re.compile(r"^(ok|not ok) \d+ - (\S+)(?: # (SKIP))?$")
# Points of the selftests' own TAP, by number: their texts have times and process numbers in them
SUBTEST = re.compile(r"^# ((?:not )?ok \d+)\b(?:.*(# (?:SKIP|XFAIL)))?")
VARIANTS = {"unpatched": [], "0": ["--patched", "--mode", "0"], "2": ["--patched", "--mode", "2"]}
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


def run_all(*variants: str) -> dict[str, Outcomes]:
    """All selftests, one machine per kernel and mode."""
    subprocess.run([RUN, "--build"], check=True)
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(variants, pool.map(run, variants), strict=True))


def check(outcomes: dict[str, Outcomes], variant: str, name: str) -> None:
    """It ends as expected, and each of its points as without the patch."""
    before, now = outcomes["unpatched"][name], outcomes[variant][name]
    assert now.result == EXPECTED[name], "\n".join(now.output[-60:])
    assert now.points == before.points
