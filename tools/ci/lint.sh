#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Run every static check of the project.

set -euo pipefail

ci=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/ci/common.sh
. "$ci/common.sh"

readonly venv=$HETCC_BUILD/venv
readonly logs=$HETCC_BUILD/lint
readonly all_checks=(checkpatch sparse fnlen bpf shellcheck ruff mypy imports)

usage() {
	cat <<'END'
usage: tools/ci/lint.sh [--help | --list | CHECK...]

Runs the named static checks, all of them when none is named:

  checkpatch  the kernel's style checker on the modules and their headers
  sparse      the kernel's semantic checker on the modules
  fnlen       no function of C or Python is longer than 60 lines, no Python file of tools/ than 400
  bpf         the headers that are plain integers compile for BPF, each function of them
  shellcheck  every shell script
  ruff        the Python code of tools/ and tests/, its format too
  mypy        the types of the same
  imports     the layers of hetlab: [tool.importlinter] in pyproject.toml

Prints "ok" or "not ok" for each, with the output of those that fail; the
output of all is kept in build/lint; --list prints their names.  ruff, mypy and
lint-imports are those of the virtual environment build/venv, which "make
setup" makes.
END
}

# The project's files, tracked or about to be, that are still there.
project_files() {
	local file
	git ls-files -z -co --exclude-standard |
		while IFS= read -r -d '' file; do
			[ ! -f "$file" ] || printf '%s\0' "$file"
		done
}

# Shell scripts go by a name in .sh or by a first line that names a shell.
shell_scripts() {
	local file line
	project_files | while IFS= read -r -d '' file; do
		line=
		IFS= read -r -n 80 line <"$file" || true
		if [[ $file == *.sh ]] ||
			[[ $line =~ ^\#!.*[/\ ](ba|da|k)?sh($|\ ) ]]; then
			printf '%s\0' "$file"
		fi
	done
}

check_checkpatch() {
	"$ci/checkpatch.sh"
}

check_sparse() {
	"$ci/sparse.sh"
}

check_fnlen() {
	python3 "$ci/fnlen.py"
}

# By the proofs of a header, which go through each of its functions. BPF has a stack of
# 512 bytes, no signed division and no call of the C library.
check_bpf() {
	local harness failed=0
	need_command clang clang
	for harness in tests/proofs/*.c; do
		clang -target bpf -std=gnu11 -O2 -Wall -Werror -Iinclude -Itests/estimators \
			-c -o "$logs/bpf.o" "$harness" || failed=1
	done
	return "$failed"
}

check_shellcheck() {
	local scripts
	need_command shellcheck shellcheck
	mapfile -d '' -t scripts < <(shell_scripts)
	[ ${#scripts[@]} -gt 0 ] || die "found no shell script to check"
	shellcheck --external-sources "${scripts[@]}" &&
		echo "shellcheck: no complaint about ${#scripts[@]} scripts"
}

# venv_tool COMMAND...: run a tool of the virtual environment on our Python.
venv_tool() {
	local paths=() path
	[ -x "$venv/bin/$1" ] || die "build/venv has no $1: run make setup"
	for path in tools tests; do
		[ ! -d "$path" ] || paths+=("$path")
	done
	"$venv/bin/$1" "${@:2}" "${paths[@]}"
}

check_ruff() {
	venv_tool ruff check && venv_tool ruff format --check
}

check_mypy() {
	venv_tool mypy
}

# By itself: it knows its package by name, not by a path.
check_imports() {
	[ -x "$venv/bin/lint-imports" ] ||
		die "build/venv has no lint-imports: run make setup"
	PYTHONPATH=tools/lab "$venv/bin/lint-imports" --no-logo --no-cache
}

# run_check NUMBER NAME: run one check and print the result.
run_check() {
	local log=$logs/$2.log
	if ("check_$2") >"$log" 2>&1; then
		echo "ok $1 - $2"
		return 0
	fi
	echo "not ok $1 - $2"
	tail -n 60 "$log" | sed 's/^/# /'
	return 1
}

main() {
	local checks=() name number=0 failed=0
	for name in "$@"; do
		case $name in
		--help | -h) usage && exit 0 ;;
		--list) printf '%s\n' "${all_checks[@]}" && exit 0 ;;
		*)
			[[ " ${all_checks[*]} " == *" $name "* ]] ||
				{ usage >&2 && die "unknown check: $name"; }
			checks+=("$name")
			;;
		esac
	done
	[ ${#checks[@]} -gt 0 ] || checks=("${all_checks[@]}")
	cd -- "$HETCC_TOP"
	make_build_dir "$logs"
	echo "KTAP version 1"
	echo "1..${#checks[@]}"
	for name in "${checks[@]}"; do
		number=$((number + 1))
		run_check "$number" "$name" || failed=$((failed + 1))
	done
	echo "# Totals: pass:$((number - failed)) fail:$failed"
	[ "$failed" -eq 0 ]
}

main "$@"
