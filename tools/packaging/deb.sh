#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the Debian package in build/deb.

set -euo pipefail

# shellcheck source=tools/packaging/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

readonly deb=$HETCC_BUILD/deb

usage() {
	cat <<'END'
usage: tools/packaging/deb.sh [--help]

Makes build/deb/hetcc-dkms_VERSION_all.deb: the modules' sources for DKMS and
the hetcc command.  Needs debhelper and dh-dkms, neither root nor git nor a
network.
END
}

# The modules' pages and the figures that they show or link to.
stage_pages() {
	local figures page pages=()
	for page in modules santacruz westwood_fr hybla_ext; do
		pages+=("$HETCC_TOP/docs/$page.md")
	done
	cp -p -- "${pages[@]}" "$1/"
	mkdir -- "$1/figures"
	mapfile -t figures < <(grep -oh '(figures/[^)#]*' -- "${pages[@]}" | tr -d '(' | sort -u)
	(cd -- "$HETCC_TOP/docs" && cp -p -- "${figures[@]}" "$1/figures/")
}

stage() {
	stage_sources "$1"
	cp -rp -- "$HETCC_TOP"/{dkms.conf,README,docs/install.md,docs/hetcc.8} "$1/"
	stage_pages "$1"
	"$HETCC_TOP/tools/packaging/hetcc_file.py" "$1/hetcc"
	cp -rp -- "$HETCC_TOP"/tools/packaging/{debian,modules-load.d,sysctl.d} "$1/"
	chmod -R u=rwX,go=rX -- "$1"
}

main() {
	local version log=$deb/build.log
	case $#:${1:-} in
	0:) ;;
	1:--help | 1:-h) usage && exit 0 ;;
	*) usage >&2 && die "unknown argument: $1" ;;
	esac
	need_command python3 python3
	need_command dpkg-buildpackage dpkg-dev
	need_command dh debhelper
	need_command dh_dkms dh-dkms
	version=$(hetcc_version)
	rm -rf -- "$deb"
	stage "$deb/hetcc-$version"
	cd -- "$deb/hetcc-$version"
	if ! env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dpkg-buildpackage -b -us -uc >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		die "dpkg-buildpackage failed; all of it is in $log"
	fi
	echo "$deb/hetcc-dkms_${version}_all.deb"
}

main "$@"
