#!/usr/bin/env bash
# stanchion_tool.sh <program> <directory of golden sets> <kvtree_print>: the command `stanchion` on sets that upstream wrote.
set -uo pipefail
program=$1 golden=$2 kvtree_print=$3
failures=0

# expect <exit code> <text that is printed, or nothing> <arguments...>
expect() {
  local code=$1 text=$2 got output
  shift 2
  output=$(timeout 60 "$program" "$@" 2>&1)
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
  expect 0 "would write  rank 1  data/r1_f0.bin: it does not exist" rebuild --dry-run --below . enc/ck.
  expect 1 "data/r0_f0.bin" rebuild --dry-run enc/ck.
  expect 1 "data/r1_f0.bin" rebuild enc/ck.
  [ ! -e data/r1_f0.bin ] || failures=$((failures + 1))
  expect 0 "ranks are there" rebuild --below . enc/ck.
  same_data $set
  rm enc/ck.2.*grp*
  expect 0 "ranks are there" rebuild --below . enc/ck.
  expect 0 "rank 2  enc/ck.2." verify enc/ck.
done

# More than a scheme survives, no redundancy at all, nothing to protect with.
use xor_n5
rm data/r1_* data/r2_*
expect 1 "too much is lost" rebuild --outside enc/ck.
expect 1 "no redundancy file" rebuild enc/other.
expect 1 "No such file" verify nowhere/ck.
use single_n2
expect 0 "rank 1" verify enc/ck.
expect 1 "no scheme protects it" rebuild enc/ck.

# Files of two neighbours, of which the second still has its copy of the first's.
use partner_n4_k1
rm data/r1_* data/r2_*
expect 1 "with --salvage" rebuild --below . enc/ck.
expect 0 "ranks are there" rebuild --salvage --below . enc/ck.
same_data partner_n4_k1

# Somebody else's files: links, FIFOs, names that are no text.
use xor_n4
rm data/r1_*
mkdir elsewhere
mv data elsewhere
ln -s elsewhere/data data
expect 1 "must not be a link" rebuild --below . enc/ck.
[ ! -e elsewhere/data/r1_f0.bin ] || failures=$((failures + 1))
expect 0 "ranks are there" rebuild --outside enc/ck.
same_data xor_n4
use xor_n4
touch theirs
chmod 600 theirs
rm data/r1_f0.bin
ln -s ../theirs data/r1_f0.bin.stanchion-part
expect 0 "ranks are there" rebuild --below . enc/ck.
same_data xor_n4
[ ! -s theirs ] || failures=$((failures + 1))
redundancy=$(ls enc/ck.2.xor*)
rm "$redundancy" data/r0_f0.bin
mkfifo "$redundancy" data/r0_f0.bin
expect 1 "not a regular file" verify enc/ck.
expect 1 "not a regular file" inspect "$redundancy"
rm data/r0_f0.bin
cp "$golden/xor_n4/data/r0_f0.bin" data
expect 0 "ranks are there" rebuild --below . enc/ck.
for file in enc/ck.*; do mv "$file" $'enc/\xff'"${file#enc/}"; done
expect 0 "rank 3  data/r3_f0.bin" verify $'enc/\xffck.'
rm data/r1_*
expect 0 "ranks are there" rebuild --below . $'enc/\xffck.'
same_data xor_n4

# What an earlier apply with more sets has left is not a set.
use xor_n4
cp enc/ck.0.xor.grp_1_of_1.mem_1_of_4.redset enc/ck.0.xor.grp_2_of_2.mem_1_of_2.redset
expect 0 "earlier apply" verify enc/ck.
rm enc/ck.?.redset
expect 1 "several applies" verify enc/ck.
use xor_n4
rm enc/ck.?.redset
for file in enc/ck.*; do mv "$file" "${file/_of_1./_of_18446744073709551615.}"; done
expect 1 "nothing is left of its redundancy" verify enc/ck.

# No threads.
use xor_n4
export RUST_MIN_STACK=$((1 << 60))
expect 1 "thread" verify enc/ck.
expect 1 "thread" rebuild --below . enc/ck.
unset RUST_MIN_STACK

# ended <exit code> <text on standard error> <program and arguments...>, with descriptor 6 as standard output.
ended() {
  local code=$1 text=$2 got output
  shift 2
  output=$(timeout 60 "$@" 2>&1 >&6)
  got=$?
  if [ $got != "$code" ] || [[ $output != *"$text"* ]] || [[ $output == *panicked* ]]; then
    echo "$*: exit code $got instead of $code, or no \"$text\" in: $output"
    failures=$((failures + 1))
  fi
}

# Nobody reads on.
mkfifo pipe
(exec 5<pipe) &
exec 6>pipe
wait $!
ended 141 "" "$program" verify enc/ck.
ended 141 "" "$program" inspect enc/ck.0.redset
ended 141 "" "$program" --help
ended 141 "" "$kvtree_print" enc/ck.0.redset
ended 141 "" "$kvtree_print" --help
# The disk is full.
exec 6>/dev/full
ended 1 "standard output" "$program" verify enc/ck.
ended 1 "standard output" "$program" inspect enc/ck.0.redset
ended 1 "standard output" "$program" --help
ended 1 "standard output" "$kvtree_print" enc/ck.0.redset
ended 1 "standard output" "$kvtree_print" --help
# Nobody hears complaints.
exec 6>/dev/null
for errors in /dev/full "&-"; do
  for command in "$program verify nowhere/ck." "$program inspect nowhere" "$kvtree_print nowhere"; do
    eval "timeout 60 $command >/dev/null 2>$errors"
    [ $? = 1 ] || { echo "$command 2>$errors"; failures=$((failures + 1)); }
  done
done

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
expect 2 "--below needs" rebuild --below
expect 2 "--scheme" plot topology
expect 2 "--scheme" plot --scheme xor:1 topology
expect 2 "--set-size" plot --scheme xor --set-size many topology
expect 2 "more than one" plot --scheme xor topology topology
exit $((failures > 0))
