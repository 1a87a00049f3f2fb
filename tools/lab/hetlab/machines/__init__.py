# SPDX-License-Identifier: GPL-2.0
"""Machines that run jobs: User-Mode Linux in virtual time, QEMU, this host."""
