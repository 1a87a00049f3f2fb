# SPDX-License-Identifier: GPL-2.0
"""tests/option/syzkaller/santacruz.txt against the kernel patch and against the dissector.

syzkaller is not needed: what is here reads the part of its language that the file uses.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

from option.dissect import Segment, dissect, write_pcap

pytestmark = pytest.mark.fast

TOP = Path(__file__).resolve().parents[2]
DESCRIPTION = TOP / "tests" / "option" / "syzkaller" / "santacruz.txt"
PATCH = TOP / "santacruz_opt.patch"

BUILTIN = {"const", "flags", "len", "array", "ptr", "string", "stringnoz", "in"}
INTEGER = re.compile(r"int(8|16|32|64)(be)?$")
# What syzkaller's sys/linux defines: vnet.txt, sys.txt, socket_inet_tcp.txt
SYZKALLER = {"tcp_seq_num", "fd", "sock_tcp", "sock_tcp6"}
KERNEL = {"TCPOPT_EXP": 254, "AT_FDCWD": 0, "O_RDWR": 0, "IPPROTO_TCP": 6, "TCP_CONGESTION": 13}
EXAMPLES = 150


@dataclass(frozen=True)
class Type:
    """``name:bits[arguments]``; a number, a string or a range is a name, too."""

    name: str
    bits: int = 0
    args: tuple["Type", ...] = ()


Order = Literal["big", "little"]
Fields = tuple[tuple[str, Type], ...]


@dataclass(frozen=True)
class Compound:
    """A struct or a union, perhaps a template."""

    params: tuple[str, ...]
    fields: Fields
    union: bool
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """The file."""

    compounds: dict[str, Compound]
    flags: dict[str, tuple[str, ...]]
    resources: dict[str, Type]
    calls: dict[str, Fields]


class SyntaxFault(Exception):
    """The file is not in the language; the message is the line."""


TOKEN = re.compile(r'\s*([\w$]+|"[^"]*"|[][:,()])')


def tokens_of(text: str) -> list[str]:
    found = TOKEN.findall(text)
    if "".join(found) != re.sub(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "", text):
        raise SyntaxFault(text)
    return found


def parse_type(tokens: list[str]) -> Type:
    """Takes a type, or a range as one, from the front."""
    name, bits, args = tokens.pop(0), 0, []
    if tokens[:1] == [":"]:
        _, after = tokens.pop(0), tokens.pop(0)
        if not INTEGER.match(name):
            return Type(f"{name}:{after}")
        bits = int(after)
    if tokens[:1] == ["["]:
        mark = tokens.pop(0)
        while mark != "]":
            args.append(parse_type(tokens))
            mark = tokens.pop(0)
            if mark not in ("]", ","):
                raise SyntaxFault(f"{name}: {mark}")
    return Type(name, bits, tuple(args))


def parse_whole_type(text: str) -> Type:
    tokens = tokens_of(text)
    found = parse_type(tokens)
    if tokens:
        raise SyntaxFault(text)
    return found


def parse_call(name: str, text: str) -> Fields:
    """The arguments between the outer parentheses."""
    tokens, fields = tokens_of(text), []
    while tokens:
        field = tokens.pop(0)
        fields.append((field, parse_type(tokens)))
        if tokens and tokens.pop(0) != ",":
            raise SyntaxFault(f"{name}: {text}")
    return tuple(fields)


HEAD = re.compile(r"(type )?(\w+)(?:\[([\w, ]+)\])? ([\[{])$")
TAIL = re.compile(r"([]}])(?: \[([\w, ]+)\])?$")


def parse_compound(first: str, lines: Iterator[str]) -> tuple[str, Compound]:
    """A struct or a union, to the line that ends it."""
    head = HEAD.match(first)
    if not head or bool(head[1]) != bool(head[3]):
        raise SyntaxFault(first)
    fields: list[tuple[str, Type]] = []
    for line in lines:
        if tail := TAIL.match(line):
            if "{}[]".index(tail[1]) - "{}[]".index(head[4]) != 1 or not fields:
                raise SyntaxFault(line)
            params = tuple(head[3].split(", ")) if head[3] else ()
            attributes = tuple(tail[2].split(", ")) if tail[2] else ()
            return head[2], Compound(params, tuple(fields), head[4] == "[", attributes)
        field = re.fullmatch(r"\t(\w+)\t+(\S.*)", line)
        if not field or field[1] in dict(fields):
            raise SyntaxFault(line)
        fields.append((field[1], parse_whole_type(field[2])))
    raise SyntaxFault(first)


@cache
def description() -> Description:
    """The file, parsed; every line must be something."""
    d = Description({}, {}, {}, {})
    lines = (line for line in DESCRIPTION.read_text().splitlines() if line and not line.startswith("#"))
    for line in lines:
        if re.fullmatch(r"include <[\w/]+\.h>", line):
            continue
        if call := re.fullmatch(r"(\w+\$\w+)\((.*)\)(?: (\w+))?", line):
            d.calls[call[1]] = (*parse_call(call[1], call[2]), *([("return", Type(call[3]))] if call[3] else []))
        elif resource := re.fullmatch(r"resource (\w+)\[(\w+)\]", line):
            d.resources[resource[1]] = Type(resource[2])
        elif flags := re.fullmatch(r"(\w+) = (.*)", line):
            d.flags[flags[1]] = tuple(flags[2].split(", "))
        else:
            name, compound = parse_compound(line, lines)
            d.compounds[name] = compound
    return d


def names_in(kind: Type) -> Iterator[str]:
    yield kind.name
    for arg in kind.args:
        yield from names_in(arg)


def bind(compound: Compound, args: tuple[Type, ...]) -> Fields:
    """Its fields, the template's parameters replaced."""
    values = dict(zip(compound.params, args, strict=True))

    def replaced(kind: Type) -> Type:
        if re.fullmatch(r"[A-Z]+:[A-Z]+", kind.name):
            return Type(":".join(values[end].name for end in kind.name.split(":")))
        return values.get(kind.name) or Type(kind.name, kind.bits, tuple(map(replaced, kind.args)))

    return tuple((name, replaced(kind)) for name, kind in compound.fields)


def number(text: str) -> int:
    return KERNEL[text] if text in KERNEL else int(text, 0)


def bounds(text: str) -> tuple[int, int]:
    """Of ``2:8``, or of ``2``."""
    low, _, high = text.partition(":")
    return number(low), number(high or low)


class Maker:
    """Bytes that fit a type, drawn at random."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def make(self, kind: Type) -> bytes:
        d = description()
        if kind.name == "array":
            least, most = bounds(kind.args[1].name)
            return b"".join(self.make(kind.args[0]) for _ in range(self.random.randint(least, most)))
        if kind.name in d.compounds:
            compound = d.compounds[kind.name]
            fields = bind(compound, kind.args)
            return self.make(self.random.choice(fields)[1]) if compound.union else self.struct(fields)
        size, order = width(kind)
        return self.value(kind).to_bytes(size // 8, order)

    def value(self, kind: Type) -> int:
        """Of an integer, whatever holds it."""
        if kind.name == "const":
            return number(kind.args[0].name)
        if kind.name == "flags":
            return number(self.random.choice(description().flags[kind.args[0].name]))
        if kind.args:
            return self.random.randint(*bounds(kind.args[0].name))
        return self.random.getrandbits(width(kind)[0])

    def struct(self, fields: Fields) -> bytes:
        out, partial, used, length_at = b"", 0, 0, None
        for _, kind in fields:
            bits = holder(kind).bits
            if kind.name == "len":
                assert kind.args == (Type("parent"), Type("int8"))
                length_at, out = len(out), out + b"\0"
            elif bits:
                partial, used = partial | self.value(kind) << used, used + bits
                if used == 8:
                    out, partial, used = out + bytes([partial]), 0, 0
            else:
                out += self.make(kind)
        assert used == 0, "bitfields fill bytes"
        if length_at is not None:
            out = out[:length_at] + bytes([len(out)]) + out[length_at + 1 :]
        return out


def holder(kind: Type) -> Type:
    """The integer type that a const, flags or len is stored in."""
    return kind.args[1] if kind.name in ("const", "flags", "len") else kind


def width(kind: Type) -> tuple[int, Order]:
    """Bits and byte order of an integer."""
    name = {"tcp_seq_num": "int32be"}.get(holder(kind).name, holder(kind).name)
    shape = INTEGER.match(name)
    assert shape, f"{name} is no integer"
    return int(shape[1]), "big" if shape[2] else "little"


def lengths(kind: Type, rounds: int = 300) -> tuple[int, int]:
    """The shortest and the longest that came up."""
    maker = Maker(1)
    made = [len(maker.make(kind)) for _ in range(rounds)]
    return min(made), max(made)


@cache
def constants() -> dict[str, int]:
    """What the patch defines."""
    found = re.findall(r"^\+#define (TCP\w+)\s+(0x[0-9A-Fa-f]+|\d+)U?\b", PATCH.read_text(), re.M)
    return {name: int(value, 0) for name, value in found}


def options() -> dict[str, Type]:
    return dict(description().compounds["tcp_sc_option"].fields)


def test_every_name_is_known() -> None:
    d = description()
    assert set(d.resources.values()) <= {Type(name) for name in SYZKALLER}
    known = BUILTIN | SYZKALLER | set(KERNEL) | set(d.compounds) | set(d.flags) | set(d.resources)
    used: set[str] = set()
    for fields, params in [(c.fields, c.params) for c in d.compounds.values()] + [(f, ()) for f in d.calls.values()]:
        here = {"parent", *params, *(name for name, _ in fields)}
        for name in (name for _, kind in fields for name in names_in(kind)):
            if not (INTEGER.match(name) or name.startswith('"') or name[0].isdigit()):
                assert set(name.split(":")) <= known | here, name
            used.add(name)
    assert set(d.compounds) - used == {"tcp_sc_option"}, "the union that vnet.txt is to name"
    assert set(d.flags) | set(d.resources) <= used


def test_layout_is_packed() -> None:
    """No padding between fields, unions as long as what is chosen where that varies."""
    for name, compound in description().compounds.items():
        if not compound.union:
            assert compound.attributes == ("packed",), name
        elif not compound.params:
            sizes = {lengths(kind) for _, kind in compound.fields}
            same = len(sizes) == 1 and all(low == high for low, high in sizes)
            assert compound.attributes == (() if same else ("varlen",)), name


def test_flags_fit() -> None:
    """Each value in the integer that holds it; a repeated one would only be drawn more often."""
    d = description()
    for fields in [c.fields for c in d.compounds.values()]:
        for _, kind in fields:
            if kind.name == "flags":
                values = [number(v) for v in d.flags[kind.args[0].name]]
                assert max(values) < 2 ** width(kind)[0]
                assert len(set(values)) == len(values)


def test_lengths_are_those_of_the_patch() -> None:
    c, kinds = constants(), options()
    longest = c["TCPOLEN_SC_WINDOW"] + c["TCP_SC_MAX_WINDOW"]
    assert lengths(kinds["permitted"]) == (c["TCPOLEN_SC_SYN"],) * 2
    assert lengths(kinds["data"]) == (c["TCPOLEN_SC_DATA"],) * 2
    assert lengths(kinds["echo"]) == (c["TCPOLEN_SC_ECHO"],) * 2
    assert lengths(kinds["window"]) == (c["TCPOLEN_SC_WINDOW"] + 1, longest)
    wrong = dict(description().compounds["tcp_sc_malformed"].fields)
    assert lengths(wrong["half_copies"]) == (c["TCPOLEN_SC_DATA"] + 1, c["TCPOLEN_SC_ECHO"] - 1)
    assert lengths(wrong["half_window"]) == (c["TCPOLEN_SC_ECHO"] + 1, c["TCPOLEN_SC_WINDOW"])
    assert lengths(wrong["long_window"]) == (longest + 1, 40)


def test_kind_and_exid_are_those_of_the_patch() -> None:
    start = bytes([254, 4]) + constants()["TCPOPT_SC_MAGIC"].to_bytes(2)
    for seed in range(EXAMPLES):
        maker = Maker(seed)
        assert maker.make(options()["permitted"]) == start
        for kind in options().values():
            made = maker.make(kind)
            assert (made[0], made[2:4]) == (254, start[2:4])


@pytest.mark.build
def test_what_is_right_and_wrong(tmp_path: Path) -> None:
    """To the dissector, right is right and wrong is wrong, but for a lie that may be true."""
    wrong = dict(description().compounds["tcp_sc_malformed"].fields)
    right = {name: kind for name, kind in options().items() if name not in ("malformed", "permitted")}
    maker = Maker(0)
    made = [(name, maker.make(kind)) for name, kind in (right | wrong).items() for _ in range(EXAMPLES)]
    packets = [Segment(option).packet() for _, option in made]
    rows = dissect(write_pcap(tmp_path / "made.pcap", packets), "santacruz.form", "santacruz.malformed")
    for (name, option), row in zip(made, rows, strict=True):
        if name in right:
            assert list(row.values()) == [name, ""], option
        elif name != "lie":
            assert row["santacruz.malformed"], (name, option)


@pytest.mark.parametrize(
    "text",
    ["a b[", "a b[c", "a b]", "a b[c d]", "a {", "a {\n}", "a {\n\tb int8\n]", "a [\n\tb int8\n\tb int8\n]", "?"],
)
def test_notices_wrong_syntax(text: str) -> None:
    """Of the reader above: without this, the tests above would prove little."""
    lines = iter(text.split("\n"))
    with pytest.raises((SyntaxFault, IndexError)):
        if re.match(r"a b", text):
            parse_whole_type(text.removeprefix("a "))
        else:
            parse_compound(next(lines), lines)
