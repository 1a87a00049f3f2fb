#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# First process of the virtual-time kernel. The host's files are the root; what
# a running system needs besides is mounted fresh. HETLAB_JOB, from the kernel's
# command line, is the shell script to run; its exit status goes to
# $HETLAB_JOB.status, what polled to $HETLAB_JOB.polls, then the machine stops.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm /run/netns /run/lock
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs shm /dev/shm
ln -sf /proc/self/fd /dev/fd
ln -sf fd/1 /dev/stdout
ln -sf fd/2 /dev/stderr
hostname hetlab
# Nobody here answers questions about names; to ask the servers of the host's
# resolv.conf takes seconds, and how many depends on the host
echo "127.0.0.1 localhost hetlab" > /run/hetlab-hosts
: > /run/hetlab-resolv.conf
for name in hosts resolv.conf; do
	[ ! -e /etc/$name ] || mount --bind /run/hetlab-$name /etc/$name
done
ip link set lo up
# A process that closes every descriptor one by one (mnexec) is slow here
ulimit -n 1024
for ko in "$HETLAB_MODULES"/*.ko; do
	[ -e "$ko" ] || continue
	insmod "$ko" || echo "hetlab: cannot load $ko" >&2
done
bash "$HETLAB_JOB"
status=$?
[ ! -e /proc/lab_polls ] || cat /proc/lab_polls > "$HETLAB_JOB.polls"
echo $status > "$HETLAB_JOB.status"
sync
echo o > /proc/sysrq-trigger
sleep 60
