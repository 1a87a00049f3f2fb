# SPDX-License-Identifier: GPL-2.0
"""TCP segments as IP packets, and whether one is what a script expects."""

from dataclasses import dataclass

from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw

from hetlab.packet.model import Env, Packet
from hetlab.packet.options import MOD32, Frame, Option, decode, encode, match

FLAG_BITS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "E": 64, "W": 128, "A": 256}
ECN_BITS = {"noecn": 0, "ect1": 1, "ect0": 2, "ce": 3}


@dataclass(frozen=True)
class Ends:
    """Addresses of the kernel and of the peer; ``route``: where the peer is, beyond the prefix of the kernel's."""

    local: str
    remote: str
    prefix: int
    route: str = ""


OURS = {4: Ends("192.0.2.1", "192.0.2.2", 24), 6: Ends("2001:db8::1", "2001:db8::2", 64)}
# Those of ksft_runner.sh: cookies of Fast Open are made of them
KSELFTEST = {
    4: Ends("192.168.0.1", "192.0.2.1", 16, "192.0.2.0/24"),
    6: Ends("fd3d:a0b:17d6::1", "fd3d:fa7b:d17d::1", 64, "fd3d:fa7b:d17d::/48"),
}
HEADER = 20


def ends_of(env: Env) -> dict[int, Ends]:
    """Addresses by IP version."""
    return KSELFTEST if env.packetdrill else OURS


@dataclass(frozen=True)
class Segment:
    """A TCP segment in wire numbers, with the time the harness saw it (script, microseconds)."""

    at_us: int
    local_port: int
    remote_port: int
    packet: Packet

    @property
    def options(self) -> tuple[Option, ...]:
        """Its options; a segment on the wire always has a list."""
        return self.packet.options or ()


def build(packet: Packet, frame: Frame, ends: Ends, ports: tuple[int, int]) -> bytes:
    """IP packet of the peer; ``packet`` in script numbers."""
    options = encode([frame.to_wire(option) for option in packet.options or ()])
    flags = sum(FLAG_BITS[flag] for flag in packet.flags)
    tcp = TCP(
        sport=ports[0],
        dport=ports[1],
        seq=frame.seq(packet.seq),
        ack=0 if packet.ack is None else (packet.ack + frame.ack_isn) % MOD32,
        dataofs=(HEADER + len(options)) // 4,
        flags=flags,
        window=packet.win,
    )
    ecn = ECN_BITS[packet.ecn or "noecn"]
    src, dst = ends.remote, ends.local
    ip = IPv6(tc=ecn, src=src, dst=dst) if ":" in src else IP(tos=ecn, id=0, flags="DF", src=src, dst=dst)
    return bytes(ip / tcp / Raw(options + bytes(packet.length)))


def parse(data: bytes, at_us: int) -> Segment | None:
    """TCP segment of the kernel in wire numbers; None for anything else."""
    ip = IP(data) if data[0] >> 4 == 4 else IPv6(data)
    if not ip.haslayer(TCP):
        return None
    tcp = ip[TCP]
    size = (ip.len - ip.ihl * 4) if data[0] >> 4 == 4 else ip.plen
    raw = data[-size:]
    offset = tcp.dataofs * 4
    bits = int(tcp.flags)
    flags = frozenset(name for name, bit in FLAG_BITS.items() if bits & bit)
    tos = ip.tos if data[0] >> 4 == 4 else ip.tc
    ecn = next(name for name, value in ECN_BITS.items() if value == tos & 3)
    ack = tcp.ack if "." in flags else None
    packet = Packet(flags, tcp.seq, size - offset, ack, tcp.window, decode(raw[HEADER:offset]), ecn)
    return Segment(at_us, tcp.sport, tcp.dport, packet)


def relative(packet: Packet, frame: Frame) -> Packet:
    """Wire numbers as script numbers, for messages."""
    options = tuple(frame.to_script(option) for option in packet.options or ())
    ack = None if packet.ack is None else (packet.ack - frame.ack_isn) % MOD32
    seq = (packet.seq - frame.seq_isn) % MOD32
    return Packet(packet.flags, seq, packet.length, ack, packet.win, options, packet.ecn)


def differences(want: Packet, have: Packet, frame: Frame, strict: bool, slack_us: int) -> list[str]:
    """Names of what is not as expected; ``want`` in script numbers, ``have`` in wire numbers."""
    faults = []
    if want.flags != have.flags:
        faults.append("flags")
    if frame.seq(want.seq) != have.seq:
        faults.append("sequence number")
    if want.length != have.length:
        faults.append("length")
    if want.ack is not None and (have.ack is None or (want.ack + frame.ack_isn) % MOD32 != have.ack):
        faults.append("ack")
    if want.win is not None and want.win != have.win:
        faults.append("win")
    if want.ecn is not None and want.ecn != have.ecn:
        faults.append("ECN")
    wire = None if want.options is None else [frame.to_wire(option) for option in want.options]
    if wire is not None and not match(wire, have.options or (), strict, slack_us):
        faults.append("options")
    return faults
