# SPDX-License-Identifier: GPL-2.0
"""Guest side of option_steps.py: a peer that sends every other byte as a segment of its own.

usage: option_runs_guest.py MODE SEGMENTS
  MODE  net.ipv4.tcp_santacruz of the receiver; - leaves it alone; 1: the peer has the option, too
"""

import socket
import sys
from collections.abc import Sequence

from hetlab.packet import wire
from hetlab.packet.model import Packet
from hetlab.packet.options import Frame, Mss, Nop, Option, SackOk, Sc, ScOk, Timestamp, WScale
from hetlab.packet.tun import Tun, own_namespace, write_sysctl

PORTS = (40000, 8080)
ISN = 1_000_000
BUFFER = 64_000_000


def segment(flags: str, seq: int, length: int, ack: int, options: Sequence[Option]) -> bytes:
    """A packet of the peer."""
    frame = Frame(ISN, ack, 0, 0, 0)
    number = 0 if "." in flags else None
    packet = Packet(frozenset(flags), seq, length, number, 65535, tuple(options))
    return wire.build(packet, frame, 4, PORTS)


def main() -> None:
    """Connect, then SEGMENTS segments of one byte, none of which is next in order."""
    mode, wanted = sys.argv[1], int(sys.argv[2])
    own_namespace()
    tun = Tun(1500)
    write_sysctl("net/ipv4/tcp_rmem", f"4096 {BUFFER} {BUFFER}")
    if mode != "-":
        write_sysctl("net/ipv4/tcp_santacruz", mode)
    listener = socket.create_server((wire.LOCAL[4], PORTS[1]))
    spoken = mode == "1"
    offered: list[Option] = [Mss(1460), SackOk(), Timestamp(1, 0), Nop(), WScale(7), *[ScOk()] * spoken]
    tun.send(segment("S", 0, 0, 0, offered))
    answer = wire.parse(tun.receive() or b"", 0)
    assert answer, "no SYN-ACK"
    have = next(o for o in answer.options if isinstance(o, Timestamp))
    assert any(isinstance(o, ScOk) for o in answer.options) == spoken, answer
    stamps: list[Option] = [Nop(), Nop(), Timestamp(2, have.val)]
    isn = answer.packet.seq + 1
    tun.send(segment(".", 1, 0, isn, stamps))
    accepted, _ = listener.accept()
    data = [*stamps, Nop(), Nop(), Nop(), Sc(1, 0)] if spoken else stamps
    for i in range(wanted):
        tun.send(segment(".", 3 + 2 * i, 1, isn, data))
        while tun.receive():
            pass
    accepted.close()


if __name__ == "__main__":
    main()
