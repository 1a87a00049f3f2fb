# SPDX-License-Identifier: GPL-2.0
"""Environment variables of commands in a machine: a few fixed ones, and what the caller names.

The caller's others stay outside, so that a command prints the same whoever calls
it. Runs of scenarios have none of these: an environment's size moves the stack.
"""

import os
import re
import shlex

from hetlab.errors import LabError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What programs expect of root's shell, besides PATH, HOME, TERM and LC_ALL, which all machines have
GUEST = {"SHELL": "/bin/bash", "USER": "root", "LOGNAME": "root"}


def told(words: list[str]) -> dict[str, str]:
    """Variables of ``--env NAME[=VALUE]``, over the fixed ones; without a value the caller's; LabError for others."""
    found = dict(GUEST)
    for word in words:
        name, given, value = word.partition("=")
        if not NAME.fullmatch(name):
            raise LabError(f"--env {word}: {name!r} is no name of a variable; NAME or NAME=VALUE")
        if not given and name not in os.environ:
            raise LabError(f"--env {name}: it is not set here; give --env {name}=VALUE")
        found[name] = value if given else os.environ[name]
    return found


def exports(variables: dict[str, str]) -> str:
    """Lines of a shell script that set them."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
