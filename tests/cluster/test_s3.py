# SPDX-License-Identifier: GPL-2.0
"""The store of results on S3: a server of this machine (moto), the same bytes, and what is said where it is not there.

Needs build/s3: make check-cluster.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import free_port
from commands import Done, Hetlab
from hetlab.paths import BUILD

pytestmark = pytest.mark.cluster
RUN = ("run", "bulk", "--set", "duration_s=3", "--cc", "reno", "--store", "s3://lab/runs", "--out")
SERVER = "import sys; from moto.server import main; main(sys.argv[1:])"
# botocore asks again and again, and asks Amazon's machines who we are
ONCE = {"AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"}
KEYS = {"AWS_ACCESS_KEY_ID": "some", "AWS_SECRET_ACCESS_KEY": "thing"}


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A server without a bucket; the environment in which it is found."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    python = {"PYTHONPATH": str(BUILD / "s3")}
    with (tmp_path / "server.log").open("w") as log:
        server = subprocess.Popen([sys.executable, "-c", SERVER, "-p", str(port)], env=python, stdout=log, stderr=log)
        try:
            end = time.monotonic() + 60
            while "Running on" not in (tmp_path / "server.log").read_text():
                assert server.poll() is None and time.monotonic() < end, (tmp_path / "server.log").read_text()
                time.sleep(0.2)
            yield python | ONCE | KEYS | {"AWS_ENDPOINT_URL": url}
        finally:
            server.terminate()
            server.wait()


def files(top: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in top.rglob("*.*") if path.is_file()}


def test_a_second_command_takes_what_the_first_measured(hetlab: Hetlab, s3: dict[str, str], tmp_path: Path) -> None:
    def run(name: str, *more: str) -> Done:
        done = hetlab(*RUN, tmp_path / name, *more, env=s3)
        assert done.returncode == 0, done.stderr
        return done

    assert "are taken" not in run("a").stderr
    said = run("b", "--verify", "100").stderr
    assert "1 runs are in the store s3://lab/runs" in said
    assert "1 of the runs that were taken gave the same bytes again" in said
    assert files(tmp_path / "a") == files(tmp_path / "b")
    where = ("--store", "s3://lab/runs")
    assert hetlab("cache", "size", *where, env=s3).stdout.startswith("1 runs, ")
    assert "bulk reno seed 1" in hetlab("cache", "list", *where, env=s3).stdout
    assert hetlab("cache", "check", *where, env=s3).returncode == 0
    assert hetlab("cache", "gc", "--most-gb", "0", *where, env=s3).stdout.startswith("1 runs, ")
    assert hetlab("cache", "size", *where, env=s3).stdout.startswith("0 runs, ")


@pytest.mark.parametrize("missing", ["AWS_ENDPOINT_URL", "AWS_SECRET_ACCESS_KEY"])
def test_a_store_out_of_reach_costs_no_result(hetlab: Hetlab, s3: dict[str, str], tmp_path: Path, missing: str) -> None:
    """Nobody listens, no credentials: said once; hetlab cache ends with a message."""
    env = s3 | ({missing: f"http://127.0.0.1:{free_port()}"} if missing.endswith("URL") else {missing: ""})
    if missing.endswith("KEY"):
        env.pop("AWS_ACCESS_KEY_ID")
    done = hetlab(*RUN, tmp_path / "out", env=env)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.count("s3://lab/runs: cannot be read") == 1
    assert list((tmp_path / "out").rglob("result.json"))
    done = hetlab("cache", "size", "--store", "s3://lab/runs", env=env)
    assert done.returncode == 2 and done.stderr.startswith("hetlab: store s3://lab/runs: "), done.stderr
