# SPDX-License-Identifier: GPL-2.0
"""A Mininet script as courses have them, unchanged in virtual time: net.iperf(), iperf3, ping, tc by hand.

It knows nothing of this project. Prints one JSON object: rates in Mbit/s, round trip times of ping in ms.
"""

import json
import re
from typing import Any

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import Topo

IPERF3 = {"tcp": "", "eight": "-P 8", "reverse": "-R", "udp": "-u -b 5M", "paced": "-b 5M", "reno": "-C reno"}


class OneSwitch(Topo):
    """Two hosts at a switch; the link of h2 is slow."""

    def build(self, **_params: Any) -> None:
        """See Topo."""
        switch = self.addSwitch("s1", cls=LinuxBridge)
        self.addLink(self.addHost("h1"), switch)
        self.addLink(self.addHost("h2"), switch, bw=10, delay="5ms", max_queue_size=100)


def ping_ms(h1: Any, address: str) -> float:
    """Mean of five round trips."""
    return float(re.findall(r"= [\d.]+/([\d.]+)/", h1.cmd("ping -c 5 -i 0.2", address))[0])


def iperf3(h1: Any, address: str, options: str) -> float:
    """Mbit/s that arrived in 5 s."""
    said = json.loads(h1.cmd(f"iperf3 -c {address} -t 5 -J {options}"))
    if "error" in said:
        raise RuntimeError(f"iperf3 {options}: {said['error']}")
    return float(said["end"]["sum" if "-u" in options else "sum_received"]["bits_per_second"]) / 1e6


def main() -> None:
    """Everything that a course does with two hosts."""
    net = Mininet(topo=OneSwitch(), link=TCLink, controller=None)
    net.start()
    h1, h2 = net["h1"], net["h2"]
    found: dict[str, Any] = {"lost": net.pingAll(), "ping_ms": ping_ms(h1, h2.IP())}
    found["iperf"] = [float(rate.split()[0]) for rate in net.iperf((h1, h2), seconds=5, fmt="m")]
    found["iperf_udp"] = [
        float(rate.split()[0]) for rate in net.iperf((h1, h2), l4Type="UDP", udpBw="5M", seconds=5, fmt="m")[1:]
    ]
    server = h2.popen(["iperf3", "-s"])
    h1.cmd("sleep 1")
    for name, options in IPERF3.items():
        found[name] = iperf3(h1, h2.IP(), options)
        h1.cmd("sleep 1")  # the server's end of the test waits in the queue behind data
    h1.cmd("tc qdisc replace dev h1-eth0 root netem delay 20ms")
    found["slower_ms"] = ping_ms(h1, h2.IP())
    server.terminate()
    net.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
