#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Install the modules by DKMS, and remove them without a trace.

set -euo pipefail

# shellcheck source=tools/packaging/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# The kernel's build must not take a calling make's options or jobserver.
unset MAKEFLAGS MFLAGS MAKELEVEL

readonly command=/usr/sbin/hetcc
readonly manual=/usr/share/man/man8/hetcc.8
readonly at_boot=/usr/lib/modules-load.d/hetcc.conf

usage() {
	cat <<'END'
usage: tools/packaging/dkms.sh install | uninstall | --help

install    puts the modules' sources into /usr/src and lets DKMS build and
           install them for the running kernel, or for KVER (environment), for
           those that had them, and for each that comes later; also the hetcc command, its manual
           page and /usr/lib/modules-load.d/hetcc.conf.  Selects nothing.
uninstall  takes the modules out of the kernel and removes all of this, for
           all kernels; refuses, and says who, while anybody uses a module.
Both need root.
END
}

# The package owns the same files.
refuse_beside_package() {
	local state
	state=$(dpkg-query -W -f '${db:Status-Status}' hetcc-dkms 2>/dev/null) || return 0
	case $state in
	not-installed | config-files) ;;
	*) die "the package hetcc-dkms is installed: apt-get remove hetcc-dkms" ;;
	esac
}

# Take every version out of DKMS, from all kernels.
forget_versions() {
	local tree
	for tree in /var/lib/dkms/hetcc/*/; do
		[ -d "$tree" ] || continue
		tree=${tree%/}
		dkms remove "hetcc/${tree##*/}" --all
	done
	rm -rf -- /usr/src/hetcc-[0-9]* /var/lib/dkms/hetcc
}

# Kernels that have it, and still have headers.
kernels_so_far() {
	local built kernel
	for built in /var/lib/dkms/hetcc/*/*/*/module; do
		kernel=$(basename -- "$(dirname -- "$(dirname -- "$built")")")
		[ ! -d "/lib/modules/$kernel/build/include" ] || echo "$kernel"
	done
}

put_sources() {
	local dir=/usr/src/hetcc-$1
	stage_sources "$dir"
	cp -- "$HETCC_TOP/dkms.conf" "$dir/"
	chown -R root:root -- "$dir"
	chmod -R u=rwX,go=rX -- "$dir"
}

install_all() {
	local kernel=${KVER:-$(uname -r)} kernels version
	version=$(hetcc_version)
	[ -d "/lib/modules/$kernel/build/include" ] ||
		die "no headers for kernel $kernel: apt-get install linux-headers-$kernel (KVER=... names another kernel)"
	mapfile -t kernels < <({ kernels_so_far; echo "$kernel"; } | sort -u)
	forget_versions
	put_sources "$version"
	dkms add "hetcc/$version"
	for kernel in "${kernels[@]}"; do
		dkms install "hetcc/$version" -k "$kernel"
	done
	"$HETCC_TOP/tools/packaging/hetcc_file.py" "$command"
	install -D -m 644 "$HETCC_TOP/docs/hetcc.8" "$manual"
	install -D -m 644 "$HETCC_TOP/tools/packaging/modules-load.d/hetcc.conf" "$at_boot"
	note "hetcc $version is installed for ${kernels[*]}; see: hetcc status, man hetcc"
}

uninstall_all() {
	python3 -B "$HETCC_TOP/tools/hetcc" unload --for-removal ||
		die "nothing was removed"
	forget_versions
	rm -f -- "$command" "$manual" "$at_boot"
	note "hetcc is removed"
}

main() {
	case $#:${1:-} in
	1:--help | 1:-h) usage && exit 0 ;;
	1:install | 1:uninstall) ;;
	*) usage >&2 && die "wanted is install or uninstall" ;;
	esac
	is_root || die "$1 needs root"
	need_command dkms dkms
	need_command python3 python3
	refuse_beside_package
	"${1}_all"
}

main "$@"
