#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""An asymmetric access line: 24 Mbit/s down, a thin way up for the ACKs, queues of 9 packets.

On a machine with the modules loaded:   sudo build/venv/bin/python tools/mininet/asymmetric.py --cc santacruz
In virtual time, without root:          tools/hetlab exec -- python3 tools/mininet/asymmetric.py
"""

import sys
from typing import Any

try:
    from hetlab.script import parser, ranged, run_all
except ImportError:
    sys.exit(f"hetlab is not in this Python: after 'make setup' call build/venv/bin/python {sys.argv[0]}")

CCS = ["santacruz", "hybla_ext", "cubic", "reno"]
MTU = 1000
DOWN_MBIT = 24


def make_topo(up_kbit: float) -> Any:
    """Topology s - r1 - (access line) - r2 - d."""
    from mininet.topo import Topo

    from hetlab.emulation.link import HetLink
    from hetlab.emulation.topo import HetHost, HetRouter

    class AccessTopo(Topo):
        """A server behind a fast link, a client behind an asymmetric one."""

        def build(self, **_opts: Any) -> None:
            """Called by Mininet."""
            s, d = self.addHost("s", cls=HetHost), self.addHost("d", cls=HetHost)
            r1, r2 = self.addHost("r1", cls=HetRouter), self.addHost("r2", cls=HetRouter)
            down = {"rate_mbit": DOWN_MBIT, "delay_ms": 2.8, "queue_pkts": 9}
            up = {"rate_mbit": up_kbit / 1000, "delay_ms": 6, "queue_pkts": 9}
            self.addLink(s, r1, cls=HetLink, mtu=MTU, rate_mbit=100)
            self.addLink(r1, r2, cls=HetLink, mtu=MTU, label="line", forward=down, reverse=up)
            self.addLink(r2, d, cls=HetLink, mtu=MTU, rate_mbit=100)

    return AccessTopo()


def main() -> None:
    """Command line."""
    p = parser(__doc__ or "", "asymmetric", 10, CCS)
    p.add_argument(
        "--up-kbit", type=ranged(1, 24_000), default=416, help="rate of the ACKs' way, 1..24000, default 416 (k = 3)"
    )
    args = p.parse_args()
    title = f"Asymmetric line, {DOWN_MBIT} Mbit/s down, {args.up_kbit:g} kbit/s up"
    run_all(make_topo(args.up_kbit), args, title, "line.forward", CCS)


if __name__ == "__main__":
    main()
