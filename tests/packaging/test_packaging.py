# SPDX-License-Identifier: GPL-2.0
"""DKMS, Debian package and release, each from installation to the last file removed; the hetcc command.

What is installed goes to a copy-on-write view of this machine (overlayfs, in memory), without a network.
"""

import hashlib
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from commands import Done, Hetlab
from hetlab.model import congestion
from hetlab.paths import BUILD, TOP

pytestmark = pytest.mark.build
COMMAND = TOP / "tools" / "hetcc"

GUEST = Path(__file__).with_name("hetcc_guest.py")
CASES = re.findall(r"^def case_(\w+)\(\) ", GUEST.read_text(), re.MULTILINE)
VERSION = re.findall(r'HETCC_VERSION\s+"(.*)"', (TOP / "include" / "hetcc" / "version.h").read_text())[0]
NAMES = sorted(set(congestion.ours().values()))
# What DKMS and depmod keep for everybody, and places that are no part of the installation
NOT_OURS = re.compile(
    r"var/lib/dkms/mok\.(key|pub)|usr/lib/modules/[^/]*/(modules\..*|updates(/dkms)?)"
    r"|(tmp|run|root|proc|dev|home)(/.*)?|var/(log|cache|tmp|lib/dpkg)(/.*)?"
)
VIEW = """
mount -t tmpfs tmpfs {memory}
mkdir {memory}/upper {memory}/work {memory}/root
mount -t overlay overlay -o lowerdir=/,upperdir={memory}/upper,workdir={memory}/work {memory}/root
mount -t proc proc {memory}/root/proc
mount --bind /dev {memory}/root/dev
mount -t tmpfs tmpfs {memory}/root/tmp
mkdir -p {memory}/root{top}
mount --bind {top} {memory}/root{top}
chroot {memory}/root sh -euxc {script}
echo {mark}
cd {memory}/upper
find . -printf '%P\n'
"""
MARK = "--- left:"
# Fields of struct tcp_info that are no bit fields, and where the hetcc command has them
LAYOUT = """
from hetcc.diag import TcpInfo
for name, _, *bits in TcpInfo._fields_:
    if not bits:
        print(name, getattr(TcpInfo, name).offset, getattr(TcpInfo, name).size)
"""


def run(*args: str | Path, cwd: Path = TOP, **env: str) -> Done:
    """Run something; a make that calls us must not leak in."""
    clean = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "HETCC_BUILD"}}
    command = [str(a) for a in args]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=1800, check=False, env=clean | env)


def ok(done: Done) -> str:
    """Its output, if it succeeded."""
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def kernel(series: str) -> str:
    """Name of an installed kernel of a series that has headers."""
    found = sorted(Path("/lib/modules").glob(f"{series}.*-amd64"))
    assert found, f"no headers of {series}: tools/setup.sh --check"
    return found[-1].name


def in_view(script: str, memory: Path) -> tuple[str, list[str]]:
    """Run a script in the view, as root; its output, and what is left that was not there before."""
    assert os.geteuid() == 0, "needs root: installs into a view of this machine"
    view = VIEW.format(memory=memory, top=TOP, script=shlex.quote(f"cd {TOP}\n{script}"), mark=MARK)
    done = run("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-euc", view)
    text, left = ok(done).split(f"{MARK}\n")
    new = [path for path in left.splitlines() if path and not NOT_OURS.fullmatch(path)]
    return text + done.stderr, [path for path in new if not Path("/", path).is_dir()]


@pytest.fixture(scope="session")
def package() -> Path:
    """The Debian package."""
    return Path(ok(run("make", "-s", "deb")).strip())


def test_dkms(tmp_path: Path) -> None:
    """Two kernels, one after the other, modules that say which version; then nothing is left."""
    old, new = kernel("6.1"), kernel("6.12")
    check = "; ".join(f"modinfo -k {k} -F version {' '.join(NAMES)}" for k in (old, new))
    text, left = in_view(
        f"""
        make -s dkms-install KVER={old}
        make -s dkms-install KVER={new}
        dkms status hetcc/{VERSION}
        {check}
        modinfo -k {new} -F signer tcp_santacruz
        ls /usr/src/hetcc-{VERSION}
        cat /usr/lib/modules-load.d/hetcc.conf
        hetcc status
        man -w hetcc
        make -s dkms-uninstall
        ! command -v hetcc
        ! modinfo -k {new} tcp_santacruz
        """,
        tmp_path,
    )
    for k in (old, new):
        assert f"hetcc/{VERSION}, {k}, x86_64: installed" in text, text
    lines = text.splitlines()
    assert lines.count(VERSION) == 6, text
    assert "DKMS module signing key" in lines
    assert {"Kbuild", "dkms.conf", "include", *(f"{name}.c" for name in NAMES)} <= set(lines)
    assert "Makefile" not in lines and "tests" not in lines
    assert "eprecated" not in text, text
    assert left == []


def test_dkms_refuses(tmp_path: Path) -> None:
    """Without headers, and what it does not know."""
    done = run("tools/packaging/dkms.sh", "install", KVER="5.0-none")
    assert done.returncode == 1 and "no headers for kernel 5.0-none" in done.stderr, done.stderr
    done = run("tools/packaging/dkms.sh", "purge")
    assert done.returncode == 1 and "install or uninstall" in done.stderr


def test_versions_that_differ(tmp_path: Path) -> None:
    """Neither package nor release is made of them."""
    for name in ("dkms.conf", "include", "tools/ci", "tools/packaging", "Makefile"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        ok(run("cp", "-r", TOP / name, tmp_path / name))
    conf = tmp_path / "dkms.conf"
    conf.write_text(conf.read_text().replace(f'"{VERSION}"', '"9"'))
    done = run("make", "deb", cwd=tmp_path)
    assert done.returncode != 0 and f"dkms.conf says 9, include/hetcc/version.h {VERSION}" in done.stderr, done.stderr


def test_package_contents(package: Path) -> None:
    """What DKMS builds from, the command, its page; nothing that selects anything."""
    files = {line.split()[-1] for line in ok(run("dpkg-deb", "-c", package)).splitlines() if not line.startswith("d")}
    sources = {f"./usr/src/hetcc-{VERSION}/{name}" for name in ("Kbuild", "dkms.conf", *(f"{n}.c" for n in NAMES))}
    headers = {f"./usr/src/hetcc-{VERSION}/include/hetcc/{p.name}" for p in (TOP / "include" / "hetcc").glob("*.h")}
    pages = ("install.md", "modules.md", "santacruz.md", "westwood_fr.md", "hybla_ext.md")
    shown = {n for p in pages for n in re.findall(r"\((figures/[^)#]+)", (TOP / "docs" / p).read_text())}
    assert len(shown) > 20
    docs = {f"./usr/share/doc/hetcc-dkms/{n}" for n in ("README.gz", "changelog.gz", "copyright", *pages, *shown)}
    example = "./usr/share/doc/hetcc-dkms/examples/90-hetcc.conf"
    others = {"./usr/sbin/hetcc", "./usr/share/man/man8/hetcc.8.gz", "./usr/lib/modules-load.d/hetcc.conf", example}
    assert files == sources | headers | docs | others
    text = ok(run("sh", "-c", f"dpkg-deb --fsys-tarfile {package} | tar -xO {example}"))
    assert all(line.startswith("#") for line in text.splitlines())


def test_package_in_a_view(package: Path, tmp_path: Path) -> None:
    """dpkg builds for the kernel that has headers; a purge leaves nothing."""
    old, new = kernel("6.1"), kernel("6.12")
    text, left = in_view(
        f"""
        mount -t tmpfs tmpfs /lib/modules/{new}
        dpkg -i {package}
        modinfo -k {old} -F version {" ".join(NAMES)}
        hetcc status --json | grep installed
        ! tools/packaging/dkms.sh install
        dpkg -P hetcc-dkms
        ! modinfo -k {old} tcp_santacruz
        """,
        tmp_path,
    )
    assert text.splitlines().count(VERSION) == 3, text
    assert "the package hetcc-dkms is installed" in text, text
    assert "headers" in text, text
    assert left == []


@pytest.mark.virtual
def test_removal_is_refused_while_in_use(hetlab: Hetlab, package: Path, tmp_path: Path) -> None:
    """What the package runs before it is removed, and make dkms-uninstall."""
    ok(run("dpkg-deb", "-e", package, tmp_path))
    assert ok(hetlab("exec", "--", "python3", GUEST, "removal", tmp_path / "prerm")).endswith("done\n")


def test_release(tmp_path: Path) -> None:
    """Twice the same bytes; builds modules and package without git and without a network."""
    sums = []
    for _ in range(2):
        tarball = Path(ok(run("make", "-s", "dist")).strip())
        sums.append(hashlib.sha256(tarball.read_bytes()).hexdigest())
    assert tarball == BUILD / "dist" / f"hetcc-{VERSION}.tar.xz"
    assert sums[0] == sums[1]
    assert (tarball.parent / "SHA256SUMS").read_text() == f"{sums[0]}  {tarball.name}\n"
    ok(run("tar", "-xf", tarball, "-C", tmp_path))
    inside = tmp_path / f"hetcc-{VERSION}"
    alone = ("unshare", "--net", "--map-root-user", "make", "-s")
    ok(run(*alone, f"KDIR=/lib/modules/{kernel('6.1')}/build", cwd=inside))
    assert sorted(path.stem for path in inside.glob("*.ko")) == NAMES
    made = Path(ok(run(*alone, "deb", cwd=inside)).strip())
    assert made == inside / "build" / "deb" / f"hetcc-dkms_{VERSION}_all.deb" and made.is_file()
    assert "git" in run("make", "-s", "dist", cwd=inside).stderr


def test_package_twice(package: Path) -> None:
    """The same bytes, whatever the umask."""
    once = package.read_bytes()
    twice = Path(ok(run("sh", "-c", "umask 077; make -s deb")).strip())
    assert twice == package and twice.read_bytes() == once


def test_one_file(tmp_path: Path) -> None:
    """It is executable, does what the directory does, and is the same whatever else is in the directory."""
    made = tmp_path / "sbin" / "hetcc"
    maker = tmp_path / "tools" / "packaging" / "hetcc_file.py"
    maker.parent.mkdir(parents=True)
    ok(run("cp", TOP / "tools" / "packaging" / "hetcc_file.py", maker))
    ok(run("cp", "-r", COMMAND, tmp_path / "tools"))
    sums = []
    for umask in ("022", "077"):
        ok(run("sh", "-c", f"umask {umask}; {maker} {made}"))
        sums.append(hashlib.sha256(made.read_bytes()).hexdigest())
        assert made.stat().st_mode & 0o777 == 0o755
        ok(run("python3", "-m", "compileall", tmp_path / "tools" / "hetcc"))
    assert any(tmp_path.rglob("__pycache__")) and sums[0] == sums[1]
    for args in (("--help",), ("status", "--help"), ("route", "192.0.2.1/24", "santacruz"), ()):
        one, other = run(made, *args, cwd=tmp_path), run("python3", COMMAND, *args)
        assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
        assert "usage: hetcc" in one.stdout + one.stderr


@pytest.mark.parametrize(
    ("taint", "signer", "notes"),
    [
        ("OE", "", ["out of tree", "unsigned: Secure Boot would refuse it"]),
        ("O", "a key", ["out of tree", "signed by a key"]),
        (
            "OE",
            "DKMS",
            ["out of tree", "signed by DKMS, whose key this kernel does not have: Secure Boot would refuse it"],
        ),
    ],
)
def test_status_says_what_a_signature_is_worth(taint: str, signer: str, notes: list[str]) -> None:
    code = f"from hetcc.modules import signature; print(signature({taint!r}, {signer!r}) == {notes!r})"
    assert ok(run("python3", "-c", code, PYTHONPATH=str(COMMAND))) == "True\n"


FOLDED = """
import contextlib, io, os
from hetcc.status import say
class Terminal(io.StringIO):
    def isatty(self):
        return True
with contextlib.redirect_stdout(Terminal()) as shown:
    say(os.environ["LINE"])
print(shown.getvalue(), end="")
say(os.environ["LINE"])
"""


@pytest.mark.fast
def test_status_is_folded_between_words_on_a_terminal() -> None:
    """Lines of 160 characters were cut within words; what is no terminal gets them whole."""
    line = f"{'tcp_santacruz':16} {' '.join(f'parameter_{i}={i}' for i in range(20))}"
    *folded, whole = ok(run("python3", "-c", FOLDED, PYTHONPATH=str(COMMAND), LINE=line, COLUMNS="80")).splitlines()
    assert whole == line
    assert max(map(len, folded)) <= 80 and len(folded) > 3
    assert [text[:17].strip() for text in folded] == ["tcp_santacruz", *[""] * (len(folded) - 1)]
    assert " ".join(" ".join(folded).split()) == " ".join(line.split())


def test_tcp_info(tmp_path: Path) -> None:
    """The fields stand where linux/tcp.h has them."""
    ours = ok(run("python3", "-c", LAYOUT, PYTHONPATH=str(COMMAND)))
    names = [line.split()[0] for line in ours.splitlines()]
    show = "".join(
        f'printf("{n} %zu %zu\\n", offsetof(struct tcp_info, {n}), sizeof(((struct tcp_info *)0)->{n}));' for n in names
    )
    source = tmp_path / "layout.c"
    source.write_text(f"#include <linux/tcp.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{ {show} }}\n")
    ok(run("gcc", "-o", tmp_path / "layout", source))
    assert names[-1] == "tcpi_delivery_rate" and ok(run(tmp_path / "layout")) == ours


@pytest.mark.virtual
@pytest.mark.parametrize("case", CASES)
def test_hetcc(hetlab: Hetlab, case: str) -> None:
    """The command on a kernel of its own."""
    assert ok(hetlab("exec", "--", "python3", GUEST, case)).endswith("done\n")


def test_manual() -> None:
    """Every command and option is in it, and groff has no complaint."""
    page = run("man", "--warnings", "-l", TOP / "docs" / "hetcc.8", MANWIDTH="100")
    assert page.returncode == 0 and not page.stderr, page.stderr
    source = (COMMAND / "hetcc" / "cli.py").read_text()
    commands, options = re.findall(r'add\("(\w+)"', source), re.findall(r'"(--[\w-]+)"', source)
    assert len(commands) == 7 and len(options) == 9
    for command in commands:
        assert re.search(rf"^ +hetcc {command}", page.stdout, re.MULTILINE), command
    for option in options:
        assert option in page.stdout, option


def declared() -> dict[str, dict[str, tuple[float, float, float]]]:
    """Parameters of each module in the C sources: default, smallest and largest value."""
    words = {"HYBLA_RENO": "0", "HYBLA_SHARE": "2"}
    found: dict[str, dict[str, tuple[float, float, float]]] = {}
    for name in NAMES:
        text = re.sub("|".join(words), lambda m: words[m[0]], (TOP / f"{name}.c").read_text())
        rows = re.findall(r"^CC_PARAM_(UINT|MILLI)\((\w+), (\d+), (\d+), (\d+),", text, re.MULTILINE)
        assert len(rows) == text.count("CC_PARAM_") - text.count("include/hetcc/cc_param"), name
        scale = {"UINT": 1, "MILLI": 1000}
        found[name] = {row[1]: tuple(int(v) / scale[row[0]] for v in row[2:]) for row in rows}  # type: ignore[misc]
    return found


def test_parameters_are_documented() -> None:
    """Manual page and docs/modules.md have every parameter of every module, its default and its range."""
    rows = {
        "docs/hetcc.8": r"^\.SS (tcp_\w+)|^\.B (\w+)\n([\d.]+) \(([\d.]+?)\.\.([\d.]+)",
        "docs/modules.md": r"^## .*\((tcp_\w+)\)|^\| (\w+) \| ([\d.]+) \| (\d[\d.]*?)(?:\.\.|, (?:1, )?)([\d.]+)",
    }
    for path, pattern in rows.items():
        said: dict[str, dict[str, tuple[float, float, float]]] = {}
        module = ""
        for found in re.finditer(pattern, (TOP / path).read_text(), re.MULTILINE):
            module = found[1] or module
            if found[2]:
                said.setdefault(module, {})[found[2]] = (float(found[3]), float(found[4]), float(found[5]))
        assert said == declared(), path
