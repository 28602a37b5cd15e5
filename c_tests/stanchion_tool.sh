#!/usr/bin/env bash
# stanchion_tool.sh <program> <directory of golden sets>: the command `stanchion` on sets that upstream wrote.
set -uo pipefail
program=$1 golden=$2
failures=0

# expect <exit code> <text that is printed, or nothing> <arguments...>
expect() {
  local code=$1 text=$2 got output
  shift 2
  output=$("$program" "$@" 2>&1)
  got=$?
  if [ $got != "$code" ]; then
    echo "stanchion $*: exit code $got instead of $code: $output"
    failures=$((failures + 1))
  elif [[ $output != *"$text"* ]]; then
    echo "stanchion $*: \"$text\" is not in: $output"
    failures=$((failures + 1))
  fi
}

same_data() {
  diff -r data "$golden/$1/data" || failures=$((failures + 1))
}

# use <set>: a fresh copy becomes the current directory.
use() {
  rm -rf "$work/set"
  cp -r "$golden/$1" "$work/set"
  cd "$work/set" || exit 1
}

work=$PWD
for set in partner_n4_k1 rs_n6_k3 xor_n5; do
  use $set
  expect 0 "rank 3  data/r3_f0.bin" verify enc/ck.
  rm data/r1_*
  expect 1 "BAD        rank 1  data/r1_f0.bin: it does not exist" verify enc/ck.
  expect 0 "ranks are there" rebuild enc/ck.
  same_data $set
  rm enc/ck.2.*grp*
  expect 0 "ranks are there" rebuild enc/ck.
  expect 0 "rank 2  enc/ck.2." verify enc/ck.
done

# More than a scheme survives, no redundancy at all, nothing to protect with.
use xor_n5
rm data/r1_* data/r2_*
expect 1 "too much is lost" rebuild enc/ck.
expect 1 "no redundancy file" rebuild enc/other.
expect 1 "No such file" verify nowhere/ck.
use single_n2
expect 0 "rank 1" verify enc/ck.
expect 1 "no scheme protects it" rebuild enc/ck.

# Files of two neighbours, of which the second still has its copy of the first's.
use partner_n4_k1
rm data/r1_* data/r2_*
expect 1 "with --salvage" rebuild enc/ck.
expect 0 "ranks are there" rebuild --salvage enc/ck.
same_data partner_n4_k1

use xor_n4
expect 0 "TYPE" inspect enc/ck.0.redset
expect 0 "CHUNK" inspect enc/ck.0.xor.*
expect 1 "enc/none" inspect enc/ck.0.redset enc/none
printf '\0\1\2' >damaged
expect 1 "damaged" inspect damaged

cd "$work" || exit 1
for node in 0 1 2 3; do
  for _ in 0 1; do echo "rack$((node / 2))/node$node"; done
done >topology
expect 0 '"tolerance"' plot --scheme xor --set-size 4 --json topology
expect 0 "</svg>" plot --scheme partner:1 topology
expect 0 "</svg>" plot --scheme rs:2 --set-size 4 topology
expect 1 "none" plot --scheme xor none
echo "rack0" >>topology
expect 1 "rank 8" plot --scheme xor topology

expect 0 "Usage" --help
expect 2 "no command" mend
expect 2 "no command"
expect 2 "a prefix is missing" verify
expect 2 "no option" rebuild --all enc/ck.
expect 2 "--scheme" plot topology
expect 2 "--scheme" plot --scheme xor:1 topology
expect 2 "--set-size" plot --scheme xor --set-size many topology
expect 2 "more than one" plot --scheme xor topology topology
exit $((failures > 0))
