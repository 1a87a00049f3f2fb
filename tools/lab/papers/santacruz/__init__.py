# SPDX-License-Identifier: GPL-2.0
"""TCP Santa Cruz (Parsa, Garcia-Luna-Aceves: ICNP 1999, WCNC 2000)."""

OLD_PREFIXES = {
    "sc-": "santacruz-",
    "scw-": "santacruz-wireless-",
    "fig": "santacruz-fig",
    "wireless-fig": "santacruz-wireless-fig",
    "tables": "santacruz-tables",
}
OLD_SCENARIOS: dict[str, str] = {}
