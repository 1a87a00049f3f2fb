# SPDX-License-Identifier: GPL-2.0
"""TCP Hybla (Caini, Firrincieli: International Journal of Satellite Communications and Networking, 2004)."""

OLD_PREFIXES = {"hy-": "hybla-"}
OLD_SCENARIOS = {"hybla": "hybla-common"}
