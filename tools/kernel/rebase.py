#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Carry santacruz_opt.patch, or the lab's own patches, over to another kernel series.

The patch for 6.12 is the one source: what it changes is merged, three ways,
into the files of the other series. Where that conflicts, lines that are only
inserted go to the same place if there is one, else the series' own text stays;
tools/kernel/rebase/SERIES.patch (lab-SERIES.patch) has the rest: it applies after
the merge, without fuzz. Its first line has a hash of all that conflicts; if that
changes in the patch for 6.12, this stops.
"""

import argparse
import difflib
import email
import email.message
import hashlib
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
TRUTH = TOP / "santacruz_opt.patch"
LAB = TOP / "tools" / "kernel" / "patches"
REBASE = TOP / "tools" / "kernel" / "rebase"
BUILD = TOP / "build"
BASE = "6.12"
SERIES = ["6.1", "7.2"]


class RebaseError(Exception):
    """What went wrong, and where."""


@dataclass(frozen=True)
class Carried:
    """What is carried over, and to which series."""

    series: str
    lab: bool = False

    @property
    def text(self) -> str:
        """The patch for 6.12, the lab's in their order."""
        return "\n".join(p.read_text() for p in sorted(LAB.glob("*.patch"))) if self.lab else TRUTH.read_text()

    @property
    def files(self) -> list[str]:
        """Files that it touches, in its order, each once."""
        lines = (line for line in self.text.splitlines() if line.startswith("+++ b/"))
        return list(dict.fromkeys(line.removeprefix("+++ b/") for line in lines))

    @property
    def work(self) -> Path:
        """Directory of its trees."""
        return BUILD / "rebase" / ("lab-" * self.lab + self.series)

    @property
    def rest(self) -> Path:
        """Patch with what does not merge."""
        return REBASE / f"{'lab-' * self.lab}{self.series}.patch"

    @property
    def out(self) -> Path:
        """The generated patch."""
        return BUILD / f"{'lab' if self.lab else 'santacruz_opt'}-{self.series}.patch"

    @property
    def head(self) -> str:
        """What the generated patch says of itself."""
        if not self.lab:
            return message(self.text, self.series)
        return f"Subject: what hetlab changes (lab only)\n\n[rebased on {self.series} by tools/kernel/rebase.py]\n\n"


@dataclass
class Trees:
    """Directories with the touched files of the two kernels, before and after."""

    work: Path
    base: Path = field(init=False)
    patched: Path = field(init=False)
    series: Path = field(init=False)
    ported: Path = field(init=False)

    def __post_init__(self) -> None:
        self.base, self.patched = self.work / "base", self.work / "patched"
        self.series, self.ported = self.work / "series", self.work / "ported"


def call(*args: str | Path, cwd: Path = TOP, stdin: str | None = None, fine: tuple[int, ...] = (0,)) -> str:
    """Output of a command that ends with a status that is fine."""
    done = subprocess.run(
        [str(a) for a in args], input=stdin, cwd=cwd, capture_output=True, text=True, check=False, errors="replace"
    )
    if done.returncode not in fine:
        raise RebaseError(f"{args[0]} failed in {cwd}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def message(truth: str, series: str) -> str:
    """Head of the one patch: what each of the series says, with its subject; whose they are stands in the first."""
    mails = email_texts(truth)
    first = mails[0]
    head = f"From: {first['From']}\nDate: {first['Date']}\nSubject: [PATCH] tcp: Santa Cruz option\n"
    said = [f"[{BASE}'s series as one, rebased on {series} by tools/kernel/rebase.py]"]
    for mail in mails:
        text = str(mail.get_payload()).partition("\n---\n")[0]
        body = "\n".join(line for line in text.splitlines() if not line.startswith("Signed-off-by: "))
        subject = re.sub(r"^\[.*?\] ", "", " ".join(mail["Subject"].split()))
        said.append(f"{subject}:\n{body.strip()}")
    body = "\n\n".join(said)
    return f"{head}\n{body}\n\nSigned-off-by: {first['From']}\n"


def email_texts(mbox: str) -> list[email.message.Message]:
    """The mails of a mailbox."""
    texts = re.split(r"^From \S+ Mon Sep 17 00:00:00 2001\n", mbox, flags=re.M)[1:]
    return [email.message_from_string(text) for text in texts]


def unpack(series: str, to: Path, files: list[str]) -> None:
    """Take files from a series' source, unless they are there already; those it does not have stay away."""
    tarball = Path(call("tools/ci/kernel_source.sh", series).strip())
    stat = tarball.stat()
    key = f"{stat.st_size} {stat.st_mtime_ns} {files}"
    stamp = to.with_suffix(".key")
    if stamp.is_file() and stamp.read_text() == key:
        return
    print(f"rebase: unpacking {tarball.name}", file=sys.stderr)
    call("rm", "-rf", to)
    to.mkdir(parents=True)
    # tar ends with 2 when a file is not in the archive
    names = [f"linux-source-{series}/{name}" for name in files]
    call("tar", "-xf", tarball, "-C", to, "--strip-components=1", *names, fine=(0, 2))
    if not any(to.rglob("*.c")):
        raise RebaseError(f"{tarball} has no {files[0]}")
    stamp.write_text(key)


def apply(patch: str, to: Path) -> None:
    """Apply a patch without fuzz."""
    call("patch", "-d", to, "-p1", "--fuzz=0", "--no-backup-if-mismatch", stdin=patch)


@dataclass
class Conflict:
    """The three sides of a conflict: the patched text, the text before, the other series'."""

    ours: list[str] = field(default_factory=list)
    base: list[str] = field(default_factory=list)
    theirs: list[str] = field(default_factory=list)

    def changes(self) -> list[tuple[str, int, int, int, int]]:
        """What the patch does, as of difflib."""
        matcher = difflib.SequenceMatcher(None, self.base, self.ours, autojunk=False)
        return [code for code in matcher.get_opcodes() if code[0] != "equal"]

    def said(self) -> list[str]:
        """Lines that the patch removes and adds."""
        out = []
        for _tag, i1, i2, j1, j2 in self.changes():
            out += ["-" + text for text in self.base[i1:i2]] + ["+" + text for text in self.ours[j1:j2]]
        return out

    def resolved(self) -> list[str]:
        """The series' text, with what the patch inserts if there is but one place for that."""
        changes = self.changes()
        tag, at, _end, j1, j2 = changes[0]
        if len(changes) > 1 or tag != "insert":
            return self.theirs
        if not self.theirs or at == len(self.base):
            return self.theirs + self.ours[j1:j2]
        return self.ours[j1:j2] + self.theirs if at == 0 else self.theirs


def resolve(merged: str) -> tuple[str, list[str]]:
    """Text of a merge with its conflicts resolved, and what the patch wanted to change there."""
    out: list[str] = []
    said: list[str] = []
    conflict, side = Conflict(), out
    for line in merged.splitlines():
        if line.startswith("<<<<<<< "):
            conflict = Conflict()
            side = conflict.ours
        elif line.startswith("||||||| "):
            side = conflict.base
        elif line == "=======" and side is conflict.base:
            side = conflict.theirs
        elif line.startswith(">>>>>>> "):
            out += conflict.resolved()
            said += conflict.said()
            side = out
        else:
            side.append(line)
    return "\n".join(out) + "\n", said


def merge(trees: Trees, name: str) -> list[str]:
    """Merge the patch into one file of the series; returns what the patch wanted where that conflicts."""
    base, patched, series = (tree / name for tree in (trees.base, trees.patched, trees.series))
    if base.exists() and not series.exists():
        return [f"{name} is absent"]
    result = trees.ported / name
    result.parent.mkdir(parents=True, exist_ok=True)
    if not base.exists():
        result.write_bytes(patched.read_bytes())
        return []
    # The status is the number of conflicts
    merged = call("git", "merge-file", "-p", "--zdiff3", patched, base, series, fine=tuple(range(128)))
    text, said = resolve(merged)
    result.write_text(text)
    return said


def prepare(what: Carried) -> Trees:
    """The files of both kernels, and the patch in those of 6.12."""
    trees = Trees(what.work)
    unpack(BASE, trees.base, what.files)
    unpack(what.series, trees.series, what.files)
    for tree in (trees.patched, trees.ported):
        call("rm", "-rf", tree)
    call("cp", "-a", trees.base, trees.patched)
    apply(what.text, trees.patched)
    return trees


def merge_all(trees: Trees, what: Carried) -> str:
    """Merge all files; returns the hash of what conflicts."""
    said = [line for name in sorted(what.files) for line in merge(trees, name)]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]


def difference(old: Path, new: Path, files: list[str]) -> str:
    """Patch between two trees, in the form of the kernel's."""
    out = []
    for name in files:
        if not (new / name).exists():
            continue
        there = (old / name).exists()
        before, label = (old / name, f"a/{name}") if there else (Path("/dev/null"), "/dev/null")
        mode = "" if there else "new file mode 100644\n"
        text = call("diff", "-up", "--label", label, "--label", f"b/{name}", before, new / name, fine=(0, 1))
        out += [f"diff --git a/{name} b/{name}\n{mode}{text}"] if text else []
    return "".join(out)


def generate(series: str, lab: bool = False) -> Path:
    """Merge, apply the rest, write the patch; returns its name."""
    what = Carried(series, lab)
    trees = prepare(what)
    rest = what.rest
    want = f"Conflicts of the merge: {merge_all(trees, what)}"
    found = rest.read_text().splitlines()[0] if rest.is_file() else "no such file"
    if want != found:
        raise RebaseError(
            f"{rest.relative_to(TOP)} does not fit any more ({found!r}, not {want!r}):\n"
            f"other changes conflict now. Edit {trees.ported}, then --record."
        )
    apply(rest.read_text(), trees.ported)
    what.out.write_text(f"{what.head}---\n{difference(trees.series, trees.ported, what.files)}")
    return what.out


def record(series: str, lab: bool = False) -> Path:
    """Take what is in the ported tree as the result; returns the name of the patch with the rest."""
    what = Carried(series, lab)
    edited, ported = what.work.with_name(f"{what.work.name}.edited"), what.work / "ported"
    if not ported.is_dir():
        raise RebaseError(f"--record: {ported} is not there; run without --record first")
    call("rm", "-rf", edited)
    call("cp", "-a", ported, edited)
    trees = prepare(what)
    found = merge_all(trees, what)
    what.rest.write_text(f"Conflicts of the merge: {found}\n" + difference(trees.ported, edited, what.files))
    return what.rest


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description="Make build/santacruz_opt-SERIES.patch from santacruz_opt.patch, which is for Linux 6.12."
    )
    parser.add_argument("series", choices=SERIES, help="kernel series to carry it over to")
    parser.add_argument(
        "--lab",
        action="store_true",
        help="the lab's own patches (tools/kernel/patches) instead: makes build/lab-SERIES.patch",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="take build/rebase/[lab-]SERIES/ported, edited by hand, as the result: writes what does not merge to "
        "tools/kernel/rebase/[lab-]SERIES.patch",
    )
    args = parser.parse_args()
    try:
        print((record if args.record else generate)(args.series, args.lab))
    except RebaseError as error:
        print(f"rebase: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
