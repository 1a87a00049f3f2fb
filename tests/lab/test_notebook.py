# SPDX-License-Identifier: GPL-2.0
"""docs/notebooks/results.ipynb: its code cells run in order, on results made up here and on those of a real run."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from hetlab.paths import TOP
from lab.test_report import resolved, write_run

pytestmark = pytest.mark.fast
NOTEBOOK = json.loads((TOP / "docs" / "notebooks" / "results.ipynb").read_text())


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    plt.close("all")


def executed(directory: Path, monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures that the code cells draw, run one after the other as a notebook does."""
    monkeypatch.setenv("HETLAB_RESULTS", str(directory))
    names: dict[str, Any] = {}
    for cell in NOTEBOOK["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    return [plt.figure(number) for number in plt.get_fignums()]


def widths(figure: Figure) -> list[float]:
    """Lengths of horizontal bars."""
    return [bar.get_width() for bar in figure.axes[0].patches if isinstance(bar, Rectangle)]


def test_format() -> None:
    """What nbformat 4.5 asks for; without outputs, which would differ with each user."""
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in NOTEBOOK["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in NOTEBOOK["cells"]:
        assert cell.keys() >= {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_cells_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for seed, mbit in ((1, 1.1), (2, 1.3)):
        write_run(tmp_path, resolved(), "reno", seed=seed, mbit=mbit)
    write_run(tmp_path, resolved(), "santacruz", {"n_op": "4"}, mbit=1.4)
    bars, series, delay = executed(tmp_path, monkeypatch)
    assert "santacruz:n_op=4     seed 1: 1.400 Mbit/s" in capsys.readouterr().out
    assert widths(bars) == pytest.approx([1.2, 1.4])
    assert [len(ax.lines) for ax in series.axes] == [2, 2]
    assert [np.asarray(line.get_ydata())[-1] for line in delay.axes[0].lines] == [1, 1]


@pytest.mark.virtual
def test_on_a_real_run(
    run_json: Callable[..., list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = run_json("bulk", "--cc", "reno", "--set", "duration_s=4", "--out", tmp_path)
    bars, _series, delay = executed(tmp_path, monkeypatch)
    assert widths(bars) == pytest.approx([found["flows"][0]["goodput_mbit"]])
    delays = np.asarray(delay.axes[0].lines[0].get_xdata())
    assert np.quantile(delays, [0.5, 0.99]) == pytest.approx([found["owd_ms"]["p50"], found["owd_ms"]["p99"]], rel=0.01)
