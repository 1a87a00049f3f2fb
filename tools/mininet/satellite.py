#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A satellite hop: GEO (600 ms, random loss) or LEO (40 ms, a handover every 15 s).

On a machine with the modules loaded:   sudo build/venv/bin/python tools/mininet/satellite.py --cc hybla_ext
In virtual time, without root:          tools/hetlab exec -- python3 tools/mininet/satellite.py
"""

import itertools
import sys
import threading
from typing import Any

try:
    from hetlab.script import parser, ranged, run_all
except ImportError:
    sys.exit(f"hetlab is not in this Python: after 'make setup' call build/venv/bin/python {sys.argv[0]}")

CCS = ["hybla_ext", "westwood_fr", "cubic", "reno"]
GEO_DELAY_MS = 300
LEO_DELAYS_MS = (20, 33, 8, 24)
HANDOVER_S = 15


def make_topo(rate_mbit: float, delay_ms: float, queue_pkts: int, loss_percent: float) -> Any:
    """Topology s - r1 - (satellite) - r2 - d."""
    from mininet.topo import Topo

    from hetlab.emulation.link import HetLink
    from hetlab.emulation.topo import HetHost, HetRouter
    from hetlab.model.link import Loss

    class SatelliteTopo(Topo):
        """Two hosts, two ground stations."""

        def build(self, **_opts: Any) -> None:
            """Called by Mininet."""
            s, d = self.addHost("s", cls=HetHost), self.addHost("d", cls=HetHost)
            r1, r2 = self.addHost("r1", cls=HetRouter), self.addHost("r2", cls=HetRouter)
            clean = {"rate_mbit": rate_mbit, "delay_ms": delay_ms, "queue_pkts": queue_pkts}
            lossy = clean | {"loss": Loss("random", loss_percent)}
            self.addLink(s, r1, cls=HetLink, rate_mbit=10 * rate_mbit)
            self.addLink(r1, r2, cls=HetLink, label="satellite", forward=lossy, reverse=clean)
            self.addLink(r2, d, cls=HetLink, rate_mbit=10 * rate_mbit)

    return SatelliteTopo()


def handovers(net: Any, over: threading.Event) -> None:
    """Another satellite every 15 s: the propagation delay steps."""
    for delay_ms in itertools.cycle(LEO_DELAYS_MS):
        net.by_name["satellite"].change(delay_ms=delay_ms)
        if over.wait(HANDOVER_S):
            return


def main() -> None:
    """Command line."""
    p = parser(__doc__ or "", "satellite", 60, CCS)
    p.add_argument("--orbit", choices=("geo", "leo"), default="geo", help="default geo")
    p.add_argument("--loss", type=ranged(0, 50), metavar="PERCENT", help="0..50; default GEO 0.5, LEO 0")
    p.add_argument("--rate", type=ranged(0.01, 1000), default=10, metavar="MBIT", help="Mbit/s, 0.01..1000, default 10")
    args = p.parse_args()
    geo = args.orbit == "geo"
    delay_ms = GEO_DELAY_MS if geo else max(LEO_DELAYS_MS)
    loss = args.loss if args.loss is not None else 0.5 if geo else 0.0
    half_bdp_pkts = args.rate * 1e6 * delay_ms / 1e3 / 8 / 1500
    queue_pkts = max(round(half_bdp_pkts), 20)
    title = f"{args.orbit.upper()} satellite, {args.rate:g} Mbit/s, {loss:g} % loss, queue of {queue_pkts} packets"
    topo = make_topo(args.rate, delay_ms, queue_pkts, loss)
    run_all(topo, args, title, "satellite.forward", CCS, None if geo else handovers)


if __name__ == "__main__":
    main()
