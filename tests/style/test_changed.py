# SPDX-License-Identifier: GPL-2.0
"""make check-changed: paths to tests, by rules and by imports."""

import subprocess
import sys
from pathlib import Path

import pytest

import changed
from commands import TOP, call

pytestmark = pytest.mark.fast


def selected(*paths: str) -> set[str]:
    """Tests beside those that any change runs."""
    return set(changed.selection(paths)) - set(changed.ALWAYS)


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("tests/estimators/fixed_test.c", {"tests/estimators"}),
        ("tests/lab/test_link.py", {"tests/lab/test_link.py"}),
        ("tests/option/fuzz/wire.c", {"tests/option"}),
        ("tests/modules/packet/westwood-ecn-loss.pkt", {"tests/packet"}),
        ("tests/option/packet/sc-blind.pkt", {"tests/packet", "tests/papers"}),
        ("tools/mininet/lossy.py", {"tests/lab/test_exec.py"}),
        ("tools/bench/cpu_cost.py", {"tests/lab/test_speed.py"}),
        ("tools/wireshark/santacruz.lua", {"tests/option"}),
    ],
)
def test_rules(path: str, tests: set[str]) -> None:
    assert selected(path) == tests


@pytest.mark.parametrize(
    "path",
    [
        "tcp_santacruz.c",
        "include/hetcc/fixed.h",
        "santacruz_opt.patch",
        "tools/flowgen/tcp.c",
        "tools/lab/hetlab/errors.py",
        "tools/lab/hetlab/emulation/topo.py",
        "tools/lab/hetlab/machines/guest/bin/mnexec",
        "tools/lab/hetlab/cli/app.py",
        "tools/lab/hetlab/nosuch.py",
        "tests/conftest.py",
        "tests/commands.py",
        "pyproject.toml",
        "Makefile",
        "a-file-that-nobody-knows",
    ],
)
def test_all_of_it(path: str) -> None:
    """What everything needs, and what is not known; the rest need not be named beside it."""
    assert set(changed.selection([path, "docs/lab.md", "tests/lab/test_link.py"])) == {changed.EVERYTHING}


def test_modules_go_by_imports() -> None:
    """Tests that import a module or what imports it, and those of the packages that use it."""
    tests = selected("tools/lab/hetlab/plots/bars.py")
    assert {"tests/lab", "tests/papers"} <= tests
    assert not [test for test in tests if test.startswith(("tests/option", "tests/packet", "tests/modules"))]
    reasons = changed.tests_of_module("tools/lab/hetlab/hosts/netem.py")
    assert any("imports hetlab.hosts" in why for why in reasons["tests/lab/test_hosts_options.py"])


def test_imports_of_a_test_file(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text("import hetlab.paths\ndef f():\n    from hetlab.model import jobs, limits\nimport os\n")
    known = frozenset({"hetlab.paths", "hetlab.model", "hetlab.model.jobs", "hetlab.plots"})
    assert changed.imported_by(path, known) == {"hetlab.paths", "hetlab.model", "hetlab.model.jobs"}


def test_folders_hide_what_is_in_them() -> None:
    assert selected("tests/lab/test_link.py", "tests/lab/hosts_net.sh") == {"tests/lab"}
    assert selected() == set()


def test_a_test_that_is_gone_is_not_run() -> None:
    assert selected("tests/lab/test_that_is_gone.py") == set()


def test_rules_are_of_what_there_is() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True, check=True).stdout.split()
    assert [begin for begin in changed.RULES if not any(file.startswith(begin) for file in files)] == []
    named = {test for tests in (*changed.RULES.values(), *changed.RUNS.values(), changed.ALWAYS) for test in tests}
    assert [test for test in sorted(named) if not (TOP / test).exists()] == []
    folders = {path.parent for path in (TOP / "tests").rglob("test_*.py")}
    assert {f"{folder.relative_to(TOP)}/" for folder in folders} <= changed.RULES.keys()
    assert set(changed.RUNS) <= {changed.package_of(module) for module in changed.graph().modules}


def test_what_git_knows_as_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Committed since the branch began, not committed, not known to git; both names of what was moved."""

    def git(*args: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", tmp_path, *who, *args], check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("kept", "moved", "edited"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "topic")
    git("mv", "moved", "there")
    git("commit", "-m", "second")
    (tmp_path / "edited").write_text("otherwise")
    (tmp_path / "new").write_text("new")
    monkeypatch.setattr(changed, "TOP", tmp_path)
    assert changed.changed_paths("main") == ["edited", "moved", "new", "there"]


def test_a_base_that_is_not_there() -> None:
    """A clone of another branch has no main of its own."""
    done = call(sys.executable, "tools/ci/changed.py", "--list", "--base", "nowhere")
    assert done.returncode == 2 and "no revision 'nowhere' here: BASE=REVISION" in done.stderr
