# SPDX-License-Identifier: GPL-2.0
"""The import rules of [tool.importlinter], and what its contracts cannot say."""

import json
import sys
import tomllib

import grimp
import pytest

from commands import TOP, call
from hetlab.build.identity import RUN_CODE

pytestmark = pytest.mark.fast
MAX_LAYERS = 10
BELOW = ("hetlab.emulation", "hetlab.model", "hetlab.errors", "hetlab.paths")
LOADED = """
import importlib, json, pkgutil, sys
import mininet.link, mininet.net, mininet.node, mininet.topo, mininet.util
before = set(sys.modules)
import hetlab.emulation
for module in pkgutil.iter_modules(hetlab.emulation.__path__, "hetlab.emulation."):
    importlib.import_module(module.name)
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_at_most_ten_layers() -> None:
    contracts = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (c["layers"] for c in contracts if c["type"] == "layers")
    assert len(layers) <= MAX_LAYERS


def test_a_run_depends_on_the_code_in_its_key_alone() -> None:
    """Else a change elsewhere would leave results of before in the store, as if nothing had happened."""
    graph = grimp.build_graph("hetlab", include_external_packages=False)
    inside = {"hetlab", *(f"hetlab.{name.removesuffix('.py')}" for name in RUN_CODE)}
    for name in sorted(inside - {"hetlab"}):
        for module in {name, *graph.find_descendants(name)}:
            for other in graph.find_modules_directly_imported_by(module):
                assert ".".join(other.split(".")[:2]) in inside, f"{module} imports {other}"


def test_what_a_guest_loads() -> None:
    """The emulation, directly or not: beside Mininet, the standard library and what is below it."""
    done = call(sys.executable, "-c", LOADED)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    ours = [name for name in loaded if name.startswith("hetlab.")]
    assert [name for name in ours if not name.startswith(BELOW)] == []
    roots = {name.partition(".")[0] for name in loaded}
    assert roots - sys.stdlib_module_names == {"hetlab"}
