#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the modules for every supported kernel series, architecture, compiler.

set -euo pipefail

ci=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/ci/common.sh
. "$ci/common.sh"

readonly matrix=$HETCC_BUILD/matrix
readonly sid_root=$HETCC_BUILD/sid-root
# The rest are combinations of the same; those of 7.2 need another 700 MB.
readonly few=(6.1-amd64-gcc 6.12-amd64-gcc 7.2-amd64-gcc 6.1-amd64-clang
	6.12-amd64-clang 6.12-arm64-gcc 6.1-armhf-gcc 6.12-armhf-gcc)
readonly all=("${few[@]}" 6.1-arm64-gcc 6.1-arm64-clang 6.1-armhf-clang
	6.12-arm64-clang 6.12-armhf-clang 7.2-amd64-clang 7.2-arm64-gcc
	7.2-arm64-clang 7.2-armhf-gcc 7.2-armhf-clang)

# Lines that say nothing about the modules: the build machine's compiler need
# not be the kernel's to the last digit, and Debian's headers have no vmlinux
# from which BTF could be made.
readonly harmless='the compiler differs|Skipping BTF generation'

# Debian's kernels are configured for gcc.  What that says of the compiler is
# said again for clang; the mitigations that clang 14 has no options for are
# left out of the modules, and so are mcount's records, and a message about
# named address spaces, which gcc has and the headers then use.
readonly for_clang=(CC=clang CONFIG_CC_IS_CLANG=y CONFIG_CLANG_VERSION=140006
	CONFIG_CC_IS_GCC= CONFIG_GCC_VERSION=0 CONFIG_FTRACE_MCOUNT_USE_CC=
	CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough
	CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT= CONFIG_FUNCTION_ALIGNMENT=0
	CONFIG_CC_HAS_SANE_FUNCTION_ALIGNMENT=
	CONFIG_UBSAN_BOUNDS_STRICT= CONFIG_UBSAN_ARRAY_BOUNDS=y
	CONFIG_RETHUNK= CONFIG_MITIGATION_RETHUNK=
	CONFIG_SLS= CONFIG_MITIGATION_SLS=
	KCFLAGS=-Wno-duplicate-decl-specifier)

# What the step under way found out: the header directory, the kernel's
# version, and what is wrong.
headers=
version=
reason=

usage() {
	cat <<'END'
usage: tools/ci/build_matrix.sh [--all | --list | COMBINATION...] [--help]

Builds the modules with W=1 against Debian's kernel headers.  A combination is
SERIES-ARCH-COMPILER of 6.1, 6.12, 7.2; amd64, arm64, armhf; gcc, clang, or the
beginning of one: 6.12 is all of that series, 7.2-arm64 both compilers.

  --all    all 18 (four minutes; the first time another six)
  --list   names the eight that are built when none is named

The sources are copied to build/matrix/COMBINATION, the log is beside that.  A
warning, an error or a missing .ko fails.  The result is printed in the KTAP
format, one line for each; the exit status is 0 only when every one passes.

The 6.x headers of amd64 are those installed below /usr/src, or are installed
by apt when this runs as root; those of arm64 and armhf come from
foreign_headers.sh, their compilers from Debian's gcc-*-linux-gnu*.  7.2 is
built in a chroot of Debian sid, made on first use by sid_headers.sh; building
in it needs root.
END
}

# target ARCH: what make is told about an architecture.
target() {
	case $1 in
	arm64) echo ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- ;;
	armhf) echo ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf- ;;
	esac
}

# compiler SERIES ARCH COMPILER: what it is told about the compiler, one a line.
# Debian 12's clang 14 wants to be asked twice for -ftrivial-auto-var-init=zero.
compiler() {
	case $2-$3 in
	*-clang) printf '%s\n' "${for_clang[@]}" ;;
	arm64-gcc) echo CC=aarch64-linux-gnu-gcc ;;
	armhf-gcc) echo CC=arm-linux-gnueabihf-gcc ;;
	esac
	[ "${1%.*}-$3" != 6-clang ] ||
		echo CONFIG_CC_HAS_AUTO_VAR_INIT_ZERO_ENABLER=y
}

# make must not take options or a jobserver from a make that called us.
host_make() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
		make -j2 W=1 -C "$2" M="$1" "${@:3}" modules
}

# The build runs in namespaces of its own, so that the mounts it needs, the
# module directory and /proc for objtool, end with it.
sid_make() {
	# shellcheck disable=SC2016 # expanded by the inner shells
	unshare --mount --pid --fork --kill-child sh -euc '
		root=$1
		mount --bind "$2" "$root/mnt"
		shift 2
		exec env -i LC_ALL=C \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			chroot "$root" /bin/sh -euc "
				mount -t proc proc /proc
				exec make -j2 W=1 M=/mnt -C \"\$@\" modules" sh "$@"
	' sh "$sid_root" "$@"
}

# host_tools ARCH COMPILER: make sure of the compiler.
host_tools() {
	local cross
	[ "$2" = gcc ] || need_command clang clang
	cross=$(target "$1" | sed -n 's/.*CROSS_COMPILE=\(.*\)-$/\1/p')
	[ -z "$cross" ] || command -v "$cross-gcc" >/dev/null ||
		apt_install "gcc-$cross"
}

# find_headers SERIES ARCH COMPILER: sets headers and version.
find_headers() {
	local release chroot='' cross=()
	if [[ $1 == 7.* ]]; then
		chroot=$sid_root
		[ "$2-$3" = amd64-gcc ] || cross=(--cross)
		is_root || { reason="the sid chroot needs root" && return 1; }
		release=$("$ci/sid_headers.sh" "${cross[@]}") || return 1
		headers=/usr/src/linux-headers-$release
	else
		headers=$(host_headers "$1") && host_tools "$2" "$3" || return 1
	fi
	if [ "$2" != amd64 ]; then
		headers=$("$ci/foreign_headers.sh" "$1" "$2") || return 1
	fi
	version=$(kernel_version "$chroot$headers")
}

# build SERIES ARCH COMPILER
build() {
	local dir=$matrix/$1-$2-$3 how=host_make words=()
	reason="no headers or compiler (see the messages above)"
	find_headers "$@" || return 1
	[[ $1 != 7.* ]] || how=sid_make
	read -ra words <<<"$(target "$2")"
	mapfile -t -O "${#words[@]}" words < <(compiler "$@")
	stage_sources "$dir"
	stage_qdisc "$dir"
	reason="make failed"
	"$how" "$dir" "$headers" "${words[@]}" >"$dir.log" 2>&1 || return 1
	reason=
	check_output "$1-$2-$3"
}

# Warnings and errors of a log that are not harmless.
complaints() {
	grep -iE '(warning|error):' "$1" | grep -vE "$harmless"
}

# check_output COMBINATION: whether a build that make finished is good.
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

# explain COMBINATION: what a reader needs of the log of a failed build.
explain() {
	local log=$matrix/$1.log
	echo "# $1: $reason"
	[ -f "$log" ] || return 0
	{ complaints "$log" | head -n 20 || true; } | sed 's/^/# /'
	echo "# last lines of ${log#"$HETCC_TOP"/}:"
	tail -n 15 "$log" | sed 's/^/#   /'
}

# report NUMBER COMBINATION: build one and print its result.
report() {
	local verdict="not ok" series=${2%%-*} words=()
	headers='' version='' reason=''
	rm -f -- "$matrix/$2.log"
	IFS=- read -ra words <<<"$2"
	note "$2"
	if build "${words[@]}"; then
		verdict="ok"
	fi
	case $version in
	"" | "$series".*) ;;
	*) version="$version, in place of $series" ;;
	esac
	echo "$verdict $1 - $2${version:+ ($version, ${headers##*/})}"
	[ "$verdict" = ok ] && return 0
	explain "$2"
	return 1
}

# matching BEGINNING: the combinations that begin so.
matching() {
	printf '%s\n' "${all[@]}" | grep -E "^${1//./\\.}(-|\$)"
}

main() {
	local chosen=() argument number=0 failed=0 found
	for argument in "$@"; do
		case $argument in
		--help | -h) usage && exit 0 ;;
		--list) printf '%s\n' "${few[@]}" && exit 0 ;;
		--all) chosen=("${all[@]}") ;;
		*)
			found=$(matching "$argument") ||
				{ usage >&2 && die "no such combination: $argument"; }
			mapfile -t -O "${#chosen[@]}" chosen <<<"$found"
			;;
		esac
	done
	[ ${#chosen[@]} -gt 0 ] || chosen=("${few[@]}")
	need_command make make
	make_build_dir "$matrix"
	echo "KTAP version 1"
	echo "1..${#chosen[@]}"
	for argument in "${chosen[@]}"; do
		number=$((number + 1))
		report "$number" "$argument" || failed=$((failed + 1))
	done
	echo "# Totals: pass:$((number - failed)) fail:$failed"
	[ "$failed" -eq 0 ]
}

main "$@"
