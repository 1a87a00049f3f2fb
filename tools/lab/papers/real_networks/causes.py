# SPDX-License-Identifier: GPL-2.0
"""Why claims about real networks do not hold, a text for each root cause; the figures are the claims' own."""

COMPETES_ALONE = (
    "it takes its losses, or a delay of the path, for others that fill the queue, and does what CUBIC does though it "
    "is alone"
)
EQUALS_COMPETE = "equal flows take each other for flows that fill the queue, do as CUBIC does, and fill it"
LIKE_CUBIC = (
    "beside flows that fill the queue it does what CUBIC does, and CUBIC gets 0.22 to 0.30 of the fair share beside "
    "BBR before a queue of up to one bandwidth-delay product"
)
HALF_OF_THE_TIME = (
    "on a round trip of 100 ms it takes turns: it competes in 68 % of the rounds (CUBIC, 0.5 BDP), and gives way in "
    "the others"
)
OF_THE_LINK = (
    "a queue that is held short, and jitter, make a lost packet's neighbour wait about as long as the mean: losses of "
    "the link are taken for a full queue's"
)
BURSTS_ARE_HELD = (
    "the operating point is higher by what the stack sends at once, less one packet, so that the link does not run "
    "idle between two bursts"
)
OVERSHOOTS = (
    "where no queue shows, the window grows by up to a quarter in a round, and when it shows, a round of what was sent "
    "has to wait"
)
NOISE_IS_HELD = "the operating point is higher by twice what the level moves by itself, so that the link is never idle"
DRAINS = "a drain lasts three rounds with three quarters of the window, and a round later the queue overshoots"
