# SPDX-License-Identifier: GPL-2.0
"""santacruz_opt.patch on upstream's source: Debian changes no file that it touches."""

import re
from pathlib import Path

import pytest

import rebase
from commands import call

pytestmark = pytest.mark.series
FILE = re.compile(r"^(?:\+\+\+|---) [^/\s]+/(\S+)", re.MULTILINE)


def test_debian_changes_no_file_of_the_series() -> None:
    """So what ``git am`` and ``patch`` take on Debian's source, they take on upstream's of that version."""
    done = call("tools/ci/debian_patches.sh")
    assert done.returncode == 0, done.stderr
    queue = Path(done.stdout.strip())
    lines = (queue / "series").read_text().splitlines()
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    changed = {file for name in names for file in FILE.findall((queue / name).read_text())}
    touched = set(FILE.findall(rebase.TRUTH.read_text()))
    assert len(names) > 50 and {"Makefile", "net/dccp/ipv4.c"} <= changed
    assert {"MAINTAINERS", "net/ipv4/tcp_input.c"} <= touched
    assert not changed & touched
