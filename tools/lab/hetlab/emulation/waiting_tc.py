# SPDX-License-Identifier: GPL-2.0
"""One tc in each node that waits for commands.

To start a program takes virtual time (a microsecond for each file it opens),
and timers of others that are due meanwhile come late. A tc that is there
already changes a running link at no time at all.
"""

import subprocess

from mininet.node import Node

from hetlab.errors import LabError


class WaitingTc:
    """Runs tc commands in nodes; see HetLink.change."""

    def __init__(self) -> None:
        self.procs: dict[str, subprocess.Popen[str]] = {}

    def prepare(self, node: Node, dev: str) -> None:
        """Start a node's tc and have it load what it needs for a device."""
        if node.name not in self.procs:
            args = ["stdbuf", "-oL", "tc", "-j", "-batch", "-"]
            pipe = subprocess.PIPE
            self.procs[node.name] = node.popen(args, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
        self(node, [f"qdisc show dev {dev}"])

    def __call__(self, node: Node, commands: list[str]) -> str:
        """Run commands, the last of which shows qdiscs; returns what it shows."""
        proc = self.procs[node.name]
        assert proc.stdin and proc.stdout
        proc.stdin.write("\n".join(commands) + "\n")
        proc.stdin.flush()
        said = []
        for line in proc.stdout:
            if line.startswith("[{"):
                return line
            said.append(line.strip())
        raise LabError(f"{node.name}: tc: {' '.join(filter(None, said)) or 'ended without a word'}")

    def stop(self) -> None:
        """End them."""
        for proc in self.procs.values():
            proc.kill()
            proc.communicate()
