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
BURSTS = (
    "of the same overflow a third packet is lost when the window is halved already: 129 segments become 34 "
    "(westwood_fr, 50 Mbit/s, 5 packets: by samples; with the law of 2026-11-28 by trace a retransmission that left "
    "into the full queue, or one of five packets that leave at once as the receiver holds back SACKs for a "
    "millisecond, tcp_comp_sack_delay_ns): 0.91 and 0.88 of Reno's, westwood_fr and westwood_gfr. Until 2026-12-01, "
    "when delayed ACKs hid the queue, 0.98, and 1.30 with 1.4 % lost. hybla_ext has 0.97 and 0.96 behind 5 and 10 "
    "packets at 30 Mbit/s"
)
SLOTS = (
    "hybla_ext in slots of 10 ms: 32.0 Mbit/s (mean of eight of the law before 39.1): slow start overruns the queue, "
    "and for seconds losses are a full queue's (traced in a trial). westwood_fr has 41.7 (37.6 before a full queue's "
    "loss was no look at the path)"
)
THIN = "hybla_ext by 0.0004: 27.957 of 27.968 Mbit/s, without a loss, where reno sends 3181 packets again; not traced"
SWEEP = (
    "bbr answers no loss below 20 %. In hybla_ext a round of more than a 32nd lost stops fast growth, of a 16th is "
    "congestion; behind 5 packets at 51 Mbit/s, 7 ms, 2.8 % lost, bursts of any window overflow the queue, too"
)
STARLINK = (
    "over the trace of Starlink cubic fills the queue of 500 packets: 46.2 Mbit/s with p95 149 ms, ours 44.8 to 45.0 "
    "with 47 to 111; at the other six one of ours is ahead at no more than a third of the delay"
)
MICROWAVE = (
    "by 0.03 with westwood_fr at 40 ms, 20.6 of 21.3 Mbit/s: a burst is lost while 7 ms of its own queue stand, and "
    "half of 99 packets is less than the 83 that fill the path (traced). hybla_ext holds"
)
