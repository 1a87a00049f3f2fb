# SPDX-License-Identifier: GPL-2.0
"""Candidates: congestion controls from source files of the user's own, built and loaded for a run."""
