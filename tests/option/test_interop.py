# SPDX-License-Identifier: GPL-2.0
"""Interoperation of the option: every packet of every case against the contract; the cases are in interop/."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from commands import Done, call_hetlab
from hetlab.build.kernel import OPTION_PATCH
from hetlab.paths import TOP
from option.interop import cases

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.skipif(not OPTION_PATCH.is_file(), reason="this tree has no santacruz_opt.patch"),
]


def run(group: str) -> Done:
    return call_hetlab("exec", "--patched", "--", "python3", TOP / "tests" / "option" / "interop", group)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Done]:
    """One machine for each group."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(cases.GROUPS, pool.map(run, cases.GROUPS), strict=True))


@pytest.mark.parametrize("group", cases.GROUPS)
def test_group(outcomes: dict[str, Done], group: str) -> None:
    done = outcomes[group]
    lines = done.stdout.splitlines()
    faults = [line for line in lines if line.startswith(("not ok", "# fault"))]
    assert done.returncode == 0 and not faults, "\n".join(faults[:60]) + done.stderr
    names = [case.name for case in cases.ALL if case.group == group] + ["nothing in the kernel log"]
    assert [line for line in lines if line.startswith("ok ")] == [f"ok {i} - {n}" for i, n in enumerate(names, 1)]
