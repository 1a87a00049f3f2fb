#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Make the Python wheel of the hetlab command in build/wheel.

set -euo pipefail

# shellcheck source=tools/packaging/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

readonly made=$HETCC_BUILD/wheel

usage() {
	cat <<'END'
usage: tools/packaging/wheel.sh [--help]

Makes build/wheel/hetlab-VERSION-py3-none-any.whl from the tracked files of
tools/lab: the same files give the same bytes.  It is the hetlab command for
hosts without a checkout, which "hetlab kernel --pack FILE" gives a lab.
Needs the environment build/venv (make setup).
END
}

# setuptools writes beside its sources, so it gets a copy
main() {
	case $#:${1:-} in
	0:) ;;
	1:--help | 1:-h) usage && exit 0 ;;
	*) usage >&2 && die "unknown argument: $1" ;;
	esac
	need_command git git
	cd -- "$HETCC_TOP"
	rm -rf -- "$made"
	make_build_dir "$made/source"
	git ls-files -z -- pyproject.toml tools/lab | tar -c --null --mode=u=rwX,go=rX -T - | tar -x -p -C "$made/source"
	(umask 022 && cd -- "$made/source" &&
		SOURCE_DATE_EPOCH=1735689600 "$HETCC_BUILD/venv/bin/python" -m pip -q --disable-pip-version-check wheel \
			--no-deps --no-build-isolation --no-index -w "$made" .)
	rm -rf -- "$made/source"
	echo "$made"/*.whl
}

main "$@"
