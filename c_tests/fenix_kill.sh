#!/usr/bin/env bash
# fenix_kill.sh <rounds> <program> <mpiexec words, without the number of ranks>
# Every round starts a job with spares and kills one rank, two of different sets, or a spare, at a random moment: the
# others must end with the right answer or all with the same kind of error, and in time. SEED repeats a run.
set -euo pipefail
rounds=$1 program=$2
shift 2
RANDOM=${SEED:=$$}
echo "SEED=$SEED"
spares=2 right=0 errors=0

seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# Waits until every rank has said which process it is.
wait_for_ranks() {
  for _ in $(seq 600); do
    if [ "$(ls pid.* 2>/dev/null | wc -l)" = "$1" ]; then return; fi
    sleep 0.05
  done
  return 1
}

# choose <kind> <active>: the ranks to kill. Sets are pairs of neighbours in mode 1, threes in mode 5.
choose() {
  case $1 in
    one) echo $((RANDOM % $2)) ;;
    two) echo $((RANDOM % ($2 / 2))) $(($2 / 2 + RANDOM % ($2 / 2))) ;;
    spare) echo $(($2 + RANDOM % spares)) ;;
    both) echo $((RANDOM % $2)) $(($2 + RANDOM % spares)) ;;
  esac
}

show() { cat log; head -n 1 end.* 2>/dev/null; echo "round $i: $1"; exit 1; }

count() { cat end.* 2>/dev/null | grep -c "$1" || true; }

judge() {
  local rc=$1 active=$2 well bad
  well=$(count 'is right') bad=$(count 'has an error:')
  if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then show "the job hangs"; fi
  if [ "$(count WRONG)" != 0 ]; then show "the answer is wrong"; fi
  if [ "$well" = "$active" ]; then right=$((right + 1))
  elif [ "$bad" -gt 0 ] && [ "$well" = 0 ]; then errors=$((errors + 1)); cat end.* | head -n 1
  else show "$well of $active ranks are right, $bad have an error, exit code $rc"
  fi
}

round() {
  local mode=$1 active=$2 kind=$3 victims job rc=0
  rm -rf round && mkdir round && cd round
  timeout -k 5 60 "${start[@]}" $((active + spares)) "$program" "$mode" $spares . >log 2>&1 </dev/null &
  job=$!
  wait_for_ranks $((active + spares)) || show "the job did not come up"
  for rank in $4; do
    sleep "$(seconds $((RANDOM % 900)))"
    kill -9 "$(cat pid."$rank")" 2>/dev/null || true
  done
  wait $job || rc=$?
  judge $rc "$active"
  cd ..
}

start=("$@")
kinds=(one two spare both)
for i in $(seq "$rounds"); do
  if [ $((i % 2)) = 0 ]; then mode=1 active=4; else mode=5 active=6; fi
  kind=${kinds[$((RANDOM % 4))]}
  victims=$(choose "$kind" $active)
  echo "round $i: mode $mode, loses $victims"
  round $mode $active "$kind" "$victims"
done
echo "$right rounds with the right answer, $errors with an error"
