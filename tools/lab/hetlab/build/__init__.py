# SPDX-License-Identifier: GPL-2.0
"""Kernels, modules and traffic tools, built once and cached by their inputs."""
