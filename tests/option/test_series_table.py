# SPDX-License-Identifier: GPL-2.0
"""What the table of three kernels is made of: points of TAP, and what is said of those that do not hold."""

import importlib
from typing import Any

import pytest

option_series: Any = importlib.import_module("option_series")

pytestmark = pytest.mark.fast
TEXT = """ok 1 - both ends
# note: 3 s
not ok 2 - GRO
# fault: 5 s, with SACK 2 s
# fault: timeouts
ok 3 - TCP-AO # SKIP Linux 6.1 has no TCP-AO
ok 4 - nothing in the kernel log
1..4
"""


def test_points_are_counted_and_reasons_kept() -> None:
    row = option_series.points("offload", TEXT)
    assert row == {
        "id": "offload",
        "held": 2,
        "points": 4,
        "failed": {"GRO": "5 s, with SACK 2 s"},
        "lacking": {"TCP-AO": "Linux 6.1 has no TCP-AO"},
    }


def test_tap_without_its_end_is_an_error() -> None:
    with pytest.raises(SystemExit, match="ended too early"):
        option_series.points("offload", TEXT.replace("1..4", ""))


def test_what_does_not_hold_is_told() -> None:
    row = {"series": "6.1", "part": "interop", **option_series.points("offload", TEXT)}
    assert option_series.told(row).splitlines() == [
        "6.1 offload: GRO: 5 s, with SACK 2 s",
        "6.1 offload: TCP-AO: Linux 6.1 has no TCP-AO",
    ]
    claim = {"series": "7.2", "part": "claims", "id": "a", "verdict": "holds", "ours": {}}
    assert option_series.told(claim) == ""
    assert option_series.told(claim | {"verdict": "FAILS"}) == "7.2 a: FAILS: {}"


def test_groups_are_those_of_the_matrix() -> None:
    found = {path.stem for path in option_series.INTEROP.glob("*.py") if f'group="{path.stem}"' in path.read_text()}
    assert found == set(option_series.GROUPS)
