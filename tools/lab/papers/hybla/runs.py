# SPDX-License-Identifier: GPL-2.0
"""Runs of the Hybla paper's set-ups (Caini and Firrincieli 2004).

``SPACED`` has the paper's rules, ``PAPER`` the same without packet spacing, ``OURS`` is the law of shares. Its
NewReno is ``NEWRENO``, without SACK; its SACK is today's ``reno``.
"""

from hetlab.claims.evidence import RunKey
from hetlab.model import scenario
from papers import common
from papers.common import WITHOUT_SACK

OURS = "hybla_ext"
PAPER, SPACED = "hybla_paper@unspaced", "hybla_paper"
JUDGED = OURS  # where Hybla is compared with others; it is spaced, as the paper recommends
INTREE, SACK = "hybla", "reno"
NEWRENO, PAPER_NOSACK = SACK + WITHOUT_SACK, PAPER + WITHOUT_SACK
RIVALS = (SACK, NEWRENO)

MTU = 1076
SEGMENT = scenario.packet_payload(MTU)  # bytes
RTT0_S = 0.025
GAMMA_PKTS = 32
WIRED_RTT_MS = 25
WIRELESS = "link.wireless.forward.delay_ms"
PERCENT = "link.wireless.forward.loss.percent"
BOTTLENECK = "link.bottleneck.forward.delay_ms"
# One-way delays (ms) that give round trips of 25 to 600 ms: of the wireless leg, and of the ideal channel
LEGS_MS = (0, 12.5, 37.5, 87.5, 137.5, 187.5, 237.5, 287.5)
WAYS_MS = (12.5, 25, 50, 100, 150, 200, 250, 300)
# All for the one that is judged, where it is compared for Reno; the others are reported at the ends, 100 and 300 ms
RENO_LEGS_MS = (0, 37.5, *LEGS_MS[4:])
TOLD_LEGS_MS = (0, 37.5, 137.5, 287.5)
LINK_MBIT = 10 * SEGMENT / MTU


def rtt_ms(leg_ms: float) -> int:
    """Round trip of the foreground flow, from the delay of its wireless leg."""
    return round(WIRED_RTT_MS + 2 * leg_ms)


def point(name: str, cc: str, **swept: float) -> RunKey:
    """A run; ``percent``, ``leg_ms``, ``way_ms`` are its point of the sweep."""
    keys = {"percent": PERCENT, "leg_ms": WIRELESS, "way_ms": BOTTLENECK}
    return common.point(name, cc, {keys[key]: value for key, value in swept.items()})


def sweep(name: str, cc: str, **fixed: float) -> dict[int, RunKey]:
    """Runs over the wireless leg, by round trip in ms."""
    legs_ms = LEGS_MS if cc == JUDGED else RENO_LEGS_MS if cc in RIVALS else TOLD_LEGS_MS
    return {rtt_ms(leg): point(name, cc, **fixed, leg_ms=leg) for leg in legs_ms}
