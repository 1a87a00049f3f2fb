# SPDX-License-Identifier: GPL-2.0
"""One tc in each node that waits for commands; one hetreplay where a link follows tables.

To start a program takes virtual time (a microsecond for each file it opens),
and timers of others that are due meanwhile come late. A tc that is there
already changes a running link at no time at all.
"""

import subprocess

from mininet.node import Node

from hetlab.emulation import replay
from hetlab.errors import LabError


class WaitingTc:
    """Runs tc commands in nodes; see HetLink.change."""

    def __init__(self) -> None:
        self.procs: dict[str, subprocess.Popen[str]] = {}
        self.replayers: dict[str, subprocess.Popen[str]] = {}

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

    def prepare_replay(self, node: Node, dev: str) -> None:
        """Start a node's hetreplay."""
        if node.name not in self.replayers:
            pipe = subprocess.PIPE
            proc = node.popen([replay.program()], stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
            self.replayers[node.name] = proc
        self.replay(node, [f"show dev={dev}"])

    def replay(self, node: Node, commands: list[str]) -> str:
        """Run commands of hetreplay, each answered by a line."""
        proc = self.replayers[node.name]
        assert proc.stdin and proc.stdout
        proc.stdin.write("\n".join(commands) + "\n")
        proc.stdin.flush()
        said = "".join(proc.stdout.readline() for _ in commands)
        if len(replay.answers(said)) < len(commands):
            raise LabError(f"{node.name}: {said.strip() or 'hetreplay ended without a word'}")
        return said

    def stop(self) -> None:
        """End them."""
        for proc in (*self.procs.values(), *self.replayers.values()):
            proc.kill()
            proc.communicate()
