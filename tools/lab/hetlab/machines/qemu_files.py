# SPDX-License-Identifier: GPL-2.0
"""Files of emulated machines: kernels of Debian with our modules, the root in memory."""

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from hetlab.build import identity
from hetlab.build import kernel as lab
from hetlab.errors import LabError
from hetlab.paths import BUILD, GUEST, TOP, VENV

VM = BUILD / "vm"
SERIES = ("6.12", "6.1")
INIT = GUEST / "vm_init.sh"
# The tree's place in the guest
GUEST_TOP = Path("/hetcc")
INSTALL = "run tools/setup.sh --vm (as root)"
# Packages whose files make up the root, without what they only need to be installed
PACKAGES = (
    *("bash", "bsdutils", "coreutils", "dash", "debianutils", "diffutils", "findutils", "grep", "gzip", "hostname"),
    *("kmod", "libc-bin", "libc6", "login", "mawk", "mount", "procps", "sed", "tar", "util-linux", "util-linux-extra"),
    *("bpftool", "ethtool", "iperf3", "iproute2", "iputils-ping", "libstdc++6", "mininet", "net-tools", "tcpdump"),
    *("libpython3.11-minimal", "libpython3.11-stdlib", "python3-distutils", "python3-minimal", "python3.11-minimal"),
)
LEFT_OUT = re.compile(r"^/(usr/share|var|etc/(cron|pam|init)|usr/lib/(tmpfiles|systemd)|.*/(mininet/examples|gconv)/)")
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}


LINKS |= {"usr/bin/awk": "mawk", "usr/bin/which": "which.debianutils"}


ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "hosts: files\n",
}
DIRECTORIES = ("dev", "proc", "sys", "tmp", "run", "root", "var/tmp")
# Patterns of file names in our Python environment that only its developers need
DEVELOPMENT = (
    *("pip", "mypy*", "*mypyc*", "scapy", "setuptools", "hypothesis", "_pytest", "ruff*", "ast_serialize"),
    *("include", "tests", "libarrow_flight*"),
)
# Modules of the stock kernels that experiments may need, with what they depend on
MODULES = (
    "kernel/net/sched",
    "kernel/net/ipv4",
    "kernel/net/ipv6",
    "kernel/net/mptcp",
    "kernel/drivers/net/veth",
    "kernel/drivers/net/ifb",
    "kernel/drivers/net/dummy",
    "kernel/drivers/net/tun",
)


@dataclass(frozen=True)
class VmKernel:
    """A kernel that QEMU can boot.

    ``modules`` becomes /lib/modules/RELEASE; what is in its updates/dkms is loaded
    before anything runs. None: a monolithic kernel. ``key`` tells results apart.
    """

    release: str
    image: Path
    modules: Path | None
    key: str


def stock(console: Console, series: str) -> VmKernel:
    """Debian's kernel of a series, 6.1 or 6.12, with our modules built for it by DKMS; never installed."""
    release = _release(series)
    sources = lab.files_digest([*lab.module_sources(), *lab.qdisc_sources(), TOP / "dkms.conf"])
    plain, ours = VM / release, VM / f"{release}-{sources}"
    with lab.locked(VM):
        if not (plain / ".complete").exists():
            _fetch(console, release, plain)
        if not (ours / ".complete").exists():
            _with_ours(console, release, plain, ours)
    return VmKernel(release, plain / "vmlinuz", ours / "modules", release)


def hashes(kernel: VmKernel) -> dict[str, str]:
    """What a result was measured with."""
    modules = lab.files_digest([*lab.module_sources(), *lab.qdisc_sources()])
    return {"kernel": kernel.key, "modules": modules, "commit": identity.commit()}


def _release(series: str) -> str:
    """Newest release of a series whose headers are installed: without them no module can be built."""
    if series not in SERIES:
        raise LabError(f"--kernel {series}: one of {', '.join(SERIES)}")
    pattern = re.compile(rf"linux-headers-({re.escape(series)}\.\d+\S*?-amd64)")
    found = [m[1] for p in Path("/usr/src").iterdir() if (m := pattern.fullmatch(p.name)) and "-cloud" not in m[1]]
    if not found:
        raise LabError(f"no headers of Linux {series} below /usr/src: {INSTALL}")
    return max(found, key=lambda r: [int(n) for n in re.findall(r"\d+", r)])


def _fetch(console: Console, release: str, to: Path) -> None:
    """Image, configuration and the modules that we need, from Debian's package."""
    console.print(f"fetching Debian's kernel {release}")
    log = VM / f"{release}.log"
    log.unlink(missing_ok=True)
    draft = fresh(to)
    package = f"linux-image-{release}"
    lab.run(["sh", "-c", 'cd "$0" && apt-get -q download "$1"', str(draft), package], log, f"fetching {package}")
    deb = next(draft.glob("*.deb"))
    lab.run(["dpkg-deb", "-x", str(deb), str(draft / "all")], log, f"unpacking {package}")
    lab.run(["depmod", "-b", str(draft / "all"), release], log, "depmod")
    tree = draft / "all" / "lib" / "modules" / release
    for path in _chosen(tree):
        _keep(tree, path, draft / "modules")
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(tree / name, draft / "modules")
    for name in ("vmlinuz", "config"):
        shutil.copy(draft / "all" / "boot" / f"{name}-{release}", draft / name)
    deb.unlink()
    shutil.rmtree(draft / "all")
    _done(draft, to)


def fresh(to: Path) -> Path:
    """An empty directory in which something is made before it has its name."""
    draft = to.with_name(to.name + ".draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    return draft


def _done(draft: Path, to: Path) -> None:
    (draft / ".complete").touch()
    shutil.rmtree(to, ignore_errors=True)
    draft.rename(to)


def _chosen(tree: Path) -> list[str]:
    """Names of the modules to keep: those in MODULES and all that they depend on."""
    needs = {}
    for line in (tree / "modules.dep").read_text().splitlines():
        name, _, rest = line.partition(":")
        needs[name] = rest.split()
    wanted = [name for name in needs if name.startswith(tuple(f"{m}/" for m in MODULES))]
    wanted += [name for name in needs if name.split(".ko")[0] in MODULES]
    return sorted({name for one in wanted for name in (one, *needs[one])})


def _keep(tree: Path, name: str, to: Path) -> None:
    """Copy a module, unpacked: unpacking in the guest costs more."""
    target = to / name.removesuffix(".xz")
    target.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".xz"):
        with open(target, "wb") as out:
            subprocess.run(["xz", "-dc", str(tree / name)], stdout=out, check=True)
    else:
        shutil.copy(tree / name, target)


def _with_ours(console: Console, release: str, plain: Path, to: Path) -> None:
    """The kernel's modules and ours, as DKMS builds them in a private tree."""
    console.print(f"building the modules for {release} with DKMS")
    if not shutil.which("dkms"):
        raise LabError(f"dkms is missing: {INSTALL}")
    log = VM / f"{to.name}.log"
    log.unlink(missing_ok=True)
    draft = fresh(to)
    base = draft / "modules" / "lib" / "modules" / release
    shutil.copytree(plain / "modules", base)
    updates = base / "updates" / "dkms"
    updates.mkdir(parents=True)
    for ko in (*_dkms(draft, release, log), _qdisc(draft, release, log)):
        _keep(ko.parent, ko.name, updates)
    lab.run(["depmod", "-b", str(draft / "modules"), release], log, "depmod")
    base.rename(draft / "tree")
    shutil.rmtree(draft / "modules")
    (draft / "tree").rename(draft / "modules")
    shutil.rmtree(draft / "dkms")
    shutil.rmtree(draft / "qdisc")
    _done(draft, to)


def _dkms(draft: Path, release: str, log: Path) -> list[Path]:
    """Modules built by DKMS, in trees of its own, for a kernel that is not running."""
    conf = TOP / "dkms.conf"
    version = re.findall(r'^PACKAGE_VERSION="(.+)"$', conf.read_text(), re.M)[0]
    source, tree = draft / "dkms" / f"hetcc-{version}", draft / "dkms" / "tree"
    for path in [*lab.module_sources(), conf]:
        target = source / path.relative_to(TOP)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    tree.mkdir()
    trees = ["--dkmstree", str(tree), "--sourcetree", str(source.parent)]
    for args in (["add"], ["build", "-k", release]):
        lab.run(["dkms", args[0], *trees, f"hetcc/{version}", *args[1:]], log, f"dkms {args[0]}")
    found = sorted((tree / "hetcc" / version / release).glob("*/module/*.ko*"))
    if not found:
        raise LabError(f"dkms built no module; {log}")
    return found


def _qdisc(draft: Path, release: str, log: Path) -> Path:
    """The lab's own qdisc, which no package has."""
    source = draft / "qdisc"
    source.mkdir()
    lab.stage_qdisc(source)
    make = ["make", "-C", f"/usr/src/linux-headers-{release}", f"M={source}", "modules"]
    lab.run(make, log, "building sch_replay")
    return source / "sch_replay.ko"


def root(console: Console) -> Path:
    """The root file system as a cpio archive, made anew when a file in it has changed."""
    files = _system_files()
    stats = [f"{p} {s.st_size} {s.st_mtime_ns}" for p in files for s in [os.lstat(p)]]
    more = [str(LINKS), str(ETC), str(DIRECTORIES)]
    path = VM / f"root-{lab.digest(*(line.encode() for line in stats + more))}.cpio"
    with lab.locked(VM):
        if not path.exists():
            console.print("making the root file system of the emulated machines")
            for old in VM.glob("root-*.cpio"):
                old.unlink()
            _make_root(files, path)
    return path


def environment(console: Console) -> Path:
    """What programs need of our Python environment, as a cpio archive: without its development tools."""
    path = VM / f"environment-{lab.digest(str(DEVELOPMENT).encode(), (VENV / '.requirements').read_bytes())}.cpio"
    with lab.locked(VM):
        if not path.exists():
            console.print("packing the Python environment for emulated machines")
            tree = fresh(path.with_suffix(""))
            target = tree / str(GUEST_TOP)[1:] / "build" / "venv"
            target.parent.mkdir(parents=True)
            shutil.copytree(VENV.resolve(), target, symlinks=True, ignore=shutil.ignore_patterns(*DEVELOPMENT))
            pack(tree, path)
            shutil.rmtree(tree)
    return path


@functools.cache
def _system_files() -> list[Path]:
    """Files of this machine that go into the root: packages, compiled Python, libraries."""
    query = subprocess.run(["dpkg-query", "-L", *PACKAGES], capture_output=True, text=True, check=False)
    if query.returncode:
        raise LabError(f"{query.stderr.strip()}\n{INSTALL}")
    names = {Path(line) for line in query.stdout.splitlines() if line.startswith("/") and not LEFT_OUT.match(line)}
    found = {p.parent.resolve() / p.name for p in names if not p.is_dir()}
    found |= {c for p in found if p.suffix == ".py" for c in p.parent.glob(f"__pycache__/{p.stem}.cpython-*.pyc")}
    return sorted(found | _libraries(found))


def _libraries(files: set[Path]) -> set[Path]:
    """Shared libraries of programs and libraries, with the links that lead to them."""
    programs = [str(p) for p in files if not p.is_symlink() and _is_elf(p)]
    out = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    libraries: set[Path] = set()
    for name in re.findall(r"(?:=> )?(/\S+) \(0x", out):
        link = Path(name)
        libraries |= {link.parent.resolve() / link.name, link.resolve()}
    return libraries


def _is_elf(path: Path) -> bool:
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def _make_root(files: list[Path], path: Path) -> None:
    tree = fresh(path.with_suffix(""))
    for name, target in LINKS.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).symlink_to(target)
    for p in files:
        copy(p, tree / str(p)[1:])
    for directory in DIRECTORIES:
        (tree / directory).mkdir(parents=True, exist_ok=True)
    for name, text in ETC.items():
        (tree / "etc" / name).write_text(text)
    pack(tree, path)
    shutil.rmtree(tree)


def copy(source: Path, target: Path) -> None:
    """Copy a file, a link or a directory with its times; Python compares those of its compiled files."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def pack(tree: Path, to: Path) -> None:
    """A cpio archive of a tree, all of it root's."""
    draft = to.with_name(to.name + ".draft")
    pipeline = 'cd "$0" && find . -mindepth 1 -print0 | LC_ALL=C sort -z | cpio -0 -o -H newc -R 0:0 --quiet >"$1"'
    done = subprocess.run(["sh", "-c", pipeline, str(tree), str(draft)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"packing {tree}: {done.stderr.strip()}")
    draft.rename(to)
