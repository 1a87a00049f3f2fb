#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Make build/sid-root: Debian sid with the newest 7.2 kernel headers.

set -euo pipefail

# shellcheck source=tools/ci/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tools/ci/apt.sh
. "$HETCC_TOP/tools/ci/apt.sh"

readonly wanted=7.2
readonly sid_root=$HETCC_BUILD/sid-root
readonly stamp=hetcc-kernel-release
readonly cross_stamp=hetcc-cross-compilers
work=
child=

usage() {
	cat <<'END'
usage: tools/ci/sid_headers.sh [--refresh] [--cross] [--help]

Makes build/sid-root, a minimal chroot of Debian sid with the newest
linux-headers-7.2.*-amd64, gcc and make, in which out-of-tree modules can be
built for kernel 7.2.  An existing one is kept; --refresh makes it anew.
When sid no longer has a 7.2 kernel, the newest 7.x is taken, with a warning.
With --cross it also gets clang and the compilers for arm64 and armhf (another
700 MB).

Prints the kernel release of the headers (such as 7.2.1+deb14-amd64) on
standard output and everything else on standard error.  Needs root, unless
the chroot is there already.  The mirror is the one that apt on this machine
uses; the environment variable HETCC_DEBIAN_MIRROR names another one.
END
}

# The kernel release that a finished chroot holds; fails when there is none.
cached_release() {
	local release
	[ -f "$sid_root/$stamp" ] || return 1
	release=$(cat "$sid_root/$stamp")
	[ -f "$sid_root/usr/src/linux-headers-$release/Makefile" ] || return 1
	[[ $release == "$wanted".* ]] ||
		note "WARNING: build/sid-root has $release, not a $wanted kernel"
	printf '%s\n' "$release"
}

# newest_release SERIES: the newest release of a series among names on stdin.
newest_release() {
	grep -E "^linux-headers-$1\.[0-9]+[^-]*(-[0-9]+)?-amd64\$" |
		sed 's/^linux-headers-//' | sort -V | tail -n 1
}

# The release to install, from the package lists of sid.
find_release() {
	local names release
	names=$(apt-cache -c "$work/apt/apt.conf" pkgnames linux-headers-7.)
	release=$(newest_release "${wanted/./\\.}" <<<"$names" || true)
	if [ -z "$release" ]; then
		release=$(newest_release '7\.[0-9]+' <<<"$names" || true)
		[ -n "$release" ] || die "sid has no linux-headers-7.*-amd64"
		note "******************************************************"
		note "WARNING: sid has no kernel $wanted any more."
		note "WARNING: taking $release in its place."
		note "******************************************************"
	fi
	printf '%s\n' "$release"
}

# All processes and mounts of the installation live in namespaces that end
# with it, so that an interrupted run leaves neither behind.
run_mmdebstrap() {
	local release=$1 mirror=$2
	mkdir -m 1777 "$work/tmp"
	unshare --mount --pid --fork --mount-proc --kill-child \
		env TMPDIR="$work/tmp" \
		mmdebstrap --mode=root --variant=minbase --architectures=amd64 \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='Acquire::Retries "3"' \
		--include="linux-headers-$release,gcc,make" \
		sid "$work/root" "$mirror" >&2 &
	child=$!
	wait "$child" || die "mmdebstrap could not make the sid chroot"
	child=
}

clean_up() {
	if [ -n "$child" ]; then
		kill -KILL "$child" 2>/dev/null || true
		wait "$child" 2>/dev/null || true
	fi
	[ -z "$work" ] || rm -rf --one-file-system -- "$work"
}

# One run at a time; what a killed run left behind is removed.
take_lock() {
	make_build_dir
	exec 9>"$HETCC_BUILD/.sid-root.lock"
	if ! flock -n 9; then
		note "another run is making the chroot; waiting for it"
		flock 9
	fi
	rm -rf --one-file-system -- "$HETCC_BUILD"/.sid-work.*
}

make_chroot() {
	local mirror release
	command -v mmdebstrap >/dev/null || apt_install mmdebstrap ||
		die "mmdebstrap is missing and could not be installed"
	work=$(mktemp -d "$HETCC_BUILD/.sid-work.XXXXXX")
	chmod 755 "$work"
	mirror=$(find_mirror)
	private_apt "$work/apt" amd64 sid ||
		die "the package lists of Debian sid cannot be fetched (see above)"
	release=$(find_release)
	note "installing linux-headers-$release from sid; takes minutes"
	run_mmdebstrap "$release" "$mirror"
	[ -f "$work/root/usr/src/linux-headers-$release/Makefile" ] ||
		die "the chroot came without linux-headers-$release"
	printf '%s\n' "$release" >"$work/root/$stamp"
	[ ! -e "$sid_root" ] || mv -- "$sid_root" "$work/old"
	mv -- "$work/root" "$sid_root"
}

# The compilers go into the chroot that is there; its apt needs the name
# service of this machine for a while.
install_cross() {
	[ ! -f "$sid_root/$cross_stamp" ] || return 0
	is_root || die "installing the cross compilers needs root"
	note "installing cross compilers and clang in the sid chroot"
	cp -L /etc/resolv.conf /etc/hosts "$sid_root/etc/"
	# shellcheck disable=SC2016 # expanded by the inner shells
	unshare --mount --pid --fork --kill-child env -i LC_ALL=C \
		DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		chroot "$sid_root" sh -euc '
			mount -t proc proc /proc
			apt="apt-get -q -y -o Acquire::Check-Valid-Until=false"
			$apt update
			$apt install --no-install-recommends clang \
				gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf
			apt-get clean' >&2 ||
		die "the sid chroot got no cross compilers (see above)"
	touch "$sid_root/$cross_stamp"
}

main() {
	local refresh=false cross=false argument
	for argument in "$@"; do
		case $argument in
		--help | -h) usage && exit 0 ;;
		--refresh) refresh=true ;;
		--cross) cross=true ;;
		*) usage >&2 && die "unknown argument: $argument" ;;
		esac
	done
	trap clean_up EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	if $refresh || ! cached_release >/dev/null; then
		is_root ||
			die "making the sid chroot needs root; run it once as root"
		take_lock
		if $refresh || ! cached_release >/dev/null 2>&1; then
			make_chroot
		fi
	fi
	if $cross; then
		take_lock
		install_cross
	fi
	cached_release
}

main "$@"
