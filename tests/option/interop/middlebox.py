# SPDX-License-Identifier: GPL-2.0
"""A router in user space that drops packets by choice and takes options away."""

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from option.interop.loop import READ, Loop
from option.interop.net import MAC, Net
from option.interop.wire import ACK, EXID, EXPERIMENT, NOP, SYN, Segment, WireError, distance, parse_packet

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_IGNORE_OUTGOING = 23
ETHERNET_BYTES = 14
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
CHECKSUM_AT = 16

# Is the packet (True: from the client) to be passed on, and how?
Rule = Callable[[bool, Segment, bytearray], bool]


def _raw(net: Net, interface: str) -> socket.socket:
    with net.router.inside():
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE if hasattr(socket, "SO_RCVBUFFORCE") else 33, 1 << 26)
    sock.bind((interface, ETH_P_ALL))
    sock.setblocking(False)
    return sock


def _mac(name: str) -> bytes:
    return bytes.fromhex(MAC[name].replace(":", ""))


class Middlebox:
    """Sits in the router of a network whose kernel does not forward."""

    def __init__(self, loop: Loop, net: Net, rule: Rule) -> None:
        self.rule = rule
        self.dropped = 0
        self.socks = [_raw(net, "r0"), _raw(net, "r1")]
        self.heads = [_mac("s0") + _mac("r1"), _mac("c0") + _mac("r0")]
        self.loop = loop
        for side in (0, 1):
            loop.watch(self.socks[side], READ, lambda _, side=side: self._drain(side))  # type: ignore[misc]

    def _drain(self, side: int) -> None:
        while True:
            try:
                frame = bytearray(self.socks[side].recv(1 << 16))
            except BlockingIOError:
                return
            if frame[12:14] not in (IPV4, IPV6):
                continue
            seg = parse_packet(memoryview(frame)[ETHERNET_BYTES:].toreadonly())  # type: ignore[arg-type]
            if seg is None:
                continue
            if self.rule(side == 0, seg, frame):
                frame[:12] = self.heads[side]
                self.socks[1 - side].send(frame)
            else:
                self.dropped += 1

    def close(self) -> None:
        """Stop."""
        for sock in self.socks:
            self.loop.watch(sock, 0, lambda _: None)
            sock.close()


def _ones_sum(data: bytes | bytearray) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def strip(seg: Segment, frame: bytearray) -> bool:
    """Put NOPs in place of the Santa Cruz option and mend the checksum; was there one?"""
    head = len(frame) - seg.payload - seg.header
    start, end = head + 20, head + seg.header
    old = bytes(frame[start:end])
    at = old.find(struct.pack(">H", EXID))
    if at < 2 or old[at - 2] != EXPERIMENT:
        return False
    new = bytearray(old)
    new[at - 2 : at - 2 + old[at - 1]] = bytes([NOP]) * old[at - 1]
    frame[start:end] = new
    check = struct.unpack_from(">H", frame, head + CHECKSUM_AT)[0]
    total = (check ^ 0xFFFF) + (_ones_sum(old) ^ 0xFFFF) + _ones_sum(new)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    struct.pack_into(">H", frame, head + CHECKSUM_AT, total ^ 0xFFFF)
    return True


def kind_of(up: bool, seg: Segment) -> str:
    """Name of a packet as cases call it: syn, synack, up, down."""
    if seg.flags & SYN:
        return "synack" if seg.flags & ACK else "syn"
    return "up" if up else "down"


@dataclass
class Stripper:
    """Takes the option from some packets, after some time, and drops every n-th data packet from the client."""

    kinds: set[str]
    from_ns: int = 0
    every: int = 0
    now_ns: Callable[[], int] = lambda: 0
    count: int = 0
    stripped: int = 0

    def __call__(self, up: bool, seg: Segment, frame: bytearray) -> bool:
        if kind_of(up, seg) in self.kinds and self.now_ns() >= self.from_ns:
            self.stripped += strip(seg, frame)
        if not up or not seg.payload or not self.every:
            return True
        self.count += 1
        return bool(self.count % self.every)


@dataclass
class Holes:
    """Drops first transmissions of the client's data by position, nothing else."""

    lost: Callable[[int], bool]
    base: int | None = None
    seen: set[int] = field(default_factory=set)

    def __call__(self, up: bool, seg: Segment, frame: bytearray) -> bool:
        if not up:
            return True
        if seg.flags & SYN:
            self.base = seg.seq + 1
        if self.base is None or not seg.payload or seg.seq in self.seen:
            return True
        self.seen.add(seg.seq)
        return not self.lost(distance(seg.seq, self.base))


@dataclass
class Every:
    """Drops the first transmission of whatever has a byte at a multiple of n in it, both ways.

    So the same data is lost with and without the option.
    """

    n: int
    bases: dict[bool, int] = field(default_factory=dict)
    tops: dict[bool, int] = field(default_factory=dict)

    def __call__(self, up: bool, seg: Segment, frame: bytearray) -> bool:
        if seg.flags & SYN:
            self.bases[up] = seg.seq + 1
        if up not in self.bases or not seg.payload:
            return True
        start = distance(seg.seq, self.bases[up])
        if start < self.tops.get(up, 0):
            return True
        self.tops[up] = start + seg.payload
        return start < self.n or (start + seg.payload - 1) // self.n == (start - 1) // self.n


@dataclass
class DropFirst:
    """Drops the first n packets of a kind."""

    kind: str
    left: int = 1

    def __call__(self, up: bool, seg: Segment, frame: bytearray) -> bool:
        if kind_of(up, seg) != self.kind or not self.left:
            return True
        self.left -= 1
        return False


__all__ = ["DropFirst", "Every", "Holes", "Middlebox", "Rule", "Stripper", "WireError", "kind_of", "strip"]
