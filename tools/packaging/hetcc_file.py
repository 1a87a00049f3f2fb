#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make the hetcc command of tools/hetcc one executable file: ``hetcc_file.py OUTPUT``.

The file is a zip archive that Python runs (zipapp). The same sources give the same bytes: the order of the names, the
times and the modes are fixed, nothing is compressed, and only sources go in (no __pycache__).
"""

import io
import sys
import zipapp
from pathlib import Path
from zipfile import ZipFile, ZipInfo

SOURCES = Path(__file__).resolve().parents[1] / "hetcc"
PYTHON = "/usr/bin/python3"


def archive() -> io.BytesIO:
    """All sources as a zip archive; the time of a new ZipInfo is 1980-01-01."""
    made = io.BytesIO()
    with ZipFile(made, "w") as target:
        for path in sorted(SOURCES.rglob("*.py")):
            target.writestr(ZipInfo(path.relative_to(SOURCES).as_posix()), path.read_bytes())
    made.seek(0)
    return made


def main() -> None:
    """Entry point."""
    if len(sys.argv) != 2:
        sys.exit("usage: tools/packaging/hetcc_file.py OUTPUT")
    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    zipapp.create_archive(archive(), output, PYTHON)
    output.chmod(0o755)


if __name__ == "__main__":
    main()
