# SPDX-License-Identifier: GPL-2.0
"""What Wireshark shows of the Santa Cruz option: tools/wireshark/santacruz.lua in tshark."""

import re
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from option.dissect import (
    ACK,
    INFO,
    LINKTYPE_ETHERNET,
    NOP,
    SCRIPT,
    SYN,
    TIMESTAMPS,
    Segment,
    dissect,
    echo,
    ip,
    santacruz,
    write_pcap,
)

pytestmark = pytest.mark.build

# Every field in the script's order, without "santacruz."
FIELDS = [
    *("form", "length", "data_copy", "ack_copy", "ack_sn", "ack_sn_rel", "timestamp_us", "granularity", "window"),
    *("blocks", "blocks_rel", "holes", "holes_rel", "malformed"),
]
RST = 0x04
OPTION_SPACE = 40
VALID_LENGTHS = {4, 5, 13, *range(16, 34)}
FIRST = santacruz(b"\x10")
ETHERTYPES = {4: b"\x08\x00", 6: b"\x86\xdd"}


def decode(pcap: Path, *segments: Segment | bytes) -> list[dict[str, str]]:
    """What the fields are, those that are not there left out."""
    write_pcap(pcap, [s.packet() if isinstance(s, Segment) else s for s in segments])
    rows = dissect(pcap, *(f"santacruz.{name}" for name in FIELDS))
    assert len(rows) == len(segments)
    return [{key.removeprefix("santacruz."): value for key, value in row.items() if value} for row in rows]


@pytest.fixture
def pcap(tmp_path: Path) -> Path:
    return tmp_path / "made.pcap"


def suffixes(pcap: Path) -> list[str]:
    """What the packet list says about the option."""
    return ["".join(re.findall(r"\[SC [^]]*\]", row[INFO])) for row in dissect(pcap, INFO)]


def connection(sender: str, receiver: str) -> list[Segment]:
    """A loss and its repair: 3 segments of 100 bytes, the first of them sent twice."""
    data = Segment(seq=1000, ack=5000, source=sender, destination=receiver, payload=b"x" * 100)
    acks = Segment(seq=5000, ack=1000, source=receiver, destination=sender, ports=(5201, 1024))
    return [
        replace(data, options=santacruz(), seq=999, ack=0, flags=SYN, payload=b""),
        replace(acks, options=santacruz(), seq=4999, flags=SYN | ACK),
        replace(data, options=FIRST),
        replace(data, options=FIRST, seq=1100),
        replace(data, options=FIRST, seq=1200),
        replace(acks, options=echo(0x01, 1100, 77, 100, b"\x40")),
        replace(acks, options=echo(0x01, 1200, 0xFFFFFFFF, 100, b"\x60")),
        replace(data, options=santacruz(b"\x20")),
        replace(acks, options=echo(0x12, 1000, 1), ack=1300, payload=b"y"),
    ]


@pytest.mark.parametrize(("sender", "receiver"), [("192.0.2.1", "198.51.100.1"), ("2001:db8::1", "2001:db8::2")])
def test_connection(pcap: Path, sender: str, receiver: str) -> None:
    rows = decode(pcap, *connection(sender, receiver))
    first = {"form": "data", "length": "5", "data_copy": "1", "ack_copy": "0"}
    hole = {"form": "window", "length": "16", "data_copy": "0", "ack_copy": "1", "granularity": "100"}
    hole |= {"holes": "1000-1100", "holes_rel": "1-101"}
    assert rows[:2] == [{"form": "permitted", "length": "4"}] * 2
    assert rows[2:5] == [first] * 3
    assert rows[5] == hole | {"window": "01000000", "blocks": "1100-1200", "blocks_rel": "101-201"} | {
        "ack_sn": "1100",
        "ack_sn_rel": "101",
        "timestamp_us": "77",
    }
    assert rows[6] == hole | {"window": "01100000", "blocks": "1100-1300", "blocks_rel": "101-301"} | {
        "ack_sn": "1200",
        "ack_sn_rel": "201",
        "timestamp_us": "4294967295",
    }
    assert rows[7] == first | {"data_copy": "2"}
    assert rows[8] == {"form": "echo", "length": "13", "data_copy": "1", "ack_copy": "2"} | {
        "ack_sn": "1000",
        "ack_sn_rel": "1",
        "timestamp_us": "1",
    }
    assert suffixes(pcap) == [
        "[SC permitted]",
        "[SC permitted]",
        "[SC 1:0]",
        "[SC 1:0]",
        "[SC 1:0]",
        "[SC 0:1 sn=101 w=01]",
        "[SC 0:1 sn=201 w=011]",
        "[SC 2:0]",
        "[SC 1:2 sn=1]",
    ]


def test_display_filters(pcap: Path) -> None:
    segments = [*connection("192.0.2.1", "198.51.100.1"), Segment(santacruz(b"\x10\0")), Segment()]
    write_pcap(pcap, [s.packet() for s in segments])
    numbers = {
        keep: [int(row["frame.number"]) for row in dissect(pcap, "frame.number", keep=keep)]
        for keep in (
            "santacruz.data_copy > 1",
            "santacruz.ack_sn_rel == 201 && santacruz.timestamp_us > 77",
            'santacruz.form == "permitted"',
            'santacruz.window matches "^01+0"',
            "santacruz.malformed.expert",
            "not santacruz",
        )
    }
    assert list(numbers.values()) == [[8], [7], [1, 2], [6, 7], [10], [11]]


HOLES = echo(0x32, 7, 8, 1448, b"\xa0")  # 16 bytes
LONGEST = echo(0xFF, 0xFFFFFFFF, 0xFFFFFFFF, 65535, b"\xff" * 18)


PLACES = [
    HOLES,
    NOP * 4 + HOLES,
    NOP + HOLES + NOP * 3,
    HOLES + NOP * 24,
    NOP * 2 + TIMESTAMPS + HOLES,
    HOLES + NOP * 2 + TIMESTAMPS,
    HOLES + b"\0\2" + FIRST,
    bytes.fromhex("020405b4 0303070402") + HOLES,
]


def test_place_among_the_options(pcap: Path) -> None:
    want = {"form": "window", "ack_copy": "2", "ack_sn": "7", "blocks": "100-1548,2996-4444"}
    for row in decode(pcap, *(Segment(options, ack=100) for options in PLACES)):
        assert row.items() >= want.items()
        assert "malformed" not in row


EXTREMES: list[tuple[bytes, dict[str, str]]] = [
    (LONGEST, {"data_copy": "15", "ack_copy": "15", "window": "1" * 144, "blocks": f"0-{144 * 65535}"}),
    (echo(0x10, 1, 2, 9, b"\0\0"), {"ack_copy": "0", "window": "0" * 16}),
    (echo(0x10, 1, 2, 9, b"\0\1"), {"window": "0" * 15 + "1", "holes": "0-135", "blocks": "135-144"}),
    (santacruz(b"\x21"), {"form": "data", "data_copy": "2", "ack_copy": "1"}),
]


def test_extremes(pcap: Path) -> None:
    rows = decode(pcap, *(Segment(options) for options, _ in EXTREMES))
    for row, (_, want) in zip(rows, EXTREMES, strict=True):
        assert row.items() >= want.items()
        assert "malformed" not in row
        assert ("blocks" in row) == ("blocks" in want)


def test_sequence_numbers_wrap(pcap: Path) -> None:
    """The blocks of the kernel's own test (tcp_sc_blocks_test)."""
    syn = Segment(santacruz(), seq=-10001, flags=SYN)
    ack = Segment(echo(0x01, 500, 1, 1000, b"\x50\x00\x03"), seq=1, ack=-1500, ports=syn.ports[::-1])
    ack = replace(ack, source=syn.destination, destination=syn.source)
    row = decode(pcap, syn, ack)[1]
    assert row["blocks"] == "4294966796-500,1500-2500,20500-22500"
    assert row["blocks_rel"] == "9501-10501,11501-12501,30501-32501"
    assert row["holes"] == "4294965796-4294966796,500-1500,2500-20500"
    assert row["ack_sn_rel"] == "10501"


def test_every_length(pcap: Path) -> None:
    """With a header of 40 bytes of options, all there."""
    rest = struct.pack("!BIIH", 0x11, 1, 2, 3) + b"\x80" * 25
    lengths = range(64)
    rows = decode(pcap, *(Segment(santacruz(rest, length=n)[:OPTION_SPACE]) for n in lengths))
    for n, row in zip(lengths, rows, strict=True):
        if n < 4:
            assert row == {}, "not ours, or no option at all"
        elif n > OPTION_SPACE:
            assert row == {"form": "malformed", "length": str(n), "malformed": f"truncated: {n} bytes, 40 left"}
        elif n not in VALID_LENGTHS:
            assert row == {"form": "malformed", "length": str(n), "malformed": f"length {n}"}
        else:
            assert row.get("malformed") == ("length 4 without SYN" if n == 4 else None)


def test_truncated_by_the_header(pcap: Path) -> None:
    words = range(5, 15)
    rows = decode(pcap, *(Segment(LONGEST, words=n) for n in words))
    left = [n * 4 - 20 for n in words]
    assert [row.get("malformed") for row in rows] == [
        None if n < 4 else f"truncated: 33 bytes, {n} left" if n < 33 else None for n in left
    ]
    assert [row.get("form") for row in rows] == [None, *["malformed"] * 8, "window"]


MALFORMED = [
    (Segment(echo(0x11, 1, 2, 0, b"\xff")), "window", "granularity 0"),
    (Segment(santacruz()), "permitted", "length 4 without SYN"),
    (Segment(FIRST, flags=SYN), "data", "length 5 with SYN"),
    (Segment(HOLES, flags=SYN | ACK), "window", "length 16 with SYN"),
    (Segment(FIRST + FIRST), "data,data", "repeated"),
    (Segment(santacruz(b"\0\0") + NOP + FIRST), "malformed,data", "length 6,repeated"),
    (Segment(HOLES, flags=RST), "window", ""),
]


def test_malformed(pcap: Path) -> None:
    rows = decode(pcap, *(segment for segment, _, _ in MALFORMED))
    assert [row["form"] for row in rows] == [form for _, form, _ in MALFORMED]
    assert [row.get("malformed", "") for row in rows] == [reason for _, _, reason in MALFORMED]
    assert "blocks" not in rows[0], "no unit, no place"
    assert "blocks" not in rows[-1], "nothing to count from without ACK"
    for row, (_, _, reasons) in zip(dissect(pcap, "_ws.expert.message"), MALFORMED, strict=True):
        said = re.findall(r"Santa Cruz option: ([^,]*)", row["_ws.expert.message"])
        assert ",".join(said) == reasons


def test_leaves_other_options_alone(pcap: Path) -> None:
    """TCP Fast Open (ExID F989) and SMC are still Wireshark's; kind 253 is not ours."""
    fast_open, smc = bytes.fromhex("fe0cf989 0102030405060708"), bytes.fromhex("fe06e2d4c3d9")
    others = [fast_open, smc, b"\xfd" + FIRST[1:], b"\xfe\x02", b"\xfe\x03\x53", b"\xfe", TIMESTAMPS, b""]
    assert decode(pcap, *(Segment(o, flags=SYN) for o in others)) == [{}] * len(others)
    exids = [row["tcp.options.experimental.exid"] for row in dissect(pcap, "tcp.options.experimental.exid")]
    assert exids[:2] == ["0xf989", "0xe2d4"]


def test_links_and_tunnels(pcap: Path) -> None:
    inner = Segment(HOLES, ack=100).packet()
    six = Segment(HOLES, ack=100, source="2001:db8::1", destination="2001:db8::2")
    padded = b"\x06\0\x01\x04\0\0\0\0" + six.tcp()
    packets = [
        b"\0" * 12 + ETHERTYPES[4] + inner,
        b"\0" * 12 + b"\x81\x00\0\x07" + ETHERTYPES[6] + six.packet(),
        b"\0" * 12 + ETHERTYPES[6] + ip("2001:db8::1", "2001:db8::2", 60, padded),
        b"\0" * 12 + ETHERTYPES[6] + ip("2001:db8::1", "2001:db8::2", 4, inner),
        b"\0" * 12 + ETHERTYPES[4] + ip("192.0.2.1", "192.0.2.2", 1, b"\3\4\0\0\0\0\5\xdc" + inner),
    ]
    write_pcap(pcap, packets, LINKTYPE_ETHERNET)
    rows = dissect(pcap, "santacruz.form", "santacruz.blocks")
    assert rows == [{"santacruz.form": "window", "santacruz.blocks": "100-1548,2996-4444"}] * len(packets)


def test_two_headers_in_a_frame(pcap: Path) -> None:
    """Each has its own relative numbers: here OpenFlow over TCP carries a frame of another connection."""
    inner, outer = (Segment(echo(0x01, sn, 1), ack=sn - 100, seq=1) for sn in (7000, 900))
    frame = b"\0" * 12 + ETHERTYPES[4] + inner.packet()
    packet_in = struct.pack("!BBHIIHHBx", 1, 10, 18 + len(frame), 0, 0, len(frame), 0, 0) + frame
    carrying = replace(outer, ports=(1024, 6653), payload=packet_in)
    syn = Segment(
        santacruz(), seq=790, flags=SYN, source=outer.destination, destination=outer.source, ports=(6653, 1024)
    )
    row = decode(pcap, syn, carrying)[1]
    assert row["ack_sn"] == "900,7000"
    assert row["ack_sn_rel"] == "110,101", "the inner start is not known: its first ACK counts as 1"


def test_ip_fragments(pcap: Path) -> None:
    """The header of a reassembled packet is in none of the frame's own bytes."""
    tcp = Segment(HOLES, ack=100, payload=b"x" * 20).tcp()
    whole = ip("192.0.2.1", "192.0.2.2", 6, tcp)
    parts = [(0, tcp[:8]), (1, tcp[8:24]), (3, tcp[24:])]
    packets = []
    for place, part in parts:
        packet = bytearray(whole[:20] + part)
        more = 0x2000 if place < 3 else 0
        struct.pack_into("!H", packet, 2, len(packet))
        struct.pack_into("!H", packet, 6, more | place)
        packets.append(bytes(packet))
    rows = decode(pcap, *packets)
    assert rows[-1].items() >= {"form": "window", "blocks": "100-1548,2996-4444"}.items()


def test_captures_cut_short(pcap: Path) -> None:
    """tcpdump -s: at each length a line, and the option as soon as it is whole."""
    packet = Segment(NOP * 2 + TIMESTAMPS + HOLES, ack=100, payload=b"x" * 8).packet()
    named, whole = 20 + 20 + 12 + 4, 20 + 20 + 12 + len(HOLES)
    write_pcap(pcap, [packet] * len(packet), snaplens=range(1, len(packet) + 1))
    rows = dissect(pcap, "santacruz.form", "santacruz.malformed")
    assert len(rows) == len(packet)
    for length, row in enumerate(rows, 1):
        cut = named <= length < whole
        assert row["santacruz.form"] == ("malformed" if cut else "window" if length >= whole else "")
        assert row["santacruz.malformed"] == (f"truncated: 16 bytes, {length - 52} left" if cut else "")


def test_documents_its_fields() -> None:
    """The list in the script's header comment is that of the fields it registers."""
    source = SCRIPT.read_text()
    documented = re.findall(r"^--   santacruz\.(\w+)  ", source, re.M)
    registered = re.findall(r'ProtoField\.\w+\("santacruz\.(\w+)"', source)
    assert documented == registered == FIELDS


# Hostile input -------------------------------------------------------------------------

ours = st.builds(
    lambda body, lie: santacruz(body, length=lie),
    st.binary(max_size=36),
    st.one_of(st.none(), st.none(), st.integers(0, 255)),
)
granular = st.builds(
    echo,
    st.integers(0, 255),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1, 536, 1448, 65535]),
    st.binary(max_size=18),
)
option_bytes = st.lists(
    st.one_of(ours, granular, st.sampled_from([NOP, TIMESTAMPS, b"\0\2"]), st.binary(max_size=12)), max_size=4
).map(lambda parts: b"".join(parts)[:OPTION_SPACE])
flags = st.sampled_from([ACK, ACK, ACK, SYN, SYN | ACK, 0])
segments = st.builds(Segment, options=option_bytes, ack=st.integers(0, 2**32 - 1), flags=flags)


def expected(segment: Segment) -> list[dict[str, str]]:
    """The contract, once more: what each Santa Cruz option of a segment says."""
    options = segment.tcp()[20:]
    found: list[dict[str, str]] = []
    while len(options) > 1 and options[0]:
        length = 1 if options[0] == 1 else options[1]
        if not length:
            break
        if options[0] == 254 and options[2:4] == b"SC" and length > 3:
            found.append(expected_option(segment, options[: min(length, len(options))], length, bool(found)))
        elif options[0] != 1 and length < 2:
            break
        options = options[length:]
    return found


def expected_option(segment: Segment, option: bytes, length: int, repeated: bool) -> dict[str, str]:
    """Its fields, those that are not there left out."""
    row = {"length": str(length)}
    syn = bool(segment.flags & SYN)
    if length > len(option):
        return row | {"form": "malformed", "malformed": f"truncated: {length} bytes, {len(option)} left"}
    if length not in VALID_LENGTHS:
        return row | {"form": "malformed", "malformed": f"length {length}"}
    row["form"] = {4: "permitted", 5: "data", 13: "echo"}.get(length, "window")
    if syn != (length == 4):
        row["malformed"] = f"length {length} {'with' if syn else 'without'} SYN"
    elif length > 13 and option[13:15] == b"\0\0":
        row["malformed"] = "granularity 0"
    elif repeated:
        row["malformed"] = "repeated"
    if length > 4:
        row |= {"data_copy": str(option[4] >> 4), "ack_copy": str(option[4] & 15)}
    if length > 5:
        row |= dict(zip(("ack_sn", "timestamp_us"), map(str, struct.unpack("!II", option[5:13])), strict=True))
    if length > 13:
        row["granularity"] = str(int.from_bytes(option[13:15]))
        row["window"] = "".join(f"{byte:08b}" for byte in option[15:])
        if segment.flags & ACK and option[13:15] != b"\0\0":
            row |= expected_runs(segment.ack, int.from_bytes(option[13:15]), row["window"])
    return row


def expected_runs(ack: int, granularity: int, bits: str) -> dict[str, str]:
    """Blocks and holes."""
    spans: dict[str, list[str]] = {"0": [], "1": []}
    for run in re.finditer(r"1+|0+(?=.*1)", bits):
        ends = ((ack + bit * granularity) % 2**32 for bit in run.span())
        spans[run[0][0]].append("-".join(map(str, ends)))
    return {name: ",".join(spans[bit]) for name, bit in (("holes", "0"), ("blocks", "1")) if spans[bit]}


@settings(max_examples=6, deadline=None)
@given(made=st.lists(segments, min_size=100, max_size=300))
def test_any_options(made: list[Segment], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every field of every option, whatever the options' bytes are."""
    rows = decode(tmp_path_factory.mktemp("any") / "made.pcap", *made)
    for segment, row in zip(made, rows, strict=True):
        options = expected(segment)
        for name in FIELDS:
            if not name.endswith("_rel"):
                assert row.get(name, "") == ",".join(o[name] for o in options if name in o), (segment, name)


@settings(max_examples=4, deadline=None)
@given(
    made=st.lists(st.one_of(segments, st.builds(replace, segments, words=st.integers(0, 15))), min_size=100),
    cut=st.integers(1, 100),
)
def test_any_header_and_cut(made: list[Segment], cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A line a packet and no complaint, whatever is missing."""
    pcap = tmp_path_factory.mktemp("any") / "made.pcap"
    write_pcap(pcap, [s.packet() for s in made], snaplens=[cut] * len(made))
    assert len(dissect(pcap, "santacruz.form")) == len(made)
    write_pcap(pcap, [ip("192.0.2.1", "192.0.2.2", 6, s.tcp()[:cut]) for s in made])
    assert len(dissect(pcap, "santacruz.form")) == len(made)
