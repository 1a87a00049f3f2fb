#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Inside an emulated machine: the module selftests and iperf3, each between two
# lines that name it; the second has its exit status.
cd "$(dirname "$0")/selftests" || exit 1
# shellcheck source=tests/modules/selftests/lib.sh
. ./lib.sh

iperf()
{
	local cc status=0

	for cc in "${CCS[@]}"; do
		setup_ns delay 10ms rate 10mbit
		ip netns exec "$NS_D" iperf3 -s -1 -D
		ip netns exec "$NS_S" iperf3 -c 192.0.2.2 -C "$cc" -t 5 -J || status=1
	done
	cleanup_ns
	return "$status"
}

for name in *; do
	[ -x "$name" ] || continue
	echo "begin $name"
	"./$name"
	echo "end $name $?"
done
echo "begin iperf3"
iperf
echo "end iperf3 $?"
