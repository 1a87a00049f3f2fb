# SPDX-License-Identifier: GPL-2.0
"""make check leaves out what passed with the same inputs, and nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import changed
import not_again
from commands import TOP

pytestmark = pytest.mark.fast
CONFTEST = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {ci!r}]
import pytest
import changed
import not_again

not_again.inputs = lambda name: Path("input").read_text() or None
changed.imports_of_tests = lambda: {{"test_it.py": set()}}

def pytest_configure(config):
    config.addinivalue_line("markers", "fast: always run")
    given = getattr(config, "workerinput", {{}}).get("left_out")
    config.pluginmanager.register(not_again.Plugin(Path("passed.json"), given))
"""
TESTS = """
from pathlib import Path
import pytest

def test_good():
    pass

def test_bad():
    assert not Path("broken").exists()

def test_skipped():
    pytest.skip("here it cannot run")

@pytest.mark.fast
def test_quick():
    pass
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Tests of each kind, whose inputs are one file; one of them fails where there is a file broken."""
    ci = str(TOP / "tools" / "ci")
    (tmp_path / "conftest.py").write_text(CONFTEST.format(tests=str(TOP / "tests"), ci=ci))
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "input").write_text("first")
    (tmp_path / "broken").touch()
    return tmp_path


def run(tree: Path, *more: str) -> str:
    """Outcomes, F . s, in their order, and what is left out."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *more, "test_it.py"]
    said = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=False).stdout
    assert "error" not in said, said
    letters = next(line.split()[0] for line in said.splitlines() if line.endswith("%]"))
    left = next((line.split()[2] for line in said.splitlines() if line.startswith("left out:")), "0")
    return f"{''.join(sorted(letters))} {left}"


@pytest.mark.build
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["here", "by workers"])
def test_what_passed_is_left_out(tree: Path, workers: tuple[str, ...]) -> None:
    """What failed, was skipped or is fast is run again; with other inputs everything."""
    assert run(tree, *workers) == "..Fs 0"
    assert run(tree, *workers) == ".Fs 1"
    (tree / "broken").unlink()
    assert run(tree, *workers) == "..s 1"
    assert run(tree, *workers) == ".s 2"
    (tree / "input").write_text("second")
    assert run(tree, *workers) == "...s 0"
    (tree / "input").write_text("first")
    assert run(tree, *workers) == "...s 0", "of the last inputs alone"


@pytest.mark.build
def test_without_known_inputs_nothing_is_left_out(tree: Path) -> None:
    (tree / "input").write_text("")
    assert [run(tree), run(tree)] == ["..Fs 0"] * 2


@pytest.mark.build
def test_a_part_of_the_tests_keeps_the_others(tree: Path) -> None:
    run(tree)
    run(tree, "-k", "bad")
    assert json.loads((tree / "passed.json").read_text())["test_it.py"]["tests"] == ["test_it.py::test_good"]


@pytest.mark.build
def test_a_damaged_record_is_no_record(tree: Path) -> None:
    run(tree)
    (tree / "passed.json").write_text('{"test_it.py": {')
    assert run(tree) == "..Fs 0"


def repository(monkeypatch: pytest.MonkeyPatch, top: Path) -> None:
    """A checkout with three paths of this one's names."""
    for path in ("docs/lab.md", "tools/bench/speed.py", "tests/lab/test_speed.py"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(path)
    subprocess.run(["git", "init", "-q", top], check=True)
    for module in (changed, not_again):
        monkeypatch.setattr(module, "TOP", top)
    monkeypatch.setattr(not_again, "_environment", lambda: b"")
    forget()


def forget() -> None:
    not_again.touched.cache_clear()
    not_again._content.cache_clear()


@pytest.mark.parametrize(
    ("path", "same"),
    [("docs/lab.md", True), ("tools/bench/speed.py", False), ("tests/lab/test_speed.py", False), ("Kbuild", False)],
)
def test_inputs_are_what_can_touch_a_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, same: bool
) -> None:
    """By the rules of make check-changed; what none of them knows is an input of all tests."""
    repository(monkeypatch, tmp_path)
    before = not_again.inputs("tests/lab/test_speed.py")
    (tmp_path / path).write_text("another text")
    forget()
    after = not_again.inputs("tests/lab/test_speed.py")
    forget()
    assert before is not None and (after == before) == same


def test_what_is_installed_is_an_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Package: gcc")
    monkeypatch.setattr(not_again, "PACKAGES", status)
    before = not_again.inputs("tests/lab/test_speed.py")
    status.write_text("Package: clang")
    assert not_again.inputs("tests/lab/test_speed.py") != before


def test_without_git_nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repository(monkeypatch, tmp_path)
    (tmp_path / ".git" / "HEAD").unlink()
    assert not_again.inputs("tests/lab/test_speed.py") is None
    forget()
