# SPDX-License-Identifier: GPL-2.0
"""Numbers in the documentation: measured into docs/data, written from there between markers.

    make_docs.py data [NAME...]   run what tables.toml asks for, write docs/data/NAME.json (all without a name)
    make_docs.py write            fill README and docs/*.md from docs/data, draw the picture of README
    make_docs.py verdicts FILE    take what hetlab judge --json said of some congestion controls into
                                  docs/data/gauntlet.jsonl; the others' verdicts stay
    make_docs.py check            status 1 and a diff if a file is not what ``write`` would make of it

A place in a document is ``<!-- begin: make docs TEMPLATE -->`` to ``<!-- end -->``, each on a line of its own; what is
between them is templates/TEMPLATE.md.j2 over the data files (see Data), keys of the model (``keys``) or the text of
files (``source``). ``make docs-data`` and ``make docs`` call this.
"""

import argparse
import difflib
import hashlib
import itertools
import json
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import reference
import verdicts

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
DATA = TOP / "docs" / "data"
TABLES = HERE / "tables.toml"
PLACE = re.compile(r"(?P<begin>^<!-- begin: make docs (?P<name>[\w-]+) -->\n).*?(?P<end>^<!-- end -->$)", re.M | re.S)
RATE_BIN_S = 2.0


class Data:
    """One data file: its rows, and where they come from."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.rows: list[dict[str, Any]] = content["rows"]
        self.provenance: dict[str, Any] = content["provenance"]

    def pick(self, column: str, **where: Any) -> list[Any]:
        """Values of a column (``a.b`` for b within a) in the rows whose other columns have these values."""
        rows = [row for row in self.rows if all(row[key] == value for key, value in where.items())]
        if not rows:
            raise KeyError(f"no row with {where}")
        return [_inside(row, column) for row in rows]

    def mean(self, column: str, **where: Any) -> float:
        """Mean of those values: over the seeds, if everything else is given."""
        return statistics.fmean(self.pick(column, **where))

    def median(self, column: str, below: str = "", **where: Any) -> float:
        """Median of those values, or of their ratio to another column of the same row."""
        values = self.pick(column, **where)
        if below:
            values = [v / b for v, b in zip(values, self.pick(below, **where), strict=True)]
        return statistics.median(values)


def _inside(row: dict[str, Any], column: str) -> Any:
    for key in column.split("."):
        row = row[key]
    return row


def label(run: dict[str, Any]) -> str:
    """A congestion control with its parameters, in the order of their names: ``santacruz:n_op=1.5``."""
    params = ",".join(f"{k}={v}" for k, v in sorted(run["cc_params"].items()))
    return run["cc"] + (f":{params}" if params else "")


def point(scenario: str) -> dict[str, str]:
    """Values of a point of a sweep by the last word of their keys: ``name[link.a.forward.delay_ms=25]``."""
    inside = re.search(r"\[(.*)\]$", scenario)
    pairs = (item.rpartition("=") for item in re.split(r",(?=[\w.+]+=)", inside[1])) if inside else ()
    return {key.rpartition(".")[2]: value for key, _is, value in pairs}


def curves(text: str) -> dict[str, dict[str, str]]:
    """Curves in the text of a claim, ``NAME: 25: 0.98, 50: 0.97; NAME: ...``, by name."""
    parts = (re.fullmatch(r"(.*?): (\d+: .*)", part) for part in text.split("; "))
    return {part[1]: dict(re.findall(r"(\d+): ([\d.]+)", part[2])) for part in parts if part}


def row_of(run: dict[str, Any], name: str) -> dict[str, Any]:
    """What a data file keeps of a result.json: rates in Mbit/s, delays in ms, queue and losses in packets."""
    tcp = [flow for flow in run["flows"] if flow["proto"] == "tcp"]
    return {
        "run": name,
        "point": point(run["scenario"]),
        "cc": label(run),
        "seed": run["seed"],
        "goodput_mbit": {flow["name"]: flow["goodput_mbit"] for flow in run["flows"]},
        "steady_goodput_mbit": {flow["name"]: flow["steady_goodput_mbit"] for flow in tcp},
        "retransmits_pkts": {flow["name"]: flow["retransmits"] for flow in tcp},
        "queue_mean_pkts": run["queue"]["steady_mean_pkts"],
        "queue_drops_pkts": run["queue"]["drops"],
        "loss_model_drops_pkts": run["queue"]["loss_model_drops"],
        "delay_mean_ms": (run["owd_ms"] or {}).get("mean"),
        "delay_min_ms": (run["owd_ms"] or {}).get("min"),
        "delay_p95_ms": (run["owd_ms"] or {}).get("p95"),
    }


def rates(directory: Path, flow_id: int = 0) -> list[float]:
    """Goodput of a flow (Mbit/s) in steps of RATE_BIN_S, from a run's received.parquet."""
    import numpy as np
    import pyarrow.parquet as pq

    columns = pq.read_table(directory / "received.parquet").to_pydict()
    of_flow = [i for i, flow in enumerate(columns["id"]) if flow == flow_id]
    t = [0.0] + [columns["t"][i] for i in of_flow]
    octets = [0.0] + [float(columns["bytes_received"][i]) for i in of_flow]
    edges = np.arange(0, t[-1], RATE_BIN_S)
    return [round(float(v), 3) for v in np.diff(np.interp(edges, t, octets)) * 8 / RATE_BIN_S / 1e6]


# ---------------------------------------------------------------- measuring


def hetlab(*words: str) -> list[dict[str, Any]]:
    """JSON lines of a hetlab command; its progress goes to our stderr. Status 1 (a claim that fails) is a result."""
    done = subprocess.run([str(TOP / "tools" / "hetlab"), *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"make docs: hetlab {' '.join(words)}: status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def command(run: dict[str, Any]) -> list[str]:
    """Words of ``hetlab run`` for an entry of tables.toml."""
    words = ["run", run["scenario"], *(word for cc in run["cc"] for word in ("--cc", cc))]
    words += [word for item in run.get("set", []) for word in ("--set", item)]
    return [*words, "--seeds", str(run.get("seeds", 1)), "--json"]


def measure(table: dict[str, Any]) -> dict[str, Any]:
    """Rows and provenance of a data file: of its runs, or of claims."""
    if "claims" in table:
        return _measure_claims(["claims", "--json", *table["claims"]])
    rows, found, commands = [], [], []
    for run in table["run"]:
        with tempfile.TemporaryDirectory(prefix="hetcc-docs-") as out:
            words = command(run)
            results = hetlab(*words, "--out", out)
            rows += [row_of(r, run["name"]) | _series(run, r, Path(out)) for r in results]
        found += results
        commands.append(f"hetlab {' '.join(words)}")
    return {"provenance": {"commands": commands, **_measured_with(found)}, "rows": rows}


def _measure_claims(words: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hetcc-docs-") as out:
        rows = hetlab(*words, "--out", out)
        runs = [json.loads(path.read_text()) for path in sorted(Path(out).rglob("result.json"))]
    return {"provenance": {"commands": [f"hetlab {' '.join(words)}"], **_measured_with(runs)}, "rows": rows}


def _series(run: dict[str, Any], result: dict[str, Any], out: Path) -> dict[str, Any]:
    """Rate over time, where tables.toml asks for it."""
    if not run.get("rates"):
        return {}
    for path in sorted(out.rglob("result.json")):
        seen = json.loads(path.read_text())
        if all(seen[key] == result[key] for key in ("scenario", "cc", "cc_params", "seed")):
            return {"rate_bin_s": RATE_BIN_S, "rate_mbit": rates(path.parent)}
    sys.exit(f"make docs: {result['scenario']} {label(result)} left no result.json")


def _measured_with(results: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Kernels, hashes, seeds of results; several values where they differ."""
    results = list(results)
    keys = dict.fromkeys(key for r in results for key in r["hashes"])
    found = {
        "kernel": sorted({r["kernel_release"] for r in results}),
        "seeds": sorted({r["seed"] for r in results}),
        "hashes": {key: sorted({r["hashes"][key] for r in results}) for key in keys},
    }
    return found


def save(content: dict[str, Any], path: Path) -> None:
    """Provenance, then a row a line, so that a diff shows which numbers changed."""
    rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in content["rows"])
    provenance = json.dumps(content["provenance"], indent=2, ensure_ascii=False).replace("\n", "\n ")
    path.write_text(f'{{\n "provenance": {provenance},\n "rows": [\n{rows}\n ]\n}}\n')


# ---------------------------------------------------------------- writing


def load() -> dict[str, Data]:
    """All data files by name, with ``_`` for ``-``."""
    return {path.stem.replace("-", "_"): Data(json.loads(path.read_text())) for path in sorted(DATA.glob("*.json"))}


def environment() -> jinja2.Environment:
    """Templates; a name that does not exist is an error."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    env.filters["decimals"] = lambda value, places: f"{value:.{places}f}"
    env.filters["curves"] = curves
    env.globals["data"] = load()
    env.globals["keys"] = reference.keys
    env.globals["verdicts"] = verdicts
    env.globals["source"] = lambda path: (TOP / path).read_text().strip()
    env.globals["usage"] = reference.usage
    return env


def documents() -> Iterator[Path]:
    """Documents that have places to fill."""
    for path in (TOP / "README", *sorted((TOP / "docs").glob("*.md"))):
        if PLACE.search(path.read_text()):
            yield path


def filled(text: str, env: jinja2.Environment) -> str:
    """A document with every place as its template makes it."""

    def fill(match: re.Match[str]) -> str:
        body = env.get_template(f"{match['name']}.md.j2").render().strip()
        return f"{match['begin']}{body}\n{match['end']}"

    return PLACE.sub(fill, text)


def digest(path: Path) -> str:
    """What a picture was drawn from."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def picture(data: Data, source: Path, target: Path) -> None:
    """Data received over time on the satellite link of README; the digest of its data is in the file."""
    from matplotlib.figure import Figure

    from hetlab.plots import style

    @style.styled
    def draw() -> Figure:
        figure = Figure(figsize=(8, 3), layout="constrained")
        axes = figure.add_subplot(xlabel="time (s)", ylabel="received in order (MB)")
        looks = style.styles(row["cc"] for row in data.rows)
        for row in sorted(data.rows, key=lambda row: looks[row["cc"]].order):
            look = looks[row["cc"]]
            megabytes = [0.0, *itertools.accumulate(rate * row["rate_bin_s"] / 8 for rate in row["rate_mbit"])]
            t = [row["rate_bin_s"] * i for i in range(len(megabytes))]
            width = 1.8 if look.ours else 1.2
            axes.plot(t, megabytes, color=look.colour, linestyle=look.line, linewidth=width, label=look.name)
        axes.set(xlim=(0, None), ylim=(0, None))
        figure.legend(loc="outside right center")
        return figure

    figure = draw()
    figure.savefig(target, format="png", dpi=style.DPI, metadata={"Source": f"{source.name} {digest(source)}"})


def differences() -> Iterator[str]:
    """What ``write`` would change, as a diff; nothing if all is up to date."""
    env = environment()
    for path in documents():
        old, new = path.read_text(), filled(path.read_text(), env)
        name = str(path.relative_to(TOP))
        yield from difflib.unified_diff(
            old.splitlines(), new.splitlines(), name, f"{name} as make docs writes it", "", "", 1
        )
    for target, source in pictures():
        if digest(source).encode() not in (target.read_bytes() if target.exists() else b""):
            yield f"{target.relative_to(TOP)} was not drawn from {source.relative_to(TOP)}"


def pictures() -> list[tuple[Path, Path]]:
    """Pictures and their data files."""
    return [(TOP / "docs" / "figures" / "geo-rate.png", DATA / "geo-rate.json")]


def write() -> None:
    """Fill all places, draw what is not drawn from the present data."""
    env = environment()
    for path in documents():
        path.write_text(filled(path.read_text(), env))
    for target, source in pictures():
        if not target.exists() or digest(source).encode() not in target.read_bytes():
            picture(load()[source.stem.replace("-", "_")], source, target)


def data(names: list[str]) -> None:
    """Measure these data files, or all."""
    tables = tomllib.loads(TABLES.read_text())
    for name in names or tables:
        if name not in tables:
            sys.exit(f"make docs: no table {name!r} in tables.toml; there are {', '.join(tables)}")
        print(f"make docs: {name}", file=sys.stderr)
        save(measure(tables[name]), DATA / f"{name}.json")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("data", "write", "verdicts", "check"))
    parser.add_argument("name", nargs="*", help="data: data files, without .json; verdicts: the file")
    given = parser.parse_args()
    if given.what == "data":
        data(given.name)
    elif given.what == "write":
        write()
    elif given.what == "verdicts":
        for name in given.name:
            verdicts.keep(Path(name), "gauntlet")
    elif found := list(differences()):
        print("\n".join(found))
        sys.exit("make docs: these are not what docs/data says: run 'make docs'")


if __name__ == "__main__":
    main()
