# SPDX-License-Identifier: GPL-2.0
"""Runs between two real hosts, over ssh."""
