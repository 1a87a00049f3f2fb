# SPDX-License-Identifier: GPL-2.0
"""The links of a scenario on one of two real hosts.

All links of the path become one emulated link: their delays add up, so do their
losses, the smallest rate has its queue. Packets of the flows' ports, and no
others, take the way over an ifb for each direction:

    netem delay, jitter, loss  ->  netem rate, or an AQM behind tbf

A packet is lost before the queue here, and waits in it after its delay; with a
constant delay nothing else differs from the lab's links.
"""

import json
import math
from dataclasses import dataclass, replace
from typing import Any

from hetlab.emulation import lacking
from hetlab.emulation.qdiscs import Qdisc, delay_qdisc, mismatch, rate_qdiscs
from hetlab.errors import LabError
from hetlab.hosts.connection import Refusal
from hetlab.model import dualpi2
from hetlab.model.graph import shortest_path
from hetlab.model.keys import as_plain
from hetlab.model.link import Direction, Loss
from hetlab.model.scenario import WAYS, Experiment

IFB = {"in": "hetlab-in", "out": "hetlab-out"}
# What tc and the kernel load for this where it is not built in
AQM_MODULES = ("sch_tbf", "sch_red", "sch_fq_codel", "sch_codel", "sch_pie", "sch_fq", "sch_cake")
MODULES = ("ifb", "act_mirred", "cls_flower", "sch_ingress", "sch_netem", *AQM_MODULES)
ORDER = ("reorder_percent", "reorder_gap_pkts", "duplicate_percent")
ODD = ("jitter_ms", "jitter_in_order", "slot_ms", "slot_pkts", *ORDER)
OWN = ("rate_mbit", "queue_pkts", "aqm", "aqm_options", "mark_above_ms", "ack_filter")


@dataclass(frozen=True)
class Way:
    """A direction of the whole path, and the MTU of its slowest link."""

    direction: Direction
    mtu: int


def path(sc: Experiment, src: str, dst: str) -> list[tuple[str, bool]]:
    """Links from one host to the other, each with whether it is passed forward."""
    ends = {name: link.ends for name, link in sc.links.items()}
    return shortest_path(ends, lambda node: node in sc.routers, src, (dst,))


def one_way(sc: Experiment, links: list[tuple[str, bool]]) -> Way:
    """All links of a way as one; LabError naming what does not add up."""
    ways = [(name, sc.links[name].way(WAYS[not forward]), sc.links[name].mtu) for name, forward in links]
    if filtered := [f"link.{n}" for n, w, _mtu in ways if w.filtered]:
        names = ", ".join(filtered)
        raise LabError(f"{sc.name}: --netem: no policer, ecn_bleach or blackhole_above_bytes on real hosts: {names}")
    if unknown := [f"link.{n}" for n, w, _mtu in ways if w.aqm == dualpi2.KIND]:
        raise LabError(f"{sc.name}: --netem: tc of Debian 12 and 13 cannot make dualpi2: {', '.join(unknown)}")
    odd = [(n, w) for n, w, _mtu in ways if w.loss.model == "gemodel" or any(getattr(w, key) for key in ODD)]
    if len(odd) > 1:
        names = ", ".join(f"link.{n}" for n, _w in odd)
        raise LabError(f"{sc.name}: --netem: jitter, slots, reordering or bursts of loss on several links: {names}")
    _name, narrow, mtu = min(ways, key=lambda way: way[1].rate_mbit or math.inf)
    values = {key: getattr(odd[0][1], key) for key in ODD} if odd else {}
    values |= {key: getattr(narrow, key) for key in OWN}
    delay_ms = sum(w.delay_ms for _n, w, _mtu in ways)
    return Way(Direction(**values, delay_ms=delay_ms, loss=_loss(sc, [(w.loss, m) for _n, w, m in ways])), mtu)


def _loss(sc: Experiment, losses: list[tuple[Loss, int]]) -> Loss:
    """Losses of links, each with the MTU there, as one."""
    lossy = [(loss, mtu) for loss, mtu in losses if loss.model != "none"]
    if not lossy:
        return Loss()
    if len(lossy) == 1:
        return lossy[0][0]
    if any(loss.model == "gemodel" for loss, _mtu in lossy):
        raise LabError(f"{sc.name}: --netem: bursts of loss (gemodel) beside other loss on the path")
    kept = math.prod(1 - loss.probability(mtu) for loss, mtu in lossy)
    return Loss("random", 100 * (1 - kept))


@dataclass(frozen=True)
class Emulation:
    """One emulated link on a host: what arrives there and what leaves."""

    arriving: Way
    leaving: Way

    def describe(self) -> dict[str, Any]:
        """For the result."""
        ways = {"arriving": self.arriving, "leaving": self.leaving}
        return {name: as_plain(way.direction) | {"mtu": way.mtu} for name, way in ways.items()}

    def install(self, host: Any, dev: str, peer: str, ports: list[int]) -> None:
        """Build it on interface ``dev`` for the ports of the flows with ``peer``."""
        self._refuse_qdisc(host, dev)
        _add(host, "sch_ingress", ["tc", "qdisc", "add", "dev", dev, "clsact"], _tc_del(dev))
        for end, way in (("in", self.arriving), ("out", self.leaving)):
            ifb = IFB[end]
            _add(host, "ifb", ["ip", "link", "add", ifb, "type", "ifb"], ["ip", "link", "del", ifb])
            host.call("change", args=["ip", "link", "set", ifb, "up"], undo=None)
            for q in _qdiscs(way, ifb):
                _add(host, f"sch_{q.kind}", ["tc", "qdisc", "add", "dev", ifb, *q.args.split()])
                self._check(host, q)
            for words in _filters(end, peer, ports):
                args = ["tc", "filter", "add", "dev", dev, *words, "action", "mirred", "egress", "redirect", "dev", ifb]
                _add(host, "cls_flower or act_mirred", args)

    @staticmethod
    def _refuse_qdisc(host: Any, dev: str) -> None:
        """LabError if the interface has filters already: the order with ours would matter."""
        for q in host.facts["qdiscs"]:
            if q["kind"] in ("ingress", "clsact"):
                raise LabError(f"{host}: {dev} has a {q['kind']} qdisc already; --netem needs to add its own")

    @staticmethod
    def _check(host: Any, want: Qdisc) -> None:
        handle = want.args.split("handle ")[1].split()[0]
        got = json.loads(host.call("show", args=["tc", "-j", "qdisc", "show", "dev", want.dev]))
        wrong = mismatch(want, [q for q in got if q["handle"] == handle])
        if wrong:
            raise LabError(f"{host}: tc did not take {want.args!r} on {want.dev}: {wrong}")

    def counters(self, host: Any, arriving: str, leaving: str) -> dict[str, Any]:
        """What the qdiscs counted, as metrics.queue_result reads it, under the names of the two ways."""
        found = {arriving: _counted(host, IFB["in"]), leaving: _counted(host, IFB["out"])}
        for stages in found.values():
            if not stages["impair"]["packets"]:
                raise LabError(f"{host}: no packet of the flows took the emulated link (is the path translated, NAT?)")
        return found


def _add(host: Any, module: str, args: list[str], undo: list[str] | None = None) -> None:
    """Make a change that needs a module of the host's kernel; LabError naming that if it is not there."""
    try:
        host.call("change", args=args, undo=undo)
    except Refusal as err:
        if not lacking.ON_ANY_KERNEL.search(str(err)):
            raise
        raise LabError(_lacks(host, module)) from None


def _lacks(host: Any, module: str) -> str:
    release = host.facts["release"]
    needs = f"its kernel {release} lacks the module {module}, which --netem needs there"
    return f"{host}: {needs}. {lacking.advice(release)}"


def _tc_del(dev: str) -> list[str]:
    return ["tc", "qdisc", "del", "dev", dev, "clsact"]


def _qdiscs(way: Way, ifb: str) -> list[Qdisc]:
    """Delay and loss first; rate and queue are its children."""
    first = delay_qdisc(way.direction, way.mtu, ifb, running=True)
    return first + [replace(q, args=_below(q.args)) for q in rate_qdiscs(way.direction, way.mtu, ifb)]


def _below(args: str) -> str:
    """Handles one level further down."""
    lower = args.replace("parent 1:1 handle 10:", "parent 2:1 handle 10:")
    return lower.replace("root handle 1:", "parent 1:1 handle 2:")


def _filters(way: str, peer: str, ports: list[int]) -> list[list[str]]:
    """Words of tc-filter(8) for every port at either end."""
    family = "ipv6" if ":" in peer else "ip"
    hook, address = ("ingress", "src_ip") if way == "in" else ("egress", "dst_ip")
    head = [hook, "protocol", family, "flower", "ip_proto", "tcp", address, peer]
    return [[*head, end, str(port)] for port in ports for end in ("dst_port", "src_port")]


def _counted(host: Any, ifb: str) -> dict[str, Any]:
    """Of both stages; the first one's drops include the second one's."""
    got = json.loads(host.call("show", args=["tc", "-s", "-j", "qdisc", "show", "dev", ifb]))
    by_handle = {q["handle"]: q for q in got}
    first, second = by_handle["1:"], by_handle.get("2:")
    return {"impair": first | {"drops": first["drops"] - (second["drops"] if second else 0)}, "queue": second}
