# SPDX-License-Identifier: GPL-2.0
"""What result.json says of a run; docs/results.md describes each key."""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from hetlab.errors import LabError
from hetlab.model.congestion import label
from hetlab.model.keys import Checked, Key, as_plain, from_plain
from hetlab.model.scenario import Experiment

FORMAT_VERSION = 2
Number = float | None
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CompletionResult(Checked):
    """How long the items of a workload took: responses, pages, segments, messages, writes, connections."""

    kind: Annotated[str, Key("what was completed")]
    n: Annotated[int, Key("how many were begun")]
    done: Annotated[int, Key("how many the receiver had whole at the end")]
    bytes: Annotated[int, Key("of those that were whole")]
    mean_s: Annotated[Number, Key("mean time")]
    p50_s: Annotated[Number, Key("median")]
    p95_s: Annotated[Number, Key("95th percentile")]
    p99_s: Annotated[Number, Key("99th percentile")]
    max_s: Annotated[Number, Key("longest")]
    small_p95_s: Annotated[Number, Key("95th percentile of those below 10 kB")]
    medium_p95_s: Annotated[Number, Key("95th percentile of those of 10 kB to 1 MB")]
    large_p95_s: Annotated[Number, Key("95th percentile of those of 1 MB and more")]


@dataclass(frozen=True, kw_only=True)
class VideoResult(Checked):
    """What who watches a video sees; play begins with the first segment."""

    startup_s: Annotated[Number, Key("from the flow's start until play began")]
    stalls: Annotated[int, Key("how often the buffer ran empty before the end")]
    stalled_s: Annotated[float, Key("how long play stood still in all, without the start-up")]
    rate_mbit: Annotated[Number, Key("mean rate of the segments that were received")]
    switches: Annotated[int, Key("changes of the rate from one segment to the next")]


@dataclass(frozen=True, kw_only=True)
class FlowResult(Checked):
    """One flow; what is not known of it is None (of UDP: all but its goodput)."""

    name: Annotated[str, Key("name of the flow")]
    proto: Annotated[str, Key("tcp, udp or quic")]
    start_s: Annotated[float, Key("when it began")]
    end_s: Annotated[float, Key("when it was complete or out of time")]
    cc: Annotated[str | None, Key("its congestion control")] = None
    complete: Annotated[bool | None, Key("whether all its bytes were acknowledged")] = None
    goodput_mbit: Annotated[float, Key("payload in order at the receiver, over its life")]
    steady_goodput_mbit: Annotated[Number, Key("the same from measure.steady_from_s on")] = None
    retransmits: Annotated[int | None, Key("segments sent again")] = None
    timeouts: Annotated[int | None, Key("retransmission timeouts")] = None
    rtt_min_ms: Annotated[Number, Key("smallest round trip time of the kernel")] = None
    srtt_ms: Annotated[Number, Key("smoothed round trip time at its end")] = None
    cwnd_steady_mean_pkts: Annotated[Number, Key("mean congestion window of the steady part")] = None
    bytes_sent: Annotated[int | None, Key("payload sent, with retransmissions")] = None
    bytes_retrans: Annotated[int | None, Key("payload sent again")] = None
    connections: Annotated[int | None, Key("workloads: connections that were begun", sparse=True)] = None
    failed: Annotated[int | None, Key("workloads: connections that failed", sparse=True)] = None
    completion: Annotated[CompletionResult | None, Key("times of a workload's items", sparse=True)] = None
    video: Annotated[VideoResult | None, Key("of workload video", sparse=True)] = None


@dataclass(frozen=True, kw_only=True)
class QueueResult(Checked):
    """The bottleneck's queue."""

    link: Annotated[str | None, Key("LINK.forward or LINK.reverse; none: no link has a rate")]
    steady_mean_pkts: Annotated[Number, Key("mean length of the steady part")]
    steady_min_pkts: Annotated[Number, Key("smallest length of the steady part")]
    steady_max_pkts: Annotated[Number, Key("largest length of the steady part")]
    p95_pkts: Annotated[Number, Key("95th percentile of the length, steady part")]
    max_pkts: Annotated[Number, Key("largest length of the run")]
    drops: Annotated[int | None, Key("packets that the queue dropped")]
    loss_model_drops: Annotated[int | None, Key("packets that random loss took, all links forward")]
    marks: Annotated[int | None, Key("packets that its AQM marked CE; none: not any", sparse=True)] = None
    filter_drops: Annotated[
        int | None, Key("packets that policers and MTU black holes took, all links forward", sparse=True)
    ] = None
    capacity_mbit: Annotated[
        Number, Key("mean capacity of its trace in the time of the run; none: it plays none", sparse=True)
    ] = None


@dataclass(frozen=True, kw_only=True)
class DelayResult(Checked):
    """Delays of the packets of the measured pairs that arrived, steady part."""

    mean: Annotated[float, Key("mean, in ms")]
    variance: Annotated[float, Key("variance, in ms^2")]
    min: Annotated[float, Key("smallest, in ms")]
    p50: Annotated[float, Key("median, in ms")]
    p95: Annotated[float, Key("95th percentile, in ms")]
    p99: Annotated[float, Key("99th percentile, in ms")]
    packets: Annotated[int, Key("how many packets")]


@dataclass(frozen=True, kw_only=True)
class RunResult(Checked):
    """One run: numbers, and what they were measured with."""

    format: Annotated[int, Key("version of this format")] = FORMAT_VERSION
    scenario: Annotated[str, Key("scenario and point of its sweep")]
    seed: Annotated[int, Key("seed")]
    cc: Annotated[str, Key("congestion control under test")]
    cc_params: Annotated[dict[str, str], Key("its module parameters")]
    flows: Annotated[tuple[FlowResult, ...], Key("every flow")]
    queue: Annotated[QueueResult, Key("the bottleneck's queue")]
    owd_ms: Annotated[DelayResult | None, Key("one-way delay of packets")]
    queueing_ms: Annotated[DelayResult | None, Key("one-way delay above the path's own: waiting in queues")] = None
    delivery_ms: Annotated[DelayResult | None, Key("from a segment's first departure to the arrival of a copy")]
    jain: Annotated[Number, Key("Jain's fairness index of the TCP flows' goodput")]
    jain_steady: Annotated[Number, Key("the same of the steady part")]
    title: Annotated[str, Key("what the scenario models")] = ""
    kernel_release: Annotated[str, Key("uname -r")] = ""
    reproducible: Annotated[bool, Key("whether every random number came from the seed")] = False
    hashes: Annotated[dict[str, str], Key("kernel, modules, commit")] = field(default_factory=dict)
    scenario_resolved: Annotated[Experiment, Key("the experiment, everything filled in")]
    hosts: Annotated[dict[str, Any] | None, Key("facts of two real hosts (--on hosts)")] = None
    wall_s: Annotated[Number, Key("real time that the run took; in run.json, because it is not reproducible")] = None

    @property
    def tcp(self) -> tuple[FlowResult, ...]:
        """Results of the TCP flows."""
        return tuple(flow for flow in self.flows if flow.proto == "tcp")

    @property
    def label(self) -> str:
        """``cc@preset:param=value``."""
        return label(self.cc, self.cc_params)

    def as_json(self, indent: int | None = None) -> str:
        """Text of result.json: all but ``wall_s``."""
        return json.dumps({k: v for k, v in as_plain(self).items() if k != "wall_s"}, indent=indent)


def known(value: T | None) -> T:
    """A number that cannot be done without: LabError where the run does not have it."""
    if value is None:
        raise LabError("a result lacks a number that is needed here")
    return value


def from_json(text: str, wall_s: float | None = None) -> RunResult:
    """A result from the text of result.json; KeyError or TypeError where it is not one."""
    result: RunResult = from_plain(RunResult, json.loads(text) | {"wall_s": wall_s})
    return result
