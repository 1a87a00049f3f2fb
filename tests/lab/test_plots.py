# SPDX-License-Identifier: GPL-2.0
"""Figures: every kind renders, says what it shows, and keeps runs apart."""

import itertools
import math
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from hetlab.errors import LabError
from hetlab.model import congestion
from hetlab.plots import bars, flows, panels, script, style
from hetlab.plots.flows import Flow

pytestmark = pytest.mark.fast

PNG = b"\x89PNG\r\n\x1a\n"
TEN = ["santacruz", "westwood_fr", "westwood_gfr", "hybla_ext", "reno", "cubic", "bbr", "vegas", "westwood", "hybla"]
NAMED = "two <lanes> & $x_1$"
# Machado, Oliveira, Fernandes 2009: how linear RGB looks without one kind of cone
SIGHTS = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deuteranopia": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "tritanopia": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


def flow(name: str = "main", cc: str | None = None, ssthresh: float | None = 40, points: int = 300) -> Flow:
    t = np.linspace(0.1, 30, points)
    window = 20 + 30 * np.abs(np.sin(t / 3))
    limit = np.full(points, math.nan if ssthresh is None else float(ssthresh))
    limit[: points // 4] = math.nan
    rate = flows.binned_rate(t, 1.2e6 * t, 0, 30, 1)
    return Flow(name, cc, t, window, limit, 80 + window, rate)


def runs(labels: list[str]) -> dict[str, list[Flow]]:
    return {label: [flow()] for label in labels}


def sawtooth(points: int = 3000) -> style.Series:
    t = np.linspace(0, 30, points)
    return t, np.floor(t * 7 % 17)


def values(labels: list[str], seeds: int = 3) -> dict[str, list[float]]:
    return {label: [1.0 + i + 0.2 * s for s in range(seeds)] for i, label in enumerate(labels)}


def delays(labels: list[str]) -> dict[str, style.Floats]:
    rng = np.random.default_rng(1)
    return {label: 50 + rng.gamma(2, 5 + i, 4000) for i, label in enumerate(labels)}


Maker = Callable[[str, list[str]], Figure]
FIGURES: dict[str, tuple[Maker, str, str]] = {
    "cwnd": (lambda name, labels: flows.cwnd(name, runs(labels)), "time (s)", "congestion window (packets)"),
    "srtt": (lambda name, labels: flows.srtt(name, runs(labels)), "time (s)", "smoothed RTT (ms)"),
    "goodput": (lambda name, labels: flows.goodput(name, runs(labels), 10), "time (s)", "goodput (Mbit/s)"),
    "queue": (
        lambda name, labels: flows.queue(name, {label: sawtooth() for label in labels}, 17),
        "time (s)",
        "queue (packets)",
    ),
    "delay_cdf": (
        lambda name, labels: flows.delay_cdf(name, delays(labels)),
        "one-way delay (ms)",
        "share of packets (0 to 1)",
    ),
    "goodput_bars": (lambda name, labels: bars.goodput_bars(name, values(labels), 10), "goodput (Mbit/s)", ""),
    "delay_bars": (
        lambda name, labels: bars.delay_bars(name, values(labels), values(labels)),
        "one-way delay (ms)",
        "",
    ),
    "retransmission_bars": (
        lambda name, labels: bars.retransmission_bars(name, values(labels)),
        "retransmissions (packets)",
        "",
    ),
}


def texts(figure: Figure) -> list[str]:
    """Everything the figure says outside its legend."""
    found = [figure.get_suptitle(), figure.get_supxlabel(), figure.get_supylabel()]
    for ax in figure.axes:
        found += [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()]
        found += [label.get_text() for label in ax.get_yticklabels()]
    return found


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def rendered(figure: Figure, path: Path) -> bytes:
    data = style.save(figure, path)
    assert data == path.read_bytes()
    return data


@pytest.mark.parametrize("kind", FIGURES)
@pytest.mark.parametrize("labels", [["santacruz"], ["santacruz", "reno", "vegas"], TEN], ids=len)
def test_every_figure(kind: str, labels: list[str], tmp_path: Path) -> None:
    make, x_label, y_label = FIGURES[kind]
    figure = make(NAMED, labels)
    data = rendered(figure, tmp_path / "a.png")
    assert data.startswith(PNG)
    assert len(data) > 3000
    said = texts(figure)
    assert any(NAMED in text for text in said), "the title names the scenario"
    assert x_label in said
    assert y_label in said
    assert legend(figure)
    names = {style.schemes()[label].name for label in labels}
    assert len(labels) == 1 or names <= {*said, *legend(figure)}


@pytest.mark.build
@pytest.mark.parametrize("kind", FIGURES)
def test_nothing_is_clipped(kind: str, tmp_path: Path) -> None:
    labels = [*TEN, "santacruz:n_op=1.5", "santacruz:init_cwnd=2,n_op=1.5,pacing=0,predict=0,startup=0", "stranger"]
    figure = FIGURES[kind][0](NAMED + " with a title that is much longer than a line" * 4, labels)
    rendered(figure, tmp_path / "a.png")
    width, height = figure.get_size_inches() * figure.dpi
    shown = [text for text in figure.texts if text.get_text()] + figure.legends[0].get_texts()
    shown += [text for ax in figure.axes for text in (ax.xaxis.label, ax.yaxis.label) if text.get_text()]
    shown += [text for ax in figure.axes for text in ax.get_yticklabels()]
    for text in shown:
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height, text.get_text()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_same_bytes_again(suffix: str, tmp_path: Path) -> None:
    first, second = (rendered(flows.cwnd("s", runs(["reno"])), tmp_path / f"{n}.{suffix}") for n in "ab")
    assert first == second


def test_many_runs_get_a_panel_each() -> None:
    assert len(flows.cwnd("s", runs(TEN)).axes) == len(TEN)
    assert len(flows.cwnd("s", runs(TEN[:3])).axes) == 1
    assert len({ax.get_ylim() for ax in flows.srtt("s", runs(TEN)).axes}) == 1


def test_flows_of_a_run_are_named() -> None:
    both = [flow("main0"), flow("main1"), flow("rival", "cubic")]
    figure = flows.cwnd("s", {"santacruz": both, "reno": both})
    assert len(figure.axes) == 2
    assert legend(figure) == ["rival (CUBIC)", "main0 (under test)", "main1 (under test)"]


def test_many_flows_share_a_legend_entry() -> None:
    crowd = [flow(f"main{i}") for i in range(20)] + [flow(f"other{i}", "reno") for i in range(9)]
    assert legend(flows.goodput("s", {"reno": crowd})) == ["other flows (Reno)", "flows (under test)"]


def test_unknown_values(tmp_path: Path) -> None:
    nothing = np.full(50, math.nan)
    t, none = np.linspace(0, 5, 50), (np.empty(0), np.empty(0))
    silent = Flow("main", None, t, nothing, nothing, nothing, none)
    empty = Flow("main", None, *none, *none, none)
    for what in ([silent], [empty], [flow(ssthresh=None)], []):
        for make in (flows.cwnd, flows.srtt, flows.goodput):
            assert rendered(make("s", {"reno": what, "cubic": [flow()]}), tmp_path / "a.png").startswith(PNG)
    assert legend(flows.cwnd("s", {"reno": [flow(ssthresh=None)]})) == ["cwnd"]
    assert "ssthresh" in legend(flows.cwnd("s", {"reno": [flow()]}))


def test_no_data_for_one(tmp_path: Path) -> None:
    figure = bars.goodput_bars("s", {"reno": [], "cubic": [1.5]})
    rendered(figure, tmp_path / "a.png")
    assert "no data" in [text.get_text() for text in figure.axes[0].texts]
    assert legend(flows.delay_cdf("s", {"reno": np.empty(0), "cubic": np.ones(5)})) == ["CUBIC"]


def test_windows_far_apart_get_a_log_scale() -> None:
    small, large = flow(), flow()
    large.cwnd[:] *= 100
    assert flows.cwnd("s", {"reno": [small], "cubic": [large]}).axes[0].get_yscale() == "log"
    assert flows.cwnd("s", {"reno": [small], "cubic": [small]}).axes[0].get_yscale() == "linear"


def test_limit_out_of_reach_is_left_out() -> None:
    assert "limit of the queue" in legend(flows.queue("s", {"reno": sawtooth()}, 17))
    assert "limit of the queue" not in legend(flows.queue("s", {"reno": sawtooth()}, 1000))


# ---------------------------------------------------------------------- data


def test_binned_rate() -> None:
    t = np.arange(1, 101) / 10
    end, mbit = flows.binned_rate(t, 125_000 * t, 0, 10, 0.5)
    assert end == pytest.approx(np.arange(1, 21) / 2)
    assert mbit == pytest.approx(np.ones(20))


def test_binned_rate_of_a_late_flow_that_ends_early() -> None:
    t = np.arange(50, 75) / 10
    end, mbit = flows.binned_rate(t, 125_000 * (t - 5), 5, 8, 1)
    assert end == pytest.approx([6, 7]), "half a second is not enough for the third"
    assert mbit == pytest.approx([1, 1])
    end, mbit = flows.binned_rate(np.arange(50, 78) / 10, 125_000 * np.arange(28) / 10, 5, 8, 1)
    assert end == pytest.approx([6, 7, 7.7])
    assert mbit == pytest.approx([1, 1, 1])


def test_binned_rate_of_nothing() -> None:
    assert not len(flows.binned_rate(np.empty(0), np.empty(0), 0, 10, 1)[0])
    assert not len(flows.binned_rate(np.array([0.1]), np.array([5.0]), 0, 0, 1)[0])


def test_envelope_keeps_extremes() -> None:
    t = np.linspace(0, 10, 10_001)
    y = np.where(np.arange(10_001) == 4321, 99.0, np.sin(t))
    y[:100] = math.nan
    at, low, mean, high = panels.envelope(t, y, 50)
    assert len(at) == 50
    assert np.nanmax(high) == 99
    assert np.nanmin(low) == np.nanmin(y)
    assert np.all((low <= mean) & (mean <= high) | np.isnan(mean))


# ---------------------------------------------------------------- appearance


def test_scheme_file() -> None:
    tables = tomllib.loads(congestion.FILE.read_text())
    assert list(tables)[:10] == TEN
    assert [cc for cc, table in tables.items() if table["ours"]] == [*TEN[:4], "hybla_paper"]
    looks = [(table["colour"], tuple(table["dash"]), table["marker"]) for table in tables.values()]
    assert len(set(looks)) == len(looks)


def lab(colour: str, sight: str) -> style.Floats:
    """CIE L*a*b* of a colour as somebody sees it."""
    rgb = np.asarray(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(SIGHTS[sight]) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.asarray(to_xyz) @ seen / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_keep_apart(sight: str) -> None:
    for a, b in itertools.combinations(TEN, 2):
        difference = lab(style.schemes()[a].colour, sight) - lab(style.schemes()[b].colour, sight)
        assert np.linalg.norm(difference) > 14, (a, b)


def test_order() -> None:
    assert list(style.styles(["zebra", "hybla", "reno", "santacruz:n_op=3", "santacruz", "apple"])) == [
        "santacruz",
        "santacruz:n_op=3",
        "reno",
        "hybla",
        "apple",
        "zebra",
    ]


def test_variants_are_distinct_and_stable() -> None:
    labels = ["santacruz"] + [f"santacruz:n_op={i / 2}" for i in range(10)]
    looks = style.styles(labels)
    assert len({(look.colour, look.dash) for look in looks.values()}) == len(labels)
    assert all(look.ours and look.name.startswith("Santa Cruz") for look in looks.values())
    alone = style.styles(["santacruz:n_op=1.5"])
    assert alone["santacruz:n_op=1.5"] == style.styles(["reno", "santacruz:n_op=1.5"])["santacruz:n_op=1.5"]
    assert alone["santacruz:n_op=1.5"].name == "Santa Cruz n_op=1.5"


def test_more_variants_than_variations() -> None:
    labels = [f"{cc}:n={i}" for i in range(40) for cc in ("reno", "stranger")]
    assert len(style.styles(labels)) == len(labels)


@pytest.mark.build
@pytest.mark.parametrize("label", ["stranger", "", "a:b", ":", "x=1:y=2,z=3", "$\\frac", "_hidden", "ünïcode ✓"])
def test_strange_labels(label: str, tmp_path: Path) -> None:
    look = style.styles([label])[label]
    assert look == style.styles([label])[label]
    assert not look.ours
    labels = [label, "reno", "cubic", "bbr"]
    for kind in ("cwnd", "delay_cdf", "delay_bars"):
        assert rendered(FIGURES[kind][0]("$s_1$", labels), tmp_path / "a.png").startswith(PNG)


# ------------------------------------------------------------------- scripts


def test_script_figure(tmp_path: Path) -> None:
    t = [0.1 * i for i in range(600)]
    one = {
        "cwnd": (t, [20.0] * 600),
        "queue": (t, [float(i % 17) for i in range(600)]),
        "goodput": ([1.0, 2.0], [1.4, 1.5]),
    }
    two = {"cwnd": (t, [30.0] * 600)}
    path = tmp_path / "new" / "out.png"
    figure = script.script_figure("My <link> $x$", {"santacruz:n_op=4": one, "mine": two}, path)
    assert path.read_bytes().startswith(PNG)
    assert [ax.get_ylabel() for ax in figure.axes] == ["queue (packets)", "cwnd (packets)", "goodput (Mbit/s)"]
    assert figure.get_suptitle() == "My <link> $x$"
    assert {"Santa Cruz n_op=4", "mine"} <= set(legend(figure))


def test_script_figure_leaves_out_what_is_missing(tmp_path: Path) -> None:
    series: dict[str, tuple[list[float], list[float]]] = {"goodput": ([1.0], [2.0]), "queue": ([], [])}
    figure = script.script_figure("x", {"reno": series}, tmp_path / "out.svg")
    assert [ax.get_ylabel() for ax in figure.axes] == ["queue (packets)", "goodput (Mbit/s)"]
    with pytest.raises(LabError, match="no series"):
        script.script_figure("x", {"reno": {}}, tmp_path / "out.png")
