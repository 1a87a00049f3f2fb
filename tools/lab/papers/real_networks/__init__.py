# SPDX-License-Identifier: GPL-2.0
"""What santacruz must do on real networks, which the papers' simulations did not have."""

OLD_PREFIXES = {"rn-": "real_networks-"}
OLD_SCENARIOS = {"rn": "real_networks-common"}
