# SPDX-License-Identifier: GPL-2.0
"""Claims about the Hybla paper's ideal channel: the course of the window by its equations, spacing, start-up."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hetlab.claims.evaluate import Verdict
from hetlab.claims.evidence import Evidence, Floats, RunKey
from hetlab.model.result import known
from papers.common import claim, goodput, row
from papers.hybla.runs import GAMMA_PKTS, INTREE, OURS, PAPER, RTT0_S, SACK, SEGMENT, SPACED, WAYS_MS, point


def normalised_rtt(rtt_s: float, rtt0_s: float = RTT0_S) -> float:
    """Equation 5 with the floor: rho, at least 1; both round trips in seconds, above 0."""
    return max(rtt_s / rtt0_s, 1)


def window_pkts(t_s: Floats, rtt_s: float, rtt0_s: float = RTT0_S) -> Floats:
    """Equation 6: window in segments at times since the first segment; 0 before it. Round trips in s, above 0.

    With ``rtt0_s`` not below ``rtt_s`` it is equation 2, the window of standard TCP.
    """
    rho = normalised_rtt(rtt_s, rtt0_s)
    reference_s = rtt_s / rho
    end_s = reference_s * np.log2(GAMMA_PKTS)
    slow_start = rho * 2 ** (np.minimum(t_s, end_s) / reference_s)
    avoidance = rho * ((t_s - end_s) / reference_s + GAMMA_PKTS)
    return np.asarray(np.where(t_s < 0, 0, np.where(t_s < end_s, slow_start, avoidance)), float)


def sent_pkts(t_s: Floats, rtt_s: float, rtt0_s: float = RTT0_S) -> Floats:
    """Equation 8: segments sent by times since the first one; 0 before it. Round trips in s, above 0.

    With ``rtt0_s`` not below ``rtt_s`` it is equation 4, that of standard TCP.
    """
    reference_s = rtt_s / normalised_rtt(rtt_s, rtt0_s)
    end_s = reference_s * np.log2(GAMMA_PKTS)
    slow_start = (2 ** (np.minimum(t_s, end_s) / reference_s) - 1) / np.log(2)
    periods = (t_s - end_s) / reference_s
    avoidance = (GAMMA_PKTS - 1) / np.log(2) + periods**2 / 2 + GAMMA_PKTS * periods
    return np.asarray(np.where(t_s < 0, 0, np.where(t_s < end_s, slow_start, avoidance)), float)


IDEAL_SPACED, IDEAL_PAPER = f"{SPACED}:hoe=0", f"{PAPER}:hoe=0"
IDEAL = {(cc, way): point("hybla-ideal", cc, way_ms=way) for cc in (IDEAL_SPACED, IDEAL_PAPER) for way in WAYS_MS}
CLOSE, CLOSE_PKTS = 0.1, 2.0
AVOIDANCE_S = 5.0
LATENCY_RTTS = 2  # the first ACKs, and those of the first window that they open
ACK_CLOCK = (
    "The window moves with ACKs: those of slow start come a round trip after the first segment, not at 25 log2 32 = "
    "125 ms, and congestion avoidance counts those of the full window yet another one later"
)


def departures_s(e: Evidence, run: RunKey) -> Floats:
    """When each segment left, since the first one."""
    t = e.series(run, "owd-s-d", "t")
    return t - t[0]


def window(e: Evidence, run: RunKey) -> tuple[Floats, Floats]:
    """Time since the first segment, and cwnd, until 5 s of congestion avoidance are over."""
    t = e.series(run, "flows", "t") - e.series(run, "owd-s-d", "t")[0]
    keep = (t >= 0) & (t <= RTT0_S * np.log2(GAMMA_PKTS) + AVOIDANCE_S)
    return t[keep], e.series(run, "flows", "cwnd")[keep]


def off(measured: Floats, low: Floats, high: Floats, margin_pkts: float = 0) -> float:
    """Largest distance from the band between two curves, in tolerances (10 %, or so many segments): 1 is allowed."""
    above = (measured - high) / np.maximum(CLOSE * high, margin_pkts)
    below = (low - measured) / np.maximum(CLOSE * low, margin_pkts)
    return float(np.max(np.maximum(above, below)))


def window_off(e: Evidence, run: RunKey, rtt_s: float, latency_rtts: float) -> float:
    """Of the window from equation 6, which may be late by so many round trips."""
    t, cwnd = window(e, run)
    return off(cwnd, window_pkts(t - latency_rtts * rtt_s, rtt_s), window_pkts(t, rtt_s), CLOSE_PKTS)


def sent_off(e: Evidence, run: RunKey, rtt_s: float, latency_rtts: float) -> float:
    """Of the segments sent by 1, 2, ... 10 s from equation 8, which may be late by so many round trips."""
    t = np.arange(1.0, 11)
    sent = np.searchsorted(departures_s(e, run), t, side="right").astype(float)
    return off(sent, np.maximum(sent_pkts(t - latency_rtts * rtt_s, rtt_s), 1), sent_pkts(t, rtt_s))


def by_rtt(e: Evidence, cc: str, of: Any, latency_rtts: float) -> dict[int, float]:
    """Distances in tolerances, by round trip in ms."""
    return {round(2 * way): of(e, IDEAL[cc, way], 2 * way / 1e3, latency_rtts) for way in WAYS_MS}


@claim(
    "hybla-f2",
    paper="window as equation 6 within 10 % or 2 segments, 25 to 600 ms, slow start and 5 s more",
    needs=[IDEAL[IDEAL_SPACED, way] for way in WAYS_MS],
    cause=ACK_CLOCK,
)
def windows(e: Evidence) -> Verdict:
    """Against the equation as it is printed."""
    found = by_rtt(e, IDEAL_SPACED, window_off, 0)
    return Verdict(max(found.values()) <= 1, f"off by so many times the tolerance, RTT in ms: {row(found, 1)}")


@claim(
    "hybla-f2-acks",
    paper="the same with two round trips of latency",
    needs=[IDEAL[IDEAL_SPACED, way] for way in WAYS_MS],
)
def windows_by_acks(e: Evidence) -> Verdict:
    """Between the equation and the equation two round trips late."""
    found = by_rtt(e, IDEAL_SPACED, window_off, LATENCY_RTTS)
    return Verdict(max(found.values()) <= 1, f"off by so many times the tolerance, RTT in ms: {row(found, 1)}")


@claim(
    "hybla-f4",
    paper="data sent by 1..10 s as equation 8 within 10 % and one RTT; curves of all RTTs on each other",
    needs=IDEAL.values(),
    cause=ACK_CLOCK,
)
def amounts(e: Evidence) -> Verdict:
    """With and without spacing; and by 10 s none is 10 % behind the reference connection."""
    found = {cc: by_rtt(e, cc, sent_off, 1) for cc in (IDEAL_SPACED, IDEAL_PAPER)}
    sent = {way: int(np.searchsorted(departures_s(e, IDEAL[IDEAL_SPACED, way]), 10.0)) for way in WAYS_MS}
    apart = min(sent.values()) / max(sent.values())
    good = max(max(f.values()) for f in found.values()) <= 1 and apart >= 1 - CLOSE
    said = f"spaced {row(found[IDEAL_SPACED], 1)}; unspaced {row(found[IDEAL_PAPER], 1)}"
    return Verdict(good, f"off by so many times the tolerance, RTT in ms: {said}; least by 10 s {apart:.2f} of most")


@claim("hybla-f4-acks", paper="data sent as equation 8 within 10 % and two RTTs", needs=IDEAL.values())
def amounts_by_acks(e: Evidence) -> Verdict:
    """With and without spacing."""
    found = {cc: by_rtt(e, cc, sent_off, LATENCY_RTTS) for cc in (IDEAL_SPACED, IDEAL_PAPER)}
    good = max(max(f.values()) for f in found.values()) <= 1
    said = f"spaced {row(found[IDEAL_SPACED], 1)}; unspaced {row(found[IDEAL_PAPER], 1)}"
    return Verdict(good, f"off by so many times the tolerance, RTT in ms: {said}")


BACK_TO_BACK_S = 1e-6
BURST_PKTS = 2
# The kernel's pacing
UNPACED_PKTS = 10
PACED_S = 1e-3
PACED_GAIN = 1.2
KERNEL_PACING = (
    "The kernel spaces packets of a millisecond's data, 22 segments at the end, and not the first 10 segments of a "
    "connection; with gso_max_segs 1 only those 10 are left"
)


def bursts(departures: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Segments that left within a microsecond of the one before: which began each burst, and how many it has."""
    begin = np.concatenate(([0], np.flatnonzero(np.diff(departures) > BACK_TO_BACK_S) + 1))
    return begin, np.diff(begin, append=len(departures))


def longest_burst(departures: Floats) -> int:
    """Its segments."""
    return int(bursts(departures)[1].max())


def burst_over(departures: Floats, rtt_s: float) -> float:
    """Longest burst to what the kernel's pacing may make of the window of equation 6."""
    begin, pkts = bursts(departures)
    packet = PACED_S * PACED_GAIN * window_pkts(departures[begin], rtt_s) / rtt_s
    return float(np.max(pkts / np.maximum(np.maximum(packet, BURST_PKTS), UNPACED_PKTS - begin)))


def by_kind(e: Evidence, of: Callable[[Floats, float], float]) -> dict[str, dict[int, float]]:
    """A measure of the departures, spaced and unspaced, by round trip in ms."""
    return {
        cc: {round(2 * way): of(departures_s(e, IDEAL[cc, way]), 2 * way / 1e3) for way in WAYS_MS}
        for cc in (IDEAL_SPACED, IDEAL_PAPER)
    }


@claim(
    "hybla-f4-spacing",
    paper="with packet spacing a straight slope: no burst above 2 segments",
    needs=IDEAL.values(),
    cause=KERNEL_PACING,
)
def spacing(e: Evidence) -> Verdict:
    """Every burst of the whole run."""
    found = by_kind(e, lambda t, _rtt_s: longest_burst(t))
    said = f"longest by RTT in ms: {row(found[IDEAL_SPACED], 0)}; unspaced {row(found[IDEAL_PAPER], 0)}"
    return Verdict(max(found[IDEAL_SPACED].values()) <= BURST_PKTS, said)


@claim(
    "hybla-f4-spacing-ms",
    paper="the same but for the first 10 segments; no burst above what is sent in 1 ms",
    needs=IDEAL.values(),
)
def spacing_of_packets(e: Evidence) -> Verdict:
    """A millisecond at the pacing rate, 1.2 times equation 6's, or 2 segments where that is more."""
    found = by_kind(e, burst_over)
    said = f"longest to that by RTT in ms: {row(found[IDEAL_SPACED])}; unspaced {row(found[IDEAL_PAPER])}"
    return Verdict(max(found[IDEAL_SPACED].values()) <= 1, said)


FLOOR_WAYS_MS = (5, 10)
FLOOR_OURS = IDEAL_PAPER
FLOOR = {(cc, way): point("hybla-ideal-floor", cc, way_ms=way) for cc in (FLOOR_OURS, SACK) for way in FLOOR_WAYS_MS}


@claim(
    "hybla-rho-floor", paper="round trips of 10, 20 ms: the window is Reno's, sample by sample", needs=FLOOR.values()
)
def floor(e: Evidence) -> Verdict:
    """Whole course, every 5 ms, to the segment."""
    differ, largest = {}, 0.0
    for way in FLOOR_WAYS_MS:
        ours, reno = (e.series(FLOOR[cc, way], "flows", "cwnd") for cc in (FLOOR_OURS, SACK))
        differ[2 * way] = float(np.sum(ours != reno)) if len(ours) == len(reno) else np.inf
        largest = max(largest, float(reno.max()))
    return Verdict(not any(differ.values()), f"samples that differ: {row(differ, 0)}; windows to {largest:.0f}")


START = {cc: RunKey("hybla-ideal-10", cc) for cc in (OURS, SPACED, IDEAL_SPACED, INTREE, SACK)}
LOST = 0.01


@claim(
    "hybla-ssthresh",
    paper="10 Mbit/s, 600 ms: start-up without a burst of losses, less than 1 % lost in the first 10 s",
    needs=START.values(),
)
def initial_threshold(e: Evidence) -> Verdict:
    """Packets that the queue drops, to those sent; by default, others are reported, not judged."""
    lost = {
        cc: known(e[run].queue.drops) / max(known(e[run].flows[0].bytes_sent) / SEGMENT, 1) for cc, run in START.items()
    }
    got = {cc: goodput(e, run) for cc, run in START.items()}
    return Verdict(lost[OURS] < LOST, f"lost {row(lost, 4)}; {row(got)} Mbit/s")
