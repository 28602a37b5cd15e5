#!/usr/bin/env bash
# redset_kill.sh <rounds> <ranks> <program> <mpiexec words...>
# Every round protects files, kills all ranks of a job that applies or recovers at a random moment, and
# lets another job recover: no file may be wrong. Every other round sends messages where ranks of one node would
# open each other's files; two of four rounds have their files in memory. SEED repeats a run.
set -euo pipefail
rounds=$1 ranks=$2 program=$3
shift 3
RANDOM=${SEED:=$$}
echo "SEED=$SEED"
modes=(apply recover update)

launch() { "$@" </dev/null; }

# Waits until every rank of the job has said which process it is; fails when the job ends before.
wait_for_ranks() {
  for _ in $(seq 600); do
    if [ "$(ls pid.* 2>/dev/null | grep -vc new)" = "$ranks" ]; then return; fi
    kill -0 "$1" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

# The launcher sees its ranks die and ends; where it does not, it is ended as well.
end_launcher() {
  for _ in $(seq 100); do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.1
  done
  kill -9 "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

round() {
  local mode=$1 scheme=$2 lost=$3 delay=$4 job
  rm -rf "$place/round" && mkdir "$place/round" && cd "$place/round"
  launch "${start[@]}" prepare "$mode" "$scheme" "$lost"
  launch "${start[@]}" work "$mode" "$scheme" "$lost" >killed.log 2>&1 &
  job=$!
  wait_for_ranks "$job" || { cat killed.log; echo "the job did not come up"; return 1; }
  sleep "$delay"
  kill -9 $(cat pid.?) 2>/dev/null || { cat killed.log; echo "the job ended by itself"; return 1; }
  end_launcher "$job"
  launch "${start[@]}" check "$mode" "$scheme" "$lost"
  cd "$on_disk"
}

on_disk=$PWD
in_memory=$(mktemp -d /dev/shm/redset_kill.XXXXXX) || in_memory=$on_disk
trap '[ "$in_memory" = "$on_disk" ] || rm -rf "$in_memory"' EXIT

start=("$@" "$program")
for i in $(seq "$rounds"); do
  mode=${modes[$((i % 3))]} scheme=$((2 + i / 3 % 3)) lost=$((RANDOM % ranks))
  delay=$(printf '0.%03d' $((RANDOM % 400)))
  export DIRECT=$((i % 2))
  place=$on_disk
  if [ $((i / 2 % 2)) = 0 ]; then place=$in_memory; fi
  echo "round $i in $place: $mode, scheme $scheme, direct $DIRECT, loses rank $lost, killed after $delay s"
  round "$mode" "$scheme" "$lost" "$delay"
done
