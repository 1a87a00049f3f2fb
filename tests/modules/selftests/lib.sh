# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # variables of the scripts that read this
# Shared by the module selftests: TAP, namespaces, a lossy path of our own. The
# modules are those of HETLAB_MODULES, a directory, or what modprobe finds.
#
#   NS_S (s0, 192.0.2.1, 2001:db8::1) --- (d0, 192.0.2.2, 2001:db8::2) NS_D

TEST=0
FAILED=0
NS_S=hetcc-s
NS_D=hetcc-d
MODULES=(tcp_santacruz tcp_westwood_fr tcp_hybla_ext)
CCS=(santacruz westwood_fr westwood_gfr hybla_ext hybla_paper)
KSFT_SKIP=4
DEFAULT_CC=$(cat /proc/sys/net/ipv4/tcp_congestion_control)
LOADED=()
MARK="hetcc selftest $$: $(basename "$0")"
PATH=$(cd "$(dirname "$0")" && pwd):$PATH

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

# skip NAME REASON: what this kernel cannot do
skip()
{
	TEST=$((TEST + 1))
	echo "ok $TEST - $1 # SKIP $2"
}

# begin: the kernel can run these tests, or they are skipped; the rest must be there
begin()
{
	local tool module

	echo "TAP version 13"
	[ "$(id -u)" = 0 ] || bail "not root"
	for tool in ip tc ethtool flowgen; do
		command -v "$tool" >/dev/null || bail "$tool is not installed"
	done
	echo "$MARK" >/dev/kmsg
	setup_ns delay 1ms >/dev/null 2>&1 ||
		skip_all "no network namespaces, veth or netem"
	for module in "${MODULES[@]}"; do
		[ ! -d "/sys/module/$module" ] || continue
		load "$module" 2>/dev/null ||
			skip_all "$module is neither loaded nor installed"
		LOADED+=("$module")
	done
}

bail()
{
	echo "Bail out! $1"
	exit 1
}

skip_all()
{
	cleanup_ns
	echo "1..0 # SKIP $1"
	exit $KSFT_SKIP
}

# load MODULE [PARAMETER=VALUE...]; fails if it is loaded already
load()
{
	if [ -n "${HETLAB_MODULES:-}" ]; then
		insmod "$HETLAB_MODULES/$1.ko" "${@:2}"
	else
		modprobe --first-time "$@"
	fi
}

# finish: leave things as they were
finish()
{
	local module

	cleanup_ns
	sysctl -qw "net.ipv4.tcp_congestion_control=$DEFAULT_CC"
	for module in "${LOADED[@]}"; do
		rmmod "$module" 2>/dev/null || echo "# $module is still in use, and loaded"
	done
	echo "1..$TEST"
	exit $((FAILED > 0))
}

cleanup_ns()
{
	ip netns del "$NS_S" 2>/dev/null || true
	ip netns del "$NS_D" 2>/dev/null || true
}

has_ipv6()
{
	[ -d /proc/sys/net/ipv6 ]
}

# setup_ns [NETEM ARGUMENTS...]: both ways
setup_ns()
{
	local end ns

	cleanup_ns
	ip netns add "$NS_S" && ip netns add "$NS_D" || return
	ip -n "$NS_S" link add s0 type veth peer name d0 netns "$NS_D" || return
	for end in s:1 d:2; do
		ns=hetcc-${end%:*}
		ip -n "$ns" link set lo up
		ip -n "$ns" link set "${end%:*}0" up
		ip -n "$ns" address add "192.0.2.${end#*:}/24" dev "${end%:*}0"
		has_ipv6 && ip -n "$ns" address add "2001:db8::${end#*:}/64" \
			dev "${end%:*}0" nodad
		ip netns exec "$ns" ethtool -K "${end%:*}0" tso off gso off gro off
		[ $# = 0 ] || tc -n "$ns" qdisc add dev "${end%:*}0" root netem "$@" || return
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
	sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p"
}

clean_log()
{
	! dmesg | sed -n "/$MARK/,\$p" | grep -E 'WARNING|BUG|UBSAN|Oops|Call Trace|divide error'
}
