# SPDX-License-Identifier: GPL-2.0
"""What a scenario says: hosts, links, flows, events; checked before anything runs."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from hetlab.model.limits import LIMITS

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


def needs_option(scenario: Scenario) -> bool:
    """Whether a scenario sets the sysctl that only a kernel with santacruz_opt.patch has."""
    return OPTION_SYSCTL in scenario.model.sysctl


def packet_payload(mtu: int) -> int:
    """TCP payload of a full packet with timestamps, IPv4."""
    return mtu - IP_TCP_HEADERS - 12
