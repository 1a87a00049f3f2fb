# SPDX-License-Identifier: GPL-2.0
"""Script text to events; every fault names file, line and what is allowed."""

import dataclasses
import errno
import fcntl
import os
import re
import socket

from hetlab.packet import messages
from hetlab.packet.expr import Fault, Number, evaluate, whole
from hetlab.packet.model import (
    CONDITIONS,
    DIRECTIVE,
    VERDICTS,
    Argument,
    Call,
    Code,
    Edge,
    Env,
    Event,
    Expect,
    Inject,
    Packet,
    Script,
    ScriptError,
    Settings,
    Shell,
    When,
)
from hetlab.packet.option_text import parse_option
from hetlab.packet.options import MOD32, US, Frame, Option, encode

CONDITION = re.compile(rf"\[({'|'.join(CONDITIONS)})\]\s*")
COMMENT = re.compile(r"(^|\s)//.*")
TIME = re.compile(r"(\*|\+?[\d.]+?(?:\s*~\s*\+?[\d.]+)?)(?:\s*\.\.\.\s*(\+?[\d.]+))?\s+")
CLOSED_BY = {"`": "`", "%{": "}%"}
PACKET = re.compile(
    r"(?P<way>[<>])\s*(?:\[(?P<ecn>\w+)\]\s*)?(?P<flags>[SFRPEWA0-7.-]+)\s+(?P<seq>[^\s:]+):(?P<end>[^\s:]+)"
    r"\((?P<length>[^\s]+)\)(?:\s+ack\s+(?P<ack>\S+))?(?:\s+win\s+(?P<win>\S+))?(?:\s*<(?P<options>.*)>)?"
)
PACKET_FORM = "a packet is: < or > [ECN] FLAGS SEQ:END(LENGTH) [ack N] [win N] [<OPTIONS>]; flags are S F R P E W A ."
# Accurate ECN counts in three flags: 5 is A and E
ACE = {"A": 4, "W": 2, "E": 1}
CALL = re.compile(
    r"(?P<name>\w+)\((?P<args>.*)\)\s*=\s*"
    r"(?P<result>-1(?:\s+(?P<errno>E\w+))?(?:\s*\(.*\))?|[^()]+?)(?:\s+\(flags .*\))?",
    re.S,
)
# Of a structure: name=value, name(length)=value, or a value alone
MEMBER = re.compile(r"(?:(?P<name>\w+)(?:\([^)]*\))?\s*=\s*)?(?P<value>.+)", re.S)
ECN = ("noecn", "ect0", "ect1", "ce")
DEFAULT_WIN = 65535
UNMAPPED = Frame(0, 0, 0, 0, 0)
LINE_FORM = "a line is: --SETTING=VALUE, let NAME = VALUE, `shell`, %{ python }%, or TIME followed by a packet or call"

CONSTANTS: dict[str, Number] = {
    name: int(getattr(module, name))
    for module, starts in (
        (socket, ("AF_", "SOCK_", "IPPROTO_", "SO_", "SOL_", "TCP_", "MSG_", "SHUT_", "IP_", "IPV6_")),
        (fcntl, ("F_",)),
        (os, ("O_",)),
    )
    for name in dir(module)
    if name.startswith(starts) and isinstance(getattr(module, name), int)
} | messages.CONSTANTS


def _split(text: str) -> list[str]:
    """Parts between commas that are not in quotes or brackets of any kind."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        quote = "" if char == quote else char if not quote and char in "\"'" else quote
        depth += 0 if quote else (char in "([{") - (char in ")]}")
        if char == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return [p.strip() for p in parts] if text.strip() else []


def _flags(text: str) -> frozenset[str]:
    """Letters; a digit stands for the flags of Accurate ECN that it is made of."""
    counted = {flag for digit in re.findall(r"\d", text) for flag, bit in ACE.items() if int(digit) & bit}
    return frozenset(re.sub(r"[-\d]", "", text)) | counted


def _edge(text: str) -> Edge:
    try:
        return Edge(round(float(text) * US), text.startswith("+"))
    except ValueError:
        raise Fault(f"'{text}' is not a time; allowed: 1.5, +.1, 1~2, +.1~+.2, *") from None


def parse_time(text: str) -> When:
    """Absolute, +relative to the event before, a range of either, or ``*``."""
    if text == "*":
        return When(None, None)
    low, _, high = text.partition("~")
    return When(_edge(low), _edge(high or low))


NOW = When(Edge(0, True), Edge(0, True))


def names_of(env: Env, mtu: int) -> dict[str, Number]:
    """What expressions may use from the start."""
    header = 20 if env.version == 4 else 40
    mss = mtu - header - 20
    return {"MTU": mtu, "IPHDR": header, "MSS": mss, "SMSS": mss - 12}


# What ksft_runner.sh gives packetdrill for its addresses, by IP version; the longer name first
COOKIES = {
    4: {"TFO_COOKIE_ZERO": "b7c12350a90dc8f5", "TFO_COOKIE": "3021b9d889017eeb"},
    6: {"TFO_COOKIE_ZERO": "82af1a8f9a205c34", "TFO_COOKIE": "c1d1e9742a47a9bc"},
}


class Parser:
    """One script for one environment."""

    def __init__(self, name: str, text: str, env: Env) -> None:
        if env.packetdrill:
            for cookie, digits in COOKIES[env.version].items():
                text = text.replace(cookie, digits)
        self.script = Script(name, lines=text.splitlines())
        self.env = env
        if env.packetdrill:
            self.script.settings = Settings.of_packetdrill(env.version)
        self.names = names_of(env, self.script.settings.mtu)
        self.end: Edge | None = None
        self.line = 0

    def parse(self) -> Script:
        """All lines."""
        while self.line < len(self.script.lines):
            self.line += 1
            first = self.line
            try:
                self._statement(self.script.lines[first - 1].strip(), first)
            except Fault as fault:
                raise ScriptError(f"{self.script.name}:{first}: {fault}") from None
        return self.script

    def _statement(self, text: str, first: int) -> None:
        self._directive(text)
        wanted = True
        while found := CONDITION.match(text):
            wanted = wanted and found[1] in self.env.marks
            text = text[found.end() :]
        when, text = self._time(text)
        for opening, closing in CLOSED_BY.items():
            if text.startswith(opening):
                body = self._until(text[len(opening) :], closing)
                if wanted:
                    kind = Shell if opening == "`" else Code
                    self.script.events.append(kind(first, when or NOW, body))
                return
        text = COMMENT.sub("", text).strip()
        self._simple(self._until_closed(text) if "(" in text and when else text, first, when, wanted)

    def _simple(self, text: str, first: int, when: When | None, wanted: bool) -> None:
        """What ends with its line."""
        if not text and when is None:
            return
        if text.startswith("--") or text.startswith("let "):
            if wanted:
                self._setting(text) if text.startswith("--") else self._let(text)
            return
        if when is None:
            raise Fault(f"no time; {LINE_FORM}")
        event = self._packet(text, first, when) if text[:1] in ("<", ">") else self._call(text, first, when)
        if wanted:
            self.script.events.append(event)

    def _directive(self, text: str) -> None:
        if found := DIRECTIVE.fullmatch(text):
            self.script.directives[found[1]] = found[2]
            if found[1] == "unpatched" and found[2] not in VERDICTS:
                raise Fault(f"unpatched: {found[2]}: allowed are {' and '.join(VERDICTS)}")

    def _time(self, text: str) -> tuple[When | None, str]:
        found = TIME.match(text)
        self.end = None
        if not found:
            return None, text
        when = parse_time(found[1].replace(" ", ""))
        if found[2]:  # counts from what the beginning counts from
            self.end = dataclasses.replace(_edge(found[2]), relative=found[1].startswith("+"))
        return when, text[found.end() :]

    def _until_closed(self, text: str) -> str:
        """A call may go on in the next lines until its parentheses are closed."""
        while text.count("(") > text.count(")") and self.line < len(self.script.lines):
            text += " " + COMMENT.sub("", self.script.lines[self.line]).strip()
            self.line += 1
        return text

    def _until(self, text: str, closing: str) -> str:
        """What stands before a closing mark, on this line or a later one."""
        while closing not in text:
            if self.line == len(self.script.lines):
                raise Fault(f"'{closing}' is missing")
            text += "\n" + self.script.lines[self.line]
            self.line += 1
        body, _, rest = text.partition(closing)
        if COMMENT.sub("", rest).strip():
            raise Fault(f"nothing may follow '{closing}'")
        return body

    def _setting(self, text: str) -> None:
        for word in text.split():
            name, _, value = word.removeprefix("--").partition("=")
            if not (self.env.packetdrill and self._set_packetdrill(name, value)):
                self._set(name, value)

    def _set_packetdrill(self, name: str, value: str) -> bool:
        """One that only packetdrill has; the others change nothing of what a script says, nor of what is checked."""
        if name == "ip_version" and value in ("ipv4", "ipv6"):
            self._set("ip", value[-1])
            return True
        if name == "mss":
            self.script.settings.mss = whole(value, self.names, 1, 65535)
            return True
        return name in ("send_omit_free", "tcp_ts_tick_usecs")

    def _set(self, name: str, value: str) -> None:
        settings = self.script.settings
        limits = {"mtu": (576, 65535), "tolerance_usecs": (0, US), "isn": (1, MOD32 - 1), "peer_isn": (0, MOD32 - 1)}
        limits["ip"] = (4, 6)
        if name == "cc":
            settings.cc = value
        elif name == "strict_options" and not value:
            settings.strict_options = True
        elif name in limits:
            setattr(settings, name, whole(value, self.names, *limits[name]))
        else:
            raise Fault(f"--{name} is no setting; allowed: --cc=, --strict_options, --{'=, --'.join(limits)}=")
        if settings.ip not in (None, 4, 6):
            raise Fault("--ip= is 4 or 6")
        if name == "mtu":
            self.names.update(names_of(self.env, settings.mtu))

    def _let(self, text: str) -> None:
        found = re.fullmatch(r"let\s+([A-Za-z_]\w*)\s*=\s*(.+)", text)
        if not found:
            raise Fault("allowed is: let NAME = VALUE")
        self.names[found[1]] = evaluate(found[2], self.names)

    def _packet(self, text: str, first: int, when: When) -> Event:
        found = PACKET.fullmatch(text)
        if not found:
            raise Fault(PACKET_FORM)
        field = found.groupdict()
        seq, end, length = (whole(field[n], self.names, -MOD32, 2 * MOD32) for n in ("seq", "end", "length"))
        if end != seq + length:
            raise Fault(f"{seq}:{end}({length}): the end is not the beginning plus the length")
        if field["ecn"] not in (None, *ECN):
            raise Fault(f"[{field['ecn']}]: allowed are {', '.join(ECN)}")
        ack = None if field["ack"] is None else whole(field["ack"], self.names, -MOD32, 2 * MOD32)
        win = None if field["win"] is None else whole(field["win"], self.names, 0, 65535)
        flags = _flags(field["flags"])
        options = "" if field["options"] is None and self.env.packetdrill else field["options"]
        packet = Packet(flags, seq, length, ack, win, self._options(options), field["ecn"])
        return Expect(first, when, packet) if field["way"] == ">" else self._injected(first, when, packet)

    @staticmethod
    def _injected(first: int, when: When, packet: Packet) -> Event:
        """A packet of the peer has every field."""
        if not when.exact:
            raise Fault("an injected packet needs one exact time")
        win = DEFAULT_WIN if packet.win is None else packet.win
        options = packet.options or ()
        encode([UNMAPPED.to_wire(o) for o in options])
        return Inject(first, when, dataclasses.replace(packet, win=win, options=options))

    def _options(self, text: str | None) -> tuple[Option, ...] | None:
        if text is None or text.strip() == "...":
            return None
        found = []
        for part in _split_options(text):
            rest, wanted = part, True
            while condition := CONDITION.match(rest):
                wanted = wanted and condition[1] in self.env.marks
                rest = rest[condition.end() :]
            option = parse_option(rest, self.names)
            if wanted:
                found.append(option)
        return tuple(found)

    def _call(self, text: str, first: int, when: When) -> Event:
        found = CALL.fullmatch(text)
        if not found:
            raise Fault(f"'{text}': not a packet and not a call NAME(ARGUMENTS) = RESULT; {LINE_FORM}")
        if not when.exact:
            raise Fault("a call needs one exact time")
        code = found["errno"]
        if code is not None and not hasattr(errno, code):
            raise Fault(f"{code} is no error number")
        names = CONSTANTS | self.names | messages.ERRORS[self.env.version]
        result = -1 if found["result"].startswith("-1") else whole(found["result"], names, -1, MOD32)
        args = tuple(self._argument(a, names) for a in _split(found["args"]))
        return Call(first, when, found["name"], args, result, code, self.end)

    def _argument(self, text: str, names: dict[str, Number]) -> Argument:
        if text == "...":
            return None
        if text[:1] in "\"'" and text[-1:] == text[:1] and len(text) > 1:
            return text[1:-1].encode().decode("unicode_escape")
        if text.startswith("[") and text.endswith("]"):
            return [self._argument(part, names) for part in _split(text[1:-1])]
        if text.startswith("{") and text.endswith("}"):
            fields = (MEMBER.fullmatch(part) for part in _split(text[1:-1]))
            return {f["name"] or str(i): self._argument(f["value"], names) for i, f in enumerate(fields) if f}
        return evaluate(text, names)


def _split_options(text: str) -> list[str]:
    return [p.strip() for p in text.split(",")] if text.strip() else []


def parse(name: str, text: str, env: Env) -> Script:
    """Understand a script or say where it is wrong."""
    return Parser(name, text, env).parse()
