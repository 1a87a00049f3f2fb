#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the modules against the kernel headers of every supported series.

set -euo pipefail

ci=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/ci/common.sh
. "$ci/common.sh"

readonly all_series=(6.1 6.12 7.2)
readonly matrix=$HETCC_BUILD/matrix
readonly sid_root=$HETCC_BUILD/sid-root

# Lines that say nothing about the modules: the build machine's compiler need
# not be the kernel's to the last digit, and Debian's headers have no vmlinux
# from which BTF could be made.
readonly harmless='the compiler differs|Skipping BTF generation'

# What the step under way found out: the header directory, the kernel's
# version, and what is wrong.
headers=
version=
reason=

usage() {
	cat <<'END'
usage: tools/ci/build_matrix.sh [--help] [6.1] [6.12] [7.2]

Builds the modules with W=1 against Debian's headers of the named kernel
series, of all three when none is named.  The sources are copied to
build/matrix/SERIES, the log is build/matrix/SERIES.log.  A warning, an error
or a missing .ko fails the series.

The 6.x headers are those installed below /usr/src, or are installed by apt
when this runs as root.  The 7.2 headers are in a chroot of Debian sid, made
on first use by sid_headers.sh; building in it needs root.

The result is printed in the KTAP format, one line for each series; the exit
status is 0 only when every series passes.
END
}

# make must not take options or a jobserver from a make that called us.
module_make() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
		make -j2 W=1 -C "$1" M="$2" modules
}

build_on_host() {
	local dir=$matrix/$1 log=$matrix/$1.log
	if ! headers=$(host_headers "$1"); then
		reason="no kernel headers: $(headers_package "$1") is missing"
		return 1
	fi
	version=$(kernel_version "$headers")
	stage_sources "$dir"
	if ! module_make "$headers" "$dir" >"$log" 2>&1; then
		reason="make failed"
		return 1
	fi
}

# The build runs in namespaces of its own, so that the mounts it needs, the
# module directory and /proc for objtool, end with it.
sid_make() {
	local target=$sid_root/mnt
	# shellcheck disable=SC2016 # expanded by the inner shells
	unshare --mount --pid --fork --kill-child sh -euc '
		mount --bind "$1" "$2/mnt"
		exec env -i LC_ALL=C \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			chroot "$2" /bin/sh -euc "
				mount -t proc proc /proc
				exec make -j2 W=1 -C \"\$1\" M=/mnt modules" sh "$3"
	' sh "$1" "${target%/mnt}" "$2"
}

build_in_sid() {
	local dir=$matrix/$1 log=$matrix/$1.log release
	if ! is_root; then
		reason="building in the sid chroot needs root"
		return 1
	fi
	if ! release=$("$ci/sid_headers.sh"); then
		reason="no sid chroot with the headers (see the messages above)"
		return 1
	fi
	headers=/usr/src/linux-headers-$release
	version=$(kernel_version "$sid_root$headers")
	stage_sources "$dir"
	if ! sid_make "$dir" "$headers" >"$log" 2>&1; then
		reason="make failed"
		return 1
	fi
}

# Warnings and errors of a log that are not harmless.
complaints() {
	grep -iE '(warning|error):' "$1" | grep -vE "$harmless"
}

# check_output SERIES: whether a build that make finished is good.
check_output() {
	local name missing=() found
	found=$(complaints "$matrix/$1.log" | wc -l) || true
	for name in $(module_names "$matrix/$1"); do
		[ -f "$matrix/$1/$name.ko" ] || missing+=("$name.ko")
	done
	[ "$found" -eq 0 ] || reason="$found warnings or errors"
	if [ ${#missing[@]} -gt 0 ]; then
		reason="${reason:+$reason; }not built: ${missing[*]}"
	fi
	[ -z "$reason" ]
}

build_series() {
	case $1 in
	6.*) build_on_host "$1" && check_output "$1" ;;
	*) build_in_sid "$1" && check_output "$1" ;;
	esac
}

# explain SERIES: what a reader needs of the log of a failed build.
explain() {
	local log=$matrix/$1.log
	echo "# $1: $reason"
	[ -f "$log" ] || return 0
	{ complaints "$log" | head -n 20 || true; } | sed 's/^/# /'
	echo "# last lines of ${log#"$HETCC_TOP"/}:"
	tail -n 15 "$log" | sed 's/^/#   /'
}

# report NUMBER SERIES: build one series and print its result.
report() {
	local verdict="not ok" text
	headers='' version='' reason=''
	rm -f -- "$matrix/$2.log"
	if build_series "$2"; then
		verdict="ok"
	fi
	text="${version:-$2}${headers:+ (${headers##*/})}"
	case $version in
	"" | "$2" | "$2".*) ;;
	*) text="$text, in place of $2" ;;
	esac
	echo "$verdict $1 - $text"
	[ "$verdict" = ok ] && return 0
	explain "$2"
	return 1
}

main() {
	local series=() argument number=0 failed=0
	for argument in "$@"; do
		case $argument in
		--help | -h) usage && exit 0 ;;
		6.1 | 6.12 | 7.2) series+=("$argument") ;;
		*) usage >&2 && die "unknown kernel series: $argument" ;;
		esac
	done
	[ ${#series[@]} -gt 0 ] || series=("${all_series[@]}")
	need_command make make
	make_build_dir "$matrix"
	echo "KTAP version 1"
	echo "1..${#series[@]}"
	for argument in "${series[@]}"; do
		number=$((number + 1))
		report "$number" "$argument" || failed=$((failed + 1))
	done
	echo "# Totals: pass:$((number - failed)) fail:$failed"
	[ "$failed" -eq 0 ]
}

main "$@"
