# SPDX-License-Identifier: GPL-2.0
"""A scenario with everything filled in: directions, queues in packets, single flows and changes."""

import math
from dataclasses import dataclass
from typing import Any

from hetlab.errors import LabError
from hetlab.model.limits import LIMITS
from hetlab.model.scenario import FlowModel, LinkModel, RouteModel, Scenario, ScenarioModel, Way, _direction

FIRST_PORT = 5001


def resolve(scenario: Scenario) -> dict[str, Any]:
    """Plain dict for experiment.py: directions filled in, queues in packets, flows numbered."""
    m = scenario.model
    if m.abstract:
        raise LabError(f"{scenario.source}: abstract, only a base for others")
    links = {name: _link(m, name, link) for name, link in m.link.items()}
    flows = _flows(m)
    bottleneck = m.measure.bottleneck or _bottleneck(m)
    queues = list(dict.fromkeys([bottleneck, *m.measure.queues])) if bottleneck else m.measure.queues
    tested = {(f["src"], f["dst"]): None for f in flows if f["proto"] == "tcp" and not f["cc"]}
    for wanted in ("tcp", "udp"):
        tested = tested or {(f["src"], f["dst"]): None for f in flows if f["proto"] == wanted}
    return {
        "name": scenario.name,
        "title": m.title,
        "hosts": m.hosts,
        "routers": m.routers,
        "duration_s": m.duration_s,
        "ipv6": m.ipv6,
        "links": links,
        "flows": flows,
        "route": {n: r.spell(_bdp_pkts(m, n, r)) for n, r in m.route.items()},
        "clock": {n: c.skew_ppm for n, c in m.clock.items() if c.skew_ppm},
        "events": _events(m),
        "sysctl": DEFAULT_SYSCTL | m.sysctl,
        "measure": m.measure.model_dump()
        | {"bottleneck": bottleneck, "queues": queues, "owd": [list(p) for p in tested] if m.measure.owd else []},
    }


# Windows never the limit, nothing remembered from an earlier connection
DEFAULT_SYSCTL: dict[str, int | str] = {
    "net.ipv4.tcp_rmem": "4096 8388608 268435456",
    "net.ipv4.tcp_wmem": "4096 1048576 268435456",
    "net.ipv4.tcp_no_metrics_save": 1,
    "net.ipv4.tcp_no_ssthresh_metrics_save": 0,
}


def _link(m: ScenarioModel, name: str, link: LinkModel) -> dict[str, Any]:
    ways = {way: _way(m, name, _direction(link, way), link.mtu) for way in ("forward", "reverse")}
    return {"ends": list(link.ends), "mtu": link.mtu, "offload": link.offload} | ways


def _events(m: ScenarioModel) -> list[dict[str, Any]]:
    """Every single change of a direction until the end, in the order of time."""
    found: list[dict[str, Any]] = []
    for event in m.event:
        turns = 1 if event.every_s is None else max(math.ceil((m.duration_s - event.at_s) / event.every_s), 0)
        for i in range(turns):
            at_s = event.at_s + i * (event.every_s or 0)
            values = {name: cycle[i % len(cycle)] for name, cycle in event.changes.items()}
            for way in event.ways:
                found.append({"at_s": at_s, "link": event.link, "way": way} | _in_mbit(values, m.link[event.link], way))
    return sorted((e for e in found if e["at_s"] < m.duration_s), key=lambda e: float(e["at_s"]))


def _in_mbit(values: dict[str, float], link: LinkModel, way: str) -> dict[str, float]:
    """Changes of a direction, with a share of its rate as a rate."""
    rate_mbit = _direction(link, way).rate_mbit
    if "rate_share" not in values or rate_mbit is None:
        return values
    others = {name: value for name, value in values.items() if name != "rate_share"}
    return others | {"rate_mbit": values["rate_share"] * rate_mbit}


def _bdp_pkts(m: ScenarioModel, node: str, route: RouteModel) -> float:
    """Bandwidth-delay product of the first flow from a node, in packets; 0 where nothing counts in it."""
    if route.cwnd_max_bdp is None:
        return 0
    flow = next((f for f in m.flow.values() if f.src == node), None)
    narrow = _narrowest(m, flow) if flow else None
    if narrow is None:
        raise LabError(f"route.{node}.cwnd_max_bdp: no flow from {node} over a link with rate_mbit")
    link = m.link[narrow.link]
    return narrow.rate_mbit * 1e6 * base_rtt_ms(m, narrow.link) / 1e3 / 8 / link.mtu


def _way(m: ScenarioModel, name: str, way: Way, mtu: int) -> dict[str, Any]:
    out = way.model_dump(exclude={"queue_bdp"})
    out["mtu"] = mtu
    if way.queue_bdp is not None:
        assert way.rate_mbit is not None
        bdp_pkts = way.rate_mbit * 1e6 * base_rtt_ms(m, name) / 1e3 / 8 / mtu
        out["queue_pkts"] = max(math.ceil(way.queue_bdp * bdp_pkts), 1)
    elif way.queue_pkts is None:
        out["queue_pkts"] = 1000
    return out


def base_rtt_ms(m: ScenarioModel, through: str | None = None) -> float:
    """Longest round trip propagation delay of a flow (through a link), both ways."""
    best = 0.0
    for flow in m.flow.values():
        path = _path(m, flow.src, flow.dst)
        if through is not None and through not in path:
            continue
        best = max(best, sum(m.link[n].forward.delay_ms + _reverse_delay(m.link[n]) for n in path))
    return best


def _reverse_delay(link: LinkModel) -> float:
    return (link.reverse or link.forward).delay_ms


def _path(m: ScenarioModel, src: str, dst: str) -> list[str]:
    """Names of the links of a shortest path."""
    front: list[tuple[str, list[str]]] = [(src, [])]
    seen = {src}
    while front:
        node, path = front.pop(0)
        if node == dst:
            return path
        for name, link in m.link.items():
            if node in link.ends:
                peer = link.ends[1] if node == link.ends[0] else link.ends[0]
                if peer not in seen and (peer == dst or peer in m.routers):
                    seen.add(peer)
                    front.append((peer, [*path, name]))
    raise LabError(f"no path from {src} to {dst}: hosts do not forward, routers do")


@dataclass(frozen=True)
class Narrow:
    """The direction of a path with its smallest rate."""

    link: str
    way: str
    rate_mbit: float


def _narrowest(m: ScenarioModel, flow: FlowModel) -> Narrow | None:
    """On the path of a flow; None if no link of it has a rate."""
    here, best = flow.src, None
    for name in _path(m, flow.src, flow.dst):
        link = m.link[name]
        way = "forward" if here == link.ends[0] else "reverse"
        here = link.ends[1] if way == "forward" else link.ends[0]
        rate_mbit = _direction(link, way).rate_mbit
        if rate_mbit is not None and (best is None or rate_mbit < best.rate_mbit):
            best = Narrow(name, way, rate_mbit)
    return best


def _bottleneck(m: ScenarioModel) -> str | None:
    """Direction with the smallest rate on the path of the first flow."""
    narrow = _narrowest(m, next(iter(m.flow.values())))
    return f"{narrow.link}.{narrow.way}" if narrow else None


def _flows(m: ScenarioModel) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for name, flow in m.flow.items():
        rate = {"rate_mbit": _flow_mbit(m, name, flow)}
        for i in range(flow.count):
            start = flow.start_s + i * flow.stagger_s
            left = max(m.duration_s - start, LIMITS["duration_s"][0])
            out.append(
                flow.model_dump(exclude={"count", "stagger_s", "rate_share"})
                | rate
                | {
                    "id": len(out),
                    "name": name if flow.count == 1 else f"{name}{i}",
                    "port": FIRST_PORT + len(out),
                    "start_s": start,
                    "duration_s": min(flow.duration_s or left, left),
                }
            )
    return out


def _flow_mbit(m: ScenarioModel, name: str, flow: FlowModel) -> float | None:
    """Rate of a flow, where it has one of its own."""
    if flow.rate_share is None:
        return flow.rate_mbit
    narrow = _narrowest(m, flow)
    if narrow is None:
        raise LabError(f"flow.{name}.rate_share: no link from {flow.src} to {flow.dst} has rate_mbit")
    return flow.rate_share * narrow.rate_mbit
