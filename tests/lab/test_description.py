# SPDX-License-Identifier: GPL-2.0
"""Every key of the model shows in the page: a key that is added cannot be left out unnoticed."""

from dataclasses import fields, replace
from typing import Any, get_args, get_origin

import pytest

from hetlab.model.event import Change
from hetlab.model.flow import Flow
from hetlab.model.keys import Checked, keys_of
from hetlab.model.link import Direction, Link, Loss
from hetlab.model.scenario import Experiment, Measure
from hetlab.model.traces import Played
from hetlab.report.description import description, quantity
from hetlab.report.runs import Group

pytestmark = pytest.mark.fast

FLOW = Flow(src="s", dst="d", id=77, name="main", port=5099, duration_s=9, proto="udp", rate_mbit=1)
BASE = Experiment(
    name="x",
    hosts=("s", "d"),
    duration_s=33,
    links={"wire": Link(("s", "d"), forward=Direction(rate_mbit=10), reverse=Direction())},
    flows=(FLOW,),
    measure=Measure(),
)
PLAYED = Played(source="odd", hash="0", kinds=("opportunities",), period_s=43.21, mean_mbit=4.321)
# Values that nothing else on the page has; where a key needs another one beside it, that too
OWN: dict[tuple[type, str], dict[str, Any]] = {
    (Loss, "model"): {"model": "gemodel"},
    (Loss, "ber"): {"ber": 0.00123, "model": "ber"},
    (Loss, "percent"): {"percent": 12.3, "model": "random"},
    (Loss, "burst_pkts"): {"burst_pkts": 123, "model": "gemodel"},
    (Direction, "aqm"): {"aqm": "codel", "rate_mbit": 10},
    (Direction, "aqm_options"): {"aqm": "codel", "aqm_options": {"target": "123us"}, "rate_mbit": 10},
    (Direction, "ack_filter"): {"aqm": "cake", "ack_filter": True, "rate_mbit": 10},
    (Direction, "slot_pkts"): {"slot_ms": 5, "slot_pkts": 123},
    (Direction, "loss"): {"loss": Loss("random", 12.3)},
    (Direction, "mark_above_ms"): {"aqm": "codel", "mark_above_ms": 43.21, "rate_mbit": 10},
    (Direction, "reorder_gap_pkts"): {"reorder_percent": 5, "reorder_gap_pkts": 4321},
    (Direction, "police_burst_bytes"): {"police_mbit": 5, "police_burst_bytes": 4321},
    (Direction, "ecn_bleach"): {"ecn_bleach": "all"},
    (Direction, "blackhole_above_bytes"): {"blackhole_above_bytes": 1432},
    (Change, "loss"): {"loss": Loss("gemodel", 1.23, burst_pkts=4)},
    (Direction, "queue_bytes"): {"queue_bytes": 4321, "trace": "wifi"},
    (Direction, "rate_at_once"): {"rate_at_once": True, "rate_mbit": 10},
    (Experiment, "traces"): {"traces": {"wire.forward": PLAYED}},
    (Flow, "proto"): {"proto": "tcp"},
    (Flow, "workload"): {"workload": "replay"},
    (Flow, "parallel"): {"parallel": 123},
    (Flow, "ladder_mbit"): {"ladder_mbit": (43.21,)},
    (Flow, "abr"): {"abr": "throughput"},
    (Flow, "cc"): {"proto": "tcp", "cc": "vegas"},
    (Flow, "stack"): {"proto": "quic", "stack": "quinn"},
    (Change, "way"): {"way": "reverse"},
    (Measure, "bottleneck"): {"bottleneck": "wire.reverse"},
    (Measure, "pcap"): {"pcap": True},
}
SEEN_BY = {
    (Loss, "model"): "in bursts",
    (Direction, "ack_filter"): "ack filter",
    (Direction, "aqm_options"): "target=123us",
    (Direction, "loss"): "12.3 % random",
    (Direction, "ecn_bleach"): "ecn bleach all",
    (Change, "loss"): "loss 1.23 % in bursts of 4 pkts",
    (Flow, "proto"): "TCP",
    (Measure, "pcap"): "pcap files",
    (Measure, "bottleneck"): "bottleneck wire.reverse",
    (Change, "way"): "'1 s', 'wire.reverse'",
    (Experiment, "ipv6"): "IPv6",
    (Loss, "ber"): "0.00123",
    (Experiment, "traces"): "trace odd (opportunities, mean 4.321 Mbit/s, 43.21 s)",
}
# Not a property of what runs: filled in (queue_bdp), a bool that adds a list (owd), what the sections show (flows)
ELSEWHERE = {
    (Direction, "queue_bdp"),
    (Measure, "owd"),
    *((Link, name) for name in ("forward", "reverse")),
    *((Experiment, name) for name in ("links", "flows", "events", "measure", "name", "title")),
}


def text_of(experiment: Experiment) -> str:
    return str(description(Group("x", experiment, "x")))


def with_one(part: Checked) -> Experiment:
    """The experiment with this part in it."""
    if isinstance(part, Loss):
        part = Direction(rate_mbit=10, loss=part)
    if isinstance(part, Direction):
        part = replace(BASE.links["wire"], forward=part)
    if isinstance(part, Link):
        return replace(BASE, links={"wire": part})
    if isinstance(part, Flow):
        return replace(BASE, flows=(part,))
    if isinstance(part, Change):
        return replace(BASE, events=(part,))
    return replace(BASE, measure=part) if isinstance(part, Measure) else part  # type: ignore[return-value]


PLAIN: dict[Any, Any] = {int: 4321, float: 43.21, str: "odd", bool: True}


def value_of(hint: Any) -> Any:
    """A value of a type, unlike any default."""
    parts = get_args(hint)
    if get_origin(hint) is dict:
        return {"odd": PLAIN.get(parts[1], 4321)}
    if get_origin(hint) is tuple:
        return (("odd", "pair"),) if get_origin(parts[0]) is tuple else ("odd", "pair")
    return PLAIN[parts[0] if parts else hint]


def words_of(name: str, value: Any) -> str:
    """What the page says of such a value."""
    if value is True:
        return quantity(name, True)
    while isinstance(value, dict | tuple):
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return f"{value:g}" if isinstance(value, float) else str(value)


EMPTY: dict[type, Any] = {
    Loss: Loss(),
    Direction: Direction(),
    Link: BASE.links["wire"],
    Flow: FLOW,
    Change: Change(at_s=1, link="wire", way="forward", delay_ms=5),
    Measure: Measure(),
    Experiment: BASE,
}
KEYS = [(of, name) for of in EMPTY for name, _hint, _key in keys_of(of) if (of, name) not in ELSEWHERE]


@pytest.mark.parametrize(("of", "name"), KEYS, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_every_key_shows(of: type, name: str) -> None:
    hints = {key: hint for key, hint, _key in keys_of(of)}
    given = OWN.get((of, name)) or {name: value_of(hints[name])}
    shown = text_of(with_one(replace(EMPTY[of], **given)))
    wanted = SEEN_BY.get((of, name)) or words_of(name, given[name])
    assert wanted in shown
    assert wanted not in text_of(with_one(EMPTY[of])), f"{wanted!r} shows without it"


def test_no_key_is_forgotten_here() -> None:
    assert {name for of in EMPTY for name in (f.name for f in fields(of))} >= {name for _of, name in ELSEWHERE}
