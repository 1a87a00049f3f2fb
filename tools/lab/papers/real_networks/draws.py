# SPDX-License-Identifier: GPL-2.0
"""Networks drawn at random, for a property that must hold on nearly all of them: scenario real_networks-sweep.

Run as a program (``python -m papers.real_networks.draws --seed 2 --draws 50 > sweep2.toml``) it prints such a scenario,
with a variant for each draw; the one in scenarios is that of the defaults.
"""

import math
import random
from dataclasses import dataclass
from typing import Any

from papers import drawn

DRAWS, SEED = 200, 1
SETTLED_S = 10.0  # after any change
FAST_MBIT = 100.0  # above it runs are shorter: a packet costs the same at any rate
HEAD = """# SPDX-License-Identifier: GPL-2.0
# By python -m papers.real_networks.draws --seed {seed} --draws {draws}
base = "real_networks-common"
title = "Networks drawn at random, a variant for each"
duration_s = 30

[link.access]
forward = {{ rate_mbit = 10000 }}

[link.exit]
forward = {{ rate_mbit = 10000 }}

[measure]
bottleneck = "bottleneck.forward"

[variant]
"""


@dataclass(frozen=True)
class Draw(drawn.Network):
    """One network: a link, one change of its delay, the receiver's clock; ``rtt_ms``: the shorter round trip."""

    jitter_ms: float
    step_ms: float
    way: str
    step_s: float
    offset_s: float
    run_seed: int

    @property
    def duration_s(self) -> float:
        """Of what comes after the change there are some seconds, fewer of a fast link, but some round trips."""
        judged_s = max(3, 8 * self.rtt_ms / 1e3) if self.rate_mbit > FAST_MBIT else 8
        return round(self.step_s + SETTLED_S + judged_s, 3)

    @property
    def title(self) -> str:
        """What was drawn."""
        link = f"{self.rate_mbit:g} Mbit/s, {self.rtt_ms:g} ms at least, {self.queue_pkts} packets"
        noise = f"jitter {self.jitter_ms:g} ms, loss {self.loss_percent:g} %"
        return f"{link}; {noise}; {self.step_ms:+g} ms {self.way} at {self.step_s:g} s"

    def keys(self) -> dict[str, Any]:
        """Keys of a scenario."""
        one_way = round(self.rtt_ms / 2 + max(-self.step_ms, 0), 3)
        forward = {
            "rate_mbit": self.rate_mbit,
            "delay_ms": one_way,
            "queue_pkts": self.queue_pkts,
            "jitter_ms": self.jitter_ms,
            "jitter_in_order": True,
            "loss": {"model": "random", "percent": self.loss_percent},
        }
        # plenty for the ACKs: the way there is what is judged
        reverse = {"rate_mbit": self.rate_mbit, "delay_ms": one_way}
        later = round(one_way + self.step_ms, 3)
        return {
            "title": self.title,
            "duration_s": self.duration_s,
            "seeds": [self.run_seed],
            "link": {"bottleneck": {"forward": forward, "reverse": reverse}},
            "event": [{"at_s": self.step_s, "link": "bottleneck", "way": self.way, "delay_ms": later}],
            "clock": {"d": {"offset_s": self.offset_s}},
            "measure": {"steady_from_s": round(self.step_s + SETTLED_S, 3)},
        }

    def windows(self) -> list[tuple[float, float]]:
        """When the link must be used: from 10 s after the begin, and after the change."""
        found = [(self.step_s + SETTLED_S, self.duration_s)]
        return [(SETTLED_S, self.step_s), *found] if self.step_s > SETTLED_S else found


def draw(seed: int, number: int) -> Draw:
    """The draw of this number: the same whatever others are drawn."""
    rng = random.Random(f"{seed}/{number}")
    rate = 1000 ** rng.random()
    rtt = 5 * 120 ** rng.random()
    at = rng.uniform(2, 4) if rate > FAST_MBIT else rng.uniform(14, 18)
    return Draw(
        rate_mbit=_rounded(rate),
        rtt_ms=_rounded(rtt),
        queue_bdp=_rounded(0.3 * (4 / 0.3) ** rng.random()),
        jitter_ms=round(rng.uniform(0, 10), 1),
        loss_percent=round(rng.uniform(0, 2), 2),
        step_ms=round(rng.uniform(-100, 200), 1),
        way=rng.choice(("forward", "reverse", "both")),
        step_s=round(at, 3),
        offset_s=round(rng.uniform(-10, 10), 4),
        run_seed=rng.randrange(1, 1000),
    )


def _rounded(value: float) -> float:
    """To three digits."""
    return round(value, 2 - math.floor(math.log10(value)))


def scenario(seed: int, draws: int) -> str:
    """Text of the scenario."""
    return HEAD.format(seed=seed, draws=draws) + drawn.variants(draws, lambda number: draw(seed, number).keys())


if __name__ == "__main__":
    drawn.main(scenario, SEED, DRAWS)
