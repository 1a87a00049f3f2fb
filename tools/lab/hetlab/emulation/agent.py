# SPDX-License-Identifier: GPL-2.0
"""Guest side: carry out one job.

A job is a JSON file; beside it ``NAME.begun`` (empty), then ``NAME.done`` (empty)
or ``NAME.error`` (text) say how it stands.
"""

import socket
import sys
import traceback
from pathlib import Path

from mininet.log import setLogLevel
from mininet.net import Mininet

from hetlab.emulation.experiment import run_job, set_seed
from hetlab.errors import LabError
from hetlab.model.job import from_json

WARM_UP_SEED = 1
TCP_MEMORY = Path("/proc/sys/net/ipv4/tcp_mem")
# In pages of 4 KB: half of the machine's memory. By default the kernel closes windows from 46 MB on
TCP_MEMORY_PAGES = 131_072


def tell(path: Path, error: str) -> None:
    """Leave NAME.error, complete as soon as it is there: the other side looks all the time."""
    draft = path.with_suffix(".draft")
    draft.write_text(error)
    draft.rename(path.with_suffix(".error"))


def free_windows() -> None:
    """TCP's memory is not what limits a flow."""
    TCP_MEMORY.write_text(" ".join([str(TCP_MEMORY_PAGES)] * 3))


def warm_up() -> None:
    """Make the kernel draw its once-only secrets (hash keys, sequence numbers) from one seed."""
    set_seed(WARM_UP_SEED)
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as server:
            server.bind((host, 0))
            server.listen()
            with socket.create_connection(server.getsockname()[:2]) as client:
                server.accept()[0].close()
                client.close()


def main() -> None:
    """Entry point: ``python -m hetlab.emulation.agent JOB``."""
    path = Path(sys.argv[1])
    path.with_suffix(".begun").touch()
    setLogLevel("error")
    Mininet.inited = True  # skips fixLimits: it would raise the descriptor limit, see guest/bin/mnexec
    free_windows()
    warm_up()
    try:
        run_job(from_json(path.read_text()))
        path.with_suffix(".done").touch()
    except LabError as err:
        tell(path, str(err))
    except Exception:
        tell(path, traceback.format_exc())


if __name__ == "__main__":
    main()
