# SPDX-License-Identifier: GPL-2.0
"""Figures of a group of runs."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from hetlab.plots import bars, style, trace
from hetlab.plots import flows as flow_plots
from hetlab.report.runs import Group, Run, words_of
from hetlab.report.series import read_delays, read_flows, read_queue, read_trace
from hetlab.results.columns import Value, goodput, of, total_of

PNG = ("png",)


def trace_figure(run: Run) -> Figure | None:
    """The trace of a run; None if it has none."""
    flows, n_op_pkts = read_trace(run)
    if not flows:
        return None
    name = f"{run.result.scenario}, {run.label}, seed {run.result.seed}"
    return trace.santacruz_trace(name, flows, read_queue(run), n_op_pkts, run.result.scenario_resolved.duration_s)


def draw_trace(run: Run) -> None:
    """Write trace.png in the directory of a traced run."""
    if figure := trace_figure(run):
        style.save(figure, run.directory / "trace.png")


def _figures(g: Group) -> Iterable[tuple[str, str, Figure]]:
    """Kind, description and figure; comparisons only of what there is."""
    name, rate = g.name, g.rate_mbit

    def numbers(value: Value) -> dict[str, list[float]]:
        return {label: [v for v in map(value, runs) if v is not None] for label, runs in g.results.items()}

    delays = {label: read_delays(runs) for label, runs in g.runs.items()}
    if len(g.runs) > 1:
        yield "goodput-bars", "Goodput over the whole run", bars.goodput_bars(name, numbers(goodput), rate)
        if any(len(d) for d in delays.values()):
            p50, p95 = numbers(of("owd_ms", "p50")), numbers(of("owd_ms", "p95"))
            yield "delay-bars", "One-way delay of the packets", bars.delay_bars(name, p50, p95)
        retransmits = numbers(total_of("retransmits"))
        yield "retransmissions", "Retransmitted packets", bars.retransmission_bars(name, retransmits)
    if any(len(d) for d in delays.values()):
        yield "delay-cdf", "Distribution of the one-way delay, all seeds", flow_plots.delay_cdf(name, delays)
    first = {label: runs[0] for label, runs in g.runs.items()}
    flows = {label: read_flows(run) for label, run in first.items()}
    queues = {label: read_queue(run) for label, run in first.items()}
    when = f"{name}, seed {words_of(sorted({run.result.seed for run in first.values()}))}"
    if any(flows.values()):
        yield "cwnd", f"Congestion window ({when})", flow_plots.cwnd(when, flows)
    if any(len(t) for t, _length in queues.values()):
        yield "queue", f"Bottleneck queue ({when})", flow_plots.queue(when, queues, g.queue_pkts)
    if any(flows.values()):
        yield "srtt", f"Smoothed round trip time ({when})", flow_plots.srtt(when, flows)
        yield (
            "goodput",
            f"Goodput over time ({when}); in order: a filled gap releases what waited behind it",
            flow_plots.goodput(when, flows, rate),
        )
    yield from _traces(g, first)


def _traces(g: Group, first: Mapping[str, Run]) -> Iterable[tuple[str, str, Figure]]:
    """One figure for each traced run."""
    for label, run in first.items():
        if figure := trace_figure(run):
            kind = f"trace-{style.file_word(label)}"
            yield kind, f"What {label} saw and decided ({g.name}, seed {run.result.seed})", figure


def pictures_of(g: Group, directory: Path, formats: Sequence[str] = PNG) -> list[dict[str, Any]]:
    """Figures of a group, written to a directory, with the bytes that the page carries."""
    return [picture(f"{g.slug}-{kind}", text, figure, directory, formats) for kind, text, figure in _figures(g)]


def picture(name: str, text: str, figure: Figure, directory: Path, formats: Sequence[str]) -> dict[str, Any]:
    """A figure for the page, which carries it as PNG, and in the directory as NAME.FORMAT for each of the formats."""
    drawn = {kind: style.drawn(figure, kind) for kind in dict.fromkeys((*PNG, *formats))}
    for kind in formats:
        (directory / f"{name}.{kind}").write_bytes(drawn[kind])
    width, height = (round(inches * style.DPI) for inches in figure.get_size_inches())
    return {
        "file": f"{name}.{formats[0]}",
        "text": text,
        "wide": width > style.NARROW_IN * style.DPI + 1,
        "width": width,
        "height": height,
        "data": base64.b64encode(drawn["png"]).decode(),
    }
