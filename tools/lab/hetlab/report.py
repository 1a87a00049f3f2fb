# SPDX-License-Identifier: GPL-2.0
"""A result directory to one HTML page: tables, plots and where the numbers come from.

The page needs nothing but itself; the plots are also beside it, in ``plots/``.
"""

import base64
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.parquet as pq
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

from hetlab import plots, results, scenario
from hetlab.errors import LabError
from hetlab.plots import Floats

TEMPLATES = Path(__file__).with_name("templates")
LONG_RUN_S = 20
MANY_FLOWS = 6
SHOWN = 15
NONE = "-"
Result = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run: its directory and its result.json."""

    directory: Path
    result: Result

    @property
    def label(self) -> str:
        """``cc:param=value``."""
        return results.label(self.result["cc"], self.result["cc_params"])

    @property
    def tcp(self) -> list[Result]:
        """Results of the TCP flows."""
        return [f for f in self.result["flows"] if f["proto"] == "tcp"]


@dataclass
class Group:
    """The runs of one scenario with the same kernel and modules."""

    name: str
    resolved: dict[str, Any]
    slug: str
    runs: dict[str, list[Run]] = field(default_factory=dict)

    @property
    def every(self) -> list[Run]:
        """All runs, in the order of tables."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def bottleneck(self) -> dict[str, Any]:
        """The direction of a link that is the bottleneck; empty if there is none."""
        link, _, way = (self.resolved["measure"]["bottleneck"] or "").partition(".")
        return dict(self.resolved["links"][link][way]) if link else {}


def write_report(directory: Path, output: Path, title: str) -> Path:
    """Write the page for all runs below ``directory``, and its plots beside it."""
    try:
        groups = group(results.read_all(directory))
        if not groups:
            raise LabError(f"{directory}: no runs (result.json) below this directory")
        pictures = output.parent / "plots"
        pictures.mkdir(parents=True, exist_ok=True)
        sections = [_section(g, pictures) for g in groups]
        output.write_text(_render(title, sections), encoding="utf-8")
    except (OSError, ValueError, KeyError) as err:
        raise LabError(f"{directory}: cannot report on these results: {err!r}") from err
    return output


def _render(title: str, sections: list[dict[str, Any]]) -> str:
    env = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return env.get_template("report.html.j2").render(title=title, sections=sections)


def group(found: Iterable[tuple[Path, Result]]) -> list[Group]:
    """Runs by scenario; different settings, kernels or modules under one name stay apart."""
    groups: dict[str, Group] = {}
    seen: set[str] = set()
    for directory, result in found:
        same = json.dumps({k: v for k, v in result.items() if k != "wall_s"}, sort_keys=True)
        if same in seen:
            continue
        seen.add(same)
        measured_with = {k: v for k, v in result["hashes"].items() if k != "commit"}
        key = json.dumps([result["scenario"], result["scenario_resolved"], measured_with], sort_keys=True)
        if key not in groups:
            slug = _slug(result["scenario"], {g.slug for g in groups.values()})
            groups[key] = Group(result["scenario"], result["scenario_resolved"], slug)
        run = Run(directory, result)
        groups[key].runs.setdefault(run.label, []).append(run)
    for g in groups.values():
        g.runs = {label: sorted(g.runs[label], key=lambda r: r.result["seed"]) for label in plots.styles(g.runs)}
    return list(groups.values())


def _slug(name: str, taken: set[str]) -> str:
    """Part of a file name, and the anchor of a section."""
    base = re.sub(r"[^\w.,=+\-]+", "_", name)[:80].strip("_") or "scenario"
    slug, number = base, 2
    while slug in taken:
        slug, number = f"{base}-{number}", number + 1
    return slug


# -------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Column:
    """A column of the results; ``over``: how the values of the seeds become one."""

    head: str
    unit: str
    places: int
    best: Literal["high", "low", ""]
    value: Callable[[Run], float | None]
    over: Callable[[Sequence[float]], Any] = np.mean
    spread: bool = False


def _of(part: str, key: str) -> Callable[[Run], float | None]:
    return lambda run: (run.result[part] or {}).get(key)


def _total(key: str) -> Callable[[Run], float | None]:
    """Sum over the TCP flows; None if no flow has the value."""

    def total(run: Run) -> float | None:
        values = [f[key] for f in run.tcp if f.get(key) is not None]
        return sum(values) if values else None

    return total


_goodput = _total("goodput_mbit")


def _columns(g: Group) -> list[Column]:
    """What the table shows; fairness only where flows share the link."""
    rate = g.bottleneck.get("rate_mbit")
    columns = [
        Column("goodput", "Mbit/s", 3, "high", _goodput, spread=True),
        Column("share", "% of link", 1, "high", lambda run: 100 * (_goodput(run) or 0) / rate if rate else None),
        Column("retrans.", "pkts", 1, "low", _total("retransmits")),
        Column("timeouts", "", 1, "low", _total("timeouts")),
        Column("queue", "mean pkts", 1, "low", _of("queue", "steady_mean_pkts")),
        Column("queue", "p95 pkts", 0, "low", _of("queue", "p95_pkts")),
        Column("queue", "max pkts", 0, "low", _of("queue", "max_pkts"), max),
        Column("drops", "by queue", 1, "low", _of("queue", "drops")),
        Column("drops", "by loss", 1, "", _of("queue", "loss_model_drops")),
        Column("delay", "mean ms", 1, "low", _of("owd_ms", "mean")),
        Column("delay", "p95 ms", 1, "low", _of("owd_ms", "p95")),
    ]
    if any(len(run.tcp) > 1 for run in g.every):
        columns.append(Column("Jain", "", 3, "high", lambda run: run.result["jain"]))
    return columns


def values_of(runs: Sequence[Run], value: Callable[[Run], float | None]) -> list[float]:
    """A number of each run, without the runs that do not have it."""
    return [float(v) for v in map(value, runs) if v is not None]


def _cells(g: Group, column: Column) -> list[dict[str, Any]]:
    """A column of the table; the best values are marked unless all are equal."""
    found = [values_of(runs, column.value) for runs in g.runs.values()]
    texts = [_number(float(column.over(values)), column.places) if values else NONE for values in found]
    shown = [float(text) for text in texts if text != NONE]
    best = {"high": max, "low": min}.get(column.best, lambda _values, default: default)(shown, default=None)
    marked = len(set(shown)) > 1
    return [
        {
            "text": text,
            "range": f"[{min(v):.{column.places}f} … {max(v):.{column.places}f}]"
            if column.spread and len(v) > 1
            else "",
            "best": marked and text != NONE and float(text) == best,
        }
        for text, v in zip(texts, found, strict=True)
    ]


def _number(value: float, places: int) -> str:
    """Fixed places, but none for whole numbers of things counted."""
    return f"{value:.0f}" if places == 1 and value == int(value) else f"{value:.{places}f}"


def _table(g: Group) -> dict[str, Any]:
    looks = plots.styles(g.runs)
    columns = _columns(g)
    cells = list(zip(*(_cells(g, column) for column in columns), strict=True))
    rows = [
        {
            "cc": runs[0].result["cc"],
            "look": looks[label],
            "base": plots.styles([runs[0].result["cc"]])[runs[0].result["cc"]].name,
            "params": ", ".join(f"{k}={v}" for k, v in sorted(runs[0].result["cc_params"].items())),
            "n": len(runs),
            "cells": cells[i],
        }
        for i, (label, runs) in enumerate(g.runs.items())
    ]
    return {"heads": columns, "rows": rows, "params": any(row["params"] for row in rows)}


def _flow_table(g: Group) -> dict[str, Any] | None:
    """Mean goodput of every flow, where there are several."""
    names = [f["name"] for f in g.resolved["flows"]]
    if not 1 < len(names) <= 2 * MANY_FLOWS:
        return None
    rows = []
    for label, runs in g.runs.items():
        of = {n: [f["goodput_mbit"] for run in runs for f in run.result["flows"] if f["name"] == n] for n in names}
        cells = [f"{np.mean(values):.3f}" if values else NONE for values in of.values()]
        rows.append({"look": plots.styles(g.runs)[label], "cells": cells})
    heads = [(f["name"], "UDP" if f["proto"] == "udp" else f["cc"] or "under test") for f in g.resolved["flows"]]
    return {"heads": heads, "rows": rows}


# ------------------------------------------------------------- the scenario


def _way_row(name: str, link: Mapping[str, Any], way: str) -> list[str]:
    """A direction of a link in words."""
    here = link[way]
    ends = link["ends"] if way == "forward" else link["ends"][::-1]
    rate, delay = here["rate_mbit"], f"{here['delay_ms']:g} ms"
    if here.get("jitter_ms"):
        delay += f" ± {here['jitter_ms']:g} ms"
    options = "".join(f" {k}={v}" for k, v in (here.get("aqm_options") or {}).items())
    queue = f"{here['queue_pkts']} pkts" + ("" if here["aqm"] == "fifo" else f", {here['aqm']}{options}")
    other = [f"{what} {here[key]:g} %" for what, key in OTHER_FAULTS if here.get(key)]
    return [
        f"{name}.{way}",
        f"{ends[0]} → {ends[1]}",
        "unlimited" if rate is None else _rate(rate),
        delay,
        queue,
        ", ".join([_loss(here["loss"]), *other]),
        f"{link['mtu']} bytes",
    ]


OTHER_FAULTS = (("reordered", "reorder_percent"), ("duplicated", "duplicate_percent"))
WAY_HEADS = ("direction", "from → to", "rate", "delay", "queue", "loss", "MTU")


def _rate(mbit: float) -> str:
    return f"{mbit * 1000:g} kbit/s" if mbit < 1 else f"{mbit:g} Mbit/s"


def _loss(loss: Mapping[str, Any]) -> str:
    if loss["model"] == "ber":
        return f"bit error rate {loss['ber']:g}"
    if loss["model"] == "gemodel":
        return f"{loss['percent']:g} % in bursts of {loss['burst_pkts']:g} pkts"
    return "none" if loss["model"] == "none" else f"{loss['percent']:g} % {loss['model']}"


FLOW_HEADS = ("flow", "from → to", "protocol", "congestion control", "start", "ends after", "limits")
FLOW_LIMITS = (
    ("rate_mbit", "sends {:g} Mbit/s"),
    ("packet_bytes", "packets of {:g} bytes"),
    ("on_s", "on {:g} s"),
    ("off_s", "off {:g} s"),
    ("pace_mbit", "paced to {:g} Mbit/s"),
    ("clamp", "receive window at most {:g} bytes"),
    ("rcvlowat", "SO_RCVLOWAT {:g} bytes"),
)


def _flow_row(flow: Mapping[str, Any]) -> list[str]:
    """A flow in words."""
    udp = flow["proto"] == "udp"
    ends = f"{flow['duration_s']:g} s" + (f" or {flow['bytes']} bytes" if flow.get("bytes") else "")
    limits = [text.format(flow[k]) for k, text in FLOW_LIMITS if flow.get(k) and (udp or k != "packet_bytes")]
    cc = NONE if udp else flow["cc"] or "under test"
    route = f"{flow['src']} → {flow['dst']}"
    return [flow["name"], route, flow["proto"].upper(), cc, f"{flow['start_s']:g} s", ends, ", ".join(limits) or "none"]


def _description(g: Group) -> dict[str, Any]:
    sc = g.resolved
    measure = sc["measure"]
    settings = [(f"route of {node}", words) for node, words in sc.get("route", {}).items() if words]
    settings += [(key, str(value)) for key, value in sorted(sc.get("sysctl", {}).items())]
    return {
        "way_heads": WAY_HEADS,
        "ways": [_way_row(n, link, way) for n, link in sc["links"].items() for way in ("forward", "reverse")],
        "flow_heads": FLOW_HEADS,
        "flows": [_flow_row(f) for f in sc["flows"]],
        "many_flows": len(sc["flows"]) > MANY_FLOWS,
        "settings": settings,
        "facts": [
            f"duration {sc['duration_s']:g} s",
            f"bottleneck {measure['bottleneck'] or 'none'}",
            f"queue and delay statistics from {measure['steady_from_s']:g} s on",
            f"samples every {measure['sample_ms']} ms (flows), {measure['queue_ms']} ms (queue)",
            "IPv6" if sc["ipv6"] else "IPv4",
        ],
    }


# --------------------------------------------------------------------- plots


def _read(path: Path, names: Sequence[str]) -> dict[str, Floats]:
    """Columns of a table as numbers, NaN where there is none; empty without a table."""
    if not path.exists():
        return {name: np.empty(0) for name in names}
    table = pq.ParquetFile(path).read()
    return {
        name: np.asarray(table[name].to_numpy(), dtype=np.float64)
        if name in table.column_names
        else np.full(table.num_rows, np.nan)
        for name in names
    }


def read_flows(run: Run) -> list[plots.Flow]:
    """The series of the TCP flows of a run."""
    samples = _read(run.directory / "flows.parquet", ("id", "t", "cwnd", "ssthresh", "srtt_us"))
    got = _read(run.directory / "received.parquet", ("id", "t", "bytes_received"))
    sc = run.result["scenario_resolved"]
    bin_s = 1.0 if sc["duration_s"] > LONG_RUN_S else 0.5
    ends = {f["name"]: f["end_s"] for f in run.result["flows"]}
    flows = []
    for flow in sc["flows"]:
        if flow["proto"] != "tcp":
            continue
        mine, came = samples["id"] == flow["id"], got["id"] == flow["id"]
        t, octets = got["t"][came], got["bytes_received"][came]
        rate = plots.binned_rate(t, octets, flow["start_s"], ends.get(flow["name"], sc["duration_s"]), bin_s)
        series = [samples[key][mine] for key in ("t", "cwnd", "ssthresh", "srtt_us")]
        flows.append(plots.Flow(flow["name"], flow["cc"], series[0], series[1], series[2], series[3] / 1e3, rate))
    return flows


def read_queue(run: Run) -> plots.Series:
    """Times and lengths (packets) of the bottleneck queue of a run."""
    path = run.directory / "queue.parquet"
    link = run.result["queue"]["link"]
    if not path.exists() or link is None:
        return np.empty(0), np.empty(0)
    table = pq.ParquetFile(path).read()
    mine = np.asarray(table["queue"].to_numpy() == link, dtype=bool)
    return table["t"].to_numpy()[mine], table["pkts"].to_numpy()[mine]


def read_delays(runs: Sequence[Run]) -> Floats:
    """One-way delays (ms) of all packets of some runs that arrived, steady part."""
    delays = [np.empty(0)]
    for run in runs:
        measure = run.result["scenario_resolved"]["measure"]
        for src, dst in measure["owd"]:
            table = _read(run.directory / f"owd-{src}-{dst}.parquet", ("t", "owd_ms"))
            t, delay = table["t"], table["owd_ms"]
            inside = (t >= measure["steady_from_s"]) & (t <= run.result["scenario_resolved"]["duration_s"])
            delays.append(delay[inside & ~np.isnan(delay)])
    return np.concatenate(delays)


TRACE_COLUMNS = ("id", "t", "n_pkts", "d_us", "pkts_us", "cwnd", "grew", "n_op_pkts")


def read_trace(run: Run) -> tuple[list[plots.TracedFlow], float | None]:
    """What santacruz saw of the flows of a traced run, and its operating point (packets)."""
    seen = _read(run.directory / "trace.parquet", TRACE_COLUMNS)
    lost = _read(run.directory / "trace-loss.parquet", ("id", "t", "cwnd", "congestive"))
    seen["pkts_us"] = np.where(seen["pkts_us"] > 0, seen["pkts_us"], np.nan)
    sources = np.asarray(results.series(run.directory, "trace").get("source", []), dtype=str)
    samples = _read(run.directory / "flows.parquet", ("id", "t", "total_rto"))
    flows = []
    for flow in run.result["scenario_resolved"]["flows"]:
        mine, its = seen["id"] == flow["id"], lost["id"] == flow["id"]
        if not mine.any():
            continue
        masks: dict[plots.Verdict, Any] = {
            "loss judged random": its & (lost["congestive"] == 0),
            "loss judged congestion": its & (lost["congestive"] > 0),
        }
        losses = {kind: (lost["t"][mask], lost["cwnd"][mask]) for kind, mask in masks.items()}
        own = samples["id"] == flow["id"]
        more = np.maximum(np.diff(samples["total_rto"][own], prepend=0), 0)
        timeouts_s = np.repeat(samples["t"][own], np.nan_to_num(more).astype(int))
        used = tuple(dict.fromkeys(sources[mine].tolist()))
        t, n_pkts, d_us, pkts_us, cwnd, grew = (seen[key][mine] for key in TRACE_COLUMNS[1:-1])
        flows.append(plots.TracedFlow(flow["name"], used, t, n_pkts, d_us, pkts_us, cwnd, grew, losses, timeouts_s))
    return flows, float(seen["n_op_pkts"][-1]) if len(seen["t"]) else None


def trace_figure(run: Run) -> Figure | None:
    """The trace of a run; None if it has none."""
    flows, n_op_pkts = read_trace(run)
    if not flows:
        return None
    name = f"{run.result['scenario']}, {run.label}, seed {run.result['seed']}"
    return plots.santacruz_trace(name, flows, read_queue(run), n_op_pkts, run.result["scenario_resolved"]["duration_s"])


def draw_trace(run: Run) -> None:
    """Write trace.png in the directory of a traced run."""
    if figure := trace_figure(run):
        plots.save(figure, run.directory / "trace.png")


def _figures(g: Group) -> Iterable[tuple[str, str, Figure]]:
    """Kind, description and figure; comparisons only of what there is."""
    name, rate = g.name, g.bottleneck.get("rate_mbit")

    def numbers(value: Callable[[Run], float | None]) -> dict[str, list[float]]:
        return {label: values_of(runs, value) for label, runs in g.runs.items()}

    delays = {label: read_delays(runs) for label, runs in g.runs.items()}
    if len(g.runs) > 1:
        yield "goodput-bars", "Goodput over the whole run", plots.goodput_bars(name, numbers(_goodput), rate)
        if any(len(d) for d in delays.values()):
            p50, p95 = numbers(_of("owd_ms", "p50")), numbers(_of("owd_ms", "p95"))
            yield "delay-bars", "One-way delay of the packets", plots.delay_bars(name, p50, p95)
        retransmits = numbers(_total("retransmits"))
        yield "retransmissions", "Retransmitted packets", plots.retransmission_bars(name, retransmits)
    if any(len(d) for d in delays.values()):
        yield "delay-cdf", "Distribution of the one-way delay, all seeds", plots.delay_cdf(name, delays)
    first = {label: runs[0] for label, runs in g.runs.items()}
    flows = {label: read_flows(run) for label, run in first.items()}
    queues = {label: read_queue(run) for label, run in first.items()}
    when = f"{name}, seed {_words(sorted({run.result['seed'] for run in first.values()}))}"
    if any(flows.values()):
        yield "cwnd", f"Congestion window ({when})", plots.cwnd(when, flows)
    if any(len(t) for t, _length in queues.values()):
        yield "queue", f"Bottleneck queue ({when})", plots.queue(when, queues, g.bottleneck.get("queue_pkts"))
    if any(flows.values()):
        yield "srtt", f"Smoothed round trip time ({when})", plots.srtt(when, flows)
        yield (
            "goodput",
            f"Goodput over time ({when}); in order: a filled gap releases what waited behind it",
            plots.goodput(when, flows, rate),
        )
    yield from _traces(g, first)


def _traces(g: Group, first: Mapping[str, Run]) -> Iterable[tuple[str, str, Figure]]:
    """One figure for each traced run."""
    for label, run in first.items():
        if figure := trace_figure(run):
            kind = "trace-" + re.sub(r"[^\w.,=+\-]+", "_", label)
            yield kind, f"What {label} saw and decided ({g.name}, seed {run.result['seed']})", figure


def _pictures(g: Group, directory: Path) -> list[dict[str, Any]]:
    found = []
    for kind, text, figure in _figures(g):
        data = plots.save(figure, directory / f"{g.slug}-{kind}.png")
        width, height = (round(inches * plots.DPI) for inches in figure.get_size_inches())
        found.append(
            {
                "file": f"{g.slug}-{kind}.png",
                "text": text,
                "wide": width > plots.NARROW_IN * plots.DPI + 1,
                "width": width,
                "height": height,
                "data": base64.b64encode(data).decode(),
            }
        )
    return found


# ---------------------------------------------------------------- provenance


def _words(values: Iterable[Any]) -> str:
    return ", ".join(str(v) for v in values)


def _provenance(g: Group) -> list[tuple[str, str]]:
    """Where the numbers come from."""

    def all_of(key: str) -> str:
        return _words(sorted({str(run.result["hashes"].get(key, "unknown")) for run in g.every}))

    wall = [run.result["wall_s"] for run in g.every if run.result.get("wall_s") is not None]
    exact = {bool(run.result["reproducible"]) for run in g.every}
    return [
        ("seeds", _words(sorted({run.result["seed"] for run in g.every}))),
        ("runs", f"{len(g.every)}" + (f", {sum(wall):.1f} s of real time" if wall else "")),
        ("kernel", _words(sorted({run.result["kernel_release"] for run in g.every})) + f" ({all_of('kernel')})"),
        ("modules", all_of("modules")),
        ("commit", all_of("commit")),
        ("reproducible", "yes, bit by bit" if exact == {True} else "no" if exact == {False} else "only some runs"),
    ]


def _command(g: Group) -> tuple[str, list[str]]:
    """The command line that repeats the runs, and what it does not say."""
    name = g.name.partition("[")[0]
    words = ["tools/hetlab", "run", name]
    notes = []
    try:
        points = {s.name: scenario.resolve(s) for s in scenario.load(name)}
    except LabError:
        words[2] = f"{name}.toml"
        notes.append("The scenario is not one of this tree: give the path of its file.")
    else:
        if g.name not in points:
            notes.append("The scenario file of this tree has no such point in its sweep.")
        elif changed := _differences(json.loads(json.dumps(points[g.name])), g.resolved):
            notes.append("Not as in the scenario file of this tree (see --set): " + _words(changed))
        if g.name != name and g.name in points:
            notes.append("The command runs every point of the sweep; this is one of them.")
    for runs in g.runs.values():
        words += ["--cc", runs[0].label]
    seeds = sorted({run.result["seed"] for run in g.every})
    if len(seeds) > 1 and seeds == list(range(1, len(seeds) + 1)):
        words += ["--seeds", str(len(seeds))]
    else:
        words += [word for seed in seeds for word in ("--seed", str(seed))]
    if all(run.result["hashes"].get("kernel") == run.result["kernel_release"] for run in g.every):
        words += ["--on", "host"]
    return shlex.join(words), notes


def _flat(value: Any, key: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return {k: v for name, part in value.items() for k, v in _flat(part, f"{key}.{name}" if key else name).items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return _flat({str(i): part for i, part in enumerate(value)}, key)
    return {key: value}


def _differences(now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    """Values of a run that the scenario file does not have (any more)."""
    old, new = _flat(then), _flat(now)
    missing = object()
    found = [f"{key} = {value}" for key, value in old.items() if new.get(key, missing) != value]
    found += [f"no {key}" for key in new if key not in old]
    return found if len(found) <= SHOWN else [*found[:SHOWN], f"and {len(found) - SHOWN} more"]


def _section(g: Group, pictures: Path) -> dict[str, Any]:
    command, notes = _command(g)
    return {
        "anchor": g.slug,
        "name": g.name,
        "title": g.every[0].result["title"],
        "description": _description(g),
        "table": _table(g),
        "flow_table": _flow_table(g),
        "pictures": _pictures(g, pictures),
        "provenance": _provenance(g),
        "command": command,
        "notes": notes,
    }
