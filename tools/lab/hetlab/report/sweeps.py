# SPDX-License-Identifier: GPL-2.0
"""Figures over the swept keys of scenarios, from groups of runs that are points of one sweep."""

from collections.abc import Sequence
from pathlib import Path

from hetlab.plots import style
from hetlab.plots.sweep import Points, Quantity, sweep_figure
from hetlab.report.description import UNITS
from hetlab.report.pictures import PagePicture, picture
from hetlab.report.runs import Group
from hetlab.results import points
from hetlab.results.columns import COLUMNS, Column

SHOWN = tuple(COLUMNS[name] for name in ("goodput", "delay p95", "queue mean"))
KEY_UNITS = UNITS | {"bdp": "BDP"}
At = dict[str, str]


def sweeps_of(groups: Sequence[Group], directory: Path, formats: Sequence[str]) -> list[PagePicture]:
    """A picture for each sweep over numbers, and for each combination of the other keys of that sweep."""
    found = []
    for name, swept in _sweeps(groups).items():
        if key := _axis([at for at, _group in swept]):
            for others, members in _by_others(key, swept).items():
                found.append(_picture(name + others, key, members, directory, formats))
    return found


def _sweeps(groups: Sequence[Group]) -> dict[str, list[tuple[At, Group]]]:
    """Points by scenario; the second group of one name (other settings, another kernel) is of another sweep."""
    found: dict[str, list[tuple[At, Group]]] = {}
    seen: dict[str, int] = {}
    for group in groups:
        stem, at = points.split(group.name)
        seen[group.name] = seen.get(group.name, 0) + 1
        if at:
            found.setdefault(stem if seen[group.name] == 1 else f"{stem} ({seen[group.name]})", []).append((at, group))
    return found


def _axis(at: Sequence[At]) -> str:
    """The key with most different numbers, the first of several; empty if no key has two."""
    numbers = {key: {points.number(values.get(key, "")) for values in at} for key in at[0]}
    usable = {key: len(values) for key, values in numbers.items() if None not in values and len(values) > 1}
    return max(usable, key=lambda key: usable[key], default="")


def _by_others(key: str, swept: Sequence[tuple[At, Group]]) -> dict[str, list[tuple[float, Group]]]:
    """Members by the point of all other keys, as ``[KEY=VALUE,...]``; empty where there is no other key."""
    found: dict[str, list[tuple[float, Group]]] = {}
    for at, group in swept:
        others = ",".join(f"{other}={value}" for other, value in at.items() if other != key)
        found.setdefault(f"[{others}]" if others else "", []).append((float(at[key]), group))
    return found


def _picture(
    name: str, key: str, members: Sequence[tuple[float, Group]], directory: Path, formats: Sequence[str]
) -> PagePicture:
    labels = list(dict.fromkeys(label for _value, group in members for label in group.results))
    quantities = [
        Quantity(f"{column.name} ({column.unit})", {label: curve(column, label, members) for label in labels})
        for column in SHOWN
    ]
    what = quantity_of(key)
    figure = sweep_figure(name, what, quantities)
    text = f"{name}: over {what}; means, whiskers: 95 % intervals over the seeds"
    return picture(f"{style.file_word(name)}-sweep-{style.file_word(key)}", text, figure, directory, formats)


def curve(column: Column, label: str, members: Sequence[tuple[float, Group]]) -> Points:
    """Mean and half interval of a congestion control by the swept value, where there are any."""
    found = {value: column.over(group.results.get(label, [])) for value, group in members}
    return {value: (of.mean, of.half) for value, of in found.items() if of}


def quantity_of(key: str) -> str:
    """A swept key as the label of an axis: ``link.sat.forward.delay_ms`` is "delay (ms), link.sat.forward"."""
    return " and ".join(_words(*part.rpartition(".")[::2]) for part in key.split("+"))


def _words(of: str, last: str) -> str:
    words, _, unit = last.rpartition("_")
    named = f"{words.replace('_', ' ')} ({KEY_UNITS[unit]})" if words and unit in KEY_UNITS else last.replace("_", " ")
    return f"{named}, {of}" if of else named
