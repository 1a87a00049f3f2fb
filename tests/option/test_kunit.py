# SPDX-License-Identifier: GPL-2.0
"""The patch's KUnit suite, which runs when the patched kernel boots."""

import pytest

from commands import Hetlab

pytestmark = pytest.mark.virtual


def test_option_kunit(hetlab: Hetlab) -> None:
    done = hetlab("exec", "--patched", "--", "dmesg", "--notime")
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert "# tcp_santacruz_opt: pass:8 fail:0 skip:0 total:8" in lines
    assert "ok 1 tcp_santacruz_opt" in lines
    assert not [line for line in lines if line.startswith("not ok")]
