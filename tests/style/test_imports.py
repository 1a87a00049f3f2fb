# SPDX-License-Identifier: GPL-2.0
"""The import rules of [tool.importlinter], and what its contracts cannot say."""

import sys
import tomllib

import grimp
import pytest

from commands import TOP

pytestmark = pytest.mark.fast
MAX_LAYERS = 10
GUEST = "hetlab.emulation"
BESIDE = {"mininet"}  # what a guest has beside the standard library
BELOW = ("hetlab.model", "hetlab.errors", "hetlab.paths", GUEST)


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("hetlab", include_external_packages=True, cache_dir=None)


def test_at_most_ten_layers() -> None:
    contracts = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (c["layers"] for c in contracts if c["type"] == "layers")
    assert len(layers) <= MAX_LAYERS


def test_what_runs_in_a_guest_finds_all_that_it_imports(graph: grimp.ImportGraph) -> None:
    """Directly or not: nothing but the standard library, Mininet and what is below it."""
    inside = graph.find_descendants(GUEST) | {GUEST}
    needed = set.union(*(graph.find_upstream_modules(module) for module in inside))
    ours = {module for module in needed if module.startswith("hetlab")}
    assert [m for m in sorted(ours) if not m.startswith(BELOW)] == []
    assert sorted(needed - ours - BESIDE - sys.stdlib_module_names) == []
    assert "mininet" in needed, "the graph has no external modules"
