# SPDX-License-Identifier: GPL-2.0
"""The shortest path between two nodes: hosts do not forward, routers do."""

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TypeVar

from hetlab.model.keys import ModelError

Edge = TypeVar("Edge", bound=Hashable)


def shortest_path(
    ends: Mapping[Edge, tuple[str, str]], forwards: Callable[[str], bool], src: str, goals: Collection[str]
) -> list[tuple[Edge, bool]]:
    """Links from a node to the nearest goal, each with whether it is passed forward (from its first end).

    Of paths of the same length the one whose links come first. ModelError if there is none.
    """
    front: list[tuple[str, list[tuple[Edge, bool]]]] = [(src, [])]
    seen = {src}
    while front:
        node, path = front.pop(0)
        if node in goals:
            return path
        if path and not forwards(node):
            continue
        for edge, pair in ends.items():
            if node not in pair:
                continue
            forward = node == pair[0]
            peer = pair[1] if forward else pair[0]
            if peer not in seen:
                seen.add(peer)
                front.append((peer, [*path, (edge, forward)]))
    raise ModelError(f"no path from {src} to {', '.join(goals)}: hosts do not forward, routers do")
