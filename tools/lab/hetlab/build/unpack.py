# SPDX-License-Identifier: GPL-2.0
"""Unpack the lab. The standard library is enough, for a host on which nothing else is installed yet."""

import shutil
import tarfile
from contextlib import suppress
from pathlib import Path

from hetlab.errors import LabError

# The directory that every file of a pack is in
ROOT = "hetcc"


def unpack(file: Path, directory: Path) -> Path:
    """Unpack into a directory; where the lab is then."""
    if directory.exists() and any(directory.iterdir()):
        raise LabError(f"{directory}: not empty")
    try:
        with tarfile.open(file) as tar:
            _safe(tar, file)
            # Nor through a link; Python 3.11 has it in its later releases
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            tar.extractall(directory)
    except (OSError, tarfile.TarError) as err:
        with suppress(OSError):
            shutil.rmtree(directory / ROOT)
        raise LabError(f"{file}: cannot be unpacked to {directory}: {err}") from err
    return directory / ROOT


def _safe(tar: tarfile.TarFile, file: Path) -> None:
    """LabError where a name leads out of the directory."""
    for name in tar.getnames():
        if not name.startswith(f"{ROOT}/") or ".." in name.split("/"):
            raise LabError(f"{file}: no pack of hetlab: it has {name}")
