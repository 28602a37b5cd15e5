#!/usr/bin/env bash
# fenix_kill.sh <rounds> <program> <mpiexec words, without the number of ranks>
# Every round starts a job with spares and kills ranks at random moments: one, two of different sets, spares, two in
# close succession (the second during the recovery from the first), or more than there are spares. The program works
# with and without derived communicators, with and without a jump. The others must end with the right answer, or all
# with the same kind of error, and in time. SEED repeats a run; KEEP=1 goes on after a failure.
#
# A job that hangs is looked at with gdb. If all its ranks are in MPI's own agreement, shrink or finalize, it is counted
# apart, and its stacks are kept in stacks.<round>; where there is no gdb, only one whose ranks have all
# left their answer is. A crash of Open MPI that hears of a failure while it makes a communicator is counted apart too.
set -uo pipefail
rounds=$1 program=$2
shift 2
RANDOM=${SEED:=$$}
echo "SEED=$SEED"
spares=2 right=0 errors=0 in_mpi=0 after=0 crashed=0 failed=0 limit=${LIMIT:-60}

seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# Waits until every rank has said which process it is.
wait_for_ranks() {
  for _ in $(seq 1200); do
    if [ "$(ls pid.* 2>/dev/null | wc -l)" = "$1" ]; then return; fi
    sleep 0.05
  done
  return 1
}

# choose <kind> <active>: the ranks to kill, each after a pause of so many milliseconds. Sets are pairs half a job apart
# in mode 1, threes in mode 5.
choose() {
  local n=$2 first=$((RANDOM % $2)) pause=$((RANDOM % 900))
  case $1 in
    one) echo $pause:$first ;;
    two) echo $pause:$first $((RANDOM % 900)):$(((first + 1) % n)) ;;
    close) echo $pause:$first $((RANDOM % 60)):$(((first + 1) % n)) ;;
    spare) echo $pause:$((n + RANDOM % spares)) ;;
    both) echo $pause:$first $((RANDOM % 60)):$((n + RANDOM % spares)) ;;
    shrink) echo $pause:$first $((RANDOM % 300)):$(((first + 1) % n)) $((RANDOM % 300)):$(((first + 2) % n)) ;;
  esac
}

count() { cat end.* 2>/dev/null | grep -c "$1" || true; }

show() {
  cat log; cat end.* 2>/dev/null; echo "round $i: $1"
  failed=$((failed + 1))
  if [ -z "${KEEP:-}" ]; then exit 1; fi
}

# Where each process is that still runs: in MPI's own calls of the end and of recovery, a spare that waits, or elsewhere.
where_they_are() {
  local pid
  for pid in $(cat pid.*); do
    if ! kill -0 "$pid" 2>/dev/null; then continue; fi
    echo "--- process $pid"
    timeout 120 gdb -p "$pid" -batch -ex bt 2>/dev/null | grep '^#'
  done >stacks
  awk '/^---/ { if (NR > 1) print where; where = "elsewhere" }
       /(MPI_Finalize|ompi_mpi_finalize|Comm_shrink|comm_shrink|Comm_agree|comm_agree)/ { where = "mpi" }
       /inner_fenix_preinit/ { if (where != "mpi") where = "spare" }
       END { print where }' stacks | sort | uniq -c | tr '\n' ' '
}

# The job did not end in time.
judge_hang() {
  local places
  if [ "$(count 'the answer is right')" != 0 ] && [ "$(count 'the answer')" = "$(sed -n 's/.* of \([0-9]*\):.*/\1/p' end.* | sort -u)" ]; then
    after=$((after + 1)) # whatever comes now, the answer is there
  fi
  if ! command -v gdb >/dev/null; then places=unknown; else places=$(where_they_are); cp stacks "../stacks.$i"; fi
  echo "round $i: hangs, $(count 'is right') answers; ranks are: $places"
  case $places in
    *elsewhere*) show "the job hangs" ;;
    unknown) if [ "$(count 'is right')" = 0 ]; then show "the job hangs"; else in_mpi=$((in_mpi + 1)); fi ;;
    *) in_mpi=$((in_mpi + 1)) ;;
  esac
}

judge() {
  local rc=$1 well bad size
  well=$(count 'is right') bad=$(count 'has an error:')
  size=$(cat end.* 2>/dev/null | sed -n 's/^rank [0-9]* of \([0-9]*\):.*/\1/p' | sort -u)
  if [ "$(count WRONG)" != 0 ]; then show "the answer is wrong"; return; fi
  if [ "$well" = "$size" ]; then right=$((right + 1))
  elif [ "$bad" -gt 0 ] && [ "$well" = 0 ]; then errors=$((errors + 1)); cat end.* | head -n 1
  elif [ "$well" = 0 ] && grep -q ompi_comm_set_rank_failed log; then crashed=$((crashed + 1))
  else show "$well of '$size' ranks are right, $bad have an error, exit code $rc"
  fi
}

# Ends what is left of a job, by the numbers that it has told.
stop() { kill -9 $(cat pid.* 2>/dev/null) 2>/dev/null; kill -9 "$1" 2>/dev/null; wait "$1" 2>/dev/null; }

round() {
  local mode=$1 active=$2 what=$3 job rc=0 ticks=0
  rm -rf round && mkdir round && cd round || exit 1
  "${start[@]}" $((active + spares)) "$program" "$mode" $spares . "$what" >log 2>&1 </dev/null &
  job=$!
  if ! wait_for_ranks $((active + spares)); then stop $job; show "the job did not come up"; cd ..; return; fi
  for victim in $4; do
    sleep "$(seconds "${victim%:*}")"
    kill -9 "$(cat pid."${victim#*:}")" 2>/dev/null || true
  done
  while kill -0 $job 2>/dev/null && [ $((ticks++)) -lt $((limit * 10)) ]; do sleep 0.1; done
  if kill -0 $job 2>/dev/null; then judge_hang; stop $job
  else wait $job || rc=$?; judge $rc
  fi
  cd ..
}

start=("$@")
kinds=(one two close spare both shrink)
letters=(- s n sn f fn)
for i in $(seq "$rounds"); do
  if [ $((i % 2)) = 0 ]; then mode=1 active=4; else mode=5 active=6; fi
  kind=${KIND:-${kinds[$((RANDOM % ${#kinds[@]}))]}}
  what=${WHAT:-${letters[$((RANDOM % ${#letters[@]}))]}}
  victims=$(choose "$kind" $active)
  echo "round $i: mode $mode, $what, $kind: loses $victims"
  round $mode $active "$what" "$victims"
done
echo "$right rounds with the right answer, $errors with an error, $in_mpi hang in MPI's own calls ($after of them after" \
  "the answer), $crashed crash in MPI, $failed failed"
[ $failed = 0 ]
