# SPDX-License-Identifier: GPL-2.0
"""Which qdiscs a link becomes, without making one: order, place, read-back."""

from typing import Any, cast

import pytest

from hetlab.emulation.link import shell
from hetlab.emulation.qdiscs import Qdisc, delay_qdisc, mismatch, plan, rate_qdiscs, shown
from hetlab.errors import LabError
from hetlab.model.link import Direction, Loss

pytestmark = pytest.mark.fast


def test_fifo_is_netem_with_one_more() -> None:
    (q,) = rate_qdiscs(Direction(rate_mbit=1.5, queue_pkts=17), 1500, "x")
    assert q.args == "root handle 1: netem limit 18 rate 1500000bit -14"
    assert q.expect["rate.rate"] == 187_500


@pytest.mark.parametrize(
    ("wanted", "word", "shown"), [(True, "ack-filter", "enabled"), (False, "no-ack-filter", "disabled")]
)
def test_cake_with_and_without_its_ack_filter(wanted: bool, word: str, shown: str) -> None:
    """Said either way, and read back."""
    (q,) = rate_qdiscs(Direction(rate_mbit=4, aqm="cake", ack_filter=wanted, aqm_options={"rtt": "1000ms"}), 1500, "x")
    assert q.args == f"root handle 1: cake bandwidth 4000000bit overhead -14 {word} besteffort rtt 1000ms"
    options = {"bandwidth": 500_000, "overhead": -14, "ack-filter": shown}
    assert mismatch(q, [{"kind": "cake", "dev": "x", "options": options}]) == ""
    other = {"kind": "cake", "dev": "x", "options": options | {"ack-filter": "aggressive"}}
    assert mismatch(q, [other]) == f"ack-filter: wanted {shown}, got aggressive"


def test_only_cake_has_an_ack_filter() -> None:
    with pytest.raises(LabError, match="ack_filter needs aqm='cake', not 'fq_codel'"):
        Direction(rate_mbit=1, aqm="fq_codel", ack_filter=True)


def test_dualpi2_is_made_by_hetreplay() -> None:
    """tc of Debian 12 and 13 does not know it; times are the kernel's microseconds."""
    options: dict[str, str | int | float] = {"target": "20ms", "coupling_factor": 3, "any_ect": ""}
    way = Direction(rate_mbit=4, aqm="dualpi2", queue_pkts=70, mark_above_ms=1.5, aqm_options=options)
    shaper, aqm = rate_qdiscs(way, 1500, "x")
    assert (shaper.kind, shaper.by_hetreplay, aqm.by_hetreplay) == ("tbf", False, True)
    wanted = {"limit_pkts": 70, "target_us": 20_000, "coupling": 3, "ecn_mask": 3, "step_us": 1500}
    words = " ".join(f"{key}={value}" for key, value in wanted.items())
    assert aqm.args == f"kind=dualpi2 parent=1:1 handle=10: {words}"
    answer = {"kind": "dualpi2", "dev": "x", "options": {**wanted, "coupling": 2}}
    assert mismatch(aqm, [answer]) == "coupling: wanted 3, got 2"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"blue": 1}, "dualpi2 has no 'blue' here; there are: target, tupdate, step_thresh"),
        ({"target": "soon"}, "target = 'soon': a time such as \"15ms\", at most 10000000 us"),
        ({"tupdate": "2s"}, "at most 1000000 us"),
        ({"coupling_factor": 0.5}, "a whole number, 1..255"),
        ({"any_ect": 1}, "a word without a value"),
        ({"any_ect": "", "l4s_ect": ""}, "give l4s_ect or any_ect, not both"),
        ({"step_thresh": "1ms"}, "give mark_above_ms or the aqm_options' step_thresh, not both"),
    ],
)
def test_options_of_dualpi2_are_checked_before_anything_boots(options: dict[str, Any], said: str) -> None:
    step = {"mark_above_ms": 1.0} if "step_thresh" in options else {}
    with pytest.raises(LabError, match=said):
        Direction(rate_mbit=1, aqm="dualpi2", aqm_options=options, **step)  # type: ignore[arg-type]


def test_what_tc_writes_of_an_unknown_qdisc_is_no_json() -> None:
    said = '\n[{"kind":"tbf","options":{}},{"kind":"dualpi2","options":{[Unknown qdisc, optlen=92] }}]\n{"dev":"x"}\n'
    assert [(q["kind"], q["options"]) for q in shown(said)] == [("tbf", {}), ("dualpi2", {})]


def test_no_rate_no_qdisc() -> None:
    assert rate_qdiscs(Direction(), 1500, "x") == []
    assert delay_qdisc(Direction(rate_mbit=1), 1500, "x") == []


def test_delay_is_apart_from_the_rate() -> None:
    (q,) = delay_qdisc(Direction(rate_mbit=1, delay_ms=40), 1500, "x")
    assert "delay 40000us" in q.args
    assert "rate" not in q.args


@pytest.mark.parametrize(
    ("direction", "from_host", "near", "far", "rate_far"),
    [
        (Direction(rate_mbit=1, delay_ms=5), False, 1, 1, False),
        (Direction(rate_mbit=1, delay_ms=5), True, 1, 1, True),
        (Direction(rate_mbit=1), True, 0, 1, True),
        (Direction(rate_mbit=1, delay_ms=5, loss=Loss("random", 1)), True, 1, 1, False),
        (Direction(), False, 0, 0, False),
        (Direction(rate_mbit=1, aqm="fq_codel"), False, 2, 0, False),
    ],
)
def test_place(direction: Direction, from_host: bool, near: int, far: int, rate_far: bool) -> None:
    p = plan(direction, 1500, "n", "f", from_host)
    assert (len(p.near), len(p.far), p.rate_far) == (near, far, rate_far)


def test_loss_always_follows_the_queue() -> None:
    p = plan(Direction(rate_mbit=1, loss=Loss("ber", ber=1e-6)), 1500, "n", "f", True)
    assert p.near[0].expect.keys() >= {"rate.rate"}
    assert "loss-random.loss" in p.far[0].expect


def test_a_rate_keeps_order_and_slots_follow_the_queue() -> None:
    order = Direction(rate_mbit=1, delay_ms=20, jitter_ms=5, jitter_in_order=True, slot_ms=5, slot_pkts=8)
    p = plan(order, 1500, "n", "f", True)
    assert p.far[0].args == (
        "root handle 1: netem limit 1000000 delay 20000us 5000us rate 100000000000bit slot 5000us 5000us packets 8"
    )
    assert p.far[0].expect["slot.packets"] == 8
    assert not p.rate_far


def test_a_running_stage_may_come_to_nothing() -> None:
    (q,) = delay_qdisc(Direction(rate_mbit=1), 1500, "x", running=True)
    assert "delay 0us" in q.args
    assert mismatch(q, [{"kind": "netem", "dev": "x", "options": {"limit": 1_000_000}}]) == ""
    left = {"limit": 1_000_000, "loss-random": {"loss": 1}}
    assert "loss-random" in mismatch(q, [{"kind": "netem", "dev": "x", "options": left}])


def test_bit_errors() -> None:
    assert Loss("ber", ber=1e-6).probability(1000) == pytest.approx(1 / 125, rel=5e-3)
    assert Loss("ber", ber=1e-5).probability(1000) == pytest.approx(1 / 13, rel=1e-2)


def test_aqm_sits_below_a_shaper_that_allows_for_the_header() -> None:
    shaper, aqm = rate_qdiscs(Direction(rate_mbit=10, aqm="red", queue_pkts=50), 1500, "x")
    assert shaper.kind == "tbf"
    assert shaper.expect["rate"] == pytest.approx(10e6 * 1514 / 1500 / 8, rel=1e-6)
    assert aqm.args.startswith("parent 1:1 handle 10: red limit 75700 min 7570 max 22710")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Direction(rate_mbit=0),
        lambda: Direction(rate_mbit=1, queue_pkts=0),
        lambda: Direction(aqm="red"),
        lambda: Direction(rate_mbit=1, aqm=cast("Any", "blue")),
        lambda: Direction(delay_ms=-1),
        lambda: Direction(slot_pkts=3),
        lambda: Direction(slot_ms=0),
        lambda: Loss("none", percent=101),
        lambda: Loss(cast("Any", "weather")),
        lambda: Loss("gemodel", burst_pkts=0.5),
    ],
)
def test_bad_values(make: object) -> None:
    with pytest.raises(LabError):
        make()  # type: ignore[operator]


def test_read_back() -> None:
    want = Qdisc("x", "", "netem", {"limit": 18, "rate.rate": 187_500})
    good = {"kind": "netem", "dev": "x", "options": {"limit": 18, "rate": {"rate": 187_500}}}
    assert mismatch(want, [good]) == ""
    bad = {"kind": "netem", "dev": "x", "options": {"limit": 18, "rate": {"rate": 125_000}}}
    assert "rate.rate: wanted 187500, got 125000" in mismatch(want, [bad])
    assert "no netem on x" in mismatch(want, [])
    assert "got None" in mismatch(want, [{"kind": "netem", "dev": "x", "options": {}}])


class Answering:
    """A node whose shell fails with these words."""

    name = "r1"

    def __init__(self, said: str) -> None:
        self.said = said

    def cmd(self, _script: str) -> str:
        return f"{self.said}\nstatus=1"


def test_a_kernel_without_netem_is_named() -> None:
    with pytest.raises(LabError, match=r"lacks one of the modules .*sch_netem.*(?s:.*)tc qdisc add"):
        shell(cast(Any, Answering("Error: Specified qdisc kind is unknown.")), "tc qdisc add")
    with pytest.raises(LabError) as caught:
        shell(cast(Any, Answering('Illegal "limit"')), "tc qdisc add")
    assert "module" not in str(caught.value)
