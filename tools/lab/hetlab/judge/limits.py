# SPDX-License-Identifier: GPL-2.0
"""What a project asks of its own congestion control: a TOML file that decides about the exit status.

failed_at_most = 3            # cases that may fail
worse_at_most = 0             # judgements that may become worse, with --compare
ignore = ["c-bloat", "l-"]    # cases that do not count, by how they begin

[case.b-1.util]               # instead of the gauntlet's limit, of this measure of this case
at_least = 0.4
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import TypeAdapter, ValidationError

from hetlab.errors import LabError, meant
from hetlab.judge.case import Case, Judgement
from hetlab.judge.compare import Difference, count
from hetlab.judge.verdict import Cell, passed
from hetlab.model.keys import Checked, Key


@dataclass(frozen=True)
class Limit(Checked):
    """Instead of the gauntlet's own."""

    at_most: Annotated[float | None, Key("largest value that passes")] = None
    at_least: Annotated[float | None, Key("smallest value that passes")] = None


@dataclass(frozen=True)
class Limits(Checked):
    """When a command ends with status 1."""

    failed_at_most: Annotated[int, Key("cases that may fail")] = 0
    worse_at_most: Annotated[int, Key("judgements that may become worse")] = 0
    ignore: Annotated[tuple[str, ...], Key("cases that do not count, by how they begin")] = ()
    case: Annotated[dict[str, dict[str, Limit]], Key("limits by case and measure")] = field(default_factory=dict)

    def counts(self, case: Case) -> bool:
        """Whether a case is not ignored."""
        return not any(case.id.startswith(begin) for begin in self.ignore)

    def held(self, cells: Sequence[Cell], changes: Sequence[Difference] = ()) -> bool:
        """Whether what was found is within."""
        failed = {
            (cell.cc, cell.case.id)
            for cell in cells
            if self.counts(cell.case) and passed([c for c in cells if (c.cc, c.case) == (cell.cc, cell.case)]) == "fail"
        }
        by_cc = [sum(cc == name for cc, _case in failed) for name in {cell.cc for cell in cells}]
        worse = count([d for d in changes if self.counts(d.case)], "worse")
        return max(by_cc, default=0) <= self.failed_at_most and worse <= self.worse_at_most


ADAPTER = TypeAdapter(Limits)


def read(path: Path) -> Limits:
    """LabError naming file and key."""
    try:
        return ADAPTER.validate_python(tomllib.loads(path.read_text()))
    except OSError as err:
        raise LabError(f"--limits {path}: {err.strerror or err}") from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise LabError(f"{path}: not valid TOML: {err}") from err
    except ValidationError as err:
        raise LabError("\n".join(f"{path}: {'.'.join(map(str, f['loc']))}: {f['msg']}" for f in err.errors())) from err


def changed(limits: Limits, path: Path, cases: Sequence[Case], every: Sequence[str]) -> list[Case]:
    """The cases with a project's limits in the place of theirs; LabError for a case or measure that is not there."""
    for name in limits.case:
        if name not in every:
            raise LabError(f"{path}: case.{name}: no such case{meant(name, every)}")
    return [_changed(case, limits.case.get(case.id, {}), path) for case in cases]


def _changed(case: Case, own: dict[str, Limit], path: Path) -> Case:
    for measure in own:
        if measure not in {j.measure for j in case.judge}:
            asked = ", ".join(dict.fromkeys(j.measure for j in case.judge))
            raise LabError(f"{path}: case.{case.id}.{measure}: this case asks {asked}")
    return replace(case, judge=tuple(_judgement(j, own.get(j.measure), path) for j in case.judge))


def _judgement(j: Judgement, own: Limit | None, path: Path) -> Judgement:
    """A limit takes the place of one of its kind; a measure without any gets it."""
    if own is not None and own.at_most is not None and j.wants != "high":
        return replace(j, at_most=own.at_most, of=None, plus=0, source=path.name)
    if own is not None and own.at_least is not None and j.wants != "low":
        return replace(j, at_least=own.at_least, of=None, plus=0, source=path.name)
    return j
