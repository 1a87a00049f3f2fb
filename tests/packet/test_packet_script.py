# SPDX-License-Identifier: GPL-2.0
"""Packet scripts: what the parser accepts and refuses, the option codec, packets to bytes and back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetlab.packet import options, wire
from hetlab.packet.expr import Fault, evaluate
from hetlab.packet.host import our_scripts
from hetlab.packet.model import Call, Code, Edge, Env, Expect, Inject, Packet, Script, ScriptError, Shell, When
from hetlab.packet.option_text import parse_option, show_option
from hetlab.packet.options import AccEcn, Frame, Hex, Mss, Nop, Raw, Sack, SackOk, Sc, ScOk, Timestamp, WScale
from hetlab.packet.parser import parse, parse_time

pytestmark = pytest.mark.fast

UNPATCHED, PATCHED = Env(4, False), Env(4, True)
SCRIPTS = our_scripts()
WORD = st.integers(0, 2**32 - 1)
BYTE = st.integers(0, 255)
COPY = st.integers(0, 15)
PLAIN_SC = st.builds(Sc, COPY, COPY)
ECHO_SC = st.builds(Sc, COPY, COPY, st.just(True), WORD, WORD)
WINDOW = st.binary(min_size=1, max_size=options.WINDOW_BYTES)
HOLES_SC = st.builds(Sc, COPY, COPY, st.just(True), WORD, WORD, st.just(True), st.integers(0, 65535), WINDOW)
ANY_SC = PLAIN_SC | ECHO_SC | HOLES_SC
BLOCKS = st.lists(st.tuples(WORD, WORD), min_size=1, max_size=4).map(tuple)
OPTION = (
    st.just(Nop())
    | st.just(SackOk())
    | st.just(ScOk())
    | st.builds(Mss, st.integers(0, 65535))
    | st.builds(WScale, BYTE)
    | st.builds(Timestamp, WORD, WORD)
    | st.builds(Sack, BLOCKS)
    | st.builds(
        AccEcn, st.sampled_from(["e0b", "e1b"]), st.lists(st.integers(0, 2**24 - 1), min_size=1, max_size=3).map(tuple)
    )
    | ANY_SC
)


def one(text: str, env: Env = UNPATCHED) -> Script:
    return parse("x.pkt", text, env)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("0", When(Edge(0, False), Edge(0, False))),
        (".25", When(Edge(250_000, False), Edge(250_000, False))),
        ("+.1", When(Edge(100_000, True), Edge(100_000, True))),
        ("0.2~+0.3", When(Edge(200_000, False), Edge(300_000, True))),
        ("+1~+2", When(Edge(1_000_000, True), Edge(2_000_000, True))),
        ("*", When(None, None)),
    ],
)
def test_times(text: str, when: When) -> None:
    assert parse_time(text) == when


def test_a_packet_of_every_kind_of_field() -> None:
    (event,) = one("+.1 < [ce] PEW. 1:1+2*MSS(2*MSS) ack 7 win 300 <nop,nop,TS val 900 ecr 100>").events
    assert isinstance(event, Inject)
    data = Packet(frozenset("PEW."), 1, 2920, 7, 300, (Nop(), Nop(), Timestamp(900, 100)), "ce")
    assert event.packet == data


@pytest.mark.parametrize(
    ("text", "flags"),
    [(".5", ".AE"), ("P3.", "P.WE"), ("SEWA", "SEWA"), ("EAP.", "EAP."), (".0", "."), ("F6.", "F.AW")],
)
def test_accurate_ecn_counts_in_flags(text: str, flags: str) -> None:
    (event,) = one(f"0 > {text} 1:1(0)").events
    assert isinstance(event, Expect) and event.packet.flags == frozenset(flags)
    data = wire.build(event.packet, Frame(0, 0, 0, 0, 0), wire.OURS[4], (1, 2))
    segment = wire.parse(data, 0)
    assert segment and segment.packet.flags == frozenset(flags)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("0...1 connect(3, ..., ...) = 0", Edge(1_000_000, False)),
        ("+.1...0.2 connect(3, ..., ...) = 0", Edge(200_000, True)),
        ("+.1 ... +0.2 connect(3, ..., ...) = 0", Edge(200_000, True)),
        ("+.1 connect(3, ..., ...) = 0", None),
    ],
)
def test_a_call_that_blocks_has_an_end(text: str, end: Edge | None) -> None:
    """It counts from what the beginning counts from."""
    (event,) = one(text).events
    assert isinstance(event, Call) and event.end == end


@pytest.mark.parametrize("result", ["-1", "-1 (Invalid Argument)", "-1 EINVAL", "-1 EINVAL(Invalid Argument)"])
def test_an_error_may_stay_unnamed(result: str) -> None:
    (event,) = one(f"0 close(3) = {result}").events
    assert isinstance(event, Call) and event.result == -1
    assert event.errno == ("EINVAL" if "EINVAL" in result else None)


def test_what_an_expected_packet_leaves_open() -> None:
    absent, dots, none = (event for event in one("0 > . 1:1(0)\n+0 > . 1:1(0) <...>\n+0 > . 1:1(0) <>").events)
    assert isinstance(absent, Expect) and isinstance(dots, Expect) and isinstance(none, Expect)
    assert absent.packet == dots.packet == Packet(frozenset("."), 1, 0)
    assert none.packet.options == ()


def test_calls_code_and_shell() -> None:
    text = '`true`\n0 setsockopt(3, SOL_TCP, TCP_CONGESTION, "reno", 4) = 0\n+0 connect(3, ..., ...) = -1 EINPROGRESS\n'
    shell, call, connect, code = one(text + "+1 %{ a = 1\n  assert a }%").events
    assert isinstance(shell, Shell) and shell.command == "true"
    assert isinstance(call, Call) and call.args == (3, 6, 13, "reno", 4)
    assert isinstance(connect, Call) and (connect.result, connect.errno) == (-1, "EINPROGRESS")
    assert isinstance(code, Code) and (code.line, code.source) == (4, " a = 1\n  assert a ")


def test_conditions_hold_for_lines_and_options() -> None:
    text = "let S = 1\n[patched] let S = 2\n[ipv6] 0 > . 1:1(0)\n0 > S 0:S(S) <mss MSS,[patched] scOK>"
    (plain,), (patched,) = one(text).events, one(text, PATCHED).events
    assert isinstance(plain, Expect) and isinstance(patched, Expect)
    assert (plain.packet.length, plain.packet.options) == (1, (Mss(1460),))
    assert (patched.packet.length, patched.packet.options) == (2, (Mss(1460), ScOk()))
    assert len(one(text, Env(6, False)).events) == 2


def test_sizes_depend_on_the_ip_version() -> None:
    text = "--mtu=1280\n0 > S 0:0(0) <mss auto>"
    for version, mss in ((4, 1240), (6, 1220)):
        (event,) = one(text, Env(version, False)).events
        assert isinstance(event, Expect) and event.packet.options == (Mss(mss),)


@pytest.mark.parametrize(("version", "mtu", "cookie"), [(4, 1500, "3021b9d889017eeb"), (6, 1520, "c1d1e9742a47a9bc")])
def test_settings_of_packetdrill(version: int, mtu: int, cookie: str) -> None:
    settings = f"--mss=1000\n--ip_version=ipv{version}\n--send_omit_free\n--tcp_ts_tick_usecs=1000"
    text = f"{settings}\n+0 < S 0:0(0) <FO TFO_COOKIE>"
    script = one(text, Env(version, False, packetdrill=True))
    assert (script.settings.mtu, script.settings.ip) == (mtu, version)
    event = script.events[0]
    assert isinstance(event, Inject) and event.packet.options
    assert show_option(event.packet.options[0]) == f"hex '220a{cookie}'"
    for line in text.splitlines():
        with pytest.raises(ScriptError):
            one(line, Env(version, False))
    with pytest.raises(ScriptError, match="--ip_version is no setting"):
        one("--ip_version=ipv4-mapped-ipv6", Env(version, False, packetdrill=True))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 > . 1:2(2)", "the end is not the beginning plus the length"),
        ("0 > . 1:1", "a packet is"),
        ("0 > X 1:1(0)", "flags are"),
        ("> . 1:1(0)", "no time"),
        ("1.2.3 > . 1:1(0)", "not a time"),
        ("+0~+1 < . 1:1(0)", "one exact time"),
        ("0 > . 1:1(0) <foo 3>", "options are"),
        ("0 > . 1:1(0) <sc 16:0>", "0..15"),
        ("0 > . 1:1(0) <sc 1:0 sn 5>", "allowed is sc D:A"),
        ("0 > . 1:1(0) <sc 1:0 sn 5 ts 1 g 5 w 012>", "0101, hex:a5"),
        ("0 < . 1:1(0) <sack 1>", "FIRST:AFTER"),
        ("0 < . 1:1(0) <ECN>", "allowed is ECN e0b N"),
        ("0 < . 1:1(0) <ECN e1b 1 e0b 1>", "allowed is ECN e0b N"),
        ("0 < . 1:1(0) <ECN e0b>", "allowed is ECN e0b N"),
        ("0 < . 1:1(0) <ECN ceb 1>", "allowed is ECN e0b N"),
        ("0 < . 1:1(0) <ECN e0b 16777216>", "0..16777215"),
        ("0 < . 1:1(0) <TS val any ecr 0>", "no place in an injected packet"),
        ("0 < . 1:1(0) <" + ",".join(["TS val 1 ecr 1"] * 5) + ">", "room for 40"),
        ("0 > [ecn] . 1:1(0)", "ect0"),
        ("0 > . 1:N+1(N)", "N is not defined"),
        ("0 foo(3) = -1 EFOO", "no error number"),
        ("0 foo 3", "call NAME(ARGUMENTS) = RESULT"),
        ("--speed=3", "no setting; allowed"),
        ("--mtu=5", "576..65535"),
        ("--ip=5", "4 or 6"),
        ("let x", "let NAME = VALUE"),
        ("%{ assert", "'}%' is missing"),
        ("// unpatched: skipped", "passes and fails"),
    ],
)
def test_a_fault_names_its_line_and_what_is_allowed(line: str, words: str) -> None:
    with pytest.raises(ScriptError, match=r"x\.pkt:2: ") as caught:
        one(f"// first\n{line}\n")
    assert words in str(caught.value)


def test_expressions_are_arithmetic_only() -> None:
    assert evaluate("2*(N+1)//3 | 8", {"N": 5}) == 12
    for text in ("__import__('os')", "1 if 1 else 2", "'a'", "1/0", ""):
        with pytest.raises(Fault):
            evaluate(text, {})


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_our_scripts_are_understood(path: Path) -> None:
    for version in (4, 6):
        for patched in (False, True):
            assert parse(path.name, path.read_text(), Env(version, patched)).events


@given(st.lists(OPTION, max_size=6))
def test_options_to_bytes_and_back(found: list[options.Option]) -> None:
    try:
        data = options.encode(found)
    except Fault:
        assert len(found) > 1
        return
    assert len(data) % 4 == 0
    assert options.match(found, options.decode(data))
    assert [o for o in options.decode(data) if not isinstance(o, options.Eol)] == found


@given(OPTION)
def test_options_to_text_and_back(option: options.Option) -> None:
    assert parse_option(show_option(option), {}) == option


@given(st.binary(max_size=40))
def test_any_bytes_are_decoded(data: bytes) -> None:
    whole = b"".join(map(options.encode_one, options.decode(data)))
    assert data.startswith(whole)


@given(ANY_SC, WORD, WORD, WORD)
def test_mapping_and_back(option: Sc, isn: int, other: int, origin: int) -> None:
    frame = Frame(isn, other, 1, 2, origin)
    assert frame.to_wire(frame.to_script(option)) == option


def test_wire_format_of_the_option() -> None:
    """The bytes as the contract has them."""
    assert options.encode([ScOk()]).hex() == "fe045343"
    assert options.encode([Sc(1, 0), Nop(), Nop(), Nop()]).hex() == "fe05534310010101"
    holes = parse_option("sc 2:1 sn raw 16909060 ts raw 84281096 g 1448 w 0101", {})
    assert options.encode([Nop(), holes])[:17].hex() == "01fe10534321010203040506070805a850"


def test_raw_numbers_are_not_mapped() -> None:
    frame = Frame(1000, 2000, 0, 0, 5_000_000)
    mapped = frame.to_wire(parse_option("sc 0:1 sn 1449 ts .15", {}))
    assert mapped == Sc(0, 1, True, 3449, 5_150_000)
    raw = frame.to_wire(parse_option("sc 0:0 sn raw 0 ts raw 7", {}))
    assert raw == Sc(0, 0, True, 0, 7)


def test_a_time_may_be_off_by_the_tolerance_a_raw_one_may_not() -> None:
    have: list[options.Option] = [Sc(0, 1, True, 1, 105)]
    assert options.match([Sc(0, 1, True, 1, 100)], have, slack_us=10)
    assert not options.match([Sc(0, 1, True, 1, 100)], have, slack_us=4)
    assert not options.match([Sc(0, 1, True, 1, Raw(100))], have, slack_us=10)


def test_padding_counts_only_if_strict() -> None:
    want: list[options.Option] = [Timestamp(None, 5)]
    have: list[options.Option] = [Nop(), Nop(), Timestamp(9, 5)]
    assert options.match(want, have)
    assert not options.match(want, have, strict=True)


@pytest.mark.parametrize("version", [4, 6])
def test_packets_to_bytes_and_back(version: int) -> None:
    frame = Frame(2**32 - 1, 77, 0, 100, 0)
    sent = Packet(frozenset("P."), 1, 100, 5, 300, (Nop(), Nop(), Timestamp(1, 2), Sc(1, 0)), "ect0")
    segment = wire.parse(wire.build(sent, frame, wire.OURS[version], (1, 2)), 3)
    assert segment is not None
    assert (segment.local_port, segment.remote_port, segment.at_us) == (1, 2, 3)
    assert segment.packet.seq == 0
    back = wire.relative(segment.packet, frame)
    assert back.show() == sent.show().replace("sc 1:0", "sc 1:0,eol")
    assert wire.differences(sent, segment.packet, frame, False, 0) == []
    other = Packet(frozenset("."), 2, 99, 6, 301, (), "ce")
    names = ["flags", "sequence number", "length", "ack", "win", "ECN", "options"]
    assert wire.differences(other, segment.packet, frame, False, 0) == names


@pytest.mark.parametrize("version", [4, 6])
def test_malformed_options_go_out_as_they_are(version: int) -> None:
    frame = Frame(0, 0, 0, 0, 0)
    sent = Packet(frozenset("."), 1, 0, 1, 300, (Hex(bytes.fromhex("fe055343")),))
    segment = wire.parse(wire.build(sent, frame, wire.OURS[version], (1, 2)), 0)
    assert segment is not None and segment.packet.options == (Hex(bytes.fromhex("fe055343")),)
