# SPDX-License-Identifier: GPL-2.0
"""Guest side of test_hetcc.py: the hetcc command on a kernel of its own, with real connections.

The guest's files are the host's: what hetcc writes goes to file systems in memory that are mounted first.
"""

import contextlib
import inspect
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).parents[2] / "tools"
HETCC = "/run/sbin/hetcc"  # as it is installed: one file
SYSCTL_CONF = Path("/etc/sysctl.d/90-hetcc.conf")
MODULES_CONF = Path("/etc/modules-load.d/90-hetcc.conf")
STATE = Path("/var/lib/hetcc/undo.json")
DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
CC_OF = {
    "tcp_santacruz": "santacruz",
    "tcp_westwood_fr": "westwood_gfr",
    "tcp_hybla_ext": "hybla_ext",
}
NETWORK = """
ip link add s0 type veth peer name d0
ip netns add far
ip link set d0 netns far
ip link set s0 up
ip address add 192.0.2.1/24 dev s0
ip address add 2001:db8::1/64 dev s0 nodad
ip -n far link set lo up
ip -n far link set d0 up
ip -n far address add 192.0.2.2/24 dev d0
ip -n far address add 2001:db8::2/64 dev d0 nodad
ip -n far address add 198.51.100.1/24 dev lo
ethtool -K s0 tso off gso off gro off
ip netns exec far ethtool -K d0 tso off gso off gro off
tc -n far qdisc add dev d0 root netem delay 20ms limit 1000
tc qdisc add dev s0 root netem rate 10mbit delay 20ms limit 1000
"""


def shell(command: str) -> str:
    """Run it, or fail; what it printed."""
    done = subprocess.run(["sh", "-ec", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def hetcc(*args: str, status: int = 0, prefix: tuple[str, ...] = ()) -> str:
    """What the command says, on both streams; it must end with this status."""
    done = subprocess.run([*prefix, HETCC, *args], capture_output=True, text=True, check=False)
    assert done.returncode == status, (args, done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def status() -> dict[str, Any]:
    """Everything, as a program reads it."""
    said: dict[str, Any] = json.loads(hetcc("status", "--json"))
    return said


def prepare() -> None:
    """Memory over all that may be written; modules where modprobe finds them; two hosts."""
    for where in ("/var/lib", "/usr/lib/modules", "/usr/src", "/mnt"):
        shell(f"mount -t tmpfs tmpfs {where}")
    shell("cp -a /etc /mnt/etc; mount --bind /mnt/etc /etc")
    installed = Path("/lib/modules", os.uname().release, "updates")
    installed.mkdir(parents=True)
    for module in Path(os.environ["HETLAB_MODULES"]).glob("*.ko"):
        shutil.copy(module, installed)
    shell("depmod -a 2>/dev/null")
    shell(f"{TOOLS}/packaging/hetcc_file.py {HETCC}")
    shell(NETWORK)


def loaded() -> set[str]:
    """Those of our modules that are in the kernel."""
    return {module for module in CC_OF if Path("/sys/module", module, "refcnt").exists()}


@contextlib.contextmanager
def listening(family: int = socket.AF_INET, cc: str = "cubic") -> Iterator[socket.socket]:
    """A server on this host."""
    with socket.socket(family) as server:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        server.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 5001))
        server.listen()
        yield server


def connect(address: str, port: int = 22, timeout_s: float = 1) -> str:
    """Congestion control that a new connection gets, whether or not anybody answers."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as sock:
        sock.settimeout(timeout_s)
        with contextlib.suppress(OSError):
            sock.connect((address, port))
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


@contextlib.contextmanager
def flow(cc: str, address: str) -> Iterator[None]:
    """A transfer that has run for 8 s, and goes on."""
    common = ["flowgen", "--out", "/dev/null", "--until", "20"]
    with (
        subprocess.Popen(["ip", "netns", "exec", "far", *common, "role=recv,id=0,port=5001"]),
        subprocess.Popen([*common, f"role=send,id=0,addr={address},port=5001,cc={cc},start=0.2,duration=15"]),
    ):
        time.sleep(8)
        yield
        # both end by themselves


def live(cc: str, address: str) -> dict[str, Any]:
    """What status says of a transfer."""
    with flow(cc, address):
        (found,) = status()["connections"]
        text = hetcc("status")
        # The kernel's samples of a second: a probe of the path makes one small
        rates_mbit = []
        for _ in range(5):
            time.sleep(0.2)
            rates_mbit.append(status()["connections"][0]["delivery_mbit"])
        found["delivery_mbit"] = max(rates_mbit)
    assert found["cc"] == cc and found["state"] == "established", found
    assert found["remote"] == (f"[{address}]:5001" if ":" in address else f"{address}:5001"), found
    assert len(found["users"]) == 1 and found["users"][0].startswith("flowgen["), found
    assert found["cwnd_pkts"] > 10 and 40_000 <= found["minrtt_us"] < 45_000, found
    assert found["rtt_us"] >= found["minrtt_us"], found
    assert 8 < found["delivery_mbit"] < 10.5, found
    assert f"  {cc} " in text and "cwnd " in text and found["users"][0] in text, text
    return dict(found)


def case_live_state() -> None:
    """What the modules count, for one flow of each on 10 Mbit/s and 40 ms."""
    found = live("santacruz", "192.0.2.2")
    assert found["mode"] == "delay" and 1 <= found["queue_pkts"] <= 6, found
    assert 9 < found["bottleneck_mbit"] < 10 and 1 < found["cwnd_gain"] < 1.3, found
    found = live("westwood_fr", "2001:db8::2")
    assert 8.5 < found["bandwidth_mbit"] < 10.5, found
    assert 8.5 < live("westwood_gfr", "192.0.2.2")["bandwidth_mbit"] < 10.5
    assert 1.55 < live("hybla_ext", "192.0.2.2")["rho"] < 1.75


PARAMETERS = {
    "tcp_santacruz": {"compete", "delta", "discriminate", "drain_s", "n_op", "paper"},
    "tcp_westwood_fr": {"a", "paper"},
    "tcp_hybla_ext": {"hoe", "init_cwnd", "init_ssthresh", "pacing", "resume_s", "rtt0_ms"},
}


def case_parameters() -> None:
    """Every parameter has a default in its description, which is its value after loading."""
    modules = status()["modules"]
    assert set(modules) == set(CC_OF)
    assert {name: set(module["parameters"]) for name, module in modules.items()} == PARAMETERS
    for module in modules.values():
        assert module["loaded"] and module["version"] and not module["file_differs"], module
        assert "O" in module["taint"], module
        for name, parameter in module["parameters"].items():
            assert parameter["changed"] is False, (name, parameter)
    assert "(default" not in hetcc("status")
    Path("/sys/module/tcp_santacruz/parameters/n_op").write_text("4.5")
    changed = [n for n, p in status()["modules"]["tcp_santacruz"]["parameters"].items() if p["changed"]]
    assert changed == ["n_op"]
    assert "n_op=4.500 (default 3)" in hetcc("status")


def case_default() -> None:
    """Now, at boot, and back; a module that is not loaded is loaded first."""
    assert DEFAULT.read_text() == "cubic\n"
    shell("rmmod tcp_hybla_ext tcp_westwood_fr")
    hetcc("default", "hybla_ext")
    assert loaded() == {"tcp_santacruz", "tcp_hybla_ext"}
    assert DEFAULT.read_text() == "hybla_ext\n" and connect("127.0.0.1") == "hybla_ext"
    assert "net.ipv4.tcp_congestion_control = hybla_ext\n" in SYSCTL_CONF.read_text()
    assert MODULES_CONF.read_text().endswith("\ntcp_hybla_ext\n")
    shell(f"sysctl -w net.ipv4.tcp_congestion_control=reno; sysctl -p {SYSCTL_CONF}")
    assert status()["default"] == status()["default_at_boot"] == "hybla_ext"
    hetcc("default", "westwood_gfr")
    assert DEFAULT.read_text() == "westwood_gfr\n" and loaded() == set(CC_OF)
    assert MODULES_CONF.read_text().endswith("\ntcp_westwood_fr\n")
    assert status()["changes_to_undo"] == 6
    said = hetcc("undo")
    assert "note" not in said, said
    assert DEFAULT.read_text() == "cubic\n"
    assert not SYSCTL_CONF.exists() and not MODULES_CONF.exists() and not STATE.parent.exists()
    assert hetcc("undo") == "nothing to undo\n"


def case_autoload() -> None:
    """A program's wish loads the module that has it, also the one with two."""
    shell("rmmod tcp_hybla_ext tcp_westwood_fr tcp_santacruz")
    for module, cc in CC_OF.items():
        with listening(cc=cc):
            assert module in loaded()


def case_default_and_others() -> None:
    """Files of one's own come back; what others changed meanwhile is said."""
    SYSCTL_CONF.write_text("# mine\n")
    later = Path("/etc/sysctl.d/95-mine.conf")
    later.write_text("net.ipv4.tcp_congestion_control=reno\n")
    said = hetcc("default", "santacruz")
    assert str(later) in said, said
    DEFAULT.write_text("bbr")
    MODULES_CONF.write_text("other\n")
    said = hetcc("undo")
    assert "had been set to bbr by others" in said and f"{MODULES_CONF} had been edited by others" in said, said
    assert DEFAULT.read_text() == "cubic\n" and SYSCTL_CONF.read_text() == "# mine\n" and not MODULES_CONF.exists()


def case_namespace() -> None:
    """In a namespace of its own the default is that namespace's and is not kept."""
    inside = ("ip", "netns", "exec", "far")
    assert "tcp_allowed_congestion_control" in hetcc("default", "santacruz", status=1, prefix=inside)
    assert not STATE.exists()
    Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").write_text("reno cubic santacruz")
    assert "not kept" in hetcc("default", "santacruz", prefix=inside)
    assert DEFAULT.read_text() == "cubic\n" and not SYSCTL_CONF.exists()
    said = hetcc("unload", "tcp_santacruz", status=1)
    assert "santacruz is the default of namespace far" in said and "more that" not in said, said
    said = hetcc("undo")
    assert "nothing to undo" in said and "other network namespaces" in said, said
    hetcc("undo", prefix=inside)
    assert not STATE.exists()
    hetcc("unload")
    assert not loaded()


def case_errors() -> None:
    """Each says what is allowed, and changes nothing."""
    said = hetcc("default", "cubic", status=2)
    assert "'santacruz', 'westwood_fr', 'westwood_gfr', 'hybla_ext', 'hybla_paper'" in said, said
    assert "2001:db8::/32" in hetcc("route", "192.0.2.300/24", "santacruz", status=2)
    assert "has host bits set" in hetcc("route", "192.0.2.1/24", "santacruz", status=2)
    assert "no route leads there" in hetcc("route", "203.0.113.0/24", "santacruz", status=1)
    assert "tcp_hybla_ext" in hetcc("unload", "hybla_ext", status=2)
    shell("rmmod tcp_santacruz; rm /lib/modules/*/updates/tcp_santacruz.ko; depmod -a 2>/dev/null")
    said = hetcc("default", "santacruz", status=1)
    assert "tcp_santacruz cannot be loaded" in said and "not installed for kernel" in said, said
    assert f"apt-get install linux-headers-{os.uname().release}" in said, said
    Path("/lib/modules", os.uname().release, "build/include").mkdir(parents=True)
    said = hetcc("default", "santacruz", status=1)
    assert "dkms status hetcc" in said and "apt-get" not in said, said
    Path("/lib/modules", os.uname().release, "updates/tcp_santacruz.ko").write_text("no module")
    shell("depmod -a 2>/dev/null || true")
    assert "cannot be loaded" in hetcc("default", "santacruz", status=1)
    Path("/run/modprobe").write_text("#!/bin/sh\necho \"modprobe: ERROR: could not insert '$1': $SAID\" >&2; exit 1\n")
    Path("/run/modprobe").chmod(0o755)
    for words in ("Key was rejected by service", "Operation not permitted"):
        path = f"PATH=/run:{os.environ['PATH']}"
        assert "mokutil --import" in hetcc("default", "santacruz", status=1, prefix=("env", path, f"SAID={words}"))
    STATE.parent.mkdir()
    STATE.write_text('[{"kind": "default"}]')
    assert "move it away" in hetcc("undo", status=1)
    STATE.unlink()
    for words in ("default hybla_ext", "route 192.0.2.0/24 hybla_ext", "set hoe=0", "undo", "unload", "watch"):
        nobody = ["setpriv", "--reuid", "65534", "--clear-groups", HETCC, *words.split()]
        done = subprocess.run(nobody, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "needs root" in done.stderr, done
    assert DEFAULT.read_text() == "cubic\n" and loaded() == {"tcp_westwood_fr", "tcp_hybla_ext"}
    for command in ("status", "default", "route", "set", "undo", "unload", "watch"):
        assert f"usage: hetcc {command}" in hetcc(command, "--help")


def all_routes() -> str:
    """As ip shows them, state left out that changes by itself."""
    return shell("ip -d route show table all; ip -d -6 route show table all | sed 's/ expires [0-9]*sec//'")


ROUTES = """
ip route add 198.51.100.0/24 via 192.0.2.2 src 192.0.2.1 metric 7 mtu lock 1400 initcwnd 20 rto_min 300ms congctl reno
ip route add default via 192.0.2.2 proto dhcp
ip -6 route add 2001:db8:1::/48 via 2001:db8::2 metric 512 advmss 1300 proto bird
ip -6 route add 2001:db8:2::/48 nexthop via 2001:db8::2 nexthop via 2001:db8::3
ip nexthop add id 9 via 192.0.2.2 dev s0
ip route add 203.0.114.0/24 nhid 9
"""


def case_routes() -> None:
    """All other attributes stay; undo gives back the very same table."""
    shell(ROUTES)
    before = all_routes()
    words = {
        "198.51.100.0/24": "via 192.0.2.2 dev s0 src 192.0.2.1 metric 7 mtu lock 1400 rto_min lock 300ms initcwnd 20",
        "203.0.114.0/24": "nhid 9 via 192.0.2.2",
        "default": "via 192.0.2.2 dev s0 proto dhcp",
        "192.0.2.0/24": "dev s0 proto kernel scope link src 192.0.2.1",
        "2001:db8:1::/48": "via 2001:db8::2 dev s0 proto bird metric 512 advmss 1300",
        "2001:db8:2::/48": "nexthop via 2001:db8::3 dev s0 weight 1",
        "2001:db8::/64": "dev s0 proto kernel metric 256",
    }
    for prefix, kept in words.items():
        said = hetcc("route", prefix, "hybla_ext")
        assert "congctl hybla_ext" in said, said
        shown = " ".join(shell(f"ip {'-6' if ':' in prefix else '-4'} route show exact {prefix}").split())
        assert "congctl hybla_ext" in shown and "lock hybla" not in shown, shown
        for part in kept.split("  "):
            assert all(word in shown.split() for word in part.split()), (part, shown)
    assert connect("198.51.100.1") == connect("2001:db8:1::1") == "hybla_ext" and connect("127.0.0.1") == "cubic"
    listed = {route["prefix"]: route["congctl"] for route in status()["routes"]}
    assert listed == dict.fromkeys([*(words.keys() - {"default"}), "0.0.0.0/0"], "hybla_ext"), listed
    said = hetcc("unload", "tcp_hybla_ext", status=1)
    assert said.count("\n  route ") == len(words), said
    hetcc("route", "192.0.2.0/24", "santacruz", "--lock")
    assert "congctl lock santacruz" in shell("ip route show exact 192.0.2.0/24")
    said = hetcc("undo")
    assert "note" not in said, said
    assert all_routes() == before, (before, all_routes())


def case_lock() -> None:
    """Programs may choose another one, unless --lock was given."""
    for lock, allowed in (((), True), (("--lock",), False)):
        hetcc("route", "192.0.2.0/24", "santacruz", *lock)
        with socket.create_server(("192.0.2.1", 5001)) as server:
            peer = "import socket, time; s = socket.create_connection(('192.0.2.1', 5001)); time.sleep(5)"
            with subprocess.Popen(["ip", "netns", "exec", "far", "python3", "-c", peer]):
                ours, _ = server.accept()
                with ours:
                    cc = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")
                    assert cc == b"santacruz", cc
                    try:
                        ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
                        assert allowed
                    except PermissionError:
                        assert not allowed


def case_new_route() -> None:
    """A prefix without a route of its own gets one, like the one that leads there."""
    shell("ip route add default via 192.0.2.2 metric 100 proto dhcp; ip -6 route add default via 2001:db8::2")
    before = all_routes()
    hetcc("route", "198.51.100.0/24", "westwood_fr")
    hetcc("route", "2001:db8:5::/48", "westwood_fr")
    shown = shell("ip route show exact 198.51.100.0/24; ip -6 route show exact 2001:db8:5::/48")
    assert "198.51.100.0/24 via 192.0.2.2 dev s0 proto static metric 100 congctl westwood_fr" in shown, shown
    assert "2001:db8:5::/48 via 2001:db8::2 dev s0 proto static metric 1024 congctl westwood_fr" in shown, shown
    assert connect("198.51.100.1") == connect("2001:db8:5::1") == "westwood_fr" and connect("192.0.2.2") == "cubic"
    shell("ip route del 198.51.100.0/24; ip -6 route change 2001:db8:5::/48 via 2001:db8::7 dev s0 metric 1024")
    said = hetcc("undo")
    assert "198.51.100.0/24: had been removed: left alone" in said and "via 2001:db8::7" in said, said
    assert all_routes() == before, all_routes()


def case_router_advertisement() -> None:
    """A route with a lifetime is the kernel's business."""
    shell("ip -6 route add default via 2001:db8::2 proto ra expires 1000")
    said = hetcc("route", "::/0", "santacruz", status=1)
    assert "router advertisements" in said and "more specific" in said, said
    hetcc("route", "2001:db8:6::/48", "santacruz")
    shown = shell("ip -6 route show exact 2001:db8:6::/48")
    assert "proto static" in shown and "expires" not in shown, shown


def case_restart() -> None:
    """After a restart routes and namespaces are gone, files and default are not."""
    hetcc("default", "santacruz")  # which also makes it allowed
    hetcc("route", "192.0.2.0/24", "hybla_ext")
    hetcc("default", "santacruz", prefix=("ip", "netns", "exec", "far"))
    record = json.loads(STATE.read_text())
    STATE.write_text(json.dumps([step | {"boot": "earlier"} for step in record]))
    said = hetcc("undo")
    assert said.count("went with an earlier start") == 2, said
    assert DEFAULT.read_text() == "cubic\n" and not SYSCTL_CONF.exists() and not STATE.exists()


def parameter(module: str, name: str) -> str:
    """Its value, without the line's end."""
    return Path("/sys/module", module, "parameters", name).read_text().strip()


def case_set() -> None:
    """A parameter at once, in the module that has it; each mistake is named with what is allowed."""
    assert hetcc("set", "rtt0_ms=40") == "tcp_hybla_ext.rtt0_ms: 40 (before: 25)\n"
    assert parameter("tcp_hybla_ext", "rtt0_ms") == "40"
    assert "rtt0_ms=40 (default 25)" in hetcc("status")
    hetcc("set", "n_op=4.5", "tcp_santacruz.paper=1", "westwood_fr.paper=1")
    found = [parameter(*of.split(".")) for of in ("tcp_santacruz.n_op", "tcp_santacruz.paper")]
    assert found == ["4.500", "1"] and parameter("tcp_westwood_fr", "paper") == "1"
    errors = {
        "rtt0_ms=501": "tcp_hybla_ext.rtt0_ms=501 is refused: allowed is 1..500, whole numbers; it stays 40",
        "rtt0_ms=2.5": "allowed is 1..500, whole numbers",
        "n_op=0.4": "allowed is 0.5..1000, up to three decimals; it stays 4.5",
        "init_ssthresh=1": "allowed is 2..65536",
        "a=1.2345": "allowed is 1..16, up to three decimals",
        "paper=0": "write tcp_santacruz.paper=0 or tcp_westwood_fr.paper=0",
        "rtt_ms=5": "did you mean rtt0_ms?",
        "santacruz.rtt0_ms=5": "no parameter rtt0_ms\n  tcp_santacruz: compete delta discriminate",
        "tcp_cubic.beta=5": "there are tcp_santacruz, tcp_westwood_fr, tcp_hybla_ext",
        "rtt0_ms": "PARAMETER=VALUE",
        "rtt0_ms=": "PARAMETER=VALUE",
    }
    for setting, words in errors.items():
        said = hetcc("set", setting, status=1)
        assert words in said, (setting, said)
    assert status()["changes_to_undo"] == 4 and parameter("tcp_hybla_ext", "rtt0_ms") == "40"
    shell("rmmod tcp_westwood_fr")
    assert hetcc("set", "hoe=0").startswith("tcp_hybla_ext.hoe: 0 (before: 1)")
    assert "loaded tcp_westwood_fr" in hetcc("set", "a=4")
    assert "module is not loaded: left alone" not in hetcc("undo", "--dry-run")
    shell("rmmod tcp_santacruz")
    said = hetcc("undo")
    assert "tcp_santacruz.n_op: module is not loaded: left alone" in said, said
    shell("modprobe tcp_santacruz")
    case_parameters()
    shell("rmmod tcp_hybla_ext; rm /lib/modules/*/updates/tcp_hybla_ext.ko; depmod -a 2>/dev/null")
    said = hetcc("set", "tcp_hybla_ext.rtt0_ms=40", status=1)
    assert f"apt-get install linux-headers-{os.uname().release}" in said, said


MODPROBE_CONF = Path("/etc/modprobe.d/90-hetcc.conf")


def case_set_keep() -> None:
    """Kept for the next loading, until undo; a file of somebody else that is read later is named."""
    MODPROBE_CONF.write_text("options tcp_santacruz drain_s=5\n")
    hetcc("set", "--keep", "rtt0_ms=40", "init_ssthresh=64")
    hetcc("set", "--keep", "rtt0_ms=45")
    before = "options tcp_santacruz drain_s=5\n"
    assert (
        MODPROBE_CONF.read_text()
        == f"{before}options tcp_hybla_ext init_ssthresh=64\noptions tcp_hybla_ext rtt0_ms=45\n"
    )
    assert "refused" in hetcc("set", "--keep", "rtt0_ms=900", status=1) and "900" not in MODPROBE_CONF.read_text()
    shell("rmmod tcp_hybla_ext; modprobe tcp_hybla_ext")
    assert parameter("tcp_hybla_ext", "rtt0_ms") == "45" and parameter("tcp_hybla_ext", "init_ssthresh") == "64"
    assert "kept: init_ssthresh=64 rtt0_ms=45" in hetcc("status")
    assert "still has 45" in hetcc("set", "rtt0_ms=30")
    Path("/etc/modprobe.d/hetcc.conf").write_text("options tcp_hybla_ext hoe=0 rtt0_ms=60\n")
    said = hetcc("set", "--keep", "rtt0_ms=50")
    assert "/etc/modprobe.d/hetcc.conf sets it too" in said, said
    record = json.loads(STATE.read_text())
    assert len(record) == 9, record
    STATE.write_text(json.dumps([step | {"boot": "earlier"} for step in record]))
    said = hetcc("undo")
    assert MODPROBE_CONF.read_text() == before and not STATE.exists(), said
    assert parameter("tcp_hybla_ext", "rtt0_ms") == "25" and parameter("tcp_hybla_ext", "init_ssthresh") == "32", said
    hetcc("set", "rtt0_ms=41")
    STATE.write_text(json.dumps([step | {"boot": "earlier"} for step in json.loads(STATE.read_text())]))
    shell("echo 33 >/sys/module/tcp_hybla_ext/parameters/rtt0_ms")
    assert "went with an earlier start" in hetcc("undo") and parameter("tcp_hybla_ext", "rtt0_ms") == "33"


def case_dry_run() -> None:
    """The same list as undo prints, without a change."""
    hetcc("default", "santacruz")
    hetcc("set", "rtt0_ms=40")
    hetcc("set", "rtt0_ms=45")
    hetcc("route", "192.0.2.0/24", "hybla_ext")
    hetcc("route", "192.0.2.0/24", "santacruz")
    shell("ip route add 198.51.100.0/24 via 192.0.2.2")
    hetcc("route", "198.51.100.0/24", "hybla_ext")
    shell("ip route del 198.51.100.0/24")
    state, routes = STATE.read_text(), all_routes()
    said = hetcc("undo", "--dry-run").splitlines()
    assert STATE.read_text() == state and all_routes() == routes and parameter("tcp_hybla_ext", "rtt0_ms") == "45"
    assert DEFAULT.read_text() == "santacruz\n" and SYSCTL_CONF.exists()
    assert said[0] == "198.51.100.0/24: had been removed: left alone", said
    assert said[1].startswith("192.0.2.0/24: ") and said[1].count("congctl") == 2, said
    assert said[3] == "tcp_hybla_ext.rtt0_ms: 40 (now: 45)" and said[4] == "tcp_hybla_ext.rtt0_ms: 25 (now: 40)", said
    assert said[-1] == "dry run: 8 changes, none taken back", said
    done = hetcc("undo").splitlines()
    assert done == [line.partition(" (now: ")[0] for line in said[:-1]], (said, done)
    assert hetcc("undo", "--dry-run") == "nothing to undo\n"


def case_dry_run_of_changes() -> None:
    """default, route and set say what they would change, as root or not, and change nothing."""

    def everything() -> tuple[object, ...]:
        files = (SYSCTL_CONF, MODULES_CONF, STATE, MODPROBE_CONF)
        return loaded(), DEFAULT.read_text(), all_routes(), [path.exists() for path in files]

    hetcc("unload")
    before = everything()
    nobody = ("setpriv", "--reuid=65534", "--clear-groups")
    for prefix in ((), nobody):
        said = hetcc("default", "santacruz", "--dry-run", prefix=prefix).splitlines()
        assert said == [
            "tcp_santacruz: loaded (now: not)",
            f"{MODULES_CONF}: written",
            f"{SYSCTL_CONF}: written",
            f"net.ipv4.tcp_congestion_control: santacruz (now: {before[1]})".replace("\n", ""),
            "dry run: 3 changes, none made",
        ], said
        said = hetcc("route", "192.0.2.0/24", "hybla_ext", "--dry-run", prefix=prefix).splitlines()
        assert said[1].startswith("192.0.2.0/24: 192.0.2.0/24 dev s0") and said[1].count("congctl hybla_ext") == 1, said
        said = hetcc("route", "192.0.2.2/32", "hybla_ext", "--dry-run", prefix=prefix).splitlines()
        assert said[1].endswith("congctl hybla_ext") and said[2] == "dry run: 1 changes, none made", said
        said = hetcc("set", "rtt0_ms=40", "--keep", "--dry-run", prefix=prefix).splitlines()
        assert said[1:] == [
            "tcp_hybla_ext.rtt0_ms: 40",
            f"{MODPROBE_CONF}: written",
            "dry run: 2 changes, none made",
        ], said
        assert everything() == before
    assert "needs root" in hetcc("default", "santacruz", status=1, prefix=nobody)
    hetcc("default", "santacruz")
    assert hetcc("default", "santacruz", "--dry-run") == "dry run: 0 changes, none made\n"
    hetcc("set", "n_op=4")
    what = hetcc("set", "n_op=5", "--dry-run")
    assert "tcp_santacruz.n_op: 5.000 (now: 4.000)\n" in what, what
    assert "tcp_santacruz.n_op: 3.000 (now: 4.000)\n" in hetcc("undo", "--dry-run", prefix=nobody)
    assert "hetcc undo takes back" in hetcc("status", prefix=nobody)
    shell("rm /lib/modules/*/updates/tcp_westwood_fr.ko; depmod -a 2>/dev/null")
    assert "tcp_westwood_fr" in hetcc("default", "westwood_fr", "--dry-run", status=1)


# systemd is not here: what the command asks of it, with the unit that it wrote
SYSTEMCTL = """#!/bin/sh
unit=/etc/systemd/system/hetcc-routes.service
wants=/etc/systemd/system/multi-user.target.wants/hetcc-routes.service
start() {
	kill -0 "$(cat /run/pid)" && return
	setsid $(sed -n 's/^ExecStart=//p' $unit) >>/run/log 2>&1 &
	echo $! >/run/pid
}
echo "$*" >>/run/asked
case "$*" in
"enable --now hetcc-routes.service") mkdir -p "${wants%/*}" && ln -s $unit $wants && start ;;
"start hetcc-routes.service") start ;;
daemon-reload) ;;
"disable --now hetcc-routes.service") rm $wants; kill "$(cat /run/pid)" || : ;;
"is-active hetcc-routes.service") kill -0 "$(cat /run/pid)" && echo active || echo inactive ;;
*) exit 1 ;;
esac
"""
LIST = Path("/etc/hetcc/routes")
UNIT = Path("/etc/systemd/system/hetcc-routes.service")


def with_systemctl() -> None:
    """What --keep needs of systemd."""
    Path("/run/systemd/system").mkdir(parents=True)
    Path("/run/bin").mkdir()
    Path("/run/bin/systemctl").write_text(SYSTEMCTL)
    Path("/run/bin/systemctl").chmod(0o755)
    os.environ["PATH"] = f"/run/bin:{os.environ['PATH']}"


def congctl(prefix: str) -> str:
    """Congestion control of a destination's own route, a while after something happened; empty without a route."""
    time.sleep(2)
    words = shell(f"ip route show exact {prefix}; ip -6 route show exact {prefix} 2>/dev/null || true").split()
    return words[words.index("congctl") + 1] if "congctl" in words else "none" if words else ""


def case_keep() -> None:
    """Whoever makes the routes again, they get their congestion control again; until undo."""
    said = hetcc("route", "default", "santacruz", "--keep", status=1)
    assert "no route leads there" in said, said
    shell("ip route add default via 192.0.2.2 metric 100 proto dhcp; ip route add 198.51.100.0/24 via 192.0.2.2")
    said = hetcc("route", "default", "santacruz", "--keep", status=1)
    assert "systemd" in said and not STATE.exists() and "congctl" not in all_routes(), said
    with_systemctl()
    before = shell("ip route; ip -6 route")
    command = [sys.executable, str(TOOLS / "hetcc"), "route", "default", "santacruz", "--keep"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "needs the installed command" in done.stderr, done
    hetcc("route", "default", "santacruz", "--keep")
    hetcc("route", "198.51.100.0/24", "hybla_ext", "--keep")
    hetcc("route", "203.0.113.0/24", "westwood_fr", "--keep")
    entries = ["0.0.0.0/0 santacruz", "198.51.100.0/24 hybla_ext", "203.0.113.0/24 westwood_fr add"]
    assert LIST.read_text().splitlines()[1:] == entries, LIST.read_text()
    said = hetcc("status")
    assert "kept route       198.51.100.0/24 congctl hybla_ext (hetcc-routes.service: active)" in said, said
    assert "is a kept route: add --keep" in hetcc("route", "198.51.100.0/24", "santacruz", status=1)
    # A lease is renewed with another gateway, a link goes down and comes up, an operator's mistake
    shell("ip route replace default via 192.0.2.3 metric 100 proto dhcp")
    assert congctl("default") == "santacruz" and congctl("203.0.113.0/24") == "westwood_fr"
    assert "203.0.113.0/24 via 192.0.2.3" in all_routes(), all_routes()
    shell("ip link set s0 down; ip link set s0 up")
    assert "congctl" not in all_routes() and congctl("203.0.113.0/24") == "", all_routes()
    shell("ip route add default via 192.0.2.2 metric 100 proto dhcp; ip route add 198.51.100.0/24 via 192.0.2.2")
    assert [congctl(line.split()[0]) for line in entries] == ["santacruz", "hybla_ext", "westwood_fr"]
    shell("ip route del 203.0.113.0/24")
    assert congctl("203.0.113.0/24") == "westwood_fr"
    assert connect("198.51.100.1") == "hybla_ext" and connect("203.0.113.9") == "westwood_fr"
    log = Path("/run/log").read_text()
    assert log.count("\n") == 6, log  # one line a change: it does not go round in circles
    assert status()["changes_to_undo"] == 3 + 5, STATE.read_text()
    shell("ip address add 2001:db8::1/64 dev s0 nodad")
    preview = hetcc("undo", "--dry-run").splitlines()
    said = hetcc("undo")
    assert "note" not in said and len(preview) == said.count("\n") + 1, (preview, said)
    assert not LIST.parent.exists() and not UNIT.exists() and not STATE.exists()
    asked = Path("/run/asked").read_text().splitlines()
    assert asked[:2] == ["daemon-reload", "enable --now hetcc-routes.service"], asked
    assert asked[-2:] == ["disable --now hetcc-routes.service", "daemon-reload"], asked
    for gateway in ("192.0.2.3", "192.0.2.2"):
        shell(f"ip route replace default via {gateway} metric 100 proto dhcp")
    assert congctl("default") == "none" and congctl("203.0.113.0/24") == ""
    assert (left := shell("ip route; ip -6 route")) == before, left
    assert 'changes_to_undo": 0' in hetcc("status", "--json")


def case_keep_fight() -> None:
    """Against a program that rewrites the route all the time the service rests, and wins in the end."""
    with_systemctl()
    shell("ip route add default via 192.0.2.2 metric 100 proto dhcp")
    hetcc("route", "default", "santacruz", "--keep")
    began = time.monotonic()
    for number in range(60):
        shell(f"ip route replace default via 192.0.2.{3 + number % 2} metric 100 proto dhcp; sleep 0.7")
    log = Path("/run/log").read_text()
    assert log.count("others rewrite these routes all the time") == 1 and log.count("route: default") == 20, log
    assert status()["changes_to_undo"] == 4, STATE.read_text()
    time.sleep(began + 80 - time.monotonic())
    assert congctl("default") == "santacruz"
    hetcc("undo")
    assert congctl("default") == "none" and not STATE.exists()


def case_keep_restart() -> None:
    """At boot the service finds the list; modules, routes and record are those of the new start."""
    with_systemctl()
    shell("ip route add default via 192.0.2.2 metric 100 proto dhcp; ip -6 route add default via 2001:db8::2")
    hetcc("route", "2001:db8:5::/48", "hybla_ext", "--keep")
    hetcc("route", "default", "santacruz", "--keep", "--lock")
    hetcc("route", "default", "westwood_fr", "--keep", "--lock")
    assert LIST.read_text().endswith("\n2001:db8:5::/48 hybla_ext add\n0.0.0.0/0 westwood_fr lock\n"), LIST.read_text()
    shell("kill $(cat /run/pid); ip route del default; ip -6 route del default; ip -6 route del 2001:db8:5::/48")
    record = json.loads(STATE.read_text())
    STATE.write_text(json.dumps([step | {"boot": "earlier"} for step in record]))
    time.sleep(2)
    hetcc("unload")
    shell("systemctl start hetcc-routes.service")
    assert congctl("default") == "" and not loaded()
    shell("ip route add default via 192.0.2.2 metric 100 proto dhcp; ip -6 route add default via 2001:db8::2")
    assert congctl("default") == "lock" and congctl("2001:db8:5::/48") == "hybla_ext"
    assert loaded() == {"tcp_westwood_fr", "tcp_hybla_ext"}
    before = status()["changes_to_undo"]
    for _ in range(5):
        shell("ip route replace default via 192.0.2.3 metric 100 proto dhcp; sleep 1")
    assert status()["changes_to_undo"] == before == 7, STATE.read_text()
    LIST.write_text(LIST.read_text() + "198.51.100.0/24 cubic\n")
    said = hetcc("status", status=1)
    assert "/etc/hetcc/routes, line 4: wanted is" in said, said
    hetcc("undo")
    shown = all_routes()
    assert "congctl" not in shown and "default via 192.0.2.3" in shown and "2001:db8:5::" not in shown, shown
    assert not LIST.exists() and not STATE.exists()


def case_unload() -> None:
    """Refused while anybody uses it, who is named; done when nobody does."""
    me = f"[{os.getpid()}]"
    families = (socket.AF_INET, socket.AF_INET6, socket.AF_INET)
    for (module, cc), family in zip(CC_OF.items(), families, strict=True):
        with listening(family, cc):
            said = hetcc("unload", status=1)
            assert f"{module} is used:" in said and said.count("is used") == 1, said
            assert f"{cc}: " in said and "listening" in said and me in said and "more that" not in said, said
        with socket.socket() as idle:
            idle.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
            assert "1 more that cannot be named" in hetcc("unload", module, status=1)
    assert loaded() == set(CC_OF)
    with flow("santacruz", "192.0.2.2"):
        said = hetcc("unload", "tcp_santacruz", status=1)
        assert "> 192.0.2.2:5001 (established, flowgen[" in said, said
    with subprocess.Popen(["unshare", "-n", "python3", "-c", LISTENER]) as hidden:
        time.sleep(2)
        said = hetcc("unload", "tcp_hybla_ext", status=1)
        assert f"python3[{hidden.pid}]) in the namespace of process" in said and "more that" not in said, said
        hidden.terminate()
    hetcc("default", "westwood_gfr")
    assert "is the default of this namespace: hetcc undo" in hetcc("unload", "tcp_westwood_fr", status=1)
    DEFAULT.write_text("cubic")
    assert "hetcc undo" in hetcc("unload", "--for-removal", status=1) and loaded() == set(CC_OF)
    hetcc("undo")
    time.sleep(2)
    said = hetcc("unload", "--for-removal")
    assert said.count("unloaded") == 3 and not loaded(), said
    assert "none is loaded" in hetcc("unload")
    assert "not loaded" in hetcc("unload", "tcp_santacruz")


def case_removal(prerm: str) -> None:
    """Package and make dkms-uninstall refuse while somebody uses a module, and say who."""
    os.environ["PATH"] = f"{Path(HETCC).parent}:{os.environ['PATH']}"
    uninstall = str(TOOLS / "packaging" / "dkms.sh")
    with listening(cc="hybla_ext"):
        for command in (["sh", prerm, "remove"], [uninstall, "uninstall"]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 1, done
            assert "hybla_ext: 127.0.0.1:5001 (listening, python3[" in done.stderr, done.stderr
            assert "stays installed" in done.stderr or "nothing was removed" in done.stderr, done.stderr
        assert loaded() == set(CC_OF)
        shell(f"sh {prerm} upgrade 0.2")
        assert loaded() == set(CC_OF)
    hetcc("route", "192.0.2.0/24", "hybla_ext")
    done = subprocess.run(["sh", prerm, "remove"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "hetcc undo" in done.stderr, done
    hetcc("undo")
    time.sleep(2)
    shell(f"sh {prerm} remove")
    assert not loaded()


LISTENER = """
import socket, time
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"hybla_ext")
s.listen()
time.sleep(60)
"""
CASES: dict[str, Callable[..., None]] = {
    name.removeprefix("case_"): act
    for name, act in list(globals().items())
    if name.startswith("case_") and inspect.isfunction(act)
}


def main() -> None:
    """Entry point: ``hetcc_guest.py CASE [ARGUMENT]``."""
    prepare()
    CASES[sys.argv[1]](*sys.argv[2:])
    log = shell("dmesg")
    assert not any(word in log for word in ("WARNING", "BUG", "UBSAN", "Oops")), log
    print("done")


if __name__ == "__main__":
    main()
