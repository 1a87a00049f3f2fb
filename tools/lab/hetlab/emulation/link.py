# SPDX-License-Identifier: GPL-2.0
"""Mininet link whose two directions are emulated exactly, or not at all; see hetlab.emulation.qdiscs.

What tc reports afterwards is compared with what was asked for; any difference aborts the run.
"""

import os
import shlex
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any, ClassVar

from mininet.link import Intf, Link
from mininet.node import Node

from hetlab.emulation import filters, lacking, replay
from hetlab.emulation.qdiscs import Qdisc, delay_qdisc, mismatch, plan, rate_qdiscs, shown
from hetlab.errors import LabError
from hetlab.model import dualpi2
from hetlab.model.link import Direction, Loss
from hetlab.model.trace import Trace

OFFLOADS = "tso off gso off gro off tx-udp-segmentation off"
# A host's end of a link with offload: the stack makes and takes packets of many segments, which
# are apart on the wire; the receiver waits for more as long as a network card holds its interrupt
HOST_OFFLOADS = "tso off gso on gro on"
GRO_WAIT_NS = 50_000
MODULES = "ifb, act_mirred, cls_matchall, sch_ingress, sch_netem, or that of the AQM"


def shell(node: Node, script: str) -> str:
    """Run a script in a Mininet node; any failure aborts with its output."""
    if not getattr(node, "quiet_shell", False):
        node.cmd("PS2=")  # no continuation prompts among the output
        node.quiet_shell = True
    out = node.cmd(f"( set -e\n{script}\n) 2>&1; echo status=$?")
    body, _, status = out.strip().rpartition("status=")
    if status.strip() != "0":
        raise LabError(f"{node.name}: {body.strip() or 'failed without a word'}\n{_help(body)}{script[:2000]}")
    return str(body).strip()


def _help(said: str) -> str:
    """A line about modules, if it is their lack that tc complains about."""
    if not lacking.SURELY.search(said):
        return ""
    release = os.uname().release
    if f"hetreplay: make {replay.KIND}" in said:
        return f"This kernel, {release}, lacks the module sch_replay. {replay.NOTES}, then insmod\n"
    if f"hetreplay: make {dualpi2.KIND}" in said:
        return f"This kernel, {release}, lacks the module sch_dualpi2, which came with {dualpi2.SINCE}\n"
    return f"This kernel, {release}, lacks one of the modules {MODULES}. {lacking.advice(release)}\n"


TcRunner = Callable[[Node, list[str]], str]
Qdiscs = list[dict[str, Any]]


def start_tc(node: Node, commands: list[str]) -> str:
    """Run commands of tc, the last of which shows qdiscs; returns what it shows, as JSON."""
    return shell(node, "tc -j -batch - <<BATCH\n" + "\n".join(commands) + "\nBATCH")


def start_replay(node: Node, commands: list[str]) -> str:
    """Run commands of hetreplay; returns what it says."""
    return shell(node, f"{shlex.quote(replay.program())} <<REPLAY\n" + "\n".join(commands) + "\nREPLAY")


class HetIntf(Intf):
    """An interface that HetLink configures; nothing is left to ifconfig."""

    def config(self, **_params: Any) -> dict[str, Any]:
        """Keep Mininet from touching the interface."""
        return {}


class HetLink(Link):
    """A veth pair with a :class:`Direction` each way.

    Keywords are those of Direction; ``forward`` and ``reverse`` (a Direction or
    its keywords as a dict) set the two ways apart, node1 to node2 is forward.
    ``label`` names the link in results, ``offload`` lets hosts at its ends use
    segmentation and receive offload. ``reseed``, where it is set, is called
    with the number of a link's end and gives a shell line that restarts the
    kernel's random numbers: netem draws the seed of its losses when it is made.
    ``impaired_later`` names the ways (forward, reverse) that ``change`` will give
    jitter, slots, reordering, duplicates or bursts of loss, which must follow the queue.
    """

    reseed: ClassVar[Callable[[int], str] | None] = None
    made: ClassVar[int] = 0

    def __init__(
        self,
        node1: Node,
        node2: Node,
        forward: Direction | dict[str, Any] | None = None,
        reverse: Direction | dict[str, Any] | None = None,
        mtu: int = 1500,
        label: str = "",
        offload: bool = False,
        impaired_later: Collection[str] = (),
        **params: Any,
    ) -> None:
        self.label = label or f"{node1.name}-{node2.name}"
        names = Direction.__dataclass_fields__
        common = {k: params.pop(k) for k in list(params) if k in names}
        self.forward = _direction(forward, common)
        self.reverse = _direction(reverse, common)
        for name, way in (("forward", self.forward), ("reverse", self.reverse)):
            way.check_sizes(f"link {self.label}: {name}", mtu)
        self.mtu = mtu
        self.offload = offload
        params.setdefault("intf", HetIntf)
        super().__init__(node1, node2, **params)
        ends = [(node1, self.intf1.name), (node2, self.intf2.name)]
        plans = [
            plan(self.forward, mtu, ends[0][1], _ifb(ends[1][1]), is_host(node1), "forward" in impaired_later),
            plan(self.reverse, mtu, ends[1][1], _ifb(ends[0][1]), is_host(node2), "reverse" in impaired_later),
        ]
        self.plans = plans
        for i, (node, dev) in enumerate(ends):
            self._setup(node, dev, plans[i].near, plans[1 - i].far)
            if plans[1 - i].filtered:
                with filters.loadable((self.reverse, self.forward)[i]) as program:
                    shell(node, filters.attach(_ifb(dev), program))

    def _setup(self, node: Node, dev: str, near: tuple[Qdisc, ...], far: tuple[Qdisc, ...]) -> None:
        """Configure one end and read it back."""
        ip = [f"link set {dev} mtu {self.mtu} up"]
        own = [q for q in (*near, *far) if q.tables]
        below = [f"make dev={q.dev} {q.args}" for q in (*near, *far) if q.by_hetreplay and not q.tables]
        batch = [f"qdisc add dev {q.dev} {q.args}" for q in (*near, *far) if not q.by_hetreplay]
        if far:
            ifb = _ifb(dev)
            ip += [f"link add {ifb} type ifb", f"link set {ifb} mtu {self.mtu} up"]
            batch.append(f"qdisc add dev {dev} ingress")
            batch.append(f"filter add dev {dev} parent ffff: matchall action mirred egress redirect dev {ifb}")
        # Each program takes longer to start than to run: one of a kind
        lines = ["ip -batch - <<BATCH", *ip, "BATCH"]
        if self.offload and is_host(node):
            lines.append(f"ethtool -K {dev} {HOST_OFFLOADS} >/dev/null")
            lines.append(f"echo {GRO_WAIT_NS} > /sys/class/net/{dev}/gro_flush_timeout")
        else:
            lines.append(f"ethtool -K {dev} {OFFLOADS} >/dev/null")
        if batch or own:
            if HetLink.reseed:
                lines.append(HetLink.reseed(HetLink.made))
            HetLink.made += 1
        with replay.Files() as files:
            if own:
                made = "\n".join(f"make dev={q.dev} {q.args} file={files.put(q.tables)}" for q in own if q.tables)
                lines.append(f"{shlex.quote(replay.program())} <<REPLAY\n{made}\nREPLAY")
            if batch or own:
                lines += ["tc -j -batch - <<BATCH", *batch, "qdisc show", "BATCH"]
            if below:
                lines += [f"{shlex.quote(replay.program())} <<REPLAY", *below, "REPLAY"]
            out = shell(node, "\n".join(lines))
        if not batch and not own:
            return
        self._compare(node, (*near, *far), shown(out), replay.answers(out))

    @staticmethod
    def _compare(node: Node, wanted: Iterable[Qdisc], got: Qdiscs, own: Qdiscs) -> None:
        """LabError where tc (of ours hetreplay) says another thing than what was asked for."""
        for want in wanted:
            wrong = mismatch(want, [q for q in (own if want.by_hetreplay else got) if q["dev"] == want.dev])
            if wrong:
                who = "hetreplay" if want.by_hetreplay else "tc"
                raise LabError(f"{node.name}: {who} did not take {want.args!r} on {want.dev}: {wrong}")

    def change(
        self,
        *,
        forward: bool = True,
        reverse: bool = True,
        tc: TcRunner | None = None,
        replayer: TcRunner | None = None,
        **values: Any,
    ) -> None:
        """Change what a running link does, e.g. ``change(delay_ms=33)``: rate, delay, jitter, slots, loss, order.

        Packets on their way keep their old delay, those in a drop-tail queue the
        time of their departure. What a direction was made without cannot be
        changed: LabError. ``tc`` and ``replayer`` run commands in a node, see hetlab.emulation.waiting_tc.
        With ``rate_at_once`` packets that wait feel a new rate, and ``rate_mbit=0`` holds them.
        """
        values = _with_loss(values)
        for wanted, ahead in ((forward, True), (reverse, False)):
            if not wanted:
                continue
            before = self.forward if ahead else self.reverse
            new_mbit = values.get("rate_mbit")
            if new_mbit == 0 and before.rate_at_once:  # its own rate is what it comes back to
                way = replace(before, **{key: value for key, value in values.items() if key != "rate_mbit"})
            else:
                way = replace(before, **values)
            node, dev = self.queue_point(ahead)
            if new_mbit is not None and way.rate_at_once:
                self._load(node, dev, replay.changed_rate(new_mbit), replayer or start_replay)
            elif new_mbit is not None:
                new = [q for q in rate_qdiscs(way, self.mtu, dev) if not q.by_hetreplay]  # dualpi2 knows no rate
                self._change(node, new, tc or start_tc)
            if values.keys() - {"rate_mbit"}:
                point = self.impair_point(ahead)
                if not point:
                    raise LabError(f"link {self.label}: no delay or loss stage to change")
                if replay.stages(way, self.mtu).delay:
                    raise LabError(f"link {self.label}: its delay and loss come from a trace")
                new = delay_qdisc(way, self.mtu, point[1], running=True, slotted=bool(before.slot_ms))
                self._change(point[0], new, tc or start_tc)
            if ahead:
                self.forward = way
            else:
                self.reverse = way

    def _change(self, node: Node, new: list[Qdisc], tc: TcRunner) -> None:
        """Give the qdiscs of a stage new arguments and read them back."""
        out = tc(node, [*(f"qdisc change dev {q.dev} {q.args}" for q in new), f"qdisc show dev {new[0].dev}"])
        got = shown(out)
        for want in new:
            wrong = mismatch(want, got)
            if wrong:
                raise LabError(f"link {self.label}: tc did not take {want.args!r}: {wrong}")

    def _load(self, node: Node, dev: str, table: Trace, run: TcRunner) -> None:
        """Give a qdisc of ours another table, in force at once, and read it back."""
        with replay.Files() as files:
            out = run(node, [f"change dev={dev} file={files.put(table)}"])
        want = Qdisc(dev, "", replay.KIND, replay.shown(table), table)
        if wrong := mismatch(want, replay.answers(out)):
            raise LabError(f"link {self.label}: hetreplay did not take a new rate: {wrong}")

    def start_traces(self, t0_s: float) -> None:
        """Begin what the link plays at a time of CLOCK_MONOTONIC; without it, it began when the link was made."""
        for plan_, near, far in zip(self.plans, (self.intf1, self.intf2), (self.intf2, self.intf1), strict=True):
            for end, qdiscs in ((near, plan_.near), (far, plan_.far)):
                if lines := [f"change dev={q.dev} start_ns={round(t0_s * 1e9)}" for q in qdiscs if q.tables]:
                    start_replay(end.node, lines)

    def queue_point(self, forward: bool) -> tuple[Node, str]:
        """Node and device whose root qdisc is the rate-limited queue of a direction."""
        near, far = (self.intf1, self.intf2) if forward else (self.intf2, self.intf1)
        p = self.plans[0 if forward else 1]
        return (far.node, _ifb(far.name)) if p.rate_far else (near.node, near.name)

    def impair_point(self, forward: bool) -> tuple[Node, str] | None:
        """Node and device of the delay and loss qdisc of a direction, if there is one."""
        near, far = (self.intf1, self.intf2) if forward else (self.intf2, self.intf1)
        p = self.plans[0 if forward else 1]
        if p.rate_far:
            return (near.node, near.name) if p.near else None
        return (far.node, _ifb(far.name)) if p.far else None

    def departure_point(self, forward: bool) -> tuple[Node, str, str]:
        """Where to capture packets that begin to cross the link: node, device, in or out."""
        near, far = (self.intf1, self.intf2) if forward else (self.intf2, self.intf1)
        if self.offload:  # where they are single segments
            return far.node, far.name, "in"
        return near.node, near.name, "out"

    def departed_ms(self, forward: bool) -> float:
        """Delay of this link that a packet has behind it where it is seen leaving; a host's qdisc comes first."""
        p = self.plans[0 if forward else 1]
        return float((self.forward if forward else self.reverse).delay_ms) if p.rate_far else 0.0

    def arrival_point(self, forward: bool) -> tuple[Node, str, str]:
        """Where to capture packets that have crossed the link: node, device, in or out."""
        near, far = (self.intf1, self.intf2) if forward else (self.intf2, self.intf1)
        if self.offload:  # before the host merges them; nothing but the wire is in between
            return near.node, near.name, "out"
        if self.plans[0 if forward else 1].far:
            return far.node, _ifb(far.name), "out"
        return far.node, far.name, "in"


def _direction(way: Direction | dict[str, Any] | None, common: dict[str, Any]) -> Direction:
    if isinstance(way, Direction):
        return way
    return Direction(**_with_loss(common | (way or {})))


def _with_loss(values: dict[str, Any]) -> dict[str, Any]:
    """Keywords of a direction, of which loss may be those of Loss."""
    loss = values.get("loss")
    return values | {"loss": Loss(**loss)} if isinstance(loss, dict) else values


def _ifb(dev: str) -> str:
    """Name of the ifb that carries what arrives at ``dev`` (15 characters at most)."""
    return f"i-{dev}"[:15]


def is_host(node: Node) -> bool:
    """A node that does not forward is a source of traffic."""
    return not getattr(node, "forwards", False)
