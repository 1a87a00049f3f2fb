# SPDX-License-Identifier: GPL-2.0
"""Networks drawn at random: what the scenarios real_networks-sweep and any_link-sweep share."""

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PACKET_BITS = 12_000
LEAST_QUEUE_PKTS = 5  # a queue of a part of the BDP may be no packet at all


@dataclass(frozen=True)
class Network:
    """A link that is drawn; ``rtt_ms``: the shorter round trip."""

    rate_mbit: float
    rtt_ms: float
    queue_bdp: float
    loss_percent: float

    @property
    def queue_pkts(self) -> int:
        """Length of the queue."""
        return max(round(self.queue_bdp * self.rate_mbit * self.rtt_ms * 1e3 / PACKET_BITS), LEAST_QUEUE_PKTS)


def name(number: int) -> str:
    """The variant of a draw."""
    return f"d{number:03d}"


def _toml(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def variants(draws: int, keys: Callable[[int], Mapping[str, Any]]) -> str:
    """A line of a scenario's [variant] for each draw; ``keys``: of the draw of a number, from 1 on."""
    return "".join(f"{name(i)} = {_toml(keys(i))}\n" for i in range(1, draws + 1))


def main(scenario: Callable[[int, int], str], seed: int, draws: int) -> None:
    """Print a scenario; its text by seed and number of draws, and what they are by default."""
    parser = argparse.ArgumentParser(description="Prints a scenario: networks drawn at random, a variant for each.")
    parser.add_argument("--seed", type=int, default=seed, help="another seed: other networks")
    parser.add_argument("--draws", type=int, default=draws, help="how many")
    args = parser.parse_args()
    print(scenario(args.seed, args.draws), end="")
