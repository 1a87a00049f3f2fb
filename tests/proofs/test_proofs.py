# SPDX-License-Identifier: GPL-2.0
"""No input makes the arithmetic of the headers overflow: proofs, and faults that they refuse."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from commands import TOP, call

pytestmark = pytest.mark.build

HEADERS = TOP / "include/hetcc"


def prove(*args: str) -> tuple[int, str]:
    done = call(sys.executable, "tools/ci/prove.py", *args)
    return done.returncode, done.stdout + done.stderr


def test_every_header_is_proved() -> None:
    """Each proof has a bound (prove.py --cpu); the sum is the machine's."""
    status, text = prove()
    assert status == 0, text[-4000:]
    assert re.search(r"# [1-9]\d* passed, 0 failed", text), text[-200:]
    assert text.count(": all functions, no wrap") == len(list((TOP / "tests/proofs").glob("*.c"))), text[-4000:]


# What a hand may get wrong: header, as it is, as it would be, the check that must say so
FAULTS = [
    ("fixed", "(u64)a * b", "(u64)(a * b)", "overflow on unsigned *"),
    ("fixed", "return c ? fixed_sat_u32", "return c + 1 ? fixed_sat_u32", "division by zero"),
    ("fixed", ">= 15)", ">= 99)", "shift distance too large"),
    ("queue_pkts", "mag * 1000 * QUEUE_PKTS_ONE", "(u32)mag * 1000 * QUEUE_PKTS_ONE", "overflow on unsigned *"),
    ("queue_pkts", "n = min_t(u64, n, QUEUE_PKTS_MAX);", "", "overflow on unsigned to signed type conversion"),
    ("bdp", ">> 8) *", ">> 6) *", "overflow on unsigned *"),
    (
        "forward_level",
        "FORWARD_LEVEL_NOISE_MAX_US	((u32)1 << 22)",
        "FORWARD_LEVEL_NOISE_MAX_US	((u32)1 << 24)",
        "spread",
    ),
    ("loss_delay", "e->lost = min_t(u32, e->lost + pkts, LOSS_DELAY_PKTS_MAX);", "e->lost += pkts;", "is_state(&e)"),
    ("cubic_law", "(u64)w_max * 750000000U", "(u64)(w_max * 750000000U)", "overflow on unsigned *"),
    ("santacruz_paper", "(s64)e->sum_us + e->d_us", "e->sum_us + e->d_us", "overflow on signed +"),
    ("santacruz_law", "(u64)taken * a->pkts_ns", "(u64)(taken * a->pkts_ns)", "overflow on unsigned *"),
    ("santacruz_law", "sent > pkts ? sent - pkts : 0", "sent - pkts", "overflow on unsigned -"),
]


@pytest.mark.parametrize(("header", "right", "wrong", "complaint"), FAULTS)
def test_fault_is_refused(header: str, right: str, wrong: str, complaint: str, tmp_path: Path) -> None:
    shutil.copytree(HEADERS, tmp_path / "hetcc")
    path = tmp_path / "hetcc" / f"{header}.h"
    text = path.read_text()
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong))
    status, said = prove(header, "--include", str(tmp_path))
    assert status == 1
    assert any(complaint in line for line in said.splitlines() if line.startswith("# ")), said[-2000:]


def test_wrap_that_nobody_means_is_refused(tmp_path: Path) -> None:
    """A line "wraps:" excuses that expression in that function alone."""
    shutil.copytree(HEADERS, tmp_path / "hetcc")
    path = tmp_path / "hetcc/forward_level.h"
    path.write_text(path.read_text().replace("e->level_us -= min(e->level_us, us);", "e->level_us -= us;"))
    status, said = prove("forward_level", "--include", str(tmp_path), "--proof", "raise_base")
    assert status == 1 and "overflow on unsigned -" in said, said[-2000:]


def test_wrap_that_cannot_be_is_refused(tmp_path: Path) -> None:
    shutil.copytree(HEADERS, tmp_path / "hetcc")
    path = tmp_path / "hetcc/forward_level.h"
    path.write_text(path.read_text().replace("e->base_us += us;", "e->base_us = us;"))
    status, said = prove("forward_level", "--include", str(tmp_path))
    assert status == 1 and "never wraps: forward_level_raise_base: e->base_us + us" in said, said[-2000:]


def is_plain(header: Path) -> bool:
    """Does it do without sockets and modules?"""
    taken = set(re.findall(r"^#include <(.*)\.h>", header.read_text(), re.MULTILINE))
    return taken <= {f"linux/{name}" for name in ("bitops", "kernel", "math", "math64", "minmax", "types")}


def test_every_plain_header_has_proofs() -> None:
    proved = {path.stem for path in Path(__file__).parent.glob("*.c")}
    plain = {path.stem for path in HEADERS.glob("*.h") if is_plain(path) and "static inline" in path.read_text()}
    assert plain == proved
