# SPDX-License-Identifier: GPL-2.0
"""The service behind kept routes: listens to the kernel's routes and puts their congestion control back."""

import sys
import time
from collections import deque

from . import HetccError
from .kept import Kept, kept_routes
from .modules import load
from .netlink import NETLINK_ROUTE, NLM_CREATE, NLM_EXCL, NLM_REPLACE, Netlink
from .routes import (
    RTM_DELROUTE,
    RTM_NEWROUTE,
    RTN_UNICAST,
    RTPROT_STATIC,
    NoRoute,
    Prefix,
    Route,
    as_set,
    change_route,
    covers,
    find_route,
    same_route,
)
from .undo import Step, change, one_at_a_time

# Multicast groups of rtnetlink: routes of both families
GROUPS = 0x40 | 0x400
# A link that comes up makes several routes: look once for those of this time
SETTLE_S = 0.5
# Where others rewrite a route again and again: after so many changes within this time wait as long
FIGHT_ROUNDS, FIGHT_S = 20, 60


def as_kept(entry: Kept) -> tuple[Route | None, Route | None]:
    """The route of an entry as it is, and as it should be; None where there is none or should not be one."""
    try:
        best, own = find_route(entry.prefix)
    except NoRoute:
        return None, None
    now = best if own else None
    ours = now and entry.add and now.head[5] == RTPROT_STATIC and now.cc == entry.cc
    if now and not ours:
        return now, now if (now.cc, now.locked) == (entry.cc, entry.lock) else now.with_cc(entry.cc, entry.lock)
    if not entry.add:
        return None, None
    try:
        via, _ = find_route(entry.prefix, own=False)
    except NoRoute:
        return now, now
    return now, via.for_prefix(entry.prefix).with_cc(entry.cc, entry.lock)


class Watch:
    """The service: puts the congestion control of kept routes back."""

    def __init__(self) -> None:
        # What was asked for and what the kernel made of it, which may differ in attributes that it adds
        self.made: dict[Prefix, tuple[object, object]] = {}
        self.complaints: set[str] = set()

    def put(self, entry: Kept) -> bool:
        """Make the route of an entry as it should be, if it is not; whether that was needed."""
        now, want = as_kept(entry)
        if want is None or (now and as_set(want) in {as_set(now), *self.made_of(entry.prefix, now)}):
            return False
        load(entry.cc)
        before = None if now is None or (entry.add and now.cc == entry.cc) else now.pack().hex()
        if now and now.key != want.key:
            change_route(RTM_DELROUTE, 0, now)
            now = None
        flags = NLM_REPLACE if now else NLM_CREATE | NLM_EXCL
        step = Step.now("route", str(entry.prefix), before, want.pack().hex())
        change(step, lambda: change_route(RTM_NEWROUTE, flags, want), merge=True)
        result = same_route(want)
        self.made[entry.prefix] = (as_set(want), result and as_set(result))
        print(f"route: {want}")
        return True

    def made_of(self, prefix: Prefix, now: Route) -> list[object]:
        """What was asked for when the kernel made this route of it."""
        asked, result = self.made.get(prefix, (None, None))
        return [asked] if result == as_set(now) else []

    def put_all(self) -> bool:
        """The same for all entries; one that the kernel refuses is named once."""
        changed = False
        with one_at_a_time():
            for entry in kept_routes():
                try:
                    changed |= self.put(entry)
                except HetccError as error:
                    if str(error) not in self.complaints:
                        print(f"hetcc: {entry.prefix}: {error}", file=sys.stderr)
                    self.complaints.add(str(error))
        return changed


def concerns(kind: int, body: bytes, prefixes: list[Prefix]) -> bool:
    """Whether a message of the kernel is about a route that one of these destinations may use."""
    if kind not in {RTM_NEWROUTE, RTM_DELROUTE} or body[7] != RTN_UNICAST:
        return False
    route = Route.parse(body)
    return any(covers(route, prefix) for prefix in prefixes)


def wait_for_change(link: Netlink) -> None:
    """Return when the kernel has reported a route that matters, or so many that some are lost."""
    time.sleep(SETTLE_S)
    while (news := link.news()) is not None:
        prefixes = [entry.prefix for entry in kept_routes()]
        if any(concerns(kind, body, prefixes) for kind, body in news):
            break
    while link.news(wait=False) != []:
        pass


def watch() -> None:
    """Run the service; does not return."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    service = Watch()
    rounds: deque[float] = deque(maxlen=FIGHT_ROUNDS)
    with Netlink(NETLINK_ROUTE) as link:
        link.listen(GROUPS)
        while True:
            if service.put_all():
                rounds.append(time.monotonic())
            if len(rounds) == FIGHT_ROUNDS and rounds[-1] - rounds[0] < FIGHT_S:
                print(f"hetcc: others rewrite these routes all the time: next look in {FIGHT_S} s", file=sys.stderr)
                rounds.clear()
                time.sleep(FIGHT_S)
            wait_for_change(link)
