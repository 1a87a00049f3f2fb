# SPDX-License-Identifier: GPL-2.0
"""Why some claims do not hold, measured."""

REFERENCE = (
    "beside flows of its own round trip of 40 ms rho is 1.6, 1.4 to 1.5 with the queue, and both laws hold that many "
    "shares; besides, of a spaced flow's packets 5 to 9 in a thousand are dropped, of the four's bursts 14 to 20 "
    "(pacing=0: 1.65 to 1.76 shares). With rtt0_ms=40 it holds (any_link-beside-reno-hybla_ext-rtt0)"
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
