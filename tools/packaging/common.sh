# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Helpers shared by the scripts of this directory.  Sourced, never run.

# shellcheck source=tools/ci/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../ci/common.sh"

# shellcheck disable=SC2034 # of those that read this
readonly version_h=include/hetcc/version.h

# hetcc_version: the version of modules and packages, from a version.h on
# standard input.
hetcc_version() {
	sed -n 's/^#define HETCC_VERSION[[:space:]]*"\(.*\)"$/\1/p'
}
