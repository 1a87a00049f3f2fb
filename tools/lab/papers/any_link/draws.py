# SPDX-License-Identifier: GPL-2.0
"""Networks drawn at random for hybla_ext and westwood_fr: scenario any_link-sweep.

Run as a program (``python -m papers.any_link.draws --seed 2 > sweep2.toml``) it prints such a scenario, with a variant
for each draw; the one in scenarios is that of the defaults.
"""

import random
from dataclasses import dataclass
from typing import Any

from papers import drawn

DRAWS, SEED = 16, 1
RUN_SEEDS = (1, 2)
HEAD = """# SPDX-License-Identifier: GPL-2.0
# By python -m papers.any_link.draws --seed {seed} --draws {draws}
base = "any_link-common"
title = "Networks drawn at random, a variant for each"
compare = ["hybla_ext", "westwood_fr", "reno", "cubic", "bbr", "illinois", "westwood", "hybla"]
seeds = {run_seeds}

[measure]
owd = false

[variant]
"""


@dataclass(frozen=True)
class Draw(drawn.Network):
    """One network."""

    @property
    def title(self) -> str:
        """What was drawn."""
        link = f"{self.rate_mbit:g} Mbit/s, {self.rtt_ms:g} ms"
        return f"{link}, {self.queue_pkts} packets ({self.queue_bdp:g} BDP), {self.loss_percent:g} % lost"

    def keys(self) -> dict[str, Any]:
        """Keys of a scenario; there is plenty for the ACKs."""
        way = {"rate_mbit": self.rate_mbit, "delay_ms": round(self.rtt_ms / 2, 3)}
        forward = way | {
            "queue_pkts": self.queue_pkts,
            "loss": {"model": "random", "percent": self.loss_percent},
        }
        return {"title": self.title, "link": {"bottleneck": {"forward": forward, "reverse": way}}}


def draw(seed: int, number: int) -> Draw:
    """The draw of this number: the same whatever others are drawn."""
    rng = random.Random(f"{seed}/{number}")
    return Draw(
        rate_mbit=float(f"{200 ** rng.random():.3g}"),
        rtt_ms=float(f"{5 * 160 ** rng.random():.3g}"),
        queue_bdp=float(f"{0.1 * 40 ** rng.random():.3g}"),
        loss_percent=round(rng.uniform(0, 3), 2),
    )


def scenario(seed: int, draws: int) -> str:
    """Text of the scenario."""
    head = HEAD.format(seed=seed, draws=draws, run_seeds=list(RUN_SEEDS))
    return head + drawn.variants(draws, lambda number: draw(seed, number).keys())


if __name__ == "__main__":
    drawn.main(scenario, SEED, DRAWS)
