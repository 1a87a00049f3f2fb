# SPDX-License-Identifier: GPL-2.0
"""Where the Santa Cruz option is off or not asked for, the patch changes no byte and no microsecond.

Every case runs on the unpatched kernel and on the patched one with
net.ipv4.tcp_santacruz 0 and 2. Each host's packets are captured as they leave
and as they arrive: headers, lengths, nanoseconds. One flow per congestion
control; the last is santacruz, which under 2 makes use of the option, so that
there everything up to its SYN must be the same, and the SYN must not be. make check has the cases in
which TCP itself does something else, make check-upstream also those in which only the network does.
"""

import json
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from commands import call_hetlab
from hetlab.build.kernel import OPTION_PATCH
from hetlab.results.store import series

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.skipif(not OPTION_PATCH.is_file(), reason="this tree has no santacruz_opt.patch"),
]

# One of each kind is in all cases, the others are in one: what the patch changes is the same for all of them
CCS = ("cubic", "bbr", "westwood_fr", "hybla_ext")
OTHERS: tuple[str, ...] = ("vegas", "westwood", "hybla", "westwood_gfr", "bic", "htcp", "highspeed", "nv", "scalable")
OTHERS += ("lp", "veno", "yeah", "illinois", "dctcp", "cdg")
SYSCTL = 'sysctl."net.ipv4.{}"'
VARIANTS = {"unpatched": None, "0": 0, "2": 2}
# Each variant is shared out to so many machines, always in the same way
PARTS = 2
GAP_S = 1
SC_PERMITTED = bytes([254, 4, 0x53, 0x43])


@dataclass(frozen=True)
class Case:
    """A scenario with one flow after the other (``stride_s``), or beside it."""

    base: str = "bulk"
    keys: dict[str, Any] = field(default_factory=dict)
    ccs: tuple[str, ...] = CCS
    stride_s: float = 4
    length_s: float = 3.5
    back_s: float = 2

    @property
    def sack(self) -> bool:
        """Without SACK nobody offers the option."""
        return self.keys.get(SYSCTL.format("tcp_sack")) != 0

    def flows(self) -> dict[str, Any]:
        """Keys of all flows: main is reno's, santacruz comes when all others are over."""
        last = len(self.ccs) * self.stride_s + self.length_s + GAP_S
        keys: dict[str, Any] = {"flow.main.duration_s": self.length_s}
        # not "back", which a scenario may have with a congestion control of its own: then nobody captures that way
        keys |= _flow("return", "d", "s", 0, self.back_s)
        for i, cc in enumerate(self.ccs):
            keys |= _flow(cc, "s", "d", (i + 1) * self.stride_s, self.length_s) | {f"flow.{cc}.cc": cc}
        keys |= _flow("santacruz", "s", "d", last, 3) | {"flow.santacruz.cc": "santacruz"}
        return keys | {"duration_s": last + 3}

    def toml(self, mode: int | None) -> str:
        """Scenario file for a kernel with the given tcp_santacruz, None if it has no such sysctl."""
        keys = {"base": self.base, "measure.pcap": True, "measure.queue_ms": 50} | self.flows() | self.keys
        if mode is not None:
            keys[SYSCTL.format("tcp_santacruz")] = mode
        return "".join(f"{k} = {json.dumps(v)}\n" for k, v in keys.items())


def _flow(name: str, src: str, dst: str, start_s: float, duration_s: float) -> dict[str, Any]:
    values = {"src": src, "dst": dst, "start_s": start_s, "duration_s": duration_s}
    return {f"flow.{name}.{k}": v for k, v in values.items()}


def _narrow(**keys: Any) -> dict[str, Any]:
    return {f"link.bottleneck.forward.{k.replace('__', '.')}": v for k, v in keys.items()}


def _sysctl(**keys: int | str) -> dict[str, Any]:
    return {SYSCTL.format(k): v for k, v in keys.items()}


# TCP itself does something else: what the patch comes near
STACK = {name: Case(name) for name in ("bulk", "santacruz-asym", "santacruz-wireless")}
STACK |= {
    "ipv6": Case(keys={"ipv6": True, "flow.main.count": 4}),
    "random-loss": Case(keys=_narrow(loss__model="random", loss__percent=2)),
    "together": Case(stride_s=0.5, length_s=15, back_s=15),
    "reordering": Case(keys=_narrow(reorder_percent=2, duplicate_percent=1, jitter_ms=3)),
    "short-flows": Case(keys={"flow.main.count": 30, "flow.main.stagger_s": 0.2, "flow.main.bytes": 40000}, back_s=7),
    "no-sack": Case(keys=_sysctl(tcp_sack=0) | _narrow(queue_bdp=0.3)),
    "no-timestamps": Case(keys=_sysctl(tcp_timestamps=0) | _narrow(queue_bdp=0.3)),
    "no-rack": Case(keys=_sysctl(tcp_recovery=0) | _narrow(queue_bdp=0.3)),
    "ecn": Case(keys=_sysctl(tcp_ecn=1) | _narrow(aqm="fq_codel")),
    "syn-cookies": Case(keys=_sysctl(tcp_syncookies=2), ccs=CCS[:2]),
    "mtu-probing": Case(keys=_sysctl(tcp_mtu_probing=2, tcp_base_mss=600), ccs=CCS[:2]),
    "small-buffers": Case(keys=_sysctl(tcp_rmem="4096 16384 65536", tcp_wmem="4096 16384 65536")),
}
# Only the network does, or the congestion control: the lab's scenarios, then what tests/lab/test_links.py checks
NETWORK = {name: Case(name) for name in ("santacruz-basic", "santacruz-asym@320")}
NETWORK |= {"santacruz-reverse": Case("santacruz-reverse", {"flow.back.duration_s": 19})}  # over before santacruz
NETWORK |= {name: Case(name, stride_s=10, length_s=8) for name in ("geo", "geo-clean")}
NETWORK |= {"red": Case(keys=_narrow(aqm="red"))}
NETWORK |= {aqm: Case(keys=_narrow(aqm=aqm), ccs=CCS[:2]) for aqm in ("fq_codel", "codel", "pie", "fq", "cake")}
NETWORK |= {
    "red-lone-flow": Case(keys=_narrow(aqm="red", delay_ms=12), ccs=("westwood",), length_s=10, stride_s=11),
    "loss-bursts": Case(
        keys=_narrow(loss__model="gemodel", loss__percent=1, loss__burst_pkts=3), stride_s=5, length_s=4
    ),
    "udp": Case(
        keys=_flow("udp", "s", "d", 1, 18)
        | {"flow.udp.proto": "udp", "flow.udp.rate_mbit": 7.93, "flow.udp.on_s": 0.5, "flow.udp.off_s": 1.5},
    ),
    "reverse": Case(back_s=19),
    "every-cc": Case(keys=_narrow(loss__model="random", loss__percent=0.5), ccs=OTHERS),
}
CASES = STACK | NETWORK


def _params(chosen: Callable[[Case], bool]) -> list[Any]:
    """Names of these cases; those in which only the network differs have a place of their own."""
    names = [name for name, case in CASES.items() if chosen(case)]
    return [pytest.param(name, marks=pytest.mark.series) if name in NETWORK else name for name in names]


@dataclass(frozen=True)
class Packet:
    """What a capture holds of a packet."""

    t_ns: int
    length: int
    data: bytes

    def __str__(self) -> str:
        return f"{self.t_ns} {self.length} {self.data.hex()}"

    @property
    def dport(self) -> int:
        """Destination port; no packet of ours has IP options."""
        (port,) = struct.unpack_from(">H", self.data, 56 if self.data[12:14] == b"\x86\xdd" else 36)
        return int(port)


def packets(path: Path) -> Iterator[Packet]:
    """Packets of a nanosecond pcap file."""
    data = path.read_bytes()
    assert data[:4] == struct.pack("<I", 0xA1B23C4D)
    at = 24
    while at < len(data):
        seconds, ns, caplen, length = struct.unpack_from("<IIII", data, at)
        yield Packet(seconds * 10**9 + ns, length, data[at + 16 : at + 16 + caplen])
        at += 16 + caplen


def _pin(cpus: "SimpleQueue[int]") -> None:
    """One CPU for this thread and the machines that it starts."""
    os.sched_setaffinity(0, {cpus.get()})


def _carry_out(top: Path, cases: list[str], variant: str, part: int) -> None:
    """A share of the cases on one machine: TCP timestamps repeat if the same runs came before."""
    directory = top / variant
    directory.mkdir(exist_ok=True)
    names = cases[part::PARTS]
    files = [directory / f"same-{name}.toml" for name in names]
    for name, path in zip(names, files, strict=True):
        path.write_text(CASES[name].toml(VARIANTS[variant]))
    patched = "--no-patched" if variant == "unpatched" else "--patched"
    done = call_hetlab("run", *files, patched, "--cc", "reno", "--machines", "1", "--out", directory)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Results of all cases that are asked for, by variant; as many machines side by side as there are CPUs."""
    here = [item for item in request.session.items if item.path == request.path]
    wanted = {item.callspec.params["name"] for item in here if isinstance(item, pytest.Function)}
    cases = [name for name in CASES if name in wanted]
    top = tmp_path_factory.mktemp("unchanged")
    cpus: SimpleQueue[int] = SimpleQueue()
    for cpu in os.sched_getaffinity(0):
        cpus.put(cpu)
    shares = [(variant, part) for part in range(PARTS) for variant in VARIANTS]
    with ThreadPoolExecutor(cpus.qsize(), initializer=_pin, initargs=(cpus,)) as pool:
        for done in [pool.submit(_carry_out, top, cases, *share) for share in shares]:
            done.result()
    yield top
    shutil.rmtree(top)  # a gigabyte


def run_dir(outcome: Path, variant: str, name: str) -> Path:
    (directory,) = (outcome / variant / f"same-{name}").glob("*/seed-1")
    return directory


def result(directory: Path) -> dict[str, Any]:
    """result.json without what names the kernel and the sysctl."""
    r: dict[str, Any] = json.loads((directory / "result.json").read_text())
    del r["hashes"]
    r["scenario_resolved"]["sysctl"].pop("net.ipv4.tcp_santacruz", None)
    return r


def first_difference(a: list[Packet], b: list[Packet]) -> str:
    """For a person: where two captures part."""
    for i, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other:
            return f"packet {i}:\n{one}\n{other}"
    return f"{len(a)} packets, {len(b)} packets"


def same_packets(a: list[Packet], b: list[Packet], what: str) -> None:
    assert a == b, f"{what}, {first_difference(a, b)}"


def same_runs(before: Path, after: Path) -> None:
    """All files that hetlab calls reproducible, byte by byte."""
    names = sorted(p.name for p in before.iterdir())
    assert names == sorted(p.name for p in after.iterdir())
    assert sum(n.endswith(".pcap") for n in names) == 4
    for name in names:
        if name.endswith(".pcap") and (before / name).read_bytes() != (after / name).read_bytes():
            same_packets(list(packets(before / name)), list(packets(after / name)), name)
        if name.endswith(".parquet"):
            assert (before / name).read_bytes() == (after / name).read_bytes(), name
    assert result(before) == result(after)


@pytest.mark.parametrize("name", _params(lambda _case: True))
def test_off_changes_nothing(outcome: Path, name: str) -> None:
    same_runs(run_dir(outcome, "unpatched", name), run_dir(outcome, "0", name))


@pytest.mark.parametrize("name", _params(lambda case: not case.sack))
def test_without_sack_changes_nothing(outcome: Path, name: str) -> None:
    same_runs(run_dir(outcome, "unpatched", name), run_dir(outcome, "2", name))


@pytest.mark.parametrize("name", _params(lambda case: case.sack))
def test_not_asked_for_changes_nothing(outcome: Path, name: str) -> None:
    before, after = (run_dir(outcome, v, name) for v in ("unpatched", "2"))
    (flow,) = (f for f in result(before)["scenario_resolved"]["flows"] if f["name"] == "santacruz")
    captured = {p.name: list(packets(p)) for p in sorted(after.glob("*.pcap"))}
    syn = next(p for p in captured["s-d.tx.pcap"] if p.dport == flow["port"])
    assert SC_PERMITTED in syn.data
    for capture, now in captured.items():
        then = list(packets(before / capture))
        assert not any(SC_PERMITTED in p.data for p in then)
        same_packets([p for p in then if p.t_ns < syn.t_ns], [p for p in now if p.t_ns < syn.t_ns], capture)
    one, other = ([f for f in result(r)["flows"] if f["name"] != "santacruz"] for r in (before, after))
    assert one == other
    for table in ("flows", "queue"):
        same_series(series(before, table), series(after, table), flow["start_s"], table)


def same_series(a: dict[str, list[Any]], b: dict[str, list[Any]], until_s: float, table: str) -> None:
    """Equal columns before a time; one that only the later part has does not count."""
    for key in a.keys() & b.keys():
        one, other = ([v for t, v in zip(columns["t"], columns[key], strict=True) if t < until_s] for columns in (a, b))
        assert one == other, f"{table}: {key}"
