# SPDX-License-Identifier: GPL-2.0
"""A scenario in words: every key of the model shows, those without a column of their own under their name."""

from collections.abc import Collection, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from hetlab.model.event import Change
from hetlab.model.flow import Flow
from hetlab.model.keys import Checked
from hetlab.model.link import Link, Loss, rate_text
from hetlab.model.scenario import WAYS, Experiment
from hetlab.model.traces import Played
from hetlab.plots.panels import Events
from hetlab.report.runs import Group
from hetlab.results.columns import NONE

MANY_FLOWS = 6
MOST_EVENTS = 24
LONG_TEXT = 60
MOST_MARKS = 60
# What an event changes, by the key of a direction
CHANGED = {
    **{"delay_ms": "delay", "rate_mbit": "rate", "loss": "loss", "jitter_ms": "jitter", "duplicate_percent": "copies"},
    **dict.fromkeys(("slot_ms", "slot_pkts"), "slots"),
    **dict.fromkeys(("reorder_percent", "reorder_gap_pkts"), "order"),
}
UNITS = {"ms": "ms", "s": "s", "mbit": "Mbit/s", "pkts": "pkts", "percent": "%", "bytes": "bytes", "ppm": "ppm"}
WAY_HEADS = ("direction", "from → to", "rate", "delay", "queue", "loss", "MTU", "more")
FLOW_HEADS = ("flow", "from → to", "protocol", "congestion control", "start", "ends after", "more")
EVENT_HEADS = ("time", "direction", "change")


def quantity(name: str, value: Any) -> str:
    """A key and its value: ``slot_ms`` and 5 are "slot 5 ms", ``jitter_in_order`` and True "jitter in order"."""
    words, _, last = name.rpartition("_")
    unit = UNITS.get(last, "") if words else ""
    shown = (words if unit else name).replace("_", " ")
    if value is True:
        return shown
    if isinstance(value, Loss):
        value = value.text
    elif isinstance(value, dict):
        value = " ".join(f"{k}={v}" for k, v in value.items())
    elif isinstance(value, tuple):
        value = ", ".join(" → ".join(v) if isinstance(v, tuple) else str(v) for v in value)
    elif isinstance(value, float):
        value = f"{value:g}"
    elif isinstance(value, str) and len(value) > LONG_TEXT:
        value = f"{value[:LONG_TEXT]}..."
    return f"{shown} {value} {unit}".strip()


def more(of: Checked, shown: Collection[str]) -> str:
    """All keys that are not shown elsewhere and differ from their default."""
    return ", ".join(quantity(n, value) for n, value in _not_default(of) if n not in shown) or NONE


def _not_default(of: Any) -> list[tuple[str, Any]]:
    found = []
    for f in fields(of):
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if (value := getattr(of, f.name)) != default and value is not None:
            found.append((f.name, value))
    return found


def _way_row(name: str, link: Link, way: str, played: Played | None) -> list[str]:
    """A direction of a link, and what it plays."""
    here, ends = link.way(way), link.ends if way == "forward" else link.ends[::-1]
    delay = f"{here.delay_ms:g} ms" + (f" ± {here.jitter_ms:g} ms" if here.jitter_ms else "")
    options = "".join(f" {k}={v}" for k, v in here.aqm_options.items())
    size = f"{here.limit_pkts} pkts" if here.queue_bytes is None else f"{here.queue_bytes} bytes"
    queue = size + ("" if here.aqm == "fifo" else f", {here.aqm}{options}")
    shown = ("rate_mbit", "delay_ms", "jitter_ms", "queue_pkts", "queue_bytes", "aqm", "aqm_options", "loss")
    rate = "unlimited" if here.rate_mbit is None else rate_text(here.rate_mbit)
    if played and played.mean_mbit is not None:
        rate = f"trace {played.text}"
    elif played:
        rate += f", trace {played.text}"
    others = [more(here, shown), more(link, ("ends", "mtu", *WAYS))]
    return [
        f"{name}.{way}",
        f"{ends[0]} → {ends[1]}",
        rate,
        delay,
        queue,
        here.loss.text,
        f"{link.mtu} bytes",
        ", ".join(text for text in others if text != NONE) or NONE,
    ]


def _flow_row(flow: Flow) -> list[str]:
    """A flow; what UDP alone has is left out of TCP's."""
    udp = flow.proto == "udp"
    ends = f"{flow.duration_s:g} s" + (f" or {flow.bytes} bytes" if flow.bytes else "")
    shown = ["name", "id", "src", "dst", "proto", "cc", "start_s", "duration_s", "bytes"]
    size = [] if not udp or flow.packet_bytes != 1000 else [quantity("packet_bytes", flow.packet_bytes)]
    others = [*size, *([flow.stack] if flow.stack else []), more(flow, [*shown, "stack"])]
    cc = NONE if udp else flow.cc or ("its own" if flow.stack else "under test")
    head = [f"{flow.id} {flow.name}", f"{flow.src} → {flow.dst}", flow.proto.upper(), cc, f"{flow.start_s:g} s", ends]
    return [*head, ", ".join(others)]


def _event_rows(changes: tuple[Change, ...]) -> list[list[str]]:
    """Changes of links; of many, the first ones."""
    head = ("at_s", "link", "way")
    rows = [[f"{c.at_s:g} s", f"{c.link}.{c.way}", more(c, head)] for c in changes[:MOST_EVENTS]]
    left = len(changes) - len(rows)
    return rows + ([["", "", f"and {left} more until {changes[-1].at_s:g} s"]] if left else [])


def event_marks(sc: Experiment) -> Events:
    """Changes of links as plots over time mark them: time (s) and what changes; none where they are too many."""
    kinds: dict[float, set[str]] = {}
    for change in sc.events:
        values = change.values
        found = {CHANGED[name] for name in values}
        if "loss" in values and values["loss"].percent >= 100:
            found = found - {"loss"} | {"outage"}
        kinds.setdefault(change.at_s, set()).update(found)
    if len(kinds) > MOST_MARKS:
        return ()
    return tuple((at_s, f"link changes: {', '.join(sorted(found))}") for at_s, found in sorted(kinds.items()))


@dataclass(frozen=True)
class Description:
    """What the page says of a scenario: tables of links, flows and changes with their heads, settings, facts."""

    way_heads: Sequence[str]
    ways: Sequence[Sequence[str]]
    flow_heads: Sequence[str]
    flows: Sequence[Sequence[str]]
    many_flows: bool
    event_heads: Sequence[str]
    events: Sequence[Sequence[str]]
    settings: Sequence[tuple[str, str]]
    facts: Sequence[str]


def description(g: Group) -> Description:
    """Of the scenario of these runs."""
    sc = g.resolved
    settings = [(f"route of {node}", words) for node, words in sc.route.items() if words]
    settings += [(f"clock of {host}", _clock(*clock)) for host, clock in sc.clocks.items()]
    settings += [(key, str(value)) for key, value in sorted(sc.sysctl.items())]
    return Description(
        way_heads=WAY_HEADS,
        ways=[
            _way_row(name, link, way, sc.traces.get(f"{name}.{way}")) for name, link in sc.links.items() for way in WAYS
        ],
        flow_heads=FLOW_HEADS,
        flows=[_flow_row(flow) for flow in sc.flows],
        many_flows=len(sc.flows) > MANY_FLOWS,
        event_heads=EVENT_HEADS,
        events=_event_rows(sc.events),
        settings=settings,
        facts=_facts(sc),
    )


def _clock(ppm: float, ahead_s: float, stands: bool) -> str:
    """How a clock differs from true time."""
    return ", ".join([f"{ppm:+g} ppm"] * bool(ppm) + [f"{ahead_s:+g} s"] * bool(ahead_s) + ["stands"] * stands)


def _facts(sc: Experiment) -> list[str]:
    measure = sc.measure
    pairs = ", ".join(f"{src} → {dst}" for src, dst in sc.owd_pairs)
    return [
        f"hosts {', '.join(sc.hosts)}",
        f"routers {', '.join(sc.routers) or 'none'}",
        f"duration {sc.duration_s:g} s",
        f"bottleneck {measure.bottleneck or 'none'}",
        f"statistics of queue and delay from {measure.steady_from_s:g} s on",
        f"samples every {measure.sample_ms} ms (flows), {measure.queue_ms} ms (queues {', '.join(measure.queues)})",
        f"one-way delay of {pairs}" if pairs else "one-way delay not recorded",
        *(["pcap files"] if measure.pcap else []),
        "IPv6" if sc.ipv6 else "IPv4",
    ]
