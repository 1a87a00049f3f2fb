# SPDX-License-Identifier: GPL-2.0
"""What an experiment is: scenario, links, flows, jobs."""
