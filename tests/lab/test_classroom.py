# SPDX-License-Identifier: GPL-2.0
"""docs/classroom.md: every command works, on short runs, and writes the pictures that the text names."""

import re
import shlex
from pathlib import Path

import pytest

from commands import TOP, Hetlab

pytestmark = pytest.mark.virtual

TEXT = (TOP / "docs" / "classroom.md").read_text(encoding="utf-8")
EXERCISES = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:4]
# Seconds of virtual time instead of the 20 to 60 of the text
SHORT = ("--set", "duration_s=4", "--set", "measure.steady_from_s=1")


@pytest.mark.parametrize("text", EXERCISES, ids=[text.split(".")[0] for text in EXERCISES])
def test_exercise(text: str, hetlab: Hetlab, tmp_path: Path) -> None:
    commands = [shlex.split(line)[1:] for line in re.findall(r"^    (tools/hetlab .*)$", text, re.MULTILINE)]
    assert [words[0] for words in commands] == ["run", "report"]
    run, report = ([str(tmp_path) if word.startswith("build/class/") else word for word in words] for words in commands)
    done = hetlab(*run, *SHORT)
    assert done.returncode == 0, done.stderr
    done = hetlab(*report)
    assert done.returncode == 0, done.stderr
    pictures = re.findall(r"`(plots/[^`]+\.png)`", text)
    assert pictures
    for name in pictures:
        assert (tmp_path / name).is_file(), name
    ccs = {run[i + 1] for i, word in enumerate(run) if word == "--cc"}
    rows = re.findall(r"^\| .*\b(reno|cubic|vegas|bbr)\b.*\|$", text, re.MULTILINE)
    assert set(rows) == ccs, "the table has a row for each congestion control"
    assert '<p class="finding">' in (tmp_path / "report.html").read_text(encoding="utf-8")
