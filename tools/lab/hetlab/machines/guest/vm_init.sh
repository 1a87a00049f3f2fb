#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# First process of an emulated machine, in a root file system in memory: loads
# our modules, runs /job.sh, sends its exit status and /out as a tar archive
# over the second serial line, stops.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev 2>/dev/null
exec </dev/null >/dev/ttyS0 2>&1
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /run/netns /run/lock /out
ln -sf /proc/self/fd /dev/fd
hostname hetlab
ip link set lo up
HETLAB_MODULES=/lib/modules/$(uname -r)/updates/dkms
export HETLAB_MODULES
for ko in "$HETLAB_MODULES"/*.ko; do
	[ -e "$ko" ] || continue
	insmod "$ko" || echo "hetlab: cannot load $ko" >&2
done
bash /job.sh
echo $? >/job.sh.status
stty -F /dev/ttyS1 raw
tar -C / -cf /dev/ttyS1 out job.sh.status
# Closing waits until the line has sent everything
exec >/dev/null 2>&1
echo o >/proc/sysrq-trigger
sleep 60
