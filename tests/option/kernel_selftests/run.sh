#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the kernel's own selftests for TCP and run them in the virtual-time
# kernel; TAP on standard output.

set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/ci/common.sh
. "$here/../../../tools/ci/common.sh"

readonly source=linux-source-6.12
readonly tarball=/usr/src/$source.tar.xz
readonly list=$here/selftests.list
# One gcc call each, nothing but libc
readonly net=(tcp_inq rxtimestamp txtimestamp msg_zerocopy fin_ack_lat
	tcp_fastopen_backup_key reuseport_bpf reuseport_bpf_cpu
	reuseport_dualstack reuseport_addr_any reuseaddr_conflict
	reuseaddr_ports_exhausted stress_reuseport_listen bind_bhash
	bind_timewait bind_wildcard ip_local_port_range
	sk_bind_sendto_listen sk_connect_zero_addr sk_so_peek_off
	so_netns_cookie)

usage() {
	cat <<'END'
usage: tests/option/kernel_selftests/run.sh [--build] [--patched [--mode 0|1|2]] [NAME...]

Runs the kernel's selftests of selftests.list, beside this script, all of them
when none is named, and prints TAP.

  --build     only unpack and build them, into build/selftests
  --patched   on the kernel with the Santa Cruz option
  --mode N    net.ipv4.tcp_santacruz in all network namespaces (default 2)

What cannot run here is in unrunnable.list, with the reason.
END
}

# Everything that the built tests depend on.
build_key() {
	{
		dpkg-query -W "$source" || stat -c %s "$tarball"
		gcc --version
		cat -- "${BASH_SOURCE[0]}" "$here/preload.c"
	} 2>/dev/null | sha256sum | cut -c 1-16
}

unpack() {
	note "unpacking the selftests of $tarball"
	tar -xf "$tarball" -C "$1" --strip-components=1 --wildcards \
		"$source/Makefile" "$source/scripts" "$source/include" \
		"$source/usr" "$source/arch/x86" "$source/tools/include" \
		"$source/tools/testing/selftests/net" \
		"$source/tools/testing/selftests/lib.mk" \
		"$source/tools/testing/selftests/kselftest*" &&
		plain_make -C "$1" ARCH=x86 headers
}

# The kernel's makefiles take another path below a make of ours.
plain_make() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s "$@"
}

# build_tests TREE: programs beside their sources, where the scripts look for them
build_tests() {
	local selftests=$1/tools/testing/selftests
	local headers="-isystem $1/usr/include"

	note "building the selftests"
	plain_make -C "$selftests/net" KHDR_INCLUDES="$headers" \
		OUTPUT="$selftests/net" \
		"${net[@]/#/$selftests/net/}" &&
		plain_make -C "$selftests/net/tcp_ao" KHDR_INCLUDES="$headers" all &&
		gcc -O2 -Wall -shared -fPIC -o "$1/preload.so" "$here/preload.c"
}

# Prints the directory with the selftests, built if they are not there.
built() {
	local tree log
	tree=$HETCC_BUILD/selftests/$(build_key)
	log=$tree.log
	make_build_dir "$tree"
	(
		flock 9
		[ ! -f "$tree/.complete" ] || exit 0
		{ unpack "$tree" && build_tests "$tree"; } >"$log" 2>&1 ||
			die "cannot build the selftests; see $log"
		touch "$tree/.complete"
	) 9>"$tree.lock"
	echo "$tree"
}

main() {
	local kernel=--no-patched mode='' only_build='' tree
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h) usage && exit 0 ;;
		--build) only_build=yes ;;
		--patched) kernel=--patched mode=${mode:-2} ;;
		--mode) mode=${2:?--mode needs a number} && shift ;;
		-*) usage >&2 && die "unknown option: $1" ;;
		*) break ;;
		esac
		shift
	done
	tree=$(built)
	[ -z "$only_build" ] || exit 0
	exec "$HETCC_TOP/tools/hetlab" exec "$kernel" -- \
		"$here/guest.sh" "$tree" "$list" "$mode" "$@"
}

main "$@"
