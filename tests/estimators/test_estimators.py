# SPDX-License-Identifier: GPL-2.0
"""The estimators in user space, by every compiler and variant of their Makefile."""

import pytest

from commands import call

pytestmark = pytest.mark.build


def test_estimators() -> None:
    done = call("make", "-C", "tests/estimators", "run_tests")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " 0 failed" in done.stdout
