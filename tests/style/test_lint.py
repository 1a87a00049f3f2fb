# SPDX-License-Identifier: GPL-2.0
"""The static checks of tools/ci/lint.sh."""

import pytest

from commands import call

pytestmark = pytest.mark.fast

FAST = ("fnlen", "shellcheck", "ruff", "imports", "mypy")
BUILD = ("checkpatch", "sparse", "bpf")  # need the kernel's sources and headers, clang


def checked(name: str) -> None:
    done = call("tools/ci/lint.sh", name)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.parametrize("check", FAST)
def test_style(check: str) -> None:
    checked(check)


@pytest.mark.build
@pytest.mark.parametrize("check", BUILD)
def test_style_of_kernel_code(check: str) -> None:
    checked(check)


def test_every_check_is_a_test() -> None:
    listed = call("tools/ci/lint.sh", "--list").stdout.split()
    assert sorted(listed) == sorted(FAST + BUILD)
