# SPDX-License-Identifier: GPL-2.0
"""The module selftests (TAP) inside the virtual-time kernel."""

import pytest

from commands import Hetlab
from hetlab.paths import BIN, TOP

pytestmark = pytest.mark.virtual
SELFTESTS = TOP / "tests" / "modules" / "selftests"
NAMES = sorted(p.name for p in SELFTESTS.iterdir() if p.stat().st_mode & 0o100)


def test_traffic_tools(hetlab: Hetlab) -> None:
    done = hetlab("exec", "--", TOP / "tools" / "flowgen" / "flowgen_test.sh", BIN)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert ", 0 failed" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", NAMES)
def test_selftest(hetlab: Hetlab, name: str) -> None:
    done = hetlab("exec", "--", SELFTESTS / name)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("not ok", "#"))]
    assert done.returncode == 0 and not failed, "\n".join(failed) + done.stderr
    assert "# SKIP" not in done.stdout
    count = sum(line.startswith("ok ") for line in done.stdout.splitlines())
    assert f"1..{count}" in done.stdout.splitlines()
    assert count >= 5
