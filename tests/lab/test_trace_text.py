# SPDX-License-Identifier: GPL-2.0
"""The trace of santacruz: its text to tables, its recording from a tracefs made up here, its figure."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hetlab.claims.evidence import Evidence, RunKey, plan
from hetlab.emulation import tracefs
from hetlab.errors import LabError
from hetlab.model import files, jobs
from hetlab.plots import style, trace
from hetlab.results import santacruz_trace

pytestmark = pytest.mark.fast

HEAD = "family=ipv4 sport=25001 dport=5001 n_q8_pkts="
INTERVAL = HEAD + "768 level_us=-16 pkts_ns=5333333 cwnd_pkts=19 grew=2 competing=0 source=timestamps phase=hold"
LOSS = HEAD + "-128 cwnd_pkts=20 grew=0 competing=1 congestive=0 timeout=1"
COMMENTS = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 2/2   #P:1\n\n"


def line(event: str, fields: str, comm: str = "          <idle>-0      ", at: str = "    105.250001") -> str:
    return f"{comm} [000] b.s3. {at}: {event}: {fields}\n"


def test_events_become_columns() -> None:
    text = COMMENTS + line("interval", INTERVAL) + line("loss", LOSS, " a b-c [x]-4711    ", "105.999999")
    events = santacruz_trace.parse(text, "here")
    assert [e.name for e in events] == ["interval", "loss"]
    assert santacruz_trace.intervals(events, {5001: 7}, 105, 1.5) == {
        "t": [0.250001],
        "id": [7],
        "n_pkts": [3.0],
        "cwnd": [19],
        "grew": [2],
        "competing": [False],
        "level_us": [-16],
        "pkts_us": [5333.333],
        "source": ["timestamps"],
        "phase": ["hold"],
        "n_op_pkts": [1.5],
    }
    assert santacruz_trace.losses(events, {5001: 7}, 105) == {
        "t": [0.999999],
        "id": [7],
        "n_pkts": [-0.5],
        "cwnd": [20],
        "grew": [0],
        "competing": [True],
        "congestive": [False],
        "timeout": [True],
    }


def test_other_connections_are_left_out() -> None:
    events = santacruz_trace.parse(line("interval", INTERVAL) + line("loss", LOSS), "here")
    assert santacruz_trace.intervals(events, {5002: 0}, 105, 3)["t"] == []
    assert santacruz_trace.losses(events, {5002: 0}, 105)["t"] == []


MALFORMED = {
    "CPU:0 [LOST 12 EVENTS]\n": "not an event",
    line("interval", INTERVAL, at="105.25"): "not an event",
    line("interval", INTERVAL)[:90] + "\n": "fields must be family sport",
    line("tcp_probe", INTERVAL): "no event 'tcp_probe'; known are interval, loss",
    line("interval", LOSS): "fields must be family sport",
    line("interval", INTERVAL + " more=1"): "fields must be",
    line("interval", INTERVAL.replace("768", "3.0")): "n_q8_pkts=3.0: allowed range is -2147483648..2147483647",
    line("interval", INTERVAL.replace("5333333", "-1")): "pkts_ns=-1: allowed range is 0..4294967295",
    line("interval", INTERVAL.replace("grew=2", "grew=3")): "grew=3: allowed range is 0..2",
    line("interval", INTERVAL.replace("=hold", "=0x7")): "phase=0x7: known are startup, steady, drain, hold, raise",
    line("loss", LOSS.replace("ipv4", "2")): "family=2: known are ipv4, ipv6",
    line("loss", LOSS.replace("timeout=1", "timeout=")): "timeout=: allowed range is 0..1",
}


@pytest.mark.parametrize("bad", MALFORMED)
def test_a_malformed_line_is_named(bad: str) -> None:
    with pytest.raises(LabError) as caught:
        santacruz_trace.parse(COMMENTS + line("interval", INTERVAL) + bad, "trace.txt")
    text = str(caught.value)
    assert text.startswith("trace.txt: line 6: ")
    assert MALFORMED[bad] in text
    assert bad.strip() in text


def tracefs_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tracefs.Recording:
    """A recording under way, in plain files."""
    monkeypatch.setattr(tracefs, "ROOT", tmp_path)
    recording = tracefs.Recording()
    for cpu in ("cpu0", "cpu1"):
        (recording.dir / "per_cpu" / cpu).mkdir(parents=True)
        stats = "entries: 3\noverrun: 0\ncommit overrun: 0\nbytes: 99\ndropped events: 0\nread events: 0\n"
        (recording.dir / "per_cpu" / cpu / "stats").write_text(stats)
    (recording.dir / "trace").write_text(COMMENTS)
    return recording


def test_recording_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = tracefs_of(tmp_path, monkeypatch)
    recording.save(tmp_path / "out.txt")
    assert (recording.dir / "tracing_on").read_text() == "0"
    assert (tmp_path / "out.txt").read_text() == COMMENTS


@pytest.mark.parametrize("counter", ["overrun", "commit overrun", "dropped events"])
def test_lost_events_are_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counter: str) -> None:
    recording = tracefs_of(tmp_path, monkeypatch)
    stats = recording.dir / "per_cpu" / "cpu1" / "stats"
    stats.write_text(stats.read_text().replace(f"\n{counter}: 0", f"\n{counter}: 12"))
    with pytest.raises(LabError, match="12 events did not fit into 32768 kB"):
        recording.save(tmp_path / "out.txt")
    assert not (tmp_path / "out.txt").exists()


def test_kernel_without_tracing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracefs, "ROOT", tmp_path / "no")
    with pytest.raises(LabError, match=r"--trace: this kernel has no .*tracefs"), tracefs.Recording():
        pass


def test_module_without_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "events").mkdir()
    monkeypatch.setattr(tracefs, "ROOT", tmp_path)
    with pytest.raises(LabError, match=r"--trace: tcp_santacruz .* has no events/santacruz"), tracefs.Recording():
        pass


def test_only_runs_with_santacruz_are_traced() -> None:
    basic = files.load("santacruz-basic")
    both = [jobs.parse_cc("reno"), jobs.parse_cc("santacruz:n_op=2")]
    assert [job.trace for job in jobs.make(basic, both, [1], True)] == [False, True]
    assert [job.trace for job in jobs.make(basic, both, [1])] == [False, False]
    with pytest.raises(LabError, match="no flow of these runs uses santacruz"):
        jobs.make(basic, both[:1], [1], True)


def test_claims_may_ask_for_the_trace_of_a_run() -> None:
    plain, traced = RunKey("santacruz-basic", "santacruz"), RunKey("santacruz-basic", "santacruz", trace=True)
    other = RunKey("santacruz-basic", "santacruz", 2)
    planned = plan([plain, other, traced], Evidence(Path("unused")))
    assert [(job.seed, job.trace) for job in planned] == [(1, True), (2, False)]
    assert traced.with_option().trace


def traced_flow(name: str, losses: int, timeouts: int, level_us: float = 12_000) -> trace.TracedFlow:
    t = np.linspace(0.1, 10, 100)
    wave = 3 + np.sin(t)
    at = np.linspace(1, 9, losses)
    verdicts: dict[trace.Verdict, Any] = {
        "loss judged random": (at, 40 + at),
        "loss judged congestion": (at[:1], 20 + at[:1]),
    }
    pkts_us = np.where(t < 1, np.nan, 0.3 * level_us)
    steps = np.floor(t) % 2
    used = ("timestamps", "rtt")
    return trace.TracedFlow(name, used, t, wave, level_us * wave, pkts_us, wave, steps, verdicts, at[:timeouts])


def test_figure_says_what_it_shows(tmp_path: Path) -> None:
    queue = np.linspace(0, 10, 1000), np.floor(np.linspace(0, 10, 1000) % 3)
    figure = trace.santacruz_trace("santacruz-basic", [traced_flow("main", 5, 2)], queue, 3, 10)
    assert figure.get_suptitle() == "santacruz-basic: trace of santacruz; receive times from timestamps, then rtt"
    labels = [ax.get_ylabel().replace("\n", " ") for ax in figure.axes]
    assert labels == ["queue n (packets)", "delay (ms)", "pktS (ms)", "cwnd (packets)", "mode"]
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"main", "bottleneck queue, measured", "operating point N_op"} <= set(keys)
    assert {"loss judged random (5)", "loss judged congestion (1)", "timeout (2)"} <= set(keys)
    assert figure.axes[3].get_ylim()[1] > 49, "losses above the window are within the plot"
    assert style.save(figure, tmp_path / "a.png").startswith(b"\x89PNG")


def test_figure_of_many_flows_without_losses_on_a_fast_link(tmp_path: Path) -> None:
    flows = [traced_flow(f"f{i}", 0, 0, 12) for i in range(9)]
    figure = trace.santacruz_trace("fast", flows, (np.empty(0), np.empty(0)), None, 10)
    assert [figure.axes[i].get_ylabel() for i in (1, 2)] == ["delay\n(us)", "pktS\n(us)"]
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "flows" in keys
    assert not any(key.startswith(("loss", "timeout", "f0", "operating")) for key in keys)
    assert style.save(figure, tmp_path / "a.png").startswith(b"\x89PNG")
