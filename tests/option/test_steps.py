# SPDX-License-Identifier: GPL-2.0
"""Instructions are counted, not estimated: the same again, and next to nothing more where the option is off."""

import importlib
from typing import Any

import pytest
from rich.console import Console

from hetlab.build import programs
from hetlab.build.kernel import OPTION_PATCH

option_steps: Any = importlib.import_module("option_steps")

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.skipif(not OPTION_PATCH.is_file(), reason="this tree has no santacruz_opt.patch"),
]


def counted(variant: str) -> dict[str, float]:
    """A few packets in the middle of a transfer."""
    console, (_, mode) = Console(stderr=True), option_steps.VARIANTS[variant]
    option_steps.build_counter()
    programs.tools(console)
    case = option_steps.Case("transfer", option_steps.transfer(mode).command, 1000, 30)
    return option_steps.measure(console, variant, case)


def test_counts_repeat_and_off_costs_next_to_nothing() -> None:
    unpatched, off, used = counted("unpatched"), counted("off"), counted("in use")
    assert counted("off") == off
    assert unpatched["tcp_v4_rcv"] > 50
    assert 0 < sum(off.values()) / sum(unpatched.values()) - 1 < 0.005
    assert not any(name.startswith("tcp_sc") for name in (*unpatched, *off))
    assert used["tcp_sc_rcv"] > 10


def many_runs(variant: str) -> dict[str, float]:
    """A receiver with 500 runs of one byte: its work does not grow with more of them."""
    case = option_steps.runs(option_steps.VARIANTS[variant][1], 500)
    return option_steps.measure(Console(stderr=True), variant, case)


def test_many_runs_cost_a_receiver_little() -> None:
    """4500 instructions are 1.5 us at one a cycle and 3 GHz; a run too short for a bit costs no division."""
    more = sum(many_runs("in use").values()) - sum(many_runs("unpatched").values())
    assert 1000 < more < 4500


def test_too_few_packets_are_an_error() -> None:
    case = option_steps.Case("transfer", option_steps.transfer("-").command, 1_000_000, 1)
    with pytest.raises(option_steps.LabError, match="ended too early"):
        option_steps.measure(Console(stderr=True), "unpatched", case)
