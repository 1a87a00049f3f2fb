# SPDX-License-Identifier: GPL-2.0
"""Cases of the gauntlet: scenario files with a table [case] and tables [[judge]].

``[case]`` says what it is (group, covers, quick); each ``[[judge]]`` a measure, its keywords, and a limit:
``at_most`` or ``at_least`` a number, or that number times (``of``) and plus (``plus``) what another congestion control
gets in the same place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import TypeAdapter, ValidationError

from hetlab.errors import LabError, meant
from hetlab.judge import states
from hetlab.judge.measures import MEASURES, keywords
from hetlab.model import files
from hetlab.model.keys import Checked, Key, ModelError
from hetlab.paths import LAB

GAUNTLET = LAB / "gauntlet"
Grade = Literal["must", "good"]


@dataclass(frozen=True, kw_only=True)
class Judgement(Checked):
    """What is asked of a case."""

    measure: Annotated[str, Key("name of a measure")]
    with_: Annotated[dict[str, str | float], Key("its keywords")] = field(default_factory=dict)
    at_most: Annotated[float | None, Key("largest value that passes")] = None
    at_least: Annotated[float | None, Key("smallest value that passes")] = None
    of: Annotated[str | None, Key("times what this congestion control gets in the same place")] = None
    plus: Annotated[float, Key("and this added")] = 0
    grade: Annotated[Grade, Key("must: the case fails without; good: a second grade")] = "must"
    source: Annotated[str, Key("where the limit comes from")] = ""

    def check(self) -> None:
        """Refuse what does not fit together: ModelError."""
        if self.measure not in MEASURES:
            hint = f"{meant(self.measure, MEASURES)}; there are: {', '.join(MEASURES)}"
            raise ModelError(f"measure: no {self.measure!r}{hint}")
        known = keywords(self.measure)
        for name in self.with_:
            if name not in known:
                raise ModelError(f"with.{name}: {self.measure} takes {', '.join(known) or 'no keywords'}")
        if (state := self.with_.get("state")) is not None and state not in states.STATES:
            raise ModelError(f"with.state: {state!r} is not one of {', '.join(states.STATES)}")
        if self.at_most is not None and self.at_least is not None:
            raise ModelError("give at_most or at_least, not both")
        if self.of and self.at_most is None and self.at_least is None:
            raise ModelError("of: needs at_most or at_least, which it is multiplied by")

    @property
    def unit(self) -> str:
        """Unit of its measure."""
        return MEASURES[self.measure][1]

    @property
    def text(self) -> str:
        """In words: ``util from 8 s: at least 0.9``."""
        words = " ".join(f"{k.removesuffix('_s').replace('_', ' ')} {_short(v)}" for k, v in self.with_.items())
        limit = self.at_most if self.at_most is not None else self.at_least
        if limit is None:
            return f"{self.measure} {words}".strip()
        bound = "at most" if self.at_most is not None else "at least"
        number = f"{limit:g}" + (f" x {self.of}" if self.of else "") + (f" + {self.plus:g}" if self.plus else "")
        grade = " (good)" if self.grade == "good" else ""
        return f"{self.measure} {words}".strip() + f": {bound} {number}{grade}"

    @property
    def wants(self) -> Literal["low", "high"] | None:
        """Which values are better; None where no limit says so."""
        if self.at_most is None and self.at_least is None:
            return None
        return "low" if self.at_least is None else "high"


def _short(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


@dataclass(frozen=True, kw_only=True)
class Case(Checked):
    """A scenario with what is asked of it."""

    id: Annotated[str, Key("its name, that of its file")]
    group: Annotated[str, Key("group of the scorecard")]
    covers: Annotated[str, Key("cases of the suites that it stands for")] = ""
    quick: Annotated[bool, Key("part of the quick set")] = False
    cost_s: Annotated[float, Key("seconds of a CPU that one run takes, about")] = 3
    series: Annotated[Literal["", "6.1", "6.12", "7.2"], Key("Linux that it needs; empty: any")] = ""
    judge: Annotated[tuple[Judgement, ...], Key("what is asked")]
    path: Annotated[str, Key("its file, with @ and a variant")] = ""

    @property
    def suite(self) -> str:
        """Name of its suite; empty: the gauntlet."""
        return _suite(Path(self.path))


ADAPTER = TypeAdapter(Case)


def load(path: Path) -> list[Case]:
    """Cases of a file: it, or where it has variants each of them; LabError naming file and key."""
    data = files.read(path)
    head = data.get("case")
    if not isinstance(head, dict):
        raise LabError(f"{path}: lacks the table [case]")
    judged = [_spelt(item) for item in data.get("judge", [])]
    try:
        case = ADAPTER.validate_python(head | {"id": _id(path), "judge": judged, "path": str(path)})
    except ValidationError as err:
        places = [f"{path.name}: {'.'.join(map(str, f['loc']))}: {f['msg']}" for f in err.errors()]
        raise LabError("\n".join(places)) from err
    variants = data.get("variant", {})
    return [replace(case, id=f"{case.id}-{v}", path=f"{path}@{v}") for v in variants] or [case]


def _suite(path: Path) -> str:
    """Of a file of the gauntlet empty, of one in a folder below the folder's name; any other file is of no suite."""
    return path.parent.name if path.parent.parent == GAUNTLET else ""


def _id(path: Path) -> str:
    """Of a suite's case its suite and name: ``bbr-b01``."""
    return "-".join(filter(None, (_suite(path), path.stem)))


def _spelt(item: Any) -> Any:
    """A table of the file: ``with`` is a word of Python's."""
    if not isinstance(item, dict):
        return item
    return {("with_" if key == "with" else key): value for key, value in item.items()}


def suites() -> list[str]:
    """Names of the published suites, besides the gauntlet."""
    return sorted(path.name for path in GAUNTLET.iterdir() if path.is_dir())


def every(suite: str = "") -> dict[str, Case]:
    """All cases of the gauntlet or of a suite by their names, in the order of groups; LabError for no such suite."""
    if suite and suite not in suites():
        raise LabError(f"--suite {suite}: no such suite{meant(suite, suites())}; there are: {', '.join(suites())}")
    paths = [path for path in sorted((GAUNTLET / suite).glob("*.toml")) if not path.stem.startswith("_")]
    found = sorted((case for path in paths for case in load(path)), key=lambda case: case.group)
    return {case.id: case for case in found}


def select(names: list[str], groups: list[str], quick: bool, suite: str = "") -> list[Case]:
    """Cases by how their names begin, the quick ones with those, by group (its letter or a word); LabError for none."""
    cases = list(every(suite).values())
    groups = [word for text in groups for word in text.split(",")]
    for name in names:
        if not any(case.id.startswith(name) for case in cases):
            raise LabError(f"--case {name}: no such case{meant(name, [c.id for c in cases])}; see hetlab judge --list")
    for group in groups:
        if not any(in_group(case, group) for case in cases):
            known = dict.fromkeys(case.group for case in cases)
            raise LabError(f"--group {group}: no such group; there are: {', '.join(known)}")
    ids = [case.id for case in cases]
    named = {i for n in names for i in ([n] if n in ids else [c for c in ids if c.startswith(n)])}
    chosen = [c for c in cases if (c.quick if quick else not names) or c.id in named]
    return [c for c in chosen if not groups or any(in_group(c, g) for g in groups)]


def of_series(chosen: Sequence[Case], series: str, names: Sequence[str] = ()) -> list[Case]:
    """Those that a Linux can run; LabError where a name is of one that it cannot."""
    for case in chosen:
        if case.series not in ("", series) and any(case.id == name for name in names):
            raise LabError(f"--case {case.id}: needs --series {case.series}")
    return [case for case in chosen if case.series in ("", series)]


def in_group(case: Case, word: str) -> bool:
    """Whether a group is meant by its letter, or by the begin of one of its words."""
    letter, _, title = case.group.partition(" ")
    return word.lower() == letter.lower() or any(w.startswith(word.lower()) for w in title.lower().split())
