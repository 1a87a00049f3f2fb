# SPDX-License-Identifier: GPL-2.0
"""Inside the machine: requests to the qdisc replay that must be refused, random ones, and its use meanwhile."""

import errno
import os
import random
import socket
import struct
import subprocess
import sys
from pathlib import Path

RTM_NEWQDISC, REQUEST_ACK, CREATE, EXCL = 36, 0x5, 0x400, 0x200
TCA_KIND, TCA_OPTIONS, NESTED = 1, 2, 0x8000
STAGE, PKTS, BYTES, OVERHEAD, TABLE, TOTAL, PERIOD, CHUNK, START = range(1, 10)
OPPORTUNITIES, RATE, DELAY, LOSS = range(4)
QUEUE_STAGE, DELAY_STAGE = 0, 1
DEV = "test0"
S = 10**9


def attribute(kind: int, data: bytes) -> bytes:
    length = 4 + len(data)
    return struct.pack("=HH", length, kind) + data + bytes(-length % 4)


def u32(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))


def u64(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=Q", value))


def chunk(*entries: tuple[int, int]) -> bytes:
    return attribute(CHUNK, b"".join(struct.pack("=QQ", t, value) for t, value in entries))


def table(kind: int, period: int, *entries: tuple[int, int], total: int | None = None) -> bytes:
    count = len(entries) if total is None else total
    return u32(TABLE, kind) + u32(TOTAL, count) + u64(PERIOD, period) + chunk(*entries)


class Kernel:
    """A netlink socket, and the qdisc of one interface."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.index = socket.if_nametoindex(DEV)

    def ask(self, options: bytes, flags: int = 0) -> int:
        """Send options; 0, or the number of the error."""
        head = struct.pack("=BxxxiIII", 0, self.index, 0x10000, 0xFFFFFFFF, 0)
        body = head + attribute(TCA_KIND, b"replay\0") + attribute(TCA_OPTIONS | NESTED, options)
        size = 16 + len(body)
        self.socket.send(struct.pack("=IHHII", size, RTM_NEWQDISC, REQUEST_ACK | flags, 1, 0) + body)
        answer = self.socket.recv(65536)
        return -int(struct.unpack_from("=i", answer, 16)[0])

    def make(self, options: bytes) -> int:
        subprocess.run(["tc", "qdisc", "del", "dev", DEV, "root"], stderr=subprocess.DEVNULL, check=False)
        return self.ask(options, CREATE | EXCL)


BAD_QUEUE = {
    "a stage of its own": u32(STAGE, 1),
    "a third stage": u32(STAGE, 2),
    "no packets": u32(PKTS, 0),
    "overhead": u32(OVERHEAD, 1000),
    "no such attribute": u32(77, 1),
    "a short attribute": attribute(PKTS, b"\1"),
    "a short period": u32(TABLE, RATE) + u32(TOTAL, 1) + attribute(PERIOD, b"\1") + chunk((0, 1)),
    "no such table": table(7, S, (0, 1)),
    "the other stage's table": table(DELAY, S, (0, 1)),
    "no entries": u32(TABLE, RATE) + u32(TOTAL, 1),
    "an empty chunk": u32(TABLE, RATE) + u32(TOTAL, 1) + attribute(CHUNK, b""),
    "half an entry": u32(TABLE, RATE) + u32(TOTAL, 1) + attribute(CHUNK, bytes(15)),
    "none in all": table(RATE, S, (0, 1), total=0),
    "4194305 in all": table(RATE, S, (0, 1), total=4194305),
    "2^32 - 1 in all": table(RATE, S, (0, 1), total=2**32 - 1),
    "more than in all": table(RATE, S, (0, 1), (5, 2), total=1),
    "not begun": u32(TABLE, RATE) + chunk((0, 1)),
    "time goes back": table(OPPORTUNITIES, S, (5, 1), (4, 1)),
    "time stands": table(OPPORTUNITIES, S, (5, 1), (5, 1)),
    "behind the period": table(OPPORTUNITIES, S, (S + 1, 1)),
    "opportunities without a period": table(OPPORTUNITIES, 0, (5, 1)),
    "a period of years": table(RATE, 2**63, (0, 1)),
    "an opportunity of none": table(OPPORTUNITIES, S, (5, 0)),
    "opportunities without end": table(OPPORTUNITIES, S, (5, 2**64 - 1)),
    "a rate from 5 on": table(RATE, S, (5, 1)),
    "a rate beyond all": table(RATE, S, (0, 2**64 - 1)),
    "a rate at the period": table(RATE, S, (0, 1), (S, 2)),
    "rates of 0 for ever": table(RATE, S, (0, 0), (5, 0)),
    "a start before all": attribute(START, struct.pack("=q", -5)),
    "a start after all": attribute(START, struct.pack("=q", 2**63 - 1)),
}
BAD_DELAY = {
    "a rate": table(RATE, S, (0, 1)),
    "a delay of hours": table(DELAY, S, (0, 10**15)),
    "a loss above 1": table(LOSS, S, (0, 2**32)),
}


def refused(kernel: Kernel) -> list[str]:
    """What was taken although it must not be."""
    taken = []
    for stage, bad in ((QUEUE_STAGE, BAD_QUEUE), (DELAY_STAGE, BAD_DELAY)):
        assert kernel.make(u32(STAGE, stage)) == 0
        for name, options in bad.items():
            if kernel.ask(options) not in (errno.EINVAL, errno.ERANGE):
                taken.append(name)
    return taken


def random_requests(kernel: Kernel, number: int) -> None:
    """Well-formed attributes with any values, while packets go over the interface."""
    rng = random.Random(1)
    values = [0, 1, 2, 5, 1500, S, 10 * S, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
    for i in range(number):
        if i % 100 == 0:
            assert kernel.make(u32(STAGE, i // 100 % 2)) == 0
        times = sorted(rng.sample(range(0, 2 * S, 1000), rng.randint(1, 5)))
        times[0] = rng.choice((0, times[0]))
        entries = [(t, rng.choice(values)) for t in times]
        options = table(rng.randrange(5), rng.choice(values), *entries, total=rng.choice((len(entries), 1, 7)))
        options += u64(START, rng.choice(values)) if rng.random() < 0.3 else b""
        options += attribute(rng.randrange(12), rng.randbytes(rng.randrange(9))) if rng.random() < 0.2 else b""
        kernel.ask(options)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.sendto(bytes(rng.randrange(1400)), ("10.9.9.2", 9))


def still_works() -> None:
    """A packet at an opportunity after all that."""
    subprocess.run(["tc", "qdisc", "del", "dev", DEV, "root"], stderr=subprocess.DEVNULL, check=False)
    line = Path("/dev/shm/line")
    head = struct.pack("=IIQ", OPPORTUNITIES, 1, 10**6) + struct.pack("=QQ", 10**6, 1)
    line.write_bytes(b"hetrace1" + head)
    program = Path(os.environ["HETLAB_BIN"]) / "hetreplay"
    subprocess.run([program], input=f"make dev={DEV} file={line}\n", text=True, check=True)
    subprocess.run(["ping", "-c", "3", "-i", "0.2", "10.9.9.2"], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    commands = f"""ip netns add far
ip link add {DEV} type veth peer name far0 netns far
ip addr add 10.9.9.1/24 dev {DEV}; ip link set {DEV} up
ip -n far addr add 10.9.9.2/24 dev far0; ip -n far link set far0 up"""
    subprocess.run(["sh", "-ec", commands], check=True)
    kernel = Kernel()
    taken = refused(kernel)
    if taken:
        sys.exit(f"taken: {', '.join(taken)}")
    random_requests(kernel, 3000)
    still_works()
    said = subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout
    bad = [line for line in said.splitlines() if "WARNING" in line or "BUG" in line or "Call Trace" in line]
    if bad:
        sys.exit("\n".join(bad))
    print("all refused")


if __name__ == "__main__":
    main()
