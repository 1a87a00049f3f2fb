# SPDX-License-Identifier: GPL-2.0
"""Programs of every day over one link of 10 Mbit/s and 10 ms: run by test_programs.py inside a machine.

usage: programs_guest.py PROGRAM BUILD; prints one JSON object, see RUNS.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mininet.topo import Topo

from hetlab.emulation.link import HetLink
from hetlab.emulation.topo import HetHost, HetNet

RATE_MBIT = 10
RTT_MS = 10
DURATION_S = 10
FILE_BYTES = 10_000_000
SCRATCH = Path("/dev/shm/programs")


class Two(Topo):
    """Two hosts, one link."""

    def build(self, **_params: Any) -> None:
        """See Topo."""
        hosts = [self.addHost(name, cls=HetHost) for name in ("h1", "h2")]
        self.addLink(*hosts, cls=HetLink, rate_mbit=RATE_MBIT, delay_ms=RTT_MS / 2, queue_pkts=50)


class Bench:
    """The network, and where the programs are that are unpacked, not installed."""

    def __init__(self, build: Path) -> None:
        self.build = build
        self.net = HetNet(topo=Two())
        self.net.start()
        self.h1, self.h2 = self.net["h1"], self.net["h2"]
        self.address = self.net.address("h1", "h2")
        SCRATCH.mkdir()

    def served(self, server: list[str], client: str, cwd: Path | None = None) -> str:
        """What the client says; the server runs on h2 meanwhile."""
        process = self.h2.popen(server, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.h1.cmd("sleep 1")
        said = str(self.h1.cmd(client))
        process.terminate()
        process.wait()
        return said


Found = dict[str, float]


def flowgen(bench: Bench) -> Found:
    """What all others are compared with: a file of the same size as curl's."""
    out = SCRATCH / "receiver"
    receiver = bench.h2.popen(["flowgen", "--out", str(out), "role=recv,id=1,port=5001"])
    bench.h1.cmd("sleep 1")
    bench.h1.cmd(f"flowgen --out /dev/null role=send,id=1,port=5001,addr={bench.address},bytes={FILE_BYTES}")
    receiver.wait()
    end = [json.loads(line) for line in out.read_text().splitlines()][-1]
    return {"mbit": FILE_BYTES * 8 / (end["t"] - end["t_start"]) / 1e6}


def iperf3(options: str) -> Callable[[Bench], Found]:
    """iperf3 with these options of the client."""

    def run(bench: Bench) -> Found:
        said = json.loads(bench.served(["iperf3", "-s"], f"iperf3 -c {bench.address} -t {DURATION_S} --json {options}"))
        return {"mbit": said["end"]["sum" if "-u" in options else "sum_received"]["bits_per_second"] / 1e6}

    return run


def iperf2(options: str) -> Callable[[Bench], Found]:
    """Mininet's way, which needs telnet, too: the server's rate."""

    def run(bench: Bench) -> Found:
        kind = {"l4Type": "UDP", "udpBw": "5M"} if "-u" in options else {}
        rates = bench.net.iperf((bench.h1, bench.h2), seconds=DURATION_S, fmt="k", **kind)
        return {"mbit": float(rates[-2].split()[0]) / 1e3}

    return run


def netperf(bench: Bench) -> Found:
    """A stream, then requests and responses of one byte."""
    programs = bench.build / "netperf" / "usr" / "bin"

    def run(kind: str, column: int) -> float:
        client = f"{programs}/netperf -H {bench.address} -t {kind} -l {DURATION_S} -P 0"
        return float(bench.served([f"{programs}/netserver", "-D"], client).split()[column])

    return {"mbit": run("TCP_STREAM", 4), "ms": 1e3 / run("TCP_RR", 5)}


def curl(bench: Bench, server: list[str]) -> Found:
    """One file by HTTP."""
    (SCRATCH / "file").write_bytes(bytes(FILE_BYTES))
    client = f"curl -sS -o /dev/null -w '%{{speed_download}}' http://{bench.address}:8000/file"
    return {"mbit": float(bench.served(server, client, cwd=SCRATCH)) * 8 / 1e6}


def http_server(bench: Bench) -> Found:
    """Python's own server."""
    return curl(bench, ["python3", "-m", "http.server", "8000"])


NGINX = """daemon off; user root; pid {dir}/pid; error_log {dir}/errors; events {{}}
http {{ access_log off; server {{ listen 8000; root {dir}; }}
client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c; uwsgi_temp_path {dir}/d;
scgi_temp_path {dir}/e; }}
"""


def nginx(bench: Bench) -> Found:
    """A server that waits with epoll."""
    (SCRATCH / "conf").write_text(NGINX.format(dir=SCRATCH))
    return curl(bench, [f"{bench.build}/nginx/usr/sbin/nginx", "-p", str(SCRATCH), "-c", str(SCRATCH / "conf")])


SSHD = """ListenAddress {address}
HostKey {dir}/key
AuthorizedKeysFile {dir}/key.pub
PidFile {dir}/pid
StrictModes no
UsePAM no
UseDNS no
Subsystem sftp internal-sftp
"""


def scp(bench: Bench) -> Found:
    """A file of three times the size, so that the hand-shake counts less; accounts are the machine's own."""
    (SCRATCH / "conf").write_text(SSHD.format(address=bench.address, dir=SCRATCH))
    (SCRATCH / "passwd").write_text("root:x:0:0::/root:/bin/sh\nsshd:x:65533:65534::/run/sshd:/bin/false\n")
    (SCRATCH / "shadow").write_text("root:*:::::::\n")
    for name in ("passwd", "shadow"):
        bench.h2.cmd(f"mount --bind {SCRATCH}/{name} /etc/{name}")
    Path("/run/sshd").mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", SCRATCH / "key"], check=True)
    (SCRATCH / "file").write_bytes(bytes(3 * FILE_BYTES))
    options = f"-F none -i {SCRATCH}/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    client = f"date +%s.%N; scp -q {options} root@{bench.address}:{SCRATCH}/file {SCRATCH}/copy; date +%s.%N"
    sshd = f"{bench.build}/sshd/usr/sbin/sshd"
    begin, end = map(float, bench.served([sshd, "-D", "-f", str(SCRATCH / "conf")], client).split())
    return {"mbit": (SCRATCH / "copy").stat().st_size * 8 / (end - begin) / 1e6}


def ping(bench: Bench) -> Found:
    """ping -f sends when the answer comes, or after 10 ms."""
    begin = time.time()
    said = str(bench.h1.cmd(f"ping -f -q -c 1000 {bench.address}"))
    lost, ms = (float(re.findall(what, said)[0]) for what in (r"([\d.]+)% packet loss", r"= [\d.]+/([\d.]+)/"))
    return {"lost_percent": lost, "ms": ms, "seconds": time.time() - begin}


RUNS: dict[str, Callable[[Bench], Found]] = {
    "flowgen": flowgen,
    "iperf3": iperf3(""),
    "iperf3 -P 8": iperf3("-P 8"),
    "iperf3 -R": iperf3("-R"),
    "iperf3 -C": iperf3("-C reno"),
    "iperf3 -b": iperf3("-b 5M"),
    "iperf3 -u": iperf3("-u -b 5M"),
    "iperf": iperf2(""),
    "iperf -u": iperf2("-u"),
    "netperf": netperf,
    "http.server": http_server,
    "nginx": nginx,
    "scp": scp,
    "ping -f": ping,
}

if __name__ == "__main__":
    bench = Bench(Path(sys.argv[2]))
    print(json.dumps(RUNS[sys.argv[1]](bench)))
    bench.net.stop()
