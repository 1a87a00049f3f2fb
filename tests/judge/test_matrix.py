# SPDX-License-Identifier: GPL-2.0
"""What the page of the coexistence matrix says of its numbers."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hetlab.judge import matrix, scorecard

pytestmark = pytest.mark.fast


def square(net: matrix.Net, column: str, seeds: int) -> matrix.Square:
    return matrix.Square(net, "cubic", column, 3.0, 1.0, 0.2, None, seeds)


@pytest.mark.parametrize(
    ("seeds", "said", "marks"),
    [
        ((2, 2), "60 s, mean of 2 seeds. Large", 0),
        ((1, 1), "60 s, one seed. Large", 0),
        ((2, 1), "60 s, mean of 2 seeds, but one seed in 1 of 2 cells, marked *. Large", 1),
    ],
)
def test_the_matrix_says_of_how_many_seeds_it_is(tmp_path: Path, seeds: Sequence[int], said: str, marks: int) -> None:
    found = [square(matrix.NETS[0], column, n) for column, n in zip(("cubic", "bbr"), seeds, strict=True)]
    page = scorecard.write_matrix(tmp_path / "matrix.html", ["cubic", "bbr"], {}, found).read_text()
    assert said in page and page.count(">150*") == marks
    assert [page.count(f"1 Mbit/s, {words}") for words in ("one seed", "2 seeds")] == [seeds.count(1), seeds.count(2)]
