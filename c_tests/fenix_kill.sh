#!/usr/bin/env bash
# fenix_kill.sh <rounds> <program> <mpiexec words, without the number of ranks>
# Every round starts a job with spares and kills ranks: one, two of different sets, spares, two in close succession, one
# in the midst of the recovery from another, one in Fenix_Finalize, or more than there are spares. The program works with
# and without derived communicators, with and without a jump. The others must end with the right answer, or, where more
# died than the data survive, all with the same kind of error, and in time.
# SEED and FROM=<round> repeat a round; KEEP=1 goes on after a failure.
#
# A job that does not end in time is looked at before it is ended: where each of its processes is, and whether all
# ranks have left their answer. If all are in MPI's own agreement, shrink or finalize, or only the launcher is left, it
# is counted apart. Everything of such a round, and of one that fails, is kept in kept.<SEED>.<round>.
# A process that crashes in Open MPI, since it hears of a failure while it makes a communicator, is one more that is
# lost. Rounds with such a crash are counted, and apart if it was one too many; any other crash is a failure.
set -uo pipefail
rounds=$1 program=$2
shift 2
start=("$@")
: "${SEED:=$$}" "${FROM:=1}"
echo "SEED=$SEED"
spares=2 limit=${LIMIT:-60}
right=0 errors=0 before=0 after=0 launcher=0 crashed=0 apart=0 failed=0

seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# ---- the schedule ----

# Each round has a schedule of its own. The first numbers after close seeds are close, too.
seed_round() {
  RANDOM=$(((SEED % 100000) * 10000 + $1))
  local _ skipped
  for _ in 1 2 3 4 5; do skipped=$RANDOM; done
}

kinds=(one two close spare both shrink recovery spare_in_recovery shrink_in_recovery finalize finalize_recovery)
letters=(- s n sn f fn)

# choose <kind> <active>: the ranks to kill, each after a pause of so many milliseconds (<pause>:<rank>), and those that
# die by their own hand (<rank> <when> <calls>). Sets are pairs half a job apart in mode 1, threes in mode 5.
choose() {
  local n=$2 first=$((RANDOM % $2)) pause=$((RANDOM % 900)) calls=$((RANDOM % 24))
  local second=$(((first + 1) % n)) third=$(((first + 2) % n)) spare=$((n + RANDOM % spares))
  kills=$pause:$first deaths=
  case $1 in
    one) ;;
    two) kills+=" $((RANDOM % 900)):$second" ;;
    close) kills+=" $((RANDOM % 60)):$second" ;;
    spare) kills=$pause:$spare ;;
    both) kills+=" $((RANDOM % 60)):$spare" ;;
    shrink) kills+=" $((RANDOM % 300)):$second $((RANDOM % 300)):$third" ;;
    recovery) deaths="$second r $calls" ;;
    spare_in_recovery) deaths="$spare r $((calls % 9))" ;;
    shrink_in_recovery) kills+=" $((RANDOM % 60)):$second" deaths="$third r $calls" ;;
    finalize) kills= deaths="$first f 0" ;;
    finalize_recovery) kills= deaths="$first f 0 $second r $calls" ;;
  esac
}

# least_size <active>: how many ranks are left at the end if all that is to die does.
least_size() {
  local victim active=$1 lost=0 left=$spares
  for victim in $kills $(awk '{ for (i = 1; i < NF; i += 3) print "0:" $i }' <<<"$deaths"); do
    if [ "${victim#*:}" -lt "$active" ]; then lost=$((lost + 1)); else left=$((left - 1)); fi
  done
  echo $((active - (lost > left ? lost - left : 0)))
}

# ---- the verdict ----

count() { cat end.* 2>/dev/null | grep -c "$1" || true; }
sizes() { cat end.* 2>/dev/null | sed -n 's/^rank [0-9]* of \([0-9]*\):.*/\1/p' | sort -u; }

keep() { rm -rf "../kept.$SEED.$i" && cp -r . "../kept.$SEED.$i"; }

show() {
  cat log; cat end.* 2>/dev/null; echo "round $i: $1 (SEED=$SEED FROM=$i)"
  keep
  failed=$((failed + 1))
  if [ -z "${KEEP:-}" ]; then exit 1; fi
}

# What all threads of a process are doing.
stack_of() {
  if command -v gdb >/dev/null; then timeout 120 gdb -p "$1" -batch -ex 'thread apply all bt' 2>/dev/null | grep -E '^(#|Thread)'
  elif command -v eu-stack >/dev/null; then timeout 120 eu-stack -p "$1" 2>/dev/null
  else cat "/proc/$1/stack" 2>/dev/null
  fi
}

living() {
  local pid
  for pid in $(cat pid.*); do if kill -0 "$pid" 2>/dev/null; then echo "$pid"; fi; done
}

# Where the processes are that still run: in MPI's own calls of the end and of recovery, a spare that waits, or elsewhere.
where_they_are() {
  local pid
  for pid in $(living); do echo "--- rank $(grep -lx "$pid" pid.* | cut -d. -f2), process $pid"; stack_of "$pid"; done >stacks
  awk '/^---/ { if (NR > 1) print where; where = "elsewhere" }
       /(Comm_shrink|comm_shrink)/ { where = "shrink" }
       /(Comm_agree|comm_agree)/ { where = "agree" }
       /(MPI_Finalize|ompi_mpi_finalize)/ { where = "finalize" }
       /inner_fenix_preinit/ { if (where == "elsewhere") where = "spare" }
       END { print NR ? where : "launcher" }' stacks | sort | uniq -c | awk '{ printf "%s%d %s", comma, $1, $2; comma = ", " }'
}

# The job did not end in time. A rank in finalize has left those behind that are still in recovery: that is no matter of MPI.
judge_hang() {
  local places answered=no
  if [ "$(count 'the answer is right')" = "$(sizes)" ]; then answered=yes; fi
  places=$(where_they_are)
  stack_of "$job" >stacks.launcher
  echo "round $i: hangs, all have answered: $answered; $places (SEED=$SEED FROM=$i)"
  case $answered,$places in
    *,*elsewhere* | no,*agree*finalize* | no,*finalize*shrink*) show "the job hangs" ;;
    no,*launcher*) show "ranks ended without an answer" ;;
    yes,*launcher*) launcher=$((launcher + 1)); keep ;;
    yes,*) after=$((after + 1)); keep ;;
    *) before=$((before + 1)); keep ;;
  esac
}

# How many processes have crashed; and how many of them in that flaw of Open MPI.
crashes() { grep -ac 'Process received signal' log; }
crashes_in_mpi() { grep -a ompi_comm_set_rank_failed log | cut -d] -f1 | sort -u | wc -l; }

# judge <kind> <least size>. Who dies when all the others are in Fenix_Finalize is not replaced.
judge() {
  local well bad size lost
  well=$(count 'is right') bad=$(count 'has an error:') size=$(sizes) lost=$(crashes_in_mpi)
  if [[ $1 = finalize* ]] && [ "$((well + 1))" = "$size" ]; then well=$size; fi
  if [ "$lost" != 0 ]; then crashed=$((crashed + 1)); keep; fi
  if [ "$(count WRONG)" != 0 ]; then show "the answer is wrong"
  elif [ "$(crashes)" != "$lost" ]; then show "processes crashed"
  elif [ "$well" = "$size" ] && [ "$size" -ge $(($2 - lost)) ]; then right=$((right + 1))
  elif [ "$well" = "$size" ] && [ -n "$size" ]; then show "only $size ranks are left, not $2"
  elif [ "$lost" != 0 ] && [ "$well" = 0 ]; then apart=$((apart + 1)); echo "round $i: $lost crashed in MPI, no answer"
  elif [ "$bad" = "$size" ] && [[ $1 = shrink* ]]; then errors=$((errors + 1)); cat end.* | head -n 1
  else show "$well of '$size' ranks are right, $bad have an error"
  fi
}

# ---- a round ----

# Waits until every rank has said which process it is.
wait_for_ranks() {
  for _ in $(seq 1200); do
    if [ "$(ls pid.* 2>/dev/null | wc -l)" = "$1" ]; then return; fi
    sleep 0.05
  done
  return 1
}

# Ends what is left of a job, by the numbers that it has told.
stop() { kill -9 $(living) 2>/dev/null; kill -9 "$job" 2>/dev/null; wait "$job" 2>/dev/null; }

# round <mode> <active> <kind> <what>
round() {
  local ticks=0 job victim
  rm -rf round && mkdir round && cd round || exit 1
  "${start[@]}" $(($2 + spares)) "$program" "$1" $spares . "$4" $deaths >log 2>&1 </dev/null &
  job=$!
  if ! wait_for_ranks $(($2 + spares)); then stop; show "the job did not come up"; cd ..; return; fi
  for victim in $kills; do
    sleep "$(seconds "${victim%:*}")"
    kill -9 "$(cat pid."${victim#*:}")" 2>/dev/null || true
  done
  while kill -0 $job 2>/dev/null && [ $((ticks++)) -lt $((limit * 10)) ]; do sleep 0.1; done
  if kill -0 $job 2>/dev/null; then judge_hang; stop
  else wait $job; judge "$3" "$(least_size "$2")"
  fi
  cd ..
}

for i in $(seq "$FROM" $((FROM + rounds - 1))); do
  seed_round "$i"
  if [ $((i % 2)) = 0 ]; then mode=1 active=4; else mode=5 active=6; fi
  kind=${KIND:-${kinds[$((RANDOM % ${#kinds[@]}))]}}
  what=${WHAT:-${letters[$((RANDOM % ${#letters[@]}))]}}
  choose "$kind" $active
  echo "round $i: mode $mode, $what, $kind: ${kills:+kills $kills }${deaths:+dies $deaths}"
  round $mode $active "$kind" "$what"
done
echo "$right rounds with the right answer, $errors with an error, hangs in MPI's own calls: $before before and $after after" \
  "the answer, $launcher of the launcher; crashes in MPI: $crashed, $apart of them without an answer; $failed failed"
[ $failed = 0 ]
