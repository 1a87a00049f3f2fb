#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every parameter: its bounds are taken, what lies outside is refused with a
# message and changes nothing, and a connection survives each extreme.
set -u
. "$(dirname "$0")/lib.sh"

# module parameter min max step below
TABLE="
tcp_santacruz n_op 0.5 1000 0.001
tcp_santacruz delta 0 1000 0.001
tcp_santacruz drain_s 0 1000 1
tcp_santacruz discriminate 0 1 1
tcp_santacruz compete 0 1 1
tcp_santacruz paper 0 1 1
tcp_westwood_fr paper 0 1 1
tcp_westwood_fr a 1 16 0.001
tcp_hybla_ext rtt0_ms 1 500 1
tcp_hybla_ext init_cwnd 1 100 1
tcp_hybla_ext init_ssthresh 2 65536 1
tcp_hybla_ext hoe 0 1 1
tcp_hybla_ext pacing 0 1 1
tcp_hybla_ext resume_s 0 86400 1
"

number()
{
	awk "BEGIN { printf \"%.3f\", $1 }"
}

same_number()
{
	[ "$(number "$(cat "$1")")" = "$(number "$2")" ]
}

put()
{
	echo "$2" > "$1"
}

refused_and_said()
{
	local file=$1 value=$2 before

	before=$(cat "$file")
	if put "$file" "$value" 2>/dev/null; then
		return 1
	fi
	[ "$(cat "$file")" = "$before" ] &&
		dmesg | tail -n 3 | grep -q "$(basename "$file")=.* refused: not in "
}

cc_of()
{
	case $1 in
	tcp_westwood_fr) echo westwood_gfr ;;
	*) echo "${1#tcp_}" ;;
	esac
}

begin
setup_ns delay 10ms rate 5mbit loss 1% limit 1000
known=0
while read -r module name low high step; do
	[ -n "$module" ] || continue
	known=$((known + 1))
	file=/sys/module/$module/parameters/$name
	default=$(cat "$file")
	for value in "$low" "$high"; do
		check "$name takes $value" put "$file" "$value"
		check "$name reads back $value" same_number "$file" "$value"
		sent=$(transfer "$(cc_of "$module")" 3 | field bytes_acked)
		check "$(cc_of "$module") works with $name=$value" [ "${sent:-0}" -gt 20000 ]
	done
	for value in "$(awk "BEGIN { printf \"%.9g\", $high + $step }")" -1 "" x 1.2.3 99999999999 0.0001; do
		check "$name refuses '$value'" refused_and_said "$file" "$value"
	done
	if [ "$low" != 0 ]; then
		below=$(awk "BEGIN { printf \"%.9g\", $low - $step }")
		check "$name refuses $below" refused_and_said "$file" "$below"
	fi
	check "$name goes back to $default" put "$file" "$default"
done <<<"$TABLE"

total=0
for module in "${MODULES[@]}"; do
	total=$((total + $(find "/sys/module/$module/parameters" -type f | wc -l)))
done
check "the table has all $total parameters" [ "$known" = "$total" ]
rmmod tcp_santacruz 2>/dev/null || { sleep 90; rmmod tcp_santacruz; }
refuse "a bad parameter stops loading" load tcp_santacruz n_op=0
check "a good one does not" load tcp_santacruz n_op=4.5
check "and is set" same_number /sys/module/tcp_santacruz/parameters/n_op 4.5
check "nothing in the kernel log" clean_log
finish
