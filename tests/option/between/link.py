# SPDX-License-Identifier: GPL-2.0
"""A link between two virtual-time machines, one process each: hosts of two kernels.

Virtual time is cut into windows as long as the delay of the link, so what is sent in one arrives in a later one.
At the end of each window both ends write what they have sent to a file, and neither goes on before it has read the
other's: no packet comes late, whichever machine is the faster, and a run repeats to the byte.
"""

import heapq
import itertools
import os
import pickle
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hetlab.packet.tun import Clock
from option.interop.loop import READ, Loop
from option.interop.wire import FIN, RST, SYN, Segment, parse_packet

DELAY_US = 10_000
BITS_PER_US = 50  # Mbit/s
LARGEST = 65536
ENDS = ("client", "server")


class Turns:
    """What both ends have sent, a file for each window and end. Waiting for one takes real time, not virtual time."""

    def __init__(self, folder: Path, end: str) -> None:
        self.folder, self.end = folder, end
        self.other = ENDS[1 - ENDS.index(end)]
        self.numbers = itertools.count()
        # Who looks for a file again and again without a sleep in between is charged for polling (lab_polls.c). To wait
        # for cat is a sleep that takes no time, if cat does not get its turn before.
        self.echo = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        os.sched_setscheduler(self.echo.pid, os.SCHED_IDLE, os.sched_param(0))

    def exchange(self, mine: object) -> object:
        """Give the other end an object and take its own of the same turn."""
        number = next(self.numbers)
        hidden = self.folder / f".{self.end}-{number}"
        hidden.write_bytes(pickle.dumps(mine))
        hidden.rename(self.folder / f"{self.end}-{number}")
        theirs = f"{self.other}-{number}"
        while theirs not in os.listdir(self.folder):
            self._sleep_no_time()
        return pickle.loads((self.folder / theirs).read_bytes())

    def _sleep_no_time(self) -> None:
        assert self.echo.stdin and self.echo.stdout
        self.echo.stdin.write(b".")
        self.echo.stdout.read(1)

    def close(self) -> None:
        """No more turns."""
        assert self.echo.stdin
        self.echo.stdin.close()
        self.echo.wait()


@dataclass
class Impairment:
    """What happens to packets on their way to this end, by count: of those with data, and of those without."""

    drop_data: int = 0  # of so many one is dropped; 0: none
    late_data: int = 0  # of so many one comes later by late_us, behind others
    late_us: int = 1000  # later, PAWS discards what is behind a retransmission: a timestamp older by 2 ms
    drop_acks: int = 0
    seen: Counter[str] = field(default_factory=Counter)

    def late_by_us(self, seg: Segment) -> int | None:
        """How much later than others a packet comes; None if it does not."""
        if seg.flags & (SYN | FIN | RST):
            return 0
        kind = "data" if seg.payload else "ack"
        self.seen[kind] += 1
        count = self.seen[kind]
        every = self.drop_data if seg.payload else self.drop_acks
        if every and count % every == 0:
            self.seen[f"{kind} dropped"] += 1
            return None
        if seg.payload and self.late_data and count % self.late_data == 0:
            self.seen["late"] += 1
            return self.late_us
        return 0


class Link:
    """This machine's end: packets of a TUN device, and the sockets beside it."""

    def __init__(self, turns: Turns, tun: int, path: Impairment) -> None:
        self.turns, self.tun, self.path = turns, tun, path
        self.loop = Loop()
        self.clock = Clock()
        self.clock.start()
        self.sent: list[tuple[int, bytes]] = []
        self.coming: list[tuple[int, int, bytes]] = []
        self.order = itertools.count()
        self.free_us = 0  # when the link has sent the packet before
        self.loop.watch(tun, READ, lambda _: self._take())  # type: ignore[arg-type]

    def run(self, done: Callable[[], bool], windows: int) -> bool:
        """Until it is so at both ends; False if it is not after so many windows."""
        for number in range(1, windows + 1):
            self._until(number * DELAY_US)
            mine = done()
            theirs = self._swap(mine)
            if mine and theirs:
                return True
        return False

    def _swap(self, done: bool) -> bool:
        other = self.turns.exchange((done, self.sent))
        assert isinstance(other, tuple)
        self.sent = []
        for sent_us, data in other[1]:
            self._arrive(sent_us, data)
        return bool(other[0])

    def _arrive(self, sent_us: int, data: bytes) -> None:
        self.free_us = max(self.free_us, sent_us) + len(data) * 8 // BITS_PER_US
        seg = parse_packet(data)
        late_us = self.path.late_by_us(seg) if seg else 0
        if late_us is not None:
            heapq.heappush(self.coming, (self.free_us + DELAY_US + late_us, next(self.order), data))

    def _take(self) -> None:
        """What the kernel sends at this instant."""
        try:
            while True:
                self.sent.append((self.clock.now_us(), os.read(self.tun, LARGEST)))
        except BlockingIOError:
            pass

    def _until(self, end_us: int) -> None:
        """Let the sockets work, and packets arrive when they are due."""
        while True:
            while self.coming and self.coming[0][0] <= self.clock.now_us():
                os.write(self.tun, heapq.heappop(self.coming)[2])
            if ready := self.loop.selector.select(0):
                for key, events in ready:
                    key.data(events)
                continue
            due_us = min(end_us, self.coming[0][0] if self.coming else end_us)
            if self.clock.now_us() >= end_us:
                return
            self.clock.wait([self.loop.selector.fileno()], due_us)

    def close(self) -> None:
        """Nothing is sent any more."""
        self.loop.close()
        os.close(self.clock.timer)
