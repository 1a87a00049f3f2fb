# SPDX-License-Identifier: GPL-2.0
"""TCP with faster recovery (Casetti, Gerla, Lee, Mascolo, Sanadidi: MILCOM 2000)."""

OLD_PREFIXES = {"fr-": "faster_recovery-"}
STREAMS = ("delayed", "compressed", "thinned", "merged")
OLD_SCENARIOS = {
    "fr": "faster_recovery-common",
    "fr-bwe-every": "faster_recovery-bwe-fast",
    "fr-bwe-every-slow": "faster_recovery-bwe-slow",
    **{f"fr-bwe-{stream}": f"faster_recovery-bwe-fast@{stream}" for stream in STREAMS},
    **{f"fr-bwe-{stream}-slow": f"faster_recovery-bwe-slow@{stream}" for stream in STREAMS},
}
