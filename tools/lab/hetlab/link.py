# SPDX-License-Identifier: GPL-2.0
"""Mininet link whose two directions are emulated exactly, or not at all.

Rate and queue are one qdisc, propagation delay, jitter and loss another one
behind it: in a single netem, packets in flight would count against the queue.

    fifo   netem rate R -14 limit queue+1    (exact drop-tail, within 1 us)
    AQM    tbf + the AQM                     (one packet leaves early)
    delay, jitter, loss   netem on an ifb at the receiving end

A host that sends has its rate on the receiving end too, behind the delay
(a constant delay and a FIFO commute): its own stack then sees no local drop and
no back-pressure, like a host behind a switch. What tc reports afterwards is
compared with what was asked for; any difference aborts the run.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from mininet.link import Intf, Link
from mininet.node import Node

from hetlab.errors import LabError
from hetlab.limits import in_range

ETHERNET_HEADER = 14
DELAY_LIMIT_PKTS = 1_000_000
AQM_KINDS = ("fifo", "red", "fq_codel", "codel", "pie", "fq", "cake")
CAKE_FILTERS = {False: "disabled", True: "enabled"}  # as tc shows them
LOSS_MODELS = ("none", "random", "ber", "gemodel")
OFFLOADS = "tso off gso off gro off"
# A host's end of a link with offload: the stack makes and takes packets of many segments, which
# are apart on the wire; the receiver waits for more as long as a network card holds its interrupt
HOST_OFFLOADS = "tso off gso on gro on"
GRO_WAIT_NS = 50_000
# In netem a rate keeps the order of packets; this one costs a full packet 0.1 us
ORDERLY_BIT = 100_000_000_000


@dataclass(frozen=True)
class Loss:
    """Random loss of one direction.

    ``random``: each packet with probability ``percent``. ``ber``: bit errors with
    rate ``ber`` at full-size packets, 1 - (1 - ber)^(8 mtu). ``gemodel``: a loss
    burst begins with probability ``percent`` and lasts ``burst_pkts`` on average.
    """

    model: str = "none"
    percent: float = 0.0
    ber: float = 0.0
    burst_pkts: float = 1.0

    def __post_init__(self) -> None:
        if self.model not in LOSS_MODELS:
            raise LabError(f"loss model={self.model!r}: one of {', '.join(LOSS_MODELS)}")
        in_range("percent", self.percent, "loss percent")
        in_range("ber", self.ber, "loss ber")
        if self.burst_pkts < 1:
            raise LabError(f"loss burst_pkts={self.burst_pkts:g}: allowed range is 1..")

    def probability(self, mtu: int) -> float:
        """Probability that a full-size packet starts a loss."""
        if self.model == "ber":
            return float(1 - (1 - self.ber) ** (8 * mtu))
        return self.percent / 100

    def netem(self, mtu: int) -> str:
        """Arguments of netem, empty without loss."""
        p = 100 * self.probability(mtu)
        if self.model == "none" or not p:
            return ""
        if self.model == "gemodel":
            return f"loss gemodel {p:.6f}% {100 / self.burst_pkts:.6f}% 100% 0%"
        return f"loss random {p:.6f}%"


@dataclass(frozen=True)
class Direction:
    """One direction of a link; ``None`` or 0 leaves a property out."""

    rate_mbit: float | None = None
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    jitter_in_order: bool = False
    slot_ms: float | None = None
    slot_pkts: int | None = None
    queue_pkts: int = 1000
    aqm: str = "fifo"
    aqm_options: dict[str, str | int | float] = field(default_factory=dict)
    ack_filter: bool = False
    loss: Loss = Loss()
    reorder_percent: float = 0.0
    duplicate_percent: float = 0.0
    mtu: int = 1500

    def __post_init__(self) -> None:
        if self.aqm not in AQM_KINDS:
            raise LabError(f"aqm={self.aqm!r}: one of {', '.join(AQM_KINDS)}")
        if self.rate_mbit is not None:
            in_range("rate_mbit", self.rate_mbit)
        elif self.aqm != "fifo":
            raise LabError(f"aqm={self.aqm!r} needs rate_mbit")
        if self.ack_filter and self.aqm != "cake":
            raise LabError(f"ack_filter needs aqm='cake', not {self.aqm!r}")
        for name in ("delay_ms", "jitter_ms", "queue_pkts", "mtu"):
            in_range(name, getattr(self, name))
        for name in ("slot_ms", "slot_pkts"):
            if getattr(self, name) is not None:
                in_range(name, getattr(self, name))
        if self.slot_pkts is not None and self.slot_ms is None:
            raise LabError(f"slot_pkts={self.slot_pkts} needs slot_ms")
        in_range("percent", self.reorder_percent, "reorder_percent")
        in_range("percent", self.duplicate_percent, "duplicate_percent")

    @property
    def impaired(self) -> bool:
        """Loss, jitter, slots, reordering or duplication: must follow the queue."""
        return bool(
            self.loss.netem(self.mtu)
            or self.jitter_ms
            or self.jitter_in_order
            or self.slot_ms
            or self.reorder_percent
            or self.duplicate_percent
        )


@dataclass(frozen=True)
class Qdisc:
    """A tc command (without ``tc qdisc add``) and what must be read back."""

    dev: str
    args: str
    kind: str
    expect: dict[str, Any]


def rate_qdiscs(d: Direction, dev: str) -> list[Qdisc]:
    """Rate and queue of a direction on device ``dev``; empty without a rate."""
    if d.rate_mbit is None:
        return []
    bit = round(d.rate_mbit * 1e6)
    if d.aqm == "fifo":
        limit = d.queue_pkts + 1
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
    return [_tbf(d, dev, bit), _aqm(d, dev)]


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


def _tbf(d: Direction, dev: str, bit: int) -> Qdisc:
    """Shaper above an AQM; it counts the Ethernet header, so the rate allows for it."""
    gross = round(bit * (d.mtu + ETHERNET_HEADER) / d.mtu)
    burst = d.mtu + 2 * ETHERNET_HEADER
    limit = (d.queue_pkts + 1) * (d.mtu + ETHERNET_HEADER) + burst
    return Qdisc(
        dev, f"root handle 1: tbf rate {gross}bit burst {burst} limit {limit}", "tbf", {"rate": gross // 8}
    )


def _aqm(d: Direction, dev: str) -> Qdisc:
    """The AQM below the shaper; RED takes thresholds in packets of mtu bytes."""
    parent = f"parent 1:1 handle 10: {d.aqm}"
    if d.aqm != "red":
        return Qdisc(dev, f"{parent} limit {d.queue_pkts} {_options(d.aqm_options)}", d.aqm, {"limit": d.queue_pkts})
    opts = {"min_pkts": 5, "max_pkts": 15, "probability": 0.1, "ecn": 0} | d.aqm_options
    in_range("probability", float(opts["probability"]))
    size = d.mtu + ETHERNET_HEADER
    low, high = int(opts["min_pkts"]), int(opts["max_pkts"])
    limit = d.queue_pkts * size
    burst = max(math.ceil((2 * low + high) / 3), 1)
    args = f"limit {limit} min {low * size} max {high * size} avpkt {size} burst {burst}"
    return Qdisc(
        dev,
        f"{parent} {args} probability {opts['probability']} bandwidth {d.rate_mbit}Mbit"
        + (" ecn" if int(opts["ecn"]) else ""),
        "red",
        {"limit": limit, "min": low * size, "max": high * size},
    )


def delay_qdisc(d: Direction, dev: str, running: bool = False) -> list[Qdisc]:
    """Delay, jitter and loss of a direction on device ``dev``; empty without any, unless it is ``running``."""
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
    _timing(d, words, expect)
    loss = d.loss.netem(d.mtu)
    if loss:
        words.append(loss)
        key = "loss-gemodel.p" if d.loss.model == "gemodel" else "loss-random.loss"
        expect[key] = d.loss.probability(d.mtu)
    else:
        expect["loss-random"] = None
    if d.reorder_percent:
        words.append(f"reorder {d.reorder_percent}%")
        expect["reorder.reorder"] = d.reorder_percent / 100
    if d.duplicate_percent:
        words.append(f"duplicate {d.duplicate_percent}%")
        expect["duplicate.duplicate"] = d.duplicate_percent / 100
    return [Qdisc(dev, f"root handle 1: netem {' '.join(words)}", "netem", expect)]


def _timing(d: Direction, words: list[str], expect: dict[str, Any]) -> None:
    """Order and slots: netem lets packets that are due leave together, every so often."""
    if d.jitter_in_order:
        words.append(f"rate {ORDERLY_BIT}bit")
        expect["rate.rate"] = ORDERLY_BIT // 8
    if d.slot_ms:
        us = round(d.slot_ms * 1000)
        words.append(f"slot {us}us {us}us" + (f" packets {d.slot_pkts}" if d.slot_pkts else ""))
        expect |= {"slot.min-delay": us / 1e6, "slot.max-delay": us / 1e6, "slot.packets": d.slot_pkts or 0}


@dataclass(frozen=True)
class Plan:
    """Where the qdiscs of a direction go: sending end, ifb of the receiving end."""

    near: tuple[Qdisc, ...]
    far: tuple[Qdisc, ...]
    rate_far: bool


def plan(d: Direction, near_dev: str, far_dev: str, from_host: bool) -> Plan:
    """Distribute a direction over its two ends (see the module's text)."""
    if from_host and not d.impaired:
        rate = rate_qdiscs(d, far_dev)
        delay = delay_qdisc(d, near_dev)
        return Plan(tuple(delay), tuple(rate), True)
    return Plan(tuple(rate_qdiscs(d, near_dev)), tuple(delay_qdisc(d, far_dev)), False)


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


def shell(node: Node, script: str) -> str:
    """Run a script in a Mininet node; any failure aborts with its output."""
    if not getattr(node, "quiet_shell", False):
        node.cmd("PS2=")  # no continuation prompts among the output
        node.quiet_shell = True
    out = node.cmd(f"( set -e\n{script}\n) 2>&1; echo status=$?")
    body, _, status = out.strip().rpartition("status=")
    if status.strip() != "0":
        raise LabError(f"{node.name}: {body.strip() or 'failed without a word'}\n{script[:2000]}")
    return str(body).strip()


TcRunner = Callable[[Node, list[str]], str]


def start_tc(node: Node, commands: list[str]) -> str:
    """Run commands of tc, the last of which shows qdiscs; returns what it shows, as JSON."""
    return shell(node, "tc -j -batch - <<BATCH\n" + "\n".join(commands) + "\nBATCH")


class HetIntf(Intf):
    """An interface that HetLink configures; nothing is left to ifconfig."""

    def config(self, **_params: Any) -> dict[str, Any]:
        """Keep Mininet from touching the interface."""
        return {}


class HetLink(Link):
    """A veth pair with a :class:`Direction` each way.

    Keywords are those of Direction; ``forward`` and ``reverse`` (a Direction or
    its keywords as a dict) set the two ways apart, node1 to node2 is forward.
    ``label`` names the link in results, ``offload`` lets hosts at its ends use
    segmentation and receive offload. ``reseed``, where it is set, is called
    with the number of a link's end and gives a shell line that restarts the
    kernel's random numbers: netem draws the seed of its losses when it is made.
    """

    reseed: ClassVar[Callable[[int], str] | None] = None
    made: ClassVar[int] = 0

    def __init__(
        self,
        node1: Node,
        node2: Node,
        forward: Direction | dict[str, Any] | None = None,
        reverse: Direction | dict[str, Any] | None = None,
        mtu: int = 1500,
        label: str = "",
        offload: bool = False,
        **params: Any,
    ) -> None:
        self.label = label or f"{node1.name}-{node2.name}"
        names = Direction.__dataclass_fields__
        common = {k: params.pop(k) for k in list(params) if k in names}
        self.forward = _direction(forward, common, mtu)
        self.reverse = _direction(reverse, common, mtu)
        self.mtu = mtu
        self.offload = offload
        params.setdefault("intf", HetIntf)
        super().__init__(node1, node2, **params)
        ends = [(node1, self.intf1.name), (node2, self.intf2.name)]
        plans = [
            plan(self.forward, ends[0][1], _ifb(ends[1][1]), is_host(node1)),
            plan(self.reverse, ends[1][1], _ifb(ends[0][1]), is_host(node2)),
        ]
        self.plans = plans
        for i, (node, dev) in enumerate(ends):
            self._setup(node, dev, plans[i].near, plans[1 - i].far)

    def _setup(self, node: Node, dev: str, near: tuple[Qdisc, ...], far: tuple[Qdisc, ...]) -> None:
        """Configure one end and read it back."""
        lines = [f"ip link set {dev} mtu {self.mtu} up"]
        if self.offload and is_host(node):
            lines.append(f"ethtool -K {dev} {HOST_OFFLOADS} >/dev/null")
            lines.append(f"echo {GRO_WAIT_NS} > /sys/class/net/{dev}/gro_flush_timeout")
        else:
            lines.append(f"ethtool -K {dev} {OFFLOADS} >/dev/null")
        batch = [f"qdisc add dev {q.dev} {q.args}" for q in (*near, *far)]
        if far:
            ifb = _ifb(dev)
            lines.append(f"ip link add {ifb} type ifb; ip link set {ifb} mtu {self.mtu} up")
            batch.append(f"qdisc add dev {dev} ingress")
            batch.append(f"filter add dev {dev} parent ffff: matchall action mirred egress redirect dev {ifb}")
        if batch:
            if HetLink.reseed:
                lines.append(HetLink.reseed(HetLink.made))
            HetLink.made += 1
            lines.append("tc -batch - <<BATCH\n" + "\n".join(batch) + "\nBATCH")
            lines.append("tc -j qdisc show | tail -n 1")
        out = shell(node, "\n".join(lines))
        if not batch:
            return
        got = json.loads(out[out.index("[{") :])
        for want in (*near, *far):
            wrong = mismatch(want, [q for q in got if q["dev"] == want.dev])
            if wrong:
                raise LabError(f"{node.name}: tc did not take {want.args!r} on {want.dev}: {wrong}")

    def change(self, *, forward: bool = True, reverse: bool = True, tc: TcRunner | None = None, **values: Any) -> None:
        """Change rate, delay, jitter or loss of a running link, e.g. ``change(delay_ms=33)``.

        Packets on their way keep their old delay, those in a drop-tail queue the
        time of their departure. What a direction was made without cannot be
        changed: LabError. ``tc`` runs commands in a node, see hetlab.waiting_tc.
        """
        for wanted, ahead in ((forward, True), (reverse, False)):
            if not wanted:
                continue
            way = replace(self.forward if ahead else self.reverse, **values)
            if "rate_mbit" in values:
                node, dev = self.queue_point(ahead)
                self._change(node, rate_qdiscs(way, dev), tc or start_tc)
            if values.keys() - {"rate_mbit"}:
                point = self.impair_point(ahead)
                if not point:
                    raise LabError(f"link {self.label}: no delay or loss stage to change")
                self._change(point[0], delay_qdisc(way, point[1], running=True), tc or start_tc)
            if ahead:
                self.forward = way
            else:
                self.reverse = way

    def _change(self, node: Node, new: list[Qdisc], tc: TcRunner) -> None:
        """Give the qdiscs of a stage new arguments and read them back."""
        out = tc(node, [*(f"qdisc change dev {q.dev} {q.args}" for q in new), f"qdisc show dev {new[0].dev}"])
        got = json.loads(out[out.index("[{") :])
        for want in new:
            wrong = mismatch(want, got)
            if wrong:
                raise LabError(f"link {self.label}: tc did not take {want.args!r}: {wrong}")

    def queue_point(self, forward: bool) -> tuple[Node, str]:
        """Node and device whose root qdisc is the rate-limited queue of a direction."""
        near, far = (self.intf1, self.intf2) if forward else (self.intf2, self.intf1)
        p = self.plans[0 if forward else 1]
        return (far.node, _ifb(far.name)) if p.rate_far else (near.node, near.name)

    def impair_point(self, forward: bool) -> tuple[Node, str] | None:
        """Node and device of the delay and loss qdisc of a direction, if there is one."""
        near, far = (self.intf1, self.intf2) if forward else (self.intf2, self.intf1)
        p = self.plans[0 if forward else 1]
        if p.rate_far:
            return (near.node, near.name) if p.near else None
        return (far.node, _ifb(far.name)) if p.far else None

    def departure_point(self, forward: bool) -> tuple[Node, str, str]:
        """Where to capture packets that begin to cross the link: node, device, in or out."""
        near, far = (self.intf1, self.intf2) if forward else (self.intf2, self.intf1)
        if self.offload:  # where they are single segments
            return far.node, far.name, "in"
        return near.node, near.name, "out"

    def departed_ms(self, forward: bool) -> float:
        """Delay of this link that a packet has behind it where it is seen leaving; a host's qdisc comes first."""
        p = self.plans[0 if forward else 1]
        return float((self.forward if forward else self.reverse).delay_ms) if p.rate_far else 0.0

    def arrival_point(self, forward: bool) -> tuple[Node, str, str]:
        """Where to capture packets that have crossed the link: node, device, in or out."""
        near, far = (self.intf1, self.intf2) if forward else (self.intf2, self.intf1)
        if self.offload:  # before the host merges them; nothing but the wire is in between
            return near.node, near.name, "out"
        if self.plans[0 if forward else 1].far:
            return far.node, _ifb(far.name), "out"
        return far.node, far.name, "in"


def _direction(way: Direction | dict[str, Any] | None, common: dict[str, Any], mtu: int) -> Direction:
    if isinstance(way, Direction):
        return way
    values = {"mtu": mtu} | common | (way or {})
    loss = values.get("loss")
    if isinstance(loss, dict):
        values["loss"] = Loss(**loss)
    return Direction(**values)


def _ifb(dev: str) -> str:
    """Name of the ifb that carries what arrives at ``dev`` (15 characters at most)."""
    return f"i-{dev}"[:15]


def is_host(node: Node) -> bool:
    """A node that does not forward is a source of traffic."""
    return not getattr(node, "forwards", False)
