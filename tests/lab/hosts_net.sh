#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Inside the virtual-time kernel: hosts s and d with sshd, a router between them
# (20 Mbit/s, 20 ms there and back), and ways from here to both. All files are on
# the machine's own tmpfs. Prints the arguments that hetlab needs, one a line.
#
# usage: hosts_net.sh TICK.so
set -euo pipefail

readonly tick=$1 run=/run/hosts
sshd=$(readlink -f "$HETLAB_BIN/../sshd/usr/sbin/sshd")
mkdir -p "$run" /run/sshd

# join NODE ADDRESS NODE ADDRESS: a veth pair, each end named after the other's node
join() {
	ip link add "to-$3" netns "$1" type veth peer name "to-$1" netns "$3"
	ip -n "$1" addr add "$2/24" dev "to-$3"
	ip -n "$3" addr add "$4/24" dev "to-$1"
	ip -n "$1" link set "to-$3" up
	ip -n "$3" link set "to-$1" up
}

network() {
	local host
	for host in s d r here; do
		ip netns add "$host"
		ip -n "$host" link set lo up
	done
	join s 10.0.1.2 r 10.0.1.1
	join d 10.0.2.2 r 10.0.2.1
	join here 10.9.1.1 s 10.9.1.2
	join here 10.9.2.1 d 10.9.2.2
	ip netns exec r sysctl -qw net.ipv4.ip_forward=1
	ip -n s route add 10.0.2.0/24 via 10.0.1.1
	ip -n d route add 10.0.1.0/24 via 10.0.2.1
	tc -n r qdisc add dev to-d root netem rate 20mbit delay 10ms limit 100
	tc -n r qdisc add dev to-s root netem delay 10ms
}

# What a host has: everything, iperf3 fit for virtual time, modules of the lab's kernel
programs() {
	mkdir -p "$run/bin" "$run/lacking" "$run/without"
	cat >"$run/bin/iperf3" <<-END
		#!/bin/sh
		LD_PRELOAD=$tick exec /usr/bin/iperf3 "\$@"
	END
	cat >"$run/bin/modprobe" <<-END
		#!/bin/sh
		exec insmod $HETLAB_MODULES/"\$1".ko
	END
	cat >"$run/bin/modinfo" <<-END
		#!/bin/sh
		exec /sbin/modinfo "\$1" "\$2" $HETLAB_MODULES/"\$3".ko
	END
	cat >"$run/lacking/tc" <<-END
		#!/bin/sh
		case "\$*" in
		*"qdisc add"*" netem "*) exec $(command -v tc) qdisc add dev lo root hhf ;;
		*) exec $(command -v tc) "\$@" ;;
		esac
	END
	chmod +x "$run"/bin/* "$run"/lacking/*
	ln -sf /usr/bin/* /usr/sbin/* "$run/without"
	rm "$run/without/iperf3"
}

# start_sshd HOST ADDRESS PATH
start_sshd() {
	mkdir -p "$run/tmp-$1"
	cat >"$run/sshd-$1" <<-END
		ListenAddress $2
		HostKey $run/host
		AuthorizedKeysFile $run/user.pub
		PidFile $run/pid-$1
		StrictModes no
		UsePAM no
		UseDNS no
		SetEnv PATH=$3 TMPDIR=$run/tmp-$1
	END
	ip netns exec "$1" "$sshd" -f "$run/sshd-$1" -E "$run/log-$1"
}

keys() {
	local key
	for key in host user; do
		ssh-keygen -q -t ed25519 -N '' -f "$run/$key"
	done
	echo "* $(cat "$run/host.pub")" >"$run/known"
	# neither the accounts nor the ssh settings of the machine around us matter
	echo 'root:*:::::::' >"$run/shadow"
	mount --bind "$run/shadow" /etc/shadow
	grep -v '^sshd:' /etc/passwd >"$run/passwd"
	echo 'sshd:x:65533:65534::/run/sshd:/bin/false' >>"$run/passwd"
	mount --bind "$run/passwd" /etc/passwd
	[ ! -d ~/.ssh ] || mount -t tmpfs tmpfs ~/.ssh
}

network
programs
keys
start_sshd s 10.9.1.2 "$run/bin:$PATH"
start_sshd d 10.9.2.2 "${HOSTS_PATH_D:-$run/bin:$PATH}"
printf '%s\n' --on hosts --sender 10.9.1.2 --receiver 10.9.2.2 --receiver-address 10.0.2.2 \
	--ssh-option "UserKnownHostsFile=$run/known" --ssh-option "IdentityFile=$run/user"
