#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Inside the virtual-time kernel: run selftests, TAP on standard output.
#
# usage: guest.sh TREE LIST MODE [NAME...]

set -u

readonly tree=$1 list=$2 mode=$3
shift 3
readonly wanted=" $* "
readonly selftests=$tree/tools/testing/selftests
readonly skip=4

number=0
failed=0

# What the tests load is built into this kernel.
fake_modprobe() {
	mkdir -p /run/bin
	printf '#!/bin/sh\n' >/run/bin/modprobe
	chmod +x /run/bin/modprobe
	PATH=/run/bin:$PATH
}

# in_test POLL COMMAND...: a command as the selftests see the world
in_test() {
	local poll=$1
	shift
	(
		[ "$poll" = 0 ] || export HETCC_POLL_US=$poll
		[ -z "$mode" ] || export HETCC_MODE=$mode
		# /tmp is the host's, and another machine's at the same time
		export NSTAT_HISTORY=/run/nstat
		LD_PRELOAD=$tree/preload.so "$@"
	)
}

# New namespaces must have the mode: the tests make their own.
check_mode() {
	local have
	[ -n "$mode" ] || return 0
	sysctl -q -w "net.ipv4.tcp_santacruz=$mode"
	have=$(in_test 0 unshare -n sysctl -n net.ipv4.tcp_santacruz)
	[ "$have" = "$mode" ] && return 0
	echo "Bail out! a new namespace has tcp_santacruz=$have, not $mode"
	exit 1
}

# run_test DIRECTORY NAME LIMIT POLL COMMAND...
run_test() {
	local directory=$1 name=$2 limit=$3 poll=$4 log=/run/test.log status=0
	shift 4
	cd -- "$selftests/$directory" || exit 1
	in_test "$poll" timeout "$limit" "$@" >"$log" 2>&1 || status=$?
	number=$((number + 1))
	case $status in
	0) echo "ok $number - $name" ;;
	"$skip") echo "ok $number - $name # SKIP" ;;
	*)
		echo "not ok $number - $name"
		failed=$((failed + 1))
		;;
	esac
	tr -d '\r' <"$log" | sed 's/^/# /'
	echo "# exit status $status"
}

main() {
	local directory name limit poll _expect command
	fake_modprobe
	check_mode
	echo "TAP version 13"
	while read -r directory name limit poll _expect command; do
		case $directory in
		'#' | '') continue ;;
		esac
		[ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || continue
		# shellcheck disable=SC2086 # words of a command
		run_test "$directory" "$name" "$limit" "$poll" $command </dev/null
	done <"$list"
	echo "1..$number"
	[ "$failed" -eq 0 ]
}

main
