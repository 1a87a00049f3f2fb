# SPDX-License-Identifier: GPL-2.0
"""What the claims and figures of several papers share: runs, goodput, rows of the tables."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from hetlab.claims import evaluate, evidence
from hetlab.claims.evidence import Evidence, Need, plain_keys
from hetlab.model.result import FlowResult, known

WITHOUT_SACK = " without SACK"
# One that santacruz's source of the forward delay does not matter to
claim = partial(evaluate.claim, option=False)


def point(scenario: str, cc: str, swept: Mapping[str, Any]) -> Need:
    """A run at a point of a sweep; a congestion control WITHOUT_SACK runs where SACK is off."""
    if cc.endswith(WITHOUT_SACK):
        scenario, cc = f"{scenario}@nosack", cc.removesuffix(WITHOUT_SACK)
    return evidence.point(scenario, cc, swept)


def need(scenario: str, cc: str, **swept: float | str | bool) -> Need:
    """A run; ``a__b=1`` is the point a.b=1 of the sweep."""
    return point(scenario, cc, plain_keys(swept))


def tcp(e: Evidence, run: Need, name: str = "main") -> list[FlowResult]:
    """Results of the flows of one name, without their numbers."""
    return [flow for flow in e[run].flows if flow.name.rstrip("0123456789") == name]


def goodput(e: Evidence, run: Need, name: str = "main", key: str = "goodput_mbit") -> float:
    """Mean over the connections, in Mbit/s of payload."""
    return float(np.mean([known(getattr(flow, key)) for flow in tcp(e, run, name)]))


def row(values: "dict[Any, float] | list[float]", places: int = 2) -> str:
    """For the table: values, with what they belong to if it is given."""
    if isinstance(values, dict):
        return ", ".join(f"{key}: {value:.{places}f}" for key, value in values.items())
    return " ".join(f"{value:.{places}f}" for value in values)
