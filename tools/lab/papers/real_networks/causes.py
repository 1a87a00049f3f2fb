# SPDX-License-Identifier: GPL-2.0
"""Why claims about real networks do not hold, a text for each root cause; the figures are the claims' own."""

OWN_RATE = (
    "the service time of a packet is the spacing of arrivals, which is the own rate where the pipe is not full: "
    "a window that became too small then looks right, and stays"
)
TICKS = "timestamps have a grain of 1 ms, and at such rates one tick passes for a queue of many packets"
TAKEN_FOR_RANDOM = (
    "before a short queue, or one that stands full, no growth of the queue precedes a loss: it is taken for the link's "
    "and the window stays"
)
DOES_NOT_COMPETE = "it does not compete: it reduces its window while others keep the queue full"
BELIEVES_DELAY = "delay is all that is believed: where arrivals stand still no queue grows, and each loss is the link's"
START_UP = (
    "start-up ends far below the bandwidth-delay product, and from there the window grows by too few packets a round"
)
SMALL_STEPS = "the window grows by small steps when a rate rises, and a queue that appears takes it back at once"
DRAINED_IDLE = (
    "a drain at the start of a burst begins with the window of after idle, and slow start then ends there (without "
    "drains a mean of 0.60 s); and the packets are spaced"
)
SPACED = (
    "packets of start-up are spaced over the round trip, reno's leave at once (without spacing 100 kB take as long)"
)
JOINS_LATE = (
    "a flow that comes counts the queue that stands as its path, and drains take more than a minute to even that out "
    "(2 flows: Jain 0.86 after 15 s, 0.97 after 75 s)"
)
