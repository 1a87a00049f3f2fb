#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prove the arithmetic of the headers that are plain integers: make prove.

tests/proofs/NAME.c is about include/hetcc/NAME.h; tests/proofs/proof.h says what a proof
is and what is demanded of it. Each is done by CBMC (bounded model checking: exact, for all
inputs). What was proved is kept in build/proofs by the hash of all that it depends on,
and not proved again. Prints KTAP; the exit status is 0 if everything was proved.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HETCC_BUILD", TOP / "build"))
HARNESSES = TOP / "tests/proofs"
CBMC = BUILD / "cbmc/usr/bin/cbmc"
# It is Debian 13's, and is loaded with the C library that came with it
LIBRARIES = [BUILD / "cbmc/usr/lib/x86_64-linux-gnu", BUILD / "cbmc/usr/lib"]
START = [str(LIBRARIES[0] / "ld-linux-x86-64.so.2"), "--library-path", ":".join(map(str, LIBRARIES)), str(CBMC)]
# int_sqrt() goes 32 turns, the longest loop that there is; CBMC counts the last test as one
UNWIND = 33
# One proof that takes longer belongs into smaller parts
CPU_S = 60
END = "the end is within reach"
EXACT = ("--unsigned-overflow-check", "--conversion-check")
# From the macro of proof.h to CBMC's options
TERMS = ("--no-standard-checks", "--cvc5")
WAYS: dict[str, tuple[str, ...]] = {
    "PROOF": EXACT,
    "PROOF_SMT": (*EXACT, "--cvc5"),
    "TERMS": TERMS,
    "LEMMA": TERMS,
}


def paths_of(include: Path) -> list[str]:
    """Where a harness finds the header, and what that takes from the kernel."""
    return [f"-I{path}" for path in (include, TOP / "tests/estimators")]


@dataclass(frozen=True)
class Proof:
    """One PROOF of a harness."""

    harness: Path
    name: str
    way: str
    include: Path

    def command(self) -> list[str]:
        """How CBMC is called."""
        unwind = ("--unwind", str(UNWIND), "--unwinding-assertions", "--drop-unused-functions")
        entry = ("--function", f"prove_{self.name}")
        return [*START, str(self.harness), *paths_of(self.include), *entry, *unwind, *WAYS[self.way], "--json-ui"]

    def label(self) -> str:
        """As in the report."""
        return f"{self.harness.stem}: {self.name}"


@dataclass(frozen=True)
class Verdict:
    """What CBMC says: how much was checked, what failed, CPU time in seconds."""

    checks: int
    failed: tuple[str, ...]
    wrapped: tuple[str, ...]
    cpu_s: float
    error: str = ""


def proofs_of(harness: Path, include: Path) -> list[Proof]:
    """The proofs that a file defines."""
    found = re.findall(rf"^({'|'.join(WAYS)})\((\w+)\)", harness.read_text(), re.MULTILINE)
    return [Proof(harness, name, way, include) for way, name in found]


def wraps_of(harness: Path) -> list[tuple[str, str]]:
    """Function and expression of each wrap that is meant."""
    return re.findall(r"^ \* wraps: (\w+): (.+)$", harness.read_text(), re.MULTILINE)


def is_wrap(result: dict[str, Any], wraps: Iterable[tuple[str, str]]) -> str:
    """The wrap that a failed check is about, if any; a signed overflow never is."""
    text = result["description"]
    if not re.match(r"arithmetic overflow on unsigned ([-+*]|to \w+ type conversion) in ", text):
        return ""
    where = result.get("sourceLocation", {}).get("function", "")
    return next((f"{name}: {part}" for name, part in wraps if name == where and part in text), "")


def judge(results: list[dict[str, Any]], wraps: list[tuple[str, str]], cpu_s: float) -> Verdict:
    """Sort what CBMC found out about each check."""
    failed, wrapped, reached = [], set(), False
    for result in results:
        if result["status"] == "SUCCESS":
            continue
        if result["description"] == END:
            reached = True
        elif wrap := is_wrap(result, wraps):
            wrapped.add(wrap)
        else:
            place = result.get("sourceLocation", {})
            where = f"{Path(place.get('file', '?')).name}:{place.get('line', '?')}"
            failed.append(f"{where}: {result['description']}: {result['status']}")
    if not reached:
        failed.append(f"not true: {END}")
    return Verdict(len(results) - 1, tuple(sorted(failed)), tuple(sorted(wrapped)), cpu_s)


def run(proof: Proof, cpu_s: float) -> tuple[str, float]:
    """What CBMC prints and the CPU time of it and its solver, which end after so many seconds."""
    words = ["prlimit", f"--cpu={int(cpu_s)}", *proof.command()]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return text, used.ru_utime + used.ru_stime


def prove(proof: Proof, cpu_s: float) -> Verdict:
    """Have CBMC decide all checks of a proof."""
    text, used_s = run(proof, cpu_s)
    try:
        messages = json.loads(text)
    except json.JSONDecodeError:
        return Verdict(0, (), (), used_s, f"no verdict after {used_s:.0f} s of {cpu_s:.0f} s of CPU time")
    for message in messages:
        if "result" in message:
            return judge(message["result"], wraps_of(proof.harness), used_s)
    errors = [m["messageText"] for m in messages if m.get("messageType") == "ERROR"]
    return Verdict(0, (), (), used_s, "; ".join(errors)[:400] or f"no verdict in {cpu_s:.0f} s")


def cache_path(proof: Proof) -> Path:
    """Where the verdict is kept: by the preprocessed text, how it is proved, and by what."""
    words = ["gcc", "-E", "-P", "-D__CPROVER__", *paths_of(proof.include), str(proof.harness)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    tools = [str(path.stat().st_size) for path in (CBMC, Path("/usr/bin/cvc5"))]
    own = [Path(__file__).read_text(), proof.name, *WAYS[proof.way], *map(str, wraps_of(proof.harness)), *tools]
    return BUILD / "proofs" / f"{hashlib.sha256(chr(0).join([text, *own]).encode()).hexdigest()[:32]}.json"


def verdict_of(proof: Proof, cpu_s: float, anew: bool) -> Verdict:
    """The verdict that is kept, or a new one."""
    kept = cache_path(proof)
    if kept.exists() and not anew:
        fields = json.loads(kept.read_text())
        return Verdict(fields["checks"], (), tuple(fields["wrapped"]), 0)
    verdict = prove(proof, cpu_s)
    if not verdict.failed and not verdict.error:
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"checks": verdict.checks, "wrapped": verdict.wrapped}))
        part.replace(kept)
    return verdict


def functions_of(header: Path) -> list[str]:
    """The functions that a header defines."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
    return re.findall(r"^static inline [^;{(]*?(\w+)\([^;{]*\)\s*\{", text, re.MULTILINE)


def unproved(harness: Path, include: Path) -> list[str]:
    """Functions of the header that no proof of its file goes through, by clang's own count."""
    header = include / "hetcc" / f"{harness.stem}.h"
    words = ["gcc", "-E", "-P", *paths_of(include), str(harness)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    words = ["clang", "-xc", "-std=gnu11", "-fsyntax-only", "-Wunused-function", "-"]
    warnings = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stderr
    unused = set(re.findall(r"unused function '(\w+)'", warnings))
    return [name for name in functions_of(header) if name in unused]


def out_of_date(harness: Path, verdicts: Iterable[Verdict]) -> list[str]:
    """Wraps that are named and cannot be."""
    seen = {wrap for verdict in verdicts for wrap in verdict.wrapped}
    return [wrap for name, part in wraps_of(harness) if (wrap := f"{name}: {part}") not in seen]


def report(verdicts: dict[Proof, Verdict], include: Path) -> Iterator[tuple[bool, str, list[str]]]:
    """For each proof and each file: is it well, its line, what is wrong."""
    for proof, verdict in verdicts.items():
        wrong = [*verdict.failed, *([verdict.error] if verdict.error else [])]
        time = f"{verdict.cpu_s:.1f} s" if verdict.cpu_s else "kept"
        yield not wrong, f"{proof.label()}: {verdict.checks} checks, {time}", wrong
    for harness in sorted({proof.harness for proof in verdicts}):
        mine = [verdict for proof, verdict in verdicts.items() if proof.harness == harness]
        wrong = [f"no proof goes through {name}()" for name in unproved(harness, include)]
        if not any(verdict.failed or verdict.error for verdict in mine):
            wrong += [f"never wraps: {wrap}" for wrap in out_of_date(harness, mine)]
        yield not wrong, f"{harness.stem}: all functions, no wrap that cannot be", wrong


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", nargs="*", metavar="NAME", help="header, without .h (default: all)")
    parser.add_argument("--proof", action="append", metavar="NAME", help="this proof alone")
    parser.add_argument("--include", type=Path, default=TOP / "include", help="take hetcc/*.h from there")
    parser.add_argument("--anew", action="store_true", help="prove again what was proved")
    parser.add_argument("--cpu", type=float, default=CPU_S, metavar="S", help="for each proof (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at once (default: %(default)s)")
    return parser.parse_args()


def main() -> int:
    """Prove what is named."""
    args = arguments()
    if not CBMC.exists():
        print("prove.py: CBMC is missing: run tools/setup.sh --check", file=sys.stderr)
        return 2
    names = args.headers or sorted(path.stem for path in HARNESSES.glob("*.c"))
    proofs = [proof for name in names for proof in proofs_of(HARNESSES / f"{name}.c", args.include)]
    proofs = [proof for proof in proofs if not args.proof or proof.name in args.proof]
    with ThreadPoolExecutor(args.jobs) as pool:
        found = pool.map(lambda proof: verdict_of(proof, args.cpu, args.anew), proofs)
        verdicts = dict(zip(proofs, found, strict=True))
    lines = list(report(verdicts, args.include))
    if args.proof:
        lines = lines[: len(proofs)]
    print(f"KTAP version 1\n1..{len(lines)}")
    for number, (well, text, wrong) in enumerate(lines, 1):
        print(f"{'ok' if well else 'not ok'} {number} - {text}", *(f"# {line}" for line in wrong), sep="\n")
    failed = sum(not well for well, _, _ in lines)
    total_s = sum(verdict.cpu_s for verdict in verdicts.values())
    print(f"# {len(lines) - failed} passed, {failed} failed, {total_s:.0f} s of CPU time")
    return 1 if failed or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
