#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Guest side of option_cost.py: one transfer between two hosts over a veth pair.
# usage: option_cost_guest.sh MODE BYTES OFFLOADS CAPTURE
#   MODE      net.ipv4.tcp_santacruz of both hosts; - leaves it alone
#   OFFLOADS  tso: large sends cross the wire whole; gro: packets are merged on
#             arrival; none: neither
#   CAPTURE   file for what the receiver gets (headers), or -
set -euo pipefail

mode=$1 bytes=$2 offloads=$3 capture=$4

in_host()
{
	local host=$1

	shift
	ip netns exec "$host" "$@"
}

make_hosts()
{
	mount -t tmpfs none /run
	mkdir -p /run/netns
	sysctl -qw net.core.netdev_max_backlog=100000
	ip netns add a
	ip netns add b
	ip link add va netns a type veth peer name vb netns b
	ip -n a addr add 192.0.2.1/24 dev va
	ip -n b addr add 192.0.2.2/24 dev vb
	for host in a b; do
		ip -n "$host" link set lo up
		ip -n "$host" link set "v$host" up
		[ "$mode" = - ] || in_host "$host" sysctl -qw "net.ipv4.tcp_santacruz=$mode"
		in_host "$host" sysctl -qw "net.ipv4.tcp_rmem=4096 1048576 2097152"
		[ "$offloads" = tso ] || in_host "$host" ethtool -K "v$host" tso off gso off
	done
	if [ "$offloads" = gro ]; then
		in_host b ethtool -K vb gro on
	else
		in_host b ethtool -K vb gro off
	fi
	# One packet at a time, or, for GRO to have something to merge, all at once
	[ "$offloads" = none ] && rate="rate 1gbit" || rate=
	# shellcheck disable=SC2086 # words
	in_host a tc qdisc add dev va root netem delay 2ms limit 100000 $rate
	in_host b tc qdisc add dev vb root netem delay 2ms limit 100000
	in_host a ping -qc1 192.0.2.2 >/dev/null
}

make_hosts >/dev/null
if [ "$capture" != - ]; then
	in_host b tcpdump -B 65536 -i vb -s 120 -w "$capture" tcp 2>/dev/null &
	dump=$!
	sleep 0.5
fi
"$HETLAB_BIN/flowgen" --out /dev/null --sample-ms 0 \
	role=recv,id=1,port=5001,netns=/run/netns/b \
	role=send,id=1,port=5001,addr=192.0.2.2,netns=/run/netns/a,cc=reno,bytes="$bytes"
sleep 0.5
if [ "$capture" != - ]; then
	pkill -P "$dump" tcpdump 2>/dev/null || kill "$dump"
	wait "$dump" 2>/dev/null || true
fi
in_host a nstat -asz TcpOutSegs TcpRetransSegs TcpExtTCPSCEstab 2>/dev/null | awk 'NR > 1 { print $1, $2 }'
