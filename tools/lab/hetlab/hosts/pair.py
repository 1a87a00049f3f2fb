# SPDX-License-Identifier: GPL-2.0
"""The flows of a scenario between two real hosts.

Each host runs remote_agent.py, which makes every change and takes it back; here
is what they are told to do. Between two runs nothing on the hosts is changed.
"""

import contextlib
import json
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from hetlab.errors import LabError
from hetlab.hosts import netem, preflight
from hetlab.hosts.connection import Host, Refusal
from hetlab.hosts.options import Options, emulation
from hetlab.hosts.traffic import TRAFFIC, Flowgen, Iperf3
from hetlab.model import congestion
from hetlab.model.job import Job
from hetlab.model.resolve import DEFAULT_SYSCTL, FIRST_PORT
from hetlab.model.scenario import Experiment

REACH_LIMIT_S = 5.0
POLL_S = 1.0
LEAD_S = 2.0
OVERTIME_S = 30.0
SYSCTL_DIR = "/proc/sys/"
# Repetitions are to begin alike; everything else of DEFAULT_SYSCTL is reported, not changed
FRESH = {"net.ipv4.tcp_no_metrics_save": 1}


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Signals wait until something is taken back."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class Pair:
    """Both hosts, connected and looked at."""

    options: Options
    console: Console
    sender: Host = field(init=False)
    receiver: Host = field(init=False)
    rtt_ms: float = 0.0
    warned: set[str] = field(default_factory=set)
    unlike: list[str] = field(default_factory=list)
    lost: bool = False

    def __post_init__(self) -> None:
        made = []
        try:
            for role in ("sender", "receiver"):
                self.console.print(f"connecting to {role} {getattr(self.options, role)}")
                made.append(Host(role, getattr(self.options, role), self.options.ssh_options))
            self.sender, self.receiver = made
            self._locate()
            self._look()
            self._reach({self.receiver: [FIRST_PORT]})
            self.console.print(preflight.table(self.hosts, self.rtt_ms))
            self._warn(preflight.warnings(self.hosts, self.rtt_ms))
        except BaseException:
            for host in made:
                host.close()
            raise

    @property
    def hosts(self) -> list[Host]:
        """Sender, receiver."""
        return [self.sender, self.receiver]

    def close(self) -> None:
        """End both agents."""
        for host in self.hosts:
            host.close()

    def _warn(self, lines: list[str]) -> None:
        """Each once."""
        for line in lines:
            if line not in self.warned:
                self.warned.add(line)
                self.console.print(f"warning: {line}", soft_wrap=True)

    def _locate(self) -> None:
        """Addresses and interfaces of the path that is measured."""
        there = self.options.receiver_address or self.receiver.ssh_address
        if not there or there in ("127.0.0.1", "::1"):
            raise LabError(f"{self.receiver}: ssh came in on {there or 'no address'}: give --receiver-address")
        way = self.sender.call("route", to=there)
        here = self.options.sender_address or way["address"]
        if not here:
            raise LabError(f"{self.sender}: no address of its own on the way to {there}: give --sender-address")
        back = self.receiver.call("route", to=here)
        self.sender.dev, self.sender.address = way["dev"], here
        self.receiver.dev, self.receiver.address = back["dev"], there

    def _look(self) -> None:
        """Facts and clocks, before anything is changed."""
        for host in self.hosts:
            host.facts = host.call("facts", dev=host.dev, modules=preflight.MODULES)
            host.read_clock()

    def carry_out(self, job: Job) -> None:
        """Run a job and leave the files of experiment.run_job; then all is as before."""
        sc = job.scenario
        src, dst = sc.flows[0].src, sc.flows[0].dst
        ends = {src: self.sender, dst: self.receiver}
        directory = Path(job.dir)
        directory.mkdir(parents=True, exist_ok=True)
        traffic = TRAFFIC[self.options.traffic]()
        self._look()
        try:
            traffic.prepare(self.hosts)
            self._set_up(job, ends)
            begun = self._measure(traffic, job, ends)
            traffic.collect(job, ends, directory)
            counters = self._counters(sc)
        finally:
            self._restore()
        meta = {"kernel": self.sender.facts["release"], "seeded": False, "counters": counters, "hosts": begun}
        (directory / "meta.json").write_text(json.dumps(meta, indent=1))

    def _set_up(self, job: Job, ends: dict[str, Host]) -> None:
        """Everything that is undone afterwards."""
        sc = job.scenario
        senders: dict[str, set[str]] = {}
        for flow in sc.flows:
            senders.setdefault(flow.src, set()).add(job.cc_of(flow.cc))
        modules = [congestion.module_of(cc) for ccs in senders.values() for cc in ccs]
        if self.options.netem != "none":
            modules += netem.MODULES
        for host in self.hosts:
            host.call("begin", dev=host.dev, modules=modules)
        for name, ccs in senders.items():
            for cc in sorted(ccs):
                self._congestion_control(ends[name], cc)
            self._parameters(ends[name], job)
        own = {k: v for k, v in sc.sysctl.items() if DEFAULT_SYSCTL.get(k) != v}
        for host in self.hosts:
            for key, value in (own | FRESH).items():
                host.call("write", path=SYSCTL_DIR + key.replace(".", "/"), text=str(value))
        self._reach({host: [f.port for f in sc.flows if ends[f.dst] is host] for host in self.hosts})
        if self.options.netem != "none":
            self._emulate(sc)

    @staticmethod
    def _congestion_control(host: Host, cc: str) -> None:
        try:
            host.call("congestion_control", name=cc, module=congestion.module_of(cc))
        except Refusal as err:
            have = str(err).removeprefix(f"{host}: ")
            raise LabError(preflight.missing(host, cc, have)) from None

    @staticmethod
    def _parameters(host: Host, job: Job) -> None:
        module = congestion.module_of(job.cc)
        for name, value in job.cc_params.items():
            known = host.call("parameters", module=module)
            if name not in known:
                has = ", ".join(known) or "none"
                raise LabError(f"{host}: {job.cc}: no parameter {name!r}; it has: {has}")
            try:
                host.call("write", path=f"/sys/module/{module}/parameters/{name}", text=value)
            except Refusal as err:
                described = host.call("range", module=module, name=name)
                raise LabError(f"{job.cc}: {name}={value} refused: {err}. {described}") from None

    def _reach(self, ports: dict[Host, list[int]]) -> None:
        """Ports of hosts from the other one, and the round trip before any emulation."""
        best: list[float] = []
        for host, numbers in ports.items():
            other = self.receiver if host is self.sender else self.sender
            host.call("listen", address=host.address, ports=numbers)
            for port in numbers:
                try:
                    best.append(other.call("reach", address=host.address, port=port, count=3, limit_s=REACH_LIMIT_S))
                except Refusal as err:
                    raise LabError(f"{err}: no connection to {host.address} port {port} (a firewall?)") from None
            host.call("unlisten")
        self.rtt_ms = min(best)

    def _emulate(self, sc: Experiment) -> None:
        where = self.sender if self.options.netem == "sender" else self.receiver
        peer = self.receiver if where is self.sender else self.sender
        links = emulation(sc, self.options.netem)
        for host in self.hosts:  # a queue counts packets; a virtual network card hands on large ones
            host.call("offloads_off", dev=host.dev)
        links.install(where, where.dev, peer.address, [f.port for f in sc.flows])
        if where is self.sender and links.leaving.direction.rate_mbit:
            self._warn(["--netem sender: the sender notices when its own queue is full, which is no loss to TCP"])

    def _measure(self, traffic: Flowgen | Iperf3, job: Job, ends: dict[str, Host]) -> dict[str, Any]:
        """Flows from their start to their end; what the result says about the hosts."""
        for host in self.hosts:
            host.facts["modules"] = host.call("modules", names=preflight.MODULES)
            host.read_clock()
        sc = job.scenario
        links = emulation(sc, self.options.netem) if self.options.netem != "none" else None
        warnings = preflight.warnings(self.hosts, self.rtt_ms, job.cc, links)
        self._warn(warnings)
        before = [host.clock for host in self.hosts]
        t0_s = time.monotonic() + LEAD_S + 4 * max(c.uncertain_s for c in before)
        traffic.start(job, ends, t0_s)
        self._wait(t0_s + sc.duration_s)
        for host in self.hosts:
            host.read_clock()
        return preflight.describe(self.hosts, before, self.rtt_ms, warnings) | {
            "traffic": traffic.name,
            "netem": self.options.netem,
            "links": links.describe() if links else "ignored: the real path was measured",
        }

    def _wait(self, end: float) -> None:
        """Poll, which also tells the agents that we are there; LabError if a program fails or does not end."""
        running = True
        while running:
            time.sleep(POLL_S)
            running = False
            for host in self.hosts:
                states = host.call("poll")
                failed = [name for name, code in states.items() if code]
                if failed:
                    raise LabError(f"{host}: {failed[0]}: {_last_words(host, failed[0])}")
                running = running or None in states.values()
            if running and time.monotonic() > end + OVERTIME_S:
                raise LabError(f"the flows did not end {OVERTIME_S:g} s after their time")

    def _counters(self, sc: Experiment) -> dict[str, Any]:
        """As experiment.Run.counters, of the one emulated link; under the name of the bottleneck."""
        if self.options.netem == "none":
            return {}
        name, _, way = (sc.measure.bottleneck or "path.forward").partition(".")
        there, back = f"{name}.{way}", f"{name}.{'reverse' if way == 'forward' else 'forward'}"
        on_sender = self.options.netem == "sender"
        names = (back, there) if on_sender else (there, back)
        found: dict[str, Any] = emulation(sc, self.options.netem).counters(self.hosts[not on_sender], *names)
        return found

    def _restore(self) -> None:
        """Take back every change on both hosts, whatever signals come; what differs is shown and kept."""
        stopped = isinstance(sys.exception(), KeyboardInterrupt | SystemExit)
        if stopped:
            self.console.print("stopped: restoring both hosts")
        with undisturbed():
            for host in self.hosts:
                try:
                    differs = host.call("undo")
                except LabError as err:
                    self.console.print(f"{err}\n  its agent restores it within a minute", soft_wrap=True)
                    host.close()
                    self.lost = True
                    continue
                self.unlike += [f"{host}: {line}" for line in differs]
        for line in self.unlike:
            self.console.print(f"not as before: {line}", soft_wrap=True)
        if stopped and not self.unlike and not self.lost:
            self.console.print("both hosts are as they were before")


def _last_words(host: Host, name: str) -> str:
    """Why a program failed: iperf3 says so in its JSON."""
    out, errors = (host.fetch(f"{name}.{kind}").decode(errors="replace") for kind in ("out", "err"))
    with contextlib.suppress(ValueError):
        return str(json.loads(out).get("error", errors)).strip()
    return (errors or out).strip()[-500:]
