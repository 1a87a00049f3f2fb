# SPDX-License-Identifier: GPL-2.0
"""Why some claims do not hold, measured."""

REFERENCE = (
    "beside flows of its own round trip of 40 ms rho is 1.6, and that is the share of Reno's which both laws of Hybla "
    "hold; losses of a spaced flow are fewer than those of bursts"
)
JITTER = (
    "in slots no packet comes near the minimum round trip for rounds, which looks like a queue that stands: losses "
    "there count as congestion, and probes hold the window down"
)
