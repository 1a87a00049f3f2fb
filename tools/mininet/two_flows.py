#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""flowgen: two TCP flows and a UDP flow over one bottleneck; what the kernel says of each, every 5 s.

tools/hetlab exec -- python3 tools/mininet/two_flows.py
"""

import json
import subprocess

from mininet.topo import Topo

from hetlab.emulation.link import HetLink
from hetlab.emulation.topo import HetHost, HetNet, HetRouter
from hetlab.paths import BIN


class Path(Topo):
    """s - r - d, the second link is the bottleneck."""

    def build(self) -> None:
        """Called by Mininet."""
        s, r, d = self.addHost("s", cls=HetHost), self.addHost("r", cls=HetRouter), self.addHost("d", cls=HetHost)
        self.addLink(s, r, cls=HetLink, rate_mbit=100)
        self.addLink(r, d, cls=HetLink, rate_mbit=10, delay_ms=25, queue_pkts=40)


net = HetNet(topo=Path())
net.start()
here, there = (f"netns=/proc/{net.get(name).pid}/ns/net" for name in ("s", "d"))
flows = []  # both ends in one flowgen, which goes into the hosts' network namespaces
for id_, how in ((1, "cc=reno,duration=30"), (2, "cc=hybla_ext,start=10,duration=20"), (3, "proto=udp,rate_mbit=1")):
    proto = how.split(",")[0] if "proto" in how else "proto=tcp"
    flows.append(f"role=recv,id={id_},{there},{proto},port={5000 + id_}")
    flows.append(f"role=send,id={id_},{here},addr={net.address('s', 'd')},port={5000 + id_},{how}")
command = [str(BIN / "flowgen"), "--out", "-", "--sample-ms", "5000", "--until", "30", *flows]
for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
    record = json.loads(line)  # flowgen --help names the types and their fields
    if record["type"] == "sample":
        print(
            f"{record['t']:4.0f} s  flow {record['id']}  cwnd {record['cwnd']}  srtt {record['srtt_us'] / 1e3:.1f} ms"
        )
net.stop()
