#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""measure(): one bulk flow for each congestion control, with the lab's own measurements.

tools/hetlab exec -- python3 tools/mininet/measure_path.py
"""

from mininet.topo import Topo

from hetlab.emulation.link import HetLink
from hetlab.emulation.topo import HetHost, HetNet, HetRouter
from hetlab.model.result import known
from hetlab.script import measure


class Path(Topo):
    """s - r - d, the second link is the bottleneck."""

    def build(self) -> None:
        """Called by Mininet."""
        s, r, d = self.addHost("s", cls=HetHost), self.addHost("r", cls=HetRouter), self.addHost("d", cls=HetHost)
        self.addLink(s, r, cls=HetLink, rate_mbit=100)
        self.addLink(r, d, cls=HetLink, label="thin", rate_mbit=5, delay_ms=30, queue_pkts=40)


net = HetNet(topo=Path())
for cc in ("reno", "santacruz:n_op=4"):
    found = measure(net, "s", "d", cc=cc, duration_s=20, bottleneck="thin.forward")
    numbers = found.summary  # the keys of result.json: docs/results.md
    print(f"{cc}: {numbers.flows[0].goodput_mbit:.3f} Mbit/s, delay p95 {known(numbers.owd_ms).p95:.1f} ms", end="")
    t_s, cwnd_pkts = found.series["cwnd"]  # also queue (pkts) and goodput (Mbit/s)
    print(f", window {cwnd_pkts[-1]:g} packets at {t_s[-1]:g} s")
net.stop()
