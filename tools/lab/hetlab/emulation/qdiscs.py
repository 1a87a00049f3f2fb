# SPDX-License-Identifier: GPL-2.0
"""The qdiscs of a link's direction: the arguments of tc, and what tc must then report.

Rate and queue are one qdisc, propagation delay, jitter and loss another one
behind it: in a single netem, packets in flight would count against the queue.

    fifo   netem rate R -14 limit queue+1    (exact drop-tail, within 1 us)
    trace  replay, or replay + the AQM       (see hetlab.emulation.replay)
    AQM    tbf + the AQM                     (one packet leaves early; dualpi2 by hetreplay)
    delay, jitter, loss   netem on an ifb at the receiving end
    policer, ECN bleaching, black hole   a BPF program before that netem

A host that sends has its rate on the receiving end too, behind the delay
(a constant delay and a FIFO commute): its own stack then sees no local drop and
no back-pressure, like a host behind a switch.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from hetlab.emulation import replay
from hetlab.model import dualpi2
from hetlab.model.limits import in_range
from hetlab.model.link import AQMS, Direction, Loss
from hetlab.model.trace import Trace

ETHERNET_HEADER = 14
DELAY_LIMIT_PKTS = 1_000_000
CAKE_FILTERS = {False: "disabled", True: "enabled"}  # as tc shows them
# In netem a rate keeps the order of packets; this one costs a full packet 0.1 us
ORDERLY_BIT = 100_000_000_000
# What tc puts between the braces of a qdisc that it does not know, also into JSON
UNKNOWN = re.compile(r"\[Unknown qdisc, optlen=\d+\] ")


@dataclass(frozen=True)
class Qdisc:
    """A tc command (without ``tc qdisc add``), or one of hetreplay, and what must be read back."""

    dev: str
    args: str
    kind: str
    expect: dict[str, Any]
    tables: Trace | None = None

    @property
    def by_hetreplay(self) -> bool:
        """Whether tc does not know it: it has tables, or is dualpi2."""
        return self.tables is not None or self.kind == dualpi2.KIND


def shown(said: str) -> list[dict[str, Any]]:
    """What tc -j shows of qdiscs, among other lines."""
    text = UNKNOWN.sub("", said)
    found: list[dict[str, Any]] = json.JSONDecoder().raw_decode(text, text.index("[{"))[0]
    return found


def rate_qdiscs(d: Direction, mtu: int, dev: str) -> list[Qdisc]:
    """Rate and queue of a direction on device ``dev``; empty without a rate."""
    if table := replay.stages(d, mtu).queue:
        args, expect = replay.queue_args(d, -ETHERNET_HEADER)
        own = Qdisc(dev, args, replay.KIND, expect | replay.shown(table), table)
        return [own] if d.aqm == "fifo" else [own, _aqm(d, mtu, dev, table.tables[0].mean_mbit)]
    if d.rate_mbit is None:
        return []
    bit = round(d.rate_mbit * 1e6)
    if d.aqm == "fifo":
        limit = d.limit_pkts + 1
        return [
            Qdisc(
                dev,
                f"root handle 1: netem limit {limit} rate {bit}bit -{ETHERNET_HEADER}",
                "netem",
                {"limit": limit, "rate.rate": bit // 8, "rate.packetoverhead": -ETHERNET_HEADER},
            )
        ]
    if d.aqm == "cake":
        return [_cake(d, dev, bit)]
    return [_tbf(d, mtu, dev, bit), _aqm(d, mtu, dev, d.rate_mbit)]


def _cake(d: Direction, dev: str, bit: int) -> Qdisc:
    """Its own shaper, which counts IP packets; the filter drops ACKs of a flow that a later one makes needless."""
    words = _options({"flowmode": "besteffort", **d.aqm_options})
    filtering = "ack-filter" if d.ack_filter else "no-ack-filter"
    return Qdisc(
        dev,
        f"root handle 1: cake bandwidth {bit}bit overhead -{ETHERNET_HEADER} {filtering} {words}",
        "cake",
        {"bandwidth": bit // 8, "overhead": -ETHERNET_HEADER, "ack-filter": CAKE_FILTERS[d.ack_filter]},
    )


def _options(options: dict[str, str | int | float]) -> str:
    """``key value`` pairs; an empty value or the key flowmode is a bare word."""
    words = [f"{v}" if k == "flowmode" else f"{k} {v}".strip() for k, v in options.items()]
    return " ".join(words)


def _tbf(d: Direction, mtu: int, dev: str, bit: int) -> Qdisc:
    """Shaper above an AQM; it counts the Ethernet header, so the rate allows for it."""
    gross = round(bit * (mtu + ETHERNET_HEADER) / mtu)
    burst = mtu + 2 * ETHERNET_HEADER
    limit = (d.limit_pkts + 1) * (mtu + ETHERNET_HEADER) + burst
    return Qdisc(dev, f"root handle 1: tbf rate {gross}bit burst {burst} limit {limit}", "tbf", {"rate": gross // 8})


def _aqm(d: Direction, mtu: int, dev: str, rate_mbit: float) -> Qdisc:
    """The AQM below the shaper; RED takes thresholds in packets of mtu bytes."""
    if d.aqm == dualpi2.KIND:
        return _dualpi2(d, dev)
    parent = f"parent 1:1 handle 10: {d.aqm}"
    if d.aqm != "red":
        step, expect = _step(d)
        args = f"{parent} limit {d.limit_pkts} {_options(d.aqm_options | step)}"
        return Qdisc(dev, args, d.aqm, {"limit": d.limit_pkts} | expect)
    opts = {"min_pkts": 5, "max_pkts": 15, "probability": 0.1, "ecn": 0} | d.aqm_options
    in_range("probability", float(opts["probability"]))
    size = mtu + ETHERNET_HEADER
    low, high = int(opts["min_pkts"]), int(opts["max_pkts"])
    limit = d.limit_pkts * size
    burst = max(math.ceil((2 * low + high) / 3), 1)
    args = f"limit {limit} min {low * size} max {high * size} avpkt {size} burst {burst}"
    return Qdisc(
        dev,
        f"{parent} {args} probability {opts['probability']} bandwidth {rate_mbit}Mbit"
        + (" ecn" if int(opts["ecn"]) else ""),
        "red",
        {"limit": limit, "min": low * size, "max": high * size},
    )


def _dualpi2(d: Direction, dev: str) -> Qdisc:
    """The coupled queues, for classic and for L4S packets; what is not given is the kernel's default."""
    wanted = {"limit_pkts": d.limit_pkts} | dualpi2.wanted(d.aqm_options)
    if d.mark_above_ms is not None:
        wanted["step_us"] = round(d.mark_above_ms * 1000)
    words = " ".join(f"{key}={value}" for key, value in wanted.items())
    return Qdisc(dev, f"kind={dualpi2.KIND} parent=1:1 handle=10: {words}", dualpi2.KIND, dict(wanted))


def _step(d: Direction) -> tuple[dict[str, str | int | float], dict[str, int]]:
    """The option of an AQM that marks above a waiting time, and what tc shows of it, in us; empty without a step."""
    if d.mark_above_ms is None:
        return {}, {}
    us, traits = round(d.mark_above_ms * 1000), AQMS[d.aqm]
    kept_us = us * 1000 // traits.tick_ns * traits.tick_ns // 1000
    return {traits.step: f"{us}us"}, {traits.step: kept_us}


def delay_qdisc(d: Direction, mtu: int, dev: str, running: bool = False, slotted: bool = False) -> list[Qdisc]:
    """Delay, jitter and loss of a direction on device ``dev``; empty without any, unless it is ``running``.

    ``slotted``: it has slots, which netem keeps until it is told other ones.
    """
    if table := replay.stages(d, mtu).delay:
        args, wanted = replay.delay_args()
        return [Qdisc(dev, args, replay.KIND, wanted | replay.shown(table), table)]
    if not running and not d.delay_ms and not d.impaired:
        return []
    us = round(d.delay_ms * 1000)
    words = [f"limit {DELAY_LIMIT_PKTS}"]
    expect: dict[str, Any] = {"limit": DELAY_LIMIT_PKTS}
    words.append(f"delay {us}us")
    expect |= {"delay.delay": us / 1e6} if us else {"delay": None}  # tc shows no jitter either
    if d.jitter_ms:
        words.append(f"{round(d.jitter_ms * 1000)}us")
        expect |= {"delay.jitter": d.jitter_ms / 1e3} if us else {}
    _timing(d, words, expect, slotted)
    loss = _loss(d.loss, mtu)
    if loss:
        words.append(loss)
        key = "loss-gemodel.p" if d.loss.model == "gemodel" else "loss-random.loss"
        expect[key] = d.loss.probability(mtu)
    else:
        expect["loss-random"] = None
    if d.reorder_percent:
        words.append(f"reorder {d.reorder_percent}%" + (f" gap {d.reorder_gap_pkts}" if d.reorder_gap_pkts else ""))
        expect["reorder.reorder"] = d.reorder_percent / 100
        expect |= {"gap": d.reorder_gap_pkts} if d.reorder_gap_pkts else {}
    if d.duplicate_percent:
        words.append(f"duplicate {d.duplicate_percent}%")
        expect["duplicate.duplicate"] = d.duplicate_percent / 100
    return [Qdisc(dev, f"root handle 1: netem {' '.join(words)}", "netem", expect)]


def _loss(loss: Loss, mtu: int) -> str:
    """Arguments of netem, empty without loss."""
    p = 100 * loss.probability(mtu)
    if not p:
        return ""
    if loss.model == "gemodel":
        return f"loss gemodel {p:.6f}% {100 / loss.burst_pkts:.6f}% 100% 0%"
    return f"loss random {p:.6f}%"


def _timing(d: Direction, words: list[str], expect: dict[str, Any], slotted: bool) -> None:
    """Order and slots: netem lets packets that are due leave together, every so often."""
    if d.jitter_in_order:
        words.append(f"rate {ORDERLY_BIT}bit")
        expect["rate.rate"] = ORDERLY_BIT // 8
    if d.slot_ms:
        us = round(d.slot_ms * 1000)
        words.append(f"slot {us}us {us}us" + (f" packets {d.slot_pkts}" if d.slot_pkts else ""))
        expect |= {"slot.min-delay": us / 1e6, "slot.max-delay": us / 1e6, "slot.packets": d.slot_pkts or 0}
    elif slotted:
        words.append("slot 0us 0us")
        expect["slot"] = None


@dataclass(frozen=True)
class Plan:
    """Where the qdiscs of a direction go: sending end, ifb of the receiving end.

    ``filtered``: the receiving end's ifb has the program of hetlab.emulation.filters, too.
    """

    near: tuple[Qdisc, ...]
    far: tuple[Qdisc, ...]
    rate_far: bool
    filtered: bool = False


def plan(d: Direction, mtu: int, near_dev: str, far_dev: str, from_host: bool, later: bool = False) -> Plan:
    """Distribute a direction over its two ends (see the module's text); ``later``: it will be impaired."""
    if from_host and not d.impaired and not later and not replay.stages(d, mtu).delay:
        rate = rate_qdiscs(d, mtu, far_dev)
        delay = delay_qdisc(d, mtu, near_dev)
        return Plan(tuple(delay), tuple(rate), True)
    return Plan(tuple(rate_qdiscs(d, mtu, near_dev)), tuple(delay_qdisc(d, mtu, far_dev)), False, d.filtered)


def mismatch(want: Qdisc, got: list[dict[str, Any]]) -> str:
    """What tc reports differently from what was asked for; empty if nothing."""
    for q in got:
        if q.get("kind") == want.kind and q.get("dev", want.dev) == want.dev:
            bad = [
                f"{key}: wanted {value}, got {_dig(q['options'], key)}"
                for key, value in want.expect.items()
                if not _close(_dig(q["options"], key), value)
            ]
            return "; ".join(bad)
    return f"no {want.kind} on {want.dev}"


def _dig(options: dict[str, Any], key: str) -> Any:
    value: Any = options
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _close(got: Any, want: float | str | None) -> bool:
    """tc prints times and probabilities with about six digits; None: not at all."""
    if want is None or isinstance(want, str):
        return bool(got == want)
    return isinstance(got, int | float) and math.isclose(got, want, rel_tol=2e-4, abs_tol=2e-6)
