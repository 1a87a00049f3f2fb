# SPDX-License-Identifier: GPL-2.0
"""A job: one run of an experiment with a congestion control and a seed."""

import json
import random
from dataclasses import dataclass, field, replace
from typing import Annotated

from hetlab.model import congestion
from hetlab.model.flow import Flow
from hetlab.model.keys import Checked, Key, as_plain, from_plain
from hetlab.model.scenario import Experiment

DEFAULT_CC = "net.ipv4.tcp_congestion_control"
QDISC = "sch_replay"  # of links that play a trace: there for every run, it seldom changes
TRACED = "tcp_santacruz"  # has the events that are recorded


@dataclass(frozen=True, kw_only=True)
class Candidate(Checked):
    """A module of the user's own that a run loads, see hetlab.candidates."""

    names: Annotated[tuple[str, ...], Key("congestion controls that it registers")]
    module: Annotated[str, Key("its name in the kernel")]
    ko: Annotated[str, Key("its file")]
    digest: Annotated[str, Key("hash of its sources")]
    top: Annotated[str, Key("directory of its sources, for messages")] = ""


@dataclass(frozen=True, kw_only=True)
class Job(Checked):
    """What a machine or a pair of hosts is given; it leaves raw files in ``dir``."""

    scenario: Annotated[Experiment, Key("what is run")]
    cc: Annotated[str, Key("congestion control under test")]
    cc_params: Annotated[dict[str, str], Key("its module parameters")] = field(default_factory=dict)
    seed: Annotated[int, Key("seed of everything random")] = 1
    dir: Annotated[str, Key("directory of the raw files")]
    trace: Annotated[bool, Key("record the events of santacruz")] = False
    asked: Annotated[tuple[str, ...], Key("arguments of hetlab run that gave the scenario")] = ()
    candidates: Annotated[tuple[Candidate, ...], Key("modules of the user's own")] = ()
    emulated: Annotated[bool, Key("the machine is emulated (QEMU)")] = False

    @property
    def name(self) -> str:
        """Name of its scenario."""
        return self.scenario.name

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The flows as the seed starts them: those with start_jitter_s at a time of its choice."""
        return tuple(self._started(flow) for flow in self.scenario.flows)

    def _started(self, flow: Flow) -> Flow:
        """A flow with its start drawn, by its number, and no longer than the run."""
        if not flow.start_jitter_s:
            return flow
        late_s = random.Random(f"start {self.seed} {flow.id}").random() * flow.start_jitter_s
        start_s = round(flow.start_s + late_s, 6)
        return replace(flow, start_s=start_s, duration_s=min(flow.duration_s, self.scenario.duration_s - start_s))

    def cc_of(self, own: str | None) -> str:
        """Congestion control of a flow: its own, or the one under test."""
        return own or self.cc

    @property
    def ccs(self) -> set[str]:
        """Congestion controls of its TCP flows, and of who listens where a route says so."""
        routed = {text.split("congctl ")[1].split()[0] for text in self.scenario.route.values() if "congctl " in text}
        return routed | {self.cc_of(flow.cc) for flow in self.scenario.flows if flow.proto == "tcp"}

    @property
    def modules(self) -> list[str]:
        """Modules of this tree that its machine loads, in the order of their names.

        Of congestion controls those that its flows, the kernel's default or its parameters name, and no other.
        The store's key depends on it: a change of another one leaves the result as it is.
        """
        named = {self.cc, *self.ccs, self.scenario.sysctl.get(DEFAULT_CC)}
        used = {module for cc, module in congestion.ours().items() if cc in named}
        return sorted({QDISC, *used, *([TRACED] if self.trace else [])})

    @property
    def candidate(self) -> Candidate | None:
        """The user's own module that the congestion control under test is of, None where it is of none."""
        return next((own for own in self.candidates if self.cc in own.names), None)

    def as_json(self) -> str:
        """For another process; see from_json."""
        return json.dumps(as_plain(self))


def from_json(text: str) -> Job:
    """A job that another process wrote."""
    job: Job = from_plain(Job, json.loads(text))
    return job
