# SPDX-License-Identifier: GPL-2.0
"""Mininet topologies: hosts, routers and :class:`HetLink` between them.

Addresses: link number i is 10.0.i.0/24 and fd00:i::/64, its first end .1, its
second .2. Routes and neighbours are static, so nothing but the experiment's own
packets crosses a link. A network with a link below 1280 bytes has no IPv6.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mininet.net import Mininet
from mininet.node import Node
from mininet.topo import Topo

from hetlab.emulation.link import HetLink, shell
from hetlab.errors import LabError
from hetlab.model.graph import shortest_path
from hetlab.model.link import Link as LinkModel

MAC_BASE = "02:00:00:00"
IPV6_MIN_MTU = 1280


# No packets of the kernel's own: router solicitations, address checks, listener reports
QUIET = """cd /proc/sys/net/ipv6/conf/default
echo 0 > router_solicitations; echo 0 > accept_ra; echo 0 > dad_transmits"""


class HetHost(Node):
    """A host of its own network namespace that sends and receives."""

    forwards = False

    def __init__(self, name: str, **params: Any) -> None:
        super().__init__(name, **params)
        shell(self, "ip link set lo up\n" + QUIET)

    def config(self, **_params: Any) -> dict[str, Any]:
        """Nothing: addresses come from :class:`HetNet`."""
        return {}


class HetRouter(HetHost):
    """A host that forwards IPv4 and IPv6."""

    forwards = True

    def __init__(self, name: str, **params: Any) -> None:
        super().__init__(name, **params)
        shell(self, "cd /proc/sys/net\necho 1 > ipv4/ip_forward; echo 1 > ipv6/conf/all/forwarding")


class Network(Topo):
    """Hosts, routers and links by name.

    hosts, routers: node names. links: links of the model by name. impaired_later: see HetLink, as (link, way).
    """

    def build(
        self,
        hosts: Sequence[str],
        routers: Sequence[str],
        links: Mapping[str, LinkModel],
        impaired_later: Collection[tuple[str, str]] = (),
        **_opts: Any,
    ) -> None:
        """Called by Mininet's Topo."""
        for name in hosts:
            self.addHost(name, cls=HetHost)
        for name in routers:
            self.addHost(name, cls=HetRouter)
        for name, link in links.items():
            ways = {"forward": link.forward, "reverse": link.back}
            later = {way for of, way in impaired_later if of == name}
            self.addLink(
                *link.ends, label=name, cls=HetLink, mtu=link.mtu, offload=link.offload, impaired_later=later, **ways
            )


class HetNet(Mininet):
    """Mininet with static addresses, routes and neighbours on a :class:`Network`.

    ``route`` maps a node to attributes of all its routes, as ``ip route`` spells
    them: {"s": "initcwnd 10 quickack 1"}.
    """

    def __init__(self, topo: Topo, route: Mapping[str, str] | None = None, **options: Any) -> None:
        self.route = dict(route or {})
        self.by_name: dict[str, HetLink] = {}
        options = {"controller": None, "link": HetLink, "autoSetMacs": False} | options
        super().__init__(topo=topo, **options)

    def build(self) -> None:
        """Build nodes and links, then addresses, neighbours and routes; Mininet calls this."""
        if self.built:
            return
        try:
            super().build()
            self.by_name = {link.label: link for link in self.links}
            self._neighbours = {n.name: self._adjacent(n) for n in self.hosts}
            for node in self.hosts:
                self._configure(node)
        except LabError:
            self.stop()
            raise

    def addLink(self, node1: Any, node2: Any, *args: Any, **params: Any) -> HetLink:
        """As Mininet's, with addresses that depend on the number of the link alone."""
        number = len(self.links)
        params = {"addr1": _mac(number, 1), "addr2": _mac(number, 2)} | params
        return super().addLink(node1, node2, *args, **params)

    def _ends(self, number: int) -> tuple[Node, Node]:
        link = self.links[number]
        return link.intf1.node, link.intf2.node

    def _adjacent(self, node: Node) -> list[tuple[int, int, Node]]:
        """Links of a node: number, which end it is (1 or 2), the other node."""
        found = []
        for i in range(len(self.links)):
            one, two = self._ends(i)
            if node is one:
                found.append((i, 1, two))
            elif node is two:
                found.append((i, 2, one))
        return found

    def _configure(self, node: Node) -> None:
        """Addresses and neighbours of all devices, routes to all other links, one batch each."""
        v4, v6 = [], []
        extra = self.route.get(node.name, "")
        for i, end, _peer in self._neighbours[node.name]:
            intf = self.links[i].intf1 if end == 1 else self.links[i].intf2
            other = 3 - end
            dev, mac = intf.name, _mac(i, other)
            v4.append(f"address add 10.0.{i}.{end}/24 dev {dev}")
            v4.append(f"neigh replace 10.0.{i}.{other} lladdr {mac} dev {dev} nud permanent")
            v4.append(f"route replace 10.0.{i}.0/24 dev {dev} src 10.0.{i}.{end} {extra}")
            v6.append(f"address add fd00:{i}::{end}/64 dev {dev} nodad")
            v6.append(f"neigh replace fd00:{i}::{other} lladdr {mac} dev {dev} nud permanent")
            v6.append(f"route replace fd00:{i}::/64 dev {dev} metric 1 {extra}")
            intf.ip, intf.prefixLen = f"10.0.{i}.{end}", "24"
        for i in range(len(self.links)):
            hop = self._next_hop(node, i)
            if hop is not None:
                v4.append(f"route replace 10.0.{i}.0/24 via {hop[0]} {extra}")
                v6.append(f"route replace fd00:{i}::/64 via {hop[1]} metric 1 {extra}")
        if any(link.mtu < IPV6_MIN_MTU for link in self.links):
            v6 = []
        lines = "\n".join([*v4, *v6])
        shell(node, f"ip -batch - <<BATCH\n{lines}\nBATCH")

    def _next_hop(self, node: Node, number: int) -> tuple[str, str] | None:
        """Gateway (IPv4, IPv6) of a node towards link ``number``; None if attached."""
        ends = self._ends(number)
        if node in ends:
            return None
        first, forward = self._shortest(node.name, [end.name for end in ends])[0]
        gateway = 2 if forward else 1
        return f"10.0.{first}.{gateway}", f"fd00:{first}::{gateway}"

    def _shortest(self, src: str, goals: list[str]) -> list[tuple[int, bool]]:
        """Numbers of the links from a node to the nearest goal, each with its direction (True: forward)."""
        pairs = [self._ends(i) for i in range(len(self.links))]
        ends = {i: (one.name, two.name) for i, (one, two) in enumerate(pairs)}
        return shortest_path(ends, lambda name: getattr(self.get(name), "forwards", False), src, goals)

    def path(self, src: str, dst: str) -> list[tuple[HetLink, bool]]:
        """Links from host to host, each with its direction (True: forward)."""
        return [(self.links[i], forward) for i, forward in self._shortest(src, [dst])]

    def address(self, src: str, dst: str, ipv6: bool = False) -> str:
        """Address under which ``src`` reaches ``dst``: the one of the path's last link."""
        link, forward = self.path(src, dst)[-1]
        number, end = self.links.index(link), 2 if forward else 1
        return f"fd00:{number}::{end}" if ipv6 else f"10.0.{number}.{end}"


def _mac(number: int, end: int) -> str:
    return f"{MAC_BASE}:{number:02x}:{end:02x}"
