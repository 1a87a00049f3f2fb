# SPDX-License-Identifier: GPL-2.0
"""The HTML page, from result directories made up here."""

import base64
import io
import itertools
import json
import re
import time
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from hetlab.cli import tables
from hetlab.cli.campaigns import name_of, progress
from hetlab.cli.planned import plan_tables
from hetlab.errors import LabError
from hetlab.hosts import options
from hetlab.model import files, jobs, resolve
from hetlab.model.result import FORMAT_VERSION, from_json
from hetlab.plots import flows, style
from hetlab.report import page, provenance, runs, series, sweeps
from hetlab.results import points, store
from hetlab.results.columns import COLUMNS, TERMINAL

pytestmark = pytest.mark.fast

EVIL = "A <script>alert('x')</script> & \"quoted\" $\\frac{1}$ https://example.org/x.png"
HASHES = {"kernel": "00112233aabbccdd", "modules": "tcp_x ddccbbaa33221100", "commit": "abcdef012345"}


def resolved(name: str = "santacruz-basic", *sets: str) -> dict[str, Any]:
    """A scenario of ours as it is in result.json."""
    found = files.load(name, list(sets))[0]
    return dict(json.loads(json.dumps(asdict(resolve.resolve(found)))))


def flow_result(flow: dict[str, Any], mbit: float) -> dict[str, Any]:
    begin, length = flow["start_s"], flow["duration_s"]
    head = {"name": flow["name"], "proto": flow["proto"], "start_s": begin, "end_s": begin + length}
    if flow["proto"] == "udp":
        return head | {"cc": None, "goodput_mbit": mbit}
    numbers = {"goodput_mbit": mbit, "steady_goodput_mbit": mbit, "retransmits": 12, "timeouts": 1}
    return head | numbers | {"cc": flow["cc"] or "reno", "complete": True, "rtt_min_ms": 80.1, "srtt_ms": 95.0}


def result(sc: dict[str, Any], cc: str, params: dict[str, str], seed: int, mbit: float) -> dict[str, Any]:
    """What hetlab run leaves in result.json."""
    return {
        "format": FORMAT_VERSION,
        "scenario": sc["name"],
        "seed": seed,
        "cc": cc,
        "cc_params": params,
        "flows": [flow_result(flow, mbit / (1 + i)) for i, flow in enumerate(sc["flows"])],
        "queue": {
            "link": sc["measure"]["bottleneck"],
            "steady_mean_pkts": 4.25 + seed,
            "steady_min_pkts": 0.0,
            "steady_max_pkts": 11.0,
            "p95_pkts": 9.0,
            "max_pkts": 14.0 + seed,
            "drops": 3,
            "loss_model_drops": 0,
        },
        "owd_ms": {"mean": 47.5, "variance": 2.0, "min": 40.1, "p50": 47.0, "p95": 60.5, "p99": 62.0, "packets": 500},
        "queueing_ms": {"mean": 7.5, "variance": 2.0, "min": 0.1, "p50": 7.0, "p95": 20.4, "p99": 22.0, "packets": 500},
        "delivery_ms": None,
        "jain": 0.987,
        "jain_steady": 0.987,
        "title": sc["title"],
        "kernel_release": "6.12.0-hetlab",
        "reproducible": True,
        "hashes": HASHES,
        "scenario_resolved": sc,
    }


def table(path: Path, **columns: Any) -> None:
    pq.write_table(pa.table(columns), path)


def write_series(directory: Path, sc: dict[str, Any]) -> None:
    """The tables of a run; ssthresh is not known at first, nothing is known of the RTT of a second flow."""
    t = np.arange(1, int(sc["duration_s"] * 10) + 1) / 10
    tcp = [flow for flow in sc["flows"] if flow["proto"] == "tcp"]
    ids, times = np.repeat([flow["id"] for flow in tcp], len(t)), np.tile(t, len(tcp))
    window = (20 + 5 * np.sin(times)).astype(int)
    table(
        directory / "flows.parquet",
        id=ids,
        t=times,
        cwnd=window,
        ssthresh=[None if at < 2 else 15 for at in times],
        srtt_us=[None if i else 95_000 for i in ids],
        cc_kind=["vegas"] * len(times),
    )
    table(directory / "received.parquet", id=ids, t=times, bytes_received=(125_000 * times).astype(int))
    often = np.arange(int(sc["duration_s"] * 100)) / 100
    names = [sc["measure"]["bottleneck"]] * len(often)
    table(directory / "queue.parquet", queue=names, t=often, pkts=np.floor(often * 9 % 17))
    delay = np.where(np.arange(len(often)) % 50 == 7, np.nan, 40 + 20 * np.sin(often) ** 2)
    for src, dst in sc["owd_pairs"]:
        table(directory / f"owd-{src}-{dst}.parquet", t=often, owd_ms=delay)


def write_run(
    out: Path, sc: dict[str, Any], cc: str, params: dict[str, str] | None = None, seed: int = 1, mbit: float = 1.4
) -> Path:
    """One run, complete."""
    text = json.dumps(result(sc, cc, params or {}, seed, mbit))
    directory = store.run_dir(out, from_json(text))
    directory.mkdir(parents=True)
    write_series(directory, sc)
    (directory / "result.json").write_text(text)
    (directory / "run.json").write_text('{"wall_s": 1.25}')
    return directory


def change(directory: Path, **values: Any) -> None:
    path = directory / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


class Page(HTMLParser):
    """What a browser would see of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.rows: list[list[tuple[str, bool]]] = []
        self.inside = False
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.inside = True
            self.rows[-1].append(("", "best" in (dict(attrs).get("class") or "")))

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.inside:
            text, best = self.rows[-1][-1]
            self.rows[-1][-1] = (f"{text} {data.strip()}".strip(), best)

    def row(self, begins: str) -> list[tuple[str, bool]]:
        return next(row for row in self.rows if row and row[0][0].startswith(begins))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def blank(_figure: Figure, kind: str) -> bytes:
    return kind.encode()


def written(out: Path, title: str = "a title", drawn: bool = False) -> Page:
    """The page; its pictures are laid out, but become files only if ``drawn``: that is three quarters of the time."""
    with pytest.MonkeyPatch.context() as patched:
        if not drawn:
            patched.setattr(style, "drawn", blank)
        path = page.write_report(out, out / "report.html", title)
    assert path == out / "report.html"
    return Page(path)


@pytest.fixture(scope="module")
def basic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Page]:
    """Three congestion controls, one of them with two settings, and two seeds."""
    out, sc = tmp_path_factory.mktemp("basic"), resolved()
    for seed in (1, 2):
        write_run(out, sc, "santacruz", seed=seed, mbit=1.30 + seed / 10)
        write_run(out, sc, "santacruz", {"n_op": "4"}, seed=seed, mbit=1.2)
        write_run(out, sc, "reno", seed=seed, mbit=1.1)
        write_run(out, sc, "stranger", seed=seed, mbit=0.4)
    return out, written(out, drawn=True)


def test_page(basic: tuple[Path, Page]) -> None:
    p = basic[1]
    assert p.of("h2") == [{"id": "santacruz-basic"}, {"id": "terms"}]
    assert "Santa Cruz basic bottleneck" in p.text
    row = [text for text, _best in p.row("Santa Cruz santacruz")]
    assert row[1:5] == ["-", "2", "1.450 ±0.635", "96.7 ±42.4"]
    assert row[5:12] == ["12 ±0", "1 ±0", "5.8 ±6.4", "9 ±0", "16 ±6", "3 ±0", "0 ±0"]
    assert row[12:] == ["47.5 ±0", "60.5 ±0", "20.4 ±0"], "no fairness with a single flow"
    assert any("stranger" in text for text, _best in p.row("stranger"))


def test_lost_packets_have_no_delay(tmp_path: Path) -> None:
    directory = write_run(tmp_path, resolved(), "cubic")
    (run,) = (runs.Run(d, r) for d, r in store.read_all(tmp_path))
    assert run.directory == directory
    delays = series.read_delays([run])
    assert len(delays) > 100
    assert np.all(np.isfinite(delays)), "a lost packet is NaN in the series"
    (axes,) = flows.delay_cdf("x", {"cubic": delays}).axes
    assert np.all(np.isfinite(np.asarray(axes.lines[0].get_xdata())))


def test_best_values_are_marked(basic: tuple[Path, Page]) -> None:
    p = basic[1]
    best = [text for text, best in p.row("Santa Cruz santacruz") if best]
    assert best == ["1.450 ±0.635", "96.7 ±42.4"], "not what is equal everywhere"
    assert not any(best for _text, best in p.row("Reno reno"))


def test_parameters_have_their_own_row(basic: tuple[Path, Page]) -> None:
    p = basic[1]
    settings = [row[1][0] for row in p.rows if row and row[0][0].startswith("Santa Cruz santacruz")]
    assert settings == ["-", "n_op=4"]


def test_plots_are_in_the_page_and_beside_it(basic: tuple[Path, Page]) -> None:
    p = basic[1]
    files = {path.name for path in (basic[0] / "plots").iterdir()}
    kinds = {"cwnd", "delay-bars", "delay-cdf", "goodput", "goodput-bars", "queue", "retransmissions", "srtt"}
    kinds |= {"network", "throughput-delay"}
    assert files == {f"santacruz-basic-{kind}.png" for kind in kinds}
    inside = [base64.b64decode((img["src"] or "").removeprefix("data:image/png;base64,")) for img in p.of("img")]
    assert sorted(inside) == sorted((basic[0] / "plots" / name).read_bytes() for name in files)
    assert all(img["alt"] for img in p.of("img"))


def test_page_needs_nothing_else(basic: tuple[Path, Page]) -> None:
    p = basic[1]
    for _tag, attrs in p.tags:
        for key in ("src", "href", "data", "action", "poster", "srcset"):
            assert (attrs.get(key) or "data:").startswith(("data:image/png;base64,", "data:", "#"))
    assert not p.of("script") and not p.of("link") and not p.of("iframe")
    style = re.search(r"<style>(.*?)</style>", p.source, re.DOTALL)
    assert style and "url(" not in style[1] and "@import" not in style[1]
    assert not re.search(r"https?://", p.source)


def test_dark_and_print(basic: tuple[Path, Page]) -> None:
    source = basic[1].source
    assert "prefers-color-scheme: dark" in source
    assert "@media print" in source


def test_provenance(basic: tuple[Path, Page]) -> None:
    text = basic[1].text
    assert "00112233aabbccdd" in text and "ddccbbaa33221100" in text and "abcdef012345" in text
    assert "6.12.0-hetlab" in text
    assert "yes, bit by bit" in text
    command = "tools/hetlab run santacruz-basic --cc santacruz --cc santacruz:n_op=4 --cc reno --cc stranger --seeds 2"
    assert command in text
    assert "8, 10.0 s of real time" in text


def test_the_command_says_what_it_leaves_out(tmp_path: Path) -> None:
    write_run(tmp_path / "a", resolved("santacruz-basic", "duration_s=5"), "reno", seed=7)
    text = written(tmp_path / "a").text
    assert "run santacruz-basic --cc reno --seed 7" in text
    assert re.search(r"Not as in the scenario file .*duration_s = 5", text)
    asked = {"wall_s": 1, "asked": ["santacruz-basic", "--set", "duration_s=5"]}
    (tmp_path / "a" / "santacruz-basic" / "reno" / "seed-7" / "run.json").write_text(json.dumps(asked))
    text = written(tmp_path / "a").text
    assert "run santacruz-basic --set duration_s=5 --cc reno --seed 7" in text
    assert "Not as in the scenario file" not in text
    own = resolved() | {"name": "mine", "title": "my own"}
    on_host = {"reproducible": False, "kernel_release": "6.1.0-9-amd64", "hashes": HASHES | {"kernel": "6.1.0-9-amd64"}}
    change(write_run(tmp_path / "b", own, "reno"), **on_host)
    text = written(tmp_path / "b").text
    assert "run mine --cc reno --seed 1 --on host" in text
    assert "not here now: no scenario 'mine'" in text
    write_run(tmp_path / "c", resolved() | {"name": "santacruz-basic[a=1]"}, "reno")
    assert "no such point" in written(tmp_path / "c").text


def test_everything_is_escaped(tmp_path: Path) -> None:
    sc = resolved() | {"name": "<b>&'\"[x=1]", "title": EVIL}
    sc["links"]["<i>link</i>"] = sc["links"].pop("access")
    sc["flows"][0]["name"] = "<u>flow</u>"
    sc["sysctl"]["<s>key</s>"] = "<em>value</em>"
    for cc in ("reno", "cubic"):
        change(write_run(tmp_path, sc, cc), cc_params={"<q>": "<tt>"}, kernel_release="<var>")
    p = written(tmp_path, EVIL)
    for tag in ("script", "b", "i", "u", "s", "em", "q", "tt", "var"):
        assert not p.of(tag), tag
    assert p.text.count(EVIL) == 3, "title of the page, heading, scenario"
    assert all("/" not in path.name and "<" not in path.name for path in (tmp_path / "plots").iterdir())
    anchor = p.of("h2")[0]["id"]
    assert anchor and not set(anchor) & set("<>&'\" ")


def test_several_scenarios_are_listed(tmp_path: Path) -> None:
    write_run(tmp_path, resolved("santacruz-basic"), "reno")
    write_run(tmp_path, resolved("santacruz-asym"), "reno")
    p = written(tmp_path)
    anchors = [h2["id"] for h2 in p.of("h2")]
    assert anchors == ["santacruz-asym", "santacruz-basic", "terms"]
    assert [a["href"] for a in p.of("a") if a.get("class") != "term"] == [f"#{anchor}" for anchor in anchors]
    assert "416 kbit/s" in p.text
    assert "cwnd lock 64" in p.text


def test_runs_that_differ_are_not_mixed(tmp_path: Path) -> None:
    write_run(tmp_path / "1", resolved(), "reno", mbit=1.0)
    write_run(tmp_path / "2", resolved("santacruz-basic", "duration_s=5"), "reno", mbit=1.2)
    change(write_run(tmp_path / "3", resolved(), "reno", mbit=1.4), hashes=HASHES | {"modules": "tcp_x other"})
    write_run(tmp_path / "4", resolved(), "reno", mbit=1.0)
    p = written(tmp_path)
    assert [h2["id"] for h2 in p.of("h2")] == ["santacruz-basic", "santacruz-basic-2", "santacruz-basic-3", "terms"]
    rows = [row for row in p.rows if row and row[0][0] == "Reno reno"]
    assert [(row[1][0], row[2][0]) for row in rows] == [("1", "1.000"), ("1", "1.200"), ("1", "1.400")]


def test_runs_that_loaded_other_modules_are_compared(tmp_path: Path) -> None:
    """Each has the hashes of its own; only two versions of one module are two groups."""
    for name, cc, modules in (
        ("1", "reno", "sch_replay 0"),
        ("2", "santacruz", "sch_replay 0, tcp_santacruz 1"),
        ("3", "westwood_fr", "sch_replay 0, tcp_westwood_fr 2"),
        ("4", "santacruz", "sch_replay 0, tcp_santacruz 3"),
    ):
        change(write_run(tmp_path / name, resolved(), cc), hashes=HASHES | {"modules": modules})
    first, other = runs.group(store.read_all(tmp_path))
    assert (list(first.runs), list(other.runs)) == (["santacruz", "westwood_fr", "reno"], ["santacruz"])
    assert dict(provenance.provenance(first))["modules"] == "sch_replay 0, tcp_santacruz 1, tcp_westwood_fr 2"
    assert dict(provenance.provenance(other))["modules"] == "sch_replay 0, tcp_santacruz 3"


def test_files_of_the_users_own_are_compared(tmp_path: Path) -> None:
    """Beside the kernel's and each other in one section; two versions of one file stay apart."""
    for name, cc, digest in (("1", "reno", ""), ("2", "aimd", "a1"), ("3", "other", "b1"), ("4", "aimd", "a2")):
        own = {"candidates": digest} if digest else {}
        change(write_run(tmp_path / name, resolved(), cc), hashes=HASHES | own)
    first, second = runs.group(store.read_all(tmp_path))
    assert set(first.runs) == {"reno", "aimd", "other"} and set(second.runs) == {"aimd"}
    assert "aimd of a file a1" in dict(provenance.provenance(first))["modules"]


def several_flows() -> dict[str, Any]:
    sc = resolved()
    main = sc["flows"][0]
    rival = main | {"id": 1, "name": "rival", "cc": "cubic", "port": 5002, "start_s": 2, "duration_s": 6}
    noise = main | {"id": 2, "name": "noise", "proto": "udp", "port": 5003, "rate_mbit": 0.3, "on_s": 1, "off_s": 2}
    sc["flows"] += [rival, noise]
    return sc


def test_several_flows(tmp_path: Path) -> None:
    for cc in ("santacruz", "reno"):
        write_run(tmp_path, several_flows(), cc)
    p = written(tmp_path)
    assert [text for text, _best in p.row("Reno reno")][2] == "2.100", "the TCP flows, not the UDP flow"
    assert [text for text, _best in p.row("Reno reno")][-1] == "0.987"
    heads = [text for text, _best in p.row("cc under test")]
    assert heads == ["cc under test", "main under test", "rival cubic", "noise UDP"]
    goodput = next(row for row in p.rows if row and row[0][0] == "Reno")
    assert [text for text, _best in goodput] == ["Reno", "1.400", "0.700", "0.467"]
    assert "packet 1000 bytes, rate 0.3 Mbit/s, on 1 s, off 2 s" in p.text


def test_series_of_flows(tmp_path: Path) -> None:
    directory = write_run(tmp_path, several_flows(), "reno")
    flows = series.read_flows(runs.Run(directory, store.read(directory / "result.json")))
    assert [(f.name, f.cc) for f in flows] == [("main", None), ("rival", "cubic")]
    assert np.isnan(flows[0].ssthresh[:19]).all() and flows[0].ssthresh[19] == 15
    assert flows[0].srtt_ms[0] == 95
    assert np.isnan(flows[1].srtt_ms).all()
    t, mbit = flows[1].goodput
    assert (t[0], t[-1]) == (2.5, 8), "half seconds of a short run, while the flow lasts"
    assert mbit[1:] == pytest.approx(np.ones(11))


def test_long_runs_have_bins_of_a_second(tmp_path: Path) -> None:
    directory = write_run(tmp_path, resolved("santacruz-basic", "duration_s=30"), "reno")
    flows = series.read_flows(runs.Run(directory, store.read(directory / "result.json")))
    assert flows[0].goodput[0] == pytest.approx(np.arange(1, 31))


def test_nothing_but_numbers(tmp_path: Path) -> None:
    sc = resolved()
    sc["owd_pairs"] = []
    for cc in ("reno", "cubic"):
        directory = write_run(tmp_path, sc, cc)
        change(directory, owd_ms=None, queueing_ms=None, jain=None)
        for path in directory.glob("*.parquet"):
            path.unlink()
    p = written(tmp_path)
    assert [text for text, _best in p.row("Reno reno")][-2:] == ["-", "-"]
    assert all("delay" not in (img["alt"] or "") for img in p.of("img"))


def test_no_delay_file_of_one_run(tmp_path: Path) -> None:
    write_run(tmp_path, resolved(), "reno")
    (write_run(tmp_path, resolved(), "cubic") / "owd-s-d.parquet").unlink()
    assert len(written(tmp_path).of("img")) == 10


def test_share_is_of_the_time_from_the_first_start_to_the_last_end() -> None:
    """Alone for 5 s at the full rate, then two flows at half of it for 15 s: goodputs add up to more than the rate."""
    sc = resolved("bulk", "flow.main.count=2", "flow.main.stagger_s=5", "duration_s=20")
    made = result(sc, "reno", {}, 1, 0)
    for flow, mbit in zip(made["flows"], ((5 * 10 + 15 * 5) / 20, 5), strict=True):
        flow["goodput_mbit"] = mbit
    run = from_json(json.dumps(made))
    assert COLUMNS["goodput"].value(run) == 11.25
    assert COLUMNS["share"].value(run) == pytest.approx(100)


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_no_number_is_cut_on_the_terminal(width: int) -> None:
    """Up to 80 characters the real time of a run, the last column, is left out."""
    text = io.StringIO()
    sc = resolved("faster_recovery-onoff@nosack")
    runs = [from_json(json.dumps(result(sc, "santacruz", {"n_op": "1.5"}, seed, 987.654))) for seed in (1, 42)]
    console = Console(width=width, file=text, force_terminal=True, color_system=None, markup=False)
    tables.show(*tables.results_tables(tables.each_run(runs), width), to=console)
    assert "…" not in text.getvalue()
    assert max(len(line.rstrip()) for line in text.getvalue().splitlines()) <= max(width, 80)
    columns = TERMINAL if width == 200 else [column for column in TERMINAL if column.name != "wall"]
    for run in runs:
        for column in columns:
            assert column.text(column.value(run)) in text.getvalue().split()


@pytest.mark.parametrize("width", [80, 200])
def test_a_plan_names_each_point_whole(width: int) -> None:
    """80 columns broke the names of points; they stand above then."""
    text = io.StringIO()
    loaded = files.load("real_networks-loss", ['sweep={"link.bottleneck.forward.delay_ms"=[5, 10]}'])
    planned = jobs.make(loaded, [jobs.Variant("reno"), jobs.Variant("hybla_ext", {"rtt0_ms": "40"})], [1, 2])
    console = Console(width=width, file=text, force_terminal=True, color_system=None, markup=False)
    tables.show(*plan_tables(planned, 2, width), to=console)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    for name in dict.fromkeys(job.name for job in planned):
        assert (name in lines) == (width == 80) and name in text.getvalue()
    assert sum("hybla_ext:rtt0_ms=40" in line for line in lines) == 2
    assert re.search(r"^all +8 +\d+ s +\d+ s on 2 CPUs$", lines[-1])


def test_runs_are_told_apart_while_they_go() -> None:
    """The seed and the parameters were missing, and on 80 columns a long name took the place of the bar."""
    (point,) = files.load("bulk")
    planned = jobs.make([point], [jobs.Variant("santacruz", {"n_op": n}) for n in ("3", "4")], [1, 2])
    assert len({name_of(job) for job in planned}) == 4
    text = io.StringIO()
    console = Console(width=80, file=text, force_terminal=True, color_system=None)
    with progress(console) as bar:
        bar.add_task("x" * 100 + " seed 7", total=300, completed=17)
    assert re.search(r"17/300 \S+ +0:00:00 xxxx", text.getvalue())


@pytest.mark.parametrize("width", [80, 200])
def test_seeds_become_one_line_on_the_terminal(width: int) -> None:
    """With the interval beside the mean, on 80 characters below it; the point of a sweep stands with its brackets."""
    text = io.StringIO()
    sc = resolved() | {"name": "basic[link.bottleneck.forward.delay_ms=5]"}
    runs = [from_json(json.dumps(result(sc, "santacruz", {}, seed, 1.3 + seed / 10))) for seed in (1, 2, 3)]
    console = Console(width=width, file=text, force_terminal=True, color_system=None, markup=False)
    tables.show(*tables.results_tables(tables.over_seeds(runs), width), to=console)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    assert sc["name"] in text.getvalue()
    (row,) = (line for line in lines if "santacruz" in line)
    both = row if width == 200 else row + lines[lines.index(row) + 1]
    assert re.search(r"santacruz +3 +1\.500.* ?±0\.248", both), "t(2) = 4.303, standard deviation 0.1"


def test_columns_that_do_not_fit_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Intervals of large numbers make a table wider than 80 characters; the numbers that stay are whole."""
    made = [result(resolved("bulk", "flow.main.count=2"), "santacruz", {}, seed, 900 + 50.4 * seed) for seed in (1, 2)]
    for run in made:
        run["queue"] |= {"max_pkts": 10000 * run["seed"], "drops": 100000 * run["seed"], "steady_mean_pkts": 999.9}
        run["owd_ms"] |= {"mean": 1000.1 * run["seed"], "p95": 2000.3 * run["seed"]}
    (t,) = tables.results_tables(tables.over_seeds([from_json(json.dumps(run)) for run in made]), 80)
    console = Console(width=80)
    tables.show(t, to=console)
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert lines[-1].strip().startswith("left out: queue max") and "--csv" in lines[-1]
    assert any("150000" in line for line in lines)


def test_points_of_a_sweep_are_in_the_order_of_their_values(tmp_path: Path) -> None:
    key = "link.bottleneck.forward.delay_ms"
    for cc, faster in (("reno", 0), ("santacruz", 0.1)):
        for value in (10, 5, 50):
            for seed in (1, 2):
                sc = resolved() | {"name": f"basic[{key}={value}]"}
                write_run(tmp_path, sc, cc, seed=seed, mbit=1 + value / 100 + seed / 10 + faster)
    p = written(tmp_path)
    anchors = [h2["id"] for h2 in p.of("h2")]
    assert anchors == ["sweeps", *(f"basic-link-bottleneck-forward-delay_ms-{value}" for value in (5, 10, 50)), "terms"]
    (over,) = (img for img in p.of("img") if "over delay" in (img["alt"] or ""))
    assert (
        over["alt"] == "basic: over delay (ms), link.bottleneck.forward; means, whiskers: 95 % intervals over the seeds"
    )
    assert (tmp_path / "plots" / "basic-sweep-link-bottleneck-forward-delay_ms.png").exists()


def test_a_sweep_of_two_keys_is_a_picture_for_each_value_of_the_smaller(tmp_path: Path) -> None:
    for value, loss, cc in itertools.product((1, 2.5, 8), (0.5, 1), ("fq", "fifo")):
        name = f"basic[duration_s={value},loss.percent={loss},aqm={cc}]"
        write_run(tmp_path, resolved() | {"name": name}, "reno")
    p = written(tmp_path)
    texts = [img["alt"] or "" for img in p.of("img") if "over duration (s)" in (img["alt"] or "")]
    points = [f"basic[loss.percent={loss},aqm={cc}]" for loss in (0.5, 1) for cc in ("fifo", "fq")]
    assert [text.partition(": over ")[0] for text in texts] == points
    write_run(tmp_path / "words", resolved() | {"name": "basic[aqm=fq]"}, "reno")
    assert written(tmp_path / "words").of("h2") == [{"id": "basic-aqm-fq"}, {"id": "terms"}], "nothing to draw over"


def test_lines_of_a_sweep_are_means_with_intervals(tmp_path: Path) -> None:
    for value, seed in itertools.product((10, 5), (1, 2)):
        write_run(tmp_path, resolved() | {"name": f"b[duration_s={value}]"}, "reno", seed=seed, mbit=value + seed)
    write_run(tmp_path, resolved() | {"name": "b[duration_s=10]"}, "cubic", mbit=3)
    groups = runs.group(store.read_all(tmp_path))
    swept = [(float(points.split(g.name)[1]["duration_s"]), g) for g in groups]
    curve = sweeps.curve(COLUMNS["goodput"], "reno", swept)
    assert sorted(curve) == [5, 10]
    assert curve[5] == pytest.approx((6.5, 6.353), abs=1e-3)
    assert curve[10] == pytest.approx((11.5, 6.353), abs=1e-3)
    assert sweeps.curve(COLUMNS["goodput"], "cubic", swept) == {10: (3, None)}


def test_pictures_have_names_and_formats_for_papers(tmp_path: Path) -> None:
    """LaTeX includes a file whose name has one point and no brackets, commas, @, = or blanks."""
    sc = resolved() | {"name": "my sweep@v[link.a.b=0.5,c+d=x y]"}
    write_run(tmp_path, sc, "reno", {"x": "1.5"})
    page.write_report(tmp_path, tmp_path / "report.html", "x", ["pdf", "svg"])
    names = [path.name for path in (tmp_path / "plots").iterdir()]
    assert "my-sweep-v-link-a-b-0p5-c-d-x-y-cwnd.pdf" in names
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+\.(pdf|svg)", name) for name in names)
    assert {name.replace(".svg", ".pdf") for name in names} == {name for name in names if name.endswith(".pdf")}
    assert all(path.read_bytes().startswith(b"%PDF") for path in (tmp_path / "plots").glob("*.pdf"))
    assert all((img["src"] or "").startswith("data:image/png") for img in Page(tmp_path / "report.html").of("img"))


def test_a_table_of_two_seeds_says_how_wide_its_intervals_are(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [from_json(json.dumps(result(resolved(), "reno", {}, seed, 1.0 + seed))) for seed in (1, 2, 3)]
    for rows, said in ((runs, False), (runs[:2], True)):
        tables.show_results(rows)
        assert ("--seeds 5" in capsys.readouterr().out) == said
    tables.show_results(runs[:2], each=True)
    assert "--seeds 5" not in capsys.readouterr().out


def between_hosts(netem: str) -> dict[str, Any]:
    """What result.json says of two hosts, as far as pages and tables read it."""
    ends = {end: {"name": f"root@{end}", "address": f"192.0.2.{i}"} for i, end in enumerate(("sender", "receiver"))}
    return {**ends, "traffic": "iperf3", "netem": netem}


def test_a_table_says_whose_links_were_not_emulated(capsys: pytest.CaptureFixture[str]) -> None:
    sc = resolved("bulk")
    made = [result(sc, "reno", {}, 1, 14401) | {"hosts": between_hosts(netem)} for netem in ("none", "receiver")]
    real, emulated = (from_json(json.dumps(run)) for run in made)
    tables.show_results([emulated])
    assert "not emulated" not in capsys.readouterr().out
    tables.show_results([emulated, real])
    assert capsys.readouterr().out.endswith("links not emulated (--netem none); these are numbers of the real path\n")


def test_the_page_repeats_a_run_between_hosts(tmp_path: Path) -> None:
    """Its command names both; links that were not emulated are no change of the scenario."""
    job = jobs.make(files.load("bulk"), [jobs.parse_cc("reno")], [1])[0]
    fitted = options.fit(job, options.Options("a", "b")).scenario
    sc = dict(json.loads(json.dumps(asdict(fitted))))
    change(write_run(tmp_path, sc, "reno"), hosts=between_hosts("none"))
    text = re.sub(r"\s+", " ", Page(page.write_report(tmp_path, tmp_path / "page.html", "x")).text)
    assert "links not emulated" in text
    assert "--on hosts --sender root@sender --receiver root@receiver --sender-address 192.0.2.0" in text
    assert "--netem none" in text and "Not as in the scenario file" not in text


def test_results_stand_as_they_were_asked_for() -> None:
    point = files.load("bulk")
    asked = jobs.make(point, [jobs.parse_cc(cc) for cc in ("reno", "cubic:x=1", "cubic")], [2, 1])
    sc = resolved("bulk")
    ended = [from_json(json.dumps(result(sc, job.cc, job.cc_params, job.seed, 1))) for job in reversed(asked)]
    assert [(run.label, run.seed) for run in tables.in_order(ended, asked)] == [
        (cc, seed) for cc in ("reno", "cubic:x=1", "cubic") for seed in (2, 1)
    ]


def test_empty_tables_and_unknown_values(tmp_path: Path) -> None:
    sc = resolved()
    sc["measure"]["bottleneck"] = None
    directory = write_run(tmp_path, sc, "reno")
    empty = dict.fromkeys(("steady_mean_pkts", "steady_min_pkts", "steady_max_pkts", "p95_pkts", "max_pkts", "drops"))
    flow = flow_result(sc["flows"][0], 0.0) | {"retransmits": None, "timeouts": None, "srtt_ms": None}
    change(directory, queue={"link": None, "loss_model_drops": 0} | empty, flows=[flow])
    for name in ("flows", "received"):
        table(directory / f"{name}.parquet")
    row = [text for text, _best in written(tmp_path).row("Reno")]
    assert row[2:8] == ["0.000", "-", "-", "-", "-", "-"]


def test_one_run_has_nothing_to_compare(tmp_path: Path) -> None:
    write_run(tmp_path, resolved(), "reno")
    written(tmp_path)
    assert not list((tmp_path / "plots").glob("*bars*"))


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        ({"model": "none", "percent": 0, "ber": 0, "burst_pkts": 1}, "none"),
        ({"model": "random", "percent": 0.5, "ber": 0, "burst_pkts": 1}, "0.5 % random"),
        ({"model": "ber", "percent": 0, "ber": 4e-6, "burst_pkts": 1}, "bit error rate 4e-06"),
        ({"model": "gemodel", "percent": 1, "ber": 0, "burst_pkts": 3}, "1 % in bursts of 3 pkts"),
    ],
)
def test_loss_in_words(tmp_path: Path, loss: dict[str, Any], text: str) -> None:
    sc = resolved()
    sc["links"]["bottleneck"]["forward"] |= {"loss": loss, "jitter_ms": 2, "reorder_percent": 3, "aqm": "codel"}
    write_run(tmp_path, sc, "reno")
    row = [cell for cell, _best in written(tmp_path).row("bottleneck.forward")]
    assert row == [
        "bottleneck.forward",
        "r1 → r2",
        "1.5 Mbit/s",
        "40 ms ± 2 ms",
        "17 pkts, codel",
        text,
        "1000 bytes",
        "reorder 3 %",
    ]


def test_no_runs(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no runs"):
        page.write_report(tmp_path, tmp_path / "report.html", "x")
    assert not list(tmp_path.iterdir())


def test_a_broken_table_is_named(tmp_path: Path) -> None:
    directory = write_run(tmp_path, resolved(), "reno")
    (directory / "flows.parquet").write_text("not a table")
    with pytest.raises(LabError, match=r"seed-1/flows\.parquet: not a table"):
        written(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 2}'])
def test_what_is_no_result_is_skipped_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    """A full disk left an empty result.json, and the whole directory was refused."""
    bad = write_run(tmp_path, resolved(), "cubic") / "result.json"
    bad.write_text(text)
    with pytest.raises(LabError, match="no runs"):
        written(tmp_path)
    write_run(tmp_path, resolved(), "reno")
    assert written(tmp_path).row("Reno")
    assert f"skipped {bad}: " in capsys.readouterr().err


def test_page_elsewhere(tmp_path: Path) -> None:
    write_run(tmp_path / "results", resolved(), "reno")
    path = page.write_report(tmp_path / "results", tmp_path / "web" / "index.html", "x")
    assert path.is_file()
    assert len(list((tmp_path / "web" / "plots").iterdir())) == 6
    assert not (tmp_path / "results" / "plots").exists()


@pytest.mark.build
def test_thirty_runs_are_quick(tmp_path: Path) -> None:
    for scenario_name in ("santacruz-basic", "santacruz-asym", "santacruz-wireless"):
        for cc in list(style.schemes())[:10]:
            write_run(tmp_path, resolved(scenario_name), cc)
    begun = time.process_time()
    written(tmp_path, drawn=True)
    assert time.process_time() - begun < 20
