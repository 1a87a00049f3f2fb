# SPDX-License-Identifier: GPL-2.0
"""Run the tests that a change can touch, and say why each is run: make check-changed.

A change is all that differs from where this branch left BASE (main), committed or
not. Paths go to tests by RULES; a module of hetlab goes to the tests that import
it, directly or not, and by RUNS to those that run it in a machine. What no rule
knows goes to all of make check. Needs build/venv.
"""

import argparse
import ast
import functools
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp

TOP = Path(__file__).resolve().parents[2]
LAB = "tools/lab/"
EVERYTHING = "tests"
# With any change at all
ALWAYS = ("tests/style/test_lint.py", "tests/style/test_imports.py", "tests/style/test_markers.py")

# From the beginning of a path to the tests that see it; the longest that fits counts.
RULES: dict[str, tuple[str, ...]] = {
    "README": ("tests/style",),
    "CONTRIBUTING.md": ("tests/style",),
    "CHANGELOG.md": ("tests/style",),
    ".pre-commit-config.yaml": (),
    "tools/docs/": ("tests/style",),
    "docs/": ("tests/style", "tests/packaging"),
    "COPYING": ("tests/packaging",),
    "dkms.conf": ("tests/packaging",),
    "tests/README": ("tests/style",),
    "tests/candidates/": ("tests/candidates", "tests/judge"),
    "tests/cluster/": (),  # make check-cluster
    "tests/estimators/": ("tests/estimators",),
    "tests/judge/": ("tests/judge",),
    "tests/lab/": ("tests/lab",),
    "tests/modules/": ("tests/modules",),
    "tests/modules/packet/": ("tests/packet",),
    "tests/option/": ("tests/option",),
    "tests/option/packet/": ("tests/packet", "tests/papers"),
    "tests/packaging/": ("tests/packaging",),
    "tests/packet/": ("tests/packet", "tests/papers"),
    "tests/papers/": ("tests/papers",),
    "tests/proofs/": ("tests/proofs", "tests/style"),
    "tests/style/": ("tests/style",),
    "tools/bench/": ("tests/lab/test_speed.py",),  # and make check-vm
    "tools/ci/": ("tests/style", "tests/option/test_patch_build.py", "tests/packaging"),
    "tools/ci/prove": ("tests/proofs", "tests/style"),
    "tools/hetcc": ("tests/packaging",),
    "tools/kernel/rebase": ("tests/option/test_patch_build.py",),
    "tools/lab/gauntlet/": ("tests/judge",),
    "tools/lab/papers/": ("tests/lab", "tests/option", "tests/papers"),
    "tools/mininet/": ("tests/lab/test_exec.py",),
    "tools/packaging/": ("tests/packaging",),
    "tools/requirements-s3.txt": (),  # make check-cluster
    "tools/scenarios/": ("tests/lab", "tests/modules", "tests/option", "tests/papers"),
    "tools/wireshark/": ("tests/option",),
}

# From a package of hetlab to the tests that run it by the hetlab command; every run needs the others.
RUNS: dict[str, tuple[str, ...]] = {
    "candidates": ("tests/candidates", "tests/judge"),
    "claims": ("tests/papers",),
    "figures": ("tests/papers",),
    "hosts": ("tests/lab",),
    "judge": ("tests/judge", "tests/lab/test_report.py"),
    "packet": ("tests/packet", "tests/papers"),
    "plots": ("tests/lab", "tests/papers"),
    "report": ("tests/lab",),
    "script": ("tests/lab/test_exec.py",),
}
ENTRANCES = ("__main__", "cli", "launch")  # they import everything

Reasons = dict[str, list[str]]


def package_of(module: str) -> str:
    """The part of hetlab that a module is in: hetlab.plots.bars is in plots."""
    return module.split(".")[1] if "." in module else ""


def imported_by(test: Path, known: frozenset[str]) -> set[str]:
    """Modules of hetlab that a test file names in its imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(test.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found & known


@functools.cache
def graph() -> grimp.ImportGraph:
    """Imports of hetlab, those inside functions as well."""
    return grimp.build_graph("hetlab", cache_dir=None)


@functools.cache
def imports_of_tests(top: Path = TOP) -> Mapping[str, set[str]]:
    """What each test file imports of hetlab, by its path."""
    known = frozenset(graph().modules)
    tests = sorted((top / "tests").rglob("test_*.py"))
    return {str(path.relative_to(top)): imported_by(path, known) for path in tests}


def tests_of_module(path: str) -> Reasons:
    """Tests of a module of hetlab, by its path."""
    module = path.removeprefix(LAB).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if module not in graph().modules:
        return {EVERYTHING: [f"{path} is no module that hetlab has now"]}
    users = {module, *graph().find_downstream_modules(module)}
    packages = {package_of(user) for user in users} - set(ENTRANCES)
    reasons: Reasons = {}
    if package_of(module) in ENTRANCES or not packages <= RUNS.keys():
        return {EVERYTHING: [f"{path}: every run needs it"]}
    for package in sorted(packages):
        for test in RUNS[package]:
            reasons.setdefault(test, []).append(f"{path}: runs hetlab.{package}")
    for test, imported in imports_of_tests().items():
        if used := sorted(imported & users):
            reasons.setdefault(test, []).append(f"{path}: imports {used[0]}")
    return reasons


def tests_of_path(path: str) -> Reasons:
    """Tests that a changed path can touch, each with the reason."""
    name = Path(path).name
    if path.startswith("tests/") and name.startswith("test_") and name.endswith(".py"):
        return {path: ["changed"]} if (TOP / path).exists() else {}
    if path.startswith(f"{LAB}hetlab/") and name.endswith(".py"):
        return tests_of_module(path)
    fitting = [begin for begin in RULES if path.startswith(begin)]
    if not fitting:
        return {EVERYTHING: [f"{path}: no rule knows what it touches"]}
    return {test: [path] for test in RULES[max(fitting, key=len)]}


def selection(paths: Iterable[str]) -> Reasons:
    """Tests for all changed paths; one that is inside another is left out."""
    reasons: Reasons = {}
    for path in paths:
        for test in ALWAYS:
            reasons.setdefault(test, ["any change"])
        for test, why in tests_of_path(path).items():
            reasons.setdefault(test, []).extend(why)
    return {test: why for test, why in sorted(reasons.items()) if not any(inside(test, other) for other in reasons)}


def inside(test: str, other: str) -> bool:
    """Is it in that folder?"""
    return test.startswith(f"{other}/")


def git(*args: str) -> str:
    """What git prints."""
    return subprocess.run(["git", "-C", str(TOP), *args], capture_output=True, text=True, check=True).stdout


def known(revision: str) -> bool:
    """Has git such a revision?"""
    words = ["git", "-C", str(TOP), "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def changed_paths(base: str) -> list[str]:
    """Paths that differ from the common ancestor with a revision, committed or not, old names of moved ones too."""
    ancestor = git("merge-base", "HEAD", base).strip()
    differing = git("diff", "--name-only", "--no-renames", "-z", ancestor)
    untracked = git("ls-files", "--others", "--exclude-standard", "-z")
    return sorted({path for path in f"{differing}{untracked}".split("\0") if path})


def show(reasons: Reasons) -> None:
    """A line for each: tests, and the first reasons."""
    for test, why in reasons.items():
        more = f" and {len(why) - 2} more" if len(why) > 2 else ""
        print(f"{test}\n    {'; '.join(why[:2])}{more}")


def need_machine(tests: Iterable[str]) -> bool:
    """Does one of them boot the lab's kernel?"""
    paths = [TOP / test for test in tests]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("test_*.py"))]
    return any("mark.virtual" in file.read_text() for file in files)


def main() -> int:
    """Print what is run and why, build the kernels if it needs them, and become pytest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="main", help="revision to compare with (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print only")
    args = parser.parse_args()
    try:
        reasons = selection(changed_paths(args.base))
    except subprocess.CalledProcessError as error:
        hint = "" if known(args.base) else f"\nno revision {args.base!r} here: BASE=REVISION, for example origin/main"
        print(f"changed.py: git: {error.stderr.strip()}{hint}", file=sys.stderr)
        return 2
    if not reasons:
        print(f"nothing differs from {args.base}")
        return 0
    show(reasons)
    if args.list:
        return 0
    os.chdir(TOP)
    if need_machine(reasons):
        subprocess.run(["make", "--no-print-directory", "kernels"], check=True)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "loadfile", *reasons])


if __name__ == "__main__":
    sys.exit(main())
