# SPDX-License-Identifier: GPL-2.0
"""hetlab kernel: builds once."""

import pytest

from commands import Hetlab

pytestmark = pytest.mark.virtual


def test_kernel_is_not_built_twice(hetlab: Hetlab) -> None:
    done = hetlab("kernel")
    assert done.returncode == 0, done.stderr
    assert "building" not in done.stdout + done.stderr
