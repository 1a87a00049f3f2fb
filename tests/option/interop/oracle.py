# SPDX-License-Identifier: GPL-2.0
"""What the option says against what was seen: headers, senders and receivers of a capture.

An oracle is fed with the packets of one connection at one interface, in order,
and says what is wrong with each of them. It knows the contract, not the kernel.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from option.interop.wire import (
    EXPERIMENT,
    FIN,
    LEN_DATA,
    LEN_ECHO,
    LEN_HOLES,
    LEN_SYN,
    MAX_OPTIONS,
    MAX_WINDOW,
    RST,
    SACK,
    SYN,
    WRAP,
    Option,
    Segment,
    WireError,
    distance,
)

TOLERANCE_US = 2
MAX_COPY = 15
LONGEST_SEGMENT = 65535
ALIGNED_ECHO = 16
ALIGNED_BLOCK = 12  # a SACK option of one block
LOOKED_AT = 16  # segments of its queue that a receiver looks at, beside its newest runs


class Ranges:
    """A set of bytes as sorted, disjoint, non-adjacent ranges."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Put the bytes from start up to end in."""
        first = bisect_left(self.ends, start)
        last = bisect_right(self.starts, end)
        if first < last:
            start, end = min(start, self.starts[first]), max(end, self.ends[last - 1])
        self.starts[first:last] = [start]
        self.ends[first:last] = [end]

    def covers(self, start: int, end: int) -> bool:
        """Are all of these bytes in?"""
        at = bisect_right(self.starts, start) - 1
        return at >= 0 and self.ends[at] >= end

    def end_from(self, start: int) -> int:
        """End of the run of bytes that begins at start."""
        at = bisect_right(self.starts, start) - 1
        return max(start, self.ends[at]) if at >= 0 else start


@dataclass
class Rules:
    """What the case allows beyond the strict contract."""

    agreed: bool = True
    stripped: bool = False  # the path takes options away: those that are left must be right
    queued: bool = False  # the receiver may be busy: it names packets that came earlier
    pruned: bool = False  # the receiver may have thrown away what had arrived
    mtu: int = 1500


@dataclass
class Verdict:
    """What is wrong, and what there was."""

    faults: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    granularities: Counter[int] = field(default_factory=Counter)
    copies: Counter[int] = field(default_factory=Counter)
    longest: int = 0
    echoes: int = 0
    bits: int = 0
    blocks: int = 0
    packets: int = 0
    segments: int = 0
    clock_us: int | None = None  # the option's clock minus the capture's

    def fault(self, kind: str, detail: object = "") -> None:
        """One thing wrong; the first few of a kind are kept in full."""
        self.kinds[kind] += 1
        if self.kinds[kind] <= 3:
            self.faults.append(f"{kind}: {detail}")


def check_header(seg: Segment, rules: Rules, verdict: Verdict) -> None:
    """One packet by itself: options well formed, lengths legal, MTU kept."""
    try:
        option = seg.santacruz
        kinds = seg.kinds
    except WireError as error:
        verdict.fault("malformed options", error)
        return
    longest = max(part.ip_len for part in seg.wire())
    verdict.longest = max(verdict.longest, longest)
    if longest > rules.mtu:
        verdict.fault("longer than the MTU", f"{longest} > {rules.mtu} {seg}")
    if option is None:
        return
    verdict.lengths[option.length] += 1
    if (option.length == LEN_SYN) != bool(seg.flags & SYN):
        verdict.fault("length does not suit the flags", seg)
    if not seg.flags & SYN and not rules.agreed:
        verdict.fault("option without agreement", seg)
    if SACK in kinds and not _block_allowed(seg, option):
        verdict.fault("SACK beside the option", seg)
    if not seg.flags & SYN and (option.data_copy > 0) != (seg.payload > 0 or bool(seg.flags & FIN)):
        verdict.fault("Data.copy does not suit the length", seg)
    if option.length < LEN_ECHO and option.ack_copy:
        verdict.fault("ACK.copy without echo", seg)
    if option.length > LEN_HOLES:
        verdict.granularities[option.gran] += 1
        if not option.gran or not option.window[-1]:
            verdict.fault("granularity 0 or trailing zeros", seg)


def _block_allowed(seg: Segment, option: Option) -> bool:
    """One block right before an echo without a window."""
    kinds = list(seg.kinds)
    alone = option.length == LEN_ECHO and len(seg.kinds[SACK]) == 8
    return alone and kinds.index(SACK) + 1 == kinds.index(EXPERIMENT)


class Sender:
    """Counts transmissions at the sender's own interface."""

    def __init__(self, rules: Rules, verdict: Verdict) -> None:
        self.rules = rules
        self.verdict = verdict
        self.base: int | None = None
        self.top = 0
        self.sent: list[tuple[int, int]] = []
        self.quiet = False

    def see(self, seg: Segment) -> None:
        """A packet that leaves."""
        if seg.flags & SYN:
            self.base = (seg.seq + 1) % WRAP
        if self.base is None or not (seg.payload or seg.flags & FIN):
            return
        for part in seg.wire():
            start = distance(seg.seq, self.base) + distance(part.seq, seg.seq) + bool(seg.flags & SYN)
            copy = self._transmission(start, start + (part.payload or 1))
            if not seg.flags & SYN:
                self._check(part, copy)

    def _transmission(self, start: int, end: int) -> int:
        copy = 1
        if start < self.top:
            low = bisect_left(self.sent, (start - LONGEST_SEGMENT, 0))
            high = bisect_right(self.sent, (start, 1 << 62))
            copy += sum(other > start for _, other in self.sent[low:high])
        self.top = max(self.top, end)
        insort(self.sent, (start, end))
        return copy

    def _check(self, part: Segment, copy: int) -> None:
        self.verdict.copies[copy] += 1
        option = part.santacruz
        if option is None:
            self.quiet = True
            if self.rules.agreed and not self.rules.stripped:
                self.verdict.fault("data without the option", part)
        elif self.quiet:
            self.verdict.fault("option again after a stop", part)
        elif option.data_copy != min(copy, MAX_COPY) and not self.rules.pruned:
            self.verdict.fault("Data.copy", f"{option.data_copy}, was sent {copy} times: {part}")


@dataclass(eq=False)
class Arrival:
    """A data segment that has come in."""

    sn: int
    time_us: int
    copy: int
    start: int = 0
    end: int = 0
    duplicate: bool = False
    named: bool = False


class Receiver:
    """Knows what has arrived at the receiver's own interface, and checks what the ACKs say."""

    def __init__(self, rules: Rules, verdict: Verdict) -> None:
        self.rules = rules
        self.verdict = verdict
        self.base: int | None = None
        self.ranges = Ranges()
        self.settled = Ranges()  # without what the stack may not have looked at yet
        self.unsettled: list[Arrival] = []
        self.recent: list[Arrival] = []
        self.fins: set[bool] = set()  # who has sent a FIN: we (True), the peer
        self.begun: list[int] = []  # where segments began that have been looked at
        self.last: Segment | None = None
        self.longest = 0  # bytes of the longest segment on the wire

    def see(self, seg: Segment) -> None:
        """A packet of the connection, either way."""
        if seg.flags & FIN:
            self.fins.add(seg.out)
        if not seg.out:
            self._arrive(seg)
        elif not seg.flags & (SYN | RST) and self.base is not None:
            if not self._same_burst(seg):
                self._acknowledge(seg)
            self.last = seg

    def _same_burst(self, seg: Segment) -> bool:
        """Cut from one packet by segmentation offload: they all have the first one's header."""
        last = self.last
        return (
            last is not None
            and seg.payload > 0
            and (last.time_ns, last.ack, last.options) == (seg.time_ns, seg.ack, seg.options)
            and seg.seq == (last.seq + last.payload) % WRAP
        )

    def _arrive(self, seg: Segment) -> None:
        if seg.flags & SYN:
            self.base = (seg.seq + 1) % WRAP
        if self.base is None:
            return
        start = distance(seg.seq, self.base) + bool(seg.flags & SYN)
        end = start + seg.payload + bool(seg.flags & FIN)
        if start == end:
            return
        duplicate = self.ranges.covers(start, end)
        self.ranges.add(start, end)
        option = None if seg.flags & SYN else seg.santacruz
        wire = seg.wire()
        last = wire[-1]
        self.longest = max(self.longest, *(part.payload for part in wire))
        arrival = Arrival(last.seq, seg.time_us, option.data_copy if option else 0, start, end, duplicate)
        self.unsettled.append(arrival)
        if option is not None:
            self._keep(arrival)

    def _keep(self, arrival: Arrival) -> None:
        """What an ACK may name: the last arrival, or one of the same instant."""
        if not self.rules.queued and self.recent and self.recent[-1].time_us != arrival.time_us:
            self.recent.clear()
        self.recent.append(arrival)

    def _settle(self, now_us: int, named: Arrival | None) -> None:
        """The stack has looked at all up to the segment it names, and at what came before this instant."""
        count = self.unsettled.index(named) + 1 if named in self.unsettled else 0
        if not self.rules.queued:
            count = max(count, sum(a.time_us != now_us for a in self.unsettled))
        for arrival in self.unsettled[:count]:
            self.settled.add(arrival.start, arrival.end)
            insort(self.begun, arrival.start)
        del self.unsettled[:count]

    def _acknowledge(self, seg: Segment) -> None:
        assert self.base is not None
        try:
            option = seg.santacruz
        except WireError:
            return
        ack = distance(seg.ack, self.base)
        limit = self.ranges.end_from(0)
        if ack > limit:
            self.verdict.fault("ACK of what has not arrived", f"{ack} > {limit}: {seg}")
        if option is None or option.length < LEN_ECHO:
            self._settle(seg.time_us, None)
            self._check_silence(seg)
            return
        named = self._check_echo(seg)
        self._check_block(seg, named)
        self._settle(seg.time_us, named)
        if option.length > LEN_HOLES:
            self._check_window(seg, ack)

    def _check_block(self, seg: Segment, named: Arrival | None) -> None:
        """The SACK block before an echo: what has arrived twice, or the run of the segment named."""
        assert self.base is not None
        body = seg.kinds.get(SACK)
        if body is None:
            room = MAX_OPTIONS - seg.header + 20 + len(seg.kinds.get(EXPERIMENT, b"")) + 2
            if named and named.duplicate and not self.rules.pruned and room // 4 * 4 >= ALIGNED_ECHO + ALIGNED_BLOCK:
                self.verdict.fault("duplicate not told", seg)
            return
        start, end = (distance(int.from_bytes(body[i : i + 4]), self.base) for i in (0, 4))
        self.verdict.blocks += 1
        if not self.ranges.covers(start, end):
            self.verdict.fault("SACK block of what has not arrived", seg)
        elif named is None or not start <= distance(named.sn, self.base) < end:
            self._check_other_run(seg, named, start, end)

    def _check_other_run(self, seg: Segment, named: Arrival | None, start: int, end: int) -> None:
        """A block without the segment named: what came twice, or a run of which no bit of a window tells."""
        assert self.base is not None
        ack = distance(seg.ack, self.base)
        if end <= ack:
            return
        if named and distance(named.sn, seg.ack) >= 0:
            self.verdict.fault("SACK block of another run", seg)
            return
        room = MAX_OPTIONS - (seg.header - 20) + ALIGNED_ECHO + ALIGNED_BLOCK - LEN_HOLES
        bits = 8 * min(room, MAX_WINDOW)
        told = 2 * (self.longest + (self.ranges.ends[-1] - ack) // bits)
        if end - start >= told:
            self.verdict.fault("SACK block of what bits can tell", f"{end - start} bytes, {told} have a bit: {seg}")

    def _check_silence(self, seg: Segment) -> None:
        """Nothing echoed: then there is nothing to be echoed, or no room, or nobody but a TIME-WAIT socket."""
        if len(self.fins) == 2:
            return
        own = 0 if EXPERIMENT not in seg.kinds else 8
        room = MAX_OPTIONS - (len(seg.options) - own)
        if self.rules.agreed and not self.rules.stripped and room >= ALIGNED_ECHO:
            self._check_pending(seg)

    def _check_pending(self, seg: Segment) -> None:
        """No arrival may be left out, but the stack may send data while it takes in a packet."""
        if self.rules.pruned or not self.recent or any(a.named for a in self.recent):
            return
        if not seg.payload or self.recent[-1].time_us != seg.time_us:
            self.verdict.fault("arrival not echoed", seg)

    def _check_echo(self, seg: Segment) -> Arrival | None:
        option = seg.santacruz
        assert option is not None
        if not option.ack_copy:
            if option.ack_sn or option.rcv_us:
                self.verdict.fault("names a segment without ACK.copy", seg)
            self._check_pending(seg)
            return None
        same = [a for a in self.recent if a.sn == option.ack_sn]
        found = [a for a in same if not a.named]
        if not found:
            kind = "segment echoed twice" if same else "ACK.sn"
            self.verdict.fault(kind, f"{seg}; last arrivals {self.recent[-3:]}")
            return None
        if self.verdict.clock_us is None:  # an offset of the connection that nobody knows
            self.verdict.clock_us = distance(option.rcv_us, found[-1].time_us)
        rcv_us = (option.rcv_us - self.verdict.clock_us) % WRAP
        best = min(found, key=lambda a: abs(distance(rcv_us, a.time_us)))
        best.named = True
        self.verdict.echoes += 1
        if self.rules.queued:
            del self.recent[: self.recent.index(best)]
        if abs(distance(rcv_us, best.time_us)) > TOLERANCE_US:
            self.verdict.fault("Timestamp", f"{distance(rcv_us, best.time_us)} us off: {seg}")
        if option.ack_copy != best.copy:
            self.verdict.fault("ACK.copy", f"{option.ack_copy}, arrived as {best.copy}: {seg}")
        return best

    def _check_window(self, seg: Segment, ack: int) -> None:
        option = seg.santacruz
        assert option is not None
        del self.begun[: bisect_left(self.begun, ack)]
        limit = self.begun[LOOKED_AT] if len(self.begun) > LOOKED_AT else self.settled.end_from(ack) + WRAP
        for i, bit in enumerate(option.bits()):
            start = ack + i * option.gran
            here = self.ranges.covers(start, start + option.gran)
            self.verdict.bits += bit
            if bit and not here:
                self.verdict.fault("bit for what has not arrived", f"bit {i} of {seg}")
            due = start + option.gran <= limit and self.settled.covers(start, start + option.gran)
            if not bit and due and not self.rules.pruned:
                self.verdict.fault("no bit for what has arrived", f"bit {i} of {seg}")


def check(packets: Iterable[Segment], rules: Rules) -> Verdict:
    """All packets of one connection at one end's interface."""
    verdict = Verdict()
    sender, receiver = Sender(rules, verdict), Receiver(rules, verdict)
    for seg in packets:
        verdict.packets += not seg.out
        verdict.segments += 0 if seg.out else len(seg.wire())
        before = sum(verdict.kinds.values())
        check_header(seg, rules, verdict)
        if verdict.kinds["malformed options"] and sum(verdict.kinds.values()) > before:
            continue
        if seg.out:
            sender.see(seg)
        receiver.see(seg)
    return verdict


def connections(packets: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Packets of each connection by themselves, in the order of their first packets."""
    by_name: dict[frozenset[tuple[str, int]], list[Segment]] = {}
    for seg in packets:
        by_name.setdefault(frozenset((seg.src, seg.dst)), []).append(seg)
    yield from by_name.values()


def offered(packets: Iterable[Segment], *, synack: bool) -> bool | None:
    """Does the SYN (the SYN-ACK) have the option? None if there is none of these."""
    answer = None
    for seg in packets:
        if seg.flags & SYN and bool(seg.flags & 16) == synack:
            option = seg.santacruz
            answer = bool(answer) or (option is not None and option.length == LEN_SYN)
    return answer


__all__ = ["LEN_DATA", "Arrival", "Ranges", "Receiver", "Rules", "Sender", "Verdict", "check", "connections", "offered"]
