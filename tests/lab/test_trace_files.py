# SPDX-License-Identifier: GPL-2.0
"""Traces as files: every format, what they mean, and what is refused with file, line and value."""

import os
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from hetlab.emulation import replay
from hetlab.emulation.link import shell
from hetlab.emulation.qdiscs import plan
from hetlab.errors import LabError
from hetlab.model import files, trace, trace_make, traces
from hetlab.model.keys import as_plain
from hetlab.model.link import Direction, Loss
from hetlab.model.resolve import resolve

pytestmark = pytest.mark.fast
MS = 10**6


def written(directory: Path, text: str, name: str = "x") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def table(found: trace.Trace, kind: str) -> tuple[list[int], list[int], int]:
    one = found.of(kind)
    assert one
    return list(one.t_ns), list(one.value), one.period_ns


def test_mahimahi(tmp_path: Path) -> None:
    """Equal lines are as many opportunities; the last line is the period."""
    found = trace.read(written(tmp_path, "0\n3\n3\n\n10\n"))
    assert table(found, "opportunities") == ([0, 3 * MS, 10 * MS], [1, 2, 1], 10 * MS)
    assert found.capacity and found.capacity.mean_mbit == pytest.approx(4 * 12_000 / 10e-3 / 1e6)


def test_capacity_until_a_time(tmp_path: Path) -> None:
    """12 Mbit/s is a file with the line 1; of a rate it is the exact integral."""
    line = trace.read(written(tmp_path, "1\n")).capacity
    assert line and line.bits(10**9) == 12_000_000
    rate = trace.read(written(tmp_path, "t_s,rate_mbit\n0,1\n1,0\n2,3\n")).capacity
    assert rate and [rate.bits(t * 10**8) for t in (0, 5, 10, 15, 25, 30, 35)] == [
        mbit * 100_000 for mbit in (0, 5, 10, 10, 25, 40, 45)
    ]
    assert rate.mean_mbit == pytest.approx(4 / 3)


def test_columns(tmp_path: Path) -> None:
    """What stays as it was is no change; after the last line comes the period; what never changes has none."""
    text = "t_s,rate_mbit,delay_ms,loss_percent\n0,8,20,0\n0.5,8,25.5,100\n1.5,0,25.5,50\n"
    found = trace.read(written(tmp_path, text))
    assert table(found, "rate") == ([0, 1500 * MS], [8_000_000, 0], 2500 * MS)
    assert table(found, "delay") == ([0, 500 * MS], [20 * MS, 25_500_000], 2500 * MS)
    assert table(found, "loss") == ([0, 500 * MS, 1500 * MS], [0, 2**32 - 1, 2**31], 2500 * MS)
    one = trace.read(written(tmp_path, "t_s,rate_mbit\n0,8\n"))
    assert table(one, "rate") == ([0], [8_000_000], 0)


def test_delays_each_10_ms(tmp_path: Path) -> None:
    found = trace.read(written(tmp_path, "7\n7.5\n7.5\n"), "delay")
    assert table(found, "delay") == ([0, 10 * MS], [7 * MS, 7_500_000], 30 * MS)


BAD = [
    ("", "empty"),
    ("# only a comment\n", "empty"),
    ("5\n4\n", "line 2: '4': time goes back, from 5 ms"),
    ("5\n4.5\n", "line 2: '4.5': must be a whole number of milliseconds"),
    ("-1\n", "line 1: '-1': must be a whole"),
    ("99999999999999999999\n", "line 1: '99999999999999999999': must be a whole"),
    ("0\n0\n", "all opportunities are at 0 ms"),
    ("rate\n", "line 1: 'rate': must be a whole"),
    ("t_s,rate_mbps\n0,1\n", "line 1: 'rate_mbps': no such column.*did you mean rate_mbit"),
    ("rate_mbit,t_s\n1,0\n", "line 1: .*the first line has the names"),
    ("t_s,rate_mbit,rate_mbit\n", "line 1: .*the first line has the names"),
    ("t_s,rate_mbit\n", "no values below"),
    ("t_s,rate_mbit\n0,1\n1,2\n1,3\n", "line 4: '1': time must go on, after 1 s"),
    ("t_s,rate_mbit\n1,1\n", "line 2: '1': the first time must be 0"),
    ("t_s,rate_mbit\n0,1,2\n", "line 2: '0,1,2': 3 values for 2 columns"),
    ("t_s,rate_mbit\n0,fast\n", "line 2: 'fast': rate_mbit must be a number"),
    ("t_s,rate_mbit\n0,-1\n", r"line 2: '-1': rate_mbit: allowed range is 0\.\.100000"),
    ("t_s,rate_mbit\n0,nan\n", "line 2: 'nan': rate_mbit: allowed range"),
    ("t_s,loss_percent\n0,101\n", r"line 2: '101': loss_percent: allowed range is 0\.\.100"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_bad_files(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(LabError, match=f"(?s){path}: .*{said}"):
        trace.read(path)


def test_files_that_would_eat_the_memory(tmp_path: Path) -> None:
    """10 GB, of which the disk has nothing; a device that never ends."""
    path = tmp_path / "large"
    with open(path, "wb") as file:
        os.truncate(file.fileno(), 10 * 10**9)
    with pytest.raises(LabError, match=f"{path}: 10,000,000,000 bytes: a trace has at most 67,108,864"):
        trace.read(path)
    with pytest.raises(LabError, match="/dev/zero: not a regular file"):
        trace.read(Path("/dev/zero"))
    with pytest.raises(LabError, match="no-such-file: No such file"):
        trace.read(tmp_path / "no-such-file")


def test_what_is_packed_comes_back() -> None:
    found = trace_make.make(trace_make.recipe("starlink:duration_s=6,mean_mbit=20"))
    again = trace.unpacked(found.packed(), "x")
    assert again.digest == found.digest
    assert [t.kind for t in again.tables] == ["opportunities", "delay"]
    assert found.digest != trace_make.make(trace_make.recipe("starlink:duration_s=6,mean_mbit=20,seed=2")).digest


def test_synthetic_traces() -> None:
    """They have their mean, exactly but for Poisson's numbers; the same recipe is the same trace for ever."""
    cellular = trace_make.make(trace_make.recipe("cellular:seed=1,mean_mbit=8,duration_s=60"))
    assert cellular.capacity and cellular.capacity.mean_mbit == pytest.approx(8, rel=0.02)
    assert cellular.digest == "4ec1e7cded68895e"
    assert trace_make.make(trace_make.recipe("starlink:duration_s=30")).digest == "f3aa7dbcce93318b"
    wifi = trace_make.make(trace_make.recipe("wifi:jitter_ms=7,duration_s=600"))
    delay = wifi.of("delay")
    assert delay and traces.mean(delay) / MS == pytest.approx(0.684 + 90 * 6 / 90, rel=0.05)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cellular:speed=1", "no parameter 'speed'"),
        ("cellular:seed=1.5", "seed='1.5': must be a whole number"),
        ("wifi:mean_mbit=fast", "mean_mbit='fast': must be a number"),
        ("starlink:duration_s=0", r"duration_s=0: allowed range is 1\.\.3600"),
        ("starlink:duration_s=3600,mean_mbit=10000", "opportunities: make mean_mbit or duration_s smaller"),
    ],
)
def test_bad_recipes(text: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        trace_make.recipe(text)


def test_where_its_qdiscs_go(tmp_path: Path) -> None:
    """Capacity at the queue; delay and loss behind it, so that a host's queue comes first; the AQM is its child."""
    both = written(tmp_path, "t_s,rate_mbit,delay_ms\n0,8,20\n1,4,30\n")
    p = plan(Direction(trace=str(both), loss=Loss("random", 1), queue_pkts=7), 1500, "n", "f", True)
    assert [(q.dev, q.kind) for q in (*p.near, *p.far)] == [("n", "replay"), ("f", "replay")]
    assert p.near[0].expect["limit_pkts"] == 7 and p.near[0].expect["rate"] == 2
    assert p.far[0].expect["delay"] == 2 and p.far[0].expect["loss"] == 1
    alone = plan(Direction(trace="wifi", trace_delay=None, aqm="codel"), 1500, "n", "f", False)
    assert [q.kind for q in alone.near] == ["replay", "codel"]
    steady = plan(Direction(rate_mbit=3, rate_at_once=True, queue_bytes=9000, delay_ms=5), 1500, "n", "f", True)
    assert [(q.dev, q.kind) for q in (*steady.near, *steady.far)] == [("n", "netem"), ("f", "replay")]
    assert steady.far[0].expect["limit_bytes"] == 9000


class Answering:
    """A node whose kernel does not know the qdisc."""

    name = "r1"

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def cmd(self, _script: str) -> str:
        said = f"hetreplay: make {self.kind} r1-eth0: No such file or directory: Specified qdisc kind is unknown"
        return f"{said}\nstatus=1"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("replay", r"lacks the module sch_replay\..*tools/qdisc.*make -C"),
        ("dualpi2", r"lacks the module sch_dualpi2, which came with Linux 6\.17"),
    ],
)
def test_a_kernel_without_the_qdisc_is_named(kind: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        shell(cast(Any, Answering(kind)), "hetreplay")


def test_a_link_as_it_was_has_no_tables() -> None:
    assert replay.stages(Direction(rate_mbit=3, delay_ms=5), 1500) == replay.Stages()
    assert "trace" not in as_plain(Direction(rate_mbit=3, delay_ms=5))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"trace": "A", "rate_mbit": 5}, "give rate_mbit=5 or a trace with opportunities, not both"),
        ({"trace": "B", "delay_ms": 5}, "give delay_ms=5 or a trace with delay, not both"),
        ({"trace": "A", "trace_delay": "A"}, "has rate, not delay alone"),
        ({"trace": "B", "jitter_ms": 5}, "goes without jitter_ms"),
        ({"trace": "B", "loss": Loss("gemodel", 1)}, "goes without loss bursts"),
        ({"trace": "A", "trace_loss": "B"}, "trace_loss = .* has delay, not loss alone"),
        ({"trace": "B", "queue_bdp": 1}, "need rate_mbit or a trace with a capacity"),
    ],
)
def test_what_does_not_fit_together(tmp_path: Path, keys: dict[str, object], said: str) -> None:
    named = {"A": str(written(tmp_path, "1\n", "A")), "B": str(written(tmp_path, "t_s,delay_ms\n0,5\n1,6\n", "B"))}
    if keys.get("trace_delay") == "A":  # plain numbers are delays there
        named["A"] = str(written(tmp_path, "t_s,rate_mbit\n0,5\n1,6\n", "A"))
    given = {key: named.get(value, value) if isinstance(value, str) else value for key, value in keys.items()}
    with pytest.raises(LabError, match=said):
        traces.of(Direction(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"rate_at_once": True}, "rate_at_once needs rate_mbit"),
        ({"rate_mbit": 1, "queue_bytes": 9000}, "needs a trace or rate_at_once"),
        ({"trace": "wifi", "queue_bytes": 9000, "queue_pkts": 5}, "only one"),
        ({"trace": "wifi", "aqm": "cake"}, "a rate of its own"),
        ({"trace_delay": "x", "slot_ms": 5}, "goes without slot_ms"),
    ],
)
def test_bad_keys(keys: dict[str, object], said: str) -> None:
    with pytest.raises(LabError, match=said):
        Direction(**keys)  # type: ignore[arg-type]


SCENARIO = """
base = "bulk"
remove = ["link.bottleneck.forward.rate_mbit"]
title = "trace"
duration_s = 10
[link.bottleneck]
forward = { trace = "own/cell", delay_ms = 50, queue_bdp = 1 }
reverse = { rate_mbit = 10, delay_ms = 50 }
"""


def scenario(directory: Path) -> Path:
    (directory / "own").mkdir(exist_ok=True)
    written(directory / "own", "".join(f"{t}\n" for t in range(1, 2001)), "cell")
    path = directory / "mine.toml"
    path.write_text(SCENARIO)
    return path


def test_a_scenario_names_files_beside_it(tmp_path: Path) -> None:
    """Not beside its base, nor where the command was called; the result has the name and the hash alone."""
    path = scenario(tmp_path)
    (point,) = files.load(str(path))
    sc = resolve(point)
    played = sc.traces["bottleneck.forward"]
    assert (played.source, played.mean_mbit, played.capacity_mbit) == ("cell", 12, 12)
    assert sc.links["bottleneck"].forward.trace == "cell"
    assert sc.links["bottleneck"].forward.queue_pkts == 100  # of 12 Mbit/s and 100 ms
    assert sc.measure.bottleneck == "bottleneck.forward"
    assert str(tmp_path) not in str(as_plain(sc))
    before = sc
    written(tmp_path / "own", "".join(f"{t}\n" for t in range(1, 2000)), "cell")
    traces.load.cache_clear()
    assert resolve(point) != before, "another trace would be taken for the same run"


def test_a_rate_of_0_needs_the_queue_that_holds_packets(tmp_path: Path) -> None:
    event = '[[event]]\nat_s = 1\nlink = "bottleneck"\nway = "forward"\nrate_mbit = 0\n'
    path = tmp_path / "hold.toml"
    path.write_text(f'base = "bulk"\n{event}')
    with pytest.raises(LabError, match=r"a rate of 0 needs rate_at_once = true of link\.bottleneck\.forward"):
        files.load(str(path))
    path.write_text(f'base = "bulk"\n[link.bottleneck]\nforward = {{ rate_at_once = true }}\n{event}')
    (point,) = files.load(str(path))
    assert resolve(point).events[0].rate_mbit == 0


def test_compiled_traces_are_kept_once(tmp_path: Path) -> None:
    way = Direction(trace="cellular:duration_s=5")
    traces.keep(tmp_path, [way, replace(way, delay_ms=5), Direction(rate_mbit=1)])
    (path,) = tmp_path.iterdir()
    found = traces.of(Direction(trace=str(path)))
    assert found and path.stem == found.digest
    assert isinstance(found.tables[0].t_ns, array)
