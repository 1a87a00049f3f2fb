# SPDX-License-Identifier: GPL-2.0
"""What a scenario file says, and the experiment that one run makes of it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

from hetlab.errors import meant
from hetlab.model.event import RATE_CHANGES, Change, Event
from hetlab.model.flow import Flow, Flows, is_cc_name
from hetlab.model.graph import shortest_path
from hetlab.model.keys import Checked, Key, ModelError
from hetlab.model.link import Direction, Link
from hetlab.model.traces import Played

FORMAT = 1
IP_TCP_HEADERS = 40
OPTION_SYSCTL = "net.ipv4.tcp_santacruz"
WAYS = ("forward", "reverse")
Value = int | float | str | bool
Sysctls = dict[str, int | str]


@dataclass(frozen=True)
class Route(Checked):
    """Attributes of all routes of a node, as ip-route(8) has them."""

    initcwnd: Annotated[int | None, Key("initial window, in packets", "initcwnd")] = None
    cwnd_max_pkts: Annotated[int | None, Key("largest window", "initcwnd")] = None
    cwnd_max_bdp: Annotated[
        float | None, Key("largest window, in bandwidth-delay products of the node's first flow", "cwnd_max_bdp")
    ] = None
    ssthresh_pkts: Annotated[int | None, Key("initial slow start threshold", "initcwnd")] = None
    quickack: Annotated[bool | None, Key("acknowledge each segment at once")] = None
    rto_min_ms: Annotated[int | None, Key("shortest retransmission timeout", low=1, high=60_000)] = None
    congctl: Annotated[str | None, Key("congestion control of who listens there; dctcp gets ECN by it")] = None

    def check(self) -> None:
        """Refuse what does not fit together: ModelError."""
        if self.cwnd_max_pkts is not None and self.cwnd_max_bdp is not None:
            raise ModelError("give cwnd_max_pkts or cwnd_max_bdp, not both")
        if self.congctl is not None and not is_cc_name(self.congctl):
            raise ModelError(f"congctl={self.congctl!r}: a name of a to z, 0 to 9, _; at most 15 characters")

    def spell(self, bdp_pkts: float = 0) -> str:
        """In the words of ip-route(8); ``bdp_pkts`` is what cwnd_max_bdp counts."""
        words = []
        if self.initcwnd:
            words.append(f"initcwnd {self.initcwnd}")
        if most := self.cwnd_max_pkts or math.ceil((self.cwnd_max_bdp or 0) * bdp_pkts):
            words.append(f"cwnd lock {most}")
        if self.ssthresh_pkts:
            words.append(f"ssthresh {self.ssthresh_pkts}")
        if self.quickack is not None:
            words.append(f"quickack {int(self.quickack)}")
        if self.rto_min_ms:
            words.append(f"rto_min {self.rto_min_ms}ms")
        if self.congctl:
            words.append(f"congctl {self.congctl}")
        return " ".join(words)


@dataclass(frozen=True)
class Clock(Checked):
    """Clock of a host, as its TCP timestamps show it."""

    skew_ppm: Annotated[float, Key("how much faster it runs than true time; negative: slower", "skew_ppm")] = 0
    offset_s: Annotated[float, Key("how far it is ahead of true time; negative: behind", "offset_s")] = 0
    stands: Annotated[bool, Key("its timestamps stay the same: a receiver that hides its delay")] = False


@dataclass(frozen=True)
class Measure(Checked):
    """What is recorded, and how often."""

    bottleneck: Annotated[
        str | None, Key("LINK.forward or LINK.reverse; none: the smallest rate on the first flow's path")
    ] = None
    queues: Annotated[tuple[str, ...], Key("further queues whose length is recorded")] = ()
    sample_ms: Annotated[int, Key("interval of tcp_info", "sample_ms")] = 100
    queue_ms: Annotated[int, Key("interval of queue lengths", "sample_ms")] = 10
    steady_from_s: Annotated[float, Key("statistics of queue and delay begin here", low=0, high=86_400)] = 2
    owd: Annotated[bool, Key("record the one-way delay of every packet")] = True
    pcap: Annotated[bool, Key("write pcap files, too")] = False


@dataclass(frozen=True, kw_only=True)
class Scenario(Checked):
    """A scenario file, complete; ``name`` and ``source`` (a file) are set when it is read."""

    format: Annotated[int, Key("version of this format", low=FORMAT, high=FORMAT)] = FORMAT
    title: Annotated[str, Key("what it models, in one line")] = ""
    abstract: Annotated[bool, Key("only a base for other scenarios")] = False
    note: Annotated[str, Key("assumptions, in a few lines")] = ""
    hosts: Annotated[tuple[str, ...], Key("nodes that send and receive")]
    routers: Annotated[tuple[str, ...], Key("nodes that forward")] = ()
    duration_s: Annotated[float, Key("length of a run", "duration_s")]
    ipv6: Annotated[bool, Key("flows use IPv6")] = False
    seeds: Annotated[tuple[int, ...], Key("seeds of the runs", low=0, high=2**32 - 1)] = (1,)
    compare: Annotated[tuple[str, ...], Key("congestion controls under test by default")] = ()
    link: Annotated[dict[str, Link], Key("links by name")]
    flow: Annotated[dict[str, Flows], Key("flows by name")]
    route: Annotated[dict[str, Route], Key("attributes of all routes of a node")] = field(default_factory=dict)
    clock: Annotated[dict[str, Clock], Key("clocks of hosts")] = field(default_factory=dict)
    event: Annotated[tuple[Event, ...], Key("changes of links")] = ()
    sysctl: Annotated[Sysctls, Key("sysctls of all nodes")] = field(default_factory=dict)
    params: Annotated[
        dict[str, dict[str, int | float | str]], Key("module parameters, by congestion control under test")
    ] = field(default_factory=dict)
    measure: Annotated[Measure, Key("what is recorded")] = field(default_factory=Measure)
    sweep: Annotated[
        dict[str, tuple[Value | tuple[Value, ...], ...]], Key("keys with lists of values: one run for each combination")
    ] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse names that are not there: ModelError."""
        if len(self.hosts) < 2:
            raise ModelError(f"hosts={list(self.hosts)}: at least two")
        nodes, hosts = set(self.hosts) | set(self.routers), set(self.hosts)
        for name, link in self.link.items():
            _known(f"link.{name}.ends", link.ends, nodes)
        for name, flow in self.flow.items():
            _known(f"flow.{name}", (flow.src, flow.dst), hosts)
            last_s = flow.start_s + (flow.count - 1) * flow.stagger_s + flow.start_jitter_s
            if last_s >= self.duration_s:
                late = "may begin" if flow.start_jitter_s else "begins"
                raise ModelError(f"flow.{name}: {late} at {last_s:g} s, the run ends at duration_s={self.duration_s:g}")
        linked = {end for link in self.link.values() for end in link.ends}
        if (unused := nodes - linked) and not self.abstract:
            raise ModelError(f"no link goes to {', '.join(sorted(unused))}")
        _known("route", self.route, nodes)
        _known("clock", self.clock, hosts)
        for i, event in enumerate(self.event):
            _known(f"event.{i}.link", [event.link], set(self.link))
            _changeable(f"event.{i}", event, self.link[event.link])
        directions = {f"{name}.{way}" for name in self.link for way in WAYS}
        _known("measure.queues", self.measure.queues, directions)
        _known("measure.bottleneck", [self.measure.bottleneck] if self.measure.bottleneck else [], directions)

    def unreached(self) -> list[str]:
        """What begins after the end of the run, one line each: events that do not happen, a steady part without any."""
        end = f"is not before the end, duration_s={self.duration_s:g}"
        found = [
            f"event.{i}: at_s={event.at_s:g} {end}: it does not happen"
            for i, event in enumerate(self.event)
            if event.at_s >= self.duration_s
        ]
        if (steady_s := self.measure.steady_from_s) >= self.duration_s:
            found.append(f"measure.steady_from_s={steady_s:g} {end}: queue and delay have no statistics")
        return found

    @property
    def needs_option(self) -> bool:
        """Whether it sets the sysctl that only a kernel with santacruz_opt.patch has."""
        return OPTION_SYSCTL in self.sysctl


def _known(where: str, names: Iterable[str], allowed: set[str]) -> None:
    for name in names:
        if name not in allowed:
            raise ModelError(f"{where}: {name!r} is not one of {', '.join(sorted(allowed))}{meant(name, allowed)}")


def _changeable(where: str, event: Event, link: Link) -> None:
    """A running link has the stages it was made with."""
    for name in event.ways:
        way = link.way(name)
        if event.changes.keys() & RATE_CHANGES and way.rate_mbit is None:
            raise ModelError(f"{where}: link.{event.link}.{name} has no rate_mbit that could change")
        if 0 in (*(event.rate_mbit or ()), *(event.rate_share or ())) and not way.rate_at_once:
            raise ModelError(f"{where}: a rate of 0 needs rate_at_once = true of link.{event.link}.{name}")
        if event.changes.keys() - RATE_CHANGES and (way.trace_delay or way.trace_loss):
            raise ModelError(f"{where}: link.{event.link}.{name} has its delay or loss from a trace")
        if event.changes.keys() - RATE_CHANGES and not way.behind_queue:
            raise ModelError(f"{where}: link.{event.link}.{name} has no stage for delay or loss: give it a delay_ms")


@dataclass(frozen=True)
class Point:
    """A scenario at one point of its sweep: full name, file it came from, what it says, how it was asked for."""

    name: str
    source: str
    scenario: Scenario
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment(Checked):
    """A scenario with everything filled in: what one run is made of."""

    name: Annotated[str, Key("scenario and point of its sweep")]
    title: Annotated[str, Key("what it models")] = ""
    hosts: Annotated[tuple[str, ...], Key("nodes that send and receive")]
    routers: Annotated[tuple[str, ...], Key("nodes that forward")] = ()
    duration_s: Annotated[float, Key("length of the run")]
    ipv6: Annotated[bool, Key("flows use IPv6")] = False
    links: Annotated[dict[str, Link], Key("links, both directions given")]
    flows: Annotated[tuple[Flow, ...], Key("every single flow")]
    route: Annotated[dict[str, str], Key("attributes of a node's routes, as ip-route(8) spells them")] = field(
        default_factory=dict
    )
    clock: Annotated[dict[str, float], Key("skew of hosts' clocks, in ppm")] = field(default_factory=dict)
    clock_offset: Annotated[
        dict[str, float], Key("how far hosts' clocks are ahead of true time, in s", sparse=True)
    ] = field(default_factory=dict)
    clock_stands: Annotated[tuple[str, ...], Key("hosts whose timestamps stay the same", sparse=True)] = ()
    events: Annotated[tuple[Change, ...], Key("every single change, in the order of time")] = ()
    sysctl: Annotated[Sysctls, Key("sysctls of all nodes")] = field(default_factory=dict)
    traces: Annotated[dict[str, Played], Key("what directions play, by LINK.forward or LINK.reverse", sparse=True)] = (
        field(default_factory=dict)
    )
    measure: Annotated[Measure, Key("what is recorded")]
    owd_pairs: Annotated[tuple[tuple[str, str], ...], Key("pairs of hosts whose one-way delay is recorded")] = ()

    @property
    def bottleneck(self) -> Direction | None:
        """The direction that is the bottleneck; None if there is none."""
        link, _, way = (self.measure.bottleneck or "").partition(".")
        return self.links[link].way(way) if link in self.links else None

    @property
    def clocks(self) -> dict[str, tuple[float, float, bool]]:
        """Hosts whose clock is not true, each with its skew (ppm) and offset (s), and whether it stands."""
        hosts = dict.fromkeys([*self.clock, *self.clock_offset, *self.clock_stands])
        ahead = {host: (self.clock.get(host, 0.0), self.clock_offset.get(host, 0.0)) for host in hosts}
        return {host: (*clock, host in self.clock_stands) for host, clock in ahead.items()}

    @property
    def filtered(self) -> bool:
        """Whether a link has a policer, ECN bleaching or a black hole."""
        return any(link.way(way).filtered for link in self.links.values() for way in WAYS)

    @property
    def impaired_later(self) -> set[tuple[str, str]]:
        """Directions (link, way) that an event gives jitter, slots, reordering, duplicates or another model of loss."""
        return {(change.link, change.way) for change in self.events if change.impairs}

    @property
    def rate_mbit(self) -> float | None:
        """Rate of the bottleneck; of a trace its mean in the time of the run."""
        if played := self.traces.get(self.measure.bottleneck or ""):
            return played.capacity_mbit
        return self.bottleneck.rate_mbit if self.bottleneck else None

    def path(self, src: str, dst: str) -> list[tuple[str, str]]:
        """Links from a host to another, each with the direction that is passed."""
        ends = {name: link.ends for name, link in self.links.items()}
        found = shortest_path(ends, lambda node: node in self.routers, src, (dst,))
        return [(name, WAYS[not forward]) for name, forward in found]

    @property
    def ends(self) -> tuple[str, ...]:
        """Hosts that have flows, in the order of flows."""
        return tuple(dict.fromkeys(host for flow in self.flows for host in (flow.src, flow.dst)))


def packet_payload(mtu: int) -> int:
    """TCP payload of a full packet with timestamps, IPv4."""
    return mtu - IP_TCP_HEADERS - 12
