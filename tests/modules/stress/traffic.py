# SPDX-License-Identifier: GPL-2.0
"""Activities that make traffic: TCP flows, MPTCP connections, namespaces that come and go."""

import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from stress import changes, world
from stress.sockets import IPPROTO_MPTCP, set_congestion_control
from stress.world import World

WORKERS = 2 * world.NETS
GREEDY = 3  # flows of a worker at a time
TICK_S = 0.4
PAUSE_S = 10
FLAGS = ("subflow", "subflow backup", "subflow fullmesh")
MPTCP_NETS = 2
END_S = 5
MPTCP_CONNECTIONS = 3


def flow_pair(w: World, rng: random.Random, net: world.Net, index: int, port: int) -> tuple[str, str]:
    """A sender and its receiver; windows from a few hundred bytes to megabytes."""
    family, link = rng.choice((4, 4, 6)), rng.choice(world.LINKS)
    size = rng.choice((2_000, 16_000, 256_000, 4_000_000))
    send = [f"role=send,netns=/run/netns/{net.ns('s')},id={index},port={port}"]
    send += [f"addr={net.address('d', link, family)},cc={w.choose(rng)}"]
    send += [f"start={rng.uniform(0, 1):.2f},duration={rng.uniform(8, 60):.2f}"]
    if rng.random() < 0.2:
        send.append(f"bytes={rng.randint(1, size)}")
    if rng.random() < 0.3:
        send.append(f"write={rng.choice((1000, 1448, 65536))}")
    if rng.random() < 0.2:
        send.append(f"sndbuf={rng.choice((1, 20_000, 8_000_000))}")
    if rng.random() < 0.2:
        send.append(f"pace_mbit={rng.choice((0.05, 1, 100))}")
    if rng.random() < 0.2:
        send.append(f"notsent_lowat={rng.choice((1, 16384))}")
    receive = [f"role=recv,netns=/run/netns/{net.ns('d')},id={index},port={port}"]
    if rng.random() < 0.3:
        receive.append(f"rcvbuf={rng.choice((1, 4096, 8_000_000))}")
    if rng.random() < 0.2:
        receive.append(f"clamp={rng.choice((1, 600, 3000, 100_000))}")
    return ",".join(send), ",".join(receive)


def flowgen(*args: str) -> "subprocess.Popen[bytes]":
    """Start flowgen."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(["flowgen", "--out", "/dev/null", *args], stdout=quiet, stderr=quiet)


def end(proc: "subprocess.Popen[bytes]", orderly: bool = False) -> None:
    """End a process, stopped or not: its connections with RSTs (orderly) or with FINs, without an owner."""
    if orderly:
        proc.send_signal(signal.SIGCONT)
        proc.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            proc.wait(END_S)
    proc.kill()
    proc.wait()


def join(worker: int) -> world.Net:
    """The network of a worker; half of the workers are in the cgroup of the BPF program."""
    if worker >= world.NETS:
        (changes.CGROUP / "cgroup.procs").write_text(str(os.getpid()))
    return world.Net(worker % world.NETS + 1)


class Kept:
    """A flow that is kept for all of the time: little data, now and then a burst; made anew when it has ended."""

    def __init__(self, w: World, rng: random.Random, net: world.Net, port: int) -> None:
        self._w = w
        self._rng = rng
        self._net = net
        self._port = port
        self._due = 0.0
        self._sock: socket.socket | None = None

    def step(self) -> None:
        """Write if it is time to; from the sender's namespace."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._rng.uniform(0, 2 * PAUSE_S)
        try:
            self._sock = self._sock or self._connect()
            self._sock.send(bytes(self._rng.choice((1, 300, 300, 300, 1500, 1500, 4000, 20_000))))
        except BlockingIOError:
            return
        except OSError:
            self.close()
            self._due = 0.0

    def close(self) -> None:
        """End it."""
        if self._sock:
            self._sock.close()
        self._sock = None

    def _connect(self) -> socket.socket:
        family, link = self._rng.choice((4, 4, 6)), self._rng.choice(world.LINKS)
        sock = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 2)
        set_congestion_control(sock, self._w.choose(self._rng))
        with contextlib.suppress(BlockingIOError):
            sock.connect((self._net.address("d", link, family), self._port))
        self._w.count("flows")
        return sock


class Sink:
    """Accepts flows of both families and discards what comes, whenever it is asked to."""

    def __init__(self, port: int) -> None:
        self._server = socket.create_server(("", port), family=socket.AF_INET6, backlog=200, dualstack_ipv6=True)
        self._server.setblocking(False)
        self._flows: dict[int, socket.socket] = {}
        self._ready = select.epoll()

    def step(self) -> None:
        """Accept and discard what is there."""
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._server.accept()
                sock.setblocking(False)
                self._flows[sock.fileno()] = sock
                self._ready.register(sock, select.EPOLLIN)
        for fd, _ in self._ready.poll(0):
            self._discard(fd)

    def _discard(self, fd: int) -> None:
        try:
            if self._flows[fd].recv(1 << 16):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._ready.unregister(fd)
        self._flows.pop(fd).close()


def keep(w: World, worker: int) -> None:
    """Flows that are there all the time, both ends of each in this process."""
    rng, net, port = w.rng(f"keep{worker}"), join(worker), world.FLOW_PORTS[-1 - worker]
    with world.inside(net.ns("d")):
        sink = Sink(port)
    world.enter(net.ns("s"))
    flows = [Kept(w, rng, net, port) for _ in range(-(-w.flows // WORKERS))]
    w.keepers[worker] = os.getpid()
    while w.on():
        for flow in flows:
            flow.step()
        sink.step()
        w.nap(TICK_S)
    for flow in flows:
        flow.close()


def flows(w: World, worker: int) -> None:
    """One of the workers that have flows one after the other which take what they can get."""
    os.nice(world.LOW)
    rng, net = w.rng(f"flows{worker}"), join(worker)
    w.nap(2 * worker)
    while w.on():
        port = world.FLOW_PORTS[worker * 1000]
        pairs = [flow_pair(w, rng, net, i, port + i) for i in range(GREEDY)]
        receivers = flowgen("--sample-ms=0", "--until=70", *(r for _, r in pairs))
        senders = flowgen("--sample-ms=5000", "--until=60", *(s for s, _ in pairs))
        w.senders[worker], w.receivers[worker] = senders.pid, receivers.pid
        limit = time.monotonic() + rng.uniform(15, 40)
        while senders.poll() is None and w.on() and time.monotonic() < limit:
            time.sleep(0.2)
        w.senders[worker] = w.receivers[worker] = 0
        # Half the time the receiver goes first: data for nobody, RSTs
        for proc in rng.sample((senders, receivers), 2):
            end(proc, rng.random() < 0.7)
        w.count("flows", GREEDY)


def _serve(server: socket.socket, stop: threading.Event) -> None:
    while not stop.is_set():
        with contextlib.suppress(OSError):
            conn, _ = server.accept()
            threading.Thread(target=_drain, args=(conn,), daemon=True).start()


def _drain(conn: socket.socket) -> None:
    with conn, contextlib.suppress(OSError):
        while conn.recv(1 << 18):
            pass


def mptcp_server(w: World, worker: int) -> None:
    """Accept and drain."""
    w.mptcp[MPTCP_NETS + worker] = os.getpid()
    world.enter(w.nets[worker].ns("d"))
    stop = threading.Event()
    servers = []
    for family, port in zip((socket.AF_INET, socket.AF_INET6), world.MPTCP_PORTS.values(), strict=True):
        server = socket.socket(family, socket.SOCK_STREAM, IPPROTO_MPTCP)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        server.bind(("", port))
        server.listen()
        servers.append(threading.Thread(target=_serve, args=(server, stop), daemon=True))
        servers[-1].start()
    while w.on():
        time.sleep(1)


def _mptcp_send(w: World, rng: random.Random, net: world.Net) -> None:
    """One connection, with changes of its congestion control."""
    family = rng.choice((4, 6))
    kind = socket.AF_INET if family == 4 else socket.AF_INET6
    with socket.socket(kind, socket.SOCK_STREAM, IPPROTO_MPTCP) as sock:
        sock.settimeout(3)
        set_congestion_control(sock, w.choose(rng))
        sock.connect((net.address("d", "v0", family), world.MPTCP_PORTS[family]))
        for _ in range(rng.randint(2, 12)):
            sock.send(bytes(rng.choice((1, 2000, 100_000))))
            if rng.random() < 0.5 and set_congestion_control(sock, w.choose(rng)):
                w.count("mptcp switches")
            w.nap(rng.uniform(0, 0.5))
        w.count("mptcp connections")


def mptcp_clients(w: World, worker: int) -> None:
    """Connections one after the other, some at a time."""
    os.nice(world.LOW)
    net, rng = w.nets[worker], w.rng(f"mptcp{worker}")
    w.mptcp[worker] = os.getpid()
    world.enter(net.ns("s"))

    def go(seed: int) -> None:
        own = random.Random(seed)
        while w.on():
            with contextlib.suppress(OSError):
                _mptcp_send(w, own, net)
            w.nap(0.2)

    threads = [threading.Thread(target=go, args=(rng.random(),)) for _ in range(MPTCP_CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def endpoints(w: World) -> None:
    """The path manager: second addresses come, go, become backups; limits change."""
    rng = w.rng("endpoints")
    hands = changes.Hands(w, rng)
    for net in w.nets:
        for side in world.SIDES:
            hands.do("ip", net.ns(side), "mptcp limits set subflow 4 add_addr_accepted 4")
    while w.on():
        net, side = rng.choice(w.nets), rng.choice(world.SIDES)
        flags = rng.choice(FLAGS) if side == "s" else "signal"
        if rng.random() < 0.3:
            hands.do("ip", net.ns(side), "mptcp endpoint flush")
        hands.do("ip", net.ns(side), f"mptcp endpoint add {net.address(side, 'v1', rng.choice((4, 6)))} dev v1 {flags}")
        w.count("mptcp endpoints")
        w.nap(rng.uniform(0.5, 3))


def churn(w: World) -> None:
    """A pair of namespaces with flows in it that is deleted while they flow."""
    rng, names = w.rng("churn"), ["x", "y"]
    while w.on():
        _make_pair(w, rng, names)
        pairs = [_churn_flow(w, rng, names, i) for i in range(6)]
        proc = flowgen("--sample-ms=0", "--until=8", *(f for pair in pairs for f in pair))
        w.churn[0] = proc.pid
        w.nap(rng.uniform(0.4, 1.5))
        world.must("ip", "-batch", "-", text="".join(f"netns del {name}\n" for name in names))
        w.nap(rng.uniform(0, 0.5))
        w.churn[0] = 0
        end(proc)
        w.count("namespaces", 2)
        w.nap(rng.uniform(0, 60))


def _make_pair(w: World, rng: random.Random, names: list[str]) -> None:
    lines = [f"netns add {name}" for name in names]
    lines.append(f"link add name e netns {names[0]} type veth peer name e netns {names[1]}")
    world.must("ip", "-batch", "-", text="\n".join(lines))
    for host, name in enumerate(names, 1):
        lines = ["link set lo up", "link set e up", f"address add 192.0.2.{host}/24 dev e"]
        lines.append(f"address add 2001:db8::{host}/64 dev e nodad")
        world.must("ip", "-n", name, "-batch", "-", text="\n".join(lines))
        with world.inside(name), contextlib.suppress(OSError):
            Path("/proc/sys/net/ipv4/tcp_orphan_retries").write_text("1")
            Path("/proc/sys/net/ipv4/tcp_santacruz").write_text(str(rng.randint(0, 2)))
            Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text(w.choose(rng))
    netem = f"rate {rng.choice((0.3, 1, 3))}mbit delay {rng.choice((1, 20, 80))}ms loss {rng.choice((0, 1, 5))}%"
    world.must("tc", "-n", names[0], "qdisc", "add", "dev", "e", "root", "netem", *netem.split())


def _churn_flow(w: World, rng: random.Random, names: list[str], index: int) -> tuple[str, str]:
    address = rng.choice(("192.0.2.2", "2001:db8::2"))
    cc = f",cc={w.choose(rng)}" if rng.random() < 0.5 else ""
    common = f"id={index},port={5000 + index}"
    return (
        f"role=send,{common},addr={address},netns=/run/netns/{names[0]},duration={rng.uniform(0.5, 6):.2f}{cc}",
        f"role=recv,{common},netns=/run/netns/{names[1]}",
    )


def suspend(w: World) -> None:
    """Receivers stop reading: zero windows."""
    rng = w.rng("suspend")
    while w.on():
        pid = rng.choice(list(w.receivers))
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                w.count("suspended readers")
                w.nap(rng.uniform(0.5, 4))
                os.kill(pid, signal.SIGCONT)
        w.nap(rng.uniform(0, 1))
