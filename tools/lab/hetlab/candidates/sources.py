# SPDX-License-Identifier: GPL-2.0
"""Which files belong to a candidate: a .c file and what lies beside it, or a directory with a Kbuild or Makefile."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hetlab.errors import LabError

KBUILD = ("Kbuild", "Makefile")  # the kernel's build prefers the first
SUFFIXES = {".c", ".h", ".S", ".mk", ".inc"}
LIMIT_BYTES = 20_000_000
OBJECTS = re.compile(r"^\s*obj-(?:m|\$\(\w+\))\s*[:+]?=\s*(.*)$", re.M)


@dataclass(frozen=True)
class Sources:
    """Files of a candidate, by their names relative to ``top``; ``module``: name of the module they make.

    ``kbuild``: the user's own rules make it; otherwise it is one file.
    """

    top: Path
    module: str
    kbuild: bool
    files: tuple[Path, ...]

    @property
    def digest(self) -> str:
        """Short hash of names and contents."""
        h = hashlib.sha256(f"{self.module} {self.kbuild}".encode())
        for file in self.files:
            data = (self.top / file).read_bytes()
            h.update(f"{file} {len(data)}\n".encode() + data)
        return h.hexdigest()[:16]


def gather(text: str) -> Sources:
    """Files of what ``--cc`` names; LabError where it is no candidate."""
    path = Path(text)
    if path.is_dir():
        return _directory(path.resolve(), text)
    if path.suffix != ".c":
        raise LabError(f"--cc {text}: must be a .c file, or a directory with a Kbuild or Makefile")
    if not path.is_file():
        raise LabError(f"--cc {text}: no such file")
    path = path.resolve()
    rules = _rules(path.parent)
    if path.stem in rules or _parts(path.parent, path.stem):
        return Sources(path.parent, path.stem, True, tuple(_all(path.parent, text)))
    headers = (f for f in _all(path.parent, text) if f.suffix in {".h", ".inc"})
    return Sources(path.parent, path.stem, False, (Path(path.name), *headers))


def _directory(top: Path, text: str) -> Sources:
    """The one module that a directory makes."""
    modules = _rules(top)
    if not modules:
        raise LabError(f"--cc {text}: neither Kbuild nor Makefile there has obj-m; name a .c file")
    if len(modules) > 1:
        raise LabError(f"--cc {text}: its rules make {', '.join(modules)}: name the .c file of one")
    return Sources(top, modules[0], True, tuple(_all(top, text)))


def _rules_text(top: Path) -> str:
    """What the kernel's build would read of a directory; empty where there is nothing."""
    return next(((top / name).read_text(errors="replace") for name in KBUILD if (top / name).is_file()), "")


def _rules(top: Path) -> list[str]:
    """Modules of obj-m, continued lines joined."""
    text = _rules_text(top).replace("\\\n", " ")
    words = [word for found in OBJECTS.findall(text) for word in found.split("#")[0].split()]
    return list(dict.fromkeys(word[:-2] for word in words if word.endswith(".o")))


def _parts(top: Path, module: str) -> bool:
    """Whether the rules compose a module of several objects."""
    return re.search(rf"^\s*{re.escape(module)}-(?:objs|y)\b", _rules_text(top), re.M) is not None


def _all(top: Path, text: str) -> Iterator[Path]:
    """Every source below a directory, but not in hidden ones nor in ``build``; LabError where that is a lot."""
    total = 0
    for path in sorted(_walk(top)):
        total += path.stat().st_size
        if total > LIMIT_BYTES:
            raise LabError(
                f"--cc {text}: more than {LIMIT_BYTES // 10**6} MB of sources below {top}: give it a directory"
            )
        yield path.relative_to(top)


def _walk(top: Path) -> Iterator[Path]:
    for path in top.iterdir():
        if path.name.startswith(".") or (path.is_symlink() and path.is_dir()):
            continue
        if path.is_dir():
            if path.name != "build":
                yield from _walk(path)
        elif (path.suffix in SUFFIXES and not path.name.endswith(".mod.c")) or path.name in KBUILD:
            yield path
