# SPDX-License-Identifier: GPL-2.0
"""The kernel's own selftests for TCP: the patch takes none of them away; make check-upstream."""

import subprocess

import pytest

from hetlab.build.kernel import OPTION_PATCH
from option.selftests import EXPECTED, RUN, Outcomes, check, lines, run_all

pytestmark = pytest.mark.series
VARIANTS = ("unpatched", "0", "2") if OPTION_PATCH.is_file() else ("unpatched",)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcomes]:
    return run_all(*VARIANTS)


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("variant", VARIANTS)
def test_selftest(outcomes: dict[str, Outcomes], variant: str, name: str) -> None:
    check(outcomes, variant, name)


def test_nothing_is_left_out(outcomes: dict[str, Outcomes]) -> None:
    """What is listed ran, and each selftest of the kernel for TCP is listed: as one that runs or as one that cannot."""
    for found in outcomes.values():
        assert list(found) == list(EXPECTED)
    assert sum(expect == "pass" for expect in EXPECTED.values()) >= 20
    unrunnable = {name for name, *_reason in lines("unrunnable.list")}
    assert all(len(words) > 3 for words in lines("unrunnable.list"))
    assert not unrunnable & set(EXPECTED)


@pytest.mark.build
def test_help_and_wrong_usage() -> None:
    assert "usage:" in subprocess.run([RUN, "--help"], capture_output=True, text=True, check=True).stdout
    assert subprocess.run([RUN, "--nonsense"], capture_output=True, check=False).returncode != 0
