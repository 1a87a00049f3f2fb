# SPDX-License-Identifier: GPL-2.0
"""Scenario files: inheritance, sweeps, resolution, and a clear error for each fault."""

import re
import time
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetlab.errors import LabError
from hetlab.model import files, names, resolve
from hetlab.model.event import Change
from hetlab.model.flow import Flow
from hetlab.model.job import Job, from_json
from hetlab.model.limits import LIMITS
from hetlab.model.link import AQMS, Aqm, Loss

pytestmark = pytest.mark.fast

MINIMAL = """
title = "minimal"
hosts = ["s", "d"]
duration_s = 5
[link.wire]
ends = ["s", "d"]
forward = { rate_mbit = 8, delay_ms = 10, queue_pkts = 20 }
[flow.main]
src = "s"
dst = "d"
"""


def write(tmp_path: Path, text: str, name: str = "x") -> str:
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", list(names.scenarios()))
def test_our_scenarios_resolve(name: str) -> None:
    """With their variants; those of an abstract one are for its children, unless they say otherwise."""
    for address in (name, *(f"{name}@{variant}" for variant in files.variants(name))):
        for one in files.load(address):
            if not one.scenario.abstract:
                resolved = resolve.resolve(one)
                assert resolved.measure.bottleneck
                assert resolved.flows
                assert "{" not in one.scenario.title + one.scenario.note


def test_minimal(tmp_path: Path) -> None:
    (one,) = files.load(write(tmp_path, MINIMAL))
    resolved = resolve.resolve(one)
    assert resolved.links["wire"].forward.queue_pkts == 20
    assert resolved.links["wire"].back.delay_ms == 10
    assert resolved.measure.bottleneck == "wire.forward"
    assert resolved.flows[0].duration_s == 5


def test_queue_in_bdp_uses_the_round_trip_of_the_path(tmp_path: Path) -> None:
    text = MINIMAL.replace("queue_pkts = 20", "queue_bdp = 0.5")
    (one,) = files.load(write(tmp_path, text))
    # 8 Mbit/s * 20 ms / 8 / 1500 / 2 = 6.7
    assert resolve.resolve(one).links["wire"].forward.queue_pkts == 7


def test_inheritance_merges_tables_and_replaces_lists(tmp_path: Path) -> None:
    write(tmp_path, MINIMAL, "parent")
    child = 'base = "parent"\ntitle = "child"\nseeds = [4]\n[link.wire]\nforward = { rate_mbit = 2 }\n'
    (one,) = files.load(write(tmp_path, child, "child"))
    way = one.scenario.link["wire"].forward
    assert (way.rate_mbit, way.delay_ms, way.queue_pkts, one.scenario.seeds) == (2, 10, 20, (4,))


def test_sweep_is_a_cross_product(tmp_path: Path) -> None:
    text = MINIMAL + '[sweep]\n"link.wire.forward.delay_ms" = [1, 2, 3]\nduration_s = [5, 6]\n'
    points = files.load(write(tmp_path, text))
    assert len(points) == 6
    assert points[0].name == "x[link.wire.forward.delay_ms=1,duration_s=5]"
    assert {p.scenario.link["wire"].forward.delay_ms for p in points} == {1, 2, 3}


def test_keys_of_a_sweep_that_share_their_value(tmp_path: Path) -> None:
    text = MINIMAL + '[sweep]\n"link.wire.forward.delay_ms+duration_s" = [5, 6]\n"flow.main.count" = [1, 2]\n'
    points = files.load(write(tmp_path, text))
    found = [(p.scenario.link["wire"].forward.delay_ms, p.scenario.duration_s) for p in points]
    assert found == [(5, 5), (5, 5), (6, 6), (6, 6)]
    assert points[1].name == "x[link.wire.forward.delay_ms+duration_s=5,flow.main.count=2]"


NO_RATE = ("rate_mbit = 8, delay_ms = 10, queue_pkts = 20", "delay_ms = 10")
SHARE = '[flow.noise]\nsrc = "d"\ndst = "s"\nproto = "udp"\nrate_share = 0.9\n'


def test_a_share_is_of_the_smallest_rate_on_the_path(tmp_path: Path) -> None:
    text = MINIMAL.replace("[flow.main]", "reverse = { rate_mbit = 2 }\n[flow.main]") + SHARE
    flows = resolve.resolve(files.load(write(tmp_path, text))[0]).flows
    assert flows[0].rate_mbit is None
    assert flows[1].rate_mbit == pytest.approx(1.8)
    with pytest.raises(LabError, match=r"flow\.noise\.rate_share: no link from d to s has rate_mbit"):
        resolve.resolve(files.load(write(tmp_path, (MINIMAL + SHARE).replace(*NO_RATE)))[0])


def test_a_window_in_pipes(tmp_path: Path) -> None:
    """8 Mbit/s and 20 ms are 13.3 packets of 1500 bytes."""
    text = MINIMAL + "[route.s]\ncwnd_max_bdp = 3\ninitcwnd = 4\n"
    assert resolve.resolve(files.load(write(tmp_path, text))[0]).route == {"s": "initcwnd 4 cwnd lock 40"}
    for bad, where in ((text.replace(*NO_RATE), "s"), (text.replace("route.s", "route.d"), "d")):
        with pytest.raises(LabError, match=rf"route\.{where}\.cwnd_max_bdp"):
            resolve.resolve(files.load(write(tmp_path, bad))[0])


def test_set_overrides(tmp_path: Path) -> None:
    (one,) = files.load(write(tmp_path, MINIMAL), ["duration_s=7", "link.wire.forward.rate_mbit=0.5"])
    assert one.scenario.duration_s == 7
    assert one.scenario.link["wire"].forward.rate_mbit == 0.5


def test_a_sysctl_is_set_and_swept(tmp_path: Path) -> None:
    """Its name has points: --set took each for a table, and asked for an integer called sysctl.net.int."""
    for key in ("sysctl.net.ipv4.tcp_sack", 'sysctl."net.ipv4.tcp_sack"'):
        (one,) = files.load(write(tmp_path, MINIMAL), [f"{key}=0"])
        assert one.scenario.sysctl == {"net.ipv4.tcp_sack": 0}
    swept = files.load(write(tmp_path, MINIMAL), ["sweep={'sysctl.net.ipv4.tcp_sack' = [0, 1]}"])
    assert [point.scenario.sysctl["net.ipv4.tcp_sack"] for point in swept] == [0, 1]
    assert swept[0].name.endswith("[sysctl.net.ipv4.tcp_sack=0]")


def test_each_end_of_a_flow_is_told_its_own_keys(tmp_path: Path) -> None:
    more = "sndbuf = 65536\nnotsent_lowat = 4096\nrcvbuf = 131072\npace_mbit = 2.5\n"
    (flow,) = resolve.resolve(files.load(write(tmp_path, MINIMAL + more))[0]).flows
    sender = {"proto": "tcp", "pace_mbit": "2.5", "sndbuf": "65536", "notsent_lowat": "4096"}
    assert (flow.given("sender"), flow.given("receiver")) == (sender, {"proto": "tcp", "rcvbuf": "131072"})


EVENT = '[[event]]\nat_s = 1\nlink = "wire"\n'


def events(tmp_path: Path, text: str) -> list[Change]:
    (one,) = files.load(write(tmp_path, MINIMAL + text))
    return list(resolve.resolve(one).events)


def test_events_are_resolved_to_single_changes(tmp_path: Path) -> None:
    text = EVENT + 'every_s = 1.5\nway = "reverse"\ndelay_ms = [50, 20]\n' + EVENT + "rate_mbit = 4\nloss_percent = 0\n"
    delays = [Change(at_s=t, link="wire", way="reverse", delay_ms=d) for t, d in ((1, 50), (2.5, 20), (4, 50))]
    both = [Change(at_s=1, link="wire", way=way, rate_mbit=4, loss_percent=0) for way in ("forward", "reverse")]
    assert events(tmp_path, text) == [delays[0], *both, *delays[1:]]


def test_shares_of_a_links_rate(tmp_path: Path) -> None:
    text = MINIMAL.replace("[flow.main]", "reverse = { rate_mbit = 2 }\n[flow.main]")
    (one,) = files.load(write(tmp_path, text + EVENT + "every_s = 2\nrate_share = [0.5, 1]\n"))
    found = list(resolve.resolve(one).events)
    assert [(e.at_s, e.way, e.rate_mbit) for e in found] == [
        (1, "forward", 4),
        (1, "reverse", 1),
        (3, "forward", 8),
        (3, "reverse", 2),
    ]


def test_events_after_the_end_are_left_out(tmp_path: Path) -> None:
    assert events(tmp_path, EVENT.replace("at_s = 1", "at_s = 5") + "delay_ms = 1\n") == []
    assert events(tmp_path, EVENT.replace("at_s = 1", "at_s = 9") + "every_s = 1\ndelay_ms = 1\n") == []


def test_what_an_event_changes_for_a_while_comes_back(tmp_path: Path) -> None:
    """To what it was at that moment, whatever made it so."""
    text = "duration_s = 1\ndelay_ms = 50\njitter_ms = 2\nslot_ms = 5\nslot_pkts = 3\n"
    text += 'loss = { model = "gemodel", percent = 1, burst_pkts = 3 }\nrate_mbit = 4\n'
    text += "reorder_percent = 10\nreorder_gap_pkts = 5\n"
    long = MINIMAL.replace("queue_pkts = 20", "queue_pkts = 20, duplicate_percent = 2")
    (one,) = files.load(
        write(tmp_path, long + EVENT + text + EVENT.replace("at_s = 1", "at_s = 0.5") + "delay_ms = 20\n")
    )
    first, then, last = (c for c in resolve.resolve(one).events if c.way == "forward")
    assert (first.at_s, then.at_s, last.at_s) == (0.5, 1, 2)
    bursts = Loss("gemodel", 1, burst_pkts=3)
    same = {"delay_ms": 50, "jitter_ms": 2, "slot_ms": 5, "slot_pkts": 3, "loss": bursts, "rate_mbit": 4}
    assert then.values == same | {"reorder_percent": 10, "reorder_gap_pkts": 5}
    none = {"jitter_ms": 0, "slot_ms": None, "slot_pkts": None, "loss": Loss()}
    none |= {"reorder_percent": 0, "reorder_gap_pkts": None}
    assert last.values == none | {"delay_ms": 20, "rate_mbit": 8}
    assert resolve.resolve(one).impaired_later == {("wire", "forward"), ("wire", "reverse")}


def test_a_change_is_taken_back_before_another_is_made(tmp_path: Path) -> None:
    """At the same instant; and an end after the run does not happen."""
    text = (
        "every_s = 2\nduration_s = 1\ndelay_ms = [50, 80]\n" + EVENT.replace("at_s = 1", "at_s = 2") + "delay_ms = 7\n"
    )
    (one,) = files.load(write(tmp_path, MINIMAL.replace("duration_s = 5", "duration_s = 3.5") + EVENT + text))
    seen = [(c.at_s, c.delay_ms) for c in resolve.resolve(one).events if c.way == "forward"]
    assert seen == [(1, 50), (2, 10), (2, 7), (3, 80)]


def test_an_event_that_does_not_fit_the_link_as_it_is_then(tmp_path: Path) -> None:
    text = (
        MINIMAL.replace("queue_pkts = 20", "queue_pkts = 20, jitter_in_order = true") + EVENT + "reorder_percent = 5\n"
    )
    (one,) = files.load(write(tmp_path, text))
    with pytest.raises(LabError, match=r"event\.0, at 1 s: link\.wire\.forward: give jitter_in_order or reorder_perc"):
        resolve.resolve(one)


def test_many_changes_are_quick_to_resolve(tmp_path: Path) -> None:
    """A link that changes and changes back every 20 ms for five minutes."""
    text = "every_s = 0.02\nduration_s = 0.01\ndelay_ms = 50\n"
    (one,) = files.load(write(tmp_path, MINIMAL.replace("duration_s = 5", "duration_s = 300") + EVENT + text))
    begun = time.process_time()
    assert len(resolve.resolve(one).events) > 50_000
    assert time.process_time() - begun < 10


def test_keys_that_are_not_given_do_not_show_in_json(tmp_path: Path) -> None:
    """Results from before they were there keep their bytes; what is given comes back."""
    extra = ', aqm = "codel", mark_above_ms = 2, police_mbit = 5, ecn_bleach = "ce", blackhole_above_bytes = 1400'
    more = "[clock.d]\noffset_s = 5\n" + EVENT + "jitter_ms = 1\n"
    for text, said in ((MINIMAL, False), (MINIMAL.replace("queue_pkts = 20", "queue_pkts = 20" + extra) + more, True)):
        (one,) = files.load(write(tmp_path, text))
        job = Job(scenario=resolve.resolve(one), cc="cubic", cc_params={}, dir="x")
        words = ("mark_above_ms", "police_mbit", "ecn_bleach", "blackhole_above_bytes", "clock_offset", 'jitter_ms": 1')
        assert [word in job.as_json() for word in words] == [said] * len(words)
        assert from_json(job.as_json()) == job


def test_starts_are_drawn_from_the_seed(tmp_path: Path) -> None:
    """Evenly, each flow its own; a run never outlasts its end; without the key nothing is drawn."""
    text = MINIMAL.replace('dst = "d"', 'dst = "d"\nstart_s = 1\nstart_jitter_s = 2\ncount = 1000')
    (one,) = files.load(write(tmp_path, text))

    def flows(seed: int) -> tuple[Flow, ...]:
        return Job(scenario=resolve.resolve(one), cc="cubic", cc_params={}, dir="x", seed=seed).flows

    starts = sorted(flow.start_s for flow in flows(7))
    assert flows(7) == flows(7) != flows(8)
    assert max(abs(start - (1 + 2 * (i + 0.5) / 1000)) for i, start in enumerate(starts)) < 0.12
    assert all(flow.start_s + flow.duration_s == pytest.approx(5) for flow in flows(7))
    (one,) = files.load(write(tmp_path, MINIMAL))
    assert flows(7) == flows(8) == resolve.resolve(one).flows


def test_every_aqm_has_its_traits() -> None:
    assert set(AQMS) == set(get_args(Aqm))


def test_clocks_and_the_rest_of_a_link(tmp_path: Path) -> None:
    more = ", jitter_in_order = true, slot_ms = 5, slot_pkts = 8"
    text = MINIMAL.replace("queue_pkts = 20", "queue_pkts = 20" + more)
    (one,) = files.load(write(tmp_path, text + "[clock.d]\nskew_ppm = -200\n[clock.s]\nskew_ppm = 0\n"))
    resolved = resolve.resolve(one)
    assert resolved.clock == {"d": -200}
    way = resolved.links["wire"].forward
    assert (way.jitter_in_order, way.slot_ms, way.slot_pkts) == (True, 5, 8)
    assert resolved.links["wire"].offload is False


FAULTS = {
    "rate below range": ("rate_mbit = 8", "rate_mbit = 0", ["link.wire.forward.rate_mbit", "0", "0.001..100000"]),
    "rate above range": ("rate_mbit = 8", "rate_mbit = 1e9", ["rate_mbit", "1000000000.0", "0.001..100000"]),
    "route of no congestion control": (
        "[flow.main]",
        '[route.d]\ncongctl = "no name"\n[flow.main]',
        ["route.d", "congctl='no name'", "at most 15 characters"],
    ),
    "negative delay": ("delay_ms = 10", "delay_ms = -1", ["delay_ms", "-1", "0..100000"]),
    "empty queue": ("queue_pkts = 20", "queue_pkts = 0", ["queue_pkts", "1..10000000"]),
    "two queues": ("queue_pkts = 20", "queue_pkts = 20, queue_bdp = 1", ["queue_pkts or queue_bdp"]),
    "word for a number": ("duration_s = 5", 'duration_s = "long"', ["duration_s", "'long'"]),
    "unknown key": ("duration_s = 5", "duration_s = 5\nspeed = 3", ["speed"]),
    "key without its unit": ("duration_s = 5", "duration = 5", ["duration = 5", "did you mean duration_s?"]),
    "key of a table that is one itself": (
        "delay_ms = 10",
        "delay_ms = 10, loss_percent = 1",
        ["link.wire.forward.loss_percent = 1: there is no such key; did you mean loss?"],
    ),
    "begin of a key": ("rate_mbit = 8", "rate = 8", ["did you mean rate_mbit or "]),
    "unknown key in a link": ("delay_ms = 10", "delay = 10", ["link.wire.forward.delay", "did you mean delay_ms?"]),
    "unknown key of a loss": (
        "delay_ms = 10",
        "loss = { model = 'random', percen = 1 }",
        ["forward.loss.percen", "did you mean percent?"],
    ),
    "unknown key of an event": ("[link.wire]", EVENT + "delay = 5\n[link.wire]", ["event.0.delay", "delay_ms?"]),
    "flow to itself": ('dst = "d"', 'dst = "s"', ["flow.main", "src and dst are both 's'"]),
    "flow after the end": ('dst = "d"', 'dst = "d"\nstart_s = 5', ["flow.main", "begins at 5 s", "duration_s=5"]),
    "host without a link": ('hosts = ["s", "d"]', 'hosts = ["s", "d", "x"]', ["no link goes to x"]),
    "unknown node": ('dst = "d"', 'dst = "e"', ["flow.main", "'e'", "d, s"]),
    "ack_filter without cake": (
        "delay_ms = 10",
        'delay_ms = 10, aqm = "fq_codel", ack_filter = true',
        ["forward", "ack_filter needs aqm='cake', not 'fq_codel'"],
    ),
    "unknown aqm": ("delay_ms = 10", 'delay_ms = 10, aqm = "blue"', ["aqm", "'blue'", "fq_codel"]),
    "unknown loss model": ("delay_ms = 10", 'loss = { model = "x" }', ["loss.model", "'x'", "gemodel"]),
    "loss above 100": ("delay_ms = 10", 'loss = { model = "random", percent = 101 }', ["percent", "0..100"]),
    "bad cc name": ('src = "s"', 'src = "s"\ncc = "Not A Name"', ["flow.main", "'Not A Name'"]),
    "udp without a rate": ('src = "s"', 'src = "s"\nproto = "udp"', ["flow.main", "rate_mbit or rate_share"]),
    "udp with two rates": (
        'src = "s"',
        'src = "s"\nproto = "udp"\nrate_mbit = 1\nrate_share = 0.5',
        ["flow.main", "one of them"],
    ),
    "share out of range": (
        'src = "s"',
        'src = "s"\nproto = "udp"\nrate_share = 0',
        ["flow.main.rate_share", "0", "0.001..100"],
    ),
    "share for tcp": ('src = "s"', 'src = "s"\nrate_share = 0.5', ["flow.main", "udp flows"]),
    "event with two rates": (
        "[link.wire]",
        EVENT + "rate_mbit = 1\nrate_share = 0.5\n[link.wire]",
        ["event.0", "rate_mbit or rate_share"],
    ),
    "share of a rate that is not there": (
        "rate_mbit = 8, delay_ms = 10, queue_pkts = 20 }",
        "delay_ms = 10 }\n" + EVENT + "rate_share = 0.5",
        ["event.0", "link.wire.forward", "no rate_mbit"],
    ),
    "two windows": (
        "[link.wire]",
        "[route.s]\ncwnd_max_pkts = 5\ncwnd_max_bdp = 1\n[link.wire]",
        ["route.s", "cwnd_max_pkts or cwnd_max_bdp"],
    ),
    "window out of range": ("[link.wire]", "[route.s]\ncwnd_max_bdp = 0\n[link.wire]", ["cwnd_max_bdp", "0.001..1000"]),
    "missing hosts": ('hosts = ["s", "d"]', "", ["hosts: is required"]),
    "almost a link": (
        "[link.wire]",
        EVENT.replace("wire", "wir") + "delay_ms = 1\n[link.wire]",
        ["did you mean wire?"],
    ),
    "bottleneck that is no link": (
        "[link.wire]",
        '[measure]\nbottleneck = "a.b"\n[link.wire]',
        ["'a.b'", "wire.forward"],
    ),
    "offload with a delay": ("[link.wire]", "[link.wire]\noffload = true", ["link.wire", "offload", "another one"]),
    "slot out of range": ("delay_ms = 10", "slot_ms = 0", ["forward.slot_ms", "0.01..1000"]),
    "packets of no slot": ("delay_ms = 10", "slot_pkts = 3", ["slot_pkts=3 needs slot_ms"]),
    "order and reordering": (
        "delay_ms = 10",
        "jitter_in_order = true, reorder_percent = 1",
        ["jitter_in_order or reorder_percent"],
    ),
    "clock of nobody": ("[link.wire]", "[clock.e]\nskew_ppm = 1\n[link.wire]", ["clock", "'e'", "d, s"]),
    "impossible clock": ("[link.wire]", "[clock.d]\nskew_ppm = 1001\n[link.wire]", ["clock.d.skew_ppm", "-1000..1000"]),
    "event without a change": ("[link.wire]", EVENT + "[link.wire]", ["event.0", "delay_ms, rate_mbit, rate_share"]),
    "event of no link": (
        "[link.wire]",
        EVENT.replace("wire", "moon") + "delay_ms = 1\n[link.wire]",
        ["event.0.link", "'moon'", "wire"],
    ),
    "event out of range": (
        "[link.wire]",
        EVENT + "delay_ms = [1, -1]\n[link.wire]",
        ["event.0.delay_ms", "0..100000"],
    ),
    "event before the start": (
        "[link.wire]",
        EVENT.replace("1", "-1") + "delay_ms = 1\n[link.wire]",
        ["event.0.at_s", "0..86400"],
    ),
    "list that is not repeated": ("[link.wire]", EVENT + "delay_ms = [1, 2]\n[link.wire]", ["event.0", "every_s"]),
    "way of no link": ("[link.wire]", EVENT + 'delay_ms = 1\nway = "up"\n[link.wire]', ["event.0.way", "'up'", "both"]),
    "loss where there is no stage": (
        "rate_mbit = 8, delay_ms = 10, queue_pkts = 20 }",
        "rate_mbit = 8 }\n" + EVENT + "loss_percent = 100",
        ["event.0", "link.wire.forward", "give it a delay_ms"],
    ),
    "change of a rate that is not there": (
        "rate_mbit = 8, delay_ms = 10, queue_pkts = 20 }",
        "delay_ms = 10 }\n" + EVENT + "rate_mbit = 1",
        ["event.0", "link.wire.forward", "no rate_mbit"],
    ),
    "step of no AQM": (
        "delay_ms = 10",
        "mark_above_ms = 1",
        ["mark_above_ms=1 needs", "(fq_codel, codel, dualpi2), not fifo"],
    ),
    "step of fq, which lets packets pass unseen": (
        "delay_ms = 10",
        'aqm = "fq", mark_above_ms = 1',
        ["(fq_codel, codel, dualpi2), not fq"],
    ),
    "step of an AQM without one": (
        "delay_ms = 10",
        'aqm = "pie", mark_above_ms = 1',
        ["link.wire.forward", "mark_above_ms=1", "not pie"],
    ),
    "step out of range": ("delay_ms = 10", 'aqm = "codel", mark_above_ms = 0', ["mark_above_ms", "0.001..10000"]),
    "two steps": (
        "delay_ms = 10",
        'aqm = "codel", mark_above_ms = 1, aqm_options = { ce_threshold = "1ms" }',
        ["mark_above_ms or the aqm_options' ce_threshold"],
    ),
    "gap without reordering": ("delay_ms = 10", "reorder_gap_pkts = 5", ["reorder_gap_pkts=5 needs reorder_percent"]),
    "burst of no policer": ("delay_ms = 10", "police_burst_bytes = 9000", ["9000 needs police_mbit"]),
    "policer that passes nothing": (
        "delay_ms = 10",
        "police_mbit = 5, police_burst_bytes = 1499",
        ["link.wire", "forward: police_burst_bytes=1499", "mtu=1500"],
    ),
    "slow policer that passes nothing": ("delay_ms = 10", "police_mbit = 0.1", ["police_burst_bytes=1250", "mtu=1500"]),
    "black hole without effect": (
        "delay_ms = 10",
        "blackhole_above_bytes = 1500",
        ["link.wire", "blackhole_above_bytes=1500", "not below mtu=1500"],
    ),
    "unknown bleaching": ("delay_ms = 10", 'ecn_bleach = "ect"', ["ecn_bleach", "'ect'", "'all'"]),
    "offload with a policer": (
        "rate_mbit = 8, delay_ms = 10, queue_pkts = 20 }",
        "rate_mbit = 8, police_mbit = 5 }\noffload = true",
        ["link.wire", "offload", "another one"],
    ),
    "impossible offset": ("[link.wire]", "[clock.d]\noffset_s = 1e7\n[link.wire]", ["clock.d.offset_s", "1000000"]),
    "start after the end by chance": (
        'dst = "d"',
        'dst = "d"\nstart_s = 3\nstart_jitter_s = 2',
        ["flow.main", "may begin at 5 s", "duration_s=5"],
    ),
    "event with two losses": (
        "[link.wire]",
        EVENT + 'loss_percent = 1\nloss = { model = "random", percent = 1 }\n[link.wire]',
        ["event.0", "loss or loss_percent"],
    ),
    "event with half a slot": ("[link.wire]", EVENT + "slot_ms = 0.001\n[link.wire]", ["event.0", "0, 0.01..1000"]),
    "event longer than its interval": (
        "[link.wire]",
        EVENT + "delay_ms = 1\nevery_s = 2\nduration_s = 2\n[link.wire]",
        ["event.0", "duration_s=2", "every_s=2"],
    ),
    "unknown model in an event": (
        "[link.wire]",
        EVENT + 'loss = { model = "bursty" }\n[link.wire]',
        ["event.0.loss.0.model", "gemodel"],
    ),
    "wrong format": ("duration_s = 5", "duration_s = 5\nformat = 2", ["format"]),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.replace(" ", "-"))
def test_fault_is_named(tmp_path: Path, fault: str) -> None:
    old, new, words = FAULTS[fault]
    assert old in MINIMAL
    with pytest.raises(LabError) as caught:
        files.load(write(tmp_path, MINIMAL.replace(old, new)))
    for word in ["x.toml", *words]:
        assert word in str(caught.value)


def test_not_toml(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"x\.toml: not valid TOML"):
        files.load(write(tmp_path, "a = = 1"))


def test_unknown_scenario_says_which_is_meant() -> None:
    with pytest.raises(LabError, match=r"no scenario 'santacruz-basc'; did you mean santacruz-basic\?"):
        files.load("santacruz-basc")
    with pytest.raises(LabError, match="'hetlab list' shows all"):
        files.load("zzz")


def test_a_title_is_not_needed(tmp_path: Path) -> None:
    (one,) = files.load(write(tmp_path, MINIMAL.replace('title = "minimal"', "")))
    assert one.scenario.title == ""


def test_a_child_removes_what_its_base_has(tmp_path: Path) -> None:
    two = MINIMAL + '[flow.cross]\nsrc = "s"\ndst = "d"\n[variant.alone]\nremove = ["flow.cross"]\n'
    write(tmp_path, two, "parent")
    (child,) = files.load(write(tmp_path, 'base = "parent"\nremove = ["flow.cross", "variant"]\n', "child"))
    (alone,) = files.load(f"{tmp_path}/parent.toml@alone")
    assert list(child.scenario.flow) == list(alone.scenario.flow) == ["main"]
    for text, words in (
        ('base = "parent"\nremove = ["flow.none"]', "remove: there is no 'flow.none'"),
        (MINIMAL.replace("[link.wire]", 'remove = ["flow"]\n[link.wire]'), "there is no base"),
        ('base = "parent"\nremove = "flow"', "must be a list"),
    ):
        with pytest.raises(LabError, match=re.escape(words)):
            files.load(write(tmp_path, text))


def test_an_element_of_a_list_is_set_and_swept(tmp_path: Path) -> None:
    path = write(tmp_path, MINIMAL + EVENT + "delay_ms = 1\nevery_s = 1\n")
    (one,) = files.load(path, ["event.0.delay_ms=7"])
    assert one.scenario.event[0].delay_ms == (7,)
    swept = files.load(path, ['sweep={"event.0.delay_ms"=[[10, 20], [5]]}'])
    assert [p.scenario.event[0].delay_ms for p in swept] == [(10, 20), (5,)]
    assert [p.name for p in swept] == ["x[event.0.delay_ms=[10,20]]", "x[event.0.delay_ms=[5]]"]
    (second,) = files.load(f"{path}[event.0.delay_ms=[5]]", ['sweep={"event.0.delay_ms"=[[10, 20], [5]]}'])
    assert second.name == swept[1].name
    for wrong in ("event.1.delay_ms=7", "event.first.delay_ms=7"):
        with pytest.raises(LabError, match="one of 1 elements, 0 to 0"):
            files.load(path, [wrong])


def test_an_event_after_the_end_is_told(tmp_path: Path) -> None:
    (one,) = files.load(write(tmp_path, MINIMAL + EVENT + "delay_ms = 1\n"), ["event.0.at_s=6"])
    assert one.scenario.unreached() == ["event.0: at_s=6 is not before the end, duration_s=5: it does not happen"]


def test_a_steady_part_after_the_end_is_told(tmp_path: Path) -> None:
    (one,) = files.load(write(tmp_path, MINIMAL), ["measure.steady_from_s=5"])
    assert one.scenario.unreached() == [
        "measure.steady_from_s=5 is not before the end, duration_s=5: queue and delay have no statistics"
    ]


def test_circle(tmp_path: Path) -> None:
    write(tmp_path, 'base = "b"', "a")
    write(tmp_path, 'base = "a"', "b")
    with pytest.raises(LabError, match="circle"):
        files.load(str(tmp_path / "a.toml"))


VARIANTS = """
note = "as it is"
[sweep]
duration_s = [5, 6]
[variant.lossy]
title = "{title}, lossy"
note = "{note}, but lossy"
link.wire.forward.loss = { model = "random", percent = 1 }
[variant.once]
compare = ["reno"]
sweep = {}
[variant.wrong]
link.wire.speed = 3
"""


def with_variants(tmp_path: Path) -> str:
    """A file with variants; its tables come after the first ones of MINIMAL."""
    head, _, rest = MINIMAL.partition("[link.wire]")
    first, _, tables = VARIANTS.partition("[sweep]")
    return write(tmp_path, f"{head}{first}[link.wire]{rest}[sweep]{tables}")


def test_a_variant_keeps_the_sweep_unless_it_has_its_own(tmp_path: Path) -> None:
    file = with_variants(tmp_path)
    lossy = files.load(f"{file}@lossy")
    assert [one.name for one in lossy] == ["x@lossy[duration_s=5]", "x@lossy[duration_s=6]"]
    assert [one.scenario.title for one in lossy] == ["minimal, lossy"] * 2
    assert lossy[0].scenario.note == "as it is, but lossy"
    assert lossy[0].scenario.link["wire"].forward.loss.percent == 1
    assert lossy[0].scenario.link["wire"].forward.rate_mbit == 8, "what the variant does not name stays"
    (once,) = files.load(f"{file}@once")
    assert (once.name, once.scenario.compare, once.scenario.duration_s) == ("x@once", ("reno",), 5)
    assert files.load(file)[0].scenario.link["wire"].forward.loss.percent == 0


def test_a_point_of_a_sweep(tmp_path: Path) -> None:
    file = with_variants(tmp_path)
    (one,) = files.load(f"{file}@lossy[duration_s=6]")
    assert (one.name, one.scenario.duration_s) == ("x@lossy[duration_s=6]", 6)
    with pytest.raises(LabError, match=r"x@lossy: no point \[duration_s=7\] of its sweep over duration_s"):
        files.load(f"{file}@lossy[duration_s=7]")


def test_a_child_inherits_the_variants(tmp_path: Path) -> None:
    with_variants(tmp_path)
    child = write(tmp_path, 'base = "x"\ntitle = "child"\n[link.wire]\nforward = { rate_mbit = 2 }\n', "child")
    (one,) = files.load(f"{child}@lossy")
    assert (one.name, one.scenario.title) == ("child@lossy", "child, lossy")
    assert one.scenario.link["wire"].forward.rate_mbit == 2


def test_faults_of_variants_are_named(tmp_path: Path) -> None:
    file = with_variants(tmp_path)
    with pytest.raises(LabError, match=r"x\.toml@none: no variant 'none'; there are: lossy, once, wrong"):
        files.load(f"{file}@none")
    with pytest.raises(LabError, match=r"x\.toml@wrong: link\.wire\.speed"):
        files.load(f"{file}@wrong")
    with pytest.raises(LabError, match=r"variant: must be tables"):
        files.load(write(tmp_path, MINIMAL.replace("[link.wire]", "[variant]\nx = 1\n[link.wire]"), "y"))
    with pytest.raises(LabError, match=r"santacruz/scenarios/basic\.toml@no: no variant 'no'; there are: option"):
        files.load("santacruz-basic@no")


@pytest.mark.parametrize("bad", ["duration_s", "=3", "link.wire.ends.x=1"])
def test_bad_set(tmp_path: Path, bad: str) -> None:
    with pytest.raises(LabError, match="--set"):
        files.load(write(tmp_path, MINIMAL), [bad])


def test_no_path_between_hosts(tmp_path: Path) -> None:
    """The one in the middle is a host: it does not forward."""
    text = MINIMAL.replace('hosts = ["s", "d"]', 'hosts = ["s", "d", "m"]').replace(
        '["s", "d"]\nforward', '["s", "m"]\nforward'
    )
    (one,) = files.load(write(tmp_path, text + '[link.last]\nends = ["m", "d"]\n'))
    with pytest.raises(LabError, match="no path from s to d"):
        resolve.resolve(one)


@given(st.sampled_from(sorted(LIMITS)), st.floats(allow_nan=False, allow_infinity=False))
def test_limits_are_inclusive(name: str, value: float) -> None:
    from hetlab.model.limits import in_range

    low, high = LIMITS[name]
    if low <= value <= high:
        in_range(name, value)
    else:
        with pytest.raises(LabError, match="allowed range"):
            in_range(name, value)


@given(st.recursive(st.integers(), lambda c: st.dictionaries(st.sampled_from("abc"), c, max_size=3), max_leaves=8))
def test_merge_laws(tree: object) -> None:
    base = {"t": tree}
    assert files.merge(base, {}) == base
    assert files.merge({}, base) == base
    assert files.merge(base, base) == base
