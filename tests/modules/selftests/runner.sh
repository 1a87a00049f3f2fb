# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# runner.sh PROGRAM...: run tests of this directory and print what the kernel's
# kselftest/runner.sh prints. Fails if one of them does.

set -u
KSFT_SKIP=4
TIMED_OUT=124
number=0
failed=0

# result PROGRAM STATUS
result()
{
	case $2 in
	0) echo "ok $number selftests: hetcc: $1" ;;
	"$KSFT_SKIP") echo "ok $number selftests: hetcc: $1 # SKIP" ;;
	"$TIMED_OUT") echo "not ok $number selftests: hetcc: $1 # TIMEOUT $limit_s seconds" ;;
	*) echo "not ok $number selftests: hetcc: $1 # exit=$2" ;;
	esac
	[ "$2" = 0 ] || [ "$2" = "$KSFT_SKIP" ] || failed=$((failed + 1))
}

limit_s=$(sed -n 's/^timeout=//p' settings)
echo "TAP version 13"
echo "1..$#"
for program; do
	number=$((number + 1))
	echo "# selftests: hetcc: $program"
	timeout "$limit_s" "./$program" 2>&1 | sed -u 's/^/# /'
	result "$program" "${PIPESTATUS[0]}"
done
exit $((failed > 0))
