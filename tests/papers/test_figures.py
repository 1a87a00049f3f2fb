# SPDX-License-Identifier: GPL-2.0
"""Figures and tables of the papers, from runs that are made up."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from PIL import Image

from harness import Result, run_of
from hetlab.claims.evidence import Evidence, RunKey, plan
from hetlab.errors import LabError
from hetlab.figures import outputs
from hetlab.model import jobs
from hetlab.model.job import Job
from hetlab.plots import style
from hetlab.plots.papers import Curve, Stack, Stage, paper_figure, save_small, stacks_figure
from hetlab.results import store
from papers.faster_recovery import figures as fr
from papers.hybla import claims as hybla_claims
from papers.hybla import figures as hybla
from papers.hybla import ideal
from papers.hybla.runs import SACK
from papers.santacruz import figures as santacruz

pytestmark = pytest.mark.fast

MAX_BYTES = 60_000
T = np.linspace(0, 10, 101)
WAVE = 18 + np.sin(T)


def table(directory: Path, name: str, **columns: Any) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), directory / f"{name}.parquet")


def _other(job: Job) -> str:
    """Name of the flows beside those under test."""
    return "wired" if job.name.startswith("hybla-fair") else "other"


def invented(job: Job) -> Result:
    """A result: 1 Mbit/s of goodput, 60 ms."""
    delay = {"mean": 60.0, "variance": 4.0, "min": 47.0}
    return {
        "flows": [{"name": "main", "goodput_mbit": 1.0, "steady_goodput_mbit": 1.0} for _ in range(2)]
        + [{"name": _other(job), "goodput_mbit": 2.0, "steady_goodput_mbit": 2.0}],
        "owd_ms": delay,
        "delivery_ms": delay,
        "queue": {"link": "bottleneck.forward", "drops": 3},
    }


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """All runs; series for those of seed 1."""
    found = Evidence(tmp_path_factory.mktemp("runs"))
    for job in plan(outputs.needs(outputs.select()), found):
        found.add(run_of(job, invented(job)))
        if job.seed == 1:
            directory = store.run_dir(found.out, job)
            table(directory, "flows", t=T, id=[0] * len(T), cwnd=WAVE)
            table(directory, "queue", t=T, queue=["bottleneck.forward"] * len(T), pkts=np.floor(WAVE - 16))
            table(directory, "received", t=T, id=[0] * len(T), bytes_received=T * 125_000)
            table(directory, "trace", t=T, id=[0] * len(T), grew=np.arange(len(T)) % 3)
            table(directory, "owd-s-d", t=T + 1, owd_ms=WAVE)
            table(directory, "delivery-s-d", t=T, delivery_ms=np.where(T > 9, np.nan, WAVE))
    return found


@pytest.mark.build
def test_every_figure_and_the_tables_are_written(evidence: Evidence, tmp_path: Path) -> None:
    stems = [path.stem for path in outputs.write(tmp_path, evidence, outputs.select())]
    papers = {"faster_recovery-fig": [*range(2, 9)], "hybla-fig": [*range(1, 5), *range(6, 12)]}
    papers |= {"santacruz-fig": [8, 9, 11, 13], "santacruz-wireless-fig": [3, 4, 5, 6]}
    figures = [f"{stem}{n}" for stem, numbers in papers.items() for n in numbers]
    assert stems == [*figures, "faster_recovery-friendly", "santacruz-tables"]
    for path in tmp_path.glob("*.png"):
        with Image.open(path) as image:
            assert image.mode == "P"
            assert image.size == pytest.approx((900, 500), abs=10)
        assert path.stat().st_size < MAX_BYTES


@pytest.mark.build
def test_figures_as_svg_and_pdf(evidence: Evidence, tmp_path: Path) -> None:
    chosen = outputs.select(["hybla-fig1"])
    names = [path.name for path in outputs.write(tmp_path, evidence, chosen[:1], ["svg", "pdf"])]
    assert names == ["hybla-fig1.svg", "hybla-fig1.pdf"]
    assert (tmp_path / "hybla-fig1.pdf").read_bytes().startswith(b"%PDF")
    assert b"<svg" in (tmp_path / "hybla-fig1.svg").read_bytes()
    assert all(style.file_word(output.name) == output.name for output in outputs.select()), "fit for LaTeX"


@pytest.mark.build
def test_some_figures_need_their_runs_alone(evidence: Evidence, tmp_path: Path) -> None:
    chosen = outputs.select(["faster_recovery-fig8", "santacruz-wireless-fig4"])
    assert [output.name for output in chosen] == ["faster_recovery-fig8", "santacruz-wireless-fig4"]
    assert {need.scenario.partition("[")[0] for need in outputs.needs(chosen)} == {
        "santacruz-wireless-ber",
        "santacruz-wireless-ber@option",
        "faster_recovery-random",
        "faster_recovery-random@nosack",
    }
    stems = [path.stem for path in outputs.write(tmp_path, evidence, chosen)]
    assert stems == ["faster_recovery-fig8", "santacruz-wireless-fig4"]
    with pytest.raises(LabError, match="fig5: no such figure; there are faster_recovery-fig2"):
        outputs.select(["fig5"])


def test_curves_of_a_sweep(evidence: Evidence) -> None:
    """Two connections of 1 Mbit/s of payload use 2.07 Mbit/s of each link."""
    chosen = next(p for p in outputs.PICTURES if p.name == "faster_recovery-fig3")
    top, bottom = chosen.draw(evidence).axes
    assert [text.get_text() for text in top.figure.legends[0].get_texts()] == list(fr.ROLES.values())
    assert len(top.lines) == len(bottom.lines) == len(fr.ROLES)
    rates, mbit = (np.asarray(values) for values in top.lines[0].get_data())
    assert np.array_equal(rates, [2, 10, 45, 100, 150]) and np.array_equal(mbit, np.ones(5))
    assert np.asarray(bottom.lines[0].get_ydata()) == pytest.approx(2 * 1500 / 1448 / rates)
    assert bottom.get_xscale() == "log"


def pairs(curve: Curve, at: int) -> tuple[float, float]:
    return float(curve.x[at]), float(curve.y[at])


def test_measured_course_and_equation_begin_with_the_first_segment(evidence: Evidence) -> None:
    """It leaves at 1 s; a tenth of a second apart, so 0.01 thousand a second. Equation 6 has 24 x 33 at 150 ms."""
    run = ideal.IDEAL[ideal.IDEAL_SPACED, 300]
    assert hybla.course(evidence, run)[:3] == pytest.approx(np.interp(1 + np.arange(3) * 0.02, T, WAVE))
    assert hybla.amount(evidence, run)[[0, 51, 101]] == pytest.approx([0.001, 0.011, 0.021])
    drawn = hybla.equation(ideal.window_pkts, "equation 6", 0.6)
    assert pairs(drawn, 8) == pytest.approx((0.16, 24 * (32 + 35 / 25)))


def test_goodput_by_round_trip(evidence: Evidence) -> None:
    chosen = next(p for p in outputs.PICTURES if p.name == "hybla-fig6")
    (axes,) = chosen.draw(evidence).axes
    curves = axes.lines[: len(hybla.ROLES)]
    assert [list(np.asarray(line.get_xdata())) for line in curves] == [
        list(hybla_claims.CONGESTION[cc]) for cc in hybla.ROLES
    ]
    assert list(axes.get_xticks()) == [25, 50, 100, 200, 300, 400, 500, 600]
    assert all(np.asarray(line.get_ydata()) == pytest.approx(1) for line in curves)
    assert np.asarray(axes.lines[-1].get_ydata())[0] == pytest.approx(10 / 6 * 1024 / 1076)


def test_stack_of_goodputs_and_residual_capacity() -> None:
    """Two flows of a quarter: half of the link is left, written beside them."""
    stacks = [Stack("one", [(0.25, "hybla_ext", 0.0), (0.25, "cubic", 0.3)])]
    figure = stacks_figure("t", stacks, {"long": ("hybla_ext", 0.0), "wired": ("cubic", 0.0)}, "shares")
    (axes,) = figure.axes
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(0, 0.25), (0.25, 0.25), (0.5, 0.5)]
    assert [text.get_text() for text in axes.texts] == ["25", "25", "50"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["long", "wired", "residual capacity"]


def test_flows_of_a_stack_in_shares_of_the_bottleneck(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    run = hybla_claims.FAIR[SACK]
    (job,) = plan([run], evidence)
    flows = [{"name": f"{n}{i}", "goodput_mbit": 10 * 1024 / 1076 / 10} for n in ("main", "wired") for i in range(3)]
    evidence.add(run_of(job, {"flows": flows}))
    stack = hybla.stack(evidence, SACK)
    assert [value for value, _cc, _shade in stack.parts] == pytest.approx([0.1] * 6)
    assert [cc for _value, cc, _shade in stack.parts] == ["reno"] * 3 + ["cubic"] * 3


def test_rate_over_time(evidence: Evidence) -> None:
    curve = fr.rate_over_time(evidence, "westwood_fr")
    assert curve.x == pytest.approx([0, 4, 8])
    assert curve.y == pytest.approx([1, 1, 1])


def test_table_of_friendliness(evidence: Evidence) -> None:
    """Ours 1, the other kind 2 Mbit/s, with each and beside its own."""
    lines = fr.friendly_table(evidence, "cubic", "fq_codel").splitlines()
    assert [line.count("|") for line in lines[2:]] == [6] * 11
    assert [cell.strip() for cell in lines[-1].split("|")[1:-1]] == ["200", "10", *["0.50 / 1.00"] * 3]


def test_a_table_has_the_papers_values_beside_ours(evidence: Evidence) -> None:
    """1 Mbit/s of goodput is 1.055 with headers of 52 bytes, 1.064 with those of 60."""
    lines = santacruz.paper_table(evidence, santacruz.TABLES[0]).splitlines()
    assert [line.count("|") for line in lines[2:]] == [14] * (len(lines) - 2)
    cells = [cell.strip() for cell in lines[5].split("|")[1:-1]]
    assert cells[:7] == ["Santa Cruz n=1.5", "1.42", "1.055", "1.064", "0.94", "0.70", "0.71"]
    assert cells[7:] == ["55.1", "60.0", "60.0", "0.0041", "4", "4"]
    reno = [cell.strip() for cell in lines[4].split("|")[1:-1]]
    assert reno[:4] == ["Reno", "1.45", "1.055", ""]


def test_choice_of_n_op(evidence: Evidence) -> None:
    lines = santacruz.choice_table(evidence).splitlines()
    assert [line.split("|")[1].strip() for line in lines[4:]] == ["1", "1.5", "2", "3", "5", "8"]
    assert lines[4].split("|")[2].strip() == "1.05 / 13.0 / 3"


def test_santacruz_is_run_from_both_sources_and_the_others_once() -> None:
    needs = outputs.needs(outputs.select())
    assert len(needs) == len(set(needs))
    assert RunKey("santacruz-basic", "reno") in needs and RunKey("santacruz-basic@option", "reno") not in needs
    assert all(
        need.with_option() in needs
        for p in outputs.PICTURES
        for need in p.needs
        if jobs.parse_cc(need.cc).cc == "santacruz" and "@option" not in need.scenario
    )
    assert any(need.trace for need in needs)


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        figure = paper_figure("x", [Stage("y", [Curve("Reno", "reno", T, WAVE)], ((18, "paper: 18"), (19, "")))])
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Reno", "paper: 18"]
        save_small(figure, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_shades() -> None:
    plain, dark, light = (Curve("x", "santacruz", T, WAVE, shade=shade).look()["color"] for shade in (0, -0.4, 0.4))
    assert sum(to_rgb(dark)) < sum(to_rgb(plain)) < sum(to_rgb(light))
