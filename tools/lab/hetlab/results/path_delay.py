# SPDX-License-Identifier: GPL-2.0
"""The delay that a path has of its own: what a packet would need if it never waited."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hetlab.model.scenario import Experiment

Floats = npt.NDArray[np.float64]


def own_delay_s(scenario: Experiment, src: str, dst: str, t_s: Floats, octets: npt.NDArray[Any]) -> Floats:
    """Propagation and transmission (s) of packets of these sizes that leave at these times.

    Of each link as it is at the packet's departure: events change delay and rate. Jitter and slots count as waiting.
    """
    total = np.zeros(len(t_s))
    for link, way in scenario.path(src, dst):
        direction = scenario.links[link].way(way)
        total += _steps(scenario, link, way, "delay_ms", direction.delay_ms, t_s) / 1e3
        if direction.rate_mbit is not None:
            total += octets * 8 / _steps(scenario, link, way, "rate_mbit", direction.rate_mbit, t_s) / 1e6
    return total


def _steps(scenario: Experiment, link: str, way: str, key: str, first: float, t_s: Floats) -> Floats:
    """A key of a direction at these times, with what events make of it."""
    changes = [c for c in scenario.events if (c.link, c.way) == (link, way) and getattr(c, key) is not None]
    values = np.array([first, *(getattr(c, key) for c in changes)], float)
    found: Floats = values[np.searchsorted([c.at_s for c in changes], t_s, side="right")]
    return found
