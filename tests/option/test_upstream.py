# SPDX-License-Identifier: GPL-2.0
"""Other people's tests: the kernel's own packetdrill scripts, unmodified, as its source has them.

They are played by our player (hetlab.packet.packetdrill) against the kernel without and with
santacruz_opt.patch, there with net.ipv4.tcp_santacruz 0, 1 and 2. All must hold, and every packet
must be the same at the same microsecond as without the patch. Their peer does not know the option:
what 1 changes is the SYN, which the player takes care of.
"""

import io
import shutil
import uuid
from pathlib import Path

import pytest
from rich.console import Console

from hetlab.build import kernel, programs
from hetlab.machines import exec_uml
from hetlab.packet import host
from option import upstream
from option.upstream import MODES

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.skipif(not kernel.OPTION_PATCH.is_file(), reason="this tree has no santacruz_opt.patch"),
]
# Scripts of Debian's 6.12; should a later one have more, they are played too
KNOWN = 22


@pytest.fixture(scope="module")
def scripts() -> list[Path]:
    """All of them."""
    return upstream.scripts("6.12")


@pytest.fixture(scope="module")
def outcome() -> dict[str, str]:
    """TAP with all packets, by mode."""
    return upstream.outcome("6.12")


def test_all_are_there(scripts: list[Path], outcome: dict[str, str]) -> None:
    assert len(scripts) >= KNOWN
    for output in outcome.values():
        assert set(host.points(output)) == {(path.name, version) for path in scripts for version in host.VERSIONS}


@pytest.mark.parametrize("mode", MODES)
def test_hold(outcome: dict[str, str], mode: str) -> None:
    wrong = {key: said for key, (held, said) in host.points(outcome[mode]).items() if not held}
    assert not wrong, "\n".join(f"{name} ipv{version}:\n{said}" for (name, version), said in wrong.items())


@pytest.mark.parametrize("mode", MODES[1:])
def test_same_packets_at_the_same_time(outcome: dict[str, str], mode: str) -> None:
    before, now = (host.traces(outcome[name]) for name in ("unpatched", mode))
    for key, packets in before.items():
        assert packets.count(" > ") >= 2, key
        assert now[key] == packets, key


@pytest.mark.parametrize(
    ("was", "now", "fault"),
    [
        ("> P. 1:4001(4000) ack 1", "> P. 1:4002(4001) ack 1", "wrong length"),
        ("ee_data=0", "ee_data=7", "the control messages are"),
        ("> S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,", "> S. 0:0(0) ack 1 <mss 1460,sackOK,nop,nop,", "wrong options"),
    ],
)
def test_a_script_that_is_wrong_fails(scripts: list[Path], tmp_path: Path, was: str, now: str, fault: str) -> None:
    source = next(path for path in scripts if path.name == "tcp_zerocopy_basic.pkt")
    text = source.read_text().replace(was, now, 1)
    assert text != source.read_text()
    for name in ("defaults.sh", "set_sysctls.py"):
        shutil.copy(source.parent / name, tmp_path)
    (tmp_path / "wrong.pkt").write_text(text)
    status, points = play(tmp_path / "wrong.pkt")
    assert status == 1
    assert [held for held, _ in points.values()] == [False, False]
    assert all(fault in said for _, said in points.values())


def play(script: Path) -> tuple[int, host.Points]:
    """Exit status and points of one script on the unpatched kernel."""
    k, out = kernel.kernel(Console(stderr=True)), io.BytesIO()
    programs.tools(Console(stderr=True))
    words = host.command([script], packetdrill=True)
    status = exec_uml.execute(k.executable, kernel.modules(Console(stderr=True), k), words, 600, out)
    return status, host.points(out.getvalue().decode())


def test_what_a_script_leaves_in_tmp_stays_in_its_machine(tmp_path: Path) -> None:
    """Names have a process id, which is the same in every machine: one restored the sysctls of another."""
    left = Path("/tmp", f"hetlab-{uuid.uuid4().hex}.sh")
    (tmp_path / "beside").touch()
    (tmp_path / "tmp.pkt").write_text(f"`test -f beside && echo true > {left}`\n+0 `sh {left}`\n")
    status, points = play(tmp_path / "tmp.pkt")
    assert (status, list(points)) == (0, [("tmp.pkt", 4), ("tmp.pkt", 6)]), points
    assert not left.exists()
