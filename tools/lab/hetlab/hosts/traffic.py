# SPDX-License-Identifier: GPL-2.0
"""Flows between two real hosts, by iperf3 or by flowgen, to the records of flowgen."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from hetlab.build import programs
from hetlab.errors import LabError
from hetlab.model.flow import Flow
from hetlab.model.job import Job

# Fields of flowgen's records that iperf3 does not know are null
SENDER_FIELDS = (
    "cwnd ssthresh srtt_us rttvar_us min_rtt_us rto_us unacked sacked lost retrans total_retrans bytes_sent "
    "bytes_acked bytes_retrans delivered delivered_ce delivery_rate_bps pacing_rate_bps ca_state backoff total_rto "
    "busy_us rwnd_limited_us sndbuf_limited_us dsack_dups reord_seen cc_info"
)
RECEIVER_FIELDS = "bytes_received rcv_rtt_us rcv_space rcv_ooopack"
LEAST_INTERVAL_MS = 100
IPERF3_KEYS = {"proto", "bytes", "pace_mbit"}


class Flowgen:
    """Our own generator, copied to both hosts for the time of the runs."""

    name = "flowgen"

    @staticmethod
    def refusal(_flow: Flow) -> str:
        """Why a flow cannot be made; empty if it can."""
        return ""

    def prepare(self, hosts: list[Any]) -> None:
        """Copy the program, once for each connection, and try it."""
        for host in hosts:
            if host.flowgen:
                continue
            data = programs.static_flowgen(host.facts["machine"]).read_bytes()
            host.flowgen = host.call("put", name="flowgen", data=base64.b64encode(gzip.compress(data)).decode())
            host.call("show", args=[host.flowgen, "--now"])

    def start(self, job: Job, ends: dict[str, Any], t0_s: float) -> None:
        """Start one flowgen on each host; ``t0_s`` on our CLOCK_MONOTONIC."""
        sc = job.scenario
        for name, host in ends.items():
            flows = [self._flow(flow, name, ends, job) for flow in job.flows]
            args = [host.flowgen, "--t0", f"{t0_s + host.clock.ahead_s:.9f}", "--out", "flows.jsonl"]
            args += ["--sample-ms", str(sc.measure.sample_ms), "--until", f"{sc.duration_s + 1:g}"]
            host.call("start", name="flowgen", args=args + flows)

    @staticmethod
    def _flow(flow: Flow, name: str, ends: dict[str, Any], job: Job) -> str:
        words = [f"id={flow.id}", f"port={flow.port}"]
        if name == flow.dst:
            words += ["role=recv", f"addr={ends[name].address}"]
            return ",".join(words + [f"{k}={v}" for k, v in flow.given("receiver").items()])
        words += ["role=send", f"addr={ends[flow.dst].address}", f"src={ends[name].address}"]
        words += [f"start={flow.start_s:g}", f"duration={flow.duration_s:g}", f"cc={job.cc_of(flow.cc)}"]
        return ",".join(words + [f"{k}={v}" for k, v in flow.given("sender", job.seed).items()])

    @staticmethod
    def collect(_job: Job, ends: dict[str, Any], directory: Path) -> None:
        """Records of both hosts as flowgen wrote them."""
        for host in ends.values():
            (directory / f"flows-{host.role}.jsonl").write_bytes(host.fetch("flows.jsonl"))


class Iperf3:
    """A server and a client of iperf3 for each flow."""

    name = "iperf3"

    @staticmethod
    def refusal(flow: Flow) -> str:
        """As Flowgen.refusal."""
        asked = flow.given("sender").keys() | flow.given("receiver").keys()
        if alien := sorted(asked - IPERF3_KEYS):
            return f"{', '.join(alien)}: --traffic flowgen knows this, iperf3 does not"
        if not flow.bytes and flow.duration_s != int(flow.duration_s):
            return f"duration_s={flow.duration_s:g}: iperf3 takes whole seconds; use --traffic flowgen"
        return ""

    @staticmethod
    def prepare(hosts: list[Any]) -> None:
        """Both must have it."""
        for host in hosts:
            if not host.facts["iperf3"]:
                raise LabError(f"{host}: iperf3 is not installed there: install it, or use --traffic flowgen")

    @staticmethod
    def start(job: Job, ends: dict[str, Any], t0_s: float) -> None:
        """Servers now, clients in time."""
        sc = job.scenario
        interval = ["-i", f"{max(sc.measure.sample_ms, LEAST_INTERVAL_MS) / 1e3:g}", "-J"]
        for flow in job.flows:
            src, dst = ends[flow.src], ends[flow.dst]
            server = ["iperf3", "-s", "-1", "-B", dst.address, "-p", str(flow.port), *interval]
            dst.call("start", name=f"server{flow.id}", args=server)
            client = ["iperf3", "-c", dst.address, "-B", src.address, "-p", str(flow.port), *interval]
            client += ["-C", job.cc_of(flow.cc)]
            client += ["-n", str(flow.bytes)] if flow.bytes else ["-t", f"{flow.duration_s:g}"]
            client += ["--fq-rate", f"{flow.pace_mbit * 1e6:.0f}"] if flow.pace_mbit else []
            src.call("start", name=f"client{flow.id}", args=client, at=t0_s + src.clock.ahead_s + flow.start_s)

    @staticmethod
    def collect(job: Job, ends: dict[str, Any], directory: Path) -> None:
        """Their JSON as records of flowgen; flows begin when iperf3 says so."""
        records: dict[str, list[dict[str, Any]]] = {host.role: [] for host in ends.values()}
        for f in job.flows:
            src, dst = ends[f.src], ends[f.dst]
            sent, got = (_parsed(h, f"{end}{f.id}.out") for h, end in ((src, "client"), (dst, "server")))
            records[src.role] += sender_records(f, sent, got)
            records[dst.role] += receiver_records(f, got)
        for role, lines in records.items():
            (directory / f"flows-{role}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in lines))


def _parsed(host: Any, name: str) -> dict[str, Any]:
    said = host.fetch(name).decode(errors="replace")
    try:
        result: dict[str, Any] = json.loads(said)
    except ValueError:
        raise LabError(f"{host}: iperf3 left no JSON: {said[-300:]!r}") from None
    if "error" in result:
        raise LabError(f"{host}: {result['error']}")
    return result


def sender_records(flow: Flow, sent: dict[str, Any], got: dict[str, Any]) -> list[dict[str, Any]]:
    """From the client's JSON; ``got``, the server's, says when a flow of so many bytes was complete."""
    mss = sent["start"]["tcp_mss_default"]
    end = sent["end"]["streams"][0]["sender"]
    over_s = got["end"]["sum_received"]["seconds"] if flow.bytes else end["seconds"]
    rows, retransmits = [], 0
    for s in (interval["streams"][0] for interval in sent["intervals"]):
        retransmits += s["retransmits"]
        known = {"cwnd": round(s["snd_cwnd"] / mss), "srtt_us": s["rtt"], "rttvar_us": s["rttvar"]}
        known |= {"total_retrans": retransmits}
        rows.append(_record("sample", flow, s["end"], SENDER_FIELDS, known))
    first = _record("start", flow, 0, "", {"cc": sent["end"].get("sender_tcp_congestion")})
    known = {"total_retrans": end["retransmits"], "min_rtt_us": end["min_rtt"], "srtt_us": rows[-1]["srtt_us"]}
    reason = "bytes" if flow.bytes else "duration"
    head = {"role": "send", "complete": True, "reason": reason}
    return [first, *rows, _record("end", flow, over_s, SENDER_FIELDS, head | known)]


def receiver_records(flow: Flow, got: dict[str, Any]) -> list[dict[str, Any]]:
    """From the server's JSON."""
    rows, octets = [], 0
    for interval in got["intervals"]:
        octets += interval["sum"]["bytes"]
        rows.append(_record("rsample", flow, interval["sum"]["end"], RECEIVER_FIELDS, {"bytes_received": octets}))
    end = got["end"]["sum_received"]
    head = {"role": "recv", "complete": True, "reason": "fin", "bytes_received": end["bytes"]}
    return [*rows, _record("end", flow, end["end"], RECEIVER_FIELDS, head)]


def _record(kind: str, flow: Flow, t: float, fields: str, known: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "id": flow.id, "t": round(flow.start_s + t, 6)} | dict.fromkeys(fields.split()) | known


TRAFFIC: dict[str, type[Flowgen] | type[Iperf3]] = {"iperf3": Iperf3, "flowgen": Flowgen}
