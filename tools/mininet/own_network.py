#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A network in plain Mininet: two senders share a link of 10 Mbit/s between two Linux bridges, no controller.

tools/hetlab exec -- python3 tools/mininet/own_network.py
"""

import json

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import Topo

from hetlab.paths import BIN


class Dumbbell(Topo):
    """h1 and h2 on the left, h3 on the right."""

    def build(self) -> None:
        """Called by Mininet."""
        left, right = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(left, right, bw=10, delay="20ms", max_queue_size=50)
        for name, switch in (("h1", left), ("h2", left), ("h3", right)):
            self.addLink(self.addHost(name), switch)


net = Mininet(topo=Dumbbell(), switch=LinuxBridge, link=TCLink, controller=None)
net.start()
h1, h2, h3 = net.get("h1", "h2", "h3")
print(h1.cmd("ping -c 3", h3.IP()))
receiver = h3.popen([BIN / "flowgen", "--out", "/dev/null", "role=recv,id=1,port=5001", "role=recv,id=2,port=5002"])
senders = [
    host.popen(
        [BIN / "flowgen", "--out", "-", f"role=send,id={id_},addr={h3.IP()},port={5000 + id_},cc={cc},duration=20"]
    )
    for id_, host, cc in ((1, h1, "santacruz"), (2, h2, "cubic"))
]
for sender in senders:
    records = [json.loads(line) for line in sender.communicate()[0].splitlines()]
    start, end = records[0], records[-1]
    print(f"{start['cc']}: {end['bytes_acked'] * 8 / 20 / 1e6:.2f} Mbit/s, {end['total_retrans']} retransmissions")
receiver.wait()
net.stop()
