# SPDX-License-Identifier: GPL-2.0
"""Scripts of packetdrill as the kernel's selftests have them, unmodified.

What packetdrill does otherwise than our player: shell commands run beside the script, with a /tmp of
its own, where they leave files of the same names in every machine; the kernel
hands over whole TSO packets, and several in a row count as one that is as long, with the flags of the
last; a packet without a list of options has none; the peer's SYN gives its initial sequence number; timestamps are not
checked, but an echo in an injected packet is mapped to what the kernel sent; what the kernel sends
behind the last line that expects a packet does not matter; sequence numbers of SYNs, and what they
acknowledge, are absolute, all others relative to them; the first SYN behind listen() is of a new
connection, and packets of the one before do not matter any longer; a descriptor's number may be
given again; a relative time counts from the end of the event before, whenever that was, and between
packets of the peer from the one before; timers of the kernel's wheel are up to an eighth late, and so may be
what is to happen so long after the event before; what the peer sends at once reaches the kernel as one packet of
segments as long as --mss says. That the kernel offers the Santa Cruz option in its SYN is what
net.ipv4.tcp_santacruz=1 is for, and taken away before anything is compared.
"""

import dataclasses
import os
from pathlib import Path

from hetlab.packet.calls import SERVICE_PORT
from hetlab.packet.model import Call, Event, Inject, Packet
from hetlab.packet.options import MOD32, Option, Raw, ScOk, Timestamp
from hetlab.packet.player import REMOTE_PORT, Player
from hetlab.packet.tun import own_tmp
from hetlab.packet.wire import Segment


class Packetdrill(Player):
    """One run of one script of packetdrill's."""

    to_the_end = False

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        # By descriptor, since it may be below /tmp
        folder = os.open(Path(self.script.name).resolve().parent, os.O_PATH)
        self.folder = Path(f"/proc/self/fd/{folder}")
        own_tmp()
        self.variables = {"PACKETDRILL_PID": str(os.getpid())}
        self.stamps: dict[int, int] = {}
        self.first_isn = self.script.settings.peer_isn
        self.peer_seq = self.kernel_seq = 0
        self.connections = 0
        self.listened = False
        self.last: Event | None = None
        self.sockets.replaces = True
        self.tun.accept_large()

    def _anchor(self, event: Event) -> None:
        if not (isinstance(self.last, Inject) and isinstance(event, Inject)):
            self.base_us = self.clock.now_us()
        self.last = event

    def _tolerance(self, after_us: int) -> int:
        return max(super()._tolerance(after_us), after_us // 8)

    def _seen(self, segment: Segment) -> Segment | None:
        ports = segment.remote_port, segment.local_port
        if self.connections > 1 and ports != self.ports and segment.packet.flags != {"S"}:
            return None
        options = tuple(option for option in segment.options if not isinstance(option, ScOk))
        return dataclasses.replace(segment, packet=dataclasses.replace(segment.packet, options=options))

    def _whole(self, segment: Segment, packet: Packet, until_us: int) -> Segment:
        while segment.packet.length < packet.length:
            self._wait(until_us, True)
            have = segment.packet
            if not self.queue or self._heads(self.queue[0].packet, 0) != self._heads(have, have.length):
                break
            more = self.queue.popleft().packet
            whole = dataclasses.replace(have, length=have.length + more.length, flags=more.flags)
            segment = dataclasses.replace(segment, packet=whole)
        return segment

    @staticmethod
    def _heads(packet: Packet, length: int) -> tuple[object, ...]:
        """What two packets in a row that count as one have in common."""
        return packet.flags - {"P"}, packet.ack, packet.options, packet.ecn, (packet.seq + length) % MOD32

    def _wanted(self, packet: Packet, segment: Segment) -> Packet:
        have = next((o.val for o in segment.options if isinstance(o, Timestamp)), None)
        want = packet.options or ()
        self.stamps |= {
            o.val: have for o in want if isinstance(o, Timestamp) and o.val is not None and have is not None
        }
        options = tuple(Timestamp(None, o.ecr) if isinstance(o, Timestamp) else o for o in want)
        if packet.options is not None:
            packet = dataclasses.replace(packet, options=options)
        if "S" not in packet.flags:
            return packet
        self.kernel_seq = packet.seq
        ack = None if packet.ack is None else packet.ack - self.peer_seq
        return dataclasses.replace(packet, seq=0, ack=ack)

    def _call(self, event: Call) -> None:
        super()._call(event)
        self.listened |= event.name == "listen"

    def _connect(self) -> None:
        """A new connection to the socket that listens now."""
        self.listened = False
        self.connections += 1
        if self.connections > 1:
            self._collect()
            self.queue.clear()
            self.stamps.clear()
            self.ports = REMOTE_PORT + self.connections, SERVICE_PORT

    def _sent(self, packet: Packet) -> Packet:
        if "S" in packet.flags:
            self.peer_seq = packet.seq
            self.script.settings.peer_isn = (self.first_isn + packet.seq) % MOD32
            ack = None if packet.ack is None else packet.ack - self.kernel_seq
            packet = dataclasses.replace(packet, seq=0, ack=ack)
        return dataclasses.replace(packet, options=tuple(map(self._echo, packet.options or ())))

    def _inject(self, event: Inject) -> None:
        if event.packet.flags & {"S", "."} == {"S"} and self.listened:
            self._connect()
        super()._inject(event)

    def _echo(self, option: Option) -> Option:
        if isinstance(option, Timestamp) and option.ecr in self.stamps:
            return Timestamp(option.val, Raw(self.stamps[option.ecr]))
        return option
