# SPDX-License-Identifier: GPL-2.0
"""Jobs one after the other between two real hosts."""

import os
import time

from rich.console import Console

from hetlab.build import identity, programs
from hetlab.errors import LabError
from hetlab.hosts import connection, options, pair
from hetlab.machines.runner import Outcome
from hetlab.model.job import Job


class HostsRunner:
    """Jobs one after the other between two real hosts; each leaves them as they were."""

    def __init__(self, told: options.Options, console: Console) -> None:
        self.options = told
        self.console = console
        self.unlike = False
        if told.netem == "none":
            console.print(options.NOT_EMULATED, soft_wrap=True)
        if told.traffic == "flowgen":
            programs.static_flowgen(os.uname().machine)  # agents do not wait for a compiler
        self.pair: pair.Pair | None = pair.Pair(told, console)

    def run(self, jobs: list[Job], outcome: Outcome) -> None:
        """As VirtualRunner.run; LabError as soon as a host is not as before."""
        try:
            for job in jobs:
                begun = time.monotonic()
                outcome(job, self._one(job), time.monotonic() - begun)
                if self.unlike:
                    raise LabError("stopped: a host is not as it was before; see above")
        finally:
            self._disconnect()

    def _one(self, job: Job) -> str | None:
        """What went wrong with a job, if anything; connects again after a connection was lost."""
        try:
            self._connected().carry_out(job)
        except LabError as err:
            return str(err)
        finally:
            self.unlike = bool(self.pair and self.pair.unlike)
            if self.pair and self.pair.lost:
                self._disconnect()
        return None

    def _connected(self) -> pair.Pair:
        """The same pair as before, as long as both agents reply."""
        if self.pair:
            try:
                for host in self.pair.hosts:
                    host.call("clock")
            except connection.HostLost:
                self._disconnect()
        self.pair = self.pair or pair.Pair(self.options, self.console)
        return self.pair

    def _disconnect(self) -> None:
        if self.pair:
            self.pair.close()
        self.pair = None

    def hashes(self) -> dict[str, str]:
        """The kernel that sends, the sources of this tree; which modules the hosts have is in each result."""
        assert self.pair
        return identity.host_hashes() | {"kernel": self.pair.sender.facts["release"]}
