# SPDX-License-Identifier: GPL-2.0
"""Guest side: network, flows and probes of one run; standard library and Mininet only."""
