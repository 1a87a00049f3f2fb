#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# run_tests.sh PROGRAM... -- BUILD...
#
# Runs the test programs and prints one KTAP line for each, with the lines of
# the test points that failed (all of them with V=1); the whole output of a
# program is kept beside it in PROGRAM.log. BUILDs are those that this machine
# cannot make: they are skipped, or fail with EXPECT_ALL_FEATURES=1.
#
# The last line counts the test points. A program that ends before its plan is
# fulfilled fails the points it left out.

set -u

number=0
passed=0
failed=0

# count PATTERN FILE
count() {
	grep -c -- "$1" "$2" || true
}

# result STATUS TEXT
result() {
	number=$((number + 1))
	echo "$1 $number - $2"
}

# With V=1 the whole log, else what went wrong, indented as a KTAP subtest.
show_log() {
	if [ "${V:-}" = 1 ]; then
		sed 's/^/    /' "$1"
	elif [ "$2" != ok ]; then
		grep -v -e '^ok ' -e '^KTAP' -e '^1\.\.' "$1" | sed 's/^/    /'
	fi
}

run_program() {
	local program=$1 log=$1.log status=ok code good bad plan missing
	timeout 300 "$program" >"$log" 2>&1
	code=$?
	good=$(count '^ok ' "$log")
	bad=$(count '^not ok ' "$log")
	plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$log")
	missing=$((${plan:-1} - good - bad))
	if [ "$missing" -ne 0 ] || { [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
		echo "# exit status $code, $missing test points left out" >>"$log"
		bad=$((bad + (missing > 0 ? missing : 1)))
	fi
	[ "$bad" -eq 0 ] || status='not ok'
	show_log "$log" "$status"
	result "$status" "${program#"${O:-}"/}"
	passed=$((passed + good))
	failed=$((failed + bad))
}

skip_build() {
	local reason="${1%-*} cannot build ${1#*-} programs here"
	command -v "${1%-*}" >/dev/null || reason="${1%-*} is not installed"
	if [ "${EXPECT_ALL_FEATURES:-}" = 1 ]; then
		result 'not ok' "$1: $reason"
		failed=$((failed + 1))
	else
		result ok "$1 # SKIP $reason"
	fi
}

main() {
	local run=run_program argument
	echo "KTAP version 1"
	echo "1..$(($# - 1))"
	for argument in "$@"; do
		if [ "$argument" = -- ]; then
			run=skip_build
		else
			"$run" "$argument"
		fi
	done
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

main "$@"
