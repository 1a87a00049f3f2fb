# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Packages of other Debian suites and architectures, fetched without a change
# to the configuration of this machine's apt.  Sourced after common.sh.

# configured_archive LABEL: the address of an archive of Debian (label Debian
# or Debian-Security) in the configuration of apt.
configured_archive() {
	# shellcheck disable=SC2016 # these are fields for apt, not for the shell
	apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' |
		sed -n "s/^Debian|$1|//p" | sort -u | head -n 1
}

# find_mirror: the address of Debian's archive.
find_mirror() {
	local mirror=${HETCC_DEBIAN_MIRROR:-}
	[ -n "$mirror" ] || mirror=$(configured_archive Debian)
	if [ -z "$mirror" ]; then
		note "apt knows no Debian archive yet; refreshing its lists"
		apt-get -q update >&2 || note "apt-get update failed"
		mirror=$(configured_archive Debian)
	fi
	[ -n "$mirror" ] ||
		die "apt has no Debian archive configured; set HETCC_DEBIAN_MIRROR"
	printf '%s\n' "$mirror"
}

# apt_sources ARCH SUITE...: lines for sources.list; src:SUITE is its sources.
apt_sources() {
	local arch=$1 mirror security suite type
	mirror=$(find_mirror)
	security=$(configured_archive Debian-Security)
	for suite in "${@:2}"; do
		type="deb [arch=$arch target=Packages]"
		[ "${suite#src:}" = "$suite" ] || type="deb-src [target=Sources]"
		suite=${suite#src:}
		case $suite in
		*-security) [ -z "$security" ] || echo "$type $security $suite main" ;;
		*) echo "$type $mirror $suite main" ;;
		esac
	done
}

# private_apt DIRECTORY ARCH SUITE...: a configuration with lists, cache and
# sources of its own, and fresh lists.  Read last, it wins over the
# configuration of the machine.  Non-zero when a list is missing; the others
# can be used.
private_apt() {
	local dir=$1 arch=$2
	make_build_dir "$dir/state/lists/partial" "$dir/cache/archives/partial"
	: >"$dir/status"
	apt_sources "${@:2}" >"$dir/sources.list"
	cat >"$dir/apt.conf" <<END
APT::Architecture "$arch";
#clear APT::Architectures;
APT::Architectures { "$arch"; };
Dir::State "$dir/state";
Dir::State::status "$dir/status";
Dir::Cache "$dir/cache";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
	apt-get -q -c "$dir/apt.conf" update >&2
}

# newest_package DIRECTORY REGEX: the newest package whose whole name matches.
newest_package() {
	apt-cache -c "$1/apt.conf" pkgnames linux- |
		grep -xE -- "$2" | sort -V | tail -n 1
}

# fetch_deb DIRECTORY PACKAGE: download a package into DIRECTORY/cache, its
# hash checked; prints the file's name.
fetch_deb() {
	local found
	(cd "$1/cache" && apt-get -q -c "$1/apt.conf" download "$2" >&2) ||
		return 1
	found=("$1/cache/$2"_*.deb)
	[ -f "${found[0]}" ] && printf '%s\n' "${found[0]}"
}
