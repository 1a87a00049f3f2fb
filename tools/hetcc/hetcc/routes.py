# SPDX-License-Identifier: GPL-2.0
"""Routes of both families: read, given a congestion control, changed with all other attributes kept."""

import errno
import ipaddress
import socket
import struct
from dataclasses import dataclass

from . import HetccError
from .netlink import NETLINK_ROUTE, NLM_CREATE, NLM_EXCL, NLM_REPLACE, Attrs, Netlink, pack_attrs, unpack_attrs

RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE = 24, 25, 26
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PRIORITY, RTA_METRICS, RTA_MULTIPATH = 1, 4, 5, 6, 8, 9
RTA_CACHEINFO, RTA_TABLE, RTA_VIA, RTA_ENCAP_TYPE, RTA_ENCAP, RTA_NH_ID = 12, 15, 18, 21, 22, 30
RTAX_LOCK, RTAX_CC = 1, 16
RTN_UNICAST, TABLE_MAIN, RTPROT_STATIC, RTPROT_RA, ONLINK = 1, 254, 4, 9, 4
IN_NEXTHOP_OBJECT = (RTA_OIF, RTA_GATEWAY, RTA_VIA, RTA_MULTIPATH, RTA_ENCAP, RTA_ENCAP_TYPE)
Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network


def without_state(hops: bytes) -> bytes:
    """Next hops of a multipath route without what the kernel found out about them."""
    clean = bytearray(hops)
    at = 0
    while at + 8 <= len(clean):
        (length,) = struct.unpack_from("=H", clean, at)
        if length < 8:
            break
        clean[at + 2] &= ONLINK
        at += (length + 3) & ~3
    return bytes(clean)


@dataclass
class Route:
    """A route as the kernel describes it, without what only the kernel may say."""

    head: bytes
    attrs: Attrs
    expires: bool = False

    @classmethod
    def parse(cls, body: bytes) -> "Route":
        """From an answer of the kernel, or from what pack() made."""
        attrs = unpack_attrs(body[12:])
        cache = dict(attrs).get(RTA_CACHEINFO, b"")
        expires = len(cache) >= 12 and struct.unpack_from("=i", cache, 8)[0] != 0
        drop = {RTA_CACHEINFO}
        if any(kind == RTA_NH_ID for kind, _ in attrs):
            drop.update(IN_NEXTHOP_OBJECT)
        kept = [(k, without_state(v) if k == RTA_MULTIPATH else v) for k, v in attrs if k not in drop]
        (flags,) = struct.unpack_from("=I", body, 8)
        return cls(body[:8] + struct.pack("=I", flags & ONLINK), kept, expires)

    def pack(self) -> bytes:
        """As a request."""
        return self.head + pack_attrs(self.attrs)

    def get(self, kind: int) -> bytes:
        """Value of an attribute, empty if there is none."""
        return dict(self.attrs).get(kind, b"")

    def number(self, kind: int, default: int = 0) -> int:
        """The same of one that is a number."""
        value = self.get(kind)
        return int(struct.unpack("=I", value)[0]) if len(value) == 4 else default

    @property
    def family(self) -> int:
        """AF_INET or AF_INET6."""
        return self.head[0]

    @property
    def table(self) -> int:
        """Number of the routing table."""
        return self.number(RTA_TABLE, self.head[4])

    @property
    def prefix(self) -> Prefix:
        """Destination."""
        size = 4 if self.family == socket.AF_INET else 16
        return ipaddress.ip_network((self.get(RTA_DST).ljust(size, b"\0")[:size], self.head[1]))

    @property
    def key(self) -> tuple[bytes, Prefix, int, int]:
        """What the kernel tells routes apart by."""
        return self.head[:1] + self.head[2:4], self.prefix, self.table, self.number(RTA_PRIORITY)

    @property
    def cc(self) -> str:
        """Its congestion control, or nothing."""
        return dict(unpack_attrs(self.get(RTA_METRICS))).get(RTAX_CC, b"").rstrip(b"\0").decode()

    @property
    def locked(self) -> bool:
        """Whether programs may not choose another."""
        lock = dict(unpack_attrs(self.get(RTA_METRICS))).get(RTAX_LOCK, bytes(4))
        return bool(struct.unpack("=I", lock)[0] & 1 << RTAX_CC)

    def with_cc(self, cc: str, lock: bool) -> "Route":
        """The same route for this congestion control."""
        metrics = dict(unpack_attrs(self.get(RTA_METRICS)))
        locks = struct.unpack("=I", metrics.pop(RTAX_LOCK, bytes(4)))[0] & ~(1 << RTAX_CC) | lock << RTAX_CC
        if locks:
            metrics[RTAX_LOCK] = struct.pack("=I", locks)
        metrics[RTAX_CC] = cc.encode() + b"\0"
        value = pack_attrs(sorted(metrics.items()))
        return Route(self.head, [*((k, v) for k, v in self.attrs if k != RTA_METRICS), (RTA_METRICS, value)])

    def for_prefix(self, prefix: Prefix) -> "Route":
        """A route of an operator to part of what this one reaches."""
        head = bytearray(self.head)
        head[1], head[5] = prefix.prefixlen, RTPROT_STATIC
        attrs = [(k, v) for k, v in self.attrs if k != RTA_DST]
        return Route(bytes(head), [(RTA_DST, prefix.network_address.packed), *attrs])

    def __str__(self) -> str:
        """As ip route prints it, in short."""
        words = ["default" if not self.prefix.prefixlen else str(self.prefix)]
        if gateway := self.get(RTA_GATEWAY):
            words += ["via", socket.inet_ntop(self.family, gateway)]
        if index := self.number(RTA_OIF):
            words += ["dev", device(index)]
        if nexthop := self.number(RTA_NH_ID):
            words += ["nhid", str(nexthop)]
        if self.get(RTA_MULTIPATH):
            words.append("(several next hops)")
        if self.table != TABLE_MAIN:
            words += ["table", str(self.table)]
        if metric := self.number(RTA_PRIORITY):
            words += ["metric", str(metric)]
        return " ".join([*words, *(["congctl", *(["lock"] if self.locked else []), self.cc] if self.cc else [])])


def device(index: int) -> str:
    """Name of an interface."""
    try:
        return socket.if_indextoname(index)
    except OSError:
        return f"#{index}"


def routes() -> list[Route]:
    """Unicast routes of all tables, both families."""
    found = []
    with Netlink(NETLINK_ROUTE) as link:
        for family in (socket.AF_INET, socket.AF_INET6):
            try:
                found += [Route.parse(body) for body in link.dump(RTM_GETROUTE, struct.pack("=B11x", family))]
            except OSError as error:
                if error.errno not in {errno.EAFNOSUPPORT, errno.EOPNOTSUPP}:
                    raise
    return [route for route in found if route.head[7] == RTN_UNICAST]


def change_route(kind: int, flags: int, route: Route) -> None:
    """Have the kernel add, replace or remove a route; HetccError names the one it refuses."""
    with Netlink(NETLINK_ROUTE) as link:
        try:
            link.request(kind, flags, route.pack())
        except OSError as error:
            raise HetccError(f"the kernel refuses the route {route}: {error.strerror}") from error


class NoRoute(HetccError):
    """Nothing leads to a destination."""


def a_network(text: str) -> Prefix:
    """A prefix as operators write it; ValueError says what is wrong."""
    return ipaddress.ip_network({"default": "0.0.0.0/0"}.get(text, text))


def covers(route: Route, prefix: Prefix) -> bool:
    """Whether a route of the main table leads to all of a destination."""
    family = socket.AF_INET if prefix.version == 4 else socket.AF_INET6
    if route.family != family or route.table != TABLE_MAIN or route.head[3]:
        return False
    return prefix.subnet_of(route.prefix)  # type: ignore[arg-type]


def find_route(prefix: Prefix, *, own: bool = True) -> tuple[Route, bool]:
    """The route that is used for a prefix, and whether it is the prefix's own; own=False: other than its own."""
    covering = [r for r in routes() if covers(r, prefix) and (own or r.prefix != prefix)]
    if not covering:
        raise NoRoute(f"{prefix}: no route leads there (ip route get {prefix.network_address})")
    best = min(covering, key=lambda r: (-r.prefix.prefixlen, r.number(RTA_PRIORITY)))
    return best, best.prefix == prefix


def same_route(route: Route) -> Route | None:
    """The route with the same key as it is now, None if there is none."""
    return next((r for r in routes() if r.key == route.key), None)


def restore_route(old: Route) -> None:
    """Put a route in the place of the one with its key.

    For a route by nexthop object that has no metrics the kernel takes one that has, if there is one: then remove first.
    """
    change_route(RTM_NEWROUTE, NLM_REPLACE, old)
    now = same_route(old)
    if now and as_set(now) != as_set(old):
        change_route(RTM_DELROUTE, 0, now)
        change_route(RTM_NEWROUTE, NLM_CREATE | NLM_EXCL, old)
        now = same_route(old)
    if now is None or as_set(now) != as_set(old):
        raise HetccError(f"the kernel made {now} of {old}")


def as_set(route: Route) -> tuple[bytes, frozenset[tuple[int, bytes]], frozenset[tuple[int, bytes]]]:
    """A route in a form that compares equal whatever the order of its attributes."""
    plain = frozenset((k, v) for k, v in route.attrs if k != RTA_METRICS)
    return route.head, plain, frozenset(unpack_attrs(route.get(RTA_METRICS)))
