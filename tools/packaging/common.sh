# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Helpers shared by the scripts of this directory.  Sourced, never run.

# shellcheck source=tools/ci/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../ci/common.sh"

# hetcc_version: the version of the modules, include/hetcc/version.h, if dkms.conf
# and Debian's changelog, which cannot read it there, say the same.
hetcc_version() {
	local version other
	version=$(sed -n 's/^#define HETCC_VERSION[[:space:]]*"\(.*\)"$/\1/p' "$HETCC_TOP/include/hetcc/version.h")
	other=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$HETCC_TOP/dkms.conf")
	[ "$other" = "$version" ] ||
		die "dkms.conf says $other, include/hetcc/version.h $version"
	other=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$HETCC_TOP/tools/packaging/debian/changelog")
	[ "$other" = "$version" ] ||
		die "tools/packaging/debian/changelog says $other, include/hetcc/version.h $version"
	echo "$version"
}
