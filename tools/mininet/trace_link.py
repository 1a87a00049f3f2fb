#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""HetLink(trace=...): a cellular link whose capacity changes every few milliseconds, and an outage by hand.

tools/hetlab exec -- python3 tools/mininet/trace_link.py [FILE]

FILE is a trace of Mahimahi's format or a CSV (docs/traces.md); without it a synthetic one is played.
"""

import sys

from mininet.topo import Topo

from hetlab.emulation.link import HetLink
from hetlab.emulation.topo import HetHost, HetNet, HetRouter

TRACE = sys.argv[1] if len(sys.argv) > 1 else "cellular:seed=1,mean_mbit=6,duration_s=30"


class Path(Topo):
    """s - r - d; what comes to d follows the trace, the way back has a rate that can be 0."""

    def build(self) -> None:
        """Called by Mininet."""
        s, r, d = self.addHost("s", cls=HetHost), self.addHost("r", cls=HetRouter), self.addHost("d", cls=HetHost)
        self.addLink(s, r, cls=HetLink, rate_mbit=100)
        down = {"trace": TRACE, "delay_ms": 20, "queue_pkts": 100}
        up = {"rate_mbit": 2, "delay_ms": 20, "rate_at_once": True}
        self.addLink(r, d, cls=HetLink, label="cell", forward=down, reverse=up)


net = HetNet(topo=Path())
net.start()
s, address = net.get("s"), net.address("s", "d")
print(s.cmd("ping -q -i 0.05 -c 200", address))
net.by_name["cell"].change(forward=False, rate_mbit=0)  # holds what waits
print(s.cmd("ping -q -i 0.05 -c 20 -W 1", address))
net.by_name["cell"].change(forward=False, rate_mbit=2)
print(s.cmd("ping -q -i 0.05 -c 20", address))
net.stop()
