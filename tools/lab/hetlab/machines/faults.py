# SPDX-License-Identifier: GPL-2.0
"""What a machine's console says of its end, with the file and line of a user's own module."""

import functools
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from hetlab.errors import LabError

# symbol+0xOFFSET/0xSIZE [module], as the kernel prints a place in its code
PLACE = re.compile(r"(\w+)\+0x([0-9a-f]+)/0x[0-9a-f]+ \[(\w+)\]")
ADDRESS = re.compile(r"\bip (0x[0-9a-f]+|[0-9a-f]{8,16})\b")
FATAL = re.compile(r"Kernel panic|BUG: |Oops")
SAID_LINES = 8
REGISTER_LINES = 30  # before a panic, the place among them


ELSEWHERE = "no place in a module of yours: memory may have been overwritten before; hetlab exec --debug has checks"


def last_words(console: str, most: int) -> str:
    """From the first line of a machine's console that tells of its end, else the last ones."""
    lines = console.splitlines()
    fatal = next((i for i, line in enumerate(lines) if FATAL.search(line)), max(len(lines) - most, 0))
    return "\n".join(lines[fatal:][:most])


def explain(console: str, where: Path) -> str:
    """The end of a machine that ended during a run."""
    own = {ko.stem: ko for _begin, ko in _modules(where)}
    said, known = _end(console, own, where)
    if not known and own and FATAL.search(said):
        said += f"\n{ELSEWHERE}"
    return f"the machine ended during this run:{' ' if known else chr(10)}{said}"


def loading(console: str, ko: Path) -> str:
    """The end of a machine that loaded a module, before it was known where its code is."""
    said, known = _end(console, {ko.stem.replace("-", "_"): ko}, ko.with_suffix(".where"))
    return f"module_init() ended the machine:{' ' if known else chr(10)}{said}"


def _end(console: str, own: Mapping[str, Path], where: Path) -> tuple[str, bool]:
    """What a console says of a machine's end, a line with the source lines in modules of the user's if they are known.

    ``own``: these modules.
    """
    lines = [line.partition("] ")[2] if line.startswith("[") else line for line in console.splitlines()]
    fatal = next((i for i, line in enumerate(lines) if FATAL.search(line)), None)
    if fatal is None:
        return "\n".join(lines[-SAID_LINES:]), False
    begin = lines[max(fatal - REGISTER_LINES, 0) :]
    found = dict.fromkeys(place for text in begin for place in _places(text, own, where))
    if found:
        return f"{lines[fatal]}: at {', '.join(found)}", True
    return "\n".join(lines[fatal:][:SAID_LINES]), False


def endless(seen: Sequence[tuple[int, ...]], kernel: Path, where: Path) -> str:
    """A machine whose virtual time stands still: where its processor is, best in a module of the user's own.

    Each sample is an address and what may be return addresses of its callers: a loop in a module spends most
    of its time in what it calls.
    """
    own = Counter(line for sample in seen if (line := _innermost(sample, where)))
    places = own or Counter(_symbol_at(sample[0], kernel) for sample in seen)
    text = f": {', '.join(place for place, _times in places.most_common(3))}" if places else ""
    return f"stopped: it computes, and virtual time stands still{text}"


def _innermost(sample: tuple[int, ...], where: Path) -> str:
    """Source line of the first address of a sample that is in a module of the user's own."""
    calls = (at - 1 for at in sample[1:])  # a return address is behind its call
    return next((line for at in (sample[0], *calls) if (line := _line_at(at, where))), "")


def _modules(where: Path) -> list[tuple[int, Path]]:
    """Begin of the code of each of the user's own modules, and its file."""
    if not where.exists():
        return []
    return [(int(line.split()[0], 16), Path(line.split()[1])) for line in where.read_text().splitlines()]


def _places(text: str, own: Mapping[str, Path], where: Path) -> list[str]:
    """Source lines of the places in the user's modules that a line of the console names."""
    found = []
    for symbol, offset, module in PLACE.findall(text):
        if module in own and (start := _start_of(own[module], symbol)):
            section, begin = start
            found.append(f"{symbol}(), {_line(own[module], begin + int(offset, 16), section)}")
    return found + [line for ip in ADDRESS.findall(text) if (line := _line_at(int(ip, 16), where))]


def _start_of(ko: Path, symbol: str) -> tuple[str, int] | None:
    """Section of a function and where it begins there: module_init() has one of its own."""
    for line in _run("objdump", "-t", str(ko)).splitlines():
        words = line.split()
        if words[-1:] == [symbol] and "F" in words:
            return words[words.index("F") + 1], int(words[0], 16)
    return None


def _line_at(at: int, where: Path) -> str:
    """Source line of an address; empty where it is not in a module of the user's own."""
    for begin, ko in _modules(where):
        if begin <= at < begin + _text_bytes(ko):
            return _line(ko, at - begin)
    return ""


@functools.cache
def _text_bytes(ko: Path) -> int:
    rows = (line.split() for line in _run("objdump", "-h", str(ko)).splitlines())
    return next((int(row[2], 16) for row in rows if len(row) > 2 and row[1] == ".text"), 0)


def _line(ko: Path, offset: int, section: str = ".text") -> str:
    """``FILE:LINE`` of an offset in a section of a module that was built with -g.

    Of a function of the kernel's headers, which is inlined: where it is called.
    """
    said = _run("addr2line", "-i", "-e", str(ko), "-j", section, f"{offset:#x}").split("\n")
    top = f"{ko.parent}/"
    return next((line for line in said if line.startswith(top)), said[0]).removeprefix(top)


def _symbol_at(at: int, kernel: Path) -> str:
    """Function of the kernel that an address is in."""
    name = ""
    for line in kernel.with_name("System.map").read_text().splitlines():
        address, _kind, symbol = line.split()
        if int(address, 16) > at:
            break
        name = symbol
    return f"{name}() of the kernel" if name else f"{at:#x}"


def _run(*args: str) -> str:
    try:
        return subprocess.run(args, capture_output=True, text=True, check=False).stdout
    except OSError as err:
        raise LabError(f"{args[0]}: {err.strerror}") from err
