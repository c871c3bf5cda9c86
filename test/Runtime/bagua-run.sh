#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command line of bagua-run: what it prints for a good plan, and one error and an exit status for each bad input.
# usage: bagua-run.sh BAGUA-RUN BAGUA-MAKE-TEST-PLAN
set -eu
run=$1
make_plan=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$make_plan" 4 >"$dir/p.bagua"

fail() {
  echo "FAILED: $1" >&2
  cat "$dir/out" "$dir/err" >&2
  exit 1
}

# good NAME PATTERN ARGUMENT...: succeeds and prints the pattern.
good() {
  name=$1 pattern=$2
  shift 2
  "$run" "$@" >"$dir/out" 2>"$dir/err" <"$dir/p.bagua" || fail "$name"
  grep -q -- "$pattern" "$dir/out" || fail "$name: no '$pattern'"
}

# bad NAME STATUS PATTERN ARGUMENT...: prints one error with the pattern, and nothing else.
bad() {
  name=$1 status=$2 pattern=$3
  shift 3
  found=0
  "$run" "$@" >"$dir/out" 2>"$dir/err" </dev/null || found=$?
  [ "$found" = "$status" ] || fail "$name: exit status $found"
  grep -q -- "bagua-run: error: .*$pattern" "$dir/err" || fail "$name: no '$pattern'"
  [ "$(grep -c error "$dir/err")" = 1 ] && [ ! -s "$dir/out" ] || fail "$name: more than one error"
}

good help 'example: bagua-run' --help
good version 'bagua-run [0-9]' --version
good summary 'check          passed: 3 tensors' "$dir/p.bagua" --ranks=4 --check --steps=2
good stdin 'step time' --ranks 4 --steps=1
good dash 'buckets        2 collectives' - --steps=1
good json '"passed": true' "$dir/p.bagua" --check --json --steps=2
good processes 'processes of this host' "$dir/p.bagua" --check --steps=2 --communicator=shared-memory
good hosts '), processes of 2 hosts' "$dir/p.bagua" --check --steps=2 --communicator=gloo --hosts=2
good trace 'plan' "$dir/p.bagua" --trace="$dir/t.json" --steps=1
grep -q '"name":"AllReduce0","ph":"X"' "$dir/t.json" || fail 'trace: no instruction'

"$make_plan" 2 1 'a@b' >"$dir/nul.bagua"
"$run" "$dir/nul.bagua" --steps=1 >"$dir/out" 2>"$dir/err" || fail 'NUL in a name'
grep -a -q 'step time' "$dir/out" || fail 'NUL in a name: the report ends there'
for what in "$dir/p.bagua --steps=1" '--help' '--version'; do
  status=0
  # shellcheck disable=SC2086 # several words
  "$run" $what >/dev/full 2>"$dir/err" || status=$?
  [ "$status" = 1 ] && grep -q "error: can't write to standard output" "$dir/err" || fail "full disk: $what"
done

bad missing 1 "can't read plan '$dir/none'" "$dir/none"
bad empty 1 "identifier 'BGUA' is missing"
head -c 300 "$dir/p.bagua" >"$dir/short"
bad truncated 1 'damaged plan' "$dir/short"
bad ranks 1 'the plan is for 4 ranks, the run has 3' "$dir/p.bagua" --ranks=3
bad throws 1 'rank 2 threw: asked to throw' "$dir/p.bagua" --throw-on-rank=2
bad 'a process throws' 1 'rank 2 threw: asked to throw' "$dir/p.bagua" --throw-on-rank=2 --communicator=shared-memory
bad trace 1 "can't write the trace" "$dir/p.bagua" --trace=/nonexistent/t.json --steps=1
bad flag 2 'unknown flag --foo' --foo
bad value 2 "--ranks: expected a number of at least 1, found 'x'" --ranks=x
bad zero 2 "--timeout: expected seconds above 0 and below 1e9, found '0'" --timeout=0
bad steps 2 "--steps: expected a number of at least 1, found '0'" --steps=0
bad switch 2 '--check takes no value' --check=yes
bad two 2 "expected one plan, found 'a' and 'b'" a b
bad 'hosts of one' 2 '--hosts: expected --communicator=gloo, found in-process' "$dir/p.bagua" --hosts=2
bad choice 2 "--communicator: expected in-process, shared-memory or gloo, found 'mpi'" --communicator=mpi
echo passed
