#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Check the modules with sparse, against the headers of Linux 6.12.

set -euo pipefail

# shellcheck source=tools/ci/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

readonly series=6.12
readonly staged=$HETCC_BUILD/sparse
readonly log=$HETCC_BUILD/sparse.log

usage() {
	cat <<'END'
usage: tools/ci/sparse.sh [--help]

Builds the modules in build/sparse with C=2 against the headers of Linux 6.12
and fails on every message of sparse, or of the compiler, about a file of
this project.  Messages about kernel headers are left to the kernel.  The log
is build/sparse.log.
END
}

# Messages about our own files: the modules and what is in include/.
own_messages() {
	grep -E '(^|[ /])((tcp|sch)_[a-z0-9_]+\.[ch]|include/hetcc/[^:]+):[0-9]+:' "$1" |
		grep -E ': (warning|error):'
}

# sparse must have seen every module; an old or broken set-up skips it.
check_all_seen() {
	local name
	for name in $(module_names "$staged"); do
		grep -qE "^ *CHECK .*/?$name\.c\$" "$log" ||
			die "sparse did not check $name.c; see ${log#"$HETCC_TOP"/}"
	done
}

main() {
	local headers
	case ${1:-} in
	--help | -h) usage && exit 0 ;;
	'') ;;
	*) usage >&2 && die "unknown argument: $1" ;;
	esac
	need_command sparse sparse
	headers=$(host_headers "$series") ||
		die "no headers of Linux $series to check against"
	stage_sources "$staged"
	stage_qdisc "$staged"
	if ! env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -j2 C=2 CHECK=sparse \
		-C "$headers" M="$staged" modules >"$log" 2>&1; then
		tail -n 30 "$log" >&2
		die "the modules do not build against ${headers##*/}"
	fi
	check_all_seen
	if own_messages "$log"; then
		die "sparse found fault with the files above"
	fi
	echo "sparse: no complaint about $(module_names "$staged" | wc -l) modules"
}

main "$@"
