#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's kernel headers of another architecture, to compile against here.

set -euo pipefail

# shellcheck source=tools/ci/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tools/ci/apt.sh
. "$HETCC_TOP/tools/ci/apt.sh"

usage() {
	cat <<'END'
usage: tools/ci/foreign_headers.sh 6.1|6.12|7.2 arm64|armhf [--help]

Prints the directory with Debian's newest kernel headers of the series for
the architecture, fetched on first use with apt lists of their own into
build/headers; remove that directory to get newer ones.  Those of 7.2 go into
the sid chroot (sid_headers.sh), and the directory is as seen from inside.
The programs that run during a build are those of amd64.
END
}

# 6.12 of bookworm is in its security archive and in backports, of which a
# mirror may have one only.  Not trixie's: it wants the options of gcc 14.
suites() {
	case $1 in
	6.1) echo bookworm bookworm-security ;;
	6.12) echo bookworm-security bookworm-backports ;;
	*) echo sid ;;
	esac
}

# The name of Debian's plain kernel for an architecture.
flavour() {
	case $1 in
	armhf) echo armmp ;;
	*) echo "$1" ;;
	esac
}

# newest_kbuild SERIES: the directory of those programs, without $chroot.
newest_kbuild() {
	find "$chroot/usr/lib" -maxdepth 1 -type d \
		\( -name "linux-kbuild-$1" -o -name "linux-kbuild-$1.*" \) \
		-printf '/usr/lib/%f\n' | sort -V | tail -n 1
}

# cached: the finished headers; fails when there are none, or when what they
# share with those of amd64 has gone.
cached() {
	local name makefile
	name=$(cat "$stamp" 2>/dev/null) || return 1
	makefile=$root/usr/src/$name/Makefile
	[ -f "$chroot$(sed -n 's/^include //p' "$makefile")" ] || return 1
	[ -n "$chroot" ] || [ -d "${makefile%/*}/scripts/." ] || return 1
	printf '%s\n' "${root#"$chroot"}/usr/src/$name"
}

# unpack APT-DIRECTORY PACKAGE
unpack() {
	local deb
	deb=$(fetch_deb "$1" "$2") || die "cannot fetch $2 (see above)"
	dpkg -x "$deb" "$root"
	rm -f -- "$deb"
}

# link_kbuild SERIES NAME...: the headers look for it beside themselves.
link_kbuild() {
	local kbuild link
	kbuild=$(newest_kbuild "$1")
	[ -n "$kbuild" ] || die "no linux-kbuild-$1 in ${chroot:-/}usr/lib"
	link=$(readlink "$root/usr/src/$2/scripts")
	link=$root/usr/lib/$(basename "$(dirname "$link")")
	make_build_dir "$root/usr/lib"
	[ -e "$link" ] || ln -sfn "$kbuild" "$link"
}

# fetch SERIES ARCH
fetch() {
	local own=$HETCC_BUILD/headers/apt-$1-$2 name common lists
	read -ra lists <<<"$(suites "$1")"
	private_apt "$own" "$2" "${lists[@]}" ||
		note "going on without the lists that are missing"
	name=$(newest_package "$own" \
		"linux-headers-${1/./\\.}\.[0-9]+[^-]*(-[0-9]+)?-$(flavour "$2")") ||
		die "${lists[*]}: no linux-headers-$1.*-$(flavour "$2")"
	common=${name%-*}-common
	note "fetching $name"
	[ -n "$chroot" ] || rm -rf -- "${root:?}/usr"
	unpack "$own" "$name"
	link_kbuild "$1" "$name"
	if [ ! -d "$chroot/usr/src/$common" ]; then
		unpack "$own" "$common"
		sed -i "s|/usr/src/|${root#"$chroot"}/usr/src/|" \
			"$root/usr/src/$name/Makefile"
	fi
	rm -rf -- "$own"
	echo "$name" >"$stamp"
}

main() {
	case ${1:-}-${2:-} in
	--help- | -h-) usage && exit 0 ;;
	6.1-arm64 | 6.1-armhf | 6.12-arm64 | 6.12-armhf)
		chroot=
		root=$HETCC_BUILD/headers/$1-$2
		;;
	7.2-arm64 | 7.2-armhf)
		chroot=$HETCC_BUILD/sid-root
		root=$chroot
		;;
	*) usage >&2 && die "no such headers: ${*:-none named}" ;;
	esac
	stamp=$root/hetcc-headers-$1-$2
	make_build_dir "$root" "$HETCC_BUILD/headers"
	exec 9>"$HETCC_BUILD/headers/.lock-$1-$2"
	flock 9
	cached || { fetch "$@" && cached; }
}

main "$@"
