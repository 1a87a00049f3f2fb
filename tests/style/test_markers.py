# SPDX-License-Identifier: GPL-2.0
"""Every test says where it runs: one of the place markers of pyproject.toml, and only one."""

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from commands import TOP, call

pytestmark = pytest.mark.fast
PLUGIN = """
import json
def pytest_collection_finish(session):
    found = {item.nodeid: sorted({m.name for m in item.iter_markers()}) for item in session.items}
    open("%s", "w").write(json.dumps(found))
"""


def marked(tmp_path: Path, *args: str | Path) -> dict[str, list[str]]:
    """Markers of all tests that pytest collects, by test."""
    out = tmp_path / "markers.json"
    (tmp_path / "marker_plugin.py").write_text(PLUGIN % out)
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-p", "marker_plugin", "-p", "no:xdist", *args]
    done = call(*collect, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    found: dict[str, list[str]] = json.loads(out.read_text())
    return found


def places() -> set[str]:
    options = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    return {line.partition(":")[0] for line in options["markers"]}


@pytest.mark.build
def test_every_test_has_one_place(tmp_path: Path) -> None:
    found = marked(tmp_path, "-m", "")
    assert len(found) > 1000
    assert {test: names for test, names in found.items() if len(places() & set(names)) != 1} == {}
    assert set(Counter(name for names in found.values() for name in names)) >= places()


def test_what_has_a_place_of_its_own_is_not_at_its_modules(tmp_path: Path) -> None:
    path = tmp_path / "test_places.py"
    path.write_text(
        "import pytest\npytestmark = [pytest.mark.fast, pytest.mark.usefixtures('tmp_path')]\n"
        "def test_one(): pass\n@pytest.mark.build\ndef test_other(): pass\n"
    )
    found = marked(tmp_path, "-m", "", "-p", "tests.conftest", "-c", TOP / "pyproject.toml", path)
    assert sorted(found.values()) == [["build", "usefixtures"], ["fast", "usefixtures"]]
