# SPDX-License-Identifier: GPL-2.0
"""For experiment scripts in plain Mininet style: measure a bulk flow on a network.

    net = HetNet(topo=MyTopo())
    result = measure(net, "s", "d", cc="reno", duration_s=60, bottleneck="sat.forward")
    show("my experiment", [result], Path("out.png"))

``run_all`` does this for a list of congestion controls.

Works on a real machine as root and inside the virtual-time kernel alike.
"""

import argparse
import itertools
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hetlab.errors import LabError
from hetlab.model.flow import Flow
from hetlab.model.job import Job
from hetlab.model.resolve import FIRST_PORT
from hetlab.model.result import RunResult
from hetlab.model.scenario import Experiment, Measure
from hetlab.paths import BIN

SAMPLE_MS = 100
QUEUE_MS = 10
GOODPUT_BIN_S = 1.0


@dataclass(frozen=True)
class Measured:
    """Numbers and series of one run."""

    label: str
    summary: RunResult
    series: dict[str, tuple[list[float], list[float]]]


def parser(doc: str, name: str, duration_s: float, ccs: list[str]) -> argparse.ArgumentParser:
    """Arguments that all scripts share."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cc", action="append", metavar="NAME[:param=value]", help=f"repeatable; default {', '.join(ccs)}")
    p.add_argument("--duration", type=ranged(1, 3600), default=duration_s, metavar="S", help="seconds, 1..3600")
    p.add_argument("--plot", type=Path, default=Path(f"{name}.png"), help=f"default {name}.png")
    return p


def ranged(low: float, high: float) -> Callable[[str], float]:
    """Type of an argument that is a number with limits."""

    def convert(text: str) -> float:
        value = float(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text}: allowed range is {low:.12g}..{high:.12g}")
        return value

    return convert


def run_all(
    topo: Any,
    args: argparse.Namespace,
    title: str,
    bottleneck: str,
    ccs: list[str],
    during: Callable[[Any, threading.Event], None] | None = None,
) -> None:
    """Build the network once, measure every congestion control on it, show the results."""
    from mininet.log import setLogLevel

    from hetlab.emulation.topo import HetNet

    setLogLevel("warning")
    try:
        net = HetNet(topo=topo)
        beside = (lambda over: during(net, over)) if during else None
        results = [
            measure(net, "s", "d", cc=cc, duration_s=args.duration, bottleneck=bottleneck, during=beside)
            for cc in args.cc or ccs
        ]
        net.stop()
    except LabError as err:
        sys.exit(f"{Path(sys.argv[0]).name}: {err}")
    show(title, results, args.plot)


def measure(
    net: Any,
    src: str,
    dst: str,
    *,
    cc: str,
    duration_s: float,
    bottleneck: str,
    during: Callable[[threading.Event], None] | None = None,
) -> Measured:
    """One bulk TCP flow over a queue (LINK.forward or .reverse).

    ``during`` runs beside it, for handovers; it returns once its event is set.
    """
    from hetlab.emulation.experiment import Run
    from hetlab.emulation.modules import Parameters, require_cc
    from hetlab.model.jobs import parse_cc
    from hetlab.results import metrics

    variant = parse_cc(cc)
    require_cc({variant.cc})
    os.environ["HETLAB_BIN"] = str(BIN)
    with tempfile.TemporaryDirectory() as scratch, Parameters(variant.cc, variant.params):
        experiment = _experiment(net, src, dst, duration_s, bottleneck)
        job = Job(scenario=experiment, cc=variant.cc, cc_params=variant.params, dir=scratch)
        run = Run(job, net)
        try:
            run.start()
            over = threading.Event()
            beside = threading.Thread(target=during or threading.Event.wait, args=(over,))
            beside.start()
            try:
                run.wait()
            finally:
                over.set()
                beside.join()
            meta = {"kernel": os.uname().release, "seeded": False, "counters": run.counters()}
        finally:
            run.stop()
        (Path(scratch) / "meta.json").write_text(json.dumps(meta))
        raw = metrics.read(job)
        return Measured(cc, metrics.summarise(raw), _series(raw))


def _experiment(net: Any, src: str, dst: str, duration_s: float, bottleneck: str) -> Experiment:
    """A single flow over a network that is there already."""
    measure = Measure(bottleneck, (bottleneck,), SAMPLE_MS, QUEUE_MS, steady_from_s=min(2.0, duration_s / 2))
    return Experiment(
        name="script",
        hosts=tuple(host.name for host in net.hosts),
        duration_s=duration_s,
        links={},
        flows=(Flow(src=src, dst=dst, id=0, name="bulk", port=FIRST_PORT, duration_s=duration_s),),
        measure=measure,
        owd_pairs=((src, dst),),
    )


def _series(raw: Any) -> dict[str, tuple[list[float], list[float]]]:
    from hetlab.results import metrics

    samples = raw.of_flow(0, "sample")
    t, length = metrics.queue_series(raw, raw.scenario.measure.bottleneck or "")
    edges = [i * GOODPUT_BIN_S for i in range(int(raw.scenario.duration_s / GOODPUT_BIN_S) + 1)]
    octets = [metrics.received_at(raw, 0, e) for e in edges]
    rate = [(b - a) * 8 / GOODPUT_BIN_S / 1e6 for a, b in itertools.pairwise(octets)]
    return {
        "cwnd": ([r["t"] for r in samples], [float(r["cwnd"]) for r in samples]),
        "queue": (t.tolist(), length.tolist()),
        "goodput": (edges[1:], rate),
    }


def show(title: str, results: list[Measured], picture: Path) -> None:
    """Print the table and write the plots."""
    from rich.console import Console
    from rich.table import Table

    from hetlab.plots.script import script_figure
    from hetlab.results.columns import SCRIPT

    table = Table(title=title, box=None, pad_edge=False, title_justify="left")
    for head in ("cc", *(f"{column.name}\n{column.unit}" for column in SCRIPT)):
        table.add_column(head, justify="left" if head == "cc" else "right", no_wrap=True)
    for r in results:
        table.add_row(r.label, *(column.text(column.value(r.summary)) for column in SCRIPT))
    Console(highlight=False, width=100).print(table)
    script_figure(title, {r.label: r.series for r in results}, picture)
    print(f"plots in {picture}")
