# SPDX-License-Identifier: GPL-2.0
"""The oracles of the option's interoperation tests notice every lie they are there for."""

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from option.interop import middlebox, oracle, wire
from option.interop.oracle import Rules
from option.interop.wire import ACK, FIN, NOP, SYN, WRAP, Segment

pytestmark = pytest.mark.fast

CLIENT, SERVER = ("192.0.2.1", 40000), ("198.51.100.1", 5001)
ISN, PEER_ISN = WRAP - 2500, 77_000  # the data wraps
MS = 1_000_000
TSTAMP = bytes([NOP, NOP, 8, 10]) + bytes(8)


def option(body: bytes) -> bytes:
    """Santa Cruz option with its padding."""
    length = len(body) + 4
    return bytes([NOP] * (-length % 4) + [254, length, 0x53, 0x43]) + body


def echo(copies: int, sn: int, us: int, gran: int = 0, window: bytes = b"") -> bytes:
    """Body of an echo, with an ACK window if there is a granularity."""
    body = struct.pack(">BII", copies, sn % WRAP, us)
    return option(body + (struct.pack(">H", gran) + window if gran else b""))


def block(start: int, end: int) -> bytes:
    """SACK option of one block with its padding; segments by their index."""
    return bytes([NOP, NOP, 5, 10]) + struct.pack(">II", sn(start) % WRAP, sn(end) % WRAP)


def packet(at_ms: float, out: bool, seq: int, ack: int, options: bytes, payload: int = 0, flags: int = ACK) -> Segment:
    """A segment as the client (out) or the server sends it."""
    src, dst = (CLIENT, SERVER) if out else (SERVER, CLIENT)
    header = 20 + len(options)
    length = 20 + header + payload
    return Segment(int(at_ms * MS), out, src, dst, length, seq % WRAP, ack % WRAP, flags, header, payload, options)


SYNS = [
    packet(0, True, ISN, 0, option(b""), flags=SYN),
    packet(20, False, PEER_ISN, ISN + 1, option(b""), flags=SYN | ACK),
]


def up(at_ms: float, index: int, copy: int = 1, size: int = 1000) -> Segment:
    """A data segment from the client."""
    return packet(at_ms, True, ISN + 1 + 1000 * index, PEER_ISN + 1, option(bytes([copy << 4])), size)


def down(at_ms: float, upto: int, options: bytes) -> Segment:
    """A pure ACK from the server."""
    return packet(at_ms, False, PEER_ISN + 1, ISN + 1 + 1000 * upto, options)


def sn(index: int) -> int:
    """First byte of the client's segment."""
    return ISN + 1 + 1000 * index


# As the client sees it leave: the third is lost and sent again
SENT = [*SYNS, up(21, 0), up(22, 1), up(23, 2), up(24, 3), up(60, 2, 2)]
# As the server sees it: its packets leave, the client's come in
HOLE = echo(1, sn(3), 34_000, 1000, b"\x40")


def turned(packets: list[Segment]) -> list[Segment]:
    """The same packets at the other end."""
    return [replace(seg, out=not seg.out) for seg in packets]


RECEIVED = turned(
    [
        *SYNS,
        up(31, 0),
        up(32, 1),
        down(32, 2, echo(1, sn(1), 32_000)),
        up(34, 3),
        down(34, 2, HOLE),
        up(70, 2, 2),
        down(70, 4, echo(2, sn(2), 70_000)),
    ]
)


def faults(packets: list[Segment], rules: Rules = Rules()) -> dict[str, int]:
    """What the oracle says."""
    return dict(oracle.check(packets, rules).kinds)


def test_truth_passes() -> None:
    assert faults(SENT) == {}
    assert faults(RECEIVED) == {}
    verdict = oracle.check(RECEIVED, Rules())
    assert verdict.echoes == 3 and verdict.bits == 1 and verdict.lengths[16] == 1


@pytest.mark.parametrize(
    ("at", "options", "kind"),
    [
        (4, echo(1, sn(0), 32_000), "ACK.sn"),
        (4, echo(2, sn(1), 32_000), "ACK.copy"),
        (4, echo(1, sn(1), 32_003), "Timestamp"),
        (4, echo(1, sn(1), 31_997), "Timestamp"),
        (4, echo(0, sn(1), 32_000), "names a segment without ACK.copy"),
        (4, TSTAMP, "arrival not echoed"),
        (4, echo(0x11, sn(1), 32_000), "Data.copy does not suit the length"),
        (4, echo(1, sn(1), 32_000) + block(0, 1), "SACK beside the option"),
        (6, block(3, 4) + HOLE, "SACK beside the option"),
        (6, block(3, 4)[:2] + bytes([5, 2]) + echo(1, sn(3), 34_000), "SACK beside the option"),
        (6, block(3, 5) + echo(1, sn(3), 34_000), "SACK block of what has not arrived"),
        (6, block(2, 4) + echo(1, sn(3), 34_000), "SACK block of what has not arrived"),
        (4, option(b""), "length does not suit the flags"),
        (4, option(b"\x01"), "ACK.copy without echo"),
        (4, option(bytes(5)), "malformed options"),
        (4, option(bytes(30)), "malformed options"),
        (4, bytes([254, 13, 0x53, 0x43]), "malformed options"),
        (4, bytes([254, 1, 0x53, 0x43]), "malformed options"),
        (6, echo(1, sn(3), 34_000, 1000, b"\x60"), "bit for what has not arrived"),
        (6, echo(1, sn(3), 34_000, 1000, b"\x80"), "bit for what has not arrived"),
        (6, echo(1, sn(3), 34_000, 1001, b"\x40"), "bit for what has not arrived"),
        (6, echo(1, sn(3), 34_000, 500, b"\x10"), "no bit for what has arrived"),
        (6, echo(1, sn(3), 34_000, 1000, b"\x40\x00"), "granularity 0 or trailing zeros"),
        (6, echo(1, sn(3), 34_000, 1000, b"\x00"), "granularity 0 or trailing zeros"),
        (8, echo(1, sn(2), 70_000), "ACK.copy"),
        (8, echo(1, sn(3), 34_000), "ACK.sn"),
    ],
)
def test_lies_of_a_receiver(at: int, options: bytes, kind: str) -> None:
    seg = RECEIVED[at]
    header = 20 + len(options)
    lie = replace(seg, options=options, header=header, ip_len=20 + header)
    assert kind in faults([*RECEIVED[:at], lie, *RECEIVED[at + 1 :]])


def test_block_before_an_echo() -> None:
    """The run of the segment named, or what has come twice."""
    run = turned([down(34, 2, block(3, 4) + echo(1, sn(3), 34_000))])
    assert faults([*RECEIVED[:6], *run]) == {}
    came = turned([up(35, 5), down(35, 2, block(3, 4) + echo(1, sn(5), 35_000))])
    assert "SACK block of another run" in faults([*RECEIVED[:7], *came])
    again = turned([up(80, 1, 2), down(80, 4, block(1, 2) + echo(2, sn(1), 80_000))])
    assert faults([*RECEIVED, *again]) == {}


@pytest.mark.parametrize(("segments", "kind"), [(1, None), (3, "SACK block of what bits can tell")])
def test_block_of_another_run(segments: int, kind: str | None) -> None:
    """An ACK that names nothing, or what it acknowledges, may have a block only for a run too short for a bit."""
    later: list[Segment] = []
    for i, window in enumerate([0x40, 0x60, 0x70][:segments]):
        at_ms = 80 + i
        told = echo(1, sn(5 + i), at_ms * 1000, 1000, bytes([window]))
        later += [up(at_ms, 5 + i), down(at_ms, 4, told)]
    run = block(5, 5 + segments)
    unnamed = down(90, 4, run + echo(0, 0, 0))
    found = faults([*RECEIVED, *turned([*later, unnamed])])
    assert set(found) == ({kind} if kind else set())


def test_duplicates_are_told() -> None:
    silent = turned([up(80, 1, 2), down(80, 4, echo(2, sn(1), 80_000))])
    assert "duplicate not told" in faults([*RECEIVED, *silent])


def test_closing() -> None:
    """A FIN is echoed like data; who answers in TIME-WAIT has no option."""
    fin = replace(up(80, 4, size=0), flags=FIN | ACK)
    assert faults([*RECEIVED, *turned([fin, down(80, 5, echo(1, sn(4), 80_000))])]) != {}
    answer = replace(down(80, 4, echo(1, sn(4), 80_000)), ack=(sn(4) + 1) % WRAP)
    assert faults([*RECEIVED, *turned([fin, answer])]) == {}
    bare = replace(answer, options=TSTAMP, header=20 + len(TSTAMP))
    assert "arrival not echoed" in faults([*RECEIVED, *turned([fin, bare])])
    own = replace(down(75, 4, option(b"\x10")), flags=FIN | ACK)
    assert faults([*RECEIVED, *turned([own, fin, bare])]) == {}


def test_acknowledgement_of_nothing() -> None:
    lie = replace(RECEIVED[4], ack=(RECEIVED[4].ack + 1) % WRAP)
    assert "ACK of what has not arrived" in faults([*RECEIVED[:4], lie])


def test_echoed_twice() -> None:
    again = replace(RECEIVED[4], time_ns=RECEIVED[4].time_ns + MS)
    assert "segment echoed twice" in faults([*RECEIVED[:5], again])


def test_busy_receiver_names_what_came_earlier() -> None:
    late = turned([down(40, 1, echo(1, sn(0), 31_000)), down(40, 2, echo(1, sn(1), 32_000))])
    assert faults([*RECEIVED[:4], *late], Rules(queued=True)) == {}
    assert "ACK.sn" in faults([*RECEIVED[:4], *late])
    wrong = turned([down(39, 1, echo(1, sn(0), 31_000)), down(40, 2, echo(1, sn(1), 40_000))])
    assert "Timestamp" in faults([*RECEIVED[:4], *wrong], Rules(queued=True))


@pytest.mark.parametrize(("at", "copy"), [(2, 2), (6, 1), (6, 3)])
def test_lies_of_a_sender(at: int, copy: int) -> None:
    lie = replace(SENT[at], options=option(bytes([copy << 4])))
    assert "Data.copy" in faults([*SENT[:at], lie, *SENT[at + 1 :]])


def test_data_without_option() -> None:
    bare = replace(SENT[3], options=TSTAMP, header=32, ip_len=1052)
    assert "data without the option" in faults([*SENT[:3], bare])
    assert "option again after a stop" in faults([*SENT[:3], bare, SENT[4]], Rules(stripped=True))
    assert "option without agreement" in faults(SENT, Rules(agreed=False))


def test_mtu_counts_wire_segments() -> None:
    big = replace(up(21, 0, size=3000), gso_size=1400)
    assert [part.payload for part in big.wire()] == [1400, 1400, 200]
    assert faults([*SYNS, big], Rules(mtu=1448)) == {}
    assert "longer than the MTU" in faults([*SYNS, big], Rules(mtu=1447))


def test_offload_burst_is_one_header() -> None:
    """Segmentation repeats the echo in every segment of a burst, but not in the next one."""
    came = replace(up(21, 0), out=False, src=SERVER, dst=CLIENT, seq=PEER_ISN + 1, ack=ISN + 1)
    mark = echo(0x11, PEER_ISN + 1, 21_000)
    first = packet(30, True, ISN + 1, PEER_ISN + 1001, mark, 1000)
    second = replace(first, seq=(ISN + 1001) % WRAP)
    assert faults([*SYNS, came, first, second]) == {}
    assert "segment echoed twice" in faults([*SYNS, came, first, replace(second, time_ns=31 * MS)])


def test_count_of_transmissions_of_the_first_byte() -> None:
    """Sent as one, then in halves, then the second half once more."""
    halves = [up(40, 0, 2, 500), replace(up(41, 0, 2, 500), seq=(sn(0) + 500) % WRAP)]
    third = replace(halves[1], time_ns=50 * MS, options=option(bytes([3 << 4])))
    assert faults([*SYNS, up(21, 0), *halves, third]) == {}
    many = [up(60 + i, 0, min(15, 3 + i)) for i in range(14)]
    assert faults([*SYNS, up(21, 0), *halves, *many]) == {}


def test_ranges_against_sets() -> None:
    import random

    dice = random.Random(1)
    for _ in range(200):
        ranges, model = oracle.Ranges(), set[int]()
        for _ in range(12):
            start = dice.randrange(40)
            end = start + dice.randrange(1, 8)
            ranges.add(start, end)
            model |= set(range(start, end))
            probe = dice.randrange(40)
            assert ranges.covers(probe, probe + 3) == (set(range(probe, probe + 3)) <= model)
            run = probe
            while run in model:
                run += 1
            assert ranges.end_from(probe) == run
        assert all(a < b for a, b in zip(ranges.ends, ranges.starts[1:], strict=False))


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def frame(options: bytes, payload: bytes) -> bytearray:
    """An IPv4 frame; the checksum leaves out the pseudo header, which does not change."""
    head = struct.pack(">HHIIBBHHH", 1, 2, 3, 4, (20 + len(options)) // 4 << 4, ACK, 500, 0, 0)
    tcp = bytearray(head + options + payload)
    struct.pack_into(">H", tcp, 16, checksum(bytes(tcp) + b"\0" * (len(tcp) % 2)) ^ 0xFFFF)
    ip = struct.pack(">BBHIBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 64, 6, 0, bytes(4), bytes(4))
    return bytearray(bytes(12) + b"\x08\x00" + ip + tcp)


@pytest.mark.parametrize("options", [option(b"\x10") + TSTAMP, TSTAMP + HOLE, option(b"")])
def test_stripping_mends_the_checksum(options: bytes) -> None:
    data = frame(options, b"odd payload")
    seg = wire.parse_packet(bytes(data[14:]))
    assert seg and seg.santacruz
    assert middlebox.strip(seg, data)
    after = wire.parse_packet(bytes(data[14:]))
    assert after and after.santacruz is None and after.header == seg.header
    assert checksum(bytes(data[34:]) + b"\0") == 0xFFFF
    assert not middlebox.strip(after, data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tcp: tcp[:12] + b"\x40" + tcp[13:], "data offset"),
        (lambda tcp: tcp[:12] + b"\xf0" + tcp[13:20], "data offset"),
    ],
)
def test_bad_offset(change: Callable[[bytes], bytes], message: str) -> None:
    tcp = change(struct.pack(">HHIIBBHHH", 1, 2, 3, 4, 0x50, ACK, 500, 0, 0))
    ip = struct.pack(">BBHIBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 64, 6, 0, bytes(4), bytes(4))
    with pytest.raises(wire.WireError, match=message):
        wire.parse_packet(ip + tcp)


@pytest.mark.parametrize("area", ["fe", "fe00", "fe05", "0802", "00010000", "fe045343fe045343"])
def test_malformed_option_areas(area: str) -> None:
    raw = bytes.fromhex(area)
    if area == "0802":
        assert wire.parse_options(raw) == [(8, b"")]
        return
    with pytest.raises(wire.WireError):
        wire.parse_options(raw)
