#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Put the module selftests into a kernel tree, as tools/testing/selftests/hetcc.

set -euo pipefail

usage()
{
	cat <<'END'
usage: tests/install_kselftest.sh KERNEL_TREE [--help]

Copies the module selftests and the traffic generator's sources to
KERNEL_TREE/tools/testing/selftests/hetcc (what is there is replaced) and adds
hetcc to the list of TARGETS. Then, in KERNEL_TREE, as root:

  make -C tools/testing/selftests TARGETS=hetcc run_tests

A copy, since a symbolic link would lead out of reach of the tree's lib.mk.
END
}

case ${1:-} in
--help | -h) usage; exit 0 ;;
"" | -*) usage >&2; exit 2 ;;
esac

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
selftests=$1/tools/testing/selftests
if [ ! -f "$selftests/lib.mk" ]; then
	echo "install_kselftest: no kernel tree: $selftests/lib.mk is missing" >&2
	exit 1
fi
rm -rf "$selftests/hetcc"
mkdir -p "$selftests/hetcc/flowgen-src"
find "$here/modules/selftests" -maxdepth 1 -type f \
	! -name standalone.mk ! -name runner.sh -exec cp -p -t "$selftests/hetcc" {} +
cp "$here"/../tools/flowgen/{Makefile,*.c,*.h} "$selftests/hetcc/flowgen-src/"
grep -q '^TARGETS += hetcc$' "$selftests/Makefile" ||
	sed -i '0,/^TARGETS += /s//TARGETS += hetcc\n&/' "$selftests/Makefile"
echo "$selftests/hetcc"
