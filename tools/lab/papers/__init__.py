# SPDX-License-Identifier: GPL-2.0
"""What papers claim and what real networks ask for: one package each, found by hetlab by its folder alone."""
