# SPDX-License-Identifier: GPL-2.0
"""All cases; importing it runs none."""

from option.interop import handshake, headers, holes, negotiation, offload, stripping, traffic, wraps
from option.interop.case import CASES

ALL = CASES
GROUPS = list(dict.fromkeys(case.group for case in CASES))
__all__ = ["ALL", "GROUPS", "handshake", "headers", "holes", "negotiation", "offload", "stripping", "traffic", "wraps"]
