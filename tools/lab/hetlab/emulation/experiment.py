# SPDX-License-Identifier: GPL-2.0
"""One run: build the network, start flows and probes, leave raw files behind.

Runs as root where the packets are: inside the virtual-time kernel or on a host.
Needs the standard library, Mininet, tc, flowgen and hetprobe, nothing else.
Input is a job; the only output is files in its directory.
"""

import ctypes
import json
import math
import os
import subprocess
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from hetlab.emulation import replay
from hetlab.emulation.link import HetLink, start_replay
from hetlab.emulation.modules import SEED_FILE, Parameters, n_op_pkts, require_cc, set_seed
from hetlab.emulation.qdiscs import shown
from hetlab.emulation.skew import skew
from hetlab.emulation.topo import HetNet, Network
from hetlab.emulation.tracefs import Recording
from hetlab.emulation.waiting_tc import WaitingTc
from hetlab.errors import LabError
from hetlab.model import dualpi2
from hetlab.model.event import Change
from hetlab.model.flow import QUIC_CCS, Flow
from hetlab.model.job import Job
from hetlab.model.link import Link
from hetlab.model.scenario import WAYS, Experiment
from hetlab.model.traces import SUFFIX

SETTLE_S = 3
BEGIN_EVERY_S, BEGIN_S = 10, 5
NO_METRICS = "/proc/sys/net/ipv4/tcp_no_metrics_save"
LEARN_PORT, LEARN_BYTES = 5000, 1000
# Threads that wake at one instant run in an order that depends on their past: keep the
# instants of hosts (sampling) and of flows (start, end) apart
STAGGER_S = 20e-6
FLOW_AFTER_S = 10e-6
QUIC_STAGGER_S = 7e-6
EVENT_AFTER_S = 5e-6
PR_SET_TIMERSLACK = 29


def located(sc: Experiment) -> dict[str, Link]:
    """Links whose traces are the compiled files that the host left, by their hashes."""
    found = {}
    for name, link in sc.links.items():
        ways: dict[str, Any] = {}
        for side in WAYS:
            way = ways[side] = link.way(side)
            if played := sc.traces.get(f"{name}.{side}"):
                file = Path(os.environ.get("HETLAB_TRACES", "")) / f"{played.hash}{SUFFIX}"
                ways[side] = replace(way, trace=str(file), trace_delay=None, trace_loss=None)
        found[name] = replace(link, **ways)
    return found


def build_net(sc: Experiment, seed: int) -> HetNet:
    """Network of a resolved scenario, with the sysctls of every node."""
    HetLink.made = 0
    HetLink.reseed = (lambda end: f"echo {(seed << 16) + end} > {SEED_FILE}") if SEED_FILE.exists() else None
    topo = Network(hosts=sc.hosts, routers=sc.routers, links=located(sc), impaired_later=sc.impaired_later)
    net = HetNet(topo, route=sc.route)
    lines = [f"echo '{v}' > /proc/sys/{k.replace('.', '/')}" for k, v in sc.sysctl.items()]
    for node in net.hosts:
        for line in lines:
            out = node.cmd(f"{line} || echo failed").strip()
            if out:
                raise LabError(f"{node.name}: sysctl {line}: {out}")
    for host, clock in sc.clocks.items():
        skew(net, host, *clock)
    return net


def change_of(change: Change) -> dict[str, Any]:
    """Keywords of HetLink.change."""
    return change.values | {"forward": change.way == "forward", "reverse": change.way == "reverse"}


def sleep_until(t: float) -> None:
    """Sleep to a time of CLOCK_MONOTONIC."""
    time.sleep(max(t - time.clock_gettime(time.CLOCK_MONOTONIC), 0))


def begin_at(aligned: bool) -> float:
    """CLOCK_MONOTONIC of the next whole second that leaves time to settle.

    ``aligned`` is for virtual and emulated machines: that second is BEGIN_S past a multiple of BEGIN_EVERY_S on the
    wall's clock, so that what reads that clock does not depend on how long the network took to build.
    """
    t0 = math.ceil(time.clock_gettime(time.CLOCK_MONOTONIC)) + SETTLE_S
    if not aligned:
        return t0
    wall_s = round(t0 - time.clock_gettime(time.CLOCK_MONOTONIC) + time.time(), 3)
    return t0 + (BEGIN_S - wall_s) % BEGIN_EVERY_S


def flowgen_ahead_s(host: int) -> float:
    """How long after the run's start the flowgen of the host with that number begins to count."""
    return (host + 1) * STAGGER_S


class Run:
    """A running experiment and the processes that belong to it."""

    def __init__(self, job: Job, net: HetNet) -> None:
        self.job = job
        self.sc = job.scenario
        self.net = net
        self.dir = Path(job.dir)
        self.bin = os.environ.get("HETLAB_BIN", "")
        self._learn_routes()
        self.t0 = begin_at(SEED_FILE.exists() or job.emulated)
        self.until = self.sc.duration_s + 0.5
        self.procs: list[tuple[str, subprocess.Popen[str]]] = []
        self.tc = WaitingTc()

    def tool(self, name: str) -> str:
        """Path of one of our programs."""
        return str(Path(self.bin) / name) if self.bin else name

    def _learn_routes(self) -> None:
        """One short connection wherever a route gives a window.

        The kernel takes snd_cwnd_clamp and ssthresh of a route from its cache of metrics
        alone, which a connection fills when it ends.
        """
        tcp = [f for f in self.sc.flows if f.proto == "tcp"]
        for src, dst in dict.fromkeys((f.src, f.dst) for f in tcp):
            if not set(self.sc.route.get(src, "").split()) & {"cwnd", "ssthresh"}:
                continue
            self.net.get(src).cmd(f"echo 0 > {NO_METRICS}")
            t0 = time.clock_gettime(time.CLOCK_MONOTONIC) + 1
            to = f"addr={self.net.address(src, dst, self.sc.ipv6)},port={LEARN_PORT}"
            ends = {dst: f"role=recv,id=0,port={LEARN_PORT}", src: f"role=send,id=0,{to},bytes={LEARN_BYTES}"}
            words = [self.tool("flowgen"), "--t0", f"{t0:.9f}", "--out", os.devnull]
            procs = [self.net.get(host).popen([*words, flow], text=True) for host, flow in ends.items()]
            if faults := [p.communicate()[1] for p in procs if p.wait()]:
                raise LabError(f"{src}: route: {self.sc.route[src]}: {'; '.join(faults).strip()[-500:]}")
            self.net.get(src).cmd(f"echo 1 > {NO_METRICS}")

    def start(self) -> None:
        """Start the probe and what changes links, then one flowgen per host that has flows."""
        for change in self.sc.events:
            link, forward = self.net.by_name[change.link], change.way == "forward"
            for point in (link.queue_point(forward), link.impair_point(forward)):
                if point:
                    self.tc.prepare(*point)
            if (link.forward if forward else link.reverse).rate_at_once:
                self.tc.prepare_replay(*link.queue_point(forward))
        for link in self.net.by_name.values():
            link.start_traces(self.t0)
        self._probe()
        for i, host in enumerate(self.sc.hosts):
            flows = self._flow_args(host)
            if not flows:
                continue
            out = self.dir / f"flows-{host}.jsonl"
            t0 = self.t0 + flowgen_ahead_s(i)
            args = [self.tool("flowgen"), "--t0", f"{t0:.9f}", "--out", str(out)]
            args += ["--sample-ms", str(self.sc.measure.sample_ms), "--until", f"{self.until:.3f}"]
            self._spawn(f"flowgen-{host}", self.net.get(host).popen(args + flows, text=True))
        for flow in self.job.flows:
            if flow.stack is not None:
                self._quic(flow, flow.stack)

    def _spawn(self, name: str, proc: "subprocess.Popen[str]") -> None:
        self.procs.append((name, proc))

    def _quic(self, flow: Flow, stack: str) -> None:
        """One program at each end of a QUIC flow; tools/setup.sh --quic builds them."""
        quic = Path(self.bin).parent / "quic"
        if not (quic / stack).exists():
            raise LabError(f"flow {flow.name}: {quic / stack} is not there: run tools/setup.sh --quic")
        mtu = min(link.mtu for link, _forward in self.net.path(flow.src, flow.dst))
        addr = self.net.address(flow.src, flow.dst, self.sc.ipv6)
        start = flow.start_s + FLOW_AFTER_S * (1 + flow.id / 1000)
        cc = flow.cc or QUIC_CCS[stack][0]
        send = [f"addr={addr}", f"start={start:.9f}", f"duration={flow.duration_s:g}"]
        send += [f"{k}={v}" for k, v in flow.given("sender").items()]
        both = [f"id={flow.id}", f"port={flow.port}", f"cc={cc}", f"mtu={mtu}", f"until={self.until:.3f}"]
        both += [f"sample_ms={self.sc.measure.sample_ms}", f"cert={quic / 'cert.pem'}", f"key={quic / 'key.pem'}"]
        for i, (role, host) in enumerate((("recv", flow.dst), ("send", flow.src))):
            t0 = self.t0 + (2 * flow.id + i) * QUIC_STAGGER_S
            out = self.dir / f"flows-quic-{flow.id}-{role}.jsonl"
            own = send if role == "send" else []
            told = ",".join([f"role={role}", f"t0={t0:.9f}", f"out={out}", *both, *own])
            self._spawn(f"{stack}-{host}", self.net.get(host).popen([str(quic / stack), told], text=True))

    def _flow_args(self, host: str) -> list[str]:
        args = []
        for flow in self.job.flows:
            if flow.proto == "quic":
                continue
            if flow.src == host:
                args.append(self._send_arg(flow))
            if flow.dst == host:
                keys = [f"{k}={v}" for k, v in flow.given("receiver").items()]
                args.append(",".join(["role=recv", f"id={flow.id}", f"port={flow.port}", *keys]))
        return args

    def _send_arg(self, flow: Flow) -> str:
        addr = self.net.address(flow.src, flow.dst, self.sc.ipv6)
        words = ["role=send", f"id={flow.id}", f"addr={addr}", f"port={flow.port}"]
        start = flow.start_s + FLOW_AFTER_S * (1 + flow.id / 1000)
        words += [f"start={start:.9f}", f"duration={flow.duration_s:g}"]
        words += [f"{k}={v}" for k, v in flow.given("sender", self.job.seed).items()]
        if flow.proto == "tcp":
            words += [f"sport={flow.port + 20000}", f"cc={self.job.cc_of(flow.cc)}"]
        return ",".join(words)

    def _probe(self) -> None:
        args = [self.tool("hetprobe"), "--t0", f"{self.t0:.9f}", "--until", f"{self.until:.3f}"]
        args += ["--out", str(self.dir), "--queue-ms", str(self.sc.measure.queue_ms)]
        for name in self.sc.measure.queues:
            node, dev = self._queue(name)
            args += ["--queue", f"{name},/proc/{node.pid}/ns/net,{dev},root"]
        for label, node, dev, way in self._captures():
            args += ["--capture", f"{label},/proc/{node.pid}/ns/net,{dev},{way}"]
        if self.sc.measure.pcap:
            args.append("--pcap")
        proc = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._spawn("hetprobe", proc)
        if not proc.stdout or proc.stdout.readline().strip() != "ready":
            raise LabError(f"hetprobe: {proc.communicate()[1].strip()}")

    def _link(self, name: str) -> tuple[HetLink, bool]:
        link, _, way = name.partition(".")
        return self.net.by_name[link], way != "reverse"

    def _queue(self, name: str) -> tuple[Any, str]:
        link, forward = self._link(name)
        return link.queue_point(forward)

    def _captures(self) -> list[tuple[str, Any, str, str]]:
        """Departure and arrival of the packets whose delay is measured."""
        found = []
        for src, dst in self.sc.owd_pairs:
            first, forward = self.net.path(src, dst)[0]
            last, last_forward = self.net.path(src, dst)[-1]
            found.append((f"{src}-{dst}.tx", *first.departure_point(forward)))
            found.append((f"{src}-{dst}.rx", *last.arrival_point(last_forward)))
        return found

    def departed_ms(self) -> dict[str, float]:
        """For each measured pair, the delay before the point of departure."""
        found = {}
        for src, dst in self.sc.owd_pairs:
            link, forward = self.net.path(src, dst)[0]
            found[f"{src}-{dst}"] = link.departed_ms(forward)
        return found

    def wait(self) -> None:
        """Reseed just before the start, change links, wait for the end, check every process."""
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)
        sleep_until(self.t0 - 0.5)
        set_seed(self.job.seed)
        for change in self.sc.events:
            sleep_until(self.t0 + change.at_s + EVENT_AFTER_S)
            self.net.by_name[change.link].change(tc=self.tc, replayer=self.tc.replay, **change_of(change))
        errors = []
        for name, proc in self.procs:
            out, err = proc.communicate()
            if proc.returncode:
                errors.append(f"{name} ended with {proc.returncode}: {(err or out or '').strip()[-500:]}")
        if errors:
            raise LabError("; ".join(errors))

    def counters(self) -> dict[str, Any]:
        """What the qdiscs of every link counted, by link and direction."""
        seen: dict[str, list[dict[str, Any]]] = {}

        def on(point: tuple[Any, str] | None) -> list[dict[str, Any]]:
            if not point:
                return []
            node, dev = point
            if node.name not in seen:
                seen[node.name] = counted(node)
            return [q for q in seen[node.name] if q["dev"] == dev]

        def stats(point: tuple[Any, str] | None, **wanted: Any) -> dict[str, Any] | None:
            return next((q for q in on(point) if wanted.items() <= q.items()), None)

        found: dict[str, Any] = {}
        for name, link in self.net.by_name.items():
            for way, forward in (("forward", True), ("reverse", False)):
                found[f"{name}.{way}"] = {
                    "queue": stats(link.queue_point(forward), root=True),
                    "aqm": stats(link.queue_point(forward), parent="1:1"),
                    "impair": stats(link.impair_point(forward), root=True),
                    "filter": stats(link.impair_point(forward), kind="clsact"),
                }
        return found

    def stop(self) -> None:
        """Kill all processes that still run."""
        self.tc.stop()
        for _name, proc in self.procs:
            if proc.poll() is None:
                proc.kill()
                proc.communicate()


def counted(node: Any) -> list[dict[str, Any]]:
    """All qdiscs of a node with their counters; of dualpi2 tc knows the common ones alone."""
    found = shown(node.cmd("tc -s -j qdisc show"))
    lines = {i: f"show kind={q['kind']} dev={q['dev']} handle={q['handle']}" for i, q in enumerate(found)}
    asked = {i: line for i, line in lines.items() if found[i]["kind"] == dualpi2.KIND}
    said = replay.answers(start_replay(node, list(asked.values()))) if asked else []
    own = dict(zip(asked, said, strict=True))
    return [q | own.get(i, {}) for i, q in enumerate(found)]


def run_job(job: Job, dismantle: bool = True) -> None:
    """Run one job and leave meta.json beside the raw files; LabError on any failure.

    dismantle: take the network down; a machine that ends with the job need not.
    """
    directory = Path(job.dir)
    directory.mkdir(parents=True, exist_ok=True)
    names = job.ccs
    require_cc(names)
    with ExitStack() as stack:
        # Before the seed: starting it draws random numbers
        trace = stack.enter_context(Recording()) if job.trace else None
        seeded = set_seed(job.seed)
        if not job.candidate:  # the user's own module was loaded with them
            stack.enter_context(Parameters(job.cc, job.cc_params))
        net = build_net(job.scenario, job.seed)
        run = Run(job, net)
        try:
            run.start()
            run.wait()
            meta = {
                "kernel": os.uname().release,
                "seeded": seeded,
                "counters": run.counters(),
                "departed_ms": run.departed_ms(),
                "available_cc": sorted(names),
            }
            if any(flow.workload for flow in job.scenario.flows):
                meta["flowgen_ahead_s"] = {host: flowgen_ahead_s(i) for i, host in enumerate(job.scenario.hosts)}
            if trace:
                trace.save(directory / "trace.txt")
                meta |= {"t0_s": run.t0, "n_op_pkts": n_op_pkts()}
        finally:
            run.stop()
            if dismantle:
                net.stop()
    (directory / "meta.json").write_text(json.dumps(meta, indent=1))
