#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# What Debian changes of Linux 6.12.

set -euo pipefail

# shellcheck source=tools/ci/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tools/ci/apt.sh
. "$HETCC_TOP/tools/ci/apt.sh"

# The newest one of which Debian's mirrors have this part (2026-11-26)
readonly version=6.12.111-1
readonly sha256=e0146c63a70014f23141fe3e4e830e8a5b2627427d449f3e5415d930016be297
readonly cache=$HETCC_BUILD/sources

usage() {
	cat <<END
usage: tools/ci/debian_patches.sh [--help]

Prints the directory of Debian's patches to Linux $version, in which "series"
names them.  They are downloaded on first use (2 MB) into build/sources, with
apt lists of their own.
END
}

# fetch DIRECTORY
fetch() {
	local own=$cache/apt-src tarball
	private_apt "$own" "$(dpkg --print-architecture)" src:trixie-security ||
		note "going on without the lists that are missing"
	tarball=$own/cache/linux_$version.debian.tar.xz
	(cd "$own/cache" && apt-get -q -c "$own/apt.conf" source \
		--download-only --diff-only "linux=$version" >&2) ||
		die "cannot fetch Debian's patches to Linux $version (see above)"
	echo "$sha256  $tarball" | sha256sum --quiet -c >&2 ||
		die "$tarball is not what was looked at"
	rm -rf -- "$1.new"
	mkdir -- "$1.new"
	tar -x -f "$tarball" -C "$1.new" --strip-components=2 debian/patches
	mv -- "$1.new" "$1"
	rm -rf -- "$own"
}

main() {
	local patches=$cache/debian-patches-$version
	case ${1:-} in
	--help | -h) usage && exit 0 ;;
	'') ;;
	*) usage >&2 && die "unknown argument: $1" ;;
	esac
	make_build_dir "$cache"
	exec 9>"$cache/.lock"
	flock 9
	[ -d "$patches" ] || fetch "$patches"
	printf '%s\n' "$patches"
}

main "$@"
