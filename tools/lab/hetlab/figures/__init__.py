# SPDX-License-Identifier: GPL-2.0
"""The papers' figures and tables from our runs."""
