# SPDX-License-Identifier: GPL-2.0
"""The command hetlab that pip installs: of a checkout its own lab, of a wheel the one that came in a pack.

A wheel needs nothing but Python's standard library. ``hetlab kernel --pack FILE`` unpacks a file of ``hetlab pack``,
once for each; all other commands are those of the last one.
"""

import argparse
import hashlib
import os
import shutil
import sys
from pathlib import Path

from hetlab.build.unpack import ROOT, unpack
from hetlab.errors import LabError
from hetlab.paths import TOP

CURRENT = "current"
ABOUT = """Experiments with TCP congestion control on the real kernel stack, in virtual time.

This is the command of a wheel: kernels, programs and Python packages come in a pack, a file that
'hetlab pack FILE.tar.gz' makes in a checkout of hetcc. Any x86-64 Linux with bash, mount and coreutils
will do; neither compiler nor root is needed.
"""


def home() -> Path:
    """Where packs are unpacked; LabError for a path that the lab cannot be in."""
    found = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "hetlab"
    if any(c.isspace() for c in str(found)):
        raise LabError(f'the path "{found}" has a blank: set XDG_DATA_HOME to a directory without')
    return found


def lab(directory: Path) -> Path:
    """The command of a lab that was unpacked there."""
    return directory / ROOT / "tools" / "hetlab"


def take(file: Path) -> Path:
    """Unpack a pack unless that was done before, and use it from now on; its command."""
    try:
        with file.open("rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()[:16]
        directory = home() / digest
        if not lab(directory).exists():
            draft = home() / f".draft-{os.getpid()}"
            unpack(file, draft)
            draft.rename(directory)
        link = home() / f".{CURRENT}-{os.getpid()}"
        link.symlink_to(digest)
        link.replace(home() / CURRENT)
    except OSError as err:
        raise LabError(f"{err.filename or file}: {err.strerror or err}") from err
    finally:
        shutil.rmtree(home() / f".draft-{os.getpid()}", ignore_errors=True)
    return lab(directory)


def parser() -> argparse.ArgumentParser:
    """The command line as long as there is no lab."""
    made = argparse.ArgumentParser(prog="hetlab", description=ABOUT, formatter_class=argparse.RawTextHelpFormatter)
    commands = made.add_subparsers(metavar="COMMAND", dest="command")
    kernel = commands.add_parser("kernel", help="unpack kernels, modules, programs and Python packages")
    kernel.add_argument("--pack", type=Path, metavar="FILE", required=True, help="file of 'hetlab pack' in a checkout")
    made.epilog = f"They go to {home()} (XDG_DATA_HOME=DIR: to DIR/hetlab). All other commands then are the pack's."
    return made


def wheel(words: list[str]) -> None:
    """What a wheel does with a command line."""
    command = lab(home() / CURRENT)
    if words[:1] == ["kernel"] and any(word.split("=")[0] == "--pack" for word in words):
        command = take(parser().parse_args(words).pack)
        words = ["kernel"]
    elif not command.exists():
        if words and words[0] not in ("kernel", "-h", "--help"):
            raise LabError("there is no lab yet: 'hetlab kernel --pack FILE' unpacks one, a file of 'hetlab pack'")
        parser().parse_args(words or ["--help"])
    os.execv(command, [str(command), *words])


def main() -> None:
    """Console entry point."""
    if (TOP / "Kbuild").is_file():
        from hetlab.cli import app

        app.main()
        return
    try:
        wheel(sys.argv[1:])
    except LabError as error:
        print(f"hetlab: {error}", file=sys.stderr)
        sys.exit(2)
