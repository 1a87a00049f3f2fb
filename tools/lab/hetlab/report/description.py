# SPDX-License-Identifier: GPL-2.0
"""A scenario in words."""

from collections.abc import Mapping
from typing import Any

from hetlab.report.runs import NONE, Group

MANY_FLOWS = 6


# ------------------------------------------------------------- the scenario


def _way_row(name: str, link: Mapping[str, Any], way: str) -> list[str]:
    """A direction of a link in words."""
    here = link[way]
    ends = link["ends"] if way == "forward" else link["ends"][::-1]
    rate, delay = here["rate_mbit"], f"{here['delay_ms']:g} ms"
    if here.get("jitter_ms"):
        delay += f" ± {here['jitter_ms']:g} ms"
    options = "".join(f" {k}={v}" for k, v in (here.get("aqm_options") or {}).items())
    queue = f"{here['queue_pkts']} pkts" + ("" if here["aqm"] == "fifo" else f", {here['aqm']}{options}")
    other = [f"{what} {here[key]:g} %" for what, key in OTHER_FAULTS if here.get(key)]
    return [
        f"{name}.{way}",
        f"{ends[0]} → {ends[1]}",
        "unlimited" if rate is None else _rate(rate),
        delay,
        queue,
        ", ".join([_loss(here["loss"]), *other]),
        f"{link['mtu']} bytes",
    ]


OTHER_FAULTS = (("reordered", "reorder_percent"), ("duplicated", "duplicate_percent"))
WAY_HEADS = ("direction", "from → to", "rate", "delay", "queue", "loss", "MTU")


def _rate(mbit: float) -> str:
    return f"{mbit * 1000:g} kbit/s" if mbit < 1 else f"{mbit:g} Mbit/s"


def _loss(loss: Mapping[str, Any]) -> str:
    if loss["model"] == "ber":
        return f"bit error rate {loss['ber']:g}"
    if loss["model"] == "gemodel":
        return f"{loss['percent']:g} % in bursts of {loss['burst_pkts']:g} pkts"
    return "none" if loss["model"] == "none" else f"{loss['percent']:g} % {loss['model']}"


FLOW_HEADS = ("flow", "from → to", "protocol", "congestion control", "start", "ends after", "limits")
FLOW_LIMITS = (
    ("rate_mbit", "sends {:g} Mbit/s"),
    ("packet_bytes", "packets of {:g} bytes"),
    ("on_s", "on {:g} s"),
    ("off_s", "off {:g} s"),
    ("pace_mbit", "paced to {:g} Mbit/s"),
    ("clamp", "receive window at most {:g} bytes"),
    ("rcvlowat", "SO_RCVLOWAT {:g} bytes"),
)


def _flow_row(flow: Mapping[str, Any]) -> list[str]:
    """A flow in words."""
    udp = flow["proto"] == "udp"
    ends = f"{flow['duration_s']:g} s" + (f" or {flow['bytes']} bytes" if flow.get("bytes") else "")
    limits = [text.format(flow[k]) for k, text in FLOW_LIMITS if flow.get(k) and (udp or k != "packet_bytes")]
    cc = NONE if udp else flow["cc"] or "under test"
    route = f"{flow['src']} → {flow['dst']}"
    return [flow["name"], route, flow["proto"].upper(), cc, f"{flow['start_s']:g} s", ends, ", ".join(limits) or "none"]


def description(g: Group) -> dict[str, Any]:
    """What the page says of a scenario: links, flows, settings."""
    sc = g.resolved
    measure = sc["measure"]
    settings = [(f"route of {node}", words) for node, words in sc.get("route", {}).items() if words]
    settings += [(key, str(value)) for key, value in sorted(sc.get("sysctl", {}).items())]
    return {
        "way_heads": WAY_HEADS,
        "ways": [_way_row(n, link, way) for n, link in sc["links"].items() for way in ("forward", "reverse")],
        "flow_heads": FLOW_HEADS,
        "flows": [_flow_row(f) for f in sc["flows"]],
        "many_flows": len(sc["flows"]) > MANY_FLOWS,
        "settings": settings,
        "facts": [
            f"duration {sc['duration_s']:g} s",
            f"bottleneck {measure['bottleneck'] or 'none'}",
            f"queue and delay statistics from {measure['steady_from_s']:g} s on",
            f"samples every {measure['sample_ms']} ms (flows), {measure['queue_ms']} ms (queue)",
            "IPv6" if sc["ipv6"] else "IPv4",
        ],
    }
