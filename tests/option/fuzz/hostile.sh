#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs scfuzz in a network of its own, inside the lab's kernel; see --help.

set -euo pipefail

readonly net=hostile

usage() {
	cat <<'END'
usage: hetlab exec --patched --debug -- tests/option/fuzz/hostile.sh
           [--no-gro] [--pcap FILE] [OPTION...]

Sets up a network namespace with a pair of devices, host (the kernel's, with
addresses) and peer (scfuzz's, without), runs scfuzz there and passes its
options on; see scfuzz --help.

  --pcap FILE  record the packets, headers only
  --no-gro     do not merge segments on reception; by default those that arrive
               within 50 us, in virtual time, are
END
}

# The host's device: one router, which does not exist, leads to all peers.
configure() {
	ip netns add $net
	ip -n $net link set lo up
	ip -n $net link add host address 02:00:00:00:00:01 type veth peer name peer
	ip -n $net link set peer up
	ip -n $net link set host up
	ip -n $net address add 192.0.2.1/24 dev host
	ip -n $net address add 2001:db8::1/64 dev host nodad
	ip -n $net neighbour add 192.0.2.2 lladdr 02:00:00:00:00:09 dev host
	ip -n $net neighbour add 2001:db8::2 lladdr 02:00:00:00:00:09 dev host
	ip -n $net route add 198.18.0.0/15 via 192.0.2.2
	ip -n $net route add 2001:db8:1::/48 via 2001:db8::2
	sysctl_in net.ipv4.tcp_santacruz=1
	sysctl_in net.ipv4.tcp_mtu_probing=1
	sysctl_in net.ipv4.tcp_challenge_ack_limit=1000000
	sysctl_in net.ipv4.icmp_ratelimit=0
}

sysctl_in() {
	ip netns exec $net sysctl -qw "$@"
}

# The kernel merges what it gets between two moments of virtual time.
merge_on_reception() {
	ip netns exec $net ethtool -K peer tso off
	ip netns exec $net ethtool -K host gro on
	ip netns exec $net bash -c 'echo 50000 >/sys/class/net/host/gro_flush_timeout'
}

start_capture() {
	ip netns exec $net tcpdump -q -n -s 128 -B 65536 -i host -w "$1" 2>/dev/null &
	capture=$!
}

stop_capture() {
	sleep 1
	kill "$capture"
	wait "$capture"
}

main() {
	local gro=y pcap='' capture status=0
	while true; do
		case ${1:-} in
		--help | -h) usage && exit 0 ;;
		--no-gro) gro=n && shift ;;
		--pcap) pcap=${2:?--pcap needs a file} && shift 2 ;;
		*) break ;;
		esac
	done
	configure
	[ $gro = n ] || merge_on_reception
	[ -z "$pcap" ] || start_capture "$pcap"
	sleep 1 # with or without, so that the run is the same
	ip netns exec $net scfuzz "$@" || status=$?
	[ -z "$pcap" ] || stop_capture
	return $status
}

main "$@"
