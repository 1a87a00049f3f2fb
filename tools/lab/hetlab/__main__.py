# SPDX-License-Identifier: GPL-2.0
"""Entry point of ``python -m hetlab``."""

from hetlab.cli.app import main

if __name__ == "__main__":
    main()
