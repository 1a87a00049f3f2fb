# SPDX-License-Identifier: GPL-2.0
"""Why some claims do not hold, measured."""

REFERENCE = (
    "beside flows of its own round trip of 40 ms rho is 1.6, and that is the share of Reno's which both laws of Hybla "
    "hold; losses of a spaced flow are fewer than those of bursts"
)
RETURN_QUEUE = (
    "the ACKs' own queue spaces them, which is taken for a busy bottleneck: the estimate is what the return path lets "
    "through, and ends slow start there"
)
LATE = (
    "a flow that begins while a queue stands takes the standing queue for its path, and GFR looks for more where "
    "nothing seems to wait"
)
LEARNS = (
    "two or three losses tell a full queue; until then, and where GFR looks for more since nothing waits for 4 ms, the "
    "window stays above what the path takes, and losses in two round trips halve it twice"
)
JITTER = (
    "in slots no packet comes near the minimum round trip for rounds, which looks like a queue that stands: losses "
    "there count as congestion, and probes hold the window down"
)
