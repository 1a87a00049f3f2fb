# SPDX-License-Identifier: GPL-2.0
"""A kernel without the modules that emulate links: how tc says so, and what to install."""

import re

# In words of tc and ip
UNKNOWN = r"Specified qdisc (kind is unknown|not found)|Unknown device type|TC classifier not found"
UNKNOWN += r"|load TC action module"
SURELY = re.compile(UNKNOWN)
# Kernels older than 4.16 give no more than an error number, which can mean something else, too
ON_ANY_KERNEL = re.compile(rf"{UNKNOWN}|RTNETLINK answers: (No such file or directory|Operation not supported)")


def advice(release: str) -> str:
    """Packages that have the modules of a kernel, by its ``uname -r``."""
    return (
        f"It is in the package linux-image-{release} (Debian), linux-modules-extra-{release} (Ubuntu), "
        "kernel-modules-extra (Fedora, RHEL). If that is installed, the modules are of another kernel than the one "
        "that runs: reboot"
    )
