# SPDX-License-Identifier: GPL-2.0
"""Papers apart from the engine: found by their folders, one vocabulary, old names as aliases."""

import ast
from pathlib import Path

import pytest

from hetlab.claims import evaluate
from hetlab.claims.evidence import Evidence, plan
from hetlab.errors import LabError
from hetlab.figures import outputs
from hetlab.model import files, names
from hetlab.packet import host
from hetlab.paths import LAB, PAPERS, SCENARIOS

pytestmark = pytest.mark.fast
MOST_LINES = 400


def imported(path: Path) -> set[str]:
    """Top-level packages that a file imports by name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_the_engine_imports_no_paper() -> None:
    paths = sorted((LAB / "hetlab").rglob("*.py"))
    assert len(paths) > 50
    assert [path.name for path in paths if "papers" in imported(path)] == []


def test_the_engine_names_no_paper_but_in_what_it_reads_of_santacruz() -> None:
    """Folders of papers as words of strings and names; santacruz is a congestion control as well."""
    words = set(names.papers()) - {"santacruz", "hybla", "satellite"}
    assert words
    for path in (LAB / "hetlab").rglob("*.py"):
        assert not [word for word in words if word in path.read_text()], path


def test_every_paper_is_found_and_complete() -> None:
    folders = {path.parent.name for path in PAPERS.glob("*/__init__.py")}
    assert set(names.papers()) == folders >= {"santacruz", "faster_recovery", "hybla", "satellite", "real_networks"}
    for folder in folders:
        for part in ("README.md", "claims.py", "scenarios"):
            assert (PAPERS / folder / part).exists(), f"{folder}/{part}"
        assert names.papers()[folder].__doc__
    files_of_papers = [*PAPERS.rglob("*.py"), *PAPERS.rglob("*.toml"), *PAPERS.rglob("*.md")]
    assert [str(p) for p in files_of_papers if len(p.read_text().splitlines()) > MOST_LINES] == []


def test_names_begin_with_their_folder() -> None:
    for kind, found in (("claims", evaluate.select([])), ("figures", outputs.select())):
        ids = [one.id if isinstance(one, evaluate.Claim) else one.name for one in found]
        assert ids and all(names.folder_of(name) for name in ids), kind
    general = {name for name in names.scenarios() if not names.folder_of(name)}
    assert general == {path.stem for path in SCENARIOS.glob("*.toml")}


def test_every_need_of_claims_and_figures_is_there(tmp_path: Path) -> None:
    needs = {need for c in evaluate.select([]) for need in c.needs} | set(outputs.needs(outputs.select()))
    assert len(plan(needs, Evidence(tmp_path))) == len(needs) > 500


BER = "link.wireless.forward.loss.ber=1e-05"
OLD_SCENARIOS = {
    "sc-basic": "santacruz-basic",
    "sc-asym-320": "santacruz-asym@320",
    "sc-wireless-ber-option": "santacruz-wireless-ber@option",
    f"sc-wireless-ber[{BER}]": f"santacruz-wireless-ber[{BER}]",
    "fr": "faster_recovery-common",
    "fr-onoff-nosack[flow.main.count=10]": "faster_recovery-onoff@nosack[flow.main.count=10]",
    "fr-onoff@nosack[flow.main.count=10]": "faster_recovery-onoff@nosack[flow.main.count=10]",
    "fr-bwe-every": "faster_recovery-bwe-fast",
    "fr-bwe-thinned-slow": "faster_recovery-bwe-slow@thinned",
    "hybla": "hybla-common",
    "hybla-fair-nosack": "hybla-fair@nosack",
    "hyx-rtt": "satellite-rtt@red",
    "hyx-rtt-deep": "satellite-rtt@deep",
    "hyx-friend-without": "satellite-friend@without",
    "rn": "real_networks-common",
    "rn-noise-ackloss": "real_networks-noise@ackloss",
    "rn-share-rtt": "real_networks-share-rtt",
}


@pytest.mark.parametrize(("old", "new"), OLD_SCENARIOS.items())
def test_old_names_of_scenarios(old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    names.tell.cache_clear()
    assert [one.name for one in files.load(old)] == [one.name for one in files.load(new)]
    before, now = (name.partition("[")[0] for name in (old, new))
    assert capsys.readouterr().err == f"hetlab: {before} is an old name, now {now}\n"
    files.load(new)
    assert capsys.readouterr().err == ""


OLD_CLAIMS = {
    "sc-t2-delay": ("santacruz-t2-delay", 1),
    "sc-t2": ("santacruz-t2", 3),
    "sc-": ("santacruz-", 16),
    "scw-": ("santacruz-wireless-", 4),
    "fr-friendly-": ("faster_recovery-friendly-", 4),
    "hy-f4": ("hybla-f4", 4),
    "hy-x-rtt": ("satellite-rtt", 3),
    "hy-": ("hybla-, satellite-", 23),
    "rn-noise-": ("real_networks-noise-", 7),
}


@pytest.mark.parametrize("old", OLD_CLAIMS)
def test_old_names_of_claims(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    new, count = OLD_CLAIMS[old]
    names.tell.cache_clear()
    chosen = [c.id for c in evaluate.select([old])]
    assert capsys.readouterr().err == f"hetlab: {old} is an old name, now {new}\n"
    assert len(chosen) == count
    assert all(name.startswith(tuple(new.split(", "))) for name in chosen)
    with pytest.raises(LabError, match="no such claim"):
        evaluate.select([f"{old}nothing"])


def test_old_names_of_figures(capsys: pytest.CaptureFixture[str]) -> None:
    old = {"fig8": "santacruz-fig8", "wireless-fig3": "santacruz-wireless-fig3", "tables": "santacruz-tables"}
    old |= {"fr-fig2": "faster_recovery-fig2", "fr-friendly": "faster_recovery-friendly", "hy-fig6": "hybla-fig6"}
    for before, now in old.items():
        names.tell.cache_clear()
        assert [o.name for o in outputs.select([before])] == [now]
        assert f"{before} is an old name, now {now}" in capsys.readouterr().err


def test_packet_scripts_may_name_a_claim_as_it_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    found = host.scripts_of("santacruz-multi-loss")
    assert {path.stem for path in found} == {"sc-multi-loss", "sc-multi-loss-one-ack"}
    ours = host._ours()
    for path in found:
        monkeypatch.setitem(ours[path].directives, "claim", "sc-multi-loss")
    assert host.scripts_of("santacruz-multi-loss") == found


def test_slow_claims_say_so() -> None:
    slow = {c.id: c.cost_s for c in evaluate.select([]) if c.slow}
    assert slow["real_networks-drift"] > 60 and slow["santacruz-wireless-throughput"] > 60
    assert "santacruz-t2-delay" not in slow and len(slow) < len(evaluate.select([])) / 2
