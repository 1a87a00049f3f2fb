# SPDX-License-Identifier: GPL-2.0
"""A TCP flow of a run as qlog, for qvis and other tools that draw QUIC connections.

Schema: draft-ietf-quic-qlog-main-schema and -quic-events, version 0.3, as JSON. From tcp_info each 100 ms come
recovery:metrics_updated; from the measurement of one-way delay, where no other TCP flow has the same two hosts,
transport:packet_sent with packet numbers in order of departure, and recovery:packet_lost, at the time of departure.
"""

import math
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from hetlab.errors import LabError
from hetlab.model.result import RunResult
from hetlab.results import store

PACKET_BYTES, PAYLOAD_BYTES = 1500, 1448
MS = 1e3
Event = dict[str, Any]
# qlog's name, column of the samples, factor
METRICS = (
    ("congestion_window", "cwnd", PAYLOAD_BYTES),
    ("ssthresh", "ssthresh", PAYLOAD_BYTES),
    ("bytes_in_flight", "unacked", PAYLOAD_BYTES),
    ("smoothed_rtt", "srtt_us", 1e-3),
    ("rtt_variance", "rttvar_us", 1e-3),
    ("min_rtt", "min_rtt_us", 1e-3),
    ("pacing_rate", "pacing_rate_bps", 1),
)
NO_SSTHRESH = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH


def document(directory: Path, name: str | None) -> dict[str, Any]:
    """A qlog file of the flow of a run with that name, by default the first; LabError without it."""
    result = store.read(directory / "result.json")
    number = _number(result, name)
    events = [*_metrics(directory, number), *_packets(directory, result, number)]
    flow = result.flows[number]
    cc = flow.cc or result.cc
    return {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": f"{result.scenario}, {cc}, flow {flow.name}, seed {result.seed}",
        "traces": [
            {
                "vantage_point": {"type": "server", "name": "the sender"},
                "common_fields": {"protocol_type": ["TCP"], "time_format": "relative", "reference_time": 0},
                "events": sorted(events, key=itemgetter("time")),
            }
        ],
    }


def _ms(t_s: float) -> float:
    """Exact to the microsecond, as flowgen's times are."""
    return round(t_s * MS, 3)


def _number(result: RunResult, name: str | None) -> int:
    tcp = {flow.name: i for i, flow in enumerate(result.flows) if flow.proto == "tcp"}
    if not tcp or (name is not None and name not in tcp):
        raise LabError(f"--flow {name}: no such TCP flow; there are: {', '.join(tcp) or 'none'}")
    return tcp[name] if name is not None else next(iter(tcp.values()))


def _metrics(directory: Path, number: int) -> Iterator[Event]:
    """What has changed since the sample before."""
    samples = store.series(directory, "flows")
    last: dict[str, float] = {}
    for i, of in enumerate(samples.get("id", [])):
        if of != number:
            continue
        now = {key: samples[column][i] * factor for key, column, factor in METRICS if samples[column][i] is not None}
        if samples["ssthresh"][i] == NO_SSTHRESH:
            del now["ssthresh"]
        if news := {key: value for key, value in now.items() if last.get(key) != value}:
            yield {"time": _ms(samples["t"][i]), "name": "recovery:metrics_updated", "data": news}
        last = now


def _packets(directory: Path, result: RunResult, number: int) -> Iterator[Event]:
    """Departures and losses, where all packets between the two hosts are this flow's."""
    flows = result.scenario_resolved.flows
    ends = (flows[number].src, flows[number].dst)
    if sum((flow.src, flow.dst) == ends for flow in flows) > 1:
        return
    found = store.series(directory, f"owd-{ends[0]}-{ends[1]}")
    for i, (t, delay) in enumerate(zip(found.get("t", []), found.get("owd_ms", []), strict=True)):
        header = {"packet_type": "1RTT", "packet_number": i}
        sent = {"header": header, "raw": {"length": PACKET_BYTES, "payload_length": PAYLOAD_BYTES}}
        yield {"time": _ms(t), "name": "transport:packet_sent", "data": sent}
        if math.isnan(delay):
            yield {"time": _ms(t), "name": "recovery:packet_lost", "data": {"header": header}}
