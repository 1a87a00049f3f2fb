# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Helpers shared by the scripts of this directory.  Sourced, never run.

# The top of the source tree, whatever directory the caller stands in.
HETCC_TOP=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
export HETCC_TOP

# Every generated file lives below this directory.
HETCC_BUILD=$(realpath -m -- "${HETCC_BUILD:-$HETCC_TOP/build}")
export HETCC_BUILD

# Messages of compilers and of apt are matched against English patterns.
export LC_ALL=C

# note TEXT...: progress for the reader, kept off standard output.
note() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# die TEXT...: name what is wrong and stop.
die() {
	note "error: $*"
	exit 1
}

case $HETCC_TOP in
*[[:space:]]*) die "the path \"$HETCC_TOP\" has a blank, at which the kernel's build splits it: choose one without" ;;
esac

is_root() {
	[ "$(id -u)" -eq 0 ]
}

# make_build_dir DIRECTORY...: make directories below build/, and build/ itself
# such that git ignores it whatever the rest of the configuration says.
make_build_dir() {
	mkdir -p -- "$HETCC_BUILD" "$@" 2>/dev/null ||
		die "cannot write to $HETCC_BUILD; set HETCC_BUILD=DIR, a directory of your own"
	[ -f "$HETCC_BUILD/.gitignore" ] ||
		printf '*\n' >"$HETCC_BUILD/.gitignore"
}

# need_command COMMAND PACKAGE: stop when a tool is not installed.
need_command() {
	command -v "$1" >/dev/null ||
		die "$1 is not installed; the Debian package is $2"
}

# apt_install PACKAGE...: install Debian packages, refreshing stale lists once.
# Returns non-zero, with a message, when that cannot be done.
apt_install() {
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
	if ! is_root; then
		note "cannot install $*: not root; run: apt-get install $*"
		return 1
	fi
	note "installing $*"
	"${apt[@]}" install --no-install-recommends "$@" >&2 && return 0
	note "first attempt failed; refreshing the package lists"
	"${apt[@]}" update >&2 &&
		"${apt[@]}" install --no-install-recommends "$@" >&2 && return 0
	note "apt-get could not install $*"
	return 1
}

# newest_headers SERIES: the newest installed header directory of a kernel
# series (6.1, 6.12); the cloud and realtime flavours are no candidates.
newest_headers() {
	local dir found=()
	for dir in /usr/src/linux-headers-"$1".*-amd64; do
		case $dir in
		*-cloud-amd64 | *-rt-amd64) continue ;;
		esac
		[ -f "$dir/Makefile" ] && found+=("$dir")
	done
	[ ${#found[@]} -gt 0 ] || return 1
	printf '%s\n' "${found[@]}" | sort -V | tail -n 1
}

# headers_package SERIES: the Debian package that pulls in those headers.
headers_package() {
	case $1 in
	6.1) echo linux-headers-amd64 ;;
	*) echo "linux-headers-$1-amd64" ;;
	esac
}

# host_headers SERIES: like newest_headers, installing them when missing.
host_headers() {
	newest_headers "$1" && return 0
	apt_install "$(headers_package "$1")" || return 1
	newest_headers "$1" && return 0
	note "$(headers_package "$1") brought no headers of the $1 series"
	return 1
}

# kernel_version DIRECTORY: upstream version of a Debian header directory.
kernel_version() {
	sed -n 's/.*Debian \([0-9][0-9.]*\)-.*/\1/p' \
		"$1/include/generated/utsversion.h"
}

# module_sources DIRECTORY: the C files there that each make a module; what
# kbuild generates next to them (tcp_*.mod.c) does not.
module_sources() {
	local file
	for file in "$1"/tcp_*.c "$1"/sch_*.c; do
		case ${file##*/} in
		*.*.c) ;;
		*) [ ! -f "$file" ] || printf '%s\n' "$file" ;;
		esac
	done
}

# module_names DIRECTORY: the modules that the C files there must give.
module_names() {
	module_sources "$1" | sed 's|.*/||; s|\.c$||'
}

# stage_sources DIRECTORY: a fresh copy of all that a module build reads, so
# that no object file lands in the source tree and no stale one hides a
# warning.
stage_sources() {
	local sources
	mapfile -t sources < <(module_sources "$HETCC_TOP")
	[ -f "$HETCC_TOP/Kbuild" ] || die "no Kbuild in the top directory"
	[ ${#sources[@]} -gt 0 ] || die "no tcp_*.c in the top directory"
	rm -rf -- "$1"
	make_build_dir "$1"
	cp -p -- "$HETCC_TOP/Kbuild" "${sources[@]}" "$1/" ||
		die "cannot copy the sources to $1"
	[ ! -d "$HETCC_TOP/include" ] ||
		cp -rp -- "$HETCC_TOP/include" "$1/" ||
		die "cannot copy include/ to $1"
}

# stage_qdisc DIRECTORY: the qdisc of trace links beside them; it is the lab's,
# and not part of a package.
stage_qdisc() {
	local qdisc=$HETCC_TOP/tools/qdisc
	cp -p -- "$qdisc"/*.[ch] "$1/" || die "cannot copy $qdisc to $1"
	cat -- "$qdisc/Kbuild" >>"$1/Kbuild" || die "cannot write $1/Kbuild"
}
