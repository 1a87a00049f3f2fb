# SPDX-License-Identifier: GPL-2.0
"""A scenario with everything filled in: directions, queues in packets, single flows and changes."""

import heapq
import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hetlab.errors import LabError
from hetlab.model import workload
from hetlab.model.event import RATE_CHANGES, Change, Event
from hetlab.model.flow import Flow, Flows, Traffic
from hetlab.model.graph import shortest_path
from hetlab.model.keys import ModelError
from hetlab.model.limits import LIMITS
from hetlab.model.link import Direction, Link
from hetlab.model.scenario import WAYS, Experiment, Point, Route, Scenario, Sysctls
from hetlab.model.traces import Played, played
from hetlab.model.workload import Workload

FIRST_PORT = 5001
TRACES = ("trace", "trace_delay", "trace_loss")
# Windows never the limit, nothing remembered from an earlier connection
DEFAULT_SYSCTL: Sysctls = {
    "net.ipv4.tcp_rmem": "4096 8388608 268435456",
    "net.ipv4.tcp_wmem": "4096 1048576 268435456",
    "net.ipv4.tcp_no_metrics_save": 1,
    "net.ipv4.tcp_no_ssthresh_metrics_save": 0,
}


def resolve(point: Point) -> Experiment:
    """The experiment of a scenario: directions filled in, queues in packets, flows numbered. ModelError: the key."""
    s = point.scenario
    if s.abstract:
        raise ModelError(f"{point.source}: abstract, only a base for others")
    links = {name: _link(s, name, link) for name, link in s.link.items()}
    flows = _flows(s)
    bottleneck = s.measure.bottleneck or _bottleneck(s)
    queues = tuple(dict.fromkeys([bottleneck, *s.measure.queues])) if bottleneck else s.measure.queues
    return Experiment(
        name=point.name,
        title=s.title,
        hosts=s.hosts,
        routers=s.routers,
        duration_s=s.duration_s,
        ipv6=s.ipv6,
        links=links,
        flows=flows,
        route={node: route.spell(_bdp_pkts(s, node, route)) for node, route in s.route.items()},
        clock={host: clock.skew_ppm for host, clock in s.clock.items() if clock.skew_ppm},
        clock_offset={host: clock.offset_s for host, clock in s.clock.items() if clock.offset_s},
        clock_stands=tuple(host for host, clock in s.clock.items() if clock.stands),
        events=_events(s, links),
        traces=_traces(s),
        sysctl=DEFAULT_SYSCTL | s.sysctl,
        measure=replace(s.measure, bottleneck=bottleneck, queues=queues),
        owd_pairs=_under_test(flows) if s.measure.owd else (),
    )


def _under_test(flows: tuple[Flow, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of hosts with a flow under test; without any, with a TCP flow, or with any."""
    groups = (
        [f for f in flows if f.proto == "tcp" and not f.cc],
        [f for f in flows if f.proto == "tcp"],
        list(flows),
    )
    chosen = next((group for group in groups if group), [])
    return tuple(dict.fromkeys((f.src, f.dst) for f in chosen))


def _link(s: Scenario, name: str, link: Link) -> Link:
    forward, reverse = (_in_packets(s, name, way, link.mtu) for way in WAYS)
    return replace(link, forward=forward, reverse=reverse)


def _in_packets(s: Scenario, name: str, side: str, mtu: int) -> Direction:
    """A direction with its queue in packets, traces by the names of their files."""
    way = s.link[name].way(side)
    names: Any = {key: Path(text).name for key in TRACES if (text := getattr(way, key))}
    way = replace(way, **names)
    if way.queue_bytes is not None:
        return way
    if way.queue_bdp is None:
        return replace(way, queue_pkts=way.limit_pkts)
    rate_mbit = _rate_mbit(s, name, side)
    assert rate_mbit is not None
    bdp_pkts = rate_mbit * 1e6 * base_rtt_ms(s, name) / 1e3 / 8 / mtu
    return replace(way, queue_pkts=max(math.ceil(way.queue_bdp * bdp_pkts), 1), queue_bdp=None)


def _events(s: Scenario, links: dict[str, Link]) -> tuple[Change, ...]:
    """Every single change of a direction until the end, in the order of time, and what takes changes back.

    At one instant a change is taken back before another is made.
    """
    planned = (
        (change, event.duration_s, f"event.{number}")
        for number, event in enumerate(s.event)
        for i in range(_turns(event, s.duration_s))
        for change in _changes(s, event, i)
    )
    waiting = [(change.at_s, order, change, for_s, where) for order, (change, for_s, where) in enumerate(planned)]
    heapq.heapify(waiting)
    state = {(name, way): link.way(way) for name, link in links.items() for way in WAYS}
    found: list[Change] = []
    while waiting and waiting[0][0] < s.duration_s:
        at_s, _order, change, duration_s, where = heapq.heappop(waiting)
        before = state[change.link, change.way]
        state[change.link, change.way] = _changed(before, change, where)
        found.append(change)
        if duration_s is not None:
            end_s = round(at_s + duration_s, 9)
            heapq.heappush(waiting, (end_s, -len(found), change.back(end_s, before), None, where))
    return tuple(found)


def _changed(way: Direction, change: Change, where: str) -> Direction:
    """A direction after a change; ModelError naming the event if it does not fit what the direction has.

    A rate of 0 holds packets and leaves the direction its rate.
    """
    values = {key: value for key, value in change.values.items() if (key, value) != ("rate_mbit", 0)}
    try:
        return replace(way, **values)
    except ModelError as err:
        raise ModelError(f"{where}, at {change.at_s:g} s: link.{change.link}.{change.way}: {err}") from err


def _played(s: Scenario, name: str, side: str) -> Played | None:
    """What a direction plays; ModelError naming it where it cannot."""
    try:
        return played(s.link[name].way(side), s.duration_s)
    except LabError as err:
        raise ModelError(f"link.{name}.{side}: {err}") from err


def _traces(s: Scenario) -> dict[str, Played]:
    """What directions play; ModelError where an event would change it, too."""
    found = {f"{name}.{side}": one for name in s.link for side in WAYS if (one := _played(s, name, side))}
    for i, event in enumerate(s.event):
        for side in event.ways:
            one = found.get(f"{event.link}.{side}")
            if one and event.changes.keys() - RATE_CHANGES and {"delay", "loss"} & set(one.kinds):
                raise ModelError(f"event.{i}: link.{event.link}.{side} has its delay or loss from a trace")
    return found


def _rate_mbit(s: Scenario, name: str, side: str) -> float | None:
    """Rate of a direction; of a trace the mean of all of it."""
    one = _played(s, name, side)
    return s.link[name].way(side).rate_mbit if one is None or one.mean_mbit is None else one.mean_mbit


def _delay_ms(s: Scenario, name: str, side: str) -> float:
    """Delay of a direction; of a trace the mean of all of it."""
    one = _played(s, name, side)
    return s.link[name].way(side).delay_ms if one is None or one.delay_ms is None else one.delay_ms


def _turns(event: Event, duration_s: float) -> int:
    """How many times an event happens."""
    return 1 if event.every_s is None else max(math.ceil((duration_s - event.at_s) / event.every_s), 0)


def _changes(s: Scenario, event: Event, i: int) -> list[Change]:
    """Changes of the i-th time, one a direction; a share of a rate as a rate."""
    values = {name: cycle[i % len(cycle)] for name, cycle in event.changes.items()}
    share = values.pop("rate_share", None)
    found = []
    for way in event.ways:
        rate_mbit = s.link[event.link].way(way).rate_mbit
        own = {} if share is None or rate_mbit is None else {"rate_mbit": share * rate_mbit}
        at_s = event.at_s + i * (event.every_s or 0)
        found.append(Change(at_s=at_s, link=event.link, way=way, **(values | own)))
    return found


def _bdp_pkts(s: Scenario, node: str, route: Route) -> float:
    """Bandwidth-delay product of the first flow from a node, in packets; 0 where no key is given in units of it."""
    if route.cwnd_max_bdp is None:
        return 0
    flow = next((f for f in s.flow.values() if f.src == node), None)
    narrow = _narrowest(s, flow) if flow else None
    if narrow is None:
        raise ModelError(f"route.{node}.cwnd_max_bdp: no flow from {node} over a link with rate_mbit")
    return narrow.rate_mbit * 1e6 * base_rtt_ms(s, narrow.link) / 1e3 / 8 / s.link[narrow.link].mtu


def base_rtt_ms(s: Scenario, through: str | None = None) -> float:
    """Longest round trip propagation delay of a flow (through a link), both ways."""
    best = 0.0
    for flow in s.flow.values():
        path = [name for name, _forward in _path(s, flow)]
        if through is not None and through not in path:
            continue
        best = max(best, sum(_delay_ms(s, n, side) for n in path for side in WAYS))
    return best


def _path(s: Scenario, flow: Traffic) -> list[tuple[str, bool]]:
    ends = {name: link.ends for name, link in s.link.items()}
    return shortest_path(ends, lambda node: node in s.routers, flow.src, (flow.dst,))


@dataclass(frozen=True)
class Narrow:
    """The direction of a path with its smallest rate."""

    link: str
    way: str
    rate_mbit: float


def _narrowest(s: Scenario, flow: Traffic) -> Narrow | None:
    """On the path of a flow; None if no link of it has a rate."""
    ways = [(name, WAYS[not forward]) for name, forward in _path(s, flow)]
    rates = [(name, way, _rate_mbit(s, name, way)) for name, way in ways]
    rated = [Narrow(name, way, rate) for name, way, rate in rates if rate is not None]
    return min(rated, key=lambda narrow: narrow.rate_mbit, default=None)


def _bottleneck(s: Scenario) -> str | None:
    """Direction with the smallest rate on the path of the first flow."""
    narrow = _narrowest(s, next(iter(s.flow.values())))
    return f"{narrow.link}.{narrow.way}" if narrow else None


def _flows(s: Scenario) -> tuple[Flow, ...]:
    """Every single flow, numbered."""
    found: list[Flow] = []
    for name, flows in s.flow.items():
        common = {f.name: getattr(flows, f.name) for of in (Traffic, Workload) for f in fields(of)}
        common |= {"rate_mbit": _flow_mbit(s, name, flows), **_workload(s, name, flows)}
        for i in range(flows.count):
            start_s = flows.start_s + i * flows.stagger_s
            left_s = max(s.duration_s - start_s, LIMITS["duration_s"][0])
            own = {
                "id": len(found),
                "name": name if flows.count == 1 else f"{name}{i}",
                "port": FIRST_PORT + len(found),
                "start_s": start_s,
                "duration_s": min(flows.duration_s or left_s, left_s),
            }
            found.append(Flow(**(common | own)))
    return tuple(found)


def _workload(s: Scenario, name: str, flows: Flows) -> dict[str, Any]:
    """Keys of a workload that the scenario does not say itself: contents of files, times between arrivals of a load."""
    try:
        found: dict[str, Any] = workload.with_files(flows)
        flows = replace(flows, **found)
    except LabError as err:
        raise ModelError(f"flow.{name}.{err}") from err
    if flows.load_percent is None:
        return found
    narrow = _narrowest(s, flows)
    if narrow is None:
        raise ModelError(f"flow.{name}.load_percent: no link from {flows.src} to {flows.dst} has rate_mbit")
    bits_per_s = flows.load_percent / 100 * narrow.rate_mbit * 1e6 / flows.count
    return found | {"arrivals_s": f"exp:{workload.drawn(flows, 'size_bytes').mean * 8 / bits_per_s:.9g}"}


def _flow_mbit(s: Scenario, name: str, flows: Flows) -> float | None:
    """Rate of a flow, where it has one of its own."""
    if flows.rate_share is None:
        return flows.rate_mbit
    narrow = _narrowest(s, flows)
    if narrow is None:
        raise ModelError(f"flow.{name}.rate_share: no link from {flows.src} to {flows.dst} has rate_mbit")
    return flows.rate_share * narrow.rate_mbit
