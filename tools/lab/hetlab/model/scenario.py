# SPDX-License-Identifier: GPL-2.0
"""Scenarios: TOML files, checked before anything runs, resolved to plain dicts.

A scenario may name a ``base`` it inherits from (tables are merged, everything
else replaced) and a ``sweep`` (keys with lists of values: the cross product; keys
joined by ``+`` get the same value).
"""

import copy
import itertools
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hetlab.errors import LabError
from hetlab.model.limits import LIMITS
from hetlab.paths import SCENARIOS

FORMAT = 1
FIRST_PORT = 5001
IP_TCP_HEADERS = 40
OPTION_SYSCTL = "net.ipv4.tcp_santacruz"
RATE_CHANGES = {"rate_mbit", "rate_share"}
CHANGES = ("delay_ms", "rate_mbit", "rate_share", "loss_percent")


def _ranged(name: str) -> Any:
    low, high = LIMITS[name]
    return Field(ge=low, le=high)


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


# One value, or a list of them to go through
Delays = Annotated[list[Annotated[float, _ranged("delay_ms")]], BeforeValidator(_as_list), Field(min_length=1)]
Rates = Annotated[list[Annotated[float, _ranged("rate_mbit")]], BeforeValidator(_as_list), Field(min_length=1)]
Shares = Annotated[list[Annotated[float, _ranged("rate_share")]], BeforeValidator(_as_list), Field(min_length=1)]
Losses = Annotated[list[Annotated[float, _ranged("loss_percent")]], BeforeValidator(_as_list), Field(min_length=1)]


class Strict(BaseModel):
    """Unknown keys are errors; values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LossModel(Strict):
    """See hetlab.emulation.link.Loss."""

    model: Literal["none", "random", "ber", "gemodel"] = "none"
    percent: Annotated[float, _ranged("percent")] = 0
    ber: Annotated[float, _ranged("ber")] = 0
    burst_pkts: Annotated[float, Field(ge=1, le=1000)] = 1


class Way(Strict):
    """One direction of a link; see hetlab.emulation.link.Direction."""

    rate_mbit: Annotated[float, _ranged("rate_mbit")] | None = None
    delay_ms: Annotated[float, _ranged("delay_ms")] = 0
    jitter_ms: Annotated[float, _ranged("jitter_ms")] = 0
    jitter_in_order: bool = False
    slot_ms: Annotated[float, _ranged("slot_ms")] | None = None
    slot_pkts: Annotated[int, _ranged("slot_pkts")] | None = None
    queue_pkts: Annotated[int, _ranged("queue_pkts")] | None = None
    queue_bdp: Annotated[float, _ranged("queue_bdp")] | None = None
    aqm: Literal["fifo", "red", "fq_codel", "codel", "pie", "fq", "cake"] = "fifo"
    aqm_options: dict[str, str | int | float] = {}
    ack_filter: bool = False
    loss: LossModel = LossModel()
    reorder_percent: Annotated[float, _ranged("percent")] = 0
    duplicate_percent: Annotated[float, _ranged("percent")] = 0

    @model_validator(mode="after")
    def _consistent(self) -> "Way":
        if self.queue_pkts is not None and self.queue_bdp is not None:
            raise ValueError("give queue_pkts or queue_bdp, not both")
        if self.rate_mbit is None and (self.aqm != "fifo" or self.queue_bdp is not None):
            raise ValueError("aqm and queue_bdp need rate_mbit")
        if self.ack_filter and self.aqm != "cake":
            raise ValueError(f'ack_filter needs aqm = "cake", not {self.aqm!r}')
        if self.slot_pkts is not None and self.slot_ms is None:
            raise ValueError("slot_pkts needs slot_ms")
        if self.jitter_in_order and self.reorder_percent:
            raise ValueError("give jitter_in_order or reorder_percent, not both")
        return self

    @property
    def late(self) -> bool:
        """Whether there is a stage behind the queue: delay, jitter, loss, slots."""
        lossy = self.loss.model != "none"
        return bool(self.delay_ms or self.jitter_ms or lossy or self.reorder_percent or self.duplicate_percent) or (
            self.jitter_in_order or self.slot_ms is not None
        )


class LinkModel(Strict):
    """A link; a missing direction is like the other one without its queue discipline."""

    ends: tuple[str, str]
    mtu: Annotated[int, _ranged("mtu")] = 1500
    offload: bool = False
    forward: Way = Way()
    reverse: Way | None = None

    @model_validator(mode="after")
    def _bare_offload(self) -> "LinkModel":
        if self.offload and any(way.late for way in (self.forward, self.reverse) if way):
            raise ValueError("with offload a link has rate and queue alone: give delay, jitter and loss to another one")
        return self


class FlowModel(Strict):
    """One or more equal flows from ``src`` to ``dst``.

    Without ``cc`` a TCP flow uses the congestion control under test. ``rate_share`` is a share of the smallest rate
    on the flow's path.
    """

    src: str
    dst: str
    proto: Literal["tcp", "udp"] = "tcp"
    cc: str | None = Field(default=None, pattern=r"^[a-z0-9_]{1,15}$")
    start_s: Annotated[float, _ranged("start_s")] = 0
    stagger_s: Annotated[float, Field(ge=0, le=3600)] = 0
    duration_s: Annotated[float, _ranged("duration_s")] | None = None
    bytes: Annotated[int, Field(ge=1, le=10**13)] | None = None
    count: Annotated[int, _ranged("count")] = 1
    rate_mbit: Annotated[float, _ranged("rate_mbit")] | None = None
    rate_share: Annotated[float, _ranged("rate_share")] | None = None
    packet_bytes: Annotated[int, Field(ge=64, le=65_535)] = 1000
    on_s: Annotated[float, Field(ge=0, le=86_400)] = 0
    off_s: Annotated[float, Field(ge=0, le=86_400)] = 0
    rcvlowat: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    clamp: Annotated[int, Field(ge=1, le=2**30)] | None = None
    pace_mbit: Annotated[float, _ranged("rate_mbit")] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "FlowModel":
        given = [self.rate_mbit, self.rate_share].count(None)
        if self.proto == "udp" and given != 1:
            raise ValueError("a udp flow needs rate_mbit or rate_share, one of them")
        if self.proto == "tcp" and self.rate_share is not None:
            raise ValueError("rate_share is for udp flows")
        if self.proto == "udp" and self.cc is not None:
            raise ValueError("a udp flow has no cc")
        return self


class RouteModel(Strict):
    """Attributes of all routes of a node, as ip-route(8) has them."""

    initcwnd: Annotated[int, _ranged("initcwnd")] | None = None
    cwnd_max_pkts: Annotated[int, _ranged("initcwnd")] | None = None
    cwnd_max_bdp: Annotated[float, _ranged("cwnd_max_bdp")] | None = None
    ssthresh_pkts: Annotated[int, _ranged("initcwnd")] | None = None
    quickack: bool | None = None
    rto_min_ms: Annotated[int, Field(ge=1, le=60_000)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "RouteModel":
        if self.cwnd_max_pkts is not None and self.cwnd_max_bdp is not None:
            raise ValueError("give cwnd_max_pkts or cwnd_max_bdp, not both")
        return self

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
        return " ".join(words)


class ClockModel(Strict):
    """How much faster a host's clock runs than true time, as its TCP packets tell; negative: slower."""

    skew_ppm: Annotated[float, _ranged("skew_ppm")] = 0


class EventModel(Strict):
    """Changes of a running link, once or again and again.

    A list of values is gone through, one at each repetition, and then again. ``rate_share`` counts in the link's rate.
    ``loss_percent`` puts random loss in the place of the link's loss; 100 is an outage.
    """

    at_s: Annotated[float, _ranged("at_s")]
    every_s: Annotated[float, _ranged("every_s")] | None = None
    link: str
    way: Literal["forward", "reverse", "both"] = "both"
    delay_ms: Delays | None = None
    rate_mbit: Rates | None = None
    rate_share: Shares | None = None
    loss_percent: Losses | None = None

    @property
    def changes(self) -> dict[str, list[float]]:
        """What changes, with the values it goes through."""
        return {name: values for name in CHANGES if (values := getattr(self, name))}

    @property
    def ways(self) -> tuple[str, ...]:
        """Directions that change."""
        return ("forward", "reverse") if self.way == "both" else (self.way,)

    @model_validator(mode="after")
    def _consistent(self) -> "EventModel":
        if not self.changes:
            raise ValueError(f"nothing changes: give {', '.join(CHANGES)}")
        if self.rate_mbit and self.rate_share:
            raise ValueError("give rate_mbit or rate_share, not both")
        if self.every_s is None and any(len(values) > 1 for values in self.changes.values()):
            raise ValueError("a list of values needs every_s")
        return self


class MeasureModel(Strict):
    """What is recorded, and how often."""

    bottleneck: str | None = None
    queues: list[str] = []
    sample_ms: Annotated[int, _ranged("sample_ms")] = 100
    queue_ms: Annotated[int, _ranged("sample_ms")] = 10
    steady_from_s: Annotated[float, Field(ge=0, le=86_400)] = 2
    owd: bool = True
    pcap: bool = False


class ScenarioModel(Strict):
    """A scenario file, complete."""

    format: Literal[1] = 1
    title: str
    abstract: bool = False
    note: str = ""
    hosts: list[str] = Field(min_length=2)
    routers: list[str] = []
    duration_s: Annotated[float, _ranged("duration_s")]
    ipv6: bool = False
    seeds: list[Annotated[int, Field(ge=0, le=2**32 - 1)]] = [1]
    compare: list[str] = []
    link: dict[str, LinkModel]
    flow: dict[str, FlowModel]
    route: dict[str, RouteModel] = {}
    clock: dict[str, ClockModel] = {}
    event: list[EventModel] = []
    sysctl: dict[str, int | str] = {}
    params: dict[str, dict[str, int | float | str]] = {}
    measure: MeasureModel = MeasureModel()
    sweep: dict[str, list[int | float | str | bool]] = {}

    @model_validator(mode="after")
    def _names(self) -> "ScenarioModel":
        nodes = set(self.hosts) | set(self.routers)
        for name, link in self.link.items():
            _known(f"link.{name}.ends", link.ends, nodes)
        for name, flow in self.flow.items():
            _known(f"flow.{name}", (flow.src, flow.dst), set(self.hosts))
        _known("route", self.route, nodes)
        _known("clock", self.clock, set(self.hosts))
        for i, event in enumerate(self.event):
            _known(f"event.{i}.link", [event.link], set(self.link))
            _changeable(f"event.{i}", event, self.link[event.link])
        ways = {f"{n}.{w}" for n in self.link for w in ("forward", "reverse")}
        _known("measure.queues", self.measure.queues, ways)
        if self.measure.bottleneck:
            _known("measure.bottleneck", [self.measure.bottleneck], ways)
        return self


def _known(where: str, names: Any, allowed: set[str]) -> None:
    for name in names:
        if name not in allowed:
            raise ValueError(f"{where}: {name!r} is not one of {', '.join(sorted(allowed))}")


def _changeable(where: str, event: EventModel, link: LinkModel) -> None:
    """A running link has the stages it was made with."""
    for name in event.ways:
        way = _direction(link, name)
        if event.changes.keys() & RATE_CHANGES and way.rate_mbit is None:
            raise ValueError(f"{where}: link.{event.link}.{name} has no rate_mbit that could change")
        if event.changes.keys() - RATE_CHANGES and not way.late:
            raise ValueError(f"{where}: link.{event.link}.{name} has no stage for delay or loss: give it a delay_ms")


def _direction(link: LinkModel, way: str) -> Way:
    """A direction, filled in where the scenario does not give it."""
    if way == "forward":
        return link.forward
    return link.reverse or link.forward.model_copy(update={"aqm": "fifo", "aqm_options": {}, "ack_filter": False})


@dataclass(frozen=True)
class Scenario:
    """A validated scenario: its name, where it came from, and the model."""

    name: str
    source: str
    model: ScenarioModel


def find(name: str) -> Path:
    """File of a scenario: a path, or the name of one of ours."""
    path = Path(name)
    if path.suffix == ".toml" or "/" in name:
        if not path.is_file():
            raise LabError(f"{name}: no such scenario file")
        return path
    path = SCENARIOS / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(p.stem for p in sorted(SCENARIOS.glob("*.toml")))
        raise LabError(f"no scenario {name!r}; there are: {known}")
    return path


def read(path: Path, seen: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Raw tables of a file, its bases merged in."""
    path = path.resolve()
    if path in seen:
        raise LabError(f"{path.name}: base: {' -> '.join(p.stem for p in (*seen, path))} goes in a circle")
    try:
        data = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise LabError(f"{path}: not valid TOML: {err}") from err
    base = data.pop("base", None)
    if base is None:
        return data
    beside = path.parent / f"{base}.toml"
    parent = read(beside if beside.is_file() else find(str(base)), (*seen, path))
    parent.pop("abstract", None)
    parent.pop("sweep", None)
    return merge(parent, data)


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """``above`` over ``below``; tables merge, everything else is replaced."""
    result = copy.deepcopy(below)
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merge(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def assign(data: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Set ``a.b.c`` in nested tables; tables on the way may be missing."""
    *path, last = key.split(".")
    for part in path:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise LabError(f"{where}: {key}: {part!r} is a value, not a table")
    data[last] = value


def explain(err: ValidationError, source: str) -> str:
    """Every fault of a scenario: file, key, value, allowed range."""
    lines = []
    for fault in err.errors():
        key = ".".join(str(part) for part in fault["loc"]) or "scenario"
        message = fault["msg"].removeprefix("Value error, ")
        shown = "" if fault["type"] in ("missing", "value_error") else f" = {fault['input']!r}"
        named = [part for part in fault["loc"] if isinstance(part, str)]
        lines.append(f"{source}: {key}{shown}: {message}{_range_of(named[-1] if named else '')}")
    return "\n".join(lines)


def _range_of(name: str) -> str:
    if name not in LIMITS:
        return ""
    low, high = LIMITS[name]
    return f" (allowed range {low:g}..{high:g})"


def load(name: str, sets: list[str] | None = None) -> list[Scenario]:
    """Load a scenario with ``--set`` overrides; one Scenario per point of its sweep."""
    path = find(name)
    data = read(path)
    for item in sets or []:
        key, eq, text = item.partition("=")
        if not eq or not key:
            raise LabError(f"--set {item}: must be key=value, e.g. link.bottleneck.forward.rate_mbit=10")
        assign(data, key, parse_value(text), f"--set {item}")
    data.setdefault("format", FORMAT)
    _validate(path.stem, str(path.name), data)
    sweep = data.pop("sweep", {})
    points = []
    for values in itertools.product(*sweep.values()):
        point = copy.deepcopy(data)
        for keys, value in zip(sweep, values, strict=True):
            for key in keys.split("+"):
                assign(point, key, value, f"{path.name}: sweep")
        suffix = ",".join(f"{k}={v}" for k, v in zip(sweep, values, strict=True))
        points.append(_validate(f"{path.stem}[{suffix}]" if suffix else path.stem, path.name, point))
    return points


def _validate(name: str, source: str, data: dict[str, Any]) -> Scenario:
    try:
        return Scenario(name, source, ScenarioModel.model_validate(data))
    except ValidationError as err:
        raise LabError(explain(err, source)) from err


def parse_value(text: str) -> Any:
    """A value as TOML reads it, or the bare word."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


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


def needs_option(scenario: Scenario) -> bool:
    """Whether a scenario sets the sysctl that only a kernel with santacruz_opt.patch has."""
    return OPTION_SYSCTL in scenario.model.sysctl


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


def packet_payload(mtu: int) -> int:
    """TCP payload of a full packet with timestamps, IPv4."""
    return mtu - IP_TCP_HEADERS - 12
