# SPDX-License-Identifier: GPL-2.0
"""Guest side of option_steps.py and option_time.py: a peer that sends every other byte as a segment of its own.

usage: option_runs_guest.py MODE SEGMENTS
       option_runs_guest.py pair SEGMENTS TIMED MODULE
  MODE     net.ipv4.tcp_santacruz of the receiver; - leaves it alone; 1: the peer has the option, too
  pair     two connections, of which the first has the option; after SEGMENTS of each, TIMED further ones of each
           by turns, and a line for each turn: the ticks that TCP took for it, with and without the option
  MODULE   timed_rx.ko
Each segment gets its ACK at once.
"""

import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hetlab.packet import wire
from hetlab.packet.model import Packet
from hetlab.packet.options import Frame, Mss, Nop, Option, SackOk, Sc, ScOk, Timestamp, WScale
from hetlab.packet.tun import Tun, own_namespace, write_sysctl

SERVER = 8080
PORTS = (40000, 40001)
ISN = 1_000_000
BUFFER = 64_000_000


@dataclass(frozen=True)
class Connection:
    """One of the peer's; ``isn``: what it acknowledges."""

    port: int
    isn: int
    options: Sequence[Option]
    accepted: socket.socket

    def segment(self, number: int) -> bytes:
        """A byte with nothing before it."""
        return segment(self.port, ".", 3 + 2 * number, 1, self.isn, self.options)


def segment(port: int, flags: str, seq: int, length: int, ack: int, options: Sequence[Option]) -> bytes:
    """A packet of the peer."""
    frame = Frame(ISN, ack, 0, 0, 0)
    number = 0 if "." in flags else None
    packet = Packet(frozenset(flags), seq, length, number, 65535, tuple(options))
    return wire.build(packet, frame, wire.OURS[4], (port, SERVER))


def connect(tun: Tun, listener: socket.socket, port: int, spoken: bool) -> Connection:
    """A connection, with the option if it is ``spoken``."""
    offered: list[Option] = [Mss(1460), SackOk(), Timestamp(1, 0), Nop(), WScale(7), *[ScOk()] * spoken]
    tun.send(segment(port, "S", 0, 0, 0, offered))
    answer = wire.parse(tun.receive() or b"", 0)
    assert answer, "no SYN-ACK"
    have = next(o for o in answer.options if isinstance(o, Timestamp))
    assert any(isinstance(o, ScOk) for o in answer.options) == spoken, answer
    stamps: list[Option] = [Nop(), Nop(), Timestamp(2, have.val)]
    isn = answer.packet.seq + 1
    tun.send(segment(port, ".", 1, 0, isn, stamps))
    accepted, _ = listener.accept()
    data = [*stamps, Nop(), Nop(), Nop(), Sc(1, 0)] if spoken else stamps
    return Connection(port, isn, data, accepted)


def taken(tun: Tun) -> None:
    """The ACK of a segment."""
    acks = 0
    while tun.receive():
        acks += 1
    assert acks == 1, f"{acks} ACKs of a segment"


def send(tun: Tun, connection: Connection, number: int) -> None:
    """A segment, and its ACK."""
    tun.send(connection.segment(number))
    taken(tun)


def timed(tun: Tun, connections: Sequence[Connection], numbers: range, module: str) -> list[tuple[str, ...]]:
    """Ticks of a segment of each connection, turn by turn; who is first changes."""
    subprocess.run(["insmod", module], check=True)
    for number in numbers:
        for connection in connections if number % 2 else reversed(connections):
            send(tun, connection, number)
    found: dict[str, list[str]] = {str(c.port): [] for c in connections}
    for line in Path("/proc/timed_rx").read_text().splitlines():
        port, ticks = line.split()
        found[port].append(ticks)
    return list(zip(*found.values(), strict=True))


def main() -> None:
    """Connect, then segments of one byte, none of which is next in order."""
    mode, wanted = sys.argv[1], int(sys.argv[2])
    own_namespace()
    tun = Tun(1500, wire.OURS.values())
    write_sysctl("net/ipv4/tcp_rmem", f"4096 {BUFFER} {BUFFER}")
    write_sysctl("net/ipv4/tcp_comp_sack_nr", "0")
    if mode != "-":
        write_sysctl("net/ipv4/tcp_santacruz", "1" if mode == "pair" else mode)
    listener = socket.create_server((wire.OURS[4].local, SERVER))
    spoken = {"pair": [True, False], "1": [True]}.get(mode, [False])
    connections = [connect(tun, listener, port, has) for port, has in zip(PORTS, spoken, strict=False)]
    for number in range(wanted):
        for connection in connections:
            send(tun, connection, number)
    if mode == "pair":
        numbers = range(wanted, wanted + int(sys.argv[3]))
        for turn in timed(tun, connections, numbers, sys.argv[4]):
            print(*turn)


if __name__ == "__main__":
    main()
