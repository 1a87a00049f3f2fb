#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Self-check of flowgen and hetprobe between two network namespaces that this
# script makes and removes:
#
#   +-- a ----------------+          +---------------- b --+
#   |  192.0.2.1/24    va |----------| vb    192.0.2.2/24  |
#   |  2001:db8::1/64     |          |     2001:db8::2/64  |
#   +---------------------+          +---------------------+
#
# usage: flowgen_test.sh [DIR]    DIR holds the programs (default: build/bin)

set -euo pipefail
export LC_ALL=C

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd -- "${1:-$here/../../build/bin}" && pwd)
readonly here bin
readonly flowgen=$bin/flowgen hetprobe=$bin/hetprobe
readonly ns_a=flowgen-$$-a ns_b=flowgen-$$-b
readonly a4=192.0.2.1 b4=192.0.2.2 a6=2001:db8::1 b6=2001:db8::2

number=0
passed=0
failed=0
skipped=0
tmp=
pids=()
t0=
ready=		# a pipe for what hetprobe says

cleanup() {
	local pid
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	ip netns del "$ns_a" 2>/dev/null || true
	ip netns del "$ns_b" 2>/dev/null || true
	[ -z "$tmp" ] || rm -rf -- "$tmp"
}

# TAP

pass() {
	number=$((number + 1))
	passed=$((passed + 1))
	echo "ok $number - $1"
}

fail() {
	number=$((number + 1))
	failed=$((failed + 1))
	echo "not ok $number - $1"
	[ -z "${2:-}" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

skip() {
	number=$((number + 1))
	skipped=$((skipped + 1))
	echo "ok $number - $1 # SKIP $2"
}

finish() {
	echo "1..$number"
	echo "# skipped: $skipped"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}

# equal NAME WANTED GOT
equal() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "wanted $2, got $3"
	fi
}

# true_that NAME EXPRESSION: an arithmetic condition for awk.
true_that() {
	if awk "BEGIN { exit !($2) }"; then
		pass "$1"
	else
		fail "$1" "not true: $2"
	fi
}

# The name space

setup() {
	local ns
	ip netns add "$ns_a"
	ip netns add "$ns_b"
	ip link add name va netns "$ns_a" type veth peer name vb netns "$ns_b"
	add_addresses "$ns_a" va $a4/24 $a6/64
	add_addresses "$ns_b" vb $b4/24 $b6/64
	for ns in "$ns_a" "$ns_b"; do
		ip -n "$ns" link set dev lo up
	done
	ip netns exec "$ns_a" ping -c 1 -W 2 -q $b4 >/dev/null
	# a neighbour answers when its own address has been checked: up to 2 s
	ip netns exec "$ns_a" ping -c 5 -q $b6 >/dev/null
}

# Packets must not be merged: both ends are to see the same ones.
add_addresses() {
	ip netns exec "$1" ethtool -K "$2" tso off gso off gro off >/dev/null
	ip -n "$1" addr add "$3" dev "$2"
	ip -n "$1" addr add "$4" dev "$2" nodad
	ip -n "$1" link set dev "$2" up
}

# Running

# begin SECONDS: put t = 0 so far ahead that all can be ready by then.
begin() {
	t0=$("$flowgen" --now | awk -v ahead="$1" '{ printf "%.9f", $1 + ahead }')
}

# background STATUS_FILE COMMAND...: run it, and keep its exit status.
background() {
	local file=$1
	shift
	{
		local status=0
		"$@" || status=$?
		echo $status >"$file"
	} &
	pids+=($!)
}

# flows NAMESPACE NAME ARGUMENT...: start flowgen; output is NAME.jsonl.
flows() {
	local ns=$1 name=$2
	shift 2
	background "$tmp/$name.status" ip netns exec "$ns" "$flowgen" --t0 "$t0" \
		--out "$tmp/$name.jsonl" "$@" 2>"$tmp/$name.err"
}

# probe NAME ARGUMENT...: start hetprobe, output in NAME/, and wait for it.
probe() {
	local name=$1 line=
	shift
	background "$tmp/$name.status" "$hetprobe" --t0 "$t0" --out "$tmp/$name" \
		"$@" 1>&"$ready" 2>"$tmp/$name.err"
	read -r -t 10 -u "$ready" line || true
	equal "$name: hetprobe is ready" ready "$line"
}

settle() {
	local pid
	for pid in "${pids[@]}"; do
		wait "$pid" || true
	done
	pids=()
}

# status NAME WANTED: check the exit status of a program that was started.
status() {
	local got
	got=$(cat "$tmp/$1.status")
	if [ "$got" = "$2" ]; then
		pass "$1: exit status $2"
	else
		fail "$1: exit status $2, got $got" "$(cat "$tmp/$1.err")"
	fi
}

# value NAME TYPE ID KEY: from the last such record of NAME.jsonl.
value() {
	grep "^{\"type\":\"$2\",\"id\":$3," "$tmp/$1.jsonl" | tail -n 1 |
		sed -nE "s/.*\"$4\":(\"([^\"]*)\"|([^,}]*)).*/\2\3/p"
}

# capture FILE: time, seq, payload, wire, flags, proto, ipver, sport, dport,
# ecn, tsval, ipid of each record.
capture() {
	od -An -v -tu1 -w48 "$1" | awk '
		function u(at, size,	i, v) {
			for (i = size; i > 0; i--)
				v = v * 256 + $(at + i)
			return v
		}
		{
			printf "%.9f %d %d %d %d %d %d %d %d %d %d %d\n",
				u(0, 8) / 1e9, u(8, 4), u(32, 2), u(34, 2),
				u(36, 1), u(37, 1), u(39, 1), u(28, 2), u(30, 2),
				u(38, 1), u(16, 4), u(24, 4)
		}'
}

# queue FILE: time, label, qlen, backlog, drops, packets, bytes of each record.
queue() {
	od -An -v -tu1 -w40 "$1" | awk '
		function u(at, size,	i, v) {
			for (i = size; i > 0; i--)
				v = v * 256 + $(at + i)
			return v
		}
		{
			printf "%.9f %d %d %d %d %d %d\n", u(0, 8) / 1e9,
				u(8, 2), u(12, 4), u(16, 4), u(20, 4), u(28, 4),
				u(32, 8)
		}'
}

# The checks

check_help() {
	local program
	for program in "$flowgen" "$hetprobe"; do
		"$program" --help >"$tmp/help"
		true_that "${program##*/} --help" "$(wc -l <"$tmp/help") > 20"
	done
}

# usage NAME PATTERN PROGRAM ARGUMENT...: exit status 2, and a message on
# standard error that matches.
usage() {
	local name=$1 pattern=$2 got=0
	shift 2
	"$@" >"$tmp/usage" 2>&1 || got=$?
	if [ "$got" -eq 2 ] && grep -qE -- "$pattern" "$tmp/usage"; then
		pass "usage: $name"
	else
		fail "usage: $name" "status $got: $(cat "$tmp/usage")"
	fi
}

# bad_flow PATTERN FLOW
bad_flow() {
	usage "$2" "$1" "$flowgen" --out /dev/null "$2"
}

check_flowgen_usage() {
	local send=role=send,id=1,addr=192.0.2.2,port=5001
	usage "no flow" "no FLOW" "$flowgen" --out /dev/null
	usage "no output" "--out is missing" "$flowgen" "$send,bytes=1"
	usage "bad --sample-ms" "--sample-ms.* 0 to 3600000" \
		"$flowgen" --sample-ms -1 --out /dev/null "$send,bytes=1"
	usage "bad --t0" "--t0.*\"soon\"" \
		"$flowgen" --t0 soon --out /dev/null "$send,bytes=1"
	bad_flow 'unknown key "speed"' "$send,bytes=1,speed=1"
	bad_flow 'write: 0 is out of range; allowed are 1 to' "$send,bytes=1,write=0"
	bad_flow 'port: 70000 is out of range; allowed are 1 to 65535' \
		role=recv,id=1,port=70000
	bad_flow 'id: "x" is not an integer; allowed are 0 to 65535' \
		role=recv,id=x,port=1
	bad_flow 'role: unknown value "peer"; allowed are send and recv' role=peer
	bad_flow 'proto: unknown value "sctp"; allowed are tcp and udp' \
		role=recv,proto=sctp,id=1,port=1
	bad_flow 'role is missing' id=1,port=1
	bad_flow 'port is missing' role=recv,id=1
	bad_flow 'addr is missing' role=send,id=1,port=1,bytes=1
	bad_flow 'addr: "host" is not an IPv4 or IPv6 address' \
		role=send,id=1,port=1,bytes=1,addr=host
	bad_flow 'needs duration or bytes' "$send"
	bad_flow 'cc does not apply to role=recv,proto=tcp' \
		role=recv,id=1,port=1,cc=reno
	bad_flow 'rate_mbit is missing' "$send,proto=udp,duration=1"
	bad_flow 'packet_bytes: 55 is out of range; allowed are 56 to 65535' \
		role=send,id=1,addr=::1,port=1,proto=udp,rate_mbit=1,duration=1,packet_bytes=55
	bad_flow 'needs duration above 0 or --until' "$send,proto=udp,rate_mbit=1"
	bad_flow 'off_s needs an on_s' \
		"$send,proto=udp,rate_mbit=1,duration=1,off_s=1"
	bad_flow 'bytes is given twice' "$send,bytes=1,bytes=2"
	bad_flow '"bytes" is not key=value' "$send,bytes"
	bad_flow '--until is missing' role=recv,proto=udp,id=1,port=1
	check_workload_usage "$send"
	usage "two flows of one id" "id: 1 is that of flow argument 1" \
		"$flowgen" --out /dev/null "$send,bytes=1" "$send,bytes=1"
	usage "start after --until" "start: 3 is not before --until 2" \
		"$flowgen" --until 2 --out /dev/null "$send,bytes=1,start=3"
}

# check_workload_usage SENDER
check_workload_usage() {
	local send=$1
	bad_flow 'workload: unknown value "gopher"; allowed are requests, web' \
		"$send,duration=1,workload=gopher"
	bad_flow 'size is missing; workload=requests needs it' \
		"$send,duration=1,workload=requests"
	bad_flow 'objects does not apply to workload=requests' \
		"$send,duration=1,workload=requests,size=1,objects=1"
	bad_flow 'ladder does not apply to workload=web' \
		"$send,duration=1,workload=web,size=1,objects=1,ladder=1"
	bad_flow 'size needs a workload' "$send,duration=1,size=1"
	bad_flow 'size: value 0 is out of range; allowed are 1 to 1e\+12' \
		"$send,duration=1,workload=requests,size=0"
	bad_flow 'size: "cauchy:1" is no distribution; they are const, exp' \
		"$send,duration=1,workload=requests,size=cauchy:1"
	bad_flow 'size: it is pareto:MEAN:SHAPE' \
		"$send,duration=1,workload=requests,size=pareto:1000"
	bad_flow 'size: shape 0.5 is out of range; allowed are 1.01 to 100' \
		"$send,duration=1,workload=requests,size=pareto:1000:0.5"
	bad_flow 'ladder: 1 is not above the rate before it' \
		"$send,duration=1,workload=video,ladder=2/1"
	bad_flow 'buffer: 5 is less than two segments of 4 s' \
		"$send,duration=1,workload=video,buffer=5"
	bad_flow 'bytes does not apply to a workload' \
		"$send,bytes=1,workload=video"
	bad_flow 'workload=web needs proto=tcp' \
		"$send,proto=udp,duration=1,workload=web"
	bad_flow 'rate_mbit does not apply to a workload' \
		"$send,proto=udp,duration=1,workload=messages,rate_mbit=1"
	bad_flow '--until is missing' role=recv,id=1,port=1,workload=web
	printf '0,100\n1,100\n0.5,100\n' >"$tmp/back.csv"
	bad_flow 'back.csv, line 3: time 0.5 is before that of the line above' \
		"$send,workload=replay,file=$tmp/back.csv"
	printf '0,100\n1;100\n' >"$tmp/bad.csv"
	bad_flow 'bad.csv, line 2: "1;100" is not t_s,bytes' \
		"$send,workload=replay,file=$tmp/bad.csv"
	bad_flow 'writes: 23 is out of range; allowed are 24 to' \
		"$send,workload=replay,writes=0:23"
	: >"$tmp/empty.csv"
	bad_flow 'empty.csv is empty' "$send,workload=replay,file=$tmp/empty.csv"
	bad_flow 'absent.csv: No such file' \
		"$send,workload=replay,file=$tmp/absent.csv"
}

# The moments of distributions, 200000 draws: mean and standard deviation are
# within 2 % of what the formulas give (Pareto's by shape 4, whose tail allows it).
check_distributions() {
	local line words
	while read -r line; do
		read -ra words <<<"$line"
		check_distribution "${words[@]}"
	done <<-'EOF'
		const:5 5 0
		exp:1000 1000 1000
		pareto:1000:4 1000 353.6
		lognormal:1000:0.5 1133.1 603.9
		uniform:10:20 15 2.887
		list:1/2/3/4 2.5 1.118
		exp:1000:1000 632.1 359.1
	EOF
	equal "draws: the same by the same seed" \
		"$("$flowgen" --draw exp:1 --seed 7)" \
		"$("$flowgen" --draw exp:1 --seed 7)"
	true_that "draws: others by another seed" \
		"$("$flowgen" --draw exp:1 --seed 7 --count 1) != \
		 $("$flowgen" --draw exp:1 --seed 8 --count 1)"
}

# check_distribution DISTRIBUTION MEAN DEVIATION
check_distribution() {
	"$flowgen" --draw "$1" --count 200000 --seed 1 >"$tmp/draws"
	true_that "draws: $1" "$(awk -v mean="$2" -v deviation="$3" '
		{ sum += $1; squares += $1 * $1 }
		END {
			m = sum / NR
			v = squares / NR - m * m
			d = v > 0 ? sqrt(v) : 0
			print (m - mean) ^ 2 <= (0.02 * mean) ^ 2 &&
			      (d - deviation) ^ 2 <= (0.02 * deviation + 1e-6) ^ 2
		}' "$tmp/draws")"
}

# One flow of each workload, all at once; whatever is begun arrives, and whole.
check_workloads() {
	local id=0 text ends=() recv=()
	local all=(
		"requests,size=exp:20000,think=exp:0.05,limit=10"
		"web,size=exp:20000,objects=uniform:1:20,think=0.1,limit=3"
		"onoff,on=0.1,off=0.1,limit=4,pace_mbit=50"
		"video,ladder=1/2/4,segment=0.1,buffer=1,limit=15"
		"messages,size=1000,period=0.02,key_every=10,limit=30"
		"replay,file=$tmp/writes.csv"
		"connections,size=exp:20000,arrivals=exp:0.01,limit=40"
	)
	printf '0,100\n0.1,100000\n0.1,24\n' >"$tmp/writes.csv"
	begin 0.6
	for text in "${all[@]}"; do
		id=$((id + 1))
		ends+=("role=send,id=$id,addr=$b4,port=$((7000 + id)),seed=5,workload=$text")
		recv+=("role=recv,id=$id,port=$((7000 + id)),workload=${text%%,*}")
	done
	flows "$ns_b" work-recv --until 2.5 "${recv[@]}" \
		role=recv,proto=udp,id=8,port=7008,workload=messages
	flows "$ns_a" work-send --until 2.4 "${ends[@]}" \
		"role=send,proto=udp,id=8,addr=$b4,port=7008,workload=messages,size=3000,period=0.02,limit=30,packet_bytes=1000"
	settle
	status work-send 0
	status work-recv 0
	for id in 1 2 3 4 5 6 7 8; do
		text=${all[id - 1]:-udp}
		check_workload "$id" "${text%%,*}"
	done
	equal "web: pages" 3 "$(grep -c '"type":"page"' "$tmp/work-send.jsonl")"
	equal "messages: a key frame each tenth" "10000 1000" "$(
		items work-send 5 | awk 'NR == 1 || NR == 2 { print $3 }' | xargs)"
	true_that "messages: each at its time" "$(grep '"type":"item","id":5,' \
		"$tmp/work-send.jsonl" | sed -E 's/.*"t":([0-9.]+).*/\1/' |
		awk '{ bad += ($1 - 0.02 * (NR - 1)) ^ 2 > 1e-10 } END { print bad == 0 && NR == 30 }')"
}

# items NAME ID: connection, number and bytes of the items of NAME.jsonl.
items() {
	grep -E "^\{\"type\":\"(item|done)\",\"id\":$2," "$tmp/$1.jsonl" |
		sed -nE 's/.*"conn":([0-9]+),"n":([0-9]+)(,"bytes":([0-9]+))?.*/\1 \2 \4/p'
}

# check_workload ID NAME
check_workload() {
	local sent got
	equal "$2: complete" "true items" \
		"$(value work-send end "$1" complete) $(value work-send end "$1" reason)"
	sent=$(items work-send "$1" | sort -n)
	got=$(items work-recv "$1" | sort -n)
	if [ "$2" = onoff ] || [ "$2" = udp ]; then
		sent=$(cut -d' ' -f1,2 <<<"$sent")
		got=$(cut -d' ' -f1,2 <<<"$got")
	fi
	true_that "$2: items" "$(wc -l <<<"$sent") >= 3"
	equal "$2: all items are received" "$sent" "$got"
}

check_hetprobe_usage() {
	local base=("$hetprobe" --t0 1 --until 2 --out "$tmp/none")
	local own=/proc/self/ns/net
	usage "no --t0" "--t0 is missing" "$hetprobe" --until 1 --out "$tmp"
	usage "nothing to do" "no --queue and no --capture" "${base[@]}"
	usage "--queue with 3 parts" "4 parts" "${base[@]}" --queue "q,$own,lo"
	usage "bad PARENT" "q: \"1x:\".* root" "${base[@]}" --queue "q,$own,lo,1x:"
	usage "PARENT above ffff" "q: \"10000:\"" \
		"${base[@]}" --queue "q,$own,lo,10000:"
	usage "bad direction" "direction \"up\".* in and out" \
		"${base[@]}" --capture "c,$own,lo,up"
	usage "label that is no file name" "label \"a/b\"" \
		"${base[@]}" --capture "a/b,$own,lo,in"
	usage "label twice" "label \"c\" is given twice" \
		"${base[@]}" --capture "c,$own,lo,in" --capture "c,$own,lo,out"
	usage "bad --queue-ms" "--queue-ms.* 1 to 3600000" \
		"${base[@]}" --queue-ms 0 --queue "q,$own,lo,root"
}

# breaks NAME PATTERN ARGUMENT...: hetprobe fails and says of what.
breaks() {
	local name=$1 pattern=$2 got=0
	shift 2
	"$hetprobe" --t0 1 --until 2 --out "$tmp/none" "$@" \
		>"$tmp/usage" 2>&1 || got=$?
	if [ "$got" -eq 1 ] && grep -qE -- "$pattern" "$tmp/usage"; then
		pass "$name"
	else
		fail "$name" "status $got: $(cat "$tmp/usage")"
	fi
}

check_hetprobe_failures() {
	local ns=/run/netns/$ns_a
	ip -n "$ns_a" link add name down0 type veth peer name down1
	breaks "hetprobe names the label of a missing namespace" \
		"lost: /nowhere" --capture lost,/nowhere,va,in
	breaks "hetprobe names the label of a missing interface (queue)" \
		"lost: vz: No such device" --queue "lost,$ns,vz,root"
	breaks "hetprobe names the label of a missing interface (capture)" \
		"lost: vz" --capture "lost,$ns,vz,in"
	breaks "hetprobe names the label of a missing qdisc" \
		"lost: va has no visible qdisc at 77:" --queue "lost,$ns,va,77:"
	breaks "hetprobe names the label of a qdisc that is hidden" \
		"lost: down0 has no visible qdisc at root" \
		--queue "lost,$ns,down0,root"
}

# A transfer of a given size over IPv4 and one over IPv6, seen by captures.
check_bytes() {
	local bytes=3000000 flow
	begin 0.6
	probe bytes --until 1.5 --pcap \
		--capture "out,/run/netns/$ns_a,va,out" \
		--capture "in,/run/netns/$ns_b,vb,in"
	flows "$ns_a" bytes-recv role=recv,id=4,port=5004,netns=/run/netns/"$ns_b" \
		role=recv,id=6,port=5006,netns=/run/netns/"$ns_b"
	flows "$ns_a" bytes-send --sample-ms 10 \
		role=send,id=4,addr=$b4,port=5004,bytes=$bytes,cc=reno,sport=4004 \
		role=send,id=6,addr=$b6,port=5006,bytes=$bytes,cc=cubic,start=0.3
	settle
	status bytes 0
	status bytes-recv 0
	status bytes-send 0
	for flow in 4 6; do
		equal "IPv$flow: complete" true "$(value bytes-send end $flow complete)"
		equal "IPv$flow: reason" bytes "$(value bytes-send end $flow reason)"
		equal "IPv$flow: all bytes, SYN and FIN acknowledged" \
			$((bytes + 2)) "$(value bytes-send end $flow bytes_acked)"
		equal "IPv$flow: all bytes and FIN received" $((bytes + 1)) \
			"$(value bytes-recv end $flow bytes_received)"
		true_that "IPv$flow: the FIN arrives, then its acknowledgment" \
			"$(value bytes-recv end $flow t) < \
			 $(value bytes-send end $flow t) + 0.1"
	done
	equal "source port" "$a4:4004" "$(value bytes-send start 4 src)"
	equal "destination" "[$b6]:5006" "$(value bytes-send start 6 dst)"
	equal "congestion control" cubic "$(value bytes-send start 6 cc)"
	true_that "the flow starts on time" \
		"$(value bytes-send start 6 t_connect) >= 0.3 &&
		 $(value bytes-send start 6 t_connect) < 0.5"
	check_bytes_captures
}

check_bytes_captures() {
	local side flow sent
	for side in out in; do
		capture "$tmp/bytes/$side.cap" >"$tmp/$side.txt"
	done
	equal "captures: same packets at both ends" \
		"$(awk '$3 { print $7, $2, $12 }' "$tmp/out.txt" | sort | md5sum)" \
		"$(awk '$3 { print $7, $2, $12 }' "$tmp/in.txt" | sort | md5sum)"
	for flow in 4 6; do
		sent=$(value bytes-send end $flow bytes_sent)
		equal "captures: bytes that IPv$flow sent" "$sent" \
			"$(awk -v v=$flow '$7 == v { n += $3 } END { print n }' \
				"$tmp/out.txt")"
	done
	equal "captures: IP length is payload and headers" 0 \
		"$(awk '$3 && $4 - $3 != ($7 == 4 ? 52 : 72)' "$tmp/out.txt" | wc -l)"
	equal "captures: every packet has a timestamp option" 0 \
		"$(awk '!$11' "$tmp/out.txt" | wc -l)"
	equal "captures: one SYN and one FIN each way" "2 2" \
		"$(awk '$5 % 4 >= 2 { s++ } $5 % 2 { f++ } END { print s, f }' \
			"$tmp/out.txt")"
	equal "captures: no packet lost" 2 \
		"$(grep -o '"dropped":0' "$tmp/bytes/captures.json" | wc -l)"
	true_that "pcap: file holds the packets" \
		"$(wc -c <"$tmp/bytes/out.pcap") > 60 * $(wc -l <"$tmp/out.txt")"
}

# A flow of a given duration ends at once, and its receiver with it.
check_duration() {
	local end last
	begin 0.6
	probe duration --until 1.5 --capture "out,/run/netns/$ns_a,va,out"
	flows "$ns_b" duration-recv --sample-ms 50 role=recv,id=0,port=5001
	flows "$ns_a" duration-send --sample-ms 50 \
		role=send,id=0,addr=$b4,port=5001,start=0.1,duration=0.5,pace_mbit=50
	settle
	status duration 0
	status duration-send 0
	status duration-recv 0
	end=$(value duration-send end 0 t)
	true_that "duration: ends at start + duration" \
		"$end >= 0.6 && $end < 0.8"
	equal "duration: complete" true "$(value duration-send end 0 complete)"
	equal "duration: reason" duration "$(value duration-send end 0 reason)"
	equal "duration: receiver sees the reset" reset \
		"$(value duration-recv end 0 reason)"
	last=$(capture "$tmp/duration/out.cap" | awk '$3 { t = $1 } END { print t }')
	true_that "duration: no data is sent after the end" "$last < $end + 0.01"
	true_that "duration: samples every 50 ms" \
		"$(grep -c '"type":"sample"' "$tmp/duration-send.jsonl") >= 5"
	true_that "duration: samples of the receiver" \
		"$(grep -c '"type":"rsample"' "$tmp/duration-recv.jsonl") >= 5"
	true_that "duration: pace_mbit" \
		"$(value duration-send end 0 bytes_acked) < 50e6 / 8 * 0.5 * 1.1"
}

check_errors() {
	begin 0.3
	flows "$ns_b" errors-recv --until 1 \
		role=recv,id=0,port=5001 role=recv,id=9,port=5009
	flows "$ns_a" errors-send \
		role=send,id=0,addr=$b4,port=5001,bytes=10000 \
		role=send,id=1,addr=$b4,port=5001,bytes=10000,cc=nonesuch \
		role=send,id=2,addr=$b4,port=5555,bytes=10000 \
		role=send,id=3,addr=203.0.113.1,port=5555,bytes=10000
	settle
	status errors-send 1
	status errors-recv 1
	equal "errors: unknown congestion control" "cc ENOENT" \
		"$(value errors-send error 1 what) $(value errors-send error 1 errno)"
	equal "errors: refused connection" "connect ECONNREFUSED" \
		"$(value errors-send error 2 what) $(value errors-send error 2 errno)"
	equal "errors: no route" "connect ENETUNREACH" \
		"$(value errors-send error 3 what) $(value errors-send error 3 errno)"
	equal "errors: no connection came" "accept ETIMEDOUT" \
		"$(value errors-recv error 9 what) $(value errors-recv error 9 errno)"
	equal "errors: the other flow completes" true \
		"$(value errors-send end 0 complete)"
}

check_netns_error() {
	local got=0
	"$flowgen" --out /dev/null role=recv,id=7,port=5001,netns=/nowhere \
		>"$tmp/usage" 2>&1 || got=$?
	if [ "$got" -eq 1 ] && grep -q 'flow 7: netns: /nowhere' "$tmp/usage"; then
		pass "errors: missing namespace"
	else
		fail "errors: missing namespace" "status $got: $(cat "$tmp/usage")"
	fi
}

# A connection that does not get through, and SIGTERM.
check_stop() {
	begin 0.2
	ip netns exec "$ns_b" tc qdisc add dev vb root pfifo limit 0 2>/dev/null ||
		true
	ip -n "$ns_b" link set dev vb down
	ip -n "$ns_a" neigh replace $b4 lladdr 02:00:00:00:00:01 dev va
	flows "$ns_a" stop-send role=send,id=0,addr=$b4,port=5001,duration=0.3
	settle
	ip -n "$ns_a" neigh del $b4 dev va
	ip -n "$ns_b" link set dev vb up
	ip -n "$ns_b" addr add $b6/64 dev vb nodad
	tc -n "$ns_b" qdisc del dev vb root 2>/dev/null || true
	status stop-send 1
	equal "stop: connect() is cut short" "connect ETIMEDOUT" \
		"$(value stop-send error 0 what) $(value stop-send error 0 errno)"
	check_signal
}

check_signal() {
	local pid
	"$flowgen" --out "$tmp/signal.jsonl" --until 60 role=recv,id=0,port=1 \
		role=recv,id=0,port=5099,proto=udp 2>/dev/null &
	pid=$!
	pids+=("$pid")
	sleep 0.5
	kill -TERM "$pid"
	wait "$pid" || true
	pids=()
	equal "stop: records are complete after SIGTERM" until \
		"$(value signal end 0 reason)"
}

# 1 Mbit/s of 500 byte packets, 0.2 s on, 0.3 s off: 2 bursts of 50 in 1 s.
check_udp() {
	local flow
	begin 0.6
	probe udp --until 1.5 --capture "in,/run/netns/$ns_b,vb,in"
	flows "$ns_b" udp-recv --until 1.4 \
		role=recv,proto=udp,id=4,port=6004 role=recv,proto=udp,id=6,port=6006
	flows "$ns_a" udp-send \
		role=send,proto=udp,id=4,addr=$b4,port=6004,rate_mbit=1,packet_bytes=500,duration=1,on_s=0.2,off_s=0.3 \
		role=send,proto=udp,id=6,addr=$b6,port=6006,rate_mbit=1,packet_bytes=500,duration=1
	settle
	status udp 0
	status udp-send 0
	status udp-recv 0
	capture "$tmp/udp/in.cap" >"$tmp/in.txt"
	for flow in "4 100" "6 250"; do
		check_udp_flow "${flow% *}" "${flow#* }"
	done
	equal "UDP on/off: nothing in the pause" 0 \
		"$(awk '$7 == 4 && $1 > 0.35 && $1 < 0.5' "$tmp/in.txt" | wc -l)"
	true_that "UDP: samples" \
		"$(grep -c '"type":"usample"' "$tmp/udp-recv.jsonl") >= 15 &&
		 $(grep -c '"type":"usent"' "$tmp/udp-send.jsonl") >= 12"
}

# check_udp_flow IP_VERSION PACKETS
check_udp_flow() {
	local name="UDP over IPv$1"
	equal "$name: sent" "$2" "$(value udp-send end "$1" packets)"
	equal "$name: received" "$2" "$(value udp-recv end "$1" packets)"
	equal "$name: bytes" $(($2 * 500)) "$(value udp-recv end "$1" bytes)"
	equal "$name: highest counter" $(($2 - 1)) \
		"$(value udp-recv end "$1" highest)"
	equal "$name: counters in the capture" "$(seq 0 $(($2 - 1)) | md5sum)" \
		"$(awk -v v="$1" '$7 == v { print $2 }' "$tmp/in.txt" | md5sum)"
	equal "$name: packet length" 500 \
		"$(awk -v v="$1" '$7 == v { print $4 }' "$tmp/in.txt" | sort -u)"
}

# 12 Mbit/s of UDP into a queue of 30 packets that is drained at 8 Mbit/s.  The
# three ways to address the inner qdisc must agree.
check_queue() {
	if ! add_tbf 2>"$tmp/tc.err"; then
		skip "queue: tbf" "no tbf here: $(tail -n 1 "$tmp/tc.err")"
		check_plain_queue
		return
	fi
	run_queue_load tbf --queue "class,/run/netns/$ns_a,va,1:1" \
		--queue "handle,/run/netns/$ns_a,va,10:" \
		--queue "root,/run/netns/$ns_a,va,root"
	queue "$tmp/tbf/queue.bin" >"$tmp/queue.txt"
	equal "queue: labels" '["class","handle","root"]' \
		"$(grep -o '\["class[^]]*\]' "$tmp/tbf/queue.json")"
	equal "queue: class and handle name the same qdisc" \
		"$(awk '$2 == 0 { $2 = ""; v = $0 } END { print v }' "$tmp/queue.txt")" \
		"$(awk '$2 == 1 { $2 = ""; v = $0 } END { print v }' "$tmp/queue.txt")"
	equal "queue: it fills to its limit" 30 \
		"$(awk '$3 > max { max = $3 } END { print max }' "$tmp/queue.txt")"
	equal "queue: backlog is that of packets of 1014 bytes, but for one" 0 \
		"$(awk '{ d = $4 - $3 * 1014 } $2 == 0 && d * d > 1014 * 1014' \
			"$tmp/queue.txt" | wc -l)"
	true_that "queue: a sample every 10 ms" \
		"$(awk '$2 == 0' "$tmp/queue.txt" | wc -l) >= 100"
	check_queue_balance
	tc -n "$ns_a" qdisc del dev va root
}

add_tbf() {
	tc -n "$ns_a" qdisc add dev va root handle 1: \
		tbf rate 8mbit burst 1600 limit 1000000 &&
		tc -n "$ns_a" qdisc add dev va parent 1:1 handle 10: pfifo limit 30
}

# run_queue_load NAME PROBE_ARGUMENT...
run_queue_load() {
	local name=$1
	shift
	begin 0.6
	probe "$name" --until 1.5 --capture "out,/run/netns/$ns_a,va,out" "$@"
	flows "$ns_b" "$name-recv" --until 1.4 role=recv,proto=udp,id=0,port=6001
	flows "$ns_a" "$name-send" \
		role=send,proto=udp,id=0,addr=$b4,port=6001,rate_mbit=12,duration=1
	settle
	status "$name" 0
	status "$name-send" 0
	status "$name-recv" 0
}

# What was sent was dropped by the queue or seen by the capture behind it.  The
# queue may have dropped a packet of the kernel's own, of neighbour discovery.
check_queue_balance() {
	local sent drops seen
	sent=$(value tbf-send end 0 packets)
	drops=$(awk '$2 == 0 { v = $5 } END { print v }' "$tmp/queue.txt")
	seen=$(capture "$tmp/tbf/out.cap" | wc -l)
	true_that "queue: sent = dropped + captured" \
		"$drops + $seen >= $sent && $drops + $seen <= $sent + 3"
	true_that "queue: about a third is dropped" \
		"$drops > 300 && $drops < 1000"
	equal "queue: the receiver has the rest" "$seen" \
		"$(value tbf-recv end 0 packets)"
}

# Without a shaper the queue stays empty, but it counts.
check_plain_queue() {
	tc -n "$ns_a" qdisc add dev va root handle 1: pfifo limit 30
	run_queue_load plain --queue "root,/run/netns/$ns_a,va,root"
	queue "$tmp/plain/queue.bin" >"$tmp/queue.txt"
	true_that "queue: packets are counted" \
		"$(awk 'END { print $6 }' "$tmp/queue.txt") >= 1500"
	tc -n "$ns_a" qdisc del dev va root
}

check_netem() {
	if ! tc -n "$ns_a" qdisc add dev va root handle 1: \
		netem rate 8mbit limit 31 2>"$tmp/tc.err"; then
		skip "queue: netem" "no netem here: $(tail -n 1 "$tmp/tc.err")"
		return
	fi
	run_queue_load netem --queue "root,/run/netns/$ns_a,va,1:"
	queue "$tmp/netem/queue.bin" >"$tmp/queue.txt"
	equal "netem: it fills to its limit" 31 \
		"$(awk '$3 > max { max = $3 } END { print max }' "$tmp/queue.txt")"
	tc -n "$ns_a" qdisc del dev va root
}

check_json() {
	local file bad=
	if ! command -v jq >/dev/null; then
		skip "output is JSON" "no jq here"
		return
	fi
	for file in "$tmp"/*.jsonl "$tmp"/*/*.json; do
		jq -e . "$file" >/dev/null 2>&1 || bad+=" ${file##*/}"
	done
	equal "output is JSON" "" "$bad"
}

main() {
	if [ "$(id -u)" -ne 0 ]; then
		skip "all" "needs root for network namespaces"
		finish
		exit
	fi
	trap cleanup EXIT
	tmp=$(mktemp -d)
	mkfifo "$tmp/ready"
	exec {ready}<>"$tmp/ready"
	echo "TAP version 13"
	check_help
	check_flowgen_usage
	check_hetprobe_usage
	setup
	check_hetprobe_failures
	check_bytes
	check_duration
	check_errors
	check_netns_error
	check_stop
	check_udp
	check_distributions
	check_workloads
	check_queue
	check_netem
	check_json
	finish
}

main
