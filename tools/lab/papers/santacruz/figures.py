# SPDX-License-Identifier: GPL-2.0
"""Figures and tables of the two Santa Cruz papers, from runs of our own beside the papers' values."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hetlab.claims.evidence import BY_OPTION, BY_TIMESTAMPS, Evidence, RunKey
from hetlab.figures.outputs import SHEETS, Sheet, both, picture
from hetlab.model import congestion
from hetlab.model.result import known
from hetlab.plots.papers import Curve, Stage, paper_figure
from papers.santacruz.claims import (
    BDP_BASIC_PKTS,
    BERS,
    N_OPS,
    PACKET,
    SEEDS,
    delivery,
    ours,
    rate,
    trio,
    wireless,
)

BER_1E6 = "1e-06"
SOURCE_LOOKS: dict[str, dict[str, Any]] = {BY_TIMESTAMPS: {}, BY_OPTION: {"dash": (0, (3, 1.5)), "shade": -0.45}}
SOURCES = tuple(SOURCE_LOOKS)
QUEUE_BASIC_PKTS = 17
BDP_ASYM_PKTS = 31


# ------------------------------------------------------------------- figures


def curve(e: Evidence, need: RunKey, table: str, column: str, role: str, **how: Any) -> Curve:
    """A column over time."""
    t, y = e.series(need, table, "t"), e.series(need, table, column)
    known = np.isfinite(y)
    return Curve(role, congestion.family(need.cc), t[known], y[known], **how)


def santacruz(e: Evidence, need: RunKey, table: str, column: str, kind: str = "line") -> list[Curve]:
    """From both sources; the option is drawn darker and dashed, over timestamps."""
    return [
        curve(e.by(s), need, table, column, f"Santa Cruz, {s}", kind=kind, **how) for s, how in SOURCE_LOOKS.items()
    ]


RENO_BASIC = RunKey("santacruz-basic", "reno")


@picture("santacruz-fig8", RENO_BASIC)
def fig8(e: Evidence) -> Figure:
    """Reno alone: window and queue."""
    full = BDP_BASIC_PKTS + QUEUE_BASIC_PKTS
    cwnd, pkts = (curve(e, RENO_BASIC, *column, "Reno") for column in (("flows", "cwnd"), ("queue", "pkts")))
    stages = [
        Stage("cwnd (packets)", [cwnd], ((full, "pipe and queue full: 33.4 packets"),)),
        Stage("queue (packets)", [pkts], ((QUEUE_BASIC_PKTS, "limit of the queue: 17 packets"),)),
    ]
    return paper_figure("1999, figure 8. TCP Reno, 1.5 Mbit/s, 80 ms (santacruz-basic)", stages)


@picture("santacruz-fig9", ours("santacruz-basic", 1.5))
def fig9(e: Evidence) -> Figure:
    """Santa Cruz alone: window and queue."""
    need = ours("santacruz-basic", 1.5)
    stages = [
        Stage("cwnd (packets)", santacruz(e, need, "flows", "cwnd"), ((18, "paper: cwnd 18"),)),
        Stage("queue (packets)", santacruz(e, need, "queue", "pkts"), ((1, "paper: queue 1 to 2"), (2, ""))),
    ]
    return paper_figure("1999, figure 9. TCP Santa Cruz, n_op = 1.5, 1.5 Mbit/s, 80 ms (santacruz-basic)", stages)


@picture("santacruz-fig11", RunKey("santacruz-reverse", "reno"), ours("santacruz-reverse", 5))
def fig11(e: Evidence) -> Figure:
    """Windows with a Reno flow the other way."""
    reno = curve(e, RunKey("santacruz-reverse", "reno"), "flows", "cwnd", "Reno")
    stages = [
        Stage("cwnd (packets)", [reno]),
        Stage(
            "cwnd (packets)",
            santacruz(e, ours("santacruz-reverse", 5), "flows", "cwnd"),
            ((22, "paper: cwnd about 22"),),
        ),
    ]
    return paper_figure("1999, figure 11. Reno flow on the reverse path, n_op = 5 (santacruz-reverse)", stages)


@picture("santacruz-fig13", RunKey("santacruz-asym", "reno"), ours("santacruz-asym", 3))
def fig13(e: Evidence) -> Figure:
    """Windows on the asymmetric path."""
    reno = curve(e, RunKey("santacruz-asym", "reno"), "flows", "cwnd", "Reno")
    marks = ((BDP_ASYM_PKTS, "paper: Santa Cruz a few packets above 31"),)
    stages = [
        Stage("cwnd (packets)", [reno]),
        Stage("cwnd (packets)", santacruz(e, ours("santacruz-asym", 3), "flows", "cwnd"), marks),
    ]
    return paper_figure("1999, figure 13. 24 Mbit/s down, k = 3, n_op = 3 (santacruz-asym)", stages)


RENO_WIRELESS = wireless(BER_1E6, "reno")
# The count is the paper's
TRACED = dataclasses.replace(wireless(BER_1E6, "santacruz@paper"), trace=True)
# So that whiskers do not hide each other
ASIDE = {BY_TIMESTAMPS: 0.98, BY_OPTION: 1.02}


@picture("santacruz-wireless-fig3", TRACED)
def wireless_fig3(e: Evidence) -> Figure:
    """The state of the loss discrimination at the end of each interval."""
    mark = (2, "paper: rarely 2, where a loss is judged congestive")
    stages = [
        Stage("count", [dataclasses.replace(one, dash="-")], (mark,), 2.2, whole=True)
        for one in santacruz(e, TRACED, "trace", "grew", "step")
    ]
    title = "2000, figure 3. Intervals in a row whose queue grew (paper=1, bit error rate 1e-6)"
    return paper_figure(title, stages)


@picture("santacruz-wireless-fig4", wireless(BER_1E6), RENO_WIRELESS)
def wireless_fig4(e: Evidence) -> Figure:
    """Windows where one packet in 125 is lost."""
    stages = [
        Stage("cwnd (packets)", santacruz(e, wireless(BER_1E6), "flows", "cwnd"), ((10, "paper: cwnd 10 = 6 + 4"),)),
        Stage("cwnd (packets)", [curve(e, RENO_WIRELESS, "flows", "cwnd", "Reno")]),
    ]
    return paper_figure("2000, figure 4. Bit error rate 1e-6, n_op = 4 (santacruz-wireless-ber)", stages)


@picture("santacruz-wireless-fig5", wireless(BER_1E6), RENO_WIRELESS)
def wireless_fig5(e: Evidence) -> Figure:
    """Delay of every packet, its wait for a retransmission included."""
    reno = curve(e, RENO_WIRELESS, "delivery-s-d", "delivery_ms", "Reno", kind="dots")
    got = santacruz(e, wireless(BER_1E6), "delivery-s-d", "delivery_ms", "dots")
    top = 1.05 * max(float(c.y.max()) for c in (reno, *got))
    stages = [Stage("delay (ms)", got, top=top), Stage("delay (ms)", [reno], top=top)]
    return paper_figure("2000, figure 5. Delay of each packet, retransmission included, bit error rate 1e-6", stages)


@picture(
    "santacruz-wireless-fig6",
    *(wireless(ber, cc, seed) for ber in BERS for cc in ("santacruz", "reno") for seed in SEEDS),
)
def wireless_fig6(e: Evidence) -> Figure:
    """Throughput, delay and its deviation over the error rates."""
    curves = [
        *(by_ber(e.by(s), "santacruz", f"Santa Cruz, {s}", aside=a, **SOURCE_LOOKS[s]) for s, a in ASIDE.items()),
        by_ber(e, "reno", "Reno"),
    ]
    stages = [
        Stage("throughput (Mbit/s)", [c for c, _delay in curves], ((2, "link rate"),)),
        Stage("delay (ms), deviation", [delay for _c, delay in curves]),
    ]
    title = "2000, figure 6. By bit error rate, means of 10 seeds (santacruz-wireless-ber)"
    return paper_figure(title, stages, "bit error rate", [float(ber) for ber in BERS])


def by_ber(e: Evidence, cc: str, role: str, aside: float = 1, **how: Any) -> tuple[Curve, Curve]:
    """Mean rate over the seeds, and mean delay with the standard deviation of a packet's."""
    x = np.array([float(ber) for ber in BERS])
    rates, means, deviations = (
        np.array([np.mean([of(wireless(ber, cc, seed)) for seed in SEEDS]) for ber in BERS])
        for of in (
            lambda need: rate(e, need),
            lambda need: delivery(e, need),
            lambda need: delivery(e, need, "variance") ** 0.5,
        )
    )
    return (
        Curve(role, cc, x, rates, "points", **how),
        Curve(role, cc, x * aside, means, "points", spread=deviations, **how),
    )


# -------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Row:
    """What a paper's table has for a protocol; delay in ms, variance as it is printed there."""

    name: str
    cc: str
    mbit: float
    use: float
    delay_ms: float
    variance: str


Values = tuple[float, float, float, str]


def rows(reno: Values, *santacruz_rows: Values, vegas: Values) -> list[Row]:
    """In the paper's order."""
    names = [("Reno", "reno"), *((f"Santa Cruz n={n:g}", f"santacruz:n_op={n:g}") for n in N_OPS), ("Vegas", "vegas")]
    every = [reno, *santacruz_rows, vegas]
    return [Row(name, cc, *values) for (name, cc), values in zip(names, every, strict=True)]


@dataclass(frozen=True)
class PaperTable:
    """A table of the 1999 paper."""

    title: str
    scenario: str
    link_mbit: float
    rows: list[Row]


TABLES = [
    PaperTable(
        "Table 2, basic bottleneck (santacruz-basic)",
        "santacruz-basic",
        1.5,
        rows(
            (1.45, 0.97, 99.4, "2.06"),
            (1.42, 0.94, 55.1, "0.0041"),
            (1.45, 0.97, 60.6, "0.0063"),
            (1.47, 0.98, 79.2, "0.0073"),
            vegas=(1.40, 0.94, 55.2, "0.0077"),
        ),
    ),
    PaperTable(
        "Table 3, Reno on the reverse path (santacruz-reverse)",
        "santacruz-reverse",
        1.5,
        rows(
            (0.823, 0.55, 134.3, "56.2"),
            (1.213, 0.81, 54.8, "0.0034"),
            (1.312, 0.87, 60.6, "0.0057"),
            (1.390, 0.92, 73.4, "0.0080"),
            vegas=(0.778, 0.52, 49.5, "0.0016"),
        ),
    ),
    PaperTable(
        "Table 4, asymmetric access (santacruz-asym); the paper prints 1.253, 1.275, 0.799, its use shows ten times "
        "that",
        "santacruz-asym",
        24,
        rows(
            (12.53, 0.52, 8.4, "1400"),
            (12.75, 0.53, 3.5, "0.0004"),
            (23.72, 0.99, 4.6, "0.0003"),
            (23.73, 0.99, 4.8, "0.0003"),
            vegas=(7.99, 0.33, 3.3, "0.0000"),
        ),
    ),
]
TABLE_NEEDS = both(need for t in TABLES for need in trio(t.scenario, "reno", "vegas"))
HEAD = """| | Mbit/s: paper | timestamps | option | use: paper | timestamps | option \
| delay ms: paper | timestamps | option | variance: paper | timestamps ms² | option ms² |"""


def paper_table(e: Evidence, t: PaperTable) -> str:
    """As Markdown; reno and vegas have one column of ours, since the option is not for them."""
    lines = [f"{t.title}:", "", HEAD, "|---" * 13 + "|"]
    for row in t.rows:
        need = RunKey(t.scenario, row.cc)
        seen = [e.by(s) for s in SOURCES] if need.with_option() != need else [e]
        cells: list[list[object]] = [
            [f"{row.mbit:g}", *(f"{rate(x, need):.{2 + (t.link_mbit < 10)}f}" for x in seen)],
            [f"{row.use:.2f}", *(f"{rate(x, need) / t.link_mbit:.2f}" for x in seen)],
            [row.delay_ms, *(f"{delivery(x, need):.1f}" for x in seen)],
            [row.variance, *(_short(delivery(x, need, "variance")) for x in seen)],
        ]
        lines.append(f"| {row.name} | " + " | ".join(str(v) for c in cells for v in [*c, ""][:3]) + " |")
    return "\n".join(lines)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


CHOICES = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
PLACES = {
    "santacruz-basic": "santacruz-basic: 1.5 Mbit/s, 80 ms",
    "santacruz-asym": "santacruz-asym: 24 Mbit/s, k = 3",
    wireless("1e-06").scenario: "santacruz-wireless-ber: 1e-6",
    wireless("1e-05").scenario: "santacruz-wireless-ber: 1e-5",
    "access-20": "access-20: 20 Mbit/s, 40 ms",
}
FULL_PACKET = {"access-20": (1500, 1448)}
CHOICE_NEEDS = tuple(ours(place, n) for place in PLACES for n in CHOICES)


def choice_table(e: Evidence) -> str:
    """Throughput, queueing delay and packets that the queue dropped, by operating point."""
    lines = [
        "Which n_op (timestamps): Mbit/s on the link / mean queueing delay in ms / packets dropped by the queue:",
        "",
        "| n_op | " + " | ".join(PLACES.values()) + " |",
        "|---" * (len(PLACES) + 1) + "|",
    ]
    for n in CHOICES:
        lines.append(f"| {n:g} | " + " | ".join(_choice(e, place, n) for place in PLACES) + " |")
    return "\n".join(lines)


def _choice(e: Evidence, place: str, n_op: float) -> str:
    run = e[ours(place, n_op)]
    packet, payload = FULL_PACKET.get(place, (PACKET, 948))
    least = min(known(e[ours(place, n)].owd_ms).min for n in CHOICES)
    mbit = run.flows[0].goodput_mbit * packet / payload
    return f"{mbit:.3g} / {known(run.owd_ms).mean - least:.1f} / {known(run.queue.drops):.0f}"


def tables(e: Evidence) -> str:
    """All of them."""
    said = "Written by `hetlab figures`. Rates count headers; delays are those of delivery (docs/lab.md), from 2 s on."
    return "\n\n".join([said, *(paper_table(e, t) for t in TABLES), choice_table(e)])


SHEETS.append(Sheet("santacruz-tables", tuple(dict.fromkeys([*TABLE_NEEDS, *CHOICE_NEEDS])), tables))
