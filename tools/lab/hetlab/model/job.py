# SPDX-License-Identifier: GPL-2.0
"""A job: one run of an experiment with a congestion control and a seed."""

import json
from dataclasses import dataclass, field
from typing import Annotated

from hetlab.model.keys import Checked, Key, from_plain, plain
from hetlab.model.scenario import Experiment


@dataclass(frozen=True, kw_only=True)
class Job(Checked):
    """What a machine or a pair of hosts is given; it leaves raw files in ``dir``."""

    scenario: Annotated[Experiment, Key("what is run")]
    cc: Annotated[str, Key("congestion control under test")]
    cc_params: Annotated[dict[str, str], Key("its module parameters")] = field(default_factory=dict)
    seed: Annotated[int, Key("seed of everything random")] = 1
    dir: Annotated[str, Key("directory of the raw files")]
    trace: Annotated[bool, Key("record the events of santacruz")] = False
    emulated: Annotated[bool, Key("the machine is emulated (QEMU)")] = False

    @property
    def name(self) -> str:
        """Name of its scenario."""
        return self.scenario.name

    def cc_of(self, own: str | None) -> str:
        """Congestion control of a flow: its own, or the one under test."""
        return own or self.cc

    @property
    def ccs(self) -> set[str]:
        """Congestion controls of its TCP flows."""
        return {self.cc_of(flow.cc) for flow in self.scenario.flows if flow.proto == "tcp"}

    def as_json(self) -> str:
        """For another process; see from_json."""
        return json.dumps(plain(self))


def from_json(text: str) -> Job:
    """A job that another process wrote."""
    job: Job = from_plain(Job, json.loads(text))
    return job
