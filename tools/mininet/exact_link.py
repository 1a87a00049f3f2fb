#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""HetNet and HetLink: a path through a router, each direction by itself, changed while it runs.

tools/hetlab exec -- python3 tools/mininet/exact_link.py
"""

from mininet.topo import Topo

from hetlab.emulation.link import HetLink
from hetlab.emulation.topo import HetHost, HetNet, HetRouter
from hetlab.model.link import Loss


class Path(Topo):
    """s - r - d; the addresses, routes and neighbours are HetNet's."""

    def build(self) -> None:
        """Called by Mininet."""
        s, r, d = self.addHost("s", cls=HetHost), self.addHost("r", cls=HetRouter), self.addHost("d", cls=HetHost)
        down = {"rate_mbit": 8, "delay_ms": 20, "queue_pkts": 30, "loss": Loss("random", 1)}
        self.addLink(s, r, cls=HetLink, rate_mbit=100)
        self.addLink(r, d, cls=HetLink, label="radio", forward=down, reverse={"rate_mbit": 1, "delay_ms": 25})


net = HetNet(topo=Path(), route={"s": "initcwnd 20"})
net.start()
s, address = net.get("s"), net.address("s", "d")
print(s.cmd("ip route get", address))
print(s.cmd("ping -q -i 0.01 -c 1000", address))
net.by_name["radio"].change(delay_ms=50)  # both directions
net.by_name["radio"].change(reverse=False, loss=Loss())
print(s.cmd("ping -q -i 0.01 -c 1000", address))
net.stop()
