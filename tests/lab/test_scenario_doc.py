# SPDX-License-Identifier: GPL-2.0
"""docs/scenarios.md against the model: every key of every table, its type, unit, default and range."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from hetlab.emulation.qdiscs import rate_qdiscs
from hetlab.model import files, resolve, workload
from hetlab.model.flow import Flows
from hetlab.model.keys import alternatives, keys_of
from hetlab.model.link import Direction
from hetlab.model.scenario import Clock, Scenario
from hetlab.paths import TOP

pytestmark = pytest.mark.fast
TEXT = (TOP / "docs" / "scenarios.md").read_text()
LINKS = (TOP / "docs" / "links.md").read_text()
TRACES = (TOP / "docs" / "traces.md").read_text()
QUIC = (TOP / "docs" / "quic.md").read_text()
WORKLOADS = (TOP / "docs" / "workloads.md").read_text()
UNITLESS = {"format", "seeds", "count", "parallel", "key_every", "key_factor", "transfers"}
HEAD = "| key | type | unit | default | allowed | meaning |"


def tables() -> list[list[list[str]]]:
    """Rows of the tables of keys, cells without their quotes."""
    found = []
    for block in TEXT.split(HEAD)[1:]:
        rows = re.match(r"\n\|[-|]+\|\n((?:\|.*\n)*)", block)
        assert rows
        found.append([[cell.strip(" `") for cell in row.strip("|").split("|")] for row in rows[1].splitlines()])
    return found


def classes(of: Any, seen: list[Any]) -> list[Any]:
    """All classes of the model that a scenario is made of."""
    if dataclasses.is_dataclass(of) and of not in seen:
        seen.append(of)
        for _name, hint, _key in keys_of(of):  # type: ignore[arg-type]
            classes(hint, seen)
    for part in get_args(of):
        classes(part, seen)
    return seen


def numeric(hint: Any) -> bool:
    """Whether a key takes numbers, one or a list of them."""
    inner = {part for of in alternatives(hint) for part in (of, *get_args(of))}
    return bool(inner & {int, float}) and not inner & {str, dict}


def documented(of: Any) -> list[list[str]]:
    """The table of a class."""
    names = [name for name, _hint, _key in keys_of(of)]
    (table,) = (rows for rows in tables() if [row[0] for row in rows] == names)
    return table


def keys() -> Iterator[tuple[Any, str, Any, Any, list[str]]]:
    for of in classes(Scenario, []):
        for (name, hint, key), row in zip(keys_of(of), documented(of), strict=True):
            yield of, name, hint, key, row


def test_every_table_of_the_model_is_there_once() -> None:
    assert len(classes(Scenario, [])) == len(tables()) == 9
    assert sum(1 for _key in keys()) > 70


def test_types_units_ranges() -> None:
    for of, name, hint, key, (_name, kind, unit, _default, allowed, meaning) in keys():
        where = f"{of.__name__}.{name}"
        assert kind and meaning, where
        drawn = name in workload.RANGES and name != "objects"
        assert bool(unit) == (drawn or (numeric(hint) and name not in UNITLESS)), where
        if key.low is not None:
            low, high = (float(number.replace(",", "")) for number in allowed.split(".."))
            assert (low, high) == (key.low, key.high), where
        elif numeric(hint):
            pytest.fail(f"{where}: a number without a range")


def test_defaults() -> None:
    for of, name, _hint, _key, row in keys():
        (field,) = (f for f in dataclasses.fields(of) if f.name == name)
        missing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        assert (row[3] == "needed") == missing, f"{of.__name__}.{name}"
        if isinstance(field.default, int | float):
            shown = {"true": 1.0, "false": 0.0}.get(row[3])
            assert field.default == (float(row[3]) if shown is None else shown), f"{of.__name__}.{name}"


@pytest.mark.parametrize("example", re.findall(r"```toml\n(.*?)```", LINKS + WORKLOADS, re.S))
def test_examples_are_scenarios(tmp_path: Path, example: str) -> None:
    """And each differs from bulk."""
    path = tmp_path / "example.toml"
    path.write_text(example)
    (bulk,), (found, *_points) = files.load("bulk"), files.load(str(path))
    resolve.resolve(found)
    ours = {n for n in Scenario.__dataclass_fields__ if getattr(found.scenario, n) != getattr(bulk.scenario, n)}
    assert ours & {"link", "event", "clock", "flow"}


def test_every_new_key_of_a_link_has_an_example() -> None:
    """Those that are left out of results where they are not given; of workloads, those in docs/workloads.md."""
    sparse = {name for of in (Direction, Flows, Clock) for name, _hint, key in keys_of(of) if key.sparse}
    assert len(sparse) > 5
    assert not {name for name in sparse if f"{name} = " not in LINKS + TRACES + QUIC + WORKLOADS}


def test_options_of_red() -> None:
    """The documented defaults are what it does without options; each of them has an effect."""
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| \w* ?\| ([\d.]+) \|", TEXT[TEXT.index("| key of red |") :], re.M)
    defaults = {name: float(value) if "." in value else int(value) for name, value in rows}
    assert defaults.keys() == {"min_pkts", "max_pkts", "probability", "ecn"}

    def made(**options: str | int | float) -> Any:
        return rate_qdiscs(Direction(rate_mbit=10, queue_pkts=50, aqm="red", aqm_options=options), 1500, "eth0")

    assert made() == made(**defaults)
    for name, other in {"min_pkts": 6, "max_pkts": 16, "probability": 0.2, "ecn": 1}.items():
        assert made(**{name: other}) != made(), name
