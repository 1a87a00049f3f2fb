#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Slurm of this machine alone, by an ordinary user or root: munged, slurmctld and
# slurmd with all their files in DIR and ports of their own.
#   slurm.sh start DIR CONTROLLER_PORT NODE_PORT    export SLURM_CONF=DIR/slurm.conf
#   slurm.sh restart DIR                            another controller, same jobs
#   slurm.sh stop DIR
set -euo pipefail
PATH+=:/usr/sbin:/sbin
READY_S=30

configure()
{
	local dir=$1 node

	node=$(hostname -s)
	mkdir -p "$dir"/{state,spool}
	chmod 755 "$dir"
	dd if=/dev/urandom of="$dir/munge.key" bs=1024 count=1 status=none
	chmod 600 "$dir/munge.key"
	echo "CgroupAutomount=no" > "$dir/cgroup.conf"
	cat > "$dir/slurm.conf" <<-END
	ClusterName=hetlab
	SlurmctldHost=$node(127.0.0.1)
	SlurmUser=$(id -un)
	SlurmdUser=$(id -un)
	AuthInfo=socket=$dir/munge.socket
	CredType=cred/munge
	SlurmctldPort=$2
	SlurmdPort=$3
	StateSaveLocation=$dir/state
	SlurmdSpoolDir=$dir/spool
	SlurmctldPidFile=$dir/slurmctld.pid
	SlurmdPidFile=$dir/slurmd.pid
	SlurmctldLogFile=$dir/slurmctld.log
	SlurmdLogFile=$dir/slurmd.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	MpiDefault=none
	JobAcctGatherType=jobacct_gather/none
	AccountingStorageType=accounting_storage/none
	SlurmdParameters=config_overrides
	ReturnToService=2
	SelectType=select/cons_tres
	SelectTypeParameters=CR_Core
	KillWait=2
	NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(free -m | awk "/^Mem/ {print \$2}") State=UNKNOWN
	PartitionName=normal Nodes=$node Default=YES MaxTime=INFINITE State=UP
	END
}

# Until the node takes jobs, or what its logs say
ready()
{
	local i

	for ((i = 0; i < READY_S; i++)); do
		[ "$(sinfo -h -o %t 2>/dev/null)" = idle ] && return
		sleep 1
	done
	tail -n 5 "$1"/*.log >&2
	return 1
}

controller()
{
	slurmctld -f "$1/slurm.conf"
}

start()
{
	configure "$@"
	munged --force --key-file="$1/munge.key" --socket="$1/munge.socket" --pid-file="$1/munged.pid" \
		--log-file="$1/munged.log" --seed-file="$1/munge.seed"
	controller "$1"
	slurmd -f "$1/slurm.conf"
	ready "$1"
}

end_controller()
{
	local pid

	pid=$(cat "$1/slurmctld.pid")
	kill "$pid"
	while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}

stop()
{
	scancel --user "$(id -un)" 2>/dev/null || true
	for name in slurmd slurmctld munged; do
		[ ! -s "$1/$name.pid" ] || kill "$(cat "$1/$name.pid")" 2>/dev/null || true
	done
}

[ $# -ge 2 ] || { sed -n '3,7s/^# //p' "$0" >&2; exit 2; }
export SLURM_CONF=$2/slurm.conf
case $1 in
start) start "${@:2}" ;;
restart) end_controller "$2" && controller "$2" ;;
stop) stop "$2" ;;
*) exit 2 ;;
esac
