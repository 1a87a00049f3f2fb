# SPDX-License-Identifier: GPL-2.0
"""Segmentation and receive offload on and off: packets of many segments name the last of them."""

from dataclasses import replace

from option.interop.case import NONE, Expect, Report, case, judge, network, run_case
from option.interop.flows import Flow, Outcome
from option.interop.net import Link, Net, Setup
from option.interop.oracle import Verdict

ALL_ON = "tso on gso on gro on tx on rx on"
GRO_ONLY = "tso off gso off gro on tx on rx on"
TSO_ONLY = "tso on gso on gro off tx on rx on"
# no rate: segments that left together arrive together
BURSTS = Link(delay_ms=10, rate_mbit=None, limit=20000)
LOSSY = replace(BURSTS, loss_percent=4)
SHAPED = Link(delay_ms=10, rate_mbit=50, loss_percent=1)
COMBINATIONS = {"all on": ALL_ON, "GRO only": GRO_ONLY, "TSO and GSO only": TSO_ONLY}


def _merge(verdict: Verdict) -> float:
    """Wire segments per packet that reached TCP."""
    return verdict.segments / max(1, verdict.packets)


def _acks(outcome: Outcome) -> int:
    """Bytes of the packets without data that the server sent."""
    return sum(seg.ip_len for seg in outcome.server if seg.out and not seg.payload)


def _offloaded(report: Report, offloads: str, link: Link, flow: Flow, busy: bool) -> None:
    setup = Setup(offloads=offloads, up=link, down=link)
    ours, verdicts = run_case(report, setup, flow)
    plain, others = run_case(report, replace(setup, client=0, server=0), flow, NONE)
    for name, verdict, other in zip(("down", "up"), verdicts, others, strict=True):
        report.note(f"{name}: {_merge(verdict):.2f} segments a packet, without {_merge(other):.2f}")
    report.note(f"bytes of ACKs {_acks(ours)}, without {_acks(plain)}; {ours.took_s:.3f} s and {plain.took_s:.3f} s")
    if busy:
        report.expect(_merge(verdicts[1]) > 1.5, "no packet of several segments reached the server")


def _register(name: str, offloads: str, version: int) -> None:
    @case(f"{name}, IPv{version}", group="offload")
    def bulk(report: Report) -> None:
        _offloaded(report, offloads, BURSTS, Flow(version), True)

    @case(f"{name}, 4 % loss, IPv{version}", group="offload")
    def lossy(report: Report) -> None:
        _offloaded(report, offloads, LOSSY, Flow(version), False)


for label, flags in COMBINATIONS.items():
    for ip in (4, 6):
        _register(label, flags, ip)


@case("all on, both ways at once", group="offload")
def both_ways(report: Report) -> None:
    _offloaded(report, ALL_ON, BURSTS, Flow(together=True, up=1_000_000, down=1_000_000), False)


@case("GRO only, both ways at once", group="offload")
def both_ways_gro(report: Report) -> None:
    _offloaded(report, GRO_ONLY, BURSTS, Flow(together=True, up=1_000_000, down=1_000_000), False)


@case("all on, shaped link with loss, both ways at once", group="offload")
def both_ways_shaped(report: Report) -> None:
    _offloaded(report, ALL_ON, SHAPED, Flow(together=True, up=1_000_000, down=1_000_000), False)


def _mixed(net: Net) -> None:
    net.client.run("ethtool -K c0 tso off gso off")
    net.router.run("ethtool -K r0 gro on")
    net.server.run("ethtool -K s0 gro off")


@case("TSO off at the sender, GRO in the router, none at the server", group="offload")
def mixed(report: Report) -> None:
    from option.interop.flows import transfer

    with network(Setup(offloads=ALL_ON, up=LOSSY, down=LOSSY)) as net:
        _mixed(net)
        outcome = transfer(net, Flow())
    judge(report, outcome, Expect())
