# SPDX-License-Identifier: GPL-2.0
"""hetlab table: statistics over the seeds, and the files that other programs and papers take."""

import csv
import io
import re
import statistics
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hetlab.cli import export
from hetlab.errors import LabError
from hetlab.results import points
from hetlab.results.columns import COLUMNS
from hetlab.results.intervals import over_seeds, student_t
from lab.test_report import change, resolved, write_run

pytestmark = pytest.mark.fast

MBIT = {1: 1.1, 2: 1.2, 3: 1.6}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two points of a sweep, three seeds of reno with and without a parameter, one seed of santacruz."""
    out = tmp_path_factory.mktemp("results")
    for delay in (10, 5):
        sc = resolved() | {"name": f"b[link.l_1.delay_ms={delay},aqm=fq]"}
        for seed, mbit in MBIT.items():
            write_run(out, sc, "reno", seed=seed, mbit=mbit)
        change(write_run(out, sc, "santacruz", {"n_op": "4"}), owd_ms=None)
    return out


def test_student_t() -> None:
    """Table of the 97.5 % quantile, as in any textbook."""
    known = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 19: 2.093, 29: 2.045, 99: 1.984, 9999: 1.960}
    assert {n: round(student_t(n), 3) for n in known} == known


def test_statistics() -> None:
    found = over_seeds([1, 2, 3, 10])
    assert found and (found.n, found.mean, found.median) == (4, 4, 2.5)
    half = 3.182446 * statistics.stdev([1, 2, 3, 10]) / 2
    assert found.half == pytest.approx(half, rel=1e-6)
    assert (found.low, found.high) == pytest.approx((4 - half, 4 + half), rel=1e-6)
    one = over_seeds([7])
    assert one and (one.n, one.mean, one.median, one.half, one.low, one.high) == (1, 7, 7, None, None, None)
    assert over_seeds([]) is None


def test_names_of_points() -> None:
    assert points.split("a@v") == ("a@v", {})
    name = "a@v[link.x.y=1,b+c=[1, 2],d-e=w]"
    assert points.split(name) == ("a@v", {"link.x.y": "1", "b+c": "[1, 2]", "d-e": "w"})
    names = ["b", "a[x=10]", "a[x=word]", "a[x=5]", "a[x=1e-05]", "a[x=-2.5]", "a"]
    ordered = ["a", "a[x=-2.5]", "a[x=1e-05]", "a[x=5]", "a[x=10]", "a[x=word]", "b"]
    assert sorted(names, key=points.order) == ordered


def test_keys_of_columns() -> None:
    keys = [column.key for column in COLUMNS.values()]
    assert keys[:4] == ["goodput_mbit", "share_percent", "retrans_pkts", "timeouts"]
    assert len(set(keys)) == len(keys) and all(re.fullmatch("[a-z0-9_]+", key) for key in keys)


def written(results: Path, kind: str, *names: str, each: bool = False, suffix: str = "") -> str:
    output = results / f"table{suffix}.{kind}"
    export.write(results, kind, each, names, output)
    return output.read_text()


def test_csv(results: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(written(results, "csv"))))
    assert [(row["link.l_1.delay_ms"], row["aqm"], row["cc"], row["cc_params"], row["seeds"]) for row in rows] == [
        (delay, "fq", *rest) for delay in ("5", "10") for rest in (("santacruz", "n_op=4", "1"), ("reno", "", "3"))
    ]
    reno, found = rows[1], over_seeds(list(MBIT.values()))
    assert reno["scenario"] == "b[link.l_1.delay_ms=5,aqm=fq]"
    assert found and found.low and found.high
    numbers = [float(reno[f"goodput_mbit_{part}"]) for part in ("mean", "median", "ci95_low", "ci95_high")]
    assert numbers == pytest.approx([1.3, 1.2, found.low, found.high])
    for column in COLUMNS.values():
        assert {f"{column.key}_{part}" for part in ("mean", "median", "ci95_low", "ci95_high")} <= reno.keys()
    santacruz = rows[0]
    assert (santacruz["goodput_mbit_mean"], santacruz["goodput_mbit_ci95_low"]) == ("1.4", ""), "one seed: no interval"
    assert santacruz["delay_p95_ms_mean"] == "", "not measured"


def test_csv_of_each_run(results: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(written(results, "csv", "goodput", each=True, suffix="-each"))))
    assert [(row["cc"], row["seed"], row["goodput_mbit"]) for row in rows[:4]] == [
        ("santacruz", "1", "1.4"),
        *(("reno", str(seed), str(mbit)) for seed, mbit in MBIT.items()),
    ]
    assert len(rows) == 8 and "share_percent" not in rows[0]


def test_parquet(results: Path) -> None:
    export.write(results, "parquet", False, [], results / "table.parquet")
    table = pq.read_table(results / "table.parquet")
    assert table["link.l_1.delay_ms"].to_pylist() == [5.0, 5.0, 10.0, 10.0]
    assert table["aqm"].to_pylist() == ["fq"] * 4
    assert table["goodput_mbit_mean"].to_pylist() == pytest.approx([1.4, 1.3, 1.4, 1.3])
    assert table["goodput_mbit_ci95_low"].to_pylist()[0] is None
    rows = list(csv.DictReader(io.StringIO(written(results, "csv"))))
    assert table.column_names == list(rows[0])


@pytest.mark.parametrize("width", ["80", "300"])
def test_a_column_that_is_asked_for_is_there(
    results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    """Without a value, too, and where the terminal is narrow; unasked such a column is left out."""
    monkeypatch.setenv("COLUMNS", width)
    export.write(results, "", False, ["completion p95", "stalled", "goodput", "wall"], None)
    text = capsys.readouterr().out
    assert all(word in text for word in ("completion", "stalled", "goodput", "wall"))
    export.write(results, "", False, [], None)
    assert "completion" not in capsys.readouterr().out


def test_markdown_and_latex(results: Path) -> None:
    lines = written(results, "markdown", "goodput", "delay_p95_ms").splitlines()
    heads = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert heads == ["scenario", "cc", "seeds", "goodput (Mbit/s)", "delay p95 (ms)"]
    cells = [cell.strip() for cell in lines[3].strip("|").split("|")]
    assert cells == ["b[link.l_1.delay_ms=5,aqm=fq]", "reno", "3", "1.300 ± 0.657 (1.200)", "60.5 ± 0 (60.5)"]
    latex = written(results, "latex", "goodput")
    assert r"b[link.l\_1.delay\_ms=5,aqm=fq]" in latex and r"santacruz:n\_op=4" in latex
    assert r"1.300 $\pm$ 0.657 (1.200)" in latex and r"\toprule" in latex and latex.isascii()


def test_runs_of_one_name_that_differ_stay_apart(tmp_path: Path) -> None:
    write_run(tmp_path / "a", resolved(), "reno", mbit=1)
    change(write_run(tmp_path / "b", resolved(), "reno", mbit=2), hashes={"modules": "other"})
    rows = list(csv.DictReader(io.StringIO(written(tmp_path, "csv"))))
    assert [(row["scenario"], row["seeds"], row["goodput_mbit_mean"]) for row in rows] == [
        ("santacruz-basic", "1", "1"),
        ("santacruz-basic (2)", "1", "2"),
    ]


def test_the_terminal_has_the_columns_that_are_asked_for(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export.write(results, "", False, ["Jain", "goodput"], None)
    text = capsys.readouterr().out
    assert "b[link.l_1.delay_ms=5,aqm=fq]" in text and "1.300 ±0.657" in text and "delay p95" not in text
    assert text.index("Jain") < text.index("goodput")


def test_mistakes_are_named(results: Path, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="needs --output"):
        export.write(results, "parquet", False, [], None)
    with pytest.raises(LabError, match="--output needs --csv"):
        export.write(results, "", False, [], tmp_path / "x")
    with pytest.raises(LabError, match=r"--column speed: no such column; there are: goodput, .*Jain"):
        export.write(results, "csv", False, ["speed"], None)
    with pytest.raises(LabError, match="no runs"):
        export.write(tmp_path, "csv", False, [], None)
    with pytest.raises(LabError, match="no such directory"):
        export.write(tmp_path / "none", "csv", False, [], None)
    with pytest.raises(LabError, match=r"--output .*/none/x: No such file"):
        export.write(results, "csv", False, [], tmp_path / "none" / "x")
