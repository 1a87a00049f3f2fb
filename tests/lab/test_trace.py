# SPDX-License-Identifier: GPL-2.0
"""hetlab run --trace: what santacruz says of itself, against what the lab measures beside it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from commands import Hetlab, Run
from hetlab.paths import TOP
from hetlab.results.store import series

pytestmark = pytest.mark.virtual
ONE = ("--machines", "1", "--json")
STEADY_S = 2.0


def columns(directory: Path, table: str) -> dict[str, npt.NDArray[Any]]:
    """A table of a run."""
    return {key: np.array(values) for key, values in series(directory, table).items()}


@pytest.fixture(scope="module")
def basic(run_json: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Directories of one run, traced and untraced."""
    out = tmp_path_factory.mktemp("trace")
    args = ("santacruz-basic", "--cc", "santacruz:n_op=3", "--set", "duration_s=6", *ONE, "--out")
    run_json(*args, out / "traced", "--trace")
    run_json(*args, out / "untraced")
    inner = Path("santacruz-basic") / "santacruz_n_op=3" / "seed-1"
    return out / "traced" / inner, out / "untraced" / inner


def test_one_event_for_each_window_of_data(basic: tuple[Path, Path]) -> None:
    seen, flows = columns(basic[0], "trace"), columns(basic[0], "flows")
    late = seen["t"] > STEADY_S
    rtt_s = np.mean(flows["srtt_us"][flows["t"] > STEADY_S]) / 1e6
    assert np.mean(np.diff(seen["t"][late])) == pytest.approx(rtt_s, rel=0.15)
    assert 0 < seen["t"][0] < 0.5
    assert 6 - 2 * rtt_s < seen["t"][-1] <= 6
    assert set(seen["id"]) == {0}
    assert set(seen["n_op_pkts"]) == {3.0}
    assert set(seen["source"]) == {"timestamps"}


def test_n_is_the_queue(basic: tuple[Path, Path]) -> None:
    seen, queue = columns(basic[0], "trace"), columns(basic[0], "queue")
    bottleneck = queue["queue"] == "bottleneck.forward"
    t, length = queue["t"][bottleneck], queue["pkts"][bottleneck]
    late = np.flatnonzero(seen["t"] > STEADY_S)
    assert len(late) > 30
    for i in late:
        # An interval ends with the ACK of the window that began with its predecessor's end
        met = (t > seen["t"][i] - 0.2) & (t <= seen["t"][i])
        assert seen["n_pkts"][i] == pytest.approx(np.mean(length[met]), abs=1)
    assert seen["pkts_us"][late] == pytest.approx(1000 * 8 / 1.5, rel=0.03)
    assert seen["level_us"][late] == pytest.approx(seen["n_pkts"][late] * seen["pkts_us"][late], abs=30)


def test_window_and_state_are_the_connections(basic: tuple[Path, Path]) -> None:
    seen, flows = columns(basic[0], "trace"), columns(basic[0], "flows")
    for i in np.flatnonzero(seen["t"] > STEADY_S):
        assert abs(seen["cwnd"][i] - np.interp(seen["t"][i], flows["t"], flows["cwnd"])) <= 1
    assert set(seen["grew"]) == {0}, "the papers' alone"
    assert seen["phase"][0] == "startup" and set(seen["phase"][seen["t"] > STEADY_S]) <= {"steady", "drain"}
    assert not seen["competing"].any(), "alone on its link"


def test_tracing_changes_no_packet(basic: tuple[Path, Path]) -> None:
    traced, untraced = basic
    extra = {"trace.parquet", "trace-loss.parquet", "trace.png"}
    assert {p.name for p in traced.iterdir()} - {p.name for p in untraced.iterdir()} == extra
    assert (untraced / "owd-s-d.parquet").stat().st_size > 1000
    for path in untraced.iterdir():
        if path.name != "run.json":
            assert path.read_bytes() == (traced / path.name).read_bytes(), path.name


def test_losses_have_verdicts(run_json: Run, tmp_path: Path) -> None:
    """Those of the papers: alone, one packet in 31 lost by bit errors."""
    args = ("--cc", "santacruz@paper", "--set", "duration_s=15", *ONE, "--out", tmp_path, "--trace")
    run_json("santacruz-wireless", *args)
    directory = next(tmp_path.glob("santacruz-wireless/*/seed-1"))
    losses, seen = columns(directory, "trace-loss"), columns(directory, "trace")
    total = series(directory, "flows")["total_retrans"][-1]
    assert 20 < len(losses["t"]) <= total
    random = ~losses["congestive"]
    assert random.sum() > 0.7 * len(random), "bit errors are random loss"
    assert (losses["grew"][random] < 2).all() and (losses["grew"][~random] == 2).all()
    assert set(seen["phase"]) == {"hold", "raise", "lower"}
    assert losses["timeout"].sum() <= series(directory, "flows")["total_rto"][-1]
    before = np.searchsorted(seen["t"], losses["t"], side="right") - 1  # an ACK ends its interval first
    assert (losses["n_pkts"] == seen["n_pkts"][before])[before >= 0].all()


def test_company_is_told(run_json: Run, tmp_path: Path) -> None:
    """Beside CUBIC in a queue of 1 BDP."""
    sets = ("link.bottleneck.forward.queue_bdp=1", 'flow.other={src="s", dst="d", cc="cubic"}', "duration_s=30")
    args = [word for one in sets for word in ("--set", one)]
    run_json("bulk", "--cc", "santacruz", *args, *ONE, "--out", tmp_path, "--trace")
    directory = next(tmp_path.glob("bulk/*/seed-1"))
    losses, seen = columns(directory, "trace-loss"), columns(directory, "trace")
    assert not seen["competing"][0] and seen["competing"].any()
    assert losses["competing"].any()


LOSSY = """
base = "bulk"
title = "drains, and a link that loses packets"
duration_s = 60
[link.bottleneck]
forward = { rate_mbit = 8, delay_ms = 20, queue_bdp = 0.5, loss = { model = "random", percent = 0.3 } }
reverse = { rate_mbit = 8, delay_ms = 20 }
"""


def test_a_loss_does_not_end_a_drain(run_json: Run, tmp_path: Path) -> None:
    """It lasts three rounds at least."""
    (tmp_path / "lossy.toml").write_text(LOSSY)
    args = ("--cc", "santacruz:drain_s=1,discriminate=0", "--seeds", "3", *ONE, "--out", tmp_path, "--trace")
    run_json(tmp_path / "lossy.toml", *args)
    hit = 0
    for directory in tmp_path.glob("lossy/santacruz*/seed-*"):
        losses, seen = columns(directory, "trace-loss"), columns(directory, "trace")
        drains = np.flatnonzero(np.diff((seen["phase"] == "drain").astype(int), prepend=0, append=0))
        for first, behind in drains.reshape(-1, 2):
            if behind == len(seen["t"]):
                continue
            inside = (losses["t"] > seen["t"][first]) & (losses["t"] < seen["t"][behind])
            hit += (inside & losses["congestive"] & ~losses["timeout"]).any()
            if not (inside & losses["timeout"]).any():
                assert behind - first >= 3, f"{directory}: {seen['t'][first]} s"
    assert hit >= 4


BURSTS = """
base = "santacruz-basic"
title = "bursts of loss that last longer than a window"
duration_s = 15
[link.bottleneck]
forward = { loss = { model = "gemodel", percent = 0.2, burst_pkts = 25 } }
"""


def test_timeouts_are_told_from_other_losses(run_json: Run, tmp_path: Path) -> None:
    """tcp_info counts one more at the next sample, 100 ms later at most."""
    (tmp_path / "bursts.toml").write_text(BURSTS)
    run_json(tmp_path / "bursts.toml", "--cc", "santacruz", "--seeds", "3", *ONE, "--out", tmp_path, "--trace")
    found = 0
    for directory in tmp_path.glob("bursts/santacruz/seed-*"):
        losses, flows = columns(directory, "trace-loss"), columns(directory, "flows")
        for t, timeout in zip(losses["t"], losses["timeout"], strict=True):
            after = np.searchsorted(flows["t"], t)
            assert timeout == (flows["total_rto"][after] > flows["total_rto"][after - 1]), f"at {t} s"
        found += losses["timeout"].sum()
    assert found >= 2


def test_option_is_named_as_source(run_json: Run, tmp_path: Path) -> None:
    args = ("--cc", "santacruz", "--set", "duration_s=2", *ONE, "--out", tmp_path, "--trace")
    run_json("santacruz-basic@option", *args)
    directory = next(tmp_path.glob("santacruz-basic@option/*/seed-1"))
    assert set(columns(directory, "trace")["source"]) == {"option"}


def test_two_flows_keep_apart(run_json: Run, hetlab: Hetlab, tmp_path: Path) -> None:
    args = ("--set", "flow.main.count=2", "--set", "ipv6=true", "--set", "duration_s=4", *ONE, "--out", tmp_path)
    run_json("bulk", "--cc", "santacruz", *args, "--trace")
    run = next(tmp_path.glob("bulk/*/seed-1"))
    seen, flows = columns(run, "trace"), columns(run, "flows")
    assert set(seen["id"]) == {0, 1}
    for number in (0, 1):
        own, its = seen["id"] == number, flows["id"] == number
        # The event of a round has the window before what the round makes of it
        assert seen["cwnd"][own][-1] == pytest.approx(flows["cwnd"][its][-1], abs=3)
    assert hetlab("report", tmp_path).returncode == 0
    assert "What santacruz saw and decided" in (tmp_path / "report.html").read_text()
    assert [p.name for p in (tmp_path / "plots").glob("*trace*")] == ["bulk-trace-santacruz.png"]


def test_on_host(hetlab: Hetlab, tmp_path: Path) -> None:
    """The running kernel is the lab's here; tracefs is as it was afterwards."""
    words = "--on host --cc santacruz --set duration_s=2 --trace --json --out"
    run = f"{TOP}/tools/hetlab run santacruz-basic {words} {tmp_path}"
    state = "ls -A /sys/kernel/tracing | wc -l"
    again = "mount -t tracefs none /sys/kernel/tracing"
    left = "ls /sys/kernel/tracing/instances; cat /sys/kernel/tracing/events/santacruz/enable"
    done = hetlab("exec", "--", "sh", "-c", f"{run}; echo status=$?; {state}; {again}; {left}")
    lines = done.stdout.splitlines()
    assert lines[1:] == ["status=0", "0", "0"], done.stderr
    assert json.loads(lines[0])["cc"] == "santacruz"
    directory = next(tmp_path.glob("santacruz-basic/*/seed-1"))
    assert len(columns(directory, "trace")["t"]) > 10
    assert (directory / "trace.png").stat().st_size > 10_000


def test_events_that_do_not_fit_fail_the_run(hetlab: Hetlab, tmp_path: Path) -> None:
    """The same with a buffer for a few dozens of events."""
    imports = "from hetlab.cli import app; from hetlab.emulation import tracefs"
    code = f"{imports}; tracefs.BUFFER_KB = tracefs.BUFFER_MIN_KB = 4; app.main()"
    args = "run santacruz-wireless --on host --cc santacruz --set duration_s=15 --trace --out"
    done = hetlab("exec", "--", "sh", "-c", f'python -c "{code}" {args} {tmp_path}')
    assert done.returncode == 1
    assert "events did not fit into 4 kB" in done.stderr
    assert not list(tmp_path.rglob("result.json"))


def test_nothing_to_trace_is_an_error(hetlab: Hetlab, tmp_path: Path) -> None:
    done = hetlab("run", "bulk", "--cc", "reno", "--trace", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "--trace: no flow of these runs uses santacruz" in done.stderr
    assert not (tmp_path / "out").exists()


def test_module_without_events_is_an_error(hetlab: Hetlab, tmp_path: Path) -> None:
    """Where events/santacruz would be there is nothing, as with a module built without."""
    run = f"{TOP}/tools/hetlab run bulk --on host --cc santacruz --trace --out {tmp_path}/out"
    hide = "mount -t tracefs none /sys/kernel/tracing; mount -t tmpfs none /sys/kernel/tracing/events"
    done = hetlab("exec", "--", "sh", "-c", f"{hide}; {run}")
    assert done.returncode == 1
    assert "has no events/santacruz in /sys/kernel/tracing" in done.stderr
