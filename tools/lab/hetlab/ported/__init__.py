# SPDX-License-Identifier: GPL-2.0
"""The lab's kernel of other series than its own, 6.12. What runs are keyed by is the kernel's hash, not this code."""
