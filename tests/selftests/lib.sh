# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # variables of the scripts that read this
# Shared by the module selftests: TAP, namespaces, a lossy path of our own.
#
#   NS_S (s0, 192.0.2.1, 2001:db8::1) --- (d0, 192.0.2.2, 2001:db8::2) NS_D

TEST=0
FAILED=0
NS_S=hetcc-s
NS_D=hetcc-d
MODULES=(tcp_santacruz tcp_westwood_fr tcp_hybla_ext)
CCS=(santacruz westwood_fr westwood_gfr hybla_ext)

ok()
{
	local status=$1 name=$2

	TEST=$((TEST + 1))
	if [ "$status" = 0 ]; then
		echo "ok $TEST - $name"
	else
		echo "not ok $TEST - $name"
		FAILED=$((FAILED + 1))
	fi
}

# check NAME COMMAND...: the command must succeed
check()
{
	local name=$1 rc=0

	shift
	"$@" >/tmp/hetcc-out.$$ 2>&1 || rc=$?
	ok "$rc" "$name"
	[ "$rc" = 0 ] || sed 's/^/# /' /tmp/hetcc-out.$$
	rm -f /tmp/hetcc-out.$$
}

# refuse NAME COMMAND...: the command must fail
refuse()
{
	local name=$1 rc=0

	shift
	"$@" >/dev/null 2>&1 || rc=$?
	ok "$((rc == 0))" "$name"
}

finish()
{
	cleanup_ns
	echo "1..$TEST"
	exit $((FAILED > 0))
}

cleanup_ns()
{
	ip netns del "$NS_S" 2>/dev/null || true
	ip netns del "$NS_D" 2>/dev/null || true
}

# setup_ns [NETEM ARGUMENTS...]: both ways
setup_ns()
{
	local end ns

	cleanup_ns
	ip netns add "$NS_S"
	ip netns add "$NS_D"
	ip -n "$NS_S" link add s0 type veth peer name d0 netns "$NS_D"
	for end in s:1 d:2; do
		ns=hetcc-${end%:*}
		ip -n "$ns" link set lo up
		ip -n "$ns" link set "${end%:*}0" up
		ip -n "$ns" address add "192.0.2.${end#*:}/24" dev "${end%:*}0"
		ip -n "$ns" address add "2001:db8::${end#*:}/64" dev "${end%:*}0" nodad
		ip netns exec "$ns" ethtool -K "${end%:*}0" tso off gso off gro off
		[ $# = 0 ] || tc -n "$ns" qdisc add dev "${end%:*}0" root netem "$@"
	done
}

# transfer CC SECONDS [ADDRESS]: one flow; prints the last tcp_info record
transfer()
{
	local cc=$1 seconds=$2 addr=${3:-192.0.2.2} out

	out=$(mktemp)
	ip netns exec "$NS_D" flowgen --out /dev/null --until "$((seconds + 3))" role=recv,id=0,port=5001 &
	ip netns exec "$NS_S" flowgen --out "$out" --sample-ms 100 \
		"role=send,id=0,addr=$addr,port=5001,cc=$cc,start=0.2,duration=$seconds"
	wait
	grep '"type":"end"' "$out"
	rm -f "$out"
}

# field NAME: a number of the JSON record on stdin
field()
{
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

clean_log()
{
	! dmesg | grep -E 'WARNING|BUG|UBSAN|Oops|Call Trace|divide error'
}
