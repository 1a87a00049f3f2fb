# SPDX-License-Identifier: GPL-2.0
"""--on hosts without hosts: which scenarios fit, links as one, iperf3's JSON, the agent's first and last words."""

import ast
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hetlab.errors import LabError
from hetlab.hosts import connection, netem, options, remote_agent, remote_host, traffic
from hetlab.model import files, jobs, resolve
from hetlab.model.flow import Flow
from hetlab.model.scenario import Experiment

pytestmark = pytest.mark.fast


def planned(name: str, *sets: str, **told: Any) -> Experiment:
    loaded = files.load(name, list(sets))[0]
    job = jobs.one(loaded, resolve.resolve(loaded), jobs.Variant("reno"), 1, Path("/nowhere"))
    return options.fit(job, options.Options("a", "b", **told)).scenario


def test_without_netem_links_are_left_out() -> None:
    sc = planned("bulk")
    assert (sc.links, sc.measure.bottleneck, sc.owd_pairs) == ({}, None, ())
    sc = planned("bulk", netem="receiver")
    assert sc.links.keys() == {"access", "bottleneck", "exit"}
    assert sc.measure.bottleneck == "bottleneck.forward"


UNFIT = [
    (("santacruz-basic",), {}, "route.s"),
    (("real_networks-drift",), {}, "clock."),
    (("satellite-rtt@red",), {}, "flows between"),
    (("real_networks-handover",), {"netem": "receiver"}, "change while it runs"),
    (("bulk", "flow.main.proto=udp", "flow.main.rate_mbit=1"), {}, "flow.main is udp"),
    (("bulk", "flow.main.count=65"), {}, "at most 64"),
    (("bulk", "clock.d.offset_s=5"), {}, "clock.d: clocks of real hosts are not changed"),
    (("bulk", "flow.main.start_jitter_s=5"), {}, "whole seconds"),
    (("bulk", "link.exit.forward.police_mbit=5"), {"netem": "sender"}, "no policer, .* on real hosts: link.exit"),
    (("bulk", "link.exit.forward.ecn_bleach=all"), {"netem": "sender"}, "ecn_bleach .* on real hosts: link.exit"),
    (("bulk", "duration_s=2.5"), {}, "whole seconds"),
    (("bulk", "flow.main.rcvlowat=1000"), {}, "--traffic flowgen"),
    (
        ("bulk", "link.access.forward.jitter_ms=1", "link.exit.forward.slot_ms=1"),
        {"netem": "sender"},
        "several links: link.access, link.exit",
    ),
]


@pytest.mark.parametrize(("words", "options", "why"), UNFIT, ids=lambda v: v if isinstance(v, str) else None)
def test_what_does_not_fit_is_named(words: tuple[str, ...], options: dict[str, Any], why: str) -> None:
    with pytest.raises(LabError, match=why):
        planned(*words, **options)


def test_a_trace_is_not_for_hosts() -> None:
    (loaded,) = files.load("bulk")
    job = jobs.one(loaded, resolve.resolve(loaded), jobs.Variant("santacruz"), 1, Path("/nowhere"), trace=True)
    with pytest.raises(LabError, match="--trace"):
        options.fit(job, options.Options("a", "b"))


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("hosts", "a", None), "--receiver"),
        (("virtual", "a", None), "go with --on hosts"),
        (("host", None, None, None, None, "iperf3", "sender"), "go with --on hosts"),
    ],
)
def test_options_that_do_not_go_together(args: tuple[Any, ...], why: str) -> None:
    rest = (None, None, None, None, "iperf3", "none", None)
    with pytest.raises(LabError, match=why):
        options.options(*args, *rest[len(args) - 1 :])


def test_links_of_a_path_are_one() -> None:
    """Delays add up, so do losses; the smallest rate has its queue."""
    loss = "{ model = 'random', percent = 10 }"
    sets = [f"link.access.forward.loss={loss}", f"link.bottleneck.forward.loss={loss}"]
    sc = planned("bulk", *sets, "link.exit.forward.delay_ms=7", netem="receiver")
    there = netem.one_way(sc, netem.path(sc, "s", "d")).direction
    assert (there.rate_mbit, there.delay_ms, there.queue_pkts) == (10, 57, 95)
    assert math.isclose(there.loss.percent, 19)
    assert netem.path(sc, "d", "s") == [("exit", False), ("bottleneck", False), ("access", False)]


CLIENT = {
    "start": {"tcp_mss_default": 1448},
    "intervals": [
        {"streams": [{"end": 0.1, "retransmits": 2, "snd_cwnd": 14480, "rtt": 20000, "rttvar": 10}]},
        {"streams": [{"end": 0.2, "retransmits": 1, "snd_cwnd": 28960, "rtt": 30000, "rttvar": 20}]},
    ],
    "end": {
        "sender_tcp_congestion": "reno",
        "streams": [{"sender": {"seconds": 0.2, "retransmits": 3, "min_rtt": 19000}}],
    },
}
SERVER = {
    "intervals": [{"sum": {"end": 0.1, "bytes": 1000}}, {"sum": {"end": 0.2, "bytes": 2000}}],
    "end": {"sum_received": {"end": 0.25, "seconds": 0.25, "bytes": 3500}},
}


def test_json_of_iperf3_becomes_records_of_flowgen() -> None:
    flow = Flow(src="s", dst="d", id=3, name="main", port=5004, start_s=5.0, duration_s=1)
    start, first, second, end = traffic.sender_records(flow, CLIENT, SERVER)
    assert (start["cc"], start["t"]) == ("reno", 5)
    assert [(r["t"], r["cwnd"], r["srtt_us"], r["total_retrans"]) for r in (first, second)] == [
        (5.1, 10, 20000, 2),
        (5.2, 20, 30000, 3),
    ]
    assert first["ssthresh"] is None and first["bytes_acked"] is None
    assert (end["t"], end["total_retrans"], end["min_rtt_us"], end["total_rto"]) == (5.2, 3, 19000, None)
    got = traffic.receiver_records(flow, SERVER)
    assert [(r["t"], r["bytes_received"]) for r in got] == [(5.1, 1000), (5.2, 3000), (5.25, 3500)]
    *_, end = traffic.sender_records(replace(flow, bytes=3500), CLIENT, SERVER)
    assert end["t"] == 5.25, "a flow of so many bytes is over when they have arrived"


def test_agent_is_for_old_pythons() -> None:
    for path in connection.AGENT.values():
        ast.parse(path.read_text(), feature_version=(3, 7))


def test_agent_starts_by_sudo_and_leaves_nothing(tmp_path: Path) -> None:
    """As a user who is not root; stdin closed is the end."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"id": "echo 1000", "sudo": f'printf %s "$1" >{tmp_path}/sudo; shift; exec "$@"'}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "tmp").mkdir()
    env = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(tmp_path / "tmp")}
    env["SSH_CONNECTION"] = "192.0.2.1 1 192.0.2.2 22"
    command = ["sh", "-c", connection._start_agent()]
    done = subprocess.run(command, input=connection._agent(), capture_output=True, env=env, timeout=30, check=False)
    assert json.loads(done.stdout) == {"number": 0, "ok": env["SSH_CONNECTION"]}, done.stderr
    assert (tmp_path / "sudo").read_text() == "-n"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_offloads_are_read_as_ethtool_does() -> None:
    """Of an interface that every machine has."""
    shown = subprocess.run(["ethtool", "-k", "lo"], capture_output=True, text=True, check=True).stdout
    words = dict(line.strip().split(": ") for line in shown.splitlines()[1:])
    long = {"tx-generic-segmentation": "generic-segmentation-offload", "rx-gro": "generic-receive-offload"}
    long |= {"rx-lro": "large-receive-offload"}
    for name, found in remote_host.offloads("lo").items():
        assert found["on"] == words[long.get(name, name)].startswith("on"), name


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_undo_names_what_differs(tmp_path: Path) -> None:
    """A file that comes back, and one that somebody else changed and took away."""
    journal = remote_host.Journal(str(tmp_path))
    files = [tmp_path / name for name in ("first", "second")]
    for file in files:
        file.write_text("old")
        journal.add(write=str(file), old="old")
        file.write_text("new")
    files[1].unlink()
    (line,) = journal.undo()
    assert files[0].read_text() == "old"
    assert "second: was old, is None" in line
    assert journal.undo() == [], "a journal is undone once"


class Lacking:
    """A host that answers every change like a kernel without some modules."""

    facts: ClassVar[dict[str, Any]] = {"release": "5.14.0-1", "qdiscs": []}

    def __init__(self, words: str, said: str) -> None:
        self.words, self.said = words, said

    def __str__(self) -> str:
        return "receiver b"

    def call(self, do: str, args: list[str], **_more: Any) -> str:
        if do == "change" and self.words in " ".join(args):
            raise connection.Refusal(f"{self}: {' '.join(args)}: {self.said}")
        handle = next((args[i + 1] for i, word in enumerate(args) if word == "handle"), "")
        return json.dumps([{"handle": handle}])


LACKS = [
    ("clsact", "Error: Specified qdisc kind is unknown.", "module sch_ingress,"),
    ("clsact", "RTNETLINK answers: No such file or directory", "module sch_ingress,"),
    ("type ifb", "Error: Unknown device type.", "module ifb,"),
    ("netem", "Error: Specified qdisc not found.", "module sch_netem,"),
]


@pytest.mark.parametrize(("words", "said", "module"), LACKS)
def test_a_missing_module_is_named(words: str, said: str, module: str) -> None:
    links = options.emulation(planned("bulk", netem="receiver"), "receiver")
    with pytest.raises(LabError) as caught:
        links.install(Lacking(words, said), "eth0", "192.0.2.1", [5001])
    assert f"receiver b: its kernel 5.14.0-1 lacks the {module}" in str(caught.value)
    assert "linux-modules-extra-5.14.0-1 (Ubuntu)" in str(caught.value)


def test_other_errors_of_tc_stay_as_they_are() -> None:
    links = options.emulation(planned("bulk", netem="receiver"), "receiver")
    with pytest.raises(LabError, match="Exclusivity flag on, cannot modify") as caught:
        links.install(Lacking("clsact", "Error: Exclusivity flag on, cannot modify."), "eth0", "192.0.2.1", [5001])
    assert "lacks" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (255, "Warning: x\nroot@b: Permission denied (publickey).\r\n", "ssh cannot log in: root@b: Permission"),
        (255, "", "ssh cannot log in: the connection is gone"),
        (1, "sudo: a password is required", "the agent does not start there: sudo: a password is required\n  log in"),
        (127, "sh: 1: exec: nothing", "the agent does not start there: sh: 1:"),
    ],
)
def test_a_failed_login_says_which_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, said: str, words: str
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\ncat >/dev/null & cat <<'END' >&2\n{said}\nEND\nexit {status}\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(connection.HostLost) as caught:
        connection.Host("receiver", "root@b", ("Port=2222",))
    text = str(caught.value)
    assert text.startswith(f"receiver root@b: {words}")
    assert "ssh -o Port=2222 -o BatchMode=yes -- root@b true" in text


def test_the_title_says_whose_links_are_missing() -> None:
    assert "links not emulated" in planned("bulk").title
    assert "links not emulated" not in planned("bulk", netem="receiver").title


def test_two_hosts_behind_one_address_are_told_what_to_give() -> None:
    """Two machines behind address translation may both have 10.0.2.15."""
    worker = object.__new__(remote_agent.Worker)
    with pytest.raises(remote_host.Refused, match=r"127\.0\.0\.1 is an address of this host itself: give --receiver-"):
        worker.do_route("127.0.0.1")
