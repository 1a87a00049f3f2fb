# SPDX-License-Identifier: GPL-2.0
"""The network of an experiment as a drawing: hosts, routers, links with what they do, the bottleneck marked.

The columns are hops from the first flow's sender; networkx finds them and places the nodes.
"""

import textwrap
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from hetlab.model.graph import shortest_path
from hetlab.model.link import Direction, rate_text
from hetlab.model.scenario import WAYS, Experiment
from hetlab.model.traces import Played
from hetlab.plots.panels import heading, layout
from hetlab.plots.style import INK, WIDE_IN, styled

Places = dict[str, tuple[float, float]]
HOST: dict[str, Any] = {"boxstyle": "round,pad=0.55", "fc": "#ffffff", "ec": INK, "lw": 1.2}
ROUTER: dict[str, Any] = {"boxstyle": "circle,pad=0.35", "fc": "#dfe3e8", "ec": INK, "lw": 1.2}
LINK: dict[str, Any] = {"color": "#8b949e", "lw": 1.6}
BOTTLENECK: dict[str, Any] = {"color": "#b00020", "lw": 4.5}
ROW_IN, LINE_IN, LETTER_IN = 1.1, 0.14, 0.068
TEXT_PT = 7.5
FEW = 2


@styled
def network(sc: Experiment) -> Figure:
    """Nodes, and at each link its rate, delay, random loss and, of the bottleneck, the queue."""
    places = places_of(sc)
    rows = [y for _x, y in places.values()]
    keys = {
        "host": Patch(fc=HOST["fc"], ec=INK),
        "router": Line2D([], [], ls="", marker="o", mfc=ROUTER["fc"], mec=INK, ms=9),
        "link": Line2D([], [], **LINK),
    }
    if sc.measure.bottleneck:
        keys["measured bottleneck"] = Line2D([], [], **BOTTLENECK)
    last = max(x for x, _y in places.values())
    spacing_in = (WIDE_IN - 1.2) / max(last, 1)
    words = {name: _wrapped(sc, name, places, spacing_in) for name in sc.links}
    above_in, below_in = 0.25 + LINE_IN * max(map(len, words.values())), 0.38
    height_in = ROW_IN * (max(rows) - min(rows)) + above_in + below_in
    room: dict[str, Any] = {"width": WIDE_IN, "panel": height_in, "left": 0.6, "right": 0.6}
    figure, (ax,) = layout(1, 1, title=heading(sc.name, "the network"), x_label="", keys=keys, **room)
    ax.set_axis_off()
    ax.set_xlim(0, last or 1)
    ax.set_ylim(max(rows) + below_in / ROW_IN, min(rows) - above_in / ROW_IN)
    for name, lines in words.items():
        _draw_link(ax, sc, name, places, lines)
    for node, at in places.items():
        _draw_node(ax, sc, node, at)
    return figure


# -------------------------------------------------------------------- places


def places_of(sc: Experiment) -> Places:
    """Column and row of each node: row 0 is the first flow's path, others stand below and above it in turn."""
    path = _main_path(sc)
    layers: dict[int, list[str]] = {}
    for node, column in sorted(_columns(sc, path).items(), key=lambda item: (item[0] not in path, item[0])):
        layers.setdefault(column, []).append(node)
    places = {}
    for column, nodes in layers.items():
        for number, node in enumerate(nodes, start=int(nodes[0] not in path)):
            places[node] = (float(column), float((number + 1) // 2 * (1 if number % 2 else -1)))
    return places


def _main_path(sc: Experiment) -> list[str]:
    """Nodes that the first flow passes."""
    flow = sc.flows[0]
    ends = {name: link.ends for name, link in sc.links.items()}
    passed = shortest_path(ends, lambda node: node in sc.routers, flow.src, (flow.dst,))
    return [flow.src, *(ends[name][1 if forward else 0] for name, forward in passed)]


def _columns(sc: Experiment, path: list[str]) -> dict[str, int]:
    """Hops from the first flow's sender; other senders stand one column before their router."""
    graph = nx.Graph(link.ends for link in sc.links.values())
    columns: dict[str, int] = {}
    for part in nx.connected_components(graph):
        first = next((flow.src for flow in sc.flows if flow.src in part), min(part))
        columns |= {node: hop for hop, nodes in enumerate(nx.bfs_layers(graph, [first])) for node in nodes}
    senders, receivers = {flow.src for flow in sc.flows}, {flow.dst for flow in sc.flows}
    for node in senders - receivers - set(path):
        columns[node] = max(min(columns[peer] for peer in graph[node]) - 1, 0)
    return columns


# --------------------------------------------------------------------- words


def _way_words(way: Direction, played: Played | None) -> str:
    """What a direction does to packets; of a trace its means."""
    rate_mbit = played.mean_mbit if played and played.mean_mbit is not None else way.rate_mbit
    delay_ms = played.delay_ms if played and played.delay_ms is not None else way.delay_ms
    rate = "no rate limit" if rate_mbit is None else rate_text(float(f"{rate_mbit:.3g}") if played else rate_mbit)
    rate += " on average (trace)" if played and played.mean_mbit is not None else ""
    delay = f"{delay_ms:.4g} ms" + (f" ± {way.jitter_ms:g}" if way.jitter_ms else "")
    loss = {"none": [], "random": [f"{way.loss.percent:g} % loss"]}.get(way.loss.model, [f"loss: {way.loss.text}"])
    policed = [f"policed at {rate_text(way.police_mbit)}"] if way.police_mbit else []
    return ", ".join([rate, delay, *loss, *policed])


def link_words(sc: Experiment, name: str, *, turned: bool = False) -> list[str]:
    """Name of a link and what each way does, in lines; ``turned``: its second end is drawn on the left."""
    link = sc.links[name]
    arrows = dict(zip(WAYS, "←→" if turned else "→←", strict=True))
    measured, _, way = (sc.measure.bottleneck or "").partition(".")
    both = {way: _way_words(link.way(way), sc.traces.get(f"{name}.{way}")) for way in WAYS}
    same = both["forward"] == both["reverse"]
    lines = [name, both["forward"]] if same else [name, *(f"{arrows[way]} {text}" for way, text in both.items())]
    if name == measured:
        octets = link.way(way).queue_bytes
        size = f"{link.way(way).limit_pkts} packets" if octets is None else f"{octets} bytes"
        lines.append(f"{arrows[way]} queue of {size}")
    if changes := len({change.at_s for change in sc.events if change.link == name}):
        lines.append(f"changes {changes} times" if changes > 1 else "changes once")
    return lines


def _role(sc: Experiment, host: str) -> str:
    """What a host sends and receives."""
    found = []
    for verb, names in (
        ("sends", [flow.name for flow in sc.flows if flow.src == host]),
        ("receives", [flow.name for flow in sc.flows if flow.dst == host]),
    ):
        if names:
            found.append(f"{verb} {', '.join(names) if len(names) <= FEW else f'{len(names)} flows'}")
    return "\n".join(found)


# ------------------------------------------------------------------- drawing


def _turned(sc: Experiment, name: str, places: Places) -> bool:
    """Whether the second end of a link is left of the first."""
    one, other = (places[end] for end in sc.links[name].ends)
    return one > other


def _wrapped(sc: Experiment, name: str, places: Places, spacing_in: float) -> list[str]:
    """The words of a link in lines that its length has room for."""
    room = max(int((spacing_in - 0.35) / LETTER_IN), 12)
    lines = link_words(sc, name, turned=_turned(sc, name, places))
    return [part for line in lines for part in textwrap.wrap(line, room, subsequent_indent="  ")]


def _draw_link(ax: Axes, sc: Experiment, name: str, places: Places, lines: list[str]) -> None:
    """A line between two nodes with its words at the middle; links between the same nodes are bent apart."""
    ends = sc.links[name].ends
    beside = [other for other, link in sc.links.items() if set(link.ends) == set(ends)]
    (x, y), (to_x, to_y) = sorted(places[end] for end in ends)
    bend = 0.3 * (beside.index(name) - (len(beside) - 1) / 2)
    measured = name == (sc.measure.bottleneck or "").partition(".")[0]
    at = np.linspace(0, 1, 41)
    line_x, line_y = x + (to_x - x) * at, y + (to_y - y) * at - 4 * bend * at * (1 - at)
    ax.plot(line_x, line_y, **(BOTTLENECK if measured else LINK))
    # Slanting links may cross: their words are nearer to the end that is farther from the main path
    middle = 20 if y == to_y else 12 if abs(y) > abs(to_y) else 28
    ax.annotate(
        "\n".join(lines),
        (line_x[middle], line_y[middle]),
        (0, 5 if y == to_y else 0),
        textcoords="offset points",
        ha="center",
        va="bottom" if y == to_y else "center",
        fontsize=TEXT_PT,
        linespacing=1.25,
        fontweight="bold" if measured else "normal",
        zorder=2.5,
        bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8},
    )


def _draw_node(ax: Axes, sc: Experiment, node: str, at: tuple[float, float]) -> None:
    """A host with what it does below it, or a router."""
    ax.text(*at, node, ha="center", va="center", bbox=HOST if node in sc.hosts else ROUTER, fontsize=9.5, zorder=3)
    ax.annotate(
        _role(sc, node), at, (0, -15), textcoords="offset points", ha="center", va="top", fontsize=TEXT_PT, zorder=3
    )
