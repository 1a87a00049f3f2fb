#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the files that santacruz_opt.patch touches, in and out, 32 and 64 bit.

set -euo pipefail

# shellcheck source=tools/ci/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

readonly few="gcc-64-out clang-64-in gcc-32-in clang-32-out"
readonly few_ported="gcc-64-in gcc-32-out"
readonly all="gcc-64-in gcc-64-out gcc-32-in gcc-32-out
clang-64-in clang-64-out clang-32-in clang-32-out"
series=6.12
patch=$HETCC_TOP/santacruz_opt.patch
work=$HETCC_BUILD/option-patch
tarball=

usage() {
	cat <<'END'
usage: tools/ci/option_patch.sh [--series 6.1|6.12|7.2 | --first N]
                                [--all | COMPILER-BITS-in|out...] [--help]

Applies santacruz_opt.patch to Debian's linux-source-6.12 without fuzz and
compiles every C file that it touches, with W=1 and sparse, for x86 with the
option configured in or out; any message of the compiler or of sparse about
these files fails.  By default four combinations (gcc-64-out clang-64-in
gcc-32-in clang-32-out; the lab's kernels are gcc-64-in and gcc-64-out for
UML), with --all all eight.  Works in build/option-patch.

  --series   another series: the patch that tools/kernel/rebase.py makes, by
             default gcc-64-in and gcc-32-out.  Works in build/option-patch-SERIES.
  --first    only the first N patches of the mailbox

Linux 7.2 wants clang 17; Debian 12's clang is 14, so --all leaves clang out.
END
}

key() {
	sha256sum <"$1" | cut -c1-16
}

# first N: the first N mails of the mailbox as a patch of their own
first() {
	local out=$HETCC_BUILD/first-$1.patch
	make_build_dir
	awk -v n="$1" '/^From [0-9a-f]+ Mon Sep 17 00:00:00 2001$/ { mails++ }
		       mails <= n' "$patch" >"$out"
	patch=$out
}

# The tree as it was before the last patch; new times, so that make looks again.
restore() {
	(cd "$work/src" && xargs rm -f <"$work/touched")
	cp -r "$work/before/." "$work/src"
}

unpack_source() {
	rm -rf "$work"
	make_build_dir "$work/src"
	note "unpacking ${tarball##*/}"
	tar xf "$tarball" -C "$work/src" --strip-components=1
	key "$tarball" >"$work/source"
}

unpack() {
	tarball=$("$HETCC_TOP/tools/ci/kernel_source.sh" "$series")
	if [ "$series" != 6.12 ]; then
		patch=$("$HETCC_TOP/tools/kernel/rebase.py" "$series")
	fi
	if [ "$(cat "$work/source" 2>/dev/null)" != "$(key "$tarball")" ]; then
		unpack_source
	elif [ "$(cat "$work/key" 2>/dev/null)" = "$(key "$patch")" ]; then
		return
	else
		restore
	fi
	rm -rf "$work/key" "$work/before" && mkdir "$work/before"
	touched >"$work/touched"
	(cd "$work/src" && xargs cp --parents -t "$work/before" <../touched) 2>/dev/null || true
	patch -s -d "$work/src" -p1 --fuzz=0 <"$patch" ||
		die "${patch##*/} does not apply without fuzz"
	key "$patch" >"$work/key"
}

# Files of the series, each once.
touched() {
	sed -n 's,^+++ b/,,p' "$patch" | sort -u
}

# C files of the series; the KUnit suite is included by another one. The last two
# check the sizes of what the patch adds to.
objects() {
	echo net/ipv4/tcp.o net/core/net_namespace.o | tr ' ' '\n'
	touched | sed -n 's,^\(net/.*\)\.c$,\1.o,p' | grep -v '_test\.o$'
}

config() {
	local bits=$1 option=$2
	printf 'CONFIG_%s=y\n' NET INET IPV6 SYN_COOKIES TCP_MD5SIG MPTCP SYSCTL \
		PROC_FS PRINTK MODULES BPF_SYSCALL CGROUPS CGROUP_BPF FTRACE \
		ENABLE_DEFAULT_TRACERS KUNIT NETFILTER
	printf 'CONFIG_64BIT=%s\n' "$([ "$bits" = 64 ] && echo y || echo n)"
	if [ "$bits" = 64 ]; then
		echo CONFIG_TCP_AO=y
	fi
	if [ "$option" = in ]; then
		printf 'CONFIG_%s=y\n' TCP_SANTACRUZ
		! grep -q '^+config TCP_SANTACRUZ_KUNIT_TEST' "$patch" ||
			echo CONFIG_TCP_SANTACRUZ_KUNIT_TEST=y
	fi
}

# FILE:LINE of every line that the series adds, in the patched tree.
added_lines() {
	local name
	for name in $(touched); do
		diff -u -N --label a --label "b/$name" "$work/before/$name" \
			"$work/src/$name" || true
	done | awk '/^\+\+\+ b\// { file = substr($2, 3); next }
	     /^@@/ { split($3, at, /[+,]/); line = at[2]; next }
	     /^\+/ { print file ":" line++; next }
	     /^ / { line++ }'
}

# Other lines of the kernel's files have messages of sparse of their own.
messages_about_ours() {
	added_lines >"$work/added"
	sed "s,^$work/src/,," "$1" | grep -E ': (warning|error):' |
		awk -F: 'NR == FNR { ours[$1 ":" $2]; next }
			 ($1 ":" $2) in ours { print; found = 1 }
			 END { exit !found }' "$work/added" -
}

kmake() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$work/src" ARCH=x86 "$@"
}

# build COMPILER BITS in|out
build() {
	local out=$work/$1-$2-$3 log=$work/$1-$2-$3.log objs
	local skip=santacruz
	[ "$3" = out ] || skip='^$'
	mapfile -t objs < <(objects | grep -v "$skip")
	mkdir -p "$out"
	config "$2" "$3" >"$out/fragment"
	kmake O="$out" CC="$1" tinyconfig >"$log" 2>&1
	(cd "$work/src" && scripts/kconfig/merge_config.sh -m -O "$out" \
		"$out/.config" "$out/fragment") >>"$log" 2>&1
	kmake O="$out" CC="$1" olddefconfig >>"$log" 2>&1
	if [ "$3" = in ] && ! grep -q '^CONFIG_TCP_SANTACRUZ=y' "$out/.config"; then
		die "$1-$2-$3: the option is not configured in"
	fi
	kmake O="$out" CC="$1" -j2 prepare >>"$log" 2>&1 ||
		die "$1-$2-$3: $(tail -n 20 "$log")"
	kmake O="$out" CC="$1" -j2 W=1 C=2 CHECK=sparse "${objs[@]}" \
		>"$log.objects" 2>&1 || die "$1-$2-$3: $(tail -n 20 "$log.objects")"
	! messages_about_ours "$log.objects" || die "$1-$2-$3: messages above"
	note "$1-$2-$3: ${#objs[@]} files, no messages"
}

# choose ARGUMENT...: sets combos.
choose() {
	local every=${all//$'\n'/ } combo
	[ "$series" != 7.2 ] || every=${every%% clang*}
	case ${1:-} in
	--all) read -ra combos <<<"$every" ;;
	'')
		read -ra combos <<<"$few_ported"
		[ "$series" != 6.12 ] || read -ra combos <<<"$few"
		;;
	*) combos=("$@") ;;
	esac
	for combo in "${combos[@]}"; do
		[[ " $every " == *" $combo "* ]] ||
			{ usage >&2 && die "unknown combination: $combo"; }
	done
}

main() {
	local combos=() combo
	case ${1:-} in
	--help | -h) usage && exit 0 ;;
	--series)
		series=${2:-}
		[[ " 6.1 6.12 7.2 " == *" $series "* ]] ||
			{ usage >&2 && die "--series: 6.1, 6.12 or 7.2"; }
		[ "$series" = 6.12 ] || work=$work-$series
		shift 2
		;;
	--first)
		[[ ${2:-} =~ ^[1-9]$ ]] || { usage >&2 && die "--first: 1 to 9"; }
		first "$2"
		shift 2
		;;
	esac
	choose "$@"
	need_command sparse sparse
	need_command clang clang
	unpack
	for combo in "${combos[@]}"; do
		build "${combo%%-*}" "$(cut -d- -f2 <<<"$combo")" "${combo##*-}"
	done
}

main "$@"
