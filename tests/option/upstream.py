# SPDX-License-Identifier: GPL-2.0
"""The kernel's own packetdrill scripts, played unmodified without and with santacruz_opt.patch.

With it net.ipv4.tcp_santacruz is 0, 1 and 2. Linux 6.1 has no such scripts: it is given those of 6.12.
Of the 160 of 7.2 the player reads all but eight (UNREAD).
"""

from pathlib import Path

from rich.console import Console

from hetlab.build import kernel, programs
from hetlab.packet import host
from hetlab.packet.model import Env, ScriptError
from hetlab.packet.parser import parse
from hetlab.ported import kernel as ported

FOLDER = Path("tools/testing/selftests/net/packetdrill")
MODES = ("unpatched", "0", "1", "2")
WALL_LIMIT_S = 3600
BORROWS = {"6.1": "6.12"}
# Of 7.2, what the player cannot read, and what would be needed
UNREAD = {
    # times of sent data, which recvmsg() gives
    *(
        f"tcp_timestamping_{name}.pkt"
        for name in ("client-only-last-byte", "partial", "server", "tcp_tx_timestamp_bug")
    ),
    "tcp_fastopen_server_icmp-before-accept.pkt",  # ICMP of the peer
    "tcp_splice_tcp_splice_loop_test.pkt",  # urgent data, pipe(), splice()
    # null pointers, which sockets of Python do not take
    *(f"tcp_syscall_bad_arg_{name}-invalid-buf-ptr.pkt" for name in ("fastopen", "syscall")),
}


def scripts(series: str) -> list[Path]:
    """All that a series has or is given."""
    source = ported.kernel(Console(stderr=True), BORROWS.get(series, series)).source
    return sorted((source / FOLDER).glob("*.pkt"))


def readable(path: Path) -> bool:
    """Whether the player understands a script, over both IP versions."""
    try:
        for version in host.VERSIONS:
            parse(str(path), path.read_text(), Env(version, True, packetdrill=True))
    except ScriptError:
        return False
    return True


def played(series: str) -> list[Path]:
    """Those that can be."""
    return [path for path in scripts(series) if readable(path)]


def outcome(series: str) -> dict[str, str]:
    """TAP with all packets, by mode."""
    found = {}
    programs.tools(Console(stderr=True))
    for mode in MODES:
        k = ported.kernel(Console(stderr=True), series, patched=mode != "unpatched")
        sysctls = [f"net.ipv4.tcp_santacruz={mode}"] if mode != "unpatched" else []
        words = host.command(played(series), verbose=True, packetdrill=True, sysctls=sysctls)
        found[mode] = host.play(k.executable, kernel.modules(Console(stderr=True), k), words, WALL_LIMIT_S)
    return found
