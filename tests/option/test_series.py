# SPDX-License-Identifier: GPL-2.0
"""Each patch of santacruz_opt.patch by itself: it compiles without messages, boots, and its packet scripts hold.

A script names the patch from which on it holds (``// patch: N``). With the patch before, one of each patch's must fail:
what nothing needs does not belong into the series. No packet shows what the third does,
which gives congestion control its samples.
"""

import functools

import pytest
from rich.console import Console

from commands import call
from hetlab.build import kernel, programs
from hetlab.packet import host
from hetlab.packet.model import Env
from hetlab.packet.parser import parse
from hetlab.paths import TOP
from option import series

pytestmark = pytest.mark.series
PATCHES = range(1, len(series.patches()) + 1)
SCRIPTS = sorted((TOP / "tests" / "option" / "packet").glob("*.pkt"))
SINCE = {path.name: int(parse(str(path), path.read_text(), Env(4, True)).directives["patch"]) for path in SCRIPTS}


@functools.cache
def played(first: int) -> host.Points:
    """Every script against the kernel with the first patches."""
    k = series.build(first)
    programs.tools(Console(stderr=True))
    words = host.command(host.our_scripts())
    return host.points(host.play(k.executable, kernel.modules(Console(stderr=True), k), words))


@pytest.mark.parametrize("first", PATCHES)
def test_compiles_without_messages(first: int) -> None:
    """In and out, gcc and clang, 32 and 64 bit, W=1 and sparse."""
    done = call("tools/ci/option_patch.sh", "--first", str(first))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert done.stderr.count("no messages") == 4


@pytest.mark.parametrize("first", PATCHES)
def test_boots_and_its_scripts_hold(first: int) -> None:
    """Its own, those of the patches before, and those of plain TCP."""
    wrong = {key: said for key, (held, said) in played(first).items() if not held and SINCE.get(key[0], 0) <= first}
    assert not wrong, "\n".join(f"{name} ipv{version}: {said}" for (name, version), said in wrong.items())


@pytest.mark.parametrize("first", sorted(set(SINCE.values()) - {1}))
def test_is_needed(first: int) -> None:
    """Each patch has a script that fails without it."""
    results = played(first - 1)
    assert any(not held and SINCE.get(name) == first for (name, _version), (held, _said) in results.items())
