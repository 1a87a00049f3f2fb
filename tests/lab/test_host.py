# SPDX-License-Identifier: GPL-2.0
"""--on host: the same runs in namespaces of the running kernel.

The running kernel is the lab's here: the machine that tests us need not have
netem or the modules.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from commands import Hetlab
from hetlab.paths import TOP

pytestmark = pytest.mark.virtual


def test_host_runs_and_cleans_up(hetlab: Hetlab, tmp_path: Path) -> None:
    run = f"{TOP}/tools/hetlab run bulk --on host --cc santacruz --cc nosuch --set duration_s=5 --json --out {tmp_path}"
    leftovers = "ip netns list; pgrep -c 'flowgen|hetprobe'; lsns -t net -n | wc -l"
    done = hetlab("exec", "--", "sh", "-c", f"{run}; echo status=$?; {leftovers}")
    lines = done.stdout.splitlines()
    result = json.loads(lines[0])
    assert result["cc"] == "santacruz"
    assert result["flows"][0]["goodput_mbit"] > 5
    assert result["kernel_release"].endswith("hetlab")
    assert "'nosuch' is not in this kernel" in done.stderr
    assert lines[1:] == ["status=1", "0", "1"], "something was left behind"


@pytest.mark.skipif(os.geteuid() != 0, reason="drops its rights, so must have some")
def test_host_needs_root(tmp_path: Path) -> None:
    code = "import os\nfrom hetlab.machines.runner import HostRunner\nos.setuid(65534)\nHostRunner()"
    python = TOP / "build" / "venv" / "bin" / "python"
    env = {"PYTHONPATH": str(TOP / "tools" / "lab")}
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode != 0
    assert "--on host needs root" in done.stderr
