# SPDX-License-Identifier: GPL-2.0
"""The documents: numbers are those of docs/data, links and paths lead somewhere, tables have all their cells."""

import itertools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import verdicts
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hetlab.model import files, jobs

pytestmark = pytest.mark.fast

TOP = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([TOP / "README", *TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), *TOP.glob("tools/lab/**/README.md")])
README_LINES = 80
# A path of this tree in the text; what has a placeholder (NAME, *, {}) is none
PATH = re.compile(r"(?<![\w./-])((?:docs|include|tests|tools)/[\w./+-]*[\w/])(?![\w*{.-]*[*{])")
PLACEHOLDER = re.compile(r"[A-Z]{3,}(?!\w*\.md)")
CELL_END = re.compile(r"(?<!\\)\|")

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(TOP)))


def tokens(path: Path) -> list[Token]:
    """A document as a Markdown parser sees it."""
    return MarkdownIt("commonmark").enable("table").parse(path.read_text())


def flat(found: list[Token]) -> Iterator[Token]:
    """All tokens, those within a line, too."""
    for token in found:
        yield token
        yield from flat(token.children or [])


def anchors(path: Path) -> set[str]:
    """Fragments that headings of a document make."""
    found = tokens(path)
    heads = [after.content for token, after in itertools.pairwise(found) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_numbers_are_those_of_the_data_files() -> None:
    done = subprocess.run(
        [sys.executable, TOP / "tools" / "docs" / "make_docs.py", "check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_verdicts_of_some_replace_theirs_alone() -> None:
    """make gauntlet CCS=reno: its lines, whatever is asked by now; a new one comes last, and nobody has a rank."""

    def row(case: str, cc: str, asked: str, median: float) -> verdicts.Row:
        return {"case": case, "asked": asked, "cc": cc, "median": median, "rank": "1 of 2"}

    old = [row(case, cc, "time", 1) for case in ("a", "b") for cc in ("reno", "mine")]
    new = [row("a", cc, asked, 2) for cc in ("next", "reno") for asked in ("time", "drops")]
    found = [tuple(r.values()) for r in verdicts.kept(old, new)]
    assert found[:3] == [("a", "time", "reno", 2), ("a", "time", "mine", 1), ("a", "time", "next", 2)]
    assert found[3:5] == [("a", "drops", "reno", 2), ("a", "drops", "next", 2)]
    assert found[5:] == [("b", "time", "reno", 1), ("b", "time", "mine", 1)]


def test_what_the_readme_calls_default_is() -> None:
    """No parameter of README's table comes from a scenario: once santacruz stood there with its n_op = 4."""
    runs = tomllib.loads((TOP / "tools" / "docs" / "tables.toml").read_text())["gain"]["run"]
    for run in runs:
        points = files.load(run["scenario"], run.get("set", []))
        planned = jobs.make(points, [jobs.parse_cc(cc) for cc in run["cc"]], [1])
        assert [job.cc for job in planned] == run["cc"]
        assert [job.cc_params for job in planned] == [{}] * len(planned), run["scenario"]


def test_readme_is_short() -> None:
    assert len((TOP / "README").read_text().splitlines()) <= README_LINES


@each_document
def test_links_lead_somewhere(path: Path) -> None:
    wrong = []
    for token in flat(tokens(path)):
        target = token.attrs.get("href") or token.attrs.get("src")
        if not target or "://" in str(target):
            continue
        name, _, fragment = str(target).partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (fragment and fragment not in anchors(file)):
            wrong.append(target)
    assert not wrong


@each_document
def test_paths_in_the_text_exist(path: Path) -> None:
    named = {match[1] for match in PATH.finditer(path.read_text())}
    missing = [name for name in sorted(named) if not PLACEHOLDER.search(name) and not (TOP / name).exists()]
    assert not missing


@each_document
def test_modules_in_the_text_exist(path: Path) -> None:
    named = {match[1] for match in re.finditer(r"`(hetlab(?:\.[a-z_]+)+)`", path.read_text())}
    assert not [name for name in sorted(named) if not (module(name) or defined(name))]


def module(name: str) -> Path | None:
    """File or directory of a module of the lab."""
    path = TOP / "tools" / "lab" / name.replace(".", "/")
    return next((p for p in (path, path.with_suffix(".py")) if p.exists()), None)


def defined(name: str) -> bool:
    """Whether a name is a function or class of its module."""
    where, _, what = name.rpartition(".")
    file = module(where)
    return bool(file and file.is_file() and re.search(rf"^(def|class) {what}\b", file.read_text(), re.M))


@each_document
def test_tables_are_whole(path: Path) -> None:
    lines = path.read_text().splitlines()
    for table in (token for token in tokens(path) if token.type == "table_open"):
        first, end = table.map or (0, 0)
        cells = {len(CELL_END.findall(line)) for line in lines[first:end]}
        assert len(cells) == 1, f"line {first + 1}: rows have different numbers of cells"
    inside = {
        i for t in tokens(path) if t.type in ("table_open", "fence", "code_block") for i in range(*(t.map or (0, 0)))
    }
    loose = [i + 1 for i, line in enumerate(lines) if line.startswith("|") and i not in inside]
    assert not loose, f"lines {loose} look like a table and are none"
