# SPDX-License-Identifier: GPL-2.0
"""Figures from arrays; nothing here knows of result directories."""
