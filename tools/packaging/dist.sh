#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Make the release tarball in build/dist.

set -euo pipefail

# shellcheck source=tools/packaging/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

readonly dist=$HETCC_BUILD/dist

usage() {
	cat <<'END'
usage: tools/packaging/dist.sh [--help]

Makes build/dist/hetcc-VERSION.tar.xz and SHA256SUMS from the last commit: the
same commit gives the same bytes.
END
}

main() {
	local version name
	case $#:${1:-} in
	0:) ;;
	1:--help | 1:-h) usage && exit 0 ;;
	*) usage >&2 && die "unknown argument: $1" ;;
	esac
	need_command git git
	need_command xz xz-utils
	cd -- "$HETCC_TOP"
	[ -e .git ] || die "a release is made from a git tree, and this is none"
	git diff-index --quiet HEAD -- || note "changes that are not committed are left out"
	version=$(hetcc_version)
	name=hetcc-$version
	rm -rf -- "$dist"
	make_build_dir "$dist"
	git -c tar.umask=0022 archive --format=tar --prefix="$name/" HEAD |
		xz -6 --threads=1 >"$dist/$name.tar.xz"
	(cd -- "$dist" && sha256sum "$name.tar.xz" >SHA256SUMS)
	echo "$dist/$name.tar.xz"
}

main "$@"
