# SPDX-License-Identifier: GPL-2.0
"""Arguments of hetlab run: congestion controls, parameters, seeds."""

import pytest

from hetlab.errors import LabError
from hetlab.model import jobs
from hetlab.results import store

pytestmark = pytest.mark.fast


def test_cc_with_parameters() -> None:
    v = jobs.parse_cc("santacruz:n_op=1.5,delta=0.5")
    assert v.cc == "santacruz"
    assert v.params == {"n_op": "1.5", "delta": "0.5"}
    assert store.label(v.cc, v.params) == "santacruz:delta=0.5,n_op=1.5"


@pytest.mark.parametrize("bad", ["", "Reno", "a b", "x" * 16, "reno:", "reno:x", "reno:x=", "reno:=1", "reno:a=1 2"])
def test_bad_cc(bad: str) -> None:
    if bad == "reno:":
        assert jobs.parse_cc(bad).params == {}
        return
    with pytest.raises(LabError, match="--cc"):
        jobs.parse_cc(bad)


def test_seeds() -> None:
    assert jobs.parse_seeds([], 3) == [1, 2, 3]
    assert jobs.parse_seeds([7], None) == [7]
    assert jobs.parse_seeds([], None) is None


@pytest.mark.parametrize(("seed", "seeds"), [([1], 2), ([-1], None), ([2**32], None), ([], 0), ([], 10_001)])
def test_bad_seeds(seed: list[int], seeds: int | None) -> None:
    with pytest.raises(LabError, match="--seed"):
        jobs.parse_seeds(seed, seeds)
