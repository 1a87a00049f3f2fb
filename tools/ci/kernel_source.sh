#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's source of a kernel series.

set -euo pipefail

# shellcheck source=tools/ci/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tools/ci/apt.sh
. "$HETCC_TOP/tools/ci/apt.sh"

readonly cache=$HETCC_BUILD/sources

usage() {
	cat <<'END'
usage: tools/ci/kernel_source.sh 6.1|6.12|7.2 [--help]

Prints the name of linux-source-SERIES.tar.xz.  6.12 is the installed Debian
package's; 6.1 and 7.2, of Debian 12 and sid, are downloaded on first use
(140 and 165 MB) into build/sources, with apt lists of their own.
END
}

# fetch SERIES SUITE...
fetch() {
	local own=$cache/apt-$1 deb
	private_apt "$own" "$(dpkg --print-architecture)" "${@:2}" ||
		note "going on without the lists that are missing"
	note "fetching linux-source-$1"
	deb=$(fetch_deb "$own" "linux-source-$1") ||
		die "cannot fetch linux-source-$1 (see above)"
	dpkg-deb --fsys-tarfile "$deb" |
		tar -x -C "$cache" --transform='s,.*/,,' --wildcards \
			"*/linux-source-$1.tar.xz"
	rm -rf -- "$own"
}

main() {
	local tarball=$cache/linux-source-${1:-}.tar.xz suites
	case ${1:-} in
	--help | -h) usage && exit 0 ;;
	6.12) tarball=/usr/src/linux-source-6.12.tar.xz ;;
	6.1) suites=(bookworm bookworm-security) ;;
	7.2) suites=(sid) ;;
	*) usage >&2 && die "no such series: ${1:-none named}" ;;
	esac
	make_build_dir "$cache"
	exec 9>"$cache/.lock"
	flock 9
	if [ ! -f "$tarball" ]; then
		case $1 in
		6.12) apt_install linux-source-6.12 ;;
		*) fetch "$1" "${suites[@]}" ;;
		esac
	fi
	printf '%s\n' "$tarball"
}

main "$@"
