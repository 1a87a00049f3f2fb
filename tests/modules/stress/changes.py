# SPDX-License-Identifier: GPL-2.0
"""Activities that change things under the traffic: modules, parameters, sockets, links, settings, tracing."""

import contextlib
import ctypes
import itertools
import os
import random
import socket
import statistics
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from stress import sockets, world
from stress.world import OURS, World

TABLE = Path(__file__).with_name("module_params.sh")
CGROUP = Path("/sys/fs/cgroup/stress")
BPF = Path("/sys/fs/bpf")
BPF_NAMES = 8
BPF_MAP_LOOKUP, BPF_MAP_UPDATE, BPF_OBJ_GET = 1, 2, 7
TRACING = Path("/sys/kernel/tracing")
UNLOAD_S = 100
# Connections that may have no owner, from whom they could be borrowed; those of MPTCP in any state
ORPHANS = "state fin-wait-1 state fin-wait-2 state closing state last-ack"
MPTCP = " or ".join(f"{end} = :{port}" for end in ("dport", "sport") for port in world.MPTCP_PORTS.values())


@dataclass(frozen=True)
class Param:
    """A module parameter and its range."""

    module: str
    name: str
    low: float
    high: float
    step: float

    def inside(self, rng: random.Random) -> str:
        """A value in the range; small ones as often as large ones."""
        if rng.random() < 0.2:
            return f"{rng.choice((self.low, self.high)):g}"
        value = self.low + (self.high - self.low) * rng.random() ** 3
        return f"{round(value / self.step) * self.step if self.step == 1 else value:.3f}".removesuffix(".000")

    def outside(self, rng: random.Random) -> str:
        """What has to be refused."""
        above = f"{self.high + self.step:.9g}"
        return rng.choice((above, "-1", "x", "1.2.3", "99999999999", "nan", "0x", str(self.high * 1000 + 7)))


def table() -> list[Param]:
    """The parameters as the selftest knows them."""
    text = TABLE.read_text().split('TABLE="')[1].split('"')[0]
    rows = [line.split() for line in text.splitlines() if line]
    return [Param(row[0], row[1], *map(float, row[2:5])) for row in rows]


def parameters(w: World) -> None:
    """Change parameters under running flows, in the range and outside."""
    rng, params = w.rng("parameters"), table()
    while w.on():
        param = rng.choice(params)
        outside = rng.random() < 0.3
        value = param.outside(rng) if outside else param.inside(rng)
        try:
            with open(f"/sys/module/{param.module}/parameters/{param.name}", "wb", buffering=0) as f:
                f.write(value.encode())
            w.count("wrong parameters taken" if outside else "parameters changed")
        except FileNotFoundError:
            w.count("parameters of no module")
        except OSError:
            w.count("parameters refused" if outside else "right parameters refused")
        w.nap(rng.uniform(0, 0.2))


def switch(w: World, worker: int) -> None:
    """Change congestion controls and options of sockets in mid-flow; dissolve some."""
    rng = w.rng(f"switch{worker}")
    while w.on():
        pids = w.pids()
        for sock in sockets.of(rng.choice(pids)) if pids else ():
            with contextlib.suppress(OSError):
                _touch(w, rng, sock)
        w.nap(rng.uniform(0, 3))


def _touch(w: World, rng: random.Random, sock: socket.socket) -> None:
    tcp = socket.IPPROTO_TCP
    established = sockets.established(sock)
    what = rng.random()
    if what < 0.5:
        done = sockets.set_congestion_control(sock, w.choose(rng))
        w.count("switches" if done and established else "switches not in flow")
    elif what < 0.7:
        sock.getsockopt(tcp, sockets.TCP_CC_INFO, 64)
        sock.getsockopt(tcp, socket.TCP_INFO, 256)
        w.count("socket infos")
    elif what < 0.9:
        name, values = rng.choice(OPTIONS)
        sock.setsockopt(tcp, name, rng.choice(values))
    elif what < 0.902 and established and sockets.dissolve(sock):
        w.count("dissolved")


OPTIONS = [
    (socket.TCP_NODELAY, (0, 1)),
    (socket.TCP_CORK, (0, 1)),
    (socket.TCP_WINDOW_CLAMP, (1, 2000, 1 << 20)),
    (socket.TCP_QUICKACK, (0, 1)),
    (socket.TCP_NOTSENT_LOWAT, (1, 1 << 20)),
    (socket.TCP_USER_TIMEOUT, (0, 500, 60_000)),
    (socket.TCP_KEEPIDLE, (1, 100)),
]


def modules(w: World) -> None:
    """Take a module away from all who use it, unload it, load it again."""
    os.nice(world.HIGH)
    rng, params = w.rng("modules"), table()
    names, hands = sorted(set(OURS.values())), Hands(w, rng)
    while w.on():
        w.nap(rng.uniform(0, 10))
        name = rng.choice(names)
        w.ban(name, True)
        plain_routes(hands)
        if unload(w, name, time.monotonic() + min(UNLOAD_S, w.left_s())):
            w.count("modules unloaded")
            w.nap(rng.choice((0, 0, 0.5, 2)))
            w.count("modules refused", not world.load_module(name, _argument(rng, params, name, True)))
            loaded = world.load_module(name, _argument(rng, params, name, False))
            w.count("modules loaded" if loaded else "right modules refused")
        else:
            w.count("modules in use")
        w.ban(name, False)


def plain_routes(hands: "Hands") -> None:
    """No route says any more which congestion control its connections get."""
    for net in hands.w.nets:
        for side in world.SIDES:
            hands.do("ip", net.ns(side), *net.routes(side))


def _argument(rng: random.Random, params: list[Param], module: str, wrong: bool) -> str:
    param = rng.choice([p for p in params if p.module == module])
    return f"{param.name}={param.outside(rng) if wrong else param.inside(rng)}"


def unload(w: World, module: str, limit: float) -> bool:
    """Try to, again and again, until a time; meanwhile its sockets get another congestion control."""
    theirs = {cc for cc, owner in OURS.items() if owner == module}
    others = itertools.cycle(itertools.product((ORPHANS, MPTCP), world.SIDES, w.nets))
    tries = 0
    while not world.unload_module(module):
        if time.monotonic() > limit:
            return False
        tries += 1
        w.count("unloading refused")
        evict(w, theirs)
        # Not each time: an ss takes seconds here, in which others choose the module again
        if tries % 2 == 0:
            which, side, net = next(others)
            net.kill(side, *which.split())
    return True


def evict(w: World, theirs: set[str]) -> None:
    """Nobody is to use these congestion controls any more."""
    for name in os.listdir("/run/netns"):
        with contextlib.suppress(OSError), world.inside(name):
            default = Path("/proc/sys/net/ipv4/tcp_congestion_control")
            if default.read_text().strip() in theirs:
                default.write_text("cubic")
    for pid in w.pids():
        for sock in sockets.of(pid):
            with contextlib.suppress(OSError):
                # The subflows of an MPTCP connection may have others than the first
                if sock.proto == sockets.IPPROTO_MPTCP or sockets.congestion_control(sock) in theirs:
                    sockets.set_congestion_control(sock, "cubic")
                    w.count("evicted")


def bpf(w: World) -> None:
    """The BPF program: which congestion controls it chooses from; detached and attached again."""
    rng = w.rng("bpf")
    names, done = (bpf_map(name) for name in ("cc_names", "cc_done"))
    attach = [str(CGROUP), "sock_ops", "pinned", str(BPF / "cc")]
    while w.on():
        for slot in range(BPF_NAMES):
            bpf_element(BPF_MAP_UPDATE, names, slot, w.choose(rng).encode().ljust(16, b"\0"))
        w.nap(rng.uniform(0.3, 1.5))
        if rng.random() < 0.05:
            world.must("bpftool", "cgroup", "detach", *attach)
            world.must("bpftool", "cgroup", "attach", *attach)
            w.count("bpf attached")
        for slot, name in enumerate(("bpf switches", "bpf switches refused")):
            w.level(name, int.from_bytes(bpf_element(BPF_MAP_LOOKUP, done, slot, bytes(8)), "little"))


def bpf_map(name: str) -> int:
    """File descriptor of a pinned map."""
    path = ctypes.create_string_buffer(str(BPF / "maps" / name).encode())
    attr = struct.pack("QII", ctypes.addressof(path), 0, 0)
    fd = world.LIBC.syscall(world.BPF, BPF_OBJ_GET, attr, len(attr))
    if fd < 0:
        raise OSError(ctypes.get_errno(), f"BPF map {name}")
    return fd


def bpf_element(command: int, fd: int, slot: int, value: bytes) -> bytes:
    """Read or write an element of an array; returns its value."""
    key, data = ctypes.c_uint32(slot), ctypes.create_string_buffer(value, len(value))
    attr = struct.pack("IxxxxQQQ", fd, ctypes.addressof(key), ctypes.addressof(data), 0)
    if world.LIBC.syscall(world.BPF, command, attr, len(attr)):
        raise OSError(ctypes.get_errno(), "BPF map element")
    return data.raw


class Hands:
    """What an activity changes links with: a batch of each tool for each namespace, when needed."""

    def __init__(self, w: World, rng: random.Random) -> None:
        self.w = w
        self.rng = rng
        self._batches: dict[tuple[str, str], world.Batch] = {}

    def do(self, tool: str, ns: str, *lines: str) -> None:
        """Execute commands of ip or tc."""
        if (tool, ns) not in self._batches:
            self._batches[tool, ns] = world.Batch(tool, ns)
        self._batches[tool, ns].do(*lines)

    def router(self) -> tuple[str, str]:
        """A router and one of its devices."""
        ends = self.rng.choice(world.SIDES) + self.rng.choice(world.LINKS)
        return self.rng.choice(self.w.nets).ns("r"), ends


def links(w: World, worker: int) -> None:
    """Rates, delays, losses, queues; links that go down; MTUs, routes, offloads."""
    hands = Hands(w, w.rng(f"links{worker}"))
    actions = [_queue] * 12 + [_flap] * 3 + [_mtu] * 2 + [_route] * 4 + [_offload]
    while w.on():
        w.count(hands.rng.choice(actions)(hands))
        w.nap(hands.rng.uniform(0.1, 1.2))


def _netem(rng: random.Random) -> str:
    rate_mbit, delay_ms = 10 ** rng.uniform(-1.5, -0.2), 10 ** rng.uniform(-0.5, 2.3)
    parts = [f"netem rate {rate_mbit:.3f}mbit delay {delay_ms:.2f}ms limit {rng.choice((2, 5, 10, 30, 100))}"]
    if rng.random() < 0.3:
        parts.append(f"{delay_ms * rng.random():.2f}ms")
    if rng.random() < 0.5:
        parts.append(f"loss {rng.choice((0.1, 1, 5, 30))}%")
    if rng.random() < 0.2:
        parts.append(f"duplicate {rng.choice((0.5, 5))}%")
    if rng.random() < 0.3:
        parts.append(f"reorder {rng.choice((1, 10, 50))}% gap {rng.choice((1, 5))}")
    if rng.random() < 0.1:
        parts.append("corrupt 0.5%")
    # jitter belongs behind the delay
    if len(parts) > 1 and parts[1].endswith("ms"):
        parts[0] = parts[0].replace("ms limit", f"ms {parts.pop(1)} limit")
    return " ".join(parts) + (" ecn" if rng.random() < 0.2 and "loss" in " ".join(parts) else "")


# Behind a bucket: without a rate the traffic would take all of the CPUs
BUCKET = "handle 1: tbf rate 300kbit burst 10kb latency 100ms"
QUEUES = [
    "fq_codel limit 200 target 5ms ecn",
    "codel limit 50 target 5ms ecn",
    "red limit 60000 min 5000 max 20000 avpkt 1000 burst 10 bandwidth 1mbit probability 0.1 ecn",
    "fq",
    "sfq",
]


def _queue(hands: Hands) -> str:
    ns, dev = hands.router()
    kind = hands.rng.random()
    if kind < 0.9:
        hands.do("tc", ns, f"qdisc replace dev {dev} root {_netem(hands.rng)}")
    elif kind < 0.92:
        hands.do("tc", ns, f"qdisc replace dev {dev} root handle 1: htb default 1")
        hands.do("tc", ns, f"class add dev {dev} parent 1: classid 1:1 htb rate 300kbit")
    else:
        hands.do("tc", ns, f"qdisc replace dev {dev} root {BUCKET}")
        hands.do("tc", ns, f"qdisc replace dev {dev} parent 1:1 {hands.rng.choice(QUEUES)}")
    return "queues"


def _flap(hands: Hands) -> str:
    ns, dev = hands.router()
    hands.do("ip", ns, f"link set {dev} down")
    hands.w.nap(hands.rng.choice((0.01, 0.3, 1.5)))
    hands.do("ip", ns, f"link set {dev} up")
    return "flaps"


def _mtu(hands: Hands) -> str:
    ns, dev = hands.router()
    mtu = hands.rng.choice((1280, 1400, 1500, 9000))
    hands.do("ip", ns, f"link set {dev} mtu {mtu}")
    if hands.rng.random() < 0.5:
        hands.do("ip", hands.rng.choice(hands.w.nets).ns("s"), f"link set {hands.rng.choice(world.LINKS)} mtu {mtu}")
    return "mtus"


def _route(hands: Hands) -> str:
    net, side = hands.rng.choice(hands.w.nets), hands.rng.choice(world.SIDES)
    options = [f"congctl {hands.w.choose(hands.rng)}", "initcwnd 40 initrwnd 40", "mtu lock 600", "features ecn"]
    options += ["rto_min 10ms", "quickack 1", "cwnd 4", "ssthresh lock 3", "rtt 400ms", ""]
    hands.do("ip", net.ns(side), *net.routes(side, hands.rng.choice(options)))
    return "routes"


def _offload(hands: Hands) -> str:
    net, on = hands.rng.choice(hands.w.nets), hands.rng.choice(("on", "off"))
    features = [word for name in ("tso", "gso", "gro") for word in (name, on)]
    with world.inside(net.ns(hands.rng.choice(world.SIDES))):
        world.must("ethtool", "-K", hands.rng.choice(world.LINKS), *features)
    return "offloads"


SETTINGS = {
    "tcp_sack": ("0", "1", "1"),
    "tcp_dsack": ("0", "1"),
    "tcp_timestamps": ("0", "1", "1"),
    "tcp_window_scaling": ("0", "1", "1"),
    "tcp_ecn": ("0", "1", "2"),
    "tcp_santacruz": ("0", "1", "2"),
    "tcp_mtu_probing": ("0", "1", "2"),
    "tcp_recovery": ("0", "1", "7"),
    "tcp_frto": ("0", "2"),
    "tcp_early_retrans": ("0", "3"),
    "tcp_slow_start_after_idle": ("0", "1"),
    "tcp_no_metrics_save": ("0", "1"),
    "tcp_thin_linear_timeouts": ("0", "1"),
    "tcp_limit_output_bytes": ("4096", "4194304"),
    "tcp_notsent_lowat": ("1", "4294967295"),
    "tcp_rmem": ("4096 4096 4096", "4096 131072 6291456"),
    "tcp_wmem": ("4096 4096 4096", "4096 16384 4194304"),
    "tcp_reordering": ("1", "3", "300"),
    "tcp_retries2": ("3", "15"),
    "tcp_syn_retries": ("2", "6"),
}


def settings(w: World) -> None:
    """SACK, ECN, timestamps, the Santa Cruz option, memory; default congestion controls; metrics."""
    rng = w.rng("settings")
    hands = Hands(w, rng)
    while w.on():
        ns = rng.choice(w.nets).ns(rng.choice(world.SIDES))
        name = rng.choice(list(SETTINGS))
        value = rng.choice(SETTINGS[name])
        if rng.random() < 0.2:
            name, value = "tcp_congestion_control", w.choose(rng)
        with world.inside(ns), contextlib.suppress(OSError):
            Path(f"/proc/sys/net/ipv4/{name}").write_text(value)
            w.count("settings")
        if rng.random() < 0.1:
            hands.do("ip", ns, f"tcp_metrics {rng.choice(('show', 'flush'))}")
            w.count("metrics")
        w.nap(rng.uniform(0, 0.6))


def readers(w: World) -> None:
    """What ss and /proc tell of all sockets; how many there are."""
    os.nice(world.HIGH)
    rng = w.rng("readers")
    seen: list[int] = []
    while w.on():
        with world.inside(rng.choice(w.nets).ns(rng.choice(world.SIDES))):
            text = world.must("ss", "-tienmoM" if rng.random() < 0.2 else "-tienmo")
            w.count("ss lines", text.count("cwnd:"))
            Path(f"/proc/self/net/{rng.choice(('tcp', 'tcp6', 'netstat'))}").read_text()
        seen.append(established(w))
        w.level("flows at once", max(seen))
        w.level("flows at once, median", round(statistics.median(seen)))
        w.nap(rng.uniform(10, 20))


def established(w: World) -> int:
    """Flows that are established at both ends now; MPTCP connections are none of them."""
    total = 0
    for net in w.nets:
        there = _established_ports(net.ns("d"))
        total += sum((theirs, ours) in there for ours, theirs in _established_ports(net.ns("s")))
    return total


def _established_ports(netns: str) -> set[tuple[int, int]]:
    """Own and remote port of the connections of a namespace that have a flow's port at one end."""
    with world.inside(netns):
        lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/self/net/{name}").read_text().splitlines()]
    found = [line.split() for line in lines if " 01 " in line]
    ends = {(int(own.split(":")[1], 16), int(other.split(":")[1], 16)) for _, own, other, *_ in found}
    return {(own, other) for own, other in ends if own in world.FLOW_PORTS or other in world.FLOW_PORTS}


def tracepoints(w: World) -> None:
    """Tracepoints of our modules and of TCP on and off, with and without readers."""
    rng = w.rng("tracepoints")
    while w.on():
        for group in ("santacruz", "tcp"):
            with contextlib.suppress(OSError):
                (TRACING / "events" / group / "enable").write_text(rng.choice("01"))
        w.nap(rng.uniform(0, 4))
        with open(TRACING / "trace", errors="replace") as trace:
            events = [line for line in trace.read(1 << 16).splitlines() if " n_q8_pkts=" in line]
        w.count("trace toggles")
        w.count("trace events", len(events))
        if rng.random() < 0.5:
            (TRACING / "trace").write_text("")
