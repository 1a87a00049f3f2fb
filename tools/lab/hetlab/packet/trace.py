# SPDX-License-Identifier: GPL-2.0
"""What crossed the TUN: a line each for people, a pcap file for Wireshark."""

from collections.abc import Callable
from pathlib import Path

from scapy.utils import RawPcapWriter

from hetlab.packet.model import Packet, stamp
from hetlab.packet.options import US

RAW_IP = 101


class Trace:
    """Diagnostics and capture of one script; times count from its beginning."""

    def __init__(self, pcap: Path | None, verbose: bool, note: Callable[[str], None]) -> None:
        self.writer = RawPcapWriter(str(pcap), linktype=RAW_IP, sync=True) if pcap else None
        if self.writer:
            self.writer.write_header(None)
        self.verbose = verbose
        self.note = note

    def write(self, data: bytes, at_us: int) -> None:
        """Record a packet."""
        if self.writer:
            self.writer.write_packet(data, sec=at_us // US, usec=at_us % US)

    def say(self, at_us: int, way: str, packet: Packet) -> None:
        """Print a packet in the script's notation, if asked to."""
        if self.verbose:
            self.note(f"{stamp(at_us)} {way} {packet.show()}")

    def close(self) -> None:
        """Complete the capture."""
        if self.writer:
            self.writer.close()
