# SPDX-License-Identifier: GPL-2.0
"""Record what passes an interface: a ring that the kernel fills and nobody reads until the end."""

import mmap
import socket
import struct

from option.interop.wire import Segment, parse_packet

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, PACKET_VNET_HDR = 5, 6, 10, 15
TPACKET_V2 = 1
BLOCK_BYTES = 1 << 16
FRAME_BYTES = 256
FRAMES = 1 << 15
# status, len, snaplen, mac, net, sec, nsec of struct tpacket2_hdr
HEADER = struct.Struct("=IIIHHII")
SLL_AT = 32  # struct sockaddr_ll behind the aligned header
PKTTYPE_AT = SLL_AT + 10
OUTGOING = 4
VNET_BYTES = 10
ETHERNET_BYTES = 14
STATUS_USER = 1


class Capture:
    """All packets of one interface of the namespace we are in."""

    def __init__(self, interface: str) -> None:
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.sock.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        self.sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        blocks = FRAMES * FRAME_BYTES // BLOCK_BYTES
        ring = struct.pack("=IIII", BLOCK_BYTES, blocks, FRAME_BYTES, FRAMES)
        self.sock.setsockopt(SOL_PACKET, PACKET_RX_RING, ring)
        self.ring = mmap.mmap(self.sock.fileno(), BLOCK_BYTES * blocks)
        self.sock.bind((interface, ETH_P_ALL))
        self.next = 0

    def take(self) -> list[Segment]:
        """TCP packets since the last call, times as of CLOCK_MONOTONIC if the offset was given."""
        stats = self.sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        if struct.unpack("=II", stats)[1]:
            raise RuntimeError("the capture ring was too short")
        packets: list[Segment] = []
        while HEADER.unpack_from(self.ring, at := self.next % FRAMES * FRAME_BYTES)[0] & STATUS_USER:
            self.next += 1
            seg = self._frame(at)
            packets += [seg] if seg else []
        return packets

    def _frame(self, at: int) -> Segment | None:
        _, _, snaplen, mac, net, sec, nsec = HEADER.unpack_from(self.ring, at)
        gso_size = struct.unpack_from("=H", self.ring, at + mac - VNET_BYTES + 4)[0]
        data = self.ring[at + net : at + mac + snaplen]
        out = self.ring[at + PKTTYPE_AT] == OUTGOING
        self.ring[at : at + 4] = bytes(4)
        if len(data) < 20 or data[0] >> 4 not in (4, 6):
            return None
        return parse_packet(data, sec * 10**9 + nsec - REAL_MINUS_MONOTONIC_NS, out, gso_size)

    def close(self) -> None:
        """Give the memory back."""
        self.ring.close()
        self.sock.close()


def _clock_offset_ns() -> int:
    import time

    return time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


REAL_MINUS_MONOTONIC_NS = _clock_offset_ns()
