# SPDX-License-Identifier: GPL-2.0
"""The side outside the machine: look at the scripts, then boot one machine for all of them."""

from pathlib import Path

from hetlab.errors import LabError
from hetlab.packet.model import Env
from hetlab.packet.parser import parse
from hetlab.paths import VENV


def check(scripts: list[Path]) -> None:
    """Understand every script in every variant before a machine is started."""
    for path in scripts:
        if not path.is_file():
            raise LabError(f"{path}: no such file")
        for version in (4, 6):
            for patched in (False, True):
                parse(str(path), path.read_text(), Env(version, patched))


def command(scripts: list[Path], ip: str | None, pcap_dir: Path | None, verbose: bool) -> list[str]:
    """What the machine runs."""
    words = [str(VENV / "bin" / "python"), "-m", "hetlab.packet.guest"]
    if ip:
        words.append(f"--ip={ip}")
    if pcap_dir:
        pcap_dir.mkdir(parents=True, exist_ok=True)
        words.append(f"--pcap-dir={pcap_dir.resolve()}")
    return [*words, *["--verbose"] * verbose, "--", *map(str, scripts)]
