# SPDX-License-Identifier: GPL-2.0
"""hetlab exec: status and output passed through, scripts of ours and of others, the limit."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from rich.console import Console

from commands import Hetlab
from hetlab.build import kernel
from hetlab.errors import LabError
from hetlab.machines import exec_qemu, variables
from hetlab.paths import BUILD, TOP

pytestmark = pytest.mark.virtual


def test_status_and_streams(hetlab: Hetlab, tmp_path: Path) -> None:
    done = hetlab("exec", "--", "sh", "-c", "echo to out; echo to err >&2; pwd; exit 7", cwd=tmp_path)
    assert done.returncode == 7
    assert done.stdout.splitlines() == ["to out", str(tmp_path)]
    assert "to err" in done.stderr


def test_virtual_time(hetlab: Hetlab) -> None:
    """An hour passes in less than the limit of 60 s."""
    done = hetlab("exec", "--wall-limit", "60", "--", "sh", "-c", "sleep 3600; cut -d. -f1 /proc/uptime")
    assert done.returncode == 0
    assert int(done.stdout) >= 3600


def test_modules_are_loaded(hetlab: Hetlab) -> None:
    done = hetlab("exec", "--", "cat", "/proc/sys/net/ipv4/tcp_available_congestion_control")
    for cc in ("santacruz", "westwood_fr", "westwood_gfr", "hybla_ext", "bbr", "vegas"):
        assert cc in done.stdout.split()


def test_a_signal_ends_the_machine_too(tmp_path: Path) -> None:
    """Nobody's machine would compute for ever."""
    begun = tmp_path / "begun"
    command = [str(TOP / "tools" / "hetlab"), "exec", "--", "sh", "-c", f"touch {begun}; while :; do :; done"]
    before = set((BUILD / "run").glob("exec-*"))
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as hetlab:
        while not begun.exists():
            time.sleep(0.1)
        (directory,) = set((BUILD / "run").glob("exec-*")) - before
        find = ["pgrep", "-f", f"HETLAB_JOB={directory}"]
        assert subprocess.run(find, stdout=subprocess.DEVNULL, check=False).returncode == 0
        hetlab.terminate()
        assert hetlab.wait(20) == 128 + signal.SIGTERM
    assert subprocess.run(find, stdout=subprocess.DEVNULL, check=False).returncode == 1
    shutil.rmtree(directory)


def test_busy_loop_is_stopped_and_explained(hetlab: Hetlab) -> None:
    done = hetlab("exec", "--wall-limit", "5", "--", "python3", "-c", "while True: pass")
    assert done.returncode == 124
    assert "loop" in done.stderr
    assert "--wall-limit" in done.stderr


POLLERS = {
    "the clock": "end = time.time() + 1\nwhile time.time() < end: pass",
    "a socket": "s, r = socket.socketpair()\nt = threading.Timer(1, s.send, [b'x'])\nt.start()\n"
    "while not select.select([r], [], [], 0)[0]: pass",
    "another that polls": "end = time.time() + 1\nif not os.fork():\n    while time.time() < end: pass\n"
    "    os._exit(0)\nwhile not os.waitpid(-1, os.WNOHANG)[0]: pass",
}


@pytest.mark.parametrize("what", POLLERS, ids=lambda what: what.replace(" ", "-"))
def test_who_polls_sees_time_move(hetlab: Hetlab, what: str) -> None:
    """A second of virtual time and little more, the same twice; who polled is reported."""
    script = (
        f"import os, select, socket, threading, time\nbegun = time.time()\n{POLLERS[what]}\nprint(time.time() - begun)"
    )
    once, again = (hetlab("exec", "--", "python3", "-c", script, timeout=120) for _ in range(2))
    assert once.returncode == 0, once.stderr
    assert 1 <= float(once.stdout) < 1.0005
    assert once.stdout == again.stdout
    assert re.search(r"hetlab: python3 polled: \d+ calls moved virtual time on by (0\.99|1\.00)\d s", once.stderr)


def test_who_looks_at_the_clock_while_working_does_not_poll(hetlab: Hetlab) -> None:
    script = (
        "import os, time\nbegun = time.time()\nfor _ in range(2000):\n    os.stat('/')\n    time.time(), time.time()"
    )
    done = hetlab("exec", "--", "python3", "-c", f"{script}\nprint(time.time() - begun)")
    assert (done.stdout, done.stderr) == ("0.0\n", "")


def test_who_polls_leaves_the_turn_to_others(hetlab: Hetlab) -> None:
    """Somebody computes beside: time does not move before that is done."""
    script = (
        "import os, time\nbegun = time.time()\nif not os.fork():\n    n = sum(range(3_000_000))\n"
        "    os._exit(time.time() != begun)\nwhile not (pid := os.waitpid(-1, os.WNOHANG))[0]: pass\nprint(pid[1])"
    )
    done = hetlab("exec", "--", "python3", "-c", script, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


@pytest.mark.build
def test_a_loop_of_the_kernel_that_waits_for_a_task_ends(hetlab: Hetlab, tmp_path: Path) -> None:
    """It held a machine for ever when network namespaces ended; it costs a tick or some."""
    k = kernel.kernel(Console())
    shutil.copy(Path(__file__).with_name("spin.c"), tmp_path)
    (tmp_path / "Kbuild").write_text("obj-m := spin.o\n")
    kernel.compile_module(k, tmp_path, "um")
    script = (
        f"import subprocess, time\nbegun = time.time()\nsubprocess.run(['insmod', '{tmp_path}/spin.ko'], check=True)"
    )
    done = hetlab("exec", "--wall-limit", "60", "--", "python3", "-c", f"{script}\nprint(time.time() - begun)")
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout) < 0.1


def test_command_that_does_not_exist(hetlab: Hetlab) -> None:
    assert hetlab("exec", "--", "no-such-command").returncode == 127


def test_environment(hetlab: Hetlab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed, but for what is named: a command prints the same whoever calls it."""
    monkeypatch.setenv("MINE", "seen?")
    monkeypatch.setenv("SHELL", "/bin/false")
    monkeypatch.setenv("USER", "somebody")
    fixed = {"SHELL": "/bin/bash", "USER": "root", "LOGNAME": "root", "HOME": os.environ["HOME"], "LC_ALL": "C.UTF-8"}

    def seen(*options: str) -> dict[str, str]:
        done = hetlab("exec", *options, "--", "env")
        assert done.returncode == 0, done.stderr
        return dict(line.split("=", 1) for line in done.stdout.splitlines())

    assert seen().items() >= fixed.items()
    assert not {"MINE", "COLUMNS"} & seen().keys()
    more = {"MINE": "seen?", "SHELL": "/bin/sh", "OTHER": "two  words' $HOME"}
    assert seen("--env", "MINE", "--env", "SHELL=/bin/sh", "--env", f"OTHER={more['OTHER']}").items() >= more.items()


@pytest.mark.fast
@pytest.mark.parametrize(
    ("word", "why"), [("NOT_SET_HERE", "--env NOT_SET_HERE=VALUE"), ("1x=2", "no name"), ("=2", "no name")]
)
def test_a_variable_that_cannot_be_passed(word: str, why: str) -> None:
    with pytest.raises(LabError, match=why):
        variables.told([word])


@pytest.mark.fast
def test_environment_of_an_emulated_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    script = exec_qemu.script(["true"], variables.told(["A=b c"]))
    assert "export SHELL=/bin/bash\n" in script and "export A='b c'\n" in script


AS_NOBODY = """
import sys
sys.path.insert(0, "{top}/tools/lab")
from pathlib import Path
from hetlab import paths
from hetlab.machines import exec_uml
paths.BUILD = Path("{mine}")
exec_uml.os.chdir("/")
build = Path("{top}/build")
kernel = next(p / "linux" for p in (build / "kernel").glob("src-*/um-*") if (p / ".complete").exists())
modules = next(p for p in (build / "modules").glob("um-*") if (p / ".complete").exists())
command = ["sh", "-c", "id -u; ip link add type veth && echo made"]
sys.exit(exec_uml.execute(kernel, modules, command, 60))
"""


def test_as_an_ordinary_user(hetlab: Hetlab, tmp_path: Path) -> None:
    """The same, called by somebody who is not root; the tree is bound to where they may look."""
    if os.geteuid() != 0:
        assert hetlab("exec", "--", "true").returncode == 0
        return
    top, mine = tmp_path / "top", tmp_path / "mine"
    for path in (top, mine):
        path.mkdir()
    os.chown(mine, 65534, 65534)
    for path in (tmp_path, *tmp_path.parents):
        if path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    (tmp_path / "as_nobody.py").write_text(AS_NOBODY.format(top=top, mine=mine))
    drop = f"setpriv --reuid 65534 --regid 65534 --clear-groups {top}/build/venv/bin/python {tmp_path}/as_nobody.py"
    bind = f"mount --bind {TOP} {top} && exec {drop}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", bind], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0", "made"]


@pytest.mark.parametrize(
    ("script", "args"),
    [
        ("satellite.py", ["--cc", "hybla_ext", "--cc", "cubic", "--duration", "20"]),
        ("satellite.py", ["--orbit", "leo", "--cc", "cubic", "--duration", "32"]),
        ("lossy.py", ["--cc", "santacruz:n_op=4", "--duration", "20"]),
        ("asymmetric.py", ["--cc", "santacruz", "--duration", "5"]),
    ],
)
def test_mininet_scripts(hetlab: Hetlab, tmp_path: Path, script: str, args: list[str]) -> None:
    done = hetlab("exec", "--", "python3", TOP / "tools" / "mininet" / script, *args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for cc in args[1::2][:1]:
        assert cc in done.stdout or "leo" in args
    picture = tmp_path / script.replace(".py", ".png")
    assert picture.stat().st_size > 10_000


def test_script_refuses_bad_arguments(hetlab: Hetlab) -> None:
    done = hetlab("exec", "--", "python3", TOP / "tools" / "mininet" / "satellite.py", "--duration", "0")
    assert done.returncode == 2
    assert "1..3600" in done.stderr


def test_script_names_an_unknown_congestion_control(hetlab: Hetlab, tmp_path: Path) -> None:
    args = ("--cc", "nosuch", "--duration", "5")
    done = hetlab("exec", "--", "python3", TOP / "tools" / "mininet" / "lossy.py", *args, cwd=tmp_path)
    assert done.returncode == 1
    assert "'nosuch' is not in this kernel" in done.stderr


PLAIN = """
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo

class Plain(Topo):
    def build(self):
        self.addLink(self.addHost("h1"), self.addHost("h2"), bw=10, delay="20ms")

net = Mininet(topo=Plain(), link=TCLink, controller=None)
net.start()
h1, h2 = net.get("h1", "h2")
print(h1.cmd("ping -c 3", h2.IP()))
print(h2.popen("echo popen: $SHELL", shell=True).communicate()[0].decode())
net.stop()
"""


def test_a_plain_mininet_script(hetlab: Hetlab, tmp_path: Path) -> None:
    """It knows nothing of this project: TCLink, its own topology."""
    (tmp_path / "plain.py").write_text(PLAIN)
    done = hetlab("exec", "--", "python3", "plain.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 received" in done.stdout
    assert "popen: /bin/bash" in done.stdout, "it takes the shell of the environment"
    rtt_ms = float(done.stdout.split("rtt min/avg/max/mdev = ")[1].split("/")[0])
    assert 39 < rtt_ms < 42


def test_debians_own_mininet(hetlab: Hetlab, tmp_path: Path) -> None:
    """mn as Debian ships it, with the kernel's bridge for a switch and no controller."""
    done = hetlab("exec", "--", "mn", "--switch", "lxbr", "--controller", "none", "--test", "pingall", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0% dropped" in done.stdout + done.stderr
