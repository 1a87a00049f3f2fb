# SPDX-License-Identifier: GPL-2.0
"""Start of the hetcc command, for Python that is given this directory or the file made of it (tools/packaging)."""

import sys

from hetcc.cli import main

if __name__ == "__main__":
    sys.exit(main())
