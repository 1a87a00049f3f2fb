# SPDX-License-Identifier: GPL-2.0
"""What hybla_ext must do on satellite links, beside the kernel's own modules; scenarios satellite-*.

Goodput is payload in Mbit/s over the whole run unless said otherwise. Queueing is one-way delay above that of the path.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from hetlab.claims.evaluate import Verdict
from hetlab.claims.evidence import PAYLOAD, Evidence, Floats, RunKey
from hetlab.model.result import known
from hetlab.model.scenario import Experiment
from papers.common import claim, goodput, point, row, tcp

OURS, INTREE = "hybla_ext", "hybla"
DOWN_QUEUE = "link.satellite.forward.queue_bdp"
UP_QUEUE = "link.satellite.reverse.queue_bdp"


def path_ms(resolved: Experiment, arrived_s: Floats) -> Floats:
    """One-way delay without queues of packets that arrived at these times, in ms.

    Of all links forward; where it changes nothing may arrive until all that has the old delay is there.
    """
    now = sum(link.forward.delay_ms for link in resolved.links.values())
    steps = [(-np.inf, now)]
    last = {name: link.forward.delay_ms for name, link in resolved.links.items()}
    for event in resolved.events:
        if event.way == "forward" and event.delay_ms is not None:
            last[event.link] = event.delay_ms
            steps.append((event.at_s, sum(last.values())))
    times, delays = (np.array(column) for column in zip(*steps, strict=True))
    return np.asarray(delays[np.searchsorted(times, arrived_s, side="right") - 1], float)


def queueing_p95_ms(e: Evidence, run: RunKey) -> float:
    """95th percentile over all packets from s to d that arrived, start-up included."""
    table = e.table(run, "owd-s-d")
    t, owd_ms = (np.array(table[column], float) for column in ("t", "owd_ms"))
    arrived = ~np.isnan(owd_ms)
    waited_ms = owd_ms[arrived] - path_ms(e[run].scenario_resolved, t[arrived] + owd_ms[arrived] / 1e3)
    return float(np.percentile(waited_ms, 95))


def best(got: dict[str, float], among: Iterable[str]) -> tuple[float, str]:
    """The largest of these, and whose it is."""
    return max((got[cc], cc) for cc in among)


# ------------------------------------------------------------------ start-up

KERNEL = ("reno", "cubic", "bbr", INTREE, "illinois", "westwood", "vegas", "htcp", "scalable")
TRANSFERS = {"main": "100 KB", "medium": "1 MB", "large": "10 MB"}
BDPS = (0.5, 1)
START = {(cc, bdp): point("satellite-start", cc, {DOWN_QUEUE: bdp}) for cc in (OURS, *KERNEL) for bdp in BDPS}
NO_LATER = 1.01  # "no later than with any of the kernel's modules", to a hundredth
OVERSHOOT = 0.01  # "without overshoot losses above 1 %"


def transfer(e: Evidence, run: RunKey, name: str) -> tuple[float, float]:
    """Seconds from connect() to the last ACK, inf if that never came; and the share of the packets that is dropped.

    A drop is sent again, so no more can be a transfer's than it sent again, and than the queue dropped in all of them.
    """
    (flow,) = tcp(e, run, name)
    took_s = flow.end_s - flow.start_s if flow.complete else np.inf
    dropped = min(known(flow.retransmits), known(e[run].queue.drops))
    return took_s, dropped / max(known(flow.bytes_sent) / PAYLOAD, 1)


@claim(
    "satellite-start",
    paper="20 Mbit/s, 600 ms: 100 KB, 1 MB, 10 MB done no later (1 %) than by any module; at most 1 % dropped",
    needs=START.values(),
    cost_s=70,
)
def start_up(e: Evidence) -> Verdict:
    """Each transfer with each buffer."""
    good, said = True, []
    for bdp in BDPS:
        for name, size in TRANSFERS.items():
            found = {cc: transfer(e, START[cc, bdp], name) for cc in (OURS, *KERNEL)}
            took_s, dropped = found[OURS]
            first_s, first = min((found[cc][0], cc) for cc in KERNEL)
            good &= took_s <= NO_LATER * first_s and dropped <= OVERSHOOT
            said.append(f"{size}, {bdp} BDP: {took_s:.2f} s, dropped {dropped:.4f}; first {first} {first_s:.2f} s")
    return Verdict(bool(good), "; ".join(said))


# ---------------------------------------------------------------- remembered

REMEMBERS = "hybla_ext:resume_s=600"
RESUME = {(cc, bdp): point("satellite-resume", cc, {DOWN_QUEUE: bdp}) for cc in (REMEMBERS, OURS) for bdp in BDPS}
RESUME_RIVALS = {cc: point("satellite-resume", cc, {DOWN_QUEUE: 1}) for cc in ("cubic", "bbr")}
FALLEN = {cc: RunKey("satellite-resume@fallen", cc) for cc in (REMEMBERS, OURS, "cubic")}
RESUMED_S, NOT_RESUMED_S = 4.8, 6.7


def second(e: Evidence, run: RunKey) -> tuple[float, float]:
    """Of the transfer that may remember: seconds from connect() to the last ACK, packets sent again."""
    (flow,) = tcp(e, run)
    return (flow.end_s - flow.start_s if flow.complete else np.inf), known(flow.retransmits)


@claim(
    "satellite-resume",
    paper=f"100 MB, 250 Mbit/s, 600 ms: at most {RESUMED_S} s remembered (RFC 9959), {NOT_RESUMED_S} s not remembered",
    needs=[*RESUME.values(), *RESUME_RIVALS.values()],
    cause="the RFC's jump is to half of the capacity when the first window has been acknowledged: 5.4 s at best; 4.8 s "
    "are of a QUIC that jumps right after the handshake, 4.5 s the link's own. Not remembered it holds",
)
def remembered(e: Evidence) -> Verdict:
    """With each buffer; other modules are reported, not judged."""
    found = {run: second(e, run) for run in [*RESUME.values(), *RESUME_RIVALS.values()]}
    limits_s = {REMEMBERS: RESUMED_S, OURS: NOT_RESUMED_S}
    good = all(found[run][0] <= limits_s[cc] for (cc, _bdp), run in RESUME.items())
    said = [f"{cc}, {bdp} BDP: {found[run][0]:.2f} s, {found[run][1]} sent again" for (cc, bdp), run in RESUME.items()]
    said += [f"{cc}, 1 BDP: {found[run][0]:.2f} s, {found[run][1]}" for cc, run in RESUME_RIVALS.items()]
    return Verdict(good, "; ".join(said))


@claim(
    "satellite-resume-fallen",
    paper="the same, and a tenth of the rate remembered is left: no more sent again, and no later, than not remembered",
    needs=FALLEN.values(),
    cost_s=20,
)
def fallen(e: Evidence) -> Verdict:
    """The second transfer, whose path has become slow; cubic is reported, not judged."""
    found = {cc: second(e, run) for cc, run in FALLEN.items()}
    (took_s, again), (other_s, other_again) = found[REMEMBERS], found[OURS]
    good = again <= other_again and took_s <= NO_LATER * other_s
    return Verdict(good, "; ".join(f"{cc}: {s:.1f} s, {sent} sent again" for cc, (s, sent) in found.items()))


# --------------------------------------------------------------- random loss

GEO = {(cc, bdp): point("satellite-geo", cc, {DOWN_QUEUE: bdp}) for cc in (OURS, INTREE) for bdp in BDPS}
GEO_MBIT = 20
GEO_LEAST = 0.7  # "at least 70 % of the link"
GEO_QUEUEING_MS = 100  # "p95 queueing delay below 100 ms"


@claim(
    "satellite-geo",
    paper="20 Mbit/s, 600 ms, 1 % lost, alone: at least 70 % of the link, p95 queueing delay below 100 ms",
    needs=GEO.values(),
)
def random_loss(e: Evidence) -> Verdict:
    """With each buffer; the in-tree module is reported, not judged."""
    used = {key: goodput(e, run) / GEO_MBIT for key, run in GEO.items()}
    late_ms = {key: queueing_p95_ms(e, run) for key, run in GEO.items()}
    good = all(used[OURS, bdp] >= GEO_LEAST and late_ms[OURS, bdp] < GEO_QUEUEING_MS for bdp in BDPS)
    said = [f"{cc}, {bdp} BDP: {used[cc, bdp]:.2f}, {late_ms[cc, bdp]:.1f} ms" for cc, bdp in GEO]
    return Verdict(good, f"of the link, p95 of queueing: {'; '.join(said)}")


# ----------------------------------------------------------------------- LEO

LEO_RIVALS = ("cubic", "bbr", "illinois")
LEO = {cc: RunKey("satellite-leo", cc) for cc in (OURS, *LEO_RIVALS, INTREE)}
NOT_BELOW = 0.95  # "not below the best by more than 5 %"


@claim(
    "satellite-leo",
    paper="LEO handovers: goodput 0.95 of the best of cubic, bbr, illinois; p95 queueing delay below cubic's",
    needs=LEO.values(),
)
def handovers(e: Evidence) -> Verdict:
    """Whole run; the in-tree module is reported, not judged."""
    got = {cc: goodput(e, run) for cc, run in LEO.items()}
    late_ms = {cc: queueing_p95_ms(e, run) for cc, run in LEO.items()}
    most, _cc = best(got, LEO_RIVALS)
    good = got[OURS] >= NOT_BELOW * most and late_ms[OURS] < late_ms["cubic"]
    return Verdict(good, f"{got[OURS] / most:.2f} of the best; {row(got, 1)} Mbit/s; p95 {row(late_ms, 1)} ms")


# ---------------------------------------------------------------- asymmetric

ASYM_RIVALS = ("cubic", "bbr", INTREE, "illinois")
UP_MBIT = 4
BUFFERS_BDP = {100: 0.167, 1000: 1.667}  # by ms
BOTH_QUEUES, ACK_FILTER = f"{DOWN_QUEUE}+{UP_QUEUE}", "link.satellite.reverse.ack_filter"


def asym_places() -> dict[str, tuple[str, dict[str, Any]]]:
    """What is judged: scenario and point of its sweep."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for ms, bdp in BUFFERS_BDP.items():
        found[f"{ms} ms, own upload"] = "satellite-asym", {BOTH_QUEUES: bdp}
        found[f"{ms} ms, cubic upload"] = "satellite-asym@cubic", {BOTH_QUEUES: bdp}
        for wanted, what in ((False, "cake"), (True, "ack-filter")):
            found[f"{ms} ms, {what}"] = "satellite-asym@cake", {DOWN_QUEUE: bdp, ACK_FILTER: wanted}
    return found


ASYM = {place: {cc: point(name, cc, at) for cc in (OURS, *ASYM_RIVALS)} for place, (name, at) in asym_places().items()}


def upload_rtt_ms(e: Evidence, run: RunKey) -> float:
    """Median of the upload's smoothed round trip time, in ms."""
    table = e.table(run, "flows")
    upload = next(i for i, flow in enumerate(e[run].flows) if flow.name == "upload")
    return float(np.median(np.array(table["srtt_us"], float)[np.array(table["id"]) == upload])) / 1e3


@claim(
    "satellite-asym",
    paper="40 Mbit/s down, 4 up, 300 ms each way, beside an upload: download 0.95 of the best of the kernel's modules",
    needs=[run for runs in ASYM.values() for run in runs.values()],
    cost_s=215,
)
def asymmetric(e: Evidence) -> Verdict:
    """With each buffer, upload and uplink; the share of the upload is reported, not judged."""
    least, said = np.inf, []
    for place, runs in ASYM.items():
        got = {cc: goodput(e, run) for cc, run in runs.items()}
        most, whose = best(got, ASYM_RIVALS)
        least = min(least, got[OURS] / most)
        run = runs[OURS]
        late_ms, share = queueing_p95_ms(e, run), goodput(e, run, "upload") / UP_MBIT
        told = f"p95 {late_ms:.0f} ms; upload {share:.2f} of its link, {upload_rtt_ms(e, run):.0f} ms"
        said.append(f"{place}: {got[OURS]:.1f}, {whose} {most:.1f} Mbit/s, {told}")
    return Verdict(bool(least >= NOT_BELOW), f"at least {least:.2f} of the best. " + ". ".join(said))


# ---------------------------------------------------------- RTT independence

RTT_PACKET, RTT_PAYLOAD = 1076, 1024  # bytes: IP packet, and what is left of it beside timestamps
RTT_FAIR_MBIT = 10 * RTT_PAYLOAD / RTT_PACKET / 6
WIRED_RTT_MS = 25
LEGS_MS = (0, 12.5, 37.5, 87.5, 187.5, 287.5)
LOST_PERCENTS = (0, 1)
LEG_LOSS, LEG_DELAY = "link.wireless.forward.loss.percent", "link.wireless.forward.delay_ms"
SHARE_LOW, SHARE_HIGH = 0.8, 1.2  # "0.8 to 1.2 of the fair share at every RTT from 25 to 600 ms"


Shares = dict[tuple[str, int], dict[int, float]]  # by congestion control and percent, then by round trip in ms
SEEDS = (1, 2, 3, 4)  # single runs of 120 s at 600 ms differ by a factor of two, as the start meets the others' queue


def rtt_runs(scenario: str, cc: str, percent: int) -> dict[int, list[RunKey]]:
    """Runs by round trip in ms of the foreground flow."""
    places = {round(WIRED_RTT_MS + 2 * leg): {LEG_LOSS: percent, LEG_DELAY: leg} for leg in LEGS_MS}
    return {ms: [replace(point(scenario, cc, swept), seed=seed) for seed in SEEDS] for ms, swept in places.items()}


def fair_shares(e: Evidence, runs: dict[int, list[RunKey]]) -> dict[int, float]:
    """What the foreground flow gets of the fair share from 30 s on, mean over the seeds, by round trip in ms."""
    return {
        ms: float(np.mean([goodput(e, run, key="steady_goodput_mbit") for run in seeds])) / RTT_FAIR_MBIT
        for ms, seeds in runs.items()
    }


def _rtt(name: str, scenario: str, paper: str, told: str, good: Callable[[Shares], bool], cause: str = "") -> None:
    runs = {(cc, percent): rtt_runs(scenario, cc, percent) for cc in (OURS, told) for percent in LOST_PERCENTS}

    @claim(
        name,
        paper=paper,
        needs=[run for by_rtt in runs.values() for seeds in by_rtt.values() for run in seeds],
        cause=cause,
        cost_s=300,
    )
    def check(e: Evidence) -> Verdict:
        """Beside five wired flows; the other module is reported, not judged."""
        share = {key: fair_shares(e, by_rtt) for key, by_rtt in runs.items()}
        said = "; ".join(f"{cc} {percent} %: {row(values)}" for (cc, percent), values in share.items())
        return Verdict(good(share), said)


def independent(share: Shares) -> bool:
    """The share is fair at every round trip."""
    ours = [value for percent in LOST_PERCENTS for value in share[OURS, percent].values()]
    return min(ours) >= SHARE_LOW and max(ours) <= SHARE_HIGH


def better_than_reno(share: Shares) -> bool:
    """Never more than fair, and from LONG_MS on several times Reno's."""
    return all(
        value <= SHARE_HIGH and (ms < LONG_MS or value >= TIMES_RENO * share[RENO, percent][ms])
        for percent in LOST_PERCENTS
        for ms, value in share[OURS, percent].items()
    )


RENO, LONG_MS, TIMES_RENO = "reno", 200, 2
BETTER = f"drop-tail, {{}}: reported; at most {SHARE_HIGH} of fair, from {LONG_MS} ms on {TIMES_RENO} times reno's"
_rtt(
    "satellite-rtt",
    "satellite-rtt@red",
    "RED: 0.8 to 1.2 of the fair share at each RTT from 25 to 600 ms, without and with 1 % lost",
    INTREE,
    independent,
)
_rtt("satellite-rtt-fifo", "satellite-rtt@fifo", BETTER.format("BDP of the wired flows"), RENO, better_than_reno)
_rtt(
    "satellite-rtt-deep",
    "satellite-rtt@deep",
    BETTER.format("BDP of the foreground flow"),
    RENO,
    better_than_reno,
    cause="600 ms, nothing lost at random: 1.35 of fair in the mean of four seeds, 1.45 of ten (0.98 to 1.76); on "
    "2026-11-30, before the rule for probes and the mended faults, 1.17 of the four, so that it held, but 1.33 of ten "
    "(0.98 to 2.23). Not traced",
)


# -------------------------------------------------------------- friendliness

FRIEND_LEGS_MS = {25: 0, 600: 287.5}  # by round trip
WITHOUT = RunKey("satellite-friend@without", "reno")
OTHERS = ("cubic", "reno")
NO_MORE = 1.1  # "no more than a 25 ms reno flow would", and a tenth


def beside(cc: str, rtt_ms: int) -> RunKey:
    """A run of one flow beside those of 25 ms."""
    return point("satellite-friend", cc, {LEG_DELAY: FRIEND_LEGS_MS[rtt_ms]})


REFERENCE = beside("reno", WIRED_RTT_MS)
FRIENDS = {(cc, ms): beside(cc, ms) for cc in (OURS, INTREE, "bbr") for ms in FRIEND_LEGS_MS}


def others_mbit(e: Evidence, run: RunKey) -> float:
    """Sum of what the flows of 25 ms get, from 20 s on."""
    return float(sum(known(flow.steady_goodput_mbit) for name in OTHERS for flow in tcp(e, run, name)))


def others_lost(e: Evidence, run: RunKey) -> float:
    """Share of their bytes that they send again."""
    flows = [flow for name in OTHERS for flow in tcp(e, run, name)]
    return float(sum(known(f.bytes_retrans) for f in flows) / sum(known(f.bytes_sent) for f in flows))


@claim(
    "satellite-friend",
    paper="25, 600 ms beside cubic and reno of 25 ms: at most 1.1 times what a reno flow of 25 ms takes in its place",
    needs=[*FRIENDS.values(), REFERENCE, WITHOUT],
    cause="1.20 at 25 ms, too, where rho is 1: beside a queue that goes up and down the least mean round trip is above "
    "the path's, and a part of the queue does not count. The others lose 4 and 6 %",
    cost_s=80,
)
def friendly(e: Evidence) -> Verdict:
    """Gain and harm (draft-irtf-iccrg-tcpeval, 6.1) are to the reno flow in its place; others are only reported."""
    takes, spared = (of(e, REFERENCE) for of in (taken_mbit, others_mbit))
    gain = {key: taken_mbit(e, run) / takes for key, run in FRIENDS.items()}
    said = [
        f"{cc} {ms} ms: gain {gain[cc, ms]:.2f}, harm {1 - others_mbit(e, run) / spared:.2f}, others "
        f"{others_mbit(e, run):.1f} Mbit/s, lost {others_lost(e, run):.4f}"
        for (cc, ms), run in FRIENDS.items()
    ]
    told = [
        f"{what} {others_mbit(e, run):.1f}, {others_lost(e, run):.4f}"
        for what, run in (("beside reno", REFERENCE), ("alone", WITHOUT))
    ]
    return Verdict(max(gain[OURS, ms] for ms in FRIEND_LEGS_MS) <= NO_MORE, "; ".join([*said, *told]))


def taken_mbit(e: Evidence, run: RunKey) -> float:
    """What the flow under test gets, from 20 s on."""
    return goodput(e, run, key="steady_goodput_mbit")
