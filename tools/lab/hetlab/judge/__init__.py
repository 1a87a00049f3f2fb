# SPDX-License-Identifier: GPL-2.0
"""The judge of congestion controls: cases (a scenario and what is asked of it), measures, verdicts, scorecard."""
