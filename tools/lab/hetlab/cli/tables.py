# SPDX-License-Identifier: GPL-2.0
"""Tables on the terminal."""

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from hetlab.model import files, names
from hetlab.results import store

if TYPE_CHECKING:
    from hetlab.claims import evaluate


def claims_table(judged: "list[evaluate.Judgement]") -> Table:
    """A line for each source of each claim, and one for the cause if there is any."""
    t = Table(box=None, pad_edge=False)
    for head in ("claim", "", "source", "", "ours", "paper"):
        t.add_column(head)
    for j in judged:
        name, word, paper = j.claim.id, str(j.word), j.claim.paper
        for source, v in j.verdicts.items():
            t.add_row(name, word, source, "yes" if v.holds else "no", v.ours, paper)
            name = word = paper = ""
        if j.claim.cause:
            t.add_row("", "", "cause", "", j.claim.cause, "")
    return t


def claims_list(chosen: "list[evaluate.Claim]") -> Table:
    """What each claim needs: runs or packet scripts, and roughly the real time on one CPU."""
    t = Table(box=None, pad_edge=False)
    for head in ("claim", "about", "runs", "scripts", "seconds"):
        t.add_column(head, justify="left" if head in ("claim", "about") else "right", no_wrap=True)
    for c in chosen:
        t.add_row(c.id, c.kind, str(len(c.needs) or "-"), str(len(c.scripts) or "-"), str(c.cost_s or "short"))
    return t


def scenarios_table() -> Table:
    """Scenarios and their variants, those of a folder together."""
    t = Table(box=None, pad_edge=False)
    t.add_column("scenario", no_wrap=True)
    t.add_column("what it models")
    t.add_column("length", justify="right", no_wrap=True)
    for folder in ("", *names.papers()):
        t.add_row("", "", "")
        t.add_row(f"{folder or 'general'}:", (names.papers()[folder].__doc__ or "") if folder else "", "")
        for name in (name for name in names.scenarios() if names.folder_of(name) == folder):
            for address in (name, *(f"{name}@{variant}" for variant in files.variants(name))):
                model = files.load(address)[0].model
                if not model.abstract:
                    t.add_row(f"  {address}", model.title, f"{model.duration_s:g} s")
    return t


def table(rows: list[dict[str, Any]]) -> Table:
    """One line per run, in the order of scenario, congestion control, seed."""
    t = Table(box=None, pad_edge=False)
    heads = ["scenario", "cc", "seed", "goodput", "retrans", "timeouts", "queue mean", "queue max"]
    heads += ["drops", "lost", "delay mean", "delay p95", "Jain", "wall"]
    units = ("", "", "", "Mbit/s", "pkts", "", "pkts", "pkts", "queue", "link", "ms", "ms", "", "s")
    for head, unit in zip(heads, units, strict=True):
        t.add_column(f"{head}\n{unit}", justify="left" if head in ("scenario", "cc") else "right", no_wrap=True)
    for r in rows:
        t.add_row(*_cells(r))
    return t


def show(t: Table) -> None:
    """Print a table at its own width where stdout is not a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    console.print(t)


def _cells(r: dict[str, Any]) -> list[str]:
    tcp = [f for f in r["flows"] if f["proto"] == "tcp"]
    owd = r["owd_ms"] or {}
    q = r["queue"]
    return [
        r["scenario"],
        store.label(r["cc"], r["cc_params"]),
        str(r["seed"]),
        f"{sum(f['goodput_mbit'] for f in tcp):.3f}",
        _sum(tcp, "retransmits"),
        _sum(tcp, "timeouts"),
        _num(q["steady_mean_pkts"], 1),
        _num(q["max_pkts"], 0),
        _num(q["drops"], 0),
        _num(q["loss_model_drops"], 0),
        _num(owd.get("mean"), 1),
        _num(owd.get("p95"), 1),
        _num(r["jain"], 3),
        _num(r.get("wall_s"), 2),
    ]


def _sum(flows: list[dict[str, Any]], key: str) -> str:
    values = [f[key] for f in flows if f[key] is not None]
    return str(sum(values)) if values else "-"


def _num(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:.{places}f}"
