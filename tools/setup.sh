#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Install what the project needs on Debian 12: system packages (as root) and a
# Python environment with pinned versions under build/venv. Nothing is done twice.
set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${HETCC_BUILD:-$TOP/build}
for path in "$TOP" "$BUILD"; do
	case $path in
	*[[:space:]]*)
		echo "setup: the path \"$path\" has a blank, at which the kernel's build splits it: choose one without" >&2
		exit 1
		;;
	esac
done
VENV_MB=610
# What quinn 0.11.12 needs, and the first Go that fetches a newer one by itself
RUST_MIN=1.85
GO_MIN=1.21
# The prover of the estimators' arithmetic: its version in Debian 13
CBMC=6.6.0-4
# Installs Python packages in a fifth of pip's time
UV=0.13.9
PACKAGES=(
	bc bison build-essential bridge-utils ethtool flex git iperf3 iproute2
	iputils-ping kmod libelf-dev libmnl-dev libpcap-dev libssl-dev
	linux-source-6.12 mininet net-tools patch procps python3 python3-venv
	tcpdump util-linux xz-utils
)
CHECK_PACKAGES=(
	chromium-headless-shell clang curl cvc5 debhelper dh-dkms dkms dpkg-dev
	gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf libwrap0
	linux-headers-6.12-amd64 linux-headers-amd64 mmdebstrap openssh-client
	shellcheck sparse strace tshark universal-ctags
)
VM_PACKAGES=(
	bpftool cpio dkms linux-headers-6.12-amd64 linux-headers-amd64
	qemu-system-x86
)
BENCH_PACKAGES=(g++ libns3-dev linux-perf ns2)
CLUSTER_PACKAGES=(crun mmdebstrap munge openssh-client openssh-server podman slurm-client slurmctld slurmd)

usage()
{
	cat <<-EOF
	usage: tools/setup.sh [--check] [--vm] [--quic] [--cluster] [--bench] [--room GB] [--help]
	  Installs Debian packages (needs root when one is missing) and makes the
	  Python environment build/venv ($VENV_MB MB).
	  --check   also what 'make check' needs (compilers, headers, linters)
	  --vm      also what machines under QEMU need ('hetlab run --on vm')
	  --cluster also what 'make check-cluster' needs: Slurm, sshd, podman, S3 in build/s3
	  --bench   also what 'make bench' needs: ns-3, ns-2, perf
	  --quic    also the QUIC stacks quic-go, quinn and aioquic, built to build/quic
	            (docs/quic.md): 3 minutes; needs Rust $RUST_MIN and Go $GO_MIN or later,
	            which fetches the Go that quic-go wants
	  --room GB stop unless build takes so much or has so much room to grow to (1..999)
	  HETCC_BUILD=DIR (an absolute path) in the environment: a directory to use
	  instead of build, here and by make and tools/hetlab; for those who share
	  a checkout that they may not write to.
	EOF
}

installed()
{
	dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'
}

install_packages()
{
	local missing=() p

	for p in "$@"; do
		installed "$p" || missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null; then
		echo "setup: this is not Debian; install by hand: ${missing[*]}" >&2
		return 1
	fi
	if [ "$(id -u)" != 0 ]; then
		echo "setup: these packages are missing, install them as root:" >&2
		echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
		return 1
	fi
	echo "setup: installing ${missing[*]}"
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
		install "${missing[@]}" >"$BUILD/apt.log" 2>&1 || {
		tail -n 20 "$BUILD/apt.log" >&2
		return 1
	}
}

# room_for GB: hours of work end badly on a full disk; what build takes already is there
room_for()
{
	local free_mb taken_mb

	free_mb=$(df -Pm "$BUILD" | awk 'NR == 2 { print $4 }')
	[ "$free_mb" -lt $(($1 * 1024)) ] || return 0
	taken_mb=$(du -sm "$BUILD" | cut -f 1)
	if [ $((free_mb + taken_mb)) -lt $(($1 * 1024)) ]; then
		echo "setup: this needs $1 GB in $BUILD, which takes $taken_mb MB and has $free_mb MB free" >&2
		return 1
	fi
}

# Tests have servers of their own: the packages would start theirs on this machine.
# unpack_deb NAME PACKAGE PROGRAM [OPTION...]: to $BUILD/NAME; options are apt-get's; of several packages all
unpack_deb()
{
	local dir=$BUILD/$1 package=$2 program=$3 packages deb
	shift 3

	[ ! -x "$dir/$program" ] || return 0
	echo "setup: unpacking $package"
	rm -rf "$dir"
	mkdir "$dir"
	read -ra packages <<<"$package"
	(cd "$dir" && apt-get -q "$@" download "${packages[@]}") >"$BUILD/${dir##*/}.log" 2>&1 || {
		cat "$BUILD/${dir##*/}.log" >&2
		return 1
	}
	for deb in "$dir"/*.deb; do
		dpkg-deb -x "$deb" "$dir"
	done
	rm -f "$dir"/*.deb
}

# unpack_from SUITE NAME PACKAGE PROGRAM: the same from another part of Debian's archive; apt's own lists stay as they are
unpack_from()
{
	local apt=$BUILD/$2.apt mirror options

	[ ! -x "$BUILD/$2/$4" ] || return 0
	# shellcheck disable=SC2016 # apt's own placeholders
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
	mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
	echo "deb ${mirror:?no mirror of Debian 12 in the sources of apt} $1" >"$apt/parts/$2.list"
	options=(
		-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts"
		-o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache"
	)
	apt-get "${options[@]}" -qq update || return 1
	unpack_deb "$2" "$3" "$4" "${options[@]}"
	rm -rf "$apt"
}

unpack_servers()
{
	unpack_deb sshd openssh-server usr/sbin/sshd
	unpack_deb nginx nginx usr/sbin/nginx
	# Its licence keeps it in the section non-free
	unpack_from 'bookworm non-free' netperf netperf usr/bin/netperf
}

# Debian 12 has none: Debian 13's, with its own C library beside it
unpack_prover()
{
	unpack_from 'trixie main' cbmc "cbmc=$CBMC libc6 libgcc-s1 libstdc++6 minisat zlib1g" usr/bin/cbmc
}

# need TOOL FOUND MINIMUM: refuse one that is missing (FOUND is empty) or too old
need()
{
	if [ -z "$2" ] || [ "$(printf '%s\n' "$3" "$2" | sort -V | head -n 1)" != "$3" ]; then
		echo "setup: --quic needs $1 $3 or later; here is ${2:-none} (Debian 12's own is too old)" >&2
		return 1
	fi
}

# The programs of tools/quic, with the versions of their lock files; again when a source has changed
build_quic()
{
	local quic=$BUILD/quic src=$TOP/tools/quic want
	want=$(cat "$src"/*/*.* "$src"/quinn/src/* | sha256sum | cut -d' ' -f1)

	[ "$(cat "$quic/.sources" 2>/dev/null)" != "$want" ] || return 0
	need Go "$(go version 2>/dev/null | sed -n 's/.* go\([0-9.]*\).*/\1/p')" "$GO_MIN"
	need Rust "$(rustc --version 2>/dev/null | cut -d' ' -f2)" "$RUST_MIN"
	echo "setup: building quic-go, quinn and aioquic, once: 3 minutes in $quic"
	rm -rf "$quic"
	mkdir "$quic"
	(cd "$src/quic-go" && GOTOOLCHAIN=auto CGO_ENABLED=0 go build -mod=readonly -trimpath -o "$quic/quic-go" .)
	(cd "$src/quinn" && CARGO_TARGET_DIR=$quic/target cargo build -q --release --locked)
	cp "$quic/target/release/quinn-flow" "$quic/quinn"
	rm -rf "$quic/target"
	python_packages --no-deps --target "$quic/python" -r "$src/aioquic/requirements.txt"
	cat >"$quic/aioquic" <<-EOF
	#!/bin/sh
	PYTHONPATH=$quic/python exec $BUILD/venv/bin/python $src/aioquic/flow.py "\$@"
	EOF
	chmod +x "$quic/aioquic"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 \
		-subj /CN=hetlab -keyout "$quic/key.pem" -out "$quic/cert.pem" 2>/dev/null
	echo "$want" >"$quic/.sources"
}

# pip as it comes with Debian's python3-venv
debian_pip()
{
	PYTHONPATH=$(echo /usr/share/python-wheels/pip-*.whl) /usr/bin/python3 -m pip -q --disable-pip-version-check \
		"$@"
}

get_uv()
{
	[ "$("$BUILD/uv/bin/uv" --version 2>/dev/null | cut -d' ' -f2)" != "$UV" ] || return 0
	rm -rf "$BUILD/uv"
	debian_pip install --root-user-action=ignore --no-deps --target "$BUILD/uv" "uv==$UV"
}

# python_packages ARGUMENT...: of 'pip install', into the environment. By pip where uv does not work: it has pip's
# index from pip's variables and the system's certificates, but does not read pip's files.
python_packages()
{
	if get_uv && env UV_DEFAULT_INDEX="${PIP_INDEX_URL:-}" UV_INDEX="${PIP_EXTRA_INDEX_URL:-}" \
		UV_FIND_LINKS="${PIP_FIND_LINKS:-}" UV_SYSTEM_CERTS=1 UV_NO_CONFIG=1 UV_CACHE_DIR="$BUILD/uv/cache" \
		"$BUILD/uv/bin/uv" pip install -q --reinstall --python "$BUILD/venv/bin/python" "$@"; then
		rm -rf "$BUILD/uv/cache"
		return 0
	fi
	echo "setup: not by uv: by pip" >&2
	debian_pip --python "$BUILD/venv/bin/python" install --root-user-action=ignore --ignore-installed \
		--no-compile "$@"
}

# The environment sees Debian's Mininet, which exists only as a system package. Compiled is what commands import.
make_venv()
{
	local venv=$BUILD/venv want
	want=$(sha256sum "$TOP/tools/requirements.txt" | cut -d' ' -f1)

	[ "$(cat "$venv/.requirements" 2>/dev/null)" != "$want" ] || return 0
	echo "setup: making the Python environment, once: $VENV_MB MB in $venv"
	rm -rf "$venv"
	/usr/bin/python3 -m venv --without-pip --system-site-packages "$venv"
	python_packages -r "$TOP/tools/requirements.txt"
	python_packages --no-deps --no-build-isolation -e "$TOP"
	"$venv/bin/python" -m compileall -q -j 0 -x '/(tests?|mypy|scapy/contrib)/' \
		"$venv"/lib/python3*/site-packages "$TOP/tools/lab" >/dev/null || true
	echo "$want" >"$venv/.requirements"
}

# Apart from the environment, which has to do without, as that of users who have no store on S3
make_s3()
{
	local s3=$BUILD/s3 want
	want=$(sha256sum "$TOP/tools/requirements-s3.txt" | cut -d' ' -f1)

	[ "$(cat "$s3/.requirements" 2>/dev/null)" != "$want" ] || return 0
	rm -rf "$s3"
	python_packages --no-deps --target "$s3" -r "$TOP/tools/requirements-s3.txt"
	echo "$want" >"$s3/.requirements"
}

wanted=("${PACKAGES[@]}")
steps=(make_venv)
room_gb=
while [ $# -gt 0 ]; do
	case $1 in
	--help | -h) usage; exit 0 ;;
	--check)
		wanted+=("${CHECK_PACKAGES[@]}")
		steps+=(unpack_servers unpack_prover)
		;;
	--quic)
		wanted+=(openssl)
		steps+=(build_quic)
		;;
	--vm) wanted+=("${VM_PACKAGES[@]}") ;;
	--bench) wanted+=("${BENCH_PACKAGES[@]}") ;;
	--cluster)
		wanted+=("${CLUSTER_PACKAGES[@]}")
		steps+=(make_s3)
		;;
	--room)
		[[ ${2:-} =~ ^[1-9][0-9]{0,2}$ ]] || { echo "setup: --room ${2:-}: not 1..999 GB" >&2; exit 2; }
		room_gb=$2
		shift
		;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

if ! mkdir -p "$BUILD" 2>/dev/null || [ ! -w "$BUILD" ]; then
	echo "setup: $BUILD: you cannot write there; set HETCC_BUILD=DIR, a directory of your own, to use instead" >&2
	exit 1
fi
[ -z "$room_gb" ] || room_for "$room_gb"
install_packages "${wanted[@]}"
for step in "${steps[@]}"; do
	"$step"
done
