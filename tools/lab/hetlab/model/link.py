# SPDX-License-Identifier: GPL-2.0
"""Links: random loss, the two directions, the link between two nodes."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from hetlab.model import dualpi2
from hetlab.model.keys import Checked, Key, ModelError

Aqm = Literal["fifo", "red", "fq_codel", "codel", "pie", "fq", "cake", "dualpi2"]
QUEUE_PKTS = 1000
POLICED_MS, MOST_POLICED_BYTES = 100, 10**9  # what a policer lets pass at once, without police_burst_bytes


@dataclass(frozen=True)
class AqmTraits:
    """What differs between queue disciplines."""

    step: str = ""  # option of tc(8) that marks what has waited longer; empty: it has no step
    marks: tuple[str, ...] = ()  # its counters of packets that it marked CE
    tick_ns: int = 1  # unit in which it keeps times


AQMS: dict[Aqm, AqmTraits] = {
    "fifo": AqmTraits(),
    "red": AqmTraits(marks=("marked",)),
    "fq_codel": AqmTraits("ce_threshold", ("ecn_mark", "ce_mark"), tick_ns=1024),
    "codel": AqmTraits("ce_threshold", ("ecn_mark", "ce_mark"), tick_ns=1024),
    "pie": AqmTraits(marks=("ecn_mark",)),
    # Its ce_threshold is no step: since Linux 6.7 up to eight packets pass it unseen, at 10 Mbit/s 10 ms of queue
    "fq": AqmTraits(marks=("ce_mark",)),
    "cake": AqmTraits(marks=("ecn_mark",)),
    # Its step is of the L4S queue alone; steps are counted apart from marks by probability, of both queues
    "dualpi2": AqmTraits("step_thresh", ("ecn_mark", "step_marks")),
}


@dataclass(frozen=True)
class Loss(Checked):
    """Random loss of one direction.

    ``random``: each packet with probability ``percent``. ``ber``: bit errors with
    rate ``ber`` at full-size packets, 1 - (1 - ber)^(8 mtu). ``gemodel``: a loss
    burst begins with probability ``percent`` and lasts ``burst_pkts`` on average.
    """

    model: Annotated[Literal["none", "random", "ber", "gemodel"], Key("none, random, ber or gemodel (bursts)")] = "none"
    percent: Annotated[float, Key("probability of a loss, or of the begin of a burst", "percent")] = 0
    ber: Annotated[float, Key("bit error rate", "ber")] = 0
    burst_pkts: Annotated[float, Key("mean length of a burst of losses", low=1, high=1000)] = 1

    def probability(self, mtu: int) -> float:
        """Probability that a packet of ``mtu`` bytes starts a loss, 0..1."""
        if self.model == "ber":
            return float(1 - (1 - self.ber) ** (8 * mtu))
        return self.percent / 100 if self.model != "none" else 0.0

    @property
    def text(self) -> str:
        """In a few words, such as ``1 % random``."""
        if self.model == "ber":
            return f"bit error rate {self.ber:g}"
        if self.model == "gemodel":
            return f"{self.percent:g} % in bursts of {self.burst_pkts:g} pkts"
        return "none" if self.model == "none" else f"{self.percent:g} % {self.model}"


def rate_text(mbit: float) -> str:
    """A rate in Mbit/s with its unit; kbit/s below 1 Mbit/s."""
    return f"{mbit * 1000:g} kbit/s" if mbit < 1 else f"{mbit:g} Mbit/s"


@dataclass(frozen=True)
class Direction(Checked):
    """One direction of a link; ``None`` or 0 leaves a property out."""

    rate_mbit: Annotated[float | None, Key("rate of IP packets; none: unlimited", "rate_mbit")] = None
    delay_ms: Annotated[float, Key("propagation delay", "delay_ms")] = 0
    jitter_ms: Annotated[float, Key("delay varies by up to this, evenly", "jitter_ms")] = 0
    jitter_in_order: Annotated[bool, Key("jitter keeps the order of packets")] = False
    slot_ms: Annotated[float | None, Key("packets leave in slots this far apart", "slot_ms")] = None
    slot_pkts: Annotated[int | None, Key("packets of a slot at most", "slot_pkts")] = None
    queue_pkts: Annotated[int | None, Key("packets that wait at most; none: 1000", "queue_pkts")] = None
    queue_bdp: Annotated[float | None, Key("the same in bandwidth-delay products", "queue_bdp")] = None
    queue_bytes: Annotated[
        int | None,
        Key("bytes of IP packets that wait at most, with a trace or rate_at_once", "queue_bytes", sparse=True),
    ] = None
    rate_at_once: Annotated[
        bool, Key("packets that wait feel a new rate at once, and a rate of 0 holds them", sparse=True)
    ] = False
    trace: Annotated[
        str | None, Key("what it does over time: a file of Mahimahi or CSV, or a recipe (docs/traces.md)", sparse=True)
    ] = None
    trace_delay: Annotated[
        str | None, Key("delay over time: a file of CSV, or a delay in ms each 10 ms", sparse=True)
    ] = None
    trace_loss: Annotated[str | None, Key("loss over time: a file of CSV", sparse=True)] = None
    aqm: Annotated[Aqm, Key("queue discipline")] = "fifo"
    aqm_options: Annotated[dict[str, str | int | float], Key("its options, as tc(8) spells them")] = field(
        default_factory=dict
    )
    mark_above_ms: Annotated[
        float | None, Key("packets that waited longer are marked CE (step marking)", "mark_above_ms", sparse=True)
    ] = None
    ack_filter: Annotated[bool, Key("cake drops ACKs that a later one replaces")] = False
    loss: Annotated[Loss, Key("random loss")] = field(default_factory=Loss)
    reorder_percent: Annotated[float, Key("packets that overtake those that are delayed", "percent")] = 0
    reorder_gap_pkts: Annotated[
        int | None, Key("least distance of packets that overtake; none: 1", "gap_pkts", sparse=True)
    ] = None
    duplicate_percent: Annotated[float, Key("packets that arrive twice", "percent")] = 0
    police_mbit: Annotated[
        float | None, Key("policer: IP packets above this rate are dropped, none waits", "rate_mbit", sparse=True)
    ] = None
    police_burst_bytes: Annotated[
        int | None, Key("what it lets pass at once; none: 100 ms of police_mbit", "burst_bytes", sparse=True)
    ] = None
    ecn_bleach: Annotated[
        Literal["none", "ce", "all"],
        Key("what is erased: ce (marks become ECT(0)), all (marks and ECT become not-ECT)", sparse=True),
    ] = "none"
    blackhole_above_bytes: Annotated[
        int | None, Key("longer IP packets vanish without ICMP", "blackhole_bytes", sparse=True)
    ] = None

    def check(self) -> None:
        """Refuse what does not fit together: ModelError."""
        if self.queue_pkts is not None and self.queue_bdp is not None:
            raise ModelError("give queue_pkts or queue_bdp, not both")
        if self.rate_mbit is None and not self.trace and (self.aqm != "fifo" or self.queue_bdp is not None):
            raise ModelError(f"aqm={self.aqm!r} and queue_bdp need rate_mbit")
        self._check_replay()
        if self.ack_filter and self.aqm != "cake":
            raise ModelError(f"ack_filter needs aqm='cake', not {self.aqm!r}")
        if self.slot_pkts is not None and self.slot_ms is None:
            raise ModelError(f"slot_pkts={self.slot_pkts} needs slot_ms")
        if self.jitter_in_order and self.reorder_percent:
            raise ModelError("give jitter_in_order or reorder_percent, not both")
        if self.mark_above_ms is not None and not AQMS[self.aqm].step:
            able = ", ".join(name for name, traits in AQMS.items() if traits.step)
            raise ModelError(f"mark_above_ms={self.mark_above_ms:g} needs an aqm with a step ({able}), not {self.aqm}")
        if self.mark_above_ms is not None and AQMS[self.aqm].step in self.aqm_options:
            raise ModelError(f"give mark_above_ms or the aqm_options' {AQMS[self.aqm].step}, not both")
        if self.aqm == dualpi2.KIND:
            dualpi2.wanted(self.aqm_options)
        if self.reorder_gap_pkts is not None and not self.reorder_percent:
            raise ModelError(f"reorder_gap_pkts={self.reorder_gap_pkts} needs reorder_percent")
        if self.police_burst_bytes is not None and self.police_mbit is None:
            raise ModelError(f"police_burst_bytes={self.police_burst_bytes} needs police_mbit")

    def _check_replay(self) -> None:
        """Of traces and of queues that feel a rate at once."""
        replay = self.trace is not None or self.rate_at_once
        if self.rate_at_once and (self.rate_mbit is None or self.trace):
            raise ModelError("rate_at_once needs rate_mbit, and no trace: a queue always feels that at once")
        if self.queue_bytes is not None and (self.queue_pkts is not None or self.queue_bdp is not None):
            raise ModelError("give queue_bytes, queue_pkts or queue_bdp, only one")
        if self.queue_bytes is not None and (not replay or self.aqm != "fifo"):
            raise ModelError(f"queue_bytes={self.queue_bytes} needs a trace or rate_at_once, and aqm='fifo'")
        if replay and self.aqm == "cake":
            raise ModelError("aqm='cake' has a rate of its own: not with a trace or rate_at_once")
        if (self.trace_delay or self.trace_loss) and (odd := self.needs_netem):
            raise ModelError(f"a trace of delay or loss goes without {', '.join(odd)}")

    @property
    def traced(self) -> bool:
        """Whether it plays a trace."""
        return any(text is not None for text in (self.trace, self.trace_delay, self.trace_loss))

    @property
    def needs_netem(self) -> tuple[str, ...]:
        """What only netem, and the filter before it, can do behind the queue."""
        names = ["jitter_ms", "jitter_in_order", "slot_ms", "reorder_percent", "duplicate_percent"]
        names += ["police_mbit", "blackhole_above_bytes"]
        others = {"loss bursts": self.loss.model == "gemodel", "ecn_bleach": self.ecn_bleach != "none"}
        return (*(name for name in names if getattr(self, name)), *(name for name, has in others.items() if has))

    def check_sizes(self, name: str, mtu: int) -> None:
        """Refuse a policer that passes no full packet, and a black hole that takes none: ModelError."""
        if self.police_mbit and self.policed_bytes < mtu:
            raise ModelError(f"{name}: police_burst_bytes={self.policed_bytes}: no packet of mtu={mtu} would ever pass")
        if (self.blackhole_above_bytes or 0) >= mtu:
            raise ModelError(f"{name}: blackhole_above_bytes={self.blackhole_above_bytes}: not below mtu={mtu}")

    @property
    def limit_pkts(self) -> int:
        """Packets that may wait in the queue."""
        return QUEUE_PKTS if self.queue_pkts is None else self.queue_pkts

    @property
    def impaired(self) -> bool:
        """Loss, jitter, slots, reordering, duplication or a filter: these must follow the queue."""
        return bool(
            self.loss.probability(1)
            or self.jitter_ms
            or self.jitter_in_order
            or self.slot_ms
            or self.reorder_percent
            or self.duplicate_percent
            or self.filtered
        )

    @property
    def filtered(self) -> bool:
        """Policer, ECN bleaching or black hole: a program that sees every packet."""
        return bool(self.police_mbit or self.ecn_bleach != "none" or self.blackhole_above_bytes)

    @property
    def policed_bytes(self) -> int:
        """What a policer lets pass at once; 0 without one."""
        usual = min(round((self.police_mbit or 0) * 1e3 * POLICED_MS / 8), MOST_POLICED_BYTES)
        return self.police_burst_bytes or usual

    @property
    def behind_queue(self) -> bool:
        """Whether there is a stage behind the queue, for delay or impairment."""
        traced = bool(self.trace_delay or self.trace_loss)
        return bool(self.delay_ms) or self.impaired or self.loss.model != "none" or traced


@dataclass(frozen=True)
class Link(Checked):
    """A link; a missing reverse direction is like the forward one without its queue discipline."""

    ends: Annotated[tuple[str, str], Key("two nodes; from the first to the second is forward")]
    mtu: Annotated[int, Key("largest IP packet, in bytes", "mtu")] = 1500
    offload: Annotated[bool, Key("hosts at its ends use segmentation and receive offload")] = False
    forward: Annotated[Direction, Key("from the first end to the second")] = field(default_factory=Direction)
    reverse: Annotated[Direction | None, Key("from the second end to the first")] = None

    def check(self) -> None:
        """Refuse what does not fit together: ModelError."""
        if self.offload and any(way.behind_queue for way in (self.forward, self.reverse) if way):
            raise ModelError("with offload a link has rate and queue alone: give delay, jitter and loss to another one")
        for name, way in (("forward", self.forward), ("reverse", self.reverse)):
            if way:
                way.check_sizes(name, self.mtu)

    @property
    def back(self) -> Direction:
        """The reverse direction, filled in where it is not given."""
        return self.reverse or replace(self.forward, aqm="fifo", aqm_options={}, mark_above_ms=None, ack_filter=False)

    def way(self, name: str) -> Direction:
        """The direction called ``forward`` or ``reverse``."""
        return self.forward if name == "forward" else self.back
