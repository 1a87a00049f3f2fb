# SPDX-License-Identifier: GPL-2.0
"""TCP options as scripts write them: ``mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 8,scOK``."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hetlab.packet.expr import Fault, Number, evaluate, whole
from hetlab.packet.options import (
    ACCECN_KINDS,
    EXPERIMENT,
    MOD24,
    MOD32,
    US,
    WINDOW_BYTES,
    AccEcn,
    Eol,
    Hex,
    Mss,
    Nop,
    Num,
    Option,
    Raw,
    Sack,
    SackOk,
    Sc,
    ScOk,
    Timestamp,
    WScale,
)

Names = Mapping[str, Number]
ALLOWED = (
    "options are: mss N, wscale N, sackOK, TS val N ecr N, nop, eol, sack A:B ..., scOK, "
    "sc D:A [sn N ts SECONDS [g N w BITS]], FO [COOKIE], FOEXP [COOKIE], md5 DIGEST, "
    "ECN e0b N [ceb N [e1b N]] or the reverse, hex 'fe04...'"
)
SC = re.compile(
    r"sc\s+(?P<data>[^\s:]+):(?P<ack>\S+)"
    r"(?:\s+sn\s+(?P<sn>(?:raw\s+)?\S+)\s+ts\s+(?P<ts>(?:raw\s+)?\S+)"
    r"(?:\s+g\s+(?P<gran>\S+)\s+w\s+(?P<window>\S+))?)?"
)


def _number(text: str, names: Names, low: int, high: int) -> Num:
    """A number, ``raw`` number or ``any``."""
    if text == "any":
        return None
    word, _, rest = text.partition(" ")
    if word == "raw":
        return Raw(whole(rest, names, 0, MOD32 - 1))
    return whole(text, names, low, high)


def _micros(text: str, names: Names) -> Num:
    if text == "any" or text.startswith("raw"):
        return _number(text, names, 0, 0)
    return round(evaluate(text, names) * US)


def _window(text: str) -> bytes | None:
    """Bits or ``hex:`` digits; bits are filled up with zeros to whole bytes."""
    if text == "any":
        return None
    try:
        if text.startswith("hex:"):
            data = bytes.fromhex(text[4:])
        else:
            bits = text + "0" * (-len(text) % 8)
            data = int(bits, 2).to_bytes(len(bits) // 8, "big")
    except ValueError:
        raise Fault(f"'{text}' is not a bit vector; allowed: 0101, hex:a5, any") from None
    if not 1 <= len(data) <= WINDOW_BYTES:
        raise Fault(f"the bit vector has {len(data)} bytes; 1..{WINDOW_BYTES} are allowed")
    return data


def _sc(text: str, names: Names) -> Option:
    found = SC.fullmatch(text)
    if not found:
        raise Fault(f"'{text}': allowed is sc D:A [sn [raw] N ts [raw] SECONDS [g BYTES w BITS]]")
    field = found.groupdict()
    sc = Sc(_number(field["data"], names, 0, 15), _number(field["ack"], names, 0, 15))
    if field["sn"]:
        sn, ts = _number(field["sn"], names, -MOD32, MOD32), _micros(field["ts"], names)
        sc = dataclasses.replace(sc, echo=True, sn=sn, ts=ts)
    if field["gran"]:
        gran = _number(field["gran"], names, 0, 65535)
        sc = dataclasses.replace(sc, holes=True, gran=gran, window=_window(field["window"]))
    return sc


def _sack(text: str, names: Names) -> Option:
    blocks = []
    for block in text.split()[1:]:
        first, colon, after = block.partition(":")
        if not colon:
            raise Fault(f"'{block}' is not a SACK block; allowed: sack FIRST:AFTER ...")
        blocks.append((whole(first, names, -MOD32, MOD32), whole(after, names, -MOD32, MOD32)))
    if not 1 <= len(blocks) <= 4:
        raise Fault("sack takes 1..4 blocks FIRST:AFTER")
    return Sack(tuple(blocks))


def _timestamp(text: str, names: Names) -> Option:
    found = re.fullmatch(r"TS val ((?:raw )?\S+) ecr ((?:raw )?\S+)", text)
    if not found:
        raise Fault(f"'{text}': allowed is TS val [raw] N ecr [raw] N; N may be any")
    return Timestamp(_number(found[1], names, 0, MOD32 - 1), _number(found[2], names, 0, MOD32 - 1))


def _hex(text: str, names: Names) -> Option:
    try:
        return Hex(bytes.fromhex(text[3:].strip().strip("'\"")))
    except ValueError:
        raise Fault(f"'{text}': allowed is hex 'BYTES'") from None


def _fast_open(text: str, names: Names) -> Option:
    """RFC 7413: a request, or a cookie in hexadecimal digits."""
    return _named_bytes(34, text)


def _fast_open_experimental(text: str, names: Names) -> Option:
    """The same as a shared experimental option (RFC 6994, ExID 0xF989)."""
    return _named_bytes(EXPERIMENT, text, b"\xf9\x89")


def _counters(order: str) -> list[str]:
    return [order, "ceb", "e1b" if order == "e0b" else "e0b"]


def _accurate_ecn(text: str, names: Names) -> Option:
    """RFC 9768: up to three counters, each behind its name, in one of two orders."""
    words = text.split()[1:]
    order = words[0] if words else ""
    if order not in ACCECN_KINDS or words[::2] != _counters(order)[: len(words) // 2] or len(words) % 2:
        raise Fault(f"'{text}': allowed is ECN e0b N [ceb N [e1b N]] or ECN e1b N [ceb N [e0b N]]")
    return AccEcn(order, tuple(whole(word, names, 0, MOD24 - 1) for word in words[1::2]))


def _md5(text: str, names: Names) -> Option:
    """RFC 2385: the digest in hexadecimal digits."""
    return _named_bytes(19, text)


def _named_bytes(kind: int, text: str, before: bytes = b"") -> Option:
    word, _, digits = text.partition(" ")
    try:
        data = before + bytes.fromhex(digits)
    except ValueError:
        raise Fault(f"'{text}': allowed is {word} and hexadecimal digits") from None
    return Hex(bytes((kind, 2 + len(data))) + data)


def _mss(text: str, names: Names) -> Option:
    value = text[3:].strip()
    return Mss(_number("MSS" if value == "auto" else value, names, 0, 65535))


def _wscale(text: str, names: Names) -> Option:
    return WScale(_number(text[6:].strip(), names, 0, 255))


WORDS: dict[str, Option] = {"nop": Nop(), "eol": Eol(), "sackOK": SackOk(), "scOK": ScOk()}
WITH_VALUE: dict[str, Callable[[str, Names], Option]] = {
    "mss": _mss,
    "wscale": _wscale,
    "TS": _timestamp,
    "sack": _sack,
    "sc": _sc,
    "hex": _hex,
    "FO": _fast_open,
    "FOEXP": _fast_open_experimental,
    "ECN": _accurate_ecn,
    "md5": _md5,
}


def parse_option(text: str, names: Names) -> Option:
    """One option of a list."""
    text = " ".join(text.split())
    if text in WORDS:
        return WORDS[text]
    word = text.partition(" ")[0]
    if word not in WITH_VALUE:
        raise Fault(f"'{text}' is no option; {ALLOWED}")
    return WITH_VALUE[word](text, names)


def _show(value: Num) -> str:
    return "any" if value is None else f"raw {int(value)}" if isinstance(value, Raw) else str(value)


def seconds(us: int) -> str:
    """Microseconds as seconds, without zeros at the end."""
    return f"{us / US:.6f}".rstrip("0").rstrip(".") or "0"


def _show_sc(sc: Sc) -> str:
    text = f"sc {_show(sc.data_copy)}:{_show(sc.ack_copy)}"
    if sc.echo:
        ts = sc.ts if sc.ts is None or isinstance(sc.ts, Raw) else seconds(sc.ts)
        text += f" sn {_show(sc.sn)} ts {ts if isinstance(ts, str) else _show(ts)}"
    if sc.holes:
        bits = "any" if sc.window is None else "".join(f"{byte:08b}" for byte in sc.window)
        text += f" g {_show(sc.gran)} w {bits}"
    return text


def _show_accecn(option: AccEcn) -> str:
    return " ".join(
        ["ECN", *(f"{name} {n}" for name, n in zip(_counters(option.order), option.counters, strict=False))]
    )


SHOWN: dict[type, Callable[[Any], str]] = {
    Mss: lambda o: f"mss {_show(o.value)}",
    WScale: lambda o: f"wscale {_show(o.shift)}",
    Timestamp: lambda o: f"TS val {_show(o.val)} ecr {_show(o.ecr)}",
    Sack: lambda o: "sack " + " ".join(f"{a}:{b}" for a, b in o.blocks),
    Sc: _show_sc,
    AccEcn: _show_accecn,
    Hex: lambda o: f"hex '{o.data.hex()}'",
}


def show_option(option: Option) -> str:
    """One option as a script would write it; parsing it again gives the same option."""
    if type(option) in SHOWN:
        return SHOWN[type(option)](option)
    return next(word for word, known in WORDS.items() if known == option)


def show_options(options: Sequence[Option]) -> str:
    """A list of options in the script's brackets."""
    return "<" + ",".join(map(show_option, options)) + ">"
