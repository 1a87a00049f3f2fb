# SPDX-License-Identifier: GPL-2.0
"""What --dry-run says of runs that are not in virtual time, and of names that are no congestion controls."""

import pytest

from commands import call_hetlab

pytestmark = pytest.mark.virtual
TWO = ("--on", "hosts", "--sender", "root@192.0.2.1", "--receiver", "192.0.2.2")


@pytest.mark.parametrize("where", [("--on", "host"), TWO, (*TWO, "--netem", "receiver")])
def test_real_hosts_take_real_time(where: tuple[str, ...]) -> None:
    done = call_hetlab("run", "bulk", *where, "--cc", "reno", "--cc", "cubic", "--dry-run")
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert "virtual" not in done.stdout and "2 min at least" in done.stdout


def test_modules_that_are_no_congestion_controls() -> None:
    done = call_hetlab("run", "bulk", "--cc", "diag", "--dry-run")
    assert done.returncode == 2 and "'diag' is no congestion control" in done.stderr
    assert "sigpool" not in done.stderr


@pytest.mark.parametrize(
    ("cc", "said"),
    [
        ("rneo", "'rneo' is no congestion control of this kernel; did you mean reno?"),
        ("santacruz:nop=3", "santacruz has no parameter 'nop'; did you mean n_op?"),
        ("santacruz:n_op=abc", "santacruz:n_op=abc: must be 0.5 to 1000: packets to keep in the bottleneck queue"),
        ("westwood_fr:a=0.5", "westwood_fr:a=0.5: must be 1 to 16: "),
        ("cubic:beta=0.5", "cubic:beta=0.5: must be a whole number"),
    ],
)
def test_names_and_values_that_cannot_be(cc: str, said: str) -> None:
    """Values were found bad only after a machine had booted for each run."""
    done = call_hetlab("run", "bulk", "--cc", cc, "--dry-run")
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_the_path_of_an_ordinary_user_is_enough() -> None:
    """On Debian it has no sbin directory, where modinfo is: every run ended in a traceback."""
    user = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"}
    done = call_hetlab("run", "bulk", "--cc", "santacruz:n_op=2", "--dry-run", env=user)
    assert done.returncode == 0, done.stderr
