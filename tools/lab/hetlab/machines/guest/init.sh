#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# First process of the virtual-time kernel. The host's files are the root; what
# a running system needs besides is mounted fresh. HETLAB_JOB, from the kernel's
# command line, is the shell script to run; its exit status goes to
# $HETLAB_JOB.status, what polled to $HETLAB_JOB.polls, then the machine stops.
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
# Each program takes some 18 ms to start: one mount for the rest, echo is the shell's own
echo hetlab > /proc/sys/kernel/hostname
# Nobody here answers questions about names; to ask the servers of the host's
# resolv.conf takes seconds, and how many depends on the host
echo "127.0.0.1 localhost hetlab" > /run/hetlab-hosts
: > /run/hetlab-resolv.conf
{
	echo "sysfs /sys sysfs defaults"
	[[ $(< /proc/mounts) == *" /dev devtmpfs "* ]] || echo "dev /dev devtmpfs defaults"
	echo "devpts /dev/pts devpts ptmxmode=666,X-mount.mkdir"
	echo "shm /dev/shm tmpfs X-mount.mkdir"
	for name in hosts resolv.conf; do
		[ ! -e /etc/$name ] || echo "/run/hetlab-$name /etc/$name none bind"
	done
} > /run/hetlab-fstab
mount -a -T /run/hetlab-fstab
mkdir -p /run/netns /run/lock
ln -sf /proc/self/fd /dev/fd
ln -sf fd/1 /dev/stdout
ln -sf fd/2 /dev/stderr
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
