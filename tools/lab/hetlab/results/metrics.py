# SPDX-License-Identifier: GPL-2.0
"""Raw files of a run to numbers: pure functions over arrays.

Times are seconds since the start of the run. "Steady" leaves out everything
before the scenario's ``steady_from_s``.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hetlab.model.flow import Flow
from hetlab.model.job import Job
from hetlab.model.link import AQMS
from hetlab.model.result import DelayResult, FlowResult, QueueResult, RunResult
from hetlab.model.scenario import Experiment
from hetlab.results import workloads
from hetlab.results.path_delay import own_delay_s

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

CAP_DTYPE = np.dtype(
    [
        ("t_ns", "<i8"),
        ("seq", "<u4"),
        ("ack", "<u4"),
        ("tsval", "<u4"),
        ("tsecr", "<u4"),
        ("ipid", "<u4"),
        ("sport", "<u2"),
        ("dport", "<u2"),
        ("payload", "<u2"),
        ("wire", "<u2"),
        ("flags", "u1"),
        ("proto", "u1"),
        ("ecn", "u1"),
        ("ipver", "u1"),
        ("window", "<u2"),
        ("src16", "<u2"),
        ("dst16", "<u2"),
        ("pad", "<u2"),
    ]
)
QUEUE_DTYPE = np.dtype(
    [
        ("t_ns", "<u8"),
        ("label", "<u2"),
        ("pad", "<u2"),
        ("qlen", "<u4"),
        ("backlog", "<u4"),
        ("drops", "<u4"),
        ("overlimits", "<u4"),
        ("packets", "<u4"),
        ("bytes", "<u8"),
    ]
)
NS = 1e-9


@dataclass(frozen=True)
class Raw:
    """Raw data of a run."""

    job: Job
    meta: dict[str, Any]
    records: list[dict[str, Any]]
    queue: Array
    queue_labels: list[str]
    captures: dict[str, Array]

    @property
    def scenario(self) -> Experiment:
        """What was run."""
        return self.job.scenario

    @cached_property
    def _by_flow(self) -> dict[tuple[int | None, str], list[dict[str, Any]]]:
        found: dict[tuple[int | None, str], list[dict[str, Any]]] = {}
        for record in self.records:
            found.setdefault((record.get("id"), record["type"]), []).append(record)
        return found

    def of_flow(self, flow: int, kind: str) -> list[dict[str, Any]]:
        """Records of one flow and type."""
        return self._by_flow.get((flow, kind), [])


def read(job: Job) -> Raw:
    """Read the files of a finished job."""
    d = Path(job.dir)
    meta = json.loads((d / "meta.json").read_text())
    ahead = meta.get("flowgen_ahead_s", {})
    records = []
    for p in sorted(d.glob("flows-*.jsonl")):
        ahead_s = ahead.get(p.stem.removeprefix("flows-"), 0.0)
        records += [workloads.on_one_clock(json.loads(line), ahead_s) for line in p.read_text().splitlines()]
    labels = json.loads((d / "queue.json").read_text())["labels"] if (d / "queue.json").exists() else []
    queue = np.fromfile(d / "queue.bin", QUEUE_DTYPE) if labels else np.empty(0, QUEUE_DTYPE)
    captures = {p.name.removesuffix(".cap"): np.fromfile(p, CAP_DTYPE) for p in sorted(d.glob("*.cap"))}
    return Raw(job, meta, records, queue, labels, captures)


def received_at(raw: Raw, flow: int, t: float) -> float:
    """In-order bytes the receiver of a TCP flow had at a time."""
    points = [(0.0, 0.0)] + [(r["t"], float(r["bytes_received"])) for r in raw.of_flow(flow, "rsample")]
    points += [(r["t"], float(r["bytes_received"])) for r in raw.of_flow(flow, "end") if r["role"] == "recv"]
    times, values = zip(*sorted(points), strict=True)
    return float(np.interp(t, times, values))


def flow_end(raw: Raw, flow: Flow) -> float:
    """When a flow was over: complete, or out of time."""
    ends = [r for r in raw.of_flow(flow.id, "end") if r["role"] == "send"]
    if ends and ends[0].get("complete"):
        return float(ends[0]["t"])
    return float(flow.start_s + flow.duration_s)


def flow_result(raw: Raw, flow: Flow) -> FlowResult:
    """Goodput, losses and round trip times of one flow."""
    begin, end = float(flow.start_s), flow_end(raw, flow)
    if flow.proto == "udp":
        got = raw.of_flow(flow.id, "usample")
        octets = float(got[-1]["bytes"]) if got else 0.0
        mbit = _mbit(octets, end - begin)
        of_udp = workloads.completion(workloads.judged(raw.records, flow)) if flow.workload else None
        end_s = round(end, 6)
        return FlowResult(name=flow.name, proto="udp", start_s=begin, end_s=end_s, goodput_mbit=mbit, completion=of_udp)
    last = next((r for r in raw.of_flow(flow.id, "end") if r["role"] == "send"), {})
    started = raw.of_flow(flow.id, "start")
    octets = received_at(raw, flow.id, end)
    steady = max(begin, float(raw.scenario.measure.steady_from_s))
    steady_octets = octets - received_at(raw, flow.id, min(steady, end))
    tcp = FlowResult(
        name=flow.name,
        proto=flow.proto,
        start_s=begin,
        end_s=round(end, 6),
        cc=started[0]["cc"] if started else raw.job.cc_of(flow.cc),
        complete=bool(last.get("complete")),
        goodput_mbit=_mbit(octets, end - begin),
        steady_goodput_mbit=_mbit(steady_octets, end - steady),
        retransmits=last.get("total_retrans"),
        timeouts=last.get("total_rto"),
        rtt_min_ms=_ms(last.get("min_rtt_us")),
        srtt_ms=_ms(last.get("srtt_us")),
        cwnd_steady_mean_pkts=_steady_mean(raw, flow.id, "cwnd", steady),
        bytes_sent=last.get("bytes_sent"),
        bytes_retrans=last.get("bytes_retrans"),
    )
    if flow.workload is None:
        return tcp
    found = workloads.judged(raw.records, flow)
    return replace(
        tcp,
        connections=last.get("connections"),
        failed=last.get("failed"),
        completion=workloads.completion(found),
        video=workloads.video(found, flow) if flow.workload == "video" else None,
    )


def _mbit(octets: float, seconds: float) -> float:
    return round(octets * 8 / seconds / 1e6, 6) if seconds > 0 else 0.0


def _ms(us: float | None) -> float | None:
    return None if us is None else round(us / 1e3, 3)


def _steady_mean(raw: Raw, flow: int, key: str, steady: float) -> float | None:
    values = [r[key] for r in raw.of_flow(flow, "sample") if r["t"] >= steady]
    return round(float(np.mean(values)), 3) if values else None


def queue_series(raw: Raw, label: str) -> tuple[Floats, Floats]:
    """Time and length of one queue in packets that wait.

    The netem that models a drop-tail queue also counts the packet on the
    wire; like the queue of a scenario (``queue_pkts``) the length does not.
    """
    if label not in raw.queue_labels:
        return np.empty(0), np.empty(0)
    rows = raw.queue[raw.queue["label"] == raw.queue_labels.index(label)]
    t = rows["t_ns"] * NS
    inside = t <= raw.scenario.duration_s
    length = rows["qlen"][inside].astype(np.float64)
    return t[inside], np.maximum(length - _counts_one_sent(raw.scenario, label), 0)


def _counts_one_sent(scenario: Experiment, label: str) -> bool:
    """Whether the kernel's length of a queue has the packet on the wire; with opportunities there is none."""
    link, _, side = label.partition(".")
    known = scenario.links.get(link)
    kinds = scenario.traces[label].kinds if label in scenario.traces else ()
    if "opportunities" in kinds:
        return False
    way = known.way(side) if known else None
    return way is None or way.aqm == "fifo" or way.rate_at_once or "rate" in kinds


def queue_result(raw: Raw) -> QueueResult:
    """Length of the bottleneck queue and drops by cause."""
    label = raw.scenario.measure.bottleneck
    t, length = queue_series(raw, label or "")
    steady = length[t >= raw.scenario.measure.steady_from_s]
    counters = raw.meta["counters"]
    own = (counters.get(label) or {}).get("queue") or {}
    lost = sum((c["impair"] or {}).get("drops", 0) for name, c in counters.items() if name.endswith(".forward"))
    return QueueResult(
        link=label,
        steady_mean_pkts=_number(np.mean, steady),
        steady_min_pkts=_number(np.min, steady),
        steady_max_pkts=_number(np.max, steady),
        p95_pkts=_number(lambda v: np.percentile(v, 95), steady),
        max_pkts=_number(np.max, length),
        capacity_mbit=played.capacity_mbit if (played := raw.scenario.traces.get(label or "")) else None,
        drops=own.get("drops"),
        loss_model_drops=lost if counters else None,
        marks=_marks(raw, label) or None,
        filter_drops=_filter_drops(raw),
    )


def _marks(raw: Raw, label: str | None) -> int:
    """Packets that the AQM of a direction marked CE."""
    link, _, way = (label or "").partition(".")
    stages = raw.meta["counters"].get(label) or {}
    if not stages or link not in raw.scenario.links:
        return 0
    own = stages.get("aqm") or stages["queue"] or {}
    names = AQMS[raw.scenario.links[link].way(way).aqm].marks
    return int(sum(part.get(name, 0) for part in (own, *own.get("tins", ())) for name in names))


def _filter_drops(raw: Raw) -> int | None:
    """Packets that policers and black holes took, all links forward; None where there is none of either."""
    counters = raw.meta["counters"].items()
    found = [c["filter"]["drops"] for name, c in counters if name.endswith(".forward") and c.get("filter")]
    return int(sum(found)) if found else None


def _number(how: Any, values: Array) -> float | None:
    return round(float(how(values)), 6) if len(values) else None


def owd_series(raw: Raw, src: str, dst: str) -> tuple[Floats, Floats]:
    """Departure time and one-way delay (s) of every data packet; NaN: it never arrived."""
    t, delay, _octets = _transmissions(raw, src, dst)
    return t, delay


def queueing_series(raw: Raw, src: str, dst: str) -> tuple[Floats, Floats]:
    """The same with the part of the one-way delay (s) that is above the path's own: waiting in queues."""
    t, delay, octets = _transmissions(raw, src, dst)
    return t, delay - own_delay_s(raw.scenario, src, dst, t, octets) if len(t) else delay


def _transmissions(raw: Raw, src: str, dst: str) -> tuple[Floats, Floats, Array]:
    """Departure, one-way delay (s) and size (bytes of IP) of every data packet, in the order of departure."""
    tx, rx = _data(raw, src, dst)
    tx_key, tx_first = np.unique(packet_key(tx), return_index=True)
    rx_key, rx_first = np.unique(packet_key(rx), return_index=True)
    sent = tx[tx_first]
    t, delay = _matched(tx_key, sent["t_ns"], rx_key, rx["t_ns"][rx_first])
    return t, delay, sent["wire"][np.argsort(sent["t_ns"], kind="stable")]


def _data(raw: Raw, src: str, dst: str) -> tuple[Array, Array]:
    """Data packets between two hosts as they leave and as they arrive; empty if nothing was recorded."""
    ports = [f.port for f in raw.scenario.flows if (f.src, f.dst) == (src, dst)]
    both = [raw.captures.get(f"{src}-{dst}.{end}", np.empty(0, CAP_DTYPE)) for end in ("tx", "rx")]
    tx, rx = (cap[(cap["payload"] > 0) & np.isin(cap["dport"], ports)] for cap in both)
    tx["t_ns"] -= round(raw.meta.get("departed_ms", {}).get(f"{src}-{dst}", 0) * 1e6)
    return tx, rx


def _matched(tx_key: Array, sent_ns: Array, rx_key: Array, arrived_ns: Array) -> tuple[Floats, Floats]:
    """Departure and delay (s) of what left, in the order in which it left; keys occur once."""
    _common, a, b = np.intersect1d(tx_key, rx_key, assume_unique=True, return_indices=True)
    delay = np.full(len(sent_ns), np.nan)
    delay[a] = (arrived_ns[b] - sent_ns[a]) * NS
    order = np.argsort(sent_ns, kind="stable")
    return sent_ns[order] * NS, delay[order]


def packet_key(packets: Array) -> npt.NDArray[np.uint64]:
    """Key that is unique for each transmission: port, sequence number, IP ID (IPv6: TSval)."""
    ident = np.where(packets["ipver"] == 4, packets["ipid"], packets["tsval"]).astype(np.uint64) & np.uint64(0xFFFF)
    seq = packets["seq"].astype(np.uint64) << np.uint64(32)
    key: npt.NDArray[np.uint64] = seq + (ident << np.uint64(16)) + packets["dport"].astype(np.uint64)
    return key


def delivery_series(raw: Raw, src: str, dst: str) -> tuple[Floats, Floats]:
    """First departure of every segment and the time (s) until a copy of it arrived.

    As one-way delay, but a segment that was lost counts with its wait for the
    retransmission; NaN: none arrived.
    """
    tx, rx = _data(raw, src, dst)
    tx_key, tx_first = np.unique(segment_key(tx), return_index=True)
    rx_key, rx_first = np.unique(segment_key(rx), return_index=True)
    return _matched(tx_key, tx["t_ns"][tx_first], rx_key, rx["t_ns"][rx_first])


def segment_key(packets: Array) -> npt.NDArray[np.uint64]:
    """The same for all transmissions of a segment: port and sequence number."""
    seq = packets["seq"].astype(np.uint64) << np.uint64(16)
    key: npt.NDArray[np.uint64] = seq + packets["dport"].astype(np.uint64)
    return key


def _statistics(raw: Raw, series: Callable[[Raw, str, str], tuple[Floats, Floats]]) -> DelayResult | None:
    """Statistics of the delays (ms) over all measured pairs, steady part."""
    delays = []
    for src, dst in raw.scenario.owd_pairs:
        t, d = series(raw, src, dst)
        inside = (t >= raw.scenario.measure.steady_from_s) & (t <= raw.scenario.duration_s)
        delays.append(d[inside & ~np.isnan(d)] * 1e3)
    all_ms = np.concatenate(delays) if delays else np.empty(0)
    if not len(all_ms):
        return None
    p50, p95, p99 = (round(float(v), 6) for v in np.percentile(all_ms, [50, 95, 99]))
    return DelayResult(
        mean=round(float(np.mean(all_ms)), 6),
        variance=round(float(np.var(all_ms)), 6),
        min=round(float(np.min(all_ms)), 6),
        p50=p50,
        p95=p95,
        p99=p99,
        packets=len(all_ms),
    )


def jain(values: list[float]) -> float | None:
    """Jain's fairness index, 1/n to 1; None without any traffic."""
    x = np.asarray(values, dtype=np.float64)
    square = float(np.sum(x * x))
    return round(float(np.sum(x)) ** 2 / (len(x) * square), 6) if square else None


def summarise(raw: Raw) -> RunResult:
    """The numbers of result.json; what they were measured with is added by results.store."""
    flows = tuple(flow_result(raw, flow) for flow in raw.job.flows)
    tcp = [flow for flow in flows if flow.proto == "tcp"]
    return RunResult(
        scenario=raw.scenario.name,
        seed=raw.job.seed,
        cc=raw.job.cc,
        cc_params=raw.job.cc_params,
        flows=flows,
        queue=queue_result(raw),
        owd_ms=_statistics(raw, owd_series),
        queueing_ms=_statistics(raw, queueing_series) if raw.scenario.links else None,
        delivery_ms=_statistics(raw, delivery_series),
        jain=jain([flow.goodput_mbit for flow in tcp]),
        jain_steady=jain([flow.steady_goodput_mbit or 0.0 for flow in tcp]),
        scenario_resolved=raw.scenario,
    )
