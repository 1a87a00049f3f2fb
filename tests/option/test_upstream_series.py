# SPDX-License-Identifier: GPL-2.0
"""The kernel's own packetdrill scripts on Linux 6.1 and 7.2: the patch changes no packet and no verdict."""

import pytest

from hetlab.packet import host
from option import upstream

pytestmark = pytest.mark.series
# Scripts that are played at least
KNOWN = {"6.1": 22, "7.2": 152}
# Share of points that hold at least; 6.1 is given scripts of 6.12
SHARE = {"6.1": 0.25, "7.2": 1.0}


@pytest.fixture(scope="module", params=KNOWN)
def played(request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """A series, and its TAP with all packets, by mode."""
    return request.param, upstream.outcome(request.param)


@pytest.mark.parametrize("series", KNOWN)
def test_what_is_not_read_is_named(series: str) -> None:
    unread = {path.name for path in upstream.scripts(series) if not upstream.readable(path)}
    assert unread == (upstream.UNREAD if series == "7.2" else set())
    assert len(upstream.played(series)) >= KNOWN[series]


def test_many_hold(played: tuple[str, dict[str, str]]) -> None:
    """Where nothing held, nothing would be compared; all that a kernel's own source has do."""
    series, outcome = played
    points = host.points(outcome["unpatched"])
    wrong = [f"{name} ipv{version}: {said}" for (name, version), (held, said) in points.items() if not held]
    assert len(wrong) <= len(points) * (1 - SHARE[series]), "\n".join(wrong)


@pytest.mark.parametrize("mode", upstream.MODES[1:])
def test_the_patch_changes_nothing(played: tuple[str, dict[str, str]], mode: str) -> None:
    """Nor what a script is faulted for."""
    _series, outcome = played
    before, now = (host.points(outcome[name]) for name in ("unpatched", mode))
    assert {key: held for key, (held, _said) in now.items()} == {key: held for key, (held, _said) in before.items()}
    assert host.traces(outcome[mode]) == host.traces(outcome["unpatched"])
