# SPDX-License-Identifier: GPL-2.0
"""All packet scripts in one machine per kernel, and that a script which is wrong fails."""

import re
import subprocess
from pathlib import Path

import pytest

from commands import Hetlab
from hetlab.build.kernel import OPTION_PATCH
from hetlab.packet.host import Points, our_scripts, points
from hetlab.packet.model import Env
from hetlab.packet.parser import parse
from hetlab.paths import TOP
from option.dissect import dissect

pytestmark = pytest.mark.virtual
SCRIPTS = our_scripts()
KERNELS = ["unpatched"] + ["patched"] * OPTION_PATCH.is_file()


@pytest.fixture(scope="module", params=KERNELS)
def outcome(request: pytest.FixtureRequest, hetlab: Hetlab) -> tuple[bool, Points]:
    """One machine per kernel for all scripts: whether it is patched, and what they gave."""
    patched = request.param == "patched"
    done = hetlab("packet", "--patched" if patched else "--no-patched", *SCRIPTS)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return patched, points(done.stdout)


@pytest.mark.parametrize("version", [4, 6], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_script(outcome: tuple[bool, Points], path: Path, version: int) -> None:
    patched, results = outcome
    script = parse(str(path), path.read_text(), Env(version, patched))
    if script.settings.ip not in (None, version):
        assert (path.name, version) not in results
        return
    held, said = results[path.name, version]
    must_fail = not patched and script.directives.get("unpatched") == "fails"
    assert held != must_fail, said or "it holds on the unpatched kernel: the claim is not shown"


@pytest.mark.skipif(not OPTION_PATCH.is_file(), reason="this tree has no santacruz_opt.patch")
@pytest.mark.parametrize("version", [4, 6])
def test_dissector_reads_our_captures(hetlab: Hetlab, tmp_path: Path, version: int) -> None:
    """What the kernel wrote: two SYNs, Data.copy 1 and 2, echoes, a window, nothing malformed."""
    script = TOP / "tests" / "option" / "packet" / "sc-receiver-echo.pkt"
    done = hetlab("packet", "--patched", "--pcap-dir", tmp_path, script)
    assert done.returncode == 0, done.stdout + done.stderr
    pcap = tmp_path / f"sc-receiver-echo-ipv{version}.pcap"
    fields = [
        f"santacruz.{name}" for name in ("length", "data_copy", "ack_copy", "ack_sn_rel", "holes_rel", "malformed")
    ]
    rows = [tuple(row.values()) for row in dissect(pcap, *fields, keep="santacruz")]
    assert [row[0] for row in rows[:2]] == ["4", "4"]
    assert not any(row[5] for row in rows)
    assert {row[1] for row in rows if row[0] == "5"} == {"1", "2", "3"}
    assert [row[2:4] for row in rows if row[0] in ("13", "16")] == [
        ("1", "1"),
        ("1", "2001"),
        ("2", "1001"),
        ("3", "1001"),
    ]
    assert [row[4] for row in rows if row[0] == "16"] == ["1001-2001"]


HEAD = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = -1 EINPROGRESS
+0 > S 0:0(0)
+.1 < S. 0:0(0) ack 1 win 65535 <mss 1000>
+0 > . 1:1(0) ack 1
"""


WRONG = [
    ("+0 > . 1:1(0) ack 1", "the kernel sent nothing up to"),
    ("+0 write(3, ..., 100) = 99", "returned 100, not 99"),
    ("+0 write(3, ..., 100) = 100\n+0 > P. 1:101(100) ack 2", "wrong ack"),
    ("+0 write(3, ..., 100) = 100\n+0 > P. 1:100(99) ack 1", "wrong length"),
    ("+0 write(3, ..., 100) = 100\n+0 > P. 1:101(100) ack 1 <TS val any ecr any>", "wrong options"),
    ("+0 write(3, ..., 100) = 100\n+.01 > P. 1:101(100) ack 1", "too early"),
    ("+0 write(3, ..., 100) = 100\n+.1 %{ pass }%", "a packet that no line expects"),
    ("+0 write(3, ..., 100) = 100", "after this line the kernel sent a packet"),
    ("+0 %{ assert tcpi_snd_cwnd == 3 }%", "tcpi_snd_cwnd = 10"),
    ('+0 %{ assert MIB["TcpExtNone"] == 0 }%', "no counter of this kernel"),
    ("+0 `exit 3`", "ended with 3"),
    ("+0 read(3, ..., 10) = 10", "failed with EAGAIN"),
    ("+0 frob(3) = 0", "frob is not known"),
    ("0 > . 1:1(0)", "nothing"),
    ("+0...0.2 read(3, ..., 10) = 10", "still blocks; it is 0.30001"),
    ("+.1 < P. 1:11(10) ack 1 win 300\n+0 > . 1:1(0) ack 11\n+0...0.3 read(3, ..., 10) = 10", "ended at 0.2"),
]


@pytest.fixture(scope="module")
def wrong(hetlab: Hetlab, tmp_path_factory: pytest.TempPathFactory) -> Points:
    """One machine for all scripts that must fail."""
    directory = tmp_path_factory.mktemp("wrong")
    paths = [directory / f"{number}.pkt" for number in range(len(WRONG))]
    for path, (lines, _) in zip(paths, WRONG, strict=True):
        path.write_text(HEAD + lines + "\n")
    done = hetlab("packet", *paths)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"1..{2 * len(WRONG)}" in done.stdout.splitlines()
    return points(done.stdout)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_script_fails_at_its_line(wrong: Points, number: int) -> None:
    lines, words = WRONG[number]
    for version in (4, 6):
        held, said = wrong[f"{number}.pkt", version]
        assert not held and words in said
        assert f"{number}.pkt:{HEAD.count(chr(10)) + 1 + lines.count(chr(10))}: " in said


BLOCKS = """+0...0.1 read(3, ..., 10) = 10
+.1 < P. 1:11(10) ack 1 win 300
+0 > . 1:1(0) ack 11
+.1...0.3 read(3, ..., 10) = -1 ECONNRESET
+.2 < R. 11:11(0) ack 1
"""


def test_a_call_that_blocks(hetlab: Hetlab, tmp_path: Path) -> None:
    """The script goes on meanwhile; it ends when it is to end, with a result or an error."""
    path = tmp_path / "blocks.pkt"
    path.write_text(HEAD + BLOCKS)
    done = hetlab("packet", path)
    assert done.returncode == 0, done.stdout + done.stderr


WAITS = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 %{ import time; time.sleep(.02) }%
+.01 < S 0:0(0) win 1000 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.01 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
"""


def test_packetdrill_counts_from_now(hetlab: Hetlab, tmp_path: Path) -> None:
    """Behind what took time a relative time begins there; by our rules it is over."""
    path = tmp_path / "waits.pkt"
    path.write_text(WAITS)
    assert hetlab("packet", path).returncode == 1
    done = hetlab("packet", "--packetdrill", "--verbose", "--ip=4", path)
    assert done.returncode == 0, done.stdout + done.stderr
    times = [float(line.split()[1]) for line in done.stdout.splitlines() if re.match(r"# [\d.]+ < ", line)]
    assert times == pytest.approx([0.03, 0.04], abs=1e-4)


LATE = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 1000 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+{expected} > S. 0:0(0) ack 1 <mss 1460>
"""


def test_packetdrill_allows_for_the_timer_wheel(hetlab: Hetlab, tmp_path: Path) -> None:
    """A timer of 1 s fires 24 ms late: an eighth of what a time counts is allowed, by our rules nothing."""
    held = {}
    for name, expected in (("right", "1"), ("wrong", ".9")):
        path = tmp_path / f"{name}.pkt"
        path.write_text(LATE.format(expected=expected))
        held[name] = hetlab("packet", "--packetdrill", "--ip=4", path).returncode == 0
        assert hetlab("packet", "--ip=4", path).returncode == 1
    assert held == {"right": True, "wrong": False}


MERGED = """--mss=1000
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 1000 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.01 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
+0 < P. 1:4001(4000) ack 1 win 1000
+0 > . 1:1(0) ack 4001
+0 %{ assert tcpi_rcv_mss == 1000, tcpi_rcv_mss }%
"""


def test_packetdrill_sends_segments_as_long_as_mss(hetlab: Hetlab, tmp_path: Path) -> None:
    """The kernel sees one packet of four segments, over both IP versions, not one segment of 4000 bytes."""
    path = tmp_path / "merged.pkt"
    path.write_text(MERGED)
    done = hetlab("packet", "--packetdrill", path)
    assert done.returncode == 0, done.stdout + done.stderr
    path.write_text(MERGED.removeprefix("--mss=1000\n"))
    assert hetlab("packet", "--packetdrill", path).returncode == 1


def test_a_script_that_cannot_be_understood(hetlab: Hetlab, tmp_path: Path) -> None:
    path = tmp_path / "bad.pkt"
    path.write_text("0 > . 1:1(0)\n+0 listen 3\n")
    done = hetlab("packet", path)
    assert done.returncode == 2
    assert "bad.pkt:2: " in done.stderr
    assert hetlab("packet", tmp_path / "none.pkt").returncode == 2


def test_pcap_and_every_packet(hetlab: Hetlab, tmp_path: Path) -> None:
    """A capture counts time from the beginning of the script."""
    name = "handshake-active"
    done = hetlab("packet", "--ip=6", "--verbose", "--pcap-dir", tmp_path, TOP / "tests" / "packet" / f"{name}.pkt")
    assert done.returncode == 0, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if re.match(r"# [\d.]+ [<>] ", line)]
    command = ["tcpdump", "-ttnr", str(tmp_path / f"{name}-ipv6.pcap")]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(dump) == len(said) == 8
    assert [float(line.split()[0]) for line in dump] == [float(line.split()[1]) for line in said]
