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
    "two losses tell a full queue, twelve after random ones; until then, and where GFR looks for more since nothing "
    "waits for 4 ms, the window stays above what the path takes, and losses in two round trips halve it twice"
)
JITTER = (
    "at rho of 1 hybla_ext grows as Reno, a segment a round trip, and a random loss beside a queue that stands takes "
    "half: in slots of 10 ms 3 of 47 losses from 5 s on, at 138 to 162 segments where 140 fill the link, and it takes "
    "3 s to come back; at the start slow start drops 330 packets"
)
SWEEP = (
    "bbr answers no loss below 20 %. westwood_fr is not paced: in a window of hundreds of segments and more some of "
    "ten random losses lie beside waits of its own bursts (traced with the weights before: eight cuts in 30 s; what is "
    "left at 153 Mbit/s, 428 ms is not traced). hybla_ext at rho of 1 to 1.5 grows by so many segments a round trip"
)
