# SPDX-License-Identifier: GPL-2.0
"""A host whose clock runs fast or slow, is ahead or behind, or stands still, as its TCP packets show it.

A BPF program (tools/bpf/skew.c) on the host's interfaces rewrites timestamps in
flight; the host itself keeps true time. It is compiled before the run, one
object for each of these clocks: see hetlab.build.kernel.
"""

import os
from pathlib import Path

from mininet.node import Node

from hetlab.emulation.link import shell
from hetlab.emulation.topo import HetNet
from hetlab.errors import LabError
from hetlab.model.limits import in_range
from hetlab.paths import skew_object

PINS = "/sys/fs/bpf"


def skew(net: HetNet, host: str, ppm: float, offset_s: float = 0, stands: bool = False) -> None:
    """Make a host's clock run ``ppm`` (-1000..1000) fast from ``offset_s`` on, or stand, on all its interfaces."""
    in_range("skew_ppm", ppm)
    in_range("offset_s", offset_s)
    node: Node = net.get(host)
    program = Path(os.environ.get("HETLAB_BIN", "")) / skew_object(ppm, offset_s, stands)
    # each host has mounts of its own: no other host shares the maps of its two programs
    lines = [f"mount -t bpf bpf {PINS}"]
    for link in net.by_name.values():
        for mine, other, inwards in ((link.intf1, link.intf2, link.plans[1]), (link.intf2, link.intf1, link.plans[0])):
            if mine.node is not node:
                continue
            if inwards.far:
                raise LabError(f"clock.{host}: link {link.label} delays or drops what arrives there; another one must")
            # checksums are whole, as on a wire, so that a wrong one is noticed
            shell(other.node, f"ethtool -K {other.name} tx off >/dev/null")
            lines += _attach(mine.name, program)
    shell(node, "\n".join(lines))


def _attach(dev: str, program: Path) -> list[str]:
    """Commands that have the program see everything that leaves and enters."""
    load = f"bpf direct-action object-file {program} section"
    return [
        f"ethtool -K {dev} tx off >/dev/null",
        f"tc qdisc add dev {dev} clsact",
        *(f"tc filter add dev {dev} {way} {load} {way}" for way in ("egress", "ingress")),
    ]
