# SPDX-License-Identifier: GPL-2.0
"""Captures read through the dissector of the Santa Cruz option, and written for its tests."""

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import chain, repeat
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "wireshark" / "santacruz.lua"
INFO = "_ws.col.Info"
TIMEOUT_S = 120

LINKTYPE_ETHERNET, LINKTYPE_RAW = 1, 101
MAX_SNAPLEN = 262144
SYN, ACK = 0x02, 0x10
NOP = b"\1"
TIMESTAMPS = bytes.fromhex("080a 00000001 00000002")


class DissectError(Exception):
    """tshark or the script failed; the message is what it said."""


def dissect(pcap: Path, *fields: str, keep: str = "") -> list[dict[str, str]]:
    """Fields of each packet of a capture that the display filter ``keep`` lets through.

    Several values of a field are joined by commas, a field that is not there is "".
    A complaint of tshark or Lua is an error: nothing here may make the script fail.
    """
    if not shutil.which("tshark"):
        raise DissectError("no tshark: run tools/setup.sh --check")
    asked = [*fields, "_ws.lua.error"]
    with tempfile.TemporaryDirectory() as empty:  # no personal settings, no installed copy of the script
        done = subprocess.run(
            ["tshark", "-n", "-X", f"lua_script:{SCRIPT}", "-r", str(pcap), *(["-Y", keep] if keep else [])]
            + ["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=,"]
            + [part for field in asked for part in ("-e", field)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            env=os.environ | {"WIRESHARK_CONFIG_DIR": empty, "LC_ALL": "C.UTF-8"},
        )
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("Running as user")]
    if done.returncode or complaints:
        raise DissectError(f"tshark: exit status {done.returncode}\n" + "\n".join(complaints))
    rows = [dict(zip(asked, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
    for number, row in enumerate(rows, 1):
        if row.pop("_ws.lua.error"):
            raise DissectError(f"packet {number}: Lua error")
    return rows


def santacruz(*after_exid: bytes, length: int | None = None) -> bytes:
    """The option with what follows its ExID; its length byte is right unless given."""
    body = b"\x53\x43" + b"".join(after_exid)
    return bytes([254, len(body) + 2 if length is None else length]) + body


def echo(copies: int, sn: int, timestamp_us: int, granularity: int = 0, window: bytes = b"") -> bytes:
    """An option that echoes; without a window, no granularity either."""
    hole = struct.pack("!H", granularity) + window if window else b""
    return santacruz(struct.pack("!BII", copies, sn & 0xFFFFFFFF, timestamp_us), hole)


@dataclass(frozen=True)
class Segment:
    """A TCP segment in an IP packet. Checksums are 0: Wireshark does not look at them."""

    options: bytes = b""
    seq: int = 0
    ack: int = 0
    flags: int = ACK
    payload: bytes = b""
    source: str = "192.0.2.1"
    destination: str = "198.51.100.1"
    ports: tuple[int, int] = (1024, 5201)
    words: int | None = None  # header length field, else as it is
    pad: bytes = NOP  # of the options to whole words, behind them

    def tcp(self) -> bytes:
        """Header and payload."""
        options = self.options + self.pad * (-len(self.options) % 4)
        words = 5 + len(options) // 4 if self.words is None else self.words
        seq, ack = self.seq & 0xFFFFFFFF, self.ack & 0xFFFFFFFF
        fixed = struct.pack("!HHIIBBHHH", *self.ports, seq, ack, words << 4, self.flags, 65535, 0, 0)
        return fixed + options + self.payload

    def packet(self) -> bytes:
        """With its IP header, of the version of the addresses."""
        return ip(self.source, self.destination, 6, self.tcp())


def ip(source: str, destination: str, protocol: int, payload: bytes) -> bytes:
    """An IPv4 or IPv6 packet, as the addresses are."""
    ends = ip_address(source).packed + ip_address(destination).packed
    if len(ends) == 8:
        return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0) + ends + payload
    return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + ends + payload


def write_pcap(
    path: Path, packets: Iterable[bytes], linktype: int = LINKTYPE_RAW, snaplens: Iterable[int] = ()
) -> Path:
    """Write a capture, one packet a millisecond; the first ones may be cut, each at its own length."""
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, MAX_SNAPLEN, linktype))
        for number, (packet, snaplen) in enumerate(zip(packets, chain(snaplens, repeat(MAX_SNAPLEN)), strict=False)):
            kept = packet[:snaplen]
            out.write(struct.pack("<IIII", number // 1000, number % 1000 * 1000, len(kept), len(packet)) + kept)
    return path
