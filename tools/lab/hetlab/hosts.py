# SPDX-License-Identifier: GPL-2.0
"""--on hosts: the flows of a scenario between two real hosts, over ssh.

Each host runs remote_agent.py, which makes every change and takes it back; here
is what they are told to do. Between two runs nothing on the hosts is changed.
"""

import base64
import contextlib
import gzip
import json
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from hetlab import hosts_preflight as preflight
from hetlab.errors import LabError
from hetlab.hosts_traffic import Flowgen, Iperf3
from hetlab.scenario import DEFAULT_SYSCTL, FIRST_PORT

AGENT = Path(__file__).with_name("remote_agent.py")
TRAFFIC: dict[str, type[Flowgen] | type[Iperf3]] = {"iperf3": Iperf3, "flowgen": Flowgen}
SSH = "-T -o BatchMode=yes -o ConnectTimeout=15 -o ControlMaster=no -o ServerAliveInterval=10 -o ServerAliveCountMax=3"
REPLY_LIMIT_S = 90.0
REACH_LIMIT_S = 5.0
POLL_S = 1.0
LEAD_S = 2.0
OVERTIME_S = 30.0
CLOCK_TRIES = 8
MOST_FLOWS = 64
SYSCTL_DIR = "/proc/sys/"
# Repetitions are to begin alike; everything else of DEFAULT_SYSCTL is reported, not changed
FRESH = {"net.ipv4.tcp_no_metrics_save": 1}


class HostLost(LabError):
    """A host does not answer any more."""


class Refusal(LabError):
    """An agent's complaint about one request."""


@dataclass(frozen=True)
class Options:
    """What ``hetlab run --on hosts`` was told."""

    sender: str
    receiver: str
    sender_address: str | None = None
    receiver_address: str | None = None
    traffic: str = "iperf3"
    netem: str = "none"
    ssh_options: tuple[str, ...] = ()


def options(
    on: str,
    sender: str | None,
    receiver: str | None,
    sender_address: str | None,
    receiver_address: str | None,
    traffic: str,
    netem: str,
    ssh_options: list[str] | None,
) -> Options | None:
    """Options of ``--on hosts``, None for other places; LabError where they do not go together."""
    if on != "hosts":
        if any((sender, receiver, sender_address, receiver_address, ssh_options)) or netem != "none":
            raise LabError("--sender, --receiver, their addresses, --netem and --ssh-option go with --on hosts")
        return None
    if not sender or not receiver:
        raise LabError("--on hosts needs --sender [USER@]HOST and --receiver [USER@]HOST")
    return Options(sender, receiver, sender_address, receiver_address, traffic, netem, tuple(ssh_options or ()))


def fit(job: dict[str, Any], options: Options) -> dict[str, Any]:
    """A job as two hosts can carry it out; LabError naming what they cannot do."""
    sc = job["scenario"]
    ends = list(dict.fromkeys(name for f in sc["flows"] for name in (f["src"], f["dst"])))
    faults = [*_faults(sc, ends), *_flow_faults(sc, options)]
    if job.get("trace"):
        faults.append("--trace is not for --on hosts: use trace-cmd there")
    if faults:
        raise LabError("\n".join(f"{sc['name']} does not fit --on hosts: {fault}" for fault in faults))
    if options.netem != "none":
        emulation(sc, options.netem)
    measure = sc["measure"] | {"owd": [], "queues": [], "pcap": False}
    if options.netem == "none":
        sc = sc | {"links": {}, "events": []}
        measure["bottleneck"] = None
    return job | {"scenario": sc | {"measure": measure}}


def _faults(sc: dict[str, Any], ends: list[str]) -> Iterator[str]:
    if len(ends) != 2:
        yield f"it has flows between {', '.join(ends)}; two hosts are the ends of one path"
    for host, words in sc["route"].items():
        if words:
            yield f"route.{host} ({words}): routes of real hosts are not changed"
    for host in sc["clock"]:
        yield f"clock.{host}: clocks of real hosts are not changed"
    if len(sc["flows"]) > MOST_FLOWS:
        yield f"{len(sc['flows'])} flows: at most {MOST_FLOWS}"


def _flow_faults(sc: dict[str, Any], options: Options) -> Iterator[str]:
    for f in sc["flows"]:
        if f["proto"] != "tcp":
            yield f"flow.{f['name']} is {f['proto']}; only tcp flows are made"
        elif why := TRAFFIC[options.traffic].refusal(f):
            yield f"flow.{f['name']}: {why}"
    if options.netem != "none" and sc["events"]:
        yield "its links change while it runs: not with --netem"


def emulation(sc: dict[str, Any], on: str) -> Any:
    """The scenario's links as one, for the host that emulates them."""
    from hetlab import hosts_netem as netem  # needs Mininet, which no other part of this does

    src, dst = sc["flows"][0]["src"], sc["flows"][0]["dst"]
    there = netem.one_way(sc, netem.path(sc, src, dst))
    back = netem.one_way(sc, netem.path(sc, dst, src))
    return netem.Emulation(there, back) if on == "receiver" else netem.Emulation(back, there)


@dataclass
class Clock:
    """How far a host's clocks are ahead of our CLOCK_MONOTONIC, in seconds."""

    ahead_s: float
    real_ahead_s: float
    uncertain_s: float


class Host:
    """One of the two hosts: the ssh to its agent, and what is known of it."""

    def __init__(self, role: str, name: str, ssh_options: tuple[str, ...]) -> None:
        self.role = role
        self.name = name
        self.flowgen = ""
        self.facts: dict[str, Any] = {}
        self.dev = self.address = ""
        self.clock = Clock(0, 0, 0)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self.pending = b""
        self.number = 0
        self.ssh_address = ""
        code = AGENT.read_bytes()
        options = [word for o in ssh_options for word in ("-o", o)]
        # A session of its own: Ctrl-C is for us, who have something to take back there first
        self.proc = subprocess.Popen(
            ["ssh", *options, *SSH.split(), "--", name, _start_agent(len(code))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
        )
        try:
            self._send(code)
            self.ssh_address = "".join(str(self._answer()).split()[2:3])
        except BaseException:
            self.close()
            raise

    def __str__(self) -> str:
        return f"{self.role} {self.name}"

    def call(self, do: str, **args: Any) -> Any:
        """Have the agent do something; Refusal is its complaint, HostLost no answer."""
        self.number += 1
        self._send(json.dumps({"number": self.number, "do": do} | args).encode() + b"\n")
        return self._answer()

    def fetch(self, name: str) -> bytes:
        """A file of the agent's directory."""
        return gzip.decompress(base64.b64decode(self.call("fetch", name=name)))

    def _send(self, data: bytes) -> None:
        assert self.proc.stdin
        try:
            self.proc.stdin.write(data)
            self.proc.stdin.flush()
        except OSError:
            raise self._lost("the connection is gone") from None

    def _answer(self) -> Any:
        """Answer to the last request; what a login shell says before is passed over, and what nobody waited for."""
        end = time.monotonic() + REPLY_LIMIT_S
        while True:
            line = self._line(end)
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if not isinstance(answer, dict) or answer.get("number") != self.number:
                continue
            if "error" in answer:
                raise Refusal(f"{self}: {answer['error']}")
            return answer["ok"]

    def _line(self, end: float) -> bytes:
        assert self.proc.stdout
        while b"\n" not in self.pending:
            if not select.select([self.proc.stdout], [], [], max(end - time.monotonic(), 0))[0]:
                raise self._lost("no answer")
            data = os.read(self.proc.stdout.fileno(), 1 << 16)
            if not data:
                raise self._lost("the connection is gone")
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def _lost(self, what: str) -> HostLost:
        """With the last words of ssh."""
        what = what if self.number else "no agent there"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.proc.wait(2)
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        return HostLost(f"{self}: {what}" + "".join(f"\n  {line}" for line in said[-5:]))

    def close(self) -> None:
        """Let the agent go; what it has not yet taken back it takes back then."""
        for pipe in (self.proc.stdin, self.proc.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self.proc.wait(5)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()

    def read_clock(self) -> None:
        """Compare clocks, by the shortest of some round trips."""
        best: Clock | None = None
        for _ in range(CLOCK_TRIES):
            sent = time.monotonic()
            mono, real = self.call("clock")
            back = time.monotonic()
            middle, half = (sent + back) / 2, (back - sent) / 2
            if best is None or half < best.uncertain_s:
                best = Clock(mono - middle, real - middle, half)
        assert best
        self.clock = best


def _start_agent(length: int) -> str:
    """Command for the login shell, whichever that is: the agent as root, its text from stdin."""
    python = f"import sys; exec(compile(sys.stdin.buffer.read({length}), 'agent', 'exec'))"
    script = (
        "p=$(command -v python3) || { echo 'python3 is not installed there' >&2; exit 1; }; "
        'r=; [ "$(id -u)" = 0 ] || r="sudo -n"; '
        f'exec $r "$p" -c {shlex.quote(python)} "$SSH_CONNECTION"'
    )
    return f"exec sh -c {shlex.quote(script)}"


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

    def carry_out(self, job: dict[str, Any]) -> None:
        """Run a job and leave the files of experiment.run_job; then all is as before."""
        sc = job["scenario"]
        src, dst = sc["flows"][0]["src"], sc["flows"][0]["dst"]
        ends = {src: self.sender, dst: self.receiver}
        directory = Path(job["dir"])
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

    def _set_up(self, job: dict[str, Any], ends: dict[str, Host]) -> None:
        """Everything that is undone afterwards."""
        sc = job["scenario"]
        senders: dict[str, set[str]] = {}
        for f in sc["flows"]:
            senders.setdefault(f["src"], set()).add(f["cc"] or job["cc"])
        modules = [preflight.module_of(cc) for ccs in senders.values() for cc in ccs]
        if self.options.netem != "none":
            from hetlab import hosts_netem as netem

            modules += netem.MODULES
        for host in self.hosts:
            host.call("begin", dev=host.dev, modules=modules)
        for name, ccs in senders.items():
            for cc in sorted(ccs):
                self._congestion_control(ends[name], cc)
            self._parameters(ends[name], job)
        own = {k: v for k, v in sc["sysctl"].items() if DEFAULT_SYSCTL.get(k) != v}
        for host in self.hosts:
            for key, value in (own | FRESH).items():
                host.call("write", path=SYSCTL_DIR + key.replace(".", "/"), text=str(value))
        self._reach({host: [f["port"] for f in sc["flows"] if ends[f["dst"]] is host] for host in self.hosts})
        if self.options.netem != "none":
            self._emulate(sc)

    @staticmethod
    def _congestion_control(host: Host, cc: str) -> None:
        try:
            host.call("congestion_control", name=cc, module=preflight.module_of(cc))
        except Refusal as err:
            have = str(err).removeprefix(f"{host}: ")
            raise LabError(preflight.missing(host, cc, have)) from None

    @staticmethod
    def _parameters(host: Host, job: dict[str, Any]) -> None:
        module = preflight.module_of(job["cc"])
        for name, value in job["cc_params"].items():
            known = host.call("parameters", module=module)
            if name not in known:
                has = ", ".join(known) or "none"
                raise LabError(f"{host}: {job['cc']}: no parameter {name!r}; it has: {has}")
            try:
                host.call("write", path=f"/sys/module/{module}/parameters/{name}", text=value)
            except Refusal as err:
                described = host.call("range", module=module, name=name)
                raise LabError(f"{job['cc']}: {name}={value} refused: {err}. {described}") from None

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

    def _emulate(self, sc: dict[str, Any]) -> None:
        where = self.sender if self.options.netem == "sender" else self.receiver
        peer = self.receiver if where is self.sender else self.sender
        links = emulation(sc, self.options.netem)
        for host in self.hosts:  # a queue counts packets; a virtual network card hands on large ones
            host.call("offloads_off", dev=host.dev)
        links.install(where, where.dev, peer.address, [f["port"] for f in sc["flows"]])
        if where is self.sender and links.leaving.rate_mbit:
            self._warn(["--netem sender: the sender notices when its own queue is full, which is no loss to TCP"])

    def _measure(self, traffic: Flowgen | Iperf3, job: dict[str, Any], ends: dict[str, Host]) -> dict[str, Any]:
        """Flows from their start to their end; what the result says about the hosts."""
        for host in self.hosts:
            host.facts["modules"] = host.call("modules", names=preflight.MODULES)
            host.read_clock()
        sc = job["scenario"]
        links = emulation(sc, self.options.netem) if self.options.netem != "none" else None
        warnings = preflight.warnings(self.hosts, self.rtt_ms, job["cc"], links)
        self._warn(warnings)
        before = [host.clock for host in self.hosts]
        t0_s = time.monotonic() + LEAD_S + 4 * max(c.uncertain_s for c in before)
        traffic.start(job, ends, t0_s)
        self._wait(t0_s + sc["duration_s"])
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

    def _counters(self, sc: dict[str, Any]) -> dict[str, Any]:
        """As experiment.Run.counters, of the one emulated link; under the name of the bottleneck."""
        if self.options.netem == "none":
            return {}
        name, _, way = (sc["measure"]["bottleneck"] or "path.forward").partition(".")
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
