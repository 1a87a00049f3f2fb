# SPDX-License-Identifier: GPL-2.0
"""Runs on many machines: batches of jobs as tasks of Dask."""
