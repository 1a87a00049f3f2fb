# SPDX-License-Identifier: GPL-2.0
"""hybla_ext where it has the whole window: what the stack does for others, and hostile streams of ACKs; its state."""

import json
from pathlib import Path

import pytest

from commands import Hetlab, Run, sets

pytestmark = pytest.mark.virtual
GUEST = Path(__file__).with_name("hybla_guest.py")
RTT_US = 300_000

LINKS = """base = "base"
title = "test"
routers = ["r1", "r2"]
duration_s = {duration_s}
[link.access]
ends = ["s", "r1"]
forward = {{ rate_mbit = 1000 }}
reverse = {{ rate_mbit = 100 }}
[link.narrow]
ends = ["r1", "r2"]
forward = {{ {forward} }}
reverse = {{ {reverse} }}
[link.exit]
ends = ["r2", "d"]
forward = {{ rate_mbit = 1000 }}
[measure]
steady_from_s = {steady_from_s}
sample_ms = 500
owd = false
"""


def guest(hetlab: Hetlab, case: str) -> tuple[dict[str, int], dict[str, int]]:
    """What the connection says before and after."""
    done = hetlab("exec", "--", "python3", str(GUEST), case)
    assert done.returncode == 0, done.stderr
    before, after = map(json.loads, done.stdout.splitlines())
    return before, after


def test_idle_time_takes_the_window(hetlab: Hetlab) -> None:
    before, after = guest(hetlab, "idle")
    assert before["cwnd"] > 100
    assert after["cwnd"] <= 10 and after["unacked"] < before["cwnd"] / 4
    assert after["ssthresh"] >= before["cwnd"] / 2


def test_all_lost_is_congestion(hetlab: Hetlab) -> None:
    before, after = guest(hetlab, "outage")
    assert before["cwnd"] > 100
    assert after["ssthresh"] <= 0.8 * before["cwnd"]


def test_a_socket_that_connects_again_begins_anew(hetlab: Hetlab) -> None:
    before, after = guest(hetlab, "again")
    assert before["minrtt_us"] == pytest.approx(RTT_US, rel=0.01)
    assert after["minrtt_us"] == pytest.approx(RTT_US, rel=0.01)
    assert 10 <= after["cwnd"] < before["cwnd"]


@pytest.mark.parametrize("kind", ["options", "mptcp"])
@pytest.mark.parametrize("cc", ["hybla_ext", "hybla_paper", "westwood_fr", "westwood_gfr"])
def test_options_in_mid_connection_keep_the_state(hetlab: Hetlab, kind: str, cc: str) -> None:
    """The same name once more, too; MPTCP carries options over to its subflows. A state that began anew has no rtt."""
    before, after = guest(hetlab, f"{kind}:{cc}")
    assert before["cwnd"] > 20 and before["count"] > 0 and before["rtt_us"] > 0
    assert before["minrtt_us"] == pytest.approx(RTT_US, rel=0.01)
    assert after == before | {"what": "after"}


def test_bunches_of_acks_are_no_fast_path(run_json: Run, tmp_path: Path) -> None:
    """ACKs in slots of 20 ms, 5 us apart: six of them would be a path of 2 Gbit/s."""
    satellite = "rate_mbit = 20, delay_ms = 300, queue_bdp = 1"
    links = LINKS.format(
        duration_s=12, steady_from_s=0, forward=satellite, reverse="rate_mbit = 1000, delay_ms = 300, slot_ms = 20"
    )
    path = tmp_path / "bunches.toml"
    path.write_text(links + "[flow.main]\nbytes = 10_000_000\n")
    reno, ours = run_json(path, "--cc", "reno", "--cc", "hybla_ext", "--machines", "1", "--out", tmp_path)
    sent_again = {r["cc"]: r["flows"][0]["bytes_retrans"] / r["flows"][0]["bytes_sent"] for r in (reno, ours)}
    assert sent_again["hybla_ext"] <= max(sent_again["reno"], 0.01)
    assert ours["flows"][0]["complete"]


@pytest.mark.parametrize(("slot_ms", "believed"), [(0.2, True), (5, False)])
def test_a_train_of_less_than_1_ms(run_json: Run, tmp_path: Path, slot_ms: float, believed: bool) -> None:
    """150 Mbit/s: believed where the rest of the first window shows no longer slots; else the rate is looked for."""
    links = LINKS.format(
        duration_s=20,
        steady_from_s=0,
        forward="rate_mbit = 150, delay_ms = 260, queue_bdp = 0.5",
        reverse=f"rate_mbit = 150, delay_ms = 260, slot_ms = {slot_ms}",
    )
    path = tmp_path / "train.toml"
    path.write_text(links + "[flow.main]\nbytes = 40_000_000\n")
    (run,) = run_json(path, "--cc", "hybla_ext", "--out", tmp_path)
    (flow,) = run["flows"]
    assert flow["retransmits"] == 0
    assert (flow["end_s"] < 5.5) is believed


def test_a_path_that_gets_short_makes_it_reno(run_json: Run, tmp_path: Path) -> None:
    """From 40 to 20 ms, below RTT0, a buffer of 3 ms: losses are no longer the link's."""
    narrow = "rate_mbit = 50, delay_ms = 20"
    links = LINKS.format(duration_s=60, steady_from_s=20, forward=f"{narrow}, queue_pkts = 12", reverse=narrow)
    others = '[flow.other]\nsrc = "s"\ndst = "d"\ncc = "reno"\ncount = 3\nstart_s = 0.1\nstagger_s = 0.2\n'
    event = '[[event]]\nat_s = 8\nlink = "narrow"\ndelay_ms = 10\n'
    path = tmp_path / "short.toml"
    path.write_text(links + others + event)
    (run,) = run_json(path, "--cc", "hybla_ext", "--out", tmp_path)
    ours, *reno = (flow["steady_goodput_mbit"] for flow in run["flows"])
    assert ours <= 2 * sum(reno) / 3


FORTH, BACK = "link.bottleneck.forward", "link.bottleneck.reverse"


@pytest.mark.parametrize(("mbit", "way_ms", "percent"), [(80, 25, 1.5), (30, 40, 2)])
def test_losses_of_the_link_take_no_more_than_our_own_queue(
    run_json: Run, tmp_path: Path, mbit: int, way_ms: int, percent: float
) -> None:
    """0.71 and 0.72 of the link, before the half of a window that each queue of our own had cost."""
    link = {f"{FORTH}.rate_mbit": mbit, f"{FORTH}.delay_ms": way_ms, f"{BACK}.delay_ms": way_ms, "sweep": "{}"}
    link |= {f"{FORTH}.loss.percent": percent, f"{FORTH}.queue_bdp": 1.5}
    (run,) = run_json("any_link-border", "--cc", "hybla_ext", *sets(link), "--out", tmp_path)
    assert run["flows"][0]["steady_goodput_mbit"] >= 0.85 * mbit * (1 - percent / 100) * 1448 / 1500


def test_a_queue_of_others_is_not_ours(run_json: Run, tmp_path: Path) -> None:
    """An AQM's losses lie as a link's: 2.6 to 3.0 of a fair share if each queue is asked whether it is ours."""
    aqm = sets({f"{FORTH}.aqm": "codel", f"{FORTH}.queue_pkts": 50, "sweep": "{}"})
    (run,) = run_json("any_link-beside-reno", "--cc", "hybla_ext", *aqm, "--out", tmp_path)
    flows = run["flows"]
    ours = sum(flow["steady_goodput_mbit"] for flow in flows if flow["name"].startswith("main"))
    assert ours * len(flows) <= 1.6 * sum(flow["steady_goodput_mbit"] for flow in flows)


@pytest.mark.parametrize("start_s", [0, 1])
def test_a_path_that_gets_shorter_has_no_queue(run_json: Run, tmp_path: Path, start_s: int) -> None:
    """From 56 to 32 to 70 to 44 ms: the window of before came back after each probe, and 27 to 35 ms of queue."""
    times = sets({"flow.main.start_s": start_s, "duration_s": 65, "measure.steady_from_s": 58})
    (run,) = run_json(f"real_networks-leo[{FORTH}.jitter_ms=0]", "--cc", "hybla_ext", *times, "--out", tmp_path)
    assert run["flows"][0]["steady_goodput_mbit"] >= 0.95 * 150 * 1448 / 1500
    assert run["queueing_ms"]["p95"] <= 15


@pytest.mark.parametrize(("delay_ms", "spaced"), [(0.2, False), (20, True)])
def test_paths_of_less_than_1_ms_are_not_spaced(run_json: Run, tmp_path: Path, delay_ms: float, spaced: bool) -> None:
    """As with pacing=0 there, to the last digit, and not on longer ones."""
    narrow = f"rate_mbit = 50, delay_ms = {delay_ms}"
    links = LINKS.format(duration_s=3, steady_from_s=0, forward=f"{narrow}, queue_pkts = 12", reverse=narrow)
    path = tmp_path / "spacing.toml"
    path.write_text(links + "[flow.main]\nbytes = 10_000_000\n")
    ways = [word for pacing in range(2) for word in ("--cc", f"hybla_ext:pacing={pacing}")]
    runs = run_json(path, *ways, "--machines", "1", "--out", tmp_path)
    without, with_it = ([r["flows"][0], r["queue"]] for r in runs)
    assert (without != with_it) is spaced


RESUMED = """[flow.first]
src = "s"
dst = "d"
bytes = 20_000_000
[flow.main]
bytes = 20_000_000
start_s = 20
[sysctl]
"net.ipv4.tcp_rmem" = "4096 67108864 67108864"
"net.ipv4.tcp_wmem" = "4096 67108864 67108864"
"""


@pytest.mark.parametrize(("resume_s", "jumps"), [(0, False), (5, False), (600, True)])
def test_a_path_is_remembered_so_long(run_json: Run, tmp_path: Path, resume_s: int, jumps: bool) -> None:
    """200 Mbit/s, 300 ms, 20 s apart: the second transfer is as the first one, or two round trips and more faster."""
    narrow = "rate_mbit = 200, delay_ms = 150"
    links = LINKS.format(duration_s=30, steady_from_s=0, forward=f"{narrow}, queue_bdp = 1", reverse=narrow)
    path = tmp_path / "resumed.toml"
    path.write_text(links + RESUMED)
    (run,) = run_json(path, "--cc", f"hybla_ext:resume_s={resume_s}", "--out", tmp_path)
    took_s = {flow["name"]: flow["end_s"] - flow["start_s"] for flow in run["flows"] if flow["complete"]}
    saved_s = took_s["first"] - took_s["main"]
    assert saved_s > 0.6 if jumps else abs(saved_s) < 0.01, took_s


def test_a_jump_into_a_slower_path_is_given_up(run_json: Run, tmp_path: Path) -> None:
    """Bunched ACKs hide that a tenth of 200 Mbit/s is left: Safe Retreat, which loses no more than the jump.

    That is half of the 5000 packets that the path carried before (RFC 9959), less its queue of 500. Slow start that
    looks for the rate loses none, reno's 1012.
    """
    narrow = "rate_mbit = 200, delay_ms = 150"
    slow = '[[event]]\nat_s = 15\nlink = "narrow"\nrate_mbit = 20\n'
    links = LINKS.format(
        duration_s=60, steady_from_s=0, forward=f"{narrow}, queue_pkts = 500", reverse=f"{narrow}, slot_ms = 20"
    )
    path = tmp_path / "retreat.toml"
    path.write_text(links + RESUMED + slow)
    ways = [word for resume_s in (0, 600) for word in ("--cc", f"hybla_ext:resume_s={resume_s}")]
    runs = run_json(path, *ways, "--machines", "1", "--out", tmp_path)
    without, resumed = (next(flow for flow in run["flows"] if flow["name"] == "main") for run in runs)
    assert resumed["complete"] and resumed["end_s"] <= 1.05 * without["end_s"]
    assert 0 < resumed["retransmits"] <= 5000 / 2 - 500
    assert resumed["retransmits"] != without["retransmits"], "no jump"
