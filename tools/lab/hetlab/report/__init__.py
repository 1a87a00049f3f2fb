# SPDX-License-Identifier: GPL-2.0
"""A result directory to one HTML page."""
