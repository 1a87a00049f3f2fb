# SPDX-License-Identifier: GPL-2.0
"""Claims: which runs each needs, and what must hold of them."""
