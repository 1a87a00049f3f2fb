# SPDX-License-Identifier: GPL-2.0
"""With CONFIG_TCP_SANTACRUZ off the patched files store what they stored without the patch, and nothing else.

Both are compiled with the same configuration, and each function's stores to memory are compared: how many,
and with which distance from the register that points there. The stack is left out, where the compiler
keeps what it likes.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from commands import call
from hetlab.paths import BUILD

pytestmark = pytest.mark.build
WORK = BUILD / "option-patch"
COMBINATION = "gcc-64-out"
FUNCTION = re.compile(r"^[0-9a-f]+ <(\S+)>:$")
# The destination is the last operand; of these only reads are made
STORE = re.compile(
    r"^\s*[0-9a-f]+:\s+(?!cmp|test|bt\s|call|jmp|nop|lea|prefetch|push|i?div|mul)(\w+)\s.*?(-?(?:0x[0-9a-f]+)?)\(%(\w+)[^)]*\)$"
)
STACK = {"rsp"}
Stores = dict[str, Counter[str]]
# Of struct tcp_out_options, on the stack of their callers, whose fields are 8 bytes further: it has one more
MOVED = {"tcp_options_write", "tcp_established_options"}


def stores(path: Path) -> Stores:
    """Stores of each function, by their distance."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
    found: Stores = {}
    of: Counter[str] = Counter()
    for line in text.stdout.splitlines():
        if begins := FUNCTION.match(line):
            of = found.setdefault(begins[1].split(".")[0], Counter())
        elif (store := STORE.match(line)) and store[3] not in STACK:
            of[store[2]] += 1
    return found


def make(source: Path, out: Path, *words: str) -> None:
    """The kernel's make, with its messages in the fault."""
    quiet = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    command = ["make", "-s", "-C", str(source), "ARCH=x86", f"O={out}", "CC=gcc", "-j2", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str]]:
    """Directories of objects without and with the patch, and their names."""
    done = call("tools/ci/option_patch.sh", COMBINATION)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    patched, top = WORK / COMBINATION, tmp_path_factory.mktemp("without")
    source, out = top / "src", top / "out"
    subprocess.run(["cp", "-as", WORK / "src", source], check=True)
    for name in (WORK / "touched").read_text().split():
        (source / name).unlink()
    subprocess.run(["cp", "-r", f"{WORK / 'before'}/.", source], check=True)
    out.mkdir()
    shutil.copy(patched / ".config", out)
    make(source, out, "olddefconfig")
    make(source, out, "prepare")
    names = sorted(str(path.relative_to(patched)) for path in (patched / "net").rglob("*.o"))
    make(source, out, *names)
    return out, patched, names


def test_no_function_stores_more(objects: tuple[Path, Path, list[str]]) -> None:
    without, patched, names = objects
    assert len(names) >= 10
    total = 0
    for name in names:
        before, now = stores(without / name), stores(patched / name)
        total += sum(sum(of.values()) for of in before.values())
        assert now.keys() == before.keys(), name
        for function, of in now.items():
            if function in MOVED:
                assert sum(of.values()) == sum(before[function].values()), (name, function)
            else:
                assert of == before[function], (name, function)
    assert total > 1000


def test_a_store_is_seen(tmp_path: Path) -> None:
    """Two functions that differ in one store, and in nothing else."""
    bodies = {"a": "s->x = 1;", "b": "s->x = 1; s->y = 2;"}
    for name, body in bodies.items():
        (tmp_path / f"{name}.c").write_text(f"struct s {{ long x, pad[7], y; }}; void f(struct s *s) {{ {body} }}\n")
        subprocess.run(["gcc", "-O2", "-c", f"{name}.c"], cwd=tmp_path, check=True)
    few, more = (stores(tmp_path / f"{name}.o")["f"] for name in bodies)
    assert more - few == Counter({"0x40": 1})
