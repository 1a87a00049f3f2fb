# SPDX-License-Identifier: GPL-2.0
"""TCP as it is on the wire: frames to segments, the Santa Cruz option to its fields."""

import struct
from dataclasses import dataclass, replace
from functools import cached_property

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
EOL, NOP, MSS, WSCALE, SACK_OK, SACK, TSTAMP = 0, 1, 2, 3, 4, 5, 8
MD5, AO, MPTCP, FASTOPEN, EXPERIMENT = 19, 29, 30, 34, 254
EXID = 0x5343
LEN_SYN, LEN_DATA, LEN_ECHO, LEN_HOLES, MAX_WINDOW = 4, 5, 13, 15, 18
MAX_OPTIONS = 40
IPPROTO_TCP = 6
WRAP = 1 << 32


class WireError(Exception):
    """A packet that must not be."""


def distance(value: int, base: int) -> int:
    """How far a sequence number is ahead of another, between -2^31 and 2^31 - 1."""
    return (value - base + WRAP // 2) % WRAP - WRAP // 2


@dataclass(frozen=True)
class Option:
    """The Santa Cruz option of a packet."""

    length: int
    data_copy: int = 0
    ack_copy: int = 0
    ack_sn: int = 0
    rcv_us: int = 0
    gran: int = 0
    window: bytes = b""

    def bits(self) -> list[bool]:
        """The ACK window, most significant bit first."""
        return [bool(byte >> (7 - i) & 1) for byte in self.window for i in range(8)]


@dataclass(frozen=True)
class Segment:
    """A TCP packet seen at an interface; with ``gso_size`` several wire segments in one."""

    time_ns: int
    out: bool
    src: tuple[str, int]
    dst: tuple[str, int]
    ip_len: int
    seq: int
    ack: int
    flags: int
    header: int
    payload: int
    options: bytes
    gso_size: int = 0

    @property
    def time_us(self) -> int:
        """Time of capture, as the option carries it."""
        return self.time_ns // 1000 % WRAP

    @cached_property
    def kinds(self) -> dict[int, bytes]:
        """Options by kind, NOPs left out; raises WireError if they are malformed."""
        return dict(parse_options(self.options))

    @cached_property
    def santacruz(self) -> Option | None:
        """The Santa Cruz option if there is one."""
        body = self.kinds.get(EXPERIMENT)
        if body is None or len(body) < 2 or int.from_bytes(body[:2]) != EXID:
            return None
        return parse_santacruz(body)

    def wire(self) -> list["Segment"]:
        """The segments on the wire, of at most gso_size bytes each."""
        if not self.gso_size or self.payload <= self.gso_size:
            return [self]
        overhead = self.ip_len - self.payload
        parts = []
        for start in range(0, self.payload, self.gso_size):
            length = min(self.gso_size, self.payload - start)
            seq = (self.seq + start) % WRAP
            parts.append(replace(self, seq=seq, payload=length, ip_len=overhead + length, gso_size=0))
        return parts

    def __str__(self) -> str:
        way = ">" if self.out else "<"
        return f"{way} {self.src[1]}->{self.dst[1]} seq {self.seq}:{self.payload} ack {self.ack} {self.santacruz}"


def parse_options(area: bytes) -> list[tuple[int, bytes]]:
    """Kind and body of each option; raises WireError where a receiver would stop reading."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(area):
        kind = area[at]
        if kind == NOP:
            at += 1
            continue
        if kind == EOL:
            if any(area[at:]):
                raise WireError(f"data behind the end of options: {area.hex()}")
            break
        if at + 1 >= len(area) or area[at + 1] < 2 or at + area[at + 1] > len(area):
            raise WireError(f"option {kind} runs out of the header: {area.hex()}")
        if kind in (k for k, _ in found):
            raise WireError(f"option {kind} twice: {area.hex()}")
        found.append((kind, area[at + 2 : at + area[at + 1]]))
        at += area[at + 1]
    return found


def parse_santacruz(body: bytes) -> Option:
    """The fields behind kind and length, ExID included; raises WireError on a length that is none."""
    length = len(body) + 2
    if length == LEN_SYN:
        return Option(length)
    if length == LEN_DATA:
        return Option(length, body[2] >> 4, body[2] & 15)
    if length != LEN_ECHO and not LEN_HOLES < length <= LEN_HOLES + MAX_WINDOW:
        raise WireError(f"Santa Cruz option of {length} bytes: {body.hex()}")
    copies, sn, rcv_us = struct.unpack_from(">BII", body, 2)
    gran = int.from_bytes(body[11:13]) if length > LEN_HOLES else 0
    return Option(length, copies >> 4, copies & 15, sn, rcv_us, gran, body[13:])


def address(raw: bytes) -> str:
    """An IP address as text that compares equal, whatever the version."""
    return ".".join(map(str, raw)) if len(raw) == 4 else raw.hex()


def parse_packet(data: bytes, time_ns: int = 0, out: bool = False, gso_size: int = 0) -> Segment | None:
    """A packet from its IP header on, cut behind the TCP header or not; None if it is not TCP."""
    version = data[0] >> 4
    if version == 4 and data[9] == IPPROTO_TCP:
        start, ip_len = (data[0] & 15) * 4, int.from_bytes(data[2:4])
        src, dst = address(data[12:16]), address(data[16:20])
    elif version == 6 and data[6] == IPPROTO_TCP:
        start, ip_len = 40, 40 + int.from_bytes(data[4:6])
        src, dst = address(data[8:24]), address(data[24:40])
    else:
        return None
    sport, dport, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", data, start)
    header = (offset >> 4) * 4
    payload = ip_len - start - header
    if header < 20 or payload < 0:
        raise WireError(f"data offset {header} of {ip_len - start} bytes")
    options = bytes(data[start + 20 : start + header])
    return Segment(
        time_ns, out, (src, sport), (dst, dport), ip_len, seq, ack, flags, header, payload, options, gso_size
    )
