# SPDX-License-Identifier: GPL-2.0
"""Three network namespaces of this process: client - router - server.

client c0 .1 --- .2 r0 router r1 .2 --- .1 s0 server
   192.0.2.0/24, 2001:db8:1::/64   198.51.100.0/24, 2001:db8:2::/64
"""

import ctypes
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from option.interop.capture import Capture
from option.interop.wire import Segment

CLONE_NEWNET = 0x40000000
CLIENT = {4: "192.0.2.1", 6: "2001:db8:1::1"}
SERVER = {4: "198.51.100.1", 6: "2001:db8:2::1"}
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
MAC = {"c0": "02:00:00:00:00:01", "r0": "02:00:00:00:00:02", "r1": "02:00:00:00:00:03", "s0": "02:00:00:00:00:04"}
SEED_FILE = Path("/sys/module/random/parameters/lab_seed")
IPV6_LEAST_MTU = 1280
OPERATIONAL_TRIES, OPERATIONAL_POLL_S = 300, 0.01  # the kernel looks once a second
OFFLOADS_OFF = "tso off gso off gro off tx off rx off"
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(status: int) -> None:
    if status:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Namespace:
    """A network namespace; ``with`` it to be in it."""

    def __init__(self) -> None:
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        _checked(_libc.unshare(CLONE_NEWNET))
        self.fd = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.base: dict[str, int] = {}
        _checked(_libc.setns(home, CLONE_NEWNET))
        os.close(home)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Everything that is opened in here belongs to this namespace."""
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        _checked(_libc.setns(self.fd, CLONE_NEWNET))
        try:
            yield
        finally:
            _checked(_libc.setns(home, CLONE_NEWNET))
            os.close(home)

    def run(self, command: str, text: str | None = None) -> str:
        """A shell command in here; raises if it fails."""
        with self.inside():
            done = subprocess.run(command, shell=True, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stderr.strip()} {text or ''}")
        return done.stdout

    def sysctl(self, name: str, value: str | int) -> None:
        """Set one of net.*"""
        with self.inside():
            Path("/proc/sys/net", name.replace(".", "/")).write_text(str(value), encoding="ascii")

    def counters(self) -> dict[str, int]:
        """TcpExt and the like by name, those of /proc/net/snmp as well, since rebase()."""
        now = self._counters()
        return {name: value - self.base.get(name, 0) for name, value in now.items()}

    def rebase(self) -> None:
        """Count from here."""
        self.base = self._counters()

    def _counters(self) -> dict[str, int]:
        found: dict[str, int] = {}
        with self.inside():
            for path in ("/proc/thread-self/net/netstat", "/proc/thread-self/net/snmp"):
                lines = Path(path).read_text(encoding="ascii").splitlines()
                for names, values in zip(lines[::2], lines[1::2], strict=True):
                    found |= zip(names.split()[1:], map(int, values.split()[1:]), strict=True)
        return found

    def close(self) -> None:
        """Give it up; it goes when its last socket goes."""
        os.close(self.fd)


@dataclass(frozen=True)
class Link:
    """What the router does to packets of one direction."""

    delay_ms: float = 10
    rate_mbit: float | None = 50
    loss_percent: float = 0
    limit: int = 2000

    def netem(self) -> str:
        """Arguments for tc."""
        rate = f" rate {self.rate_mbit}mbit" if self.rate_mbit else ""
        loss = f" loss {self.loss_percent}%" if self.loss_percent else ""
        return f"netem delay {self.delay_ms}ms limit {self.limit}{rate}{loss}"


@dataclass(frozen=True)
class Setup:
    """One case's network."""

    client: int = 1  # net.ipv4.tcp_santacruz
    server: int = 1
    mtu: int = 1500
    up: Link = Link()
    down: Link = Link()
    forward: bool = True  # the router forwards; else a middlebox does
    offloads: str = OFFLOADS_OFF
    sysctls: dict[str, str | int] = field(default_factory=dict)  # both ends
    server_sysctls: dict[str, str | int] = field(default_factory=dict)
    route: str = ""  # the client's, behind "via ..."
    seed: int = 1


class Net:
    """The network of a case, with captures at both ends."""

    def __init__(self, setup: Setup) -> None:
        if SEED_FILE.exists():
            SEED_FILE.write_text(str(setup.seed), encoding="ascii")
        self.setup = setup
        self.client, self.router, self.server = (Namespace() for _ in range(3))
        self._links(setup.mtu)
        self._addresses(setup.route)
        self.shape(setup.up, setup.down)
        self._operational()
        self._sysctls(setup)
        self.captures = [self._capture(self.client, "c0"), self._capture(self.server, "s0")]

    def _links(self, mtu: int) -> None:
        pid = os.getpid()
        lines = "\n".join(
            f"link add {router} mtu {mtu} address {MAC[router]} type veth "
            f"peer name {end} mtu {mtu} address {MAC[end]} netns /proc/{pid}/fd/{space.fd}"
            for router, end, space in (("r0", "c0", self.client), ("r1", "s0", self.server))
        )
        self.router.run("ip -batch -", lines)
        for space, names in ((self.client, ["c0"]), (self.server, ["s0"]), (self.router, ["r0", "r1"])):
            space.run(";".join(f"ethtool -K {name} {self.setup.offloads}" for name in names))

    def _addresses(self, route: str) -> None:
        ends = (("c0", "r0", "192.0.2", "2001:db8:1"), ("s0", "r1", "198.51.100", "2001:db8:2"))
        for space, (end, router, net4, net6) in zip((self.client, self.server), ends, strict=True):
            via = route if end == "c0" else ""
            self._configure(space, end, router, (f"{net4}.1/24", f"{net6}::1/64"), (f"{net4}.2", f"{net6}::2"), via)
            self._configure(self.router, router, end, (f"{net4}.2/24", f"{net6}::2/64"), (f"{net4}.1", f"{net6}::1"))

    def _configure(
        self,
        space: Namespace,
        name: str,
        other: str,
        own: tuple[str, str],
        neighbours: tuple[str, str],
        route: str | None = None,
    ) -> None:
        """Addresses, the neighbour's, and perhaps the way through it; IPv6 only if the MTU is enough."""
        lines = [f"link set {name} up"]
        for address, neighbour in list(zip(own, neighbours, strict=True))[: 1 + (self.setup.mtu >= IPV6_LEAST_MTU)]:
            nodad = "nodad" if ":" in address else ""
            lines.append(f"address add {address} dev {name} {nodad}")
            lines.append(f"neighbour add {neighbour} lladdr {MAC[other]} dev {name}")
            if route is not None:
                lines.append(f"route add default via {neighbour} {route}")
        space.run("ip -batch -", "\n".join(lines))

    def shape(self, up: Link, down: Link) -> None:
        """Delay, rate and loss of the router, both ways."""
        lines = f"qdisc replace dev r1 root {up.netem()}\nqdisc replace dev r0 root {down.netem()}"
        self.router.run("tc -batch -", lines)

    def lose(self, on: bool) -> None:
        """Whether the links lose what they are set up to lose."""
        links = self.setup.up, self.setup.down
        if any(link.loss_percent for link in links):  # a queue that is set up anew begins its random numbers anew
            self.shape(*(links if on else (replace(link, loss_percent=0) for link in links)))

    def _operational(self) -> None:
        """Wait until the kernel has seen all carriers: until then it drops what is sent, and TCP counts it as sent."""
        for space in (self.client, self.router, self.server):
            for _ in range(OPERATIONAL_TRIES):
                if all("state UP" in line for line in space.run("ip -oneline link show type veth").splitlines()):
                    break
                time.sleep(OPERATIONAL_POLL_S)
            else:
                raise RuntimeError("a link does not come up")

    def _sysctls(self, setup: Setup) -> None:
        self.client.sysctl("ipv4.tcp_santacruz", setup.client)
        self.server.sysctl("ipv4.tcp_santacruz", setup.server)
        for space in (self.client, self.server):
            for name, value in setup.sysctls.items():
                space.sysctl(name, value)
        for name, value in setup.server_sysctls.items():
            self.server.sysctl(name, value)
        self.router.sysctl("ipv4.ip_forward", int(setup.forward))
        self.router.sysctl("ipv6.conf.all.forwarding", int(setup.forward))

    def _capture(self, space: Namespace, interface: str) -> Capture:
        with space.inside():
            return Capture(interface)

    def take(self) -> tuple[list[Segment], list[Segment]]:
        """What has passed the client's and the server's interface."""
        client, server = (capture.take() for capture in self.captures)
        return client, server

    def rebase(self) -> None:
        """Forget what has been counted and captured."""
        self.take()
        for space in (self.client, self.server):
            space.rebase()

    def close(self) -> None:
        """Undo everything."""
        for capture in self.captures:
            capture.close()
        for space in (self.client, self.router, self.server):
            space.close()
