# SPDX-License-Identifier: GPL-2.0
"""The same with the patch and its sysctl at 0, where test_unchanged.py compares each packet; make check-upstream."""

import pytest

from hetlab.build.kernel import OPTION_PATCH
from option.selftests import EXPECTED, Outcomes, check, run_all

pytestmark = [
    pytest.mark.series,
    pytest.mark.skipif(not OPTION_PATCH.is_file(), reason="this tree has no santacruz_opt.patch"),
]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcomes]:
    return run_all("unpatched", "0")


@pytest.mark.parametrize("name", EXPECTED)
def test_selftest(outcomes: dict[str, Outcomes], name: str) -> None:
    check(outcomes, "0", name)
