# SPDX-License-Identifier: GPL-2.0
"""Runs in virtual time and on Debian's kernels agree; the documented table is of the same runs."""

import re
import subprocess
import sys

import pytest

from hetlab.paths import TOP

pytestmark = pytest.mark.vm

SCRIPT = TOP / "tools" / "bench" / "vm_agreement.py"
NAME = re.compile(r"^\| (\S+ \S+) \| virtual time", re.M)


def test_agreement() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    documented = NAME.findall((TOP / "docs" / "vm.md").read_text())
    assert NAME.findall(done.stdout) == documented
    assert len(documented) >= 6
