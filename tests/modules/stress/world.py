# SPDX-License-Identifier: GPL-2.0
"""What all activities of the stress share: the networks, the counters, the flows' processes."""

import contextlib
import ctypes
import json
import math
import os
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.sharedctypes import RawArray, RawValue
from pathlib import Path

MODULES = Path(os.environ["HETLAB_MODULES"])
OURS = {
    "santacruz": "tcp_santacruz",
    "westwood_fr": "tcp_westwood_fr",
    "westwood_gfr": "tcp_westwood_fr",
    "hybla_ext": "tcp_hybla_ext",
    "hybla_paper": "tcp_hybla_ext",
}
THEIRS = ["reno", "cubic", "bbr", "vegas", "westwood", "hybla", "dctcp", "illinois"]
NETS = 4
SIDES = ("s", "d")
LINKS = ("v0", "v1")
MPTCP_PORTS = {4: 9000, 6: 9001}
FLOW_PORTS = range(10_000, 30_000)  # below those that the kernel chooses
COUNTS = Path("/tmp/stress")
LOGS = COUNTS / "batch"
SAVE_S = 3
# Priorities: of greedy traffic, and of what must be done before somebody undoes it or has to be looked at in time
LOW, HIGH = 10, -10
FINIT_MODULE, DELETE_MODULE, BPF = 313, 176, 321  # system calls
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def call(*args: str, text: str = "") -> bool:
    """Run a command; in a stress many may fail, because what they name is gone."""
    return subprocess.run(args, input=text, text=True, capture_output=True, check=False).returncode == 0


def must(*args: str, text: str = "") -> str:
    """Run a command that has to work."""
    done = subprocess.run(args, input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(args)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def enter(netns: str) -> None:
    """Move this process to a network namespace."""
    fd = os.open(f"/run/netns/{netns}", os.O_RDONLY)
    if LIBC.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"setns {netns}")
    os.close(fd)


@contextlib.contextmanager
def inside(netns: str) -> Iterator[None]:
    """A while in a network namespace."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        enter(netns)
        yield
    finally:
        LIBC.setns(home, CLONE_NEWNET)
        os.close(home)


class Batch:
    """A running "ip -batch" or "tc -batch": a process for each command would cost more than all the traffic."""

    def __init__(self, tool: str, netns: str) -> None:
        self._log = LOGS / f"{os.getpid()}-{tool}-{netns}.log"
        with open(self._log, "wb") as log:
            args = [tool, "-n", netns, "-force", "-batch", "-"]
            self._proc = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log)

    def do(self, *lines: str) -> None:
        """Hand over commands; they are executed soon, and may fail."""
        assert self._proc.stdin
        self._proc.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self._proc.stdin.flush()


def batch_failures() -> int:
    """Commands that failed, in all batches so far."""
    return sum(path.read_text().count("Command failed") for path in LOGS.glob("*.log"))


def load_module(module: str, argument: str) -> bool:
    """As insmod does, with one parameter."""
    with open(MODULES / f"{module}.ko", "rb") as f:
        return not LIBC.syscall(FINIT_MODULE, f.fileno(), argument.encode(), 0)


def unload_module(module: str) -> bool:
    """As rmmod does."""
    return not LIBC.syscall(DELETE_MODULE, module.encode(), os.O_NONBLOCK)


@dataclass(frozen=True)
class Net:
    """Two hosts s and d, a router r between them, two links v0 and v1 on either side."""

    n: int

    def ns(self, side: str) -> str:
        """Name of the namespace of s, r or d."""
        return f"{side}{self.n}"

    def address(self, side: str, link: str, family: int, host: int = 1) -> str:
        """Address of a host (1) or the router (254) on a link."""
        subnet = 2 * SIDES.index(side) + LINKS.index(link)
        return f"10.{self.n}.{subnet}.{host}" if family == 4 else f"fd00:{self.n}:{subnet}::{host}"

    def routes(self, side: str, options: str = "") -> list[str]:
        """Commands that make the host's routes, by both links, the first one with options."""
        lines = []
        for link in LINKS:
            for family in (4, 6):
                via = f"via {self.address(side, link, family, 254)} dev {link}"
                extra = options if link == LINKS[0] else "metric 2000"
                lines.append(f"route replace default {via} {extra}")
                lines.append(f"route replace default {via} table {1 + LINKS.index(link)}")
        return lines

    def make(self) -> None:
        """Set it up."""
        lines = [f"netns add {self.ns(side)}" for side in ("s", "r", "d")]
        for side in SIDES:
            for link in LINKS:
                peer = f"peer name {side}{link} netns {self.ns('r')}"
                lines.append(f"link add name {link} netns {self.ns(side)} type veth {peer}")
        must("ip", "-batch", "-", text="\n".join(lines))
        self._make_router()
        for side in SIDES:
            with inside(self.ns(side)):
                Path("/proc/sys/net/ipv4/tcp_orphan_retries").write_text("1")
                # The flows that are kept have ECN in every other network
                Path("/proc/sys/net/ipv4/tcp_ecn").write_text(str(self.n % 2))
            lines, rules = ["link set lo up"], {4: list[str](), 6: list[str]()}
            for table, link in enumerate(LINKS, 1):
                lines += self._addresses(link, side, link, 1)
                rules[4].append(f"rule add from {self.address(side, link, 4)} table {table}")
                rules[6].append(f"rule add from {self.address(side, link, 6)} table {table}")
            for family, some in rules.items():
                must("ip", f"-{family}", "-n", self.ns(side), "-batch", "-", text="\n".join(some))
            must("ip", "-n", self.ns(side), "-batch", "-", text="\n".join(lines + self.routes(side)))

    def _make_router(self) -> None:
        devices = {f"{side}{link}": (side, link) for side in SIDES for link in LINKS}
        with inside(self.ns("r")):
            for name in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
                Path(f"/proc/sys/net/{name}").write_text("1")
            for device in devices:
                Path(f"/proc/sys/net/ipv6/conf/{device}/keep_addr_on_down").write_text("1")
        lines = [line for device, (side, link) in devices.items() for line in self._addresses(device, side, link, 254)]
        must("ip", "-n", self.ns("r"), "-batch", "-", text="\n".join(lines))
        queues = "\n".join(f"qdisc add dev {device} root netem rate 0.5mbit delay 10ms limit 100" for device in devices)
        must("tc", "-n", self.ns("r"), "-batch", "-", text=queues)

    def _addresses(self, device: str, side: str, link: str, host: int) -> list[str]:
        return [
            f"link set {device} up",
            f"address add {self.address(side, link, 4, host)}/24 dev {device}",
            f"address add {self.address(side, link, 6, host)}/64 dev {device} nodad",
        ]

    def kill(self, side: str, *which: str) -> None:
        """End the connections of a host that a filter of ss chooses, all without any."""
        with inside(self.ns(side)):
            must("ss", "--kill", "--all", "--tcp", *which)

    def remove(self) -> None:
        """Delete the namespaces and with them all devices; connections without an owner first."""
        for side in SIDES:
            self.kill(side)
        must("ip", "-batch", "-", text="\n".join(f"netns del {self.ns(side)}" for side in ("s", "r", "d")))


class World:
    """Shared between the processes of the activities; each has counters and process slots of its own."""

    def __init__(self, seconds: float, seed: int, flows: int, workers: int) -> None:
        self.seed = seed
        self.flows = flows
        self.nets = [Net(n + 1) for n in range(NETS)]
        self._seconds = seconds
        self._end = RawValue(ctypes.c_double, math.inf)
        self.keepers = RawArray(ctypes.c_int, workers)
        self.senders = RawArray(ctypes.c_int, workers)
        self.receivers = RawArray(ctypes.c_int, workers)
        self.mptcp = RawArray(ctypes.c_int, workers)
        self.churn = RawArray(ctypes.c_int, 1)
        self._banned = RawArray(ctypes.c_bool, len(OURS))
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._saved = 0.0
        LOGS.mkdir(parents=True)

    def rng(self, name: str) -> random.Random:
        """Random numbers of an activity."""
        return random.Random(f"{self.seed}/{name}")

    def begin(self) -> None:
        """The time begins; until then it does not end."""
        self._end.value = time.monotonic() + self._seconds

    def stop(self) -> None:
        """The time is over, for all processes."""
        self._end.value = 0

    def left_s(self) -> float:
        """Time that is left, at least 0."""
        return max(0.0, self._end.value - time.monotonic())

    def on(self) -> bool:
        """Whether to go on."""
        return self.left_s() > 0

    def nap(self, seconds: float) -> None:
        """Sleep, but not beyond the end."""
        time.sleep(min(seconds, self.left_s()))

    def count(self, name: str, amount: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name] += amount
            if time.monotonic() > self._saved + SAVE_S:
                self._save()

    def level(self, name: str, value: int) -> None:
        """Set a counter that only one process has."""
        self.count(name, value - self._counts[name])

    def _save(self) -> None:
        self._saved = time.monotonic()
        draft = COUNTS / f"{os.getpid()}.draft"
        draft.write_text(json.dumps(self._counts))
        draft.rename(draft.with_suffix(".json"))

    def save(self) -> None:
        """Make this process's counts known; at its end."""
        with self._lock:
            self._save()

    def counts(self) -> Counter[str]:
        """Sums over all processes."""
        total: Counter[str] = Counter()
        for path in COUNTS.glob("*.json"):
            total.update(json.loads(path.read_text()))
        return total

    def ban(self, module: str, banned: bool) -> None:
        """Nobody is to choose this module's congestion controls (or may again)."""
        for index, owner in enumerate(OURS.values()):
            if owner == module:
                self._banned[index] = banned

    def allowed(self) -> list[str]:
        """Those of ours that may be chosen."""
        return [cc for cc, banned in zip(OURS, self._banned, strict=True) if not banned]

    def choose(self, rng: random.Random, ignore_ban: float = 0.01) -> str:
        """A congestion control, mostly one of ours; now and then one that is about to go."""
        ours = list(OURS) if rng.random() < ignore_ban else self.allowed()
        return rng.choice(ours) if ours and rng.random() < 0.75 else rng.choice(THEIRS)

    def pids(self) -> list[int]:
        """Processes that have flows now."""
        slots = (self.keepers, self.senders, self.receivers, self.mptcp, self.churn)
        return [pid for some in slots for pid in some if pid]
