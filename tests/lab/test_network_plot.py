# SPDX-License-Identifier: GPL-2.0
"""The drawing of a network, goodput against delay, and what plots over time share: events, line styles, panels."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from hetlab.model import congestion, files, names, resolve
from hetlab.model.scenario import Experiment
from hetlab.plots import flows, network, panels, style, tradeoff
from hetlab.plots.flows import Flow
from hetlab.report.description import event_marks

pytestmark = pytest.mark.fast

TEN = ["santacruz", "westwood_fr", "westwood_gfr", "hybla_ext", "reno", "cubic", "bbr", "vegas", "westwood", "hybla"]
PARKING = """
title = "Parking lot"
hosts = ["s0", "d0", "s1", "d1", "s2", "d2"]
routers = ["r1", "r2", "r3"]
duration_s = 10
link.in0.ends = ["s0", "r1"]
link.hop1 = { ends = ["r1", "r2"], forward = { rate_mbit = 10, delay_ms = 10 } }
link.hop2 = { ends = ["r2", "r3"], forward = { rate_mbit = 8, delay_ms = 10 } }
link.out0.ends = ["r3", "d0"]
link.in1.ends = ["s1", "r1"]
link.out1.ends = ["r2", "d1"]
link.in2.ends = ["s2", "r2"]
link.out2.ends = ["d2", "r3"]
flow.long = { src = "s0", dst = "d0" }
flow.one = { src = "s1", dst = "d1", cc = "cubic" }
flow.two = { src = "s2", dst = "d2", cc = "cubic" }
"""


def experiment(name: str | Path, *sets: str) -> Experiment:
    return resolve.resolve(files.load(str(name), list(sets))[0])


def parking(tmp_path: Path) -> Experiment:
    path = tmp_path / "parking.toml"
    path.write_text(PARKING)
    return experiment(path)


def said(figure: Figure) -> list[str]:
    """Texts inside the plot areas."""
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def test_the_drawing_says_what_links_do() -> None:
    texts = said(network.network(experiment("santacruz-asym")))
    assert {"s", "r1", "r2", "d", "sends main", "receives main"} <= set(texts)
    (bottleneck,) = (text for text in texts if text.startswith("bottleneck"))
    assert "→ 24 Mbit/s, 2.8 ms" in bottleneck and "← 416 kbit/s" in bottleneck and "queue of 9 packets" in bottleneck
    assert "0.5 % loss" in "".join(said(network.network(experiment("geo"))))


def test_only_the_bottleneck_is_marked(tmp_path: Path) -> None:
    figure = network.network(parking(tmp_path))
    wide = [line for line in figure.axes[0].lines if line.get_linewidth() == network.BOTTLENECK["lw"]]
    assert len(wide) == 1
    assert len(figure.axes[0].lines) == 8, "a line for each link"
    assert "measured bottleneck" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_nodes_stand_in_columns_of_the_path(tmp_path: Path) -> None:
    places = network.places_of(parking(tmp_path))
    assert [places[node] for node in ("s0", "r1", "r2", "r3", "d0")] == [(float(i), 0.0) for i in range(5)]
    assert places["s1"] == (0.0, 1.0) and places["s2"] == (1.0, 1.0), "before the router they send to"
    assert places["d1"] == (3.0, 1.0) and places["d2"] == (4.0, 1.0)
    assert len(set(places.values())) == len(places), "none over another"


def test_arrows_follow_the_drawing(tmp_path: Path) -> None:
    text = network.link_words(experiment("geo"), "satellite", turned=True)
    assert text[1] == "← 10 Mbit/s, 300 ms, 0.5 % loss"
    assert "changes 7 times" in network.link_words(experiment("real_networks-handover"), "bottleneck")


@pytest.mark.build
def test_every_scenario_can_be_drawn(tmp_path: Path) -> None:
    drawable = [name for name in names.scenarios() if not files.load(name)[0].scenario.abstract]
    assert len(drawable) > 30
    for name in drawable:
        figure = network.network(experiment(name))
        style.save(figure, tmp_path / "a.png")
        width, height = figure.get_size_inches() * figure.dpi
        for text in figure.axes[0].texts:
            box = text.get_window_extent()
            assert box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height, (name, text.get_text())


def test_two_links_between_the_same_nodes_are_bent_apart(tmp_path: Path) -> None:
    path = tmp_path / "twin.toml"
    path.write_text(PARKING + 'link.spare = { ends = ["r2", "r1"], forward = { rate_mbit = 1 } }\n')
    lines = network.network(experiment(path)).axes[0].lines
    bent = [
        line for line in lines if np.ptp(np.asarray(line.get_ydata())) > 0.1 and np.asarray(line.get_ydata())[0] == 0
    ]
    assert len([line for line in bent if np.asarray(line.get_ydata())[-1] == 0]) == 2


# ---------------------------------------------------------- goodput and delay


def test_every_point_is_named_and_its_seeds_have_whiskers() -> None:
    points = {cc: [(50 + 10 * i + s, 1.0 + i / 10) for s in range(3)] for i, cc in enumerate(TEN)}
    figure = tradeoff.throughput_delay("x", points, 2.0, 40.0)
    (ax,) = figure.axes
    assert set(said(figure)) == {style.schemes()[cc].name for cc in TEN}
    assert (figure.get_supxlabel(), ax.get_ylabel()) == ("one-way delay, 95th percentile (ms)", "goodput (Mbit/s)")
    dots = [
        line
        for line in ax.lines
        if len(np.asarray(line.get_xdata())) == 1 and line.get_marker() not in ("|", "_", "None")
    ]
    assert [np.asarray(dot.get_xdata())[0] for dot in dots] == [51 + 10 * i for i in range(10)]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[-3:] == ["smallest to largest of the seeds", "link rate", "delay without any queue"]


def test_names_do_not_overlap(tmp_path: Path) -> None:
    points = {cc: [(50.0 + i % 3, 1.0 + i / 100)] for i, cc in enumerate(TEN)}
    figure = tradeoff.throughput_delay("x", points, 2.0, 40.0)
    style.save(figure, tmp_path / "a.png")
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_delays_far_apart_get_a_log_scale() -> None:
    far = tradeoff.throughput_delay("x", {"reno": [(900.0, 1.0)], "vegas": [(41.0, 1.0)]}, 2.0, 40.0)
    near = tradeoff.throughput_delay("x", {"reno": [(90.0, 1.0)], "vegas": [(41.0, 1.0)]}, 2.0, 40.0)
    assert far.axes[0].get_xscale() == "log" and near.axes[0].get_xscale() == "linear"


# ------------------------------------------------------------ plots over time


def flow() -> Flow:
    t = np.linspace(0.1, 30, 300)
    window = 20 + np.sin(t)
    return Flow("main", None, t, window, np.full(300, np.nan), 80 + window, flows.binned_rate(t, 1e5 * t, 0, 30, 1))


@pytest.mark.parametrize("number", [*range(1, 26), 40])
def test_no_panel_stands_alone_in_the_last_row(number: int) -> None:
    figure = flows.cwnd("x", {f"reno:a={i}": [flow()] for i in range(number)})
    used = [ax for ax in figure.axes if ax.lines]
    rows = {round(ax.get_position().y0, 3) for ax in used}
    columns = {round(ax.get_position().x0, 3) for ax in used}
    last = [ax for ax in used if round(ax.get_position().y0, 3) == min(rows)]
    assert len(last) > 1 or len(columns) == 1


def test_changes_of_links_are_marked() -> None:
    marks = event_marks(experiment("real_networks-handover"))
    assert [at_s for at_s, _text in marks] == [15, 30, 45, 60, 75, 90, 105]
    for make in (flows.cwnd, flows.srtt, flows.goodput):
        figure = make("x", {"reno": [flow()]}, events=marks)
        at = [
            np.asarray(line.get_xdata())[0] for line in figure.axes[0].lines if line.get_color() == panels.EVENT_COLOUR
        ]
        assert at == [15, 30, 45, 60, 75, 90, 105]
        assert "link changes: delay (7)" in [text.get_text() for text in figure.legends[0].get_texts()]
    leo = dict(event_marks(experiment("satellite-leo")))
    assert "link changes: outage" in set(leo.values()) or any("outage" in text for text in leo.values())


def test_lines_keep_apart_in_black_and_white() -> None:
    looks = [congestion.known()[cc] for cc in TEN]
    assert len({look.dash for look in looks}) == len({look.marker for look in looks}) == len(TEN)
    figure = flows.srtt("x", {cc: [flow()] for cc in TEN[:3]})
    assert [line.get_marker() for line in figure.axes[0].lines] == ["o", "s", "^"]
