# SPDX-License-Identifier: GPL-2.0
"""Figures of a group of runs."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from hetlab.plots import bars, network, style, trace, tradeoff
from hetlab.plots import flows as flow_plots
from hetlab.report.description import MANY_FLOWS, event_marks
from hetlab.report.runs import Group, Run, words_of
from hetlab.report.series import read_capacity, read_completions, read_delays, read_flows, read_queue, read_trace
from hetlab.results.columns import Value, goodput, of, total_of

PNG = ("png",)


@dataclass(frozen=True)
class PagePicture:
    """A figure as the page has it: name of its file, what it shows, size in pixels, bytes of the PNG (base64)."""

    file: str
    text: str
    wide: bool
    width: int
    height: int
    data: str


def trace_figure(run: Run) -> Figure | None:
    """The trace of a run; None if it has none."""
    flows, n_op_pkts = read_trace(run)
    if not flows:
        return None
    name = f"{run.result.scenario}, {run.label}, seed {run.result.seed}"
    sc = run.result.scenario_resolved
    return trace.santacruz_trace(name, flows, read_queue(run), n_op_pkts, sc.duration_s, event_marks(sc))


def draw_trace(run: Run) -> None:
    """Write trace.png in the directory of a traced run."""
    if figure := trace_figure(run):
        style.save(figure, run.directory / "trace.png")


def _figures(g: Group) -> Iterable[tuple[str, str, Figure]]:
    """Kind, description and figure; comparisons only of what there is."""
    yield from _comparisons(g)
    yield from _over_time(g)


def _points(g: Group) -> dict[str, list[tuple[float, float]]]:
    """One-way delay (p95, ms) and goodput (Mbit/s) of each run that has both."""
    pairs = {label: [(of("owd_ms", "p95")(run), goodput(run)) for run in runs] for label, runs in g.results.items()}
    return {
        label: [(delay, mbit) for delay, mbit in found if delay is not None and mbit is not None]
        for label, found in pairs.items()
    }


def _comparisons(g: Group) -> Iterable[tuple[str, str, Figure]]:
    """One number of each congestion control, and the distribution of delays."""
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
    yield from _completions(g)


def _completions(g: Group) -> Iterable[tuple[str, str, Figure]]:
    """Distribution of the completion times of each flow with a workload; of many flows, the first ones."""
    times = {label: read_completions(runs) for label, runs in g.runs.items()}
    names = list(dict.fromkeys(name for found in times.values() for name in found))
    for flow in names[:MANY_FLOWS]:
        of_flow = {label: found.get(flow, np.empty(0)) for label, found in times.items()}
        if any(len(values) for values in of_flow.values()):
            text = f"Distribution of the completion times of {flow}, all seeds"
            yield f"completion-cdf-{style.file_word(flow)}", text, flow_plots.completion_cdf(g.name, flow, of_flow)


def _over_time(g: Group) -> Iterable[tuple[str, str, Figure]]:
    """Flows and queue of the first seed, changes of links marked."""
    name, rate, events = g.name, g.rate_mbit, event_marks(g.resolved)
    first = {label: runs[0] for label, runs in g.runs.items()}
    flows = {label: read_flows(run) for label, run in first.items()}
    queues = {label: read_queue(run) for label, run in first.items()}
    when = f"{name}, seed {words_of(sorted({run.result.seed for run in first.values()}))}"
    if any(flows.values()):
        yield "cwnd", f"Congestion window ({when})", flow_plots.cwnd(when, flows, events)
    if any(len(t) for t, _length in queues.values()):
        yield "queue", f"Bottleneck queue ({when})", flow_plots.queue(when, queues, g.queue_pkts, events)
    if any(flows.values()):
        yield "srtt", f"Smoothed round trip time ({when})", flow_plots.srtt(when, flows, events)
        yield (
            "goodput",
            f"Goodput over time ({when}); in order: a filled gap releases what waited behind it",
            flow_plots.goodput(when, flows, rate, events, read_capacity(next(iter(first.values())))),
        )
    yield from _traces(g, first)


def _traces(g: Group, first: Mapping[str, Run]) -> Iterable[tuple[str, str, Figure]]:
    """One figure for each traced run."""
    for label, run in first.items():
        if figure := trace_figure(run):
            kind = f"trace-{style.file_word(label)}"
            yield kind, f"What {label} saw and decided ({g.name}, seed {run.result.seed})", figure


def pictures_of(g: Group, directory: Path, formats: Sequence[str] = PNG) -> list[PagePicture]:
    """Figures of a group, written to a directory, with the bytes that the page carries."""
    return [picture(f"{g.slug}-{kind}", text, figure, directory, formats) for kind, text, figure in _figures(g)]


def tradeoff_of(g: Group, directory: Path, formats: Sequence[str] = PNG) -> PagePicture | None:
    """Goodput against delay, the first picture; None if there are no two to compare."""
    points = _points(g)
    if sum(map(bool, points.values())) < 2:
        return None
    figure = tradeoff.throughput_delay(g.name, points, g.rate_mbit, g.path_ms)
    text = "Goodput against one-way delay, mean of the seeds"
    return picture(f"{g.slug}-throughput-delay", text, figure, directory, formats)


def drawing_of(g: Group, directory: Path, formats: Sequence[str] = PNG) -> PagePicture | None:
    """The network as a drawing; None of a real path, whose links nobody knows."""
    if not g.resolved.links:
        return None
    return picture(f"{g.slug}-network", "The network", network.network(g.resolved), directory, formats)


def picture(name: str, text: str, figure: Figure, directory: Path, formats: Sequence[str]) -> PagePicture:
    """A figure for the page, which carries it as PNG, and in the directory as NAME.FORMAT for each of the formats."""
    drawn = {kind: style.drawn(figure, kind) for kind in dict.fromkeys((*PNG, *formats))}
    for kind in formats:
        (directory / f"{name}.{kind}").write_bytes(drawn[kind])
    width, height = (round(inches * style.DPI) for inches in figure.get_size_inches())
    return PagePicture(
        file=f"{name}.{formats[0]}",
        text=text,
        wide=width > style.NARROW_IN * style.DPI + 1,
        width=width,
        height=height,
        data=base64.b64encode(drawn["png"]).decode(),
    )
