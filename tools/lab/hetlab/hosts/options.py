# SPDX-License-Identifier: GPL-2.0
"""Options of ``--on hosts``, and whether a job fits two hosts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hetlab.errors import LabError
from hetlab.hosts import netem
from hetlab.hosts.traffic import TRAFFIC
from hetlab.model.job import Job
from hetlab.model.scenario import WAYS, Experiment

MOST_FLOWS = 64
NOT_EMULATED = "links of the scenario are not emulated (--netem none): the real path is measured"


@dataclass(frozen=True)
class Options:
    """Options of ``hetlab run --on hosts``."""

    sender: str
    receiver: str
    sender_address: str | None = None
    receiver_address: str | None = None
    traffic: str = "iperf3"
    netem: str = "none"
    ssh_options: tuple[str, ...] = ()


def options(
    on: str,
    sender: str | None,
    receiver: str | None,
    sender_address: str | None,
    receiver_address: str | None,
    traffic: str,
    netem: str,
    ssh_options: list[str] | None,
) -> Options | None:
    """Options of ``--on hosts``, None for other places; LabError where they do not go together."""
    if on != "hosts":
        if any((sender, receiver, sender_address, receiver_address, ssh_options)) or netem != "none":
            raise LabError("--sender, --receiver, their addresses, --netem and --ssh-option go with --on hosts")
        return None
    if not sender or not receiver:
        raise LabError("--on hosts needs --sender [USER@]HOST and --receiver [USER@]HOST")
    return Options(sender, receiver, sender_address, receiver_address, traffic, netem, tuple(ssh_options or ()))


def fit(job: Job, options: Options) -> Job:
    """A job as two hosts can carry it out; LabError naming what they cannot do."""
    sc = job.scenario
    faults = [*_faults(sc, options.netem != "none"), *_flow_faults(job, options)]
    if job.trace:
        faults.append("--trace is not for --on hosts: use trace-cmd there")
    if faults:
        raise LabError("\n".join(f"{sc.name} does not fit --on hosts: {fault}" for fault in faults))
    measure = replace(sc.measure, queues=(), pcap=False)
    if options.netem == "none":
        sc = replace(sc, links={}, events=(), title=f"{sc.title}; its links not emulated: the real path")
        measure = replace(measure, bottleneck=None)
    else:
        emulation(sc, options.netem)
    return replace(job, scenario=replace(sc, measure=measure, owd_pairs=()))


def _faults(sc: Experiment, netem_on: bool) -> Iterator[str]:
    if len(sc.ends) != 2:
        yield f"it has flows between {', '.join(sc.ends)}; two hosts are the ends of one path"
    for host, words in sc.route.items():
        if words:
            yield f"route.{host} ({words}): routes of real hosts are not changed"
    for name, link in sc.links.items():
        if any(link.way(way).traced or link.way(way).rate_at_once for way in WAYS) and netem_on:
            yield f"link.{name} plays a trace or has rate_at_once, for which --netem has no qdisc"
    for host in sc.clocks:
        yield f"clock.{host}: clocks of real hosts are not changed"
    if len(sc.flows) > MOST_FLOWS:
        yield f"{len(sc.flows)} flows: at most {MOST_FLOWS}"


def _flow_faults(job: Job, options: Options) -> Iterator[str]:
    for flow in job.flows:
        if flow.proto != "tcp":
            yield f"flow.{flow.name} is {flow.proto}; only tcp flows are made"
        elif why := TRAFFIC[options.traffic].refusal(flow):
            yield f"flow.{flow.name}: {why}"
    if options.netem != "none" and job.scenario.events:
        yield "its links change while it runs: not with --netem"


def emulation(sc: Experiment, on: str) -> netem.Emulation:
    """The scenario's links as one, for the host that emulates them."""
    src, dst = sc.flows[0].src, sc.flows[0].dst
    there = netem.one_way(sc, netem.path(sc, src, dst))
    back = netem.one_way(sc, netem.path(sc, dst, src))
    return netem.Emulation(there, back) if on == "receiver" else netem.Emulation(back, there)
