#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A wireless last hop with bit errors: 2 Mbit/s, 24 ms, queue of 12 packets of 1000 bytes.

On a machine with the modules loaded:   sudo build/venv/bin/python tools/mininet/lossy.py --cc santacruz:n_op=4
In virtual time, without root:          tools/hetlab exec -- python3 tools/mininet/lossy.py
"""

import sys
from typing import Any

try:
    from hetlab.script import parser, ranged, run_all
except ImportError:
    sys.exit(f"hetlab is not in this Python: after 'make setup' call build/venv/bin/python {sys.argv[0]}")

CCS = ["santacruz:n_op=4", "westwood_fr", "cubic", "reno"]
MTU = 1000


def make_topo(ber: float) -> Any:
    """Topology s - (wired) - base station - (wireless) - d."""
    from mininet.topo import Topo

    from hetlab.emulation.link import HetLink
    from hetlab.emulation.topo import HetHost, HetRouter
    from hetlab.model.link import Loss

    class WirelessTopo(Topo):
        """A fixed host, a base station, a mobile host."""

        def build(self, **_opts: Any) -> None:
            """Called by Mininet."""
            s, d = self.addHost("s", cls=HetHost), self.addHost("d", cls=HetHost)
            bs = self.addHost("bs", cls=HetRouter)
            self.addLink(s, bs, cls=HetLink, mtu=MTU, rate_mbit=10, delay_ms=5)
            air = {"rate_mbit": 2, "delay_ms": 4.6}
            down = air | {"queue_pkts": 12, "loss": Loss("ber", ber=ber)}
            self.addLink(bs, d, cls=HetLink, mtu=MTU, label="wireless", forward=down, reverse=air)

    return WirelessTopo()


def main() -> None:
    """Command line."""
    p = parser(__doc__ or "", "lossy", 60, CCS)
    p.add_argument("--ber", type=ranged(0, 0.001), default=4e-6, help="bit error rate, 0..0.001, default 4e-6")
    args = p.parse_args()
    run_all(make_topo(args.ber), args, f"Wireless link, bit error rate {args.ber:g}", "wireless.forward", CCS)


if __name__ == "__main__":
    main()
