#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Length gate for the C and Python code of this project.

Universal Ctags tells where every function starts and ends.  A function that
is longer than the limit fails the gate; the median, the 90th percentile and
the maximum of each language are printed.  So does a Python file of tools/
that is longer than FILE_LIMIT lines: it is two things, split it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LIMIT = 60
FILE_LIMIT = 400
C_MEDIAN_GOAL = 12
SUFFIXES = {".c": "C", ".h": "C", ".py": "Python"}
KINDS = {"C": {"function"}, "Python": {"function", "member"}}


class GateError(Exception):
    """The gate cannot do its work; the message says why."""


@dataclass(frozen=True)
class Function:
    """One function definition and its extent in lines."""

    language: str
    path: str
    name: str
    line: int
    length: int


def run(command: Sequence[str], stdin: str = "") -> str:
    """Run a command and return its output, or say which one failed."""
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        hint = "; the Debian package is universal-ctags" * (command[0] == "ctags")
        raise GateError(f"{command[0]} is not installed{hint}") from error
    except subprocess.CalledProcessError as error:
        detail = str(error.stderr).strip()
        raise GateError(f"{command[0]} failed: {detail}") from error
    return done.stdout


def project_files() -> list[str]:
    """Go to the top and list the files that git tracks or would not ignore."""
    os.chdir(Path(__file__).resolve().parents[2])
    listing = run(["git", "ls-files", "-z", "-co", "--exclude-standard"])
    return sorted({name for name in listing.split("\0") if name})


def is_python_script(path: Path) -> bool:
    """Tell whether a file without a suffix starts as a Python script does."""
    with path.open("rb") as stream:
        first = stream.readline(80)
    return first.startswith(b"#!") and b"python" in first


def language_of(name: str) -> str | None:
    """Name the language of a file, or nothing when it is not checked."""
    path = Path(name)
    if not path.is_file():
        return None
    if path.suffix in SUFFIXES:
        return SUFFIXES[path.suffix]
    if not path.suffix and is_python_script(path):
        return "Python"
    return None


def group_by_language(names: Iterable[str]) -> dict[str, list[str]]:
    """Sort the files that are checked by their language."""
    groups: dict[str, list[str]] = {}
    for name in names:
        language = language_of(name)
        if language is not None:
            groups.setdefault(language, []).append(name)
    return groups


def check_ctags() -> None:
    """Refuse a ctags that has no JSON output, such as Exuberant Ctags."""
    if "\njson " not in run(["ctags", "--list-features"]):
        raise GateError("ctags has no JSON output; the Debian package is universal-ctags")


def tags_of(language: str, names: Sequence[str]) -> Iterator[dict[str, object]]:
    """Let ctags describe the definitions in files of one language."""
    output = run(
        [
            "ctags",
            "--options=NONE",
            "--fields=+ne",
            "--output-format=json",
            f"--language-force={language}",
            "-L",
            "-",
            "-f",
            "-",
        ],
        "".join(f"{name}\n" for name in names),
    )
    for line in output.splitlines():
        tag: object = json.loads(line)
        if isinstance(tag, dict):
            yield tag


def functions_of(language: str, names: Sequence[str]) -> Iterator[Function]:
    """Measure the functions that files of one language define."""
    for tag in tags_of(language, names):
        first, end = tag["line"], tag.get("end")
        if tag.get("kind") not in KINDS[language]:
            continue
        if isinstance(first, int) and isinstance(end, int):
            path, name = str(tag["path"]), str(tag["name"])
            yield Function(language, path, name, first, end - first + 1)


def percentile90(lengths: Sequence[int]) -> int:
    """Return the smallest length that 90 % of the functions do not exceed."""
    ordered = sorted(lengths)
    return ordered[-(-len(ordered) * 9 // 10) - 1]


def summary(language: str, functions: Sequence[Function]) -> str:
    """Describe the function lengths of one language in a line."""
    lengths = [function.length for function in functions]
    if not lengths:
        return f"{language}: no functions"
    return (
        f"{language}: {len(lengths)} functions, "
        f"median {statistics.median(lengths):g}, "
        f"p90 {percentile90(lengths)}, max {max(lengths)} lines"
    )


def report(language: str, functions: Sequence[Function], limit: int) -> bool:
    """Print what was measured and tell whether it is within the limit."""
    print(summary(language, functions))
    if language == "C" and functions:
        median = statistics.median(function.length for function in functions)
        if median > C_MEDIAN_GOAL:
            print(f"C: warning: the median is above {C_MEDIAN_GOAL} lines")
    too_long = [function for function in functions if function.length > limit]
    for function in sorted(too_long, key=lambda item: -item.length):
        print(
            f"{function.path}:{function.line}: error: {function.name} has {function.length} lines, the limit is {limit}"
        )
    return not too_long


def files_are_short(names: Iterable[str]) -> bool:
    """Print the Python files of tools/ that are too long and tell whether there is none."""
    mine = [name for name in names if name.startswith("tools/") and name.endswith(".py")]
    lines = {name: len(Path(name).read_text(encoding="utf-8").splitlines()) for name in mine}
    long = {name: count for name, count in lines.items() if count > FILE_LIMIT}
    for name, count in long.items():
        print(f"{name}: error: {count} lines, the limit is {FILE_LIMIT}")
    return not long


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Fail when a C or Python function is too long.",
        epilog="Without FILE, all files that git tracks or would not ignore.",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=LIMIT,
        metavar="LINES",
        help="longest function allowed (default: %(default)s)",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="check only these")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Run the gate; 0 means that no function is too long."""
    options = parse_arguments(arguments)
    try:
        check_ctags()
        names = options.files or project_files()
        groups = group_by_language(names)
        if not groups:
            raise GateError("found no C or Python file to check")
        results = [
            report(language, list(functions_of(language, mine)), options.limit)
            for language, mine in sorted(groups.items())
        ] + [files_are_short(names)]
    except GateError as error:
        print(f"fnlen.py: error: {error}", file=sys.stderr)
        return 1
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
