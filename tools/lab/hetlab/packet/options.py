# SPDX-License-Identifier: GPL-2.0
"""TCP options, the Santa Cruz option among them: text, numbers, bytes.

An option is one of the small classes below. Their numbers are either those of
the script (relative to the first SYN, to the start of the script) or those on
the wire; ``Frame`` turns one into the other. ``None`` stands for "any" in what
a script expects. ``encode`` and ``decode`` know nothing of either: they work
on wire numbers alone.
"""

import dataclasses
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hetlab.packet.expr import Fault

EXPERIMENT = 254
EXID = 0x5343
WINDOW_BYTES = 18
SPACE = 40
MOD32 = 1 << 32
US = 1_000_000


class Raw(int):
    """A number as it is on the wire, exempt from all mapping."""


Num = int | None


@dataclass(frozen=True)
class Eol:
    """End of the options."""


@dataclass(frozen=True)
class Nop:
    """One byte of padding."""


@dataclass(frozen=True)
class Mss:
    """Maximum segment size, SYN only."""

    value: Num


@dataclass(frozen=True)
class WScale:
    """Window scale, SYN only."""

    shift: Num


@dataclass(frozen=True)
class SackOk:
    """SACK permitted, SYN only."""


@dataclass(frozen=True)
class Timestamp:
    """RFC 7323 timestamps, in milliseconds."""

    val: Num
    ecr: Num


@dataclass(frozen=True)
class Sack:
    """SACK blocks: first byte and first byte after."""

    blocks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ScOk:
    """Santa Cruz permitted, SYN only."""


@dataclass(frozen=True)
class Sc:
    """Santa Cruz feedback; the later fields are there or not, in this order.

    ``ts`` counts microseconds; ``window`` holds the bytes of the bit vector.
    """

    data_copy: Num
    ack_copy: Num
    echo: bool = False
    sn: Num = None
    ts: Num = None
    holes: bool = False
    gran: Num = None
    window: bytes | None = None


@dataclass(frozen=True)
class AccEcn:
    """Accurate ECN (RFC 9768): bytes that came with ECT(0) (e0b), CE (ceb) and ECT(1) (e1b), or the first of these.

    ``order``: the counter that is the first: e0b or, in the other kind, where they stand in reverse, e1b.
    """

    order: str
    counters: tuple[int, ...]


@dataclass(frozen=True)
class Hex:
    """Raw bytes: unknown or malformed options."""

    data: bytes


Option = Eol | Nop | Mss | WScale | SackOk | Timestamp | Sack | ScOk | Sc | AccEcn | Hex

# Kinds of Accurate ECN by the counter that comes first
ACCECN_KINDS = {"e0b": 172, "e1b": 174}
ACCECN_COUNTERS = 3
ACCECN_LENGTHS = [2 + 3 * count for count in range(1, ACCECN_COUNTERS + 1)]
MOD24 = 1 << 24


@dataclass(frozen=True)
class Frame:
    """What the numbers of one direction are relative to."""

    seq_isn: int
    ack_isn: int
    ts_val: int
    ts_ecr: int
    origin_us: int

    def seq(self, number: int) -> int:
        """Sequence number of this direction's data."""
        return (number + self.seq_isn) % MOD32

    def to_wire(self, option: Option) -> Option:
        """From script numbers to wire numbers."""
        return _shift(option, self, 1)

    def to_script(self, option: Option) -> Option:
        """From wire numbers to script numbers."""
        return _shift(option, self, -1)


def _add(value: Num, base: int, sign: int) -> Num:
    if value is None or isinstance(value, Raw):
        return value
    return (value + sign * base) % MOD32


def _shift(option: Option, frame: Frame, sign: int) -> Option:
    if isinstance(option, Timestamp):
        return Timestamp(_add(option.val, frame.ts_val, sign), _add(option.ecr, frame.ts_ecr, sign))
    if isinstance(option, Sack):
        base = sign * frame.ack_isn
        return Sack(tuple(((a + base) % MOD32, (b + base) % MOD32) for a, b in option.blocks))
    if isinstance(option, Sc) and option.echo:
        if sign < 0 and option.ack_copy == 0:
            return dataclasses.replace(option, sn=Raw(option.sn or 0), ts=Raw(option.ts or 0))
        sn, ts = _add(option.sn, frame.ack_isn, sign), _add(option.ts, frame.origin_us, sign)
        return dataclasses.replace(option, sn=sn, ts=ts)
    return option


def _known(value: Num) -> int:
    if value is None:
        raise Fault("'any' has no place in an injected packet")
    return int(value)


def _encode_sc(sc: Sc) -> bytes:
    body = struct.pack("!HB", EXID, _known(sc.data_copy) << 4 | _known(sc.ack_copy))
    if sc.echo:
        body += struct.pack("!II", _known(sc.sn), _known(sc.ts))
    if sc.holes:
        if sc.window is None:
            raise Fault("'any' has no place in an injected packet")
        body += struct.pack("!H", _known(sc.gran)) + sc.window
    return bytes((EXPERIMENT, 2 + len(body))) + body


def _encode_sack(option: Sack) -> bytes:
    return bytes((5, 2 + 8 * len(option.blocks))) + b"".join(struct.pack("!II", a, b) for a, b in option.blocks)


def _encode_accecn(option: AccEcn) -> bytes:
    body = b"".join(counter.to_bytes(3, "big") for counter in option.counters)
    return bytes((ACCECN_KINDS[option.order], 2 + len(body))) + body


ENCODERS: dict[type, Callable[[Any], bytes]] = {
    Eol: lambda _: b"\0",
    Nop: lambda _: b"\1",
    Mss: lambda o: struct.pack("!BBH", 2, 4, _known(o.value)),
    WScale: lambda o: bytes((3, 3, _known(o.shift))),
    SackOk: lambda _: b"\4\2",
    Timestamp: lambda o: struct.pack("!BBII", 8, 10, _known(o.val), _known(o.ecr)),
    Sack: _encode_sack,
    ScOk: lambda _: struct.pack("!BBH", EXPERIMENT, 4, EXID),
    Sc: _encode_sc,
    AccEcn: _encode_accecn,
    Hex: lambda o: bytes(o.data),
}


def encode_one(option: Option) -> bytes:
    """One option without padding."""
    return ENCODERS[type(option)](option)


def encode(options: Sequence[Option]) -> bytes:
    """Wire bytes, zeros at the end up to a multiple of four."""
    data = b"".join(map(encode_one, options))
    if len(data) > SPACE:
        raise Fault(f"{len(data)} bytes of options; there is room for {SPACE}")
    return data + bytes(-len(data) % 4)


def _decode_sc(data: bytes) -> Option:
    """What follows kind and length; the caller has seen the ExID."""
    body = data[4:]
    if not body:
        return ScOk()
    sc = Sc(body[0] >> 4, body[0] & 15)
    if len(body) == 1:
        return sc
    if len(body) != 9 and not 12 <= len(body) <= 11 + WINDOW_BYTES:
        return Hex(data)
    sn, ts = struct.unpack_from("!II", body, 1)
    sc = dataclasses.replace(sc, echo=True, sn=sn, ts=ts)
    if len(body) == 9:
        return sc
    return dataclasses.replace(sc, holes=True, gran=struct.unpack_from("!H", body, 9)[0], window=body[11:])


FIXED: dict[tuple[int, int], Callable[[bytes], Option]] = {
    (2, 4): lambda data: Mss(int.from_bytes(data[2:], "big")),
    (3, 3): lambda data: WScale(data[2]),
    (4, 2): lambda _: SackOk(),
    (8, 10): lambda data: Timestamp(*struct.unpack("!II", data[2:])),
}


def _decode_accecn(data: bytes) -> Option:
    order = next(name for name, kind in ACCECN_KINDS.items() if kind == data[0])
    return AccEcn(order, tuple(int.from_bytes(data[at : at + 3]) for at in range(2, len(data), 3)))


def _decode_one(data: bytes) -> Option:
    kind, length = data[0], len(data)
    if (kind, length) in FIXED:
        return FIXED[kind, length](data)
    if kind == 5 and length > 2 and length % 8 == 2:
        return Sack(tuple(struct.iter_unpack("!II", data[2:])))
    if kind in ACCECN_KINDS.values() and length in ACCECN_LENGTHS:
        return _decode_accecn(data)
    if kind == EXPERIMENT and length >= 4 and data[2:4] == EXID.to_bytes(2, "big"):
        return _decode_sc(data)
    return Hex(data)


def decode(data: bytes) -> tuple[Option, ...]:
    """Options of a header; what is malformed comes out as ``Hex``, and ends the list if its length is."""
    found: list[Option] = []
    at = 0
    while at < len(data):
        if data[at] < 2:
            found.append(Nop() if data[at] else Eol())
            at += 1
            if not data[at - 1]:
                break
            continue
        length = data[at + 1] if at + 1 < len(data) else 0
        if length < 2 or at + length > len(data):
            found.append(Hex(data[at:]))
            break
        found.append(_decode_one(data[at : at + length]))
        at += length
    return tuple(found)


def _fields_match(want: Option, have: Option, slack_us: int) -> bool:
    if type(want) is not type(have):
        return False
    if isinstance(want, Sc) and isinstance(have, Sc) and want.ts is not None and have.ts is not None:
        slack = 0 if isinstance(want.ts, Raw) else slack_us
        if (have.ts - want.ts + slack) % MOD32 <= 2 * slack:
            have = dataclasses.replace(have, ts=want.ts)
    pairs = zip(dataclasses.astuple(want), dataclasses.astuple(have), strict=True)
    return all(w is None or w == h for w, h in pairs)


def significant(options: Sequence[Option]) -> list[Option]:
    """All but padding."""
    return [o for o in options if not isinstance(o, Nop | Eol)]


def match(want: Sequence[Option], have: Sequence[Option], strict: bool = False, slack_us: int = 0) -> bool:
    """Whether wire options are what is expected, in wire numbers.

    Padding counts only if strict; a Santa Cruz timestamp, unless raw, may be off by the slack.
    """
    if not strict:
        want, have = significant(want), significant(have)
    return len(want) == len(have) and all(_fields_match(w, h, slack_us) for w, h in zip(want, have, strict=True))
