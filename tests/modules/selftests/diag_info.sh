#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What ss -ti shows of our modules is there, moves, and is true.
set -u
. "$(dirname "$0")/lib.sh"

# info CC: kind, enabled, count, rtt, minrtt of the last sample of a 4 s flow at 20 ms, 10 Mbit/s
info()
{
	local out

	out=$(mktemp)
	ip netns exec "$NS_D" flowgen --out /dev/null --until 7 role=recv,id=0,port=5001 &
	ip netns exec "$NS_S" flowgen --out "$out" --sample-ms 500 \
		"role=send,id=0,addr=192.0.2.2,port=5001,cc=$1,start=0.2,duration=4"
	wait
	grep '"type":"sample"' "$out"
	rm -f "$out"
}

between()
{
	[ -n "$1" ] && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}

begin
setup_ns delay 10ms rate 10mbit limit 100
for cc in "${CCS[@]}"; do
	samples=$(info "$cc")
	last=$(tail -n 1 <<<"$samples" | grep -o '"cc_info":.*')
	kind=vegas name=minrtt
	[ "$cc" != santacruz ] || kind=bbr name=min_rtt_us
	check "$cc answers with $kind info" grep -q "\"kind\":\"$kind\"" <<<"$last"
	minrtt=$(field $name <<<"$last")
	check "$cc: minrtt $minrtt us is the path's 20 ms" between "$minrtt" 19900 25000
	[ "$kind" != vegas ] ||
		check "$cc: rtt is not below minrtt" [ "$(field rtt <<<"$last")" -ge "$minrtt" ]
	distinct=$(grep -o '"cc_info":.*' <<<"$samples" | sort -u | wc -l)
	check "$cc: the values move ($distinct different)" [ "$distinct" -ge 2 ]
done
said=$(info santacruz | tail -n 1 | grep -o '"cc_info":.*')
bw=$(field bw_bps <<<"$said")
check "santacruz: $bw bit/s on a link of 9560000 of payload" between "$bw" 9000000 10100000
gain=$(field cwnd_gain <<<"$said" | tr -d .)
check "santacruz: window $gain/10000 of the pipe, with 3 of some 17 queued" between "$gain" 10500 14500
gain=$(field pacing_gain <<<"$said" | tr -d .)
check "santacruz: paced at $gain/10000 of window and round trip" between "$gain" 11900 12100
bwe=$(info westwood_fr | tail -n 1 | grep -o '"cc_info":.*' | field rttcnt)
check "westwood_fr: $bwe byte/s on a link of 1195000 of payload" between "$bwe" 1135000 1260000
rho=$(info hybla_ext | tail -n 1 | grep -o '"cc_info":.*' | field rttcnt)
check "hybla_ext: rho $rho/100 at 20 ms with rtt0 25 ms is the floor" [ "$rho" = 100 ]
check "nothing in the kernel log" clean_log
finish
