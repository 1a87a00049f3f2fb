# SPDX-License-Identifier: GPL-2.0
"""What hybla_ext must do on satellite links, beside the kernel's own modules; no paper's."""

OLD_PREFIXES = {"hyx-": "satellite-", "hy-x-": "satellite-"}
OLD_SCENARIOS = {"hyx-rtt": "satellite-rtt@red", "hyx-rtt-base": "satellite-rtt"}
