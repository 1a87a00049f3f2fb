# SPDX-License-Identifier: GPL-2.0
"""--on hosts: two namespaces with sshd, measured and left as they were, whatever happens in between."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Hetlab
from hetlab.build import programs
from hetlab.paths import TOP

pytestmark = pytest.mark.virtual
Case = Callable[[str], dict[str, Any]]
HERE = TOP / "tests" / "lab"
PLAIN = ["files d", "files s", "programs", "sysctls d", "sysctls s"]
EMULATED = sorted([*PLAIN, "links d", "offloads d", "offloads s", "tc d"])


@pytest.fixture
def case(hetlab: Hetlab, tmp_path: Path) -> Case:
    """Runs a case of hosts_guest.py; what it saw."""
    tick = tmp_path / "tick.so"
    args = ["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", str(tick), str(HERE / "tick.c")]
    subprocess.run(args, check=True)
    programs.static_flowgen("x86_64")  # in virtual time nobody wants to compile

    def run(name: str) -> dict[str, Any]:
        done = hetlab("exec", "--", "python3", HERE / "hosts_guest.py", tick, name, tmp_path / "out")
        assert done.returncode == 0, done.stderr
        seen: dict[str, Any] = json.loads(done.stdout)
        assert seen["changed"] == [], "something was left behind"
        return seen

    return run


def test_iperf3(case: Case, tmp_path: Path) -> None:
    """Faults of a run cost nobody else's result; a module that had to be loaded is unloaded again."""
    done = case("iperf3")
    assert done["status"] == 1
    assert [r["cc"] for r in done["results"]] == ["santacruz", "hybla_ext", "reno"]
    for r in done["results"]:
        assert [f["cc"] for f in r["flows"]] == [r["cc"]] * 2
        assert 17 < sum(f["goodput_mbit"] for f in r["flows"]) < 19.5
        assert 20 <= min(f["rtt_min_ms"] for f in r["flows"]) < 40
        assert "links not emulated" in r["title"]
        assert r["hosts"]["links"].startswith("ignored") and r["hosts"]["traffic"] == "iperf3"
        assert r["hosts"]["rtt_ms"] == pytest.approx(20, abs=0.5)
        assert r["hosts"]["sender"]["origin"]["tcp_santacruz"] == "tree"
        assert abs(r["hosts"]["clock_offset_ms"]) <= r["hosts"]["clock_uncertain_ms"] + 0.1
        assert r["queue"]["drops"] is None and r["queue"]["loss_model_drops"] is None
        assert r["flows"][0]["timeouts"] is None, "iperf3 does not know them"
    assert done["results"][0]["cc_params"] == {"n_op": "9"}
    before, _connecting, _after = done["errors"].partition("connecting to sender")
    assert "links of the scenario are not emulated (--netem none): the real path is measured" in before
    for word in ("'nosuch' is not in its kernel", "n_op=0.1 refused", "0.5..1000", "no parameter 'color'"):
        assert word in done["errors"]
    assert sorted(p.name for p in (tmp_path / "out" / "bulk").iterdir()) == ["hybla_ext", "reno", "santacruz_n_op=9"]


def test_preflight_is_shown(case: Case) -> None:
    """Before anything runs; a missing iperf3 costs the run."""
    done = case("without")
    assert (done["status"], done["results"]) == (1, [])
    assert "receiver 10.9.2.2: iperf3 is not installed there" in done["errors"]
    words = ("6.12.", "10.0.1.2 on to-r, MTU 1500", "tso, gso", "cubic", "tcp_rmem", "not set by NTP", "this tree's")
    for word in (*words, "round trip", "receiver's clock"):
        assert word in done["errors"]


def test_emulated_links_are_those_of_the_lab(case: Case) -> None:
    """80 ms more than the path has, 10 Mbit/s; with the bottleneck on the receiver a loss is a loss."""
    done = case("netem")
    for where in ("receiver", "sender"):
        assert done[where]["status"] == 0, done[where]["errors"]
        (result,) = done[where]["results"]
        (flow,) = result["flows"]
        assert flow["rtt_min_ms"] == pytest.approx(100, abs=0.5)
        assert 9 < flow["goodput_mbit"] < 9.7
        assert flow["timeouts"] is not None, "flowgen knows them"
        assert result["queue"]["drops"] > 0 and result["queue"]["loss_model_drops"] == 0
    (result,) = done["receiver"]["results"]
    not_yet_resent = result["queue"]["drops"] - result["flows"][0]["retransmits"]
    assert 0 <= not_yet_resent <= 3, "what the last round trip of the run dropped"
    assert result["hosts"]["links"]["arriving"]["delay_ms"] == 40
    assert "no loss to TCP" in done["sender"]["errors"] and "no loss to TCP" not in done["receiver"]["errors"]


def test_loss_jitter_and_aqm(case: Case) -> None:
    (result,) = case("impaired")["results"]
    sent = result["flows"][0]["bytes_sent"] / 1448
    assert result["queue"]["loss_model_drops"] == pytest.approx(sent / 100, rel=0.4)
    assert result["flows"][0]["goodput_mbit"] > 7


def test_signals_restore_both_hosts(case: Case) -> None:
    done = case("interrupted")
    for name, status in (("SIGINT", 130), ("SIGTERM", 143)):
        seen = done[name]
        assert seen["meanwhile"] == EMULATED, "nothing to restore"
        assert seen["sack"] == ["0", "0"]
        assert (seen["status"], seen["changed"]) == (status, []), seen["errors"]
        assert "both hosts are as they were before" in seen["errors"]


@pytest.mark.parametrize("what", ["ssh", "worker", "guardian", "silence", "hetlab"])
def test_hosts_restore_themselves(case: Case, what: str) -> None:
    """ssh killed, half of an agent killed, the network gone without a word, hetlab killed."""
    done = case(f"cut-{what}")
    assert done["meanwhile"] == EMULATED, "nothing to restore"
    assert not done["soon"], "not restored at once"
    if what != "hetlab":
        assert done["status"] == 1
        assert "the connection is gone" in done["errors"]
    ccs = [r["cc"] for r in done["results"]]
    assert ccs == (["cubic"] if what == "ssh" else []), "the next run connects again"


def test_a_kernel_without_netem_is_named(case: Case) -> None:
    """In the words of a kernel that lacks a qdisc; what was made before is undone."""
    done = case("no-netem")
    assert (done["status"], done["results"]) == (1, [])
    assert "receiver 10.9.2.2: its kernel 6.12." in done["errors"]
    for words in ("lacks the module sch_netem", "linux-modules-extra-6.12.", "kernel-modules-extra"):
        assert words in done["errors"]
    assert "Specified qdisc" not in done["errors"]


REFUSED = {
    "wrong host": (2, ["receiver 10.9.2.3: ssh cannot log in: ssh: connect to host", "No route to host"]),
    "unknown key": (2, ["sender 10.9.1.2: ssh cannot log in: Host key verification failed", "log in once by hand"]),
    "wrong user": (2, ["sender 10.9.1.2: ssh cannot log in: ", "Permission denied", "needs a key without a password"]),
    "wrong address": (2, ["receiver 10.9.2.2", "10.0.2.9", "Cannot assign requested address"]),
    "clsact": (1, ["to-r has a clsact qdisc already"]),
    "busy port": (2, ["10.0.2.2 port 5001: Address already in use"]),
}


def test_refusals_name_the_host_and_the_cause(case: Case) -> None:
    done = case("refused")
    for what, (status, words) in REFUSED.items():
        assert (done[what]["status"], done[what]["results"]) == (status, []), what
        for word in words:
            assert word in done[what]["errors"]
        assert "no agent there" not in done[what]["errors"]
        assert "Traceback" not in done[what]["errors"]
