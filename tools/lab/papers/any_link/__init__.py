# SPDX-License-Identifier: GPL-2.0
"""What hybla_ext, hybla_paper, westwood_fr and westwood_gfr must do on links that no paper lists."""

OLD_PREFIXES: dict[str, str] = {}
OLD_SCENARIOS: dict[str, str] = {}
