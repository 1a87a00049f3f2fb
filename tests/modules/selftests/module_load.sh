#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Load, list, select in three ways, refuse unloading while in use, unload, load again.
set -u
. "$(dirname "$0")/lib.sh"
KEY=net.ipv4.tcp_congestion_control

begin

available()
{
	grep -qw "$1" /proc/sys/net/ipv4/tcp_available_congestion_control
}

for cc in "${CCS[@]}"; do
	check "$cc is available" available "$cc"
done

default_is()
{
	[ "$(ip netns exec "$NS_S" sysctl -n "$KEY")" = "$1" ]
}

for cc in "${CCS[@]}"; do
	check "$cc as the default" sysctl -qw "$KEY=$cc"
	setup_ns delay 5ms rate 20mbit
	check "$cc is inherited by a new namespace" default_is "$cc"
	check "$cc by route" ip -n "$NS_S" route replace 192.0.2.0/24 dev s0 congctl "$cc"
	for addr in 192.0.2.2 2001:db8::2; do
		if [ "$addr" != 192.0.2.2 ] && ! has_ipv6; then
			skip "$cc carries data to $addr" "no IPv6"
			continue
		fi
		sent=$(transfer "$cc" 1 "$addr" | field bytes_acked)
		check "$cc carries data to $addr" [ "${sent:-0}" -gt 100000 ]
	done
done

sysctl -qw "$KEY=santacruz"
setup_ns delay 5ms rate 20mbit
sysctl -qw "$KEY=$DEFAULT_CC"
refuse "rmmod while a namespace uses it" rmmod tcp_santacruz
transfer hybla_ext 3 >/dev/null &
sleep 1
refuse "rmmod while a socket uses it" rmmod tcp_hybla_ext
wait
cleanup_ns
sleep 90

for module in "${MODULES[@]}"; do
	check "rmmod $module" rmmod "$module"
done
for cc in "${CCS[@]}"; do
	refuse "$cc is gone" available "$cc"
done
for module in "${MODULES[@]}"; do
	check "load $module again" load "$module"
done
refuse "a second time" load tcp_santacruz
for cc in "${CCS[@]}"; do
	check "$cc is back" available "$cc"
done
check "nothing in the kernel log" clean_log
finish
