# SPDX-License-Identifier: GPL-2.0
"""Raw files of a run to numbers and tables."""
