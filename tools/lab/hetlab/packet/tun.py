# SPDX-License-Identifier: GPL-2.0
"""The guest's ground: a namespace of its own, a TUN device, an exact timer.

Nothing here takes virtual time: a packet written is received, and a packet sent
is read, at the instant it happens. select() with a timeout would be late by its
slack, so waiting is done on a timerfd.
"""

import ctypes
import fcntl
import os
import select
import struct
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from hetlab.errors import LabError
from hetlab.packet.wire import Ends

NS = 1_000_000_000
CLONE_NEWNET, CLONE_NEWNS = 0x40000000, 0x00020000
TUNSETIFF = 0x400454CA
TUNSETOFFLOAD, TUN_OFFLOADS = 0x400454D0, 0x01 | 0x02 | 0x04  # checksums, TSO of both IP versions
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
# struct virtio_net_hdr: flags, GSO type, header's length (0: all is one piece of memory, on which windows depend),
# GSO size, checksum's place; GSO types by IP version
VNET_HDR = struct.Struct("BBHHHH")
GSO_TCP = {4: 1, 6: 4}
TFD_NONBLOCK = os.O_NONBLOCK
TFD_TIMER_ABSTIME = 1
LARGEST = 65536
DEVICE = "tun0"

# Timers of the kernel's wheel fire on multiples of 1, 8, 64 or 512 jiffies. Scripts start
# where the jiffies are a multiple of 4096, half a jiffy after the tick, so that each
# of them meets the same grain whatever ran before. INITIAL_JIFFIES is -300 s.
JIFFY_NS = 1_000_000
ALIGN_JIFFIES = 4096
INITIAL_JIFFIES = -300_000

libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise LabError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def own_namespace() -> None:
    """Leave the machine's network for an empty one: sysctls, counters and caches are fresh."""
    _checked(libc.unshare(CLONE_NEWNET), "unshare")


def own_tmp() -> None:
    """Give this process and those it starts an empty /tmp: the machine's is the host's, and that of all machines."""
    _checked(libc.unshare(CLONE_NEWNS), "unshare")
    _checked(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None), "/tmp")


def write_sysctl(name: str, value: str) -> None:
    """Set one, by its path below /proc/sys."""
    try:
        Path("/proc/sys", name).write_text(value)
    except OSError as error:
        raise LabError(f"{name}: {value}: {error.strerror}") from None


def ip_batch(lines: list[str]) -> None:
    """Run ``ip`` once for several commands."""
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, capture_output=True, check=False)
    if done.returncode:
        raise LabError(f"ip: {done.stderr.strip()}")


class Tun:
    """A TUN device with the local addresses; no router solicitations, no address checks.

    With an MSS, what is longer reaches the kernel as one packet of several segments, as from a card that merges them.
    """

    def __init__(self, mtu: int, ends: Iterable[Ends], mss: int = 0) -> None:
        self.mss = mss
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        flags = IFF_TUN | IFF_NO_PI | (IFF_VNET_HDR if mss else 0)
        fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), flags))
        write_sysctl(f"net/ipv6/conf/{DEVICE}/addr_gen_mode", "1")
        write_sysctl(f"net/ipv6/conf/{DEVICE}/router_solicitations", "0")
        addresses = [f"addr add {e.local}/{e.prefix} dev {DEVICE}{' nodad' * (':' in e.local)}" for e in ends]
        routes = [f"route add {e.route} dev {DEVICE}" for e in ends if e.route]
        ip_batch(["link set lo up", f"link set {DEVICE} mtu {mtu} up", *addresses, *routes])

    def accept_large(self) -> None:
        """From now on the kernel hands over what it would leave to a card to cut and to sum up (TSO)."""
        _checked(libc.ioctl(self.fd, TUNSETOFFLOAD, TUN_OFFLOADS), "TUNSETOFFLOAD")

    def send(self, data: bytes, payload: int = 0) -> None:
        """Hand a packet to the kernel, at this instant."""
        gso = (GSO_TCP[data[0] >> 4], 0, self.mss) if payload > self.mss else (0, 0, 0)
        os.write(self.fd, VNET_HDR.pack(0, *gso, 0, 0) + data if self.mss else data)

    def receive(self) -> bytes | None:
        """Next packet of the kernel, if there is one."""
        try:
            return os.read(self.fd, VNET_HDR.size + LARGEST)[VNET_HDR.size if self.mss else 0 :]
        except BlockingIOError:
            return None


class Clock:
    """Script time, in microseconds since the script began."""

    def __init__(self) -> None:
        self.timer = _checked(libc.timerfd_create(time.CLOCK_MONOTONIC, TFD_NONBLOCK), "timerfd_create")
        self.origin_ns = 0

    def start(self) -> None:
        """Wait for the common phase of the jiffies; script time begins there."""
        period = ALIGN_JIFFIES * JIFFY_NS
        phase = -INITIAL_JIFFIES * JIFFY_NS % period + JIFFY_NS // 2
        now = time.monotonic_ns()
        target = now + (phase - now) % period
        self.wait([], (target - self.origin_ns) // 1000)
        self.origin_ns = target

    @property
    def origin_us(self) -> int:
        """When the script began, as the kernel's microsecond clock has it."""
        return self.origin_ns // 1000

    def now_us(self) -> int:
        """Script time, now."""
        return (time.monotonic_ns() - self.origin_ns) // 1000

    def wait(self, fds: Sequence[int], until_us: int) -> list[int]:
        """Wait for input on descriptors: those that have some; none if the time came first."""
        at = self.origin_ns + until_us * 1000
        if at <= time.monotonic_ns():
            return select.select(fds, [], [], 0)[0]
        spec = struct.pack("qqqq", 0, 0, at // NS, at % NS)
        _checked(libc.timerfd_settime(self.timer, TFD_TIMER_ABSTIME, spec, None), "timerfd_settime")
        ready, _, _ = select.select([self.timer, *fds], [], [])
        return [fd for fd in ready if fd != self.timer]
