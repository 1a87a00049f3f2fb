#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Check the kernel code with the kernel's own checkpatch.pl --strict.

set -euo pipefail

# shellcheck source=tools/ci/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

readonly tarball=/usr/src/linux-source-6.12.tar.xz
readonly scripts=$HETCC_BUILD/checkpatch

usage() {
	cat <<'END'
usage: tools/ci/checkpatch.sh [--help]

Runs scripts/checkpatch.pl --strict of Linux 6.12 on tcp_*.c, include/hetcc/*.h,
tools/qdisc/*.[ch], tests/modules/bad_module/*.c, and on each patch of
santacruz_opt.patch; any ERROR, WARNING or
CHECK fails.  The script is taken from Debian's linux-source-6.12 package, once,
into build/checkpatch.
END
}

extract_scripts() {
	local part name=linux-source-6.12/scripts
	[ -f "$scripts/checkpatch.pl" ] && return 0
	[ -f "$tarball" ] || apt_install linux-source-6.12 ||
		die "$tarball is missing"
	make_build_dir
	part=$(mktemp -d "$HETCC_BUILD/.checkpatch.XXXXXX")
	note "extracting checkpatch.pl from ${tarball##*/}"
	if ! tar -xf "$tarball" -C "$part" --strip-components=2 --occurrence=1 \
		"$name/checkpatch.pl" "$name/spelling.txt" \
		"$name/const_structs.checkpatch"; then
		rm -rf -- "$part"
		die "${tarball##*/} gave no checkpatch.pl"
	fi
	rm -rf -- "$scripts"
	mv -- "$part" "$scripts"
}

# check FILE...: -f reads whole files, which leaves out what checkpatch.pl has to
# say about patches only. MACRO_ARG_REUSE: the one macro of ours that repeats an
# argument (CC_PARAM) declares a variable and names things after it. CAMELCASE:
# struct Qdisc, which it knows in a kernel's tree only.
check() {
	perl "$scripts/checkpatch.pl" --no-tree --strict --quiet --color=never \
		--show-types --no-summary --ignore MACRO_ARG_REUSE,CAMELCASE -f "$@"
}

# The kernel patches, each as its reviewers would check it. By standard input: a
# file that git knows is taken for source.
check_patch() {
	local mails mail bad=0
	mails=$(mktemp -d "$HETCC_BUILD/.mails.XXXXXX")
	git mailsplit -o"$mails" "$1" >/dev/null || die "$1 is not a mailbox"
	for mail in "$mails"/*; do
		perl "$scripts/checkpatch.pl" --no-tree --strict --quiet --color=never \
			--show-types --no-summary - <"$mail" || bad=1
	done
	rm -rf -- "$mails"
	return "$bad"
}

main() {
	local files
	case ${1:-} in
	--help | -h) usage && exit 0 ;;
	'') ;;
	*) usage >&2 && die "unknown argument: $1" ;;
	esac
	cd -- "$HETCC_TOP"
	need_command perl perl
	shopt -s nullglob
	mapfile -t files < <(module_sources .)
	[ ${#files[@]} -gt 0 ] || die "no tcp_*.c in the top directory"
	files+=(include/hetcc/*.h tests/modules/bad_module/*.c tools/qdisc/*.[ch])
	extract_scripts
	check "${files[@]}" || die "checkpatch.pl --strict found the faults above"
	check_patch santacruz_opt.patch ||
		die "checkpatch.pl --strict found the faults above"
	echo "checkpatch: no complaint about ${#files[@]} files and the kernel patches"
}

main "$@"
