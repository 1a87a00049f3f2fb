# SPDX-License-Identifier: GPL-2.0
"""hetlab: experiments on the real kernel TCP stack, in virtual time or on hosts."""

__version__ = "0.1.0"
