#!/usr/bin/env bash
# fenix.sh <rounds> <program fenix_kill>: on a cluster of four nodes.
# Every round starts a job with two ranks on each of three nodes, and two spares on the fourth; groups are placed by host. Then all
# ranks of a node are killed, but not the daemon that has started them. The others must end with the right answer, and in time.
# A round whose job has ended before anybody was killed, as on a busy machine, is repeated. SEED repeats a run, KEEP=1 goes on after a
# failure.
#
# A process that crashes in Open MPI, since it hears of a failure while it makes a communicator, is one more that is lost, and there
# is no spare for it. Rounds with such a crash are counted apart, and so are those that do not end well after all ranks have answered:
# MPI_Finalize tolerates no failure. Any other crash is a failure.
set -uo pipefail
. "$(dirname "$0")/common.sh"
rounds=$1 program=$2
RANDOM=${SEED:=$(date +%s)}
echo "SEED=$SEED"
active=6 spares=2 limit=60 right=0 apart=0 late=0 failed=0
export STANCHION_TOPOLOGY=host OMPI_MCA_async_mpi_finalize=1
# Processes learn each other's addresses at the start. Otherwise a spare that passes the news of a failure on may ask for the address
# of a dead process that it never had a connection to, and wait for the answer forever (PMIx_Get below mca_btl_tcp_proc_create).
export OMPI_MCA_mpi_add_procs_cutoff=1024
# Collectives without coll/han: it makes communicators in the first collective call and crashes if a failure comes then.
export OMPI_MCA_coll=^han

# wait_for_ranks <job>: until every rank has come up; fails when the job ends before.
wait_for_ranks() {
  for _ in $(seq 1200); do
    if [ "$(ls pid.* 2>/dev/null | wc -l)" = $((active + spares)) ]; then return; fi
    kill -0 "$1" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

# ends_in_time <job>: or shows where its processes are, and ends it.
ends_in_time() {
  local pid
  for _ in $(seq $((limit * 10))); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.1
  done
  for pid in $(pgrep -x "$name"); do
    echo "--- process $pid"
    if command -v gdb >/dev/null; then timeout 60 gdb -p "$pid" -batch -ex bt 2>/dev/null | grep '^#'; fi
  done
  kill "$1"
  pkill -KILL -x "$name"
  return 1
}

count() { cat end.* 2>/dev/null | grep -c "$1" || true; }
crashes() { grep -ac 'Process received signal' log; }
crashes_in_mpi() { grep -a ompi_comm_set_rank_failed log | cut -d] -f1 | sort -u | wc -l; }

# judge <exit code>
judge() {
  local well lost
  well=$(count 'the answer is right') lost=$(crashes_in_mpi)
  if [ "$1$(crashes)" = 00 ] && [ "$well" = $active ]; then
    right=$((right + 1))
    return
  fi
  cat log end.* 2>/dev/null
  echo "exit code $1, $well of $active ranks are right, $lost crashed in MPI (SEED=$SEED)"
  if [ "$(count WRONG)" = 0 ] && [ "$(crashes)" = "$lost" ] && { [ "$lost" != 0 ] || [ "$well" = $active ]; }; then
    apart=$((apart + 1))
  else
    failed=$((failed + 1))
    if [ -z "${KEEP:-}" ]; then exit 1; fi
  fi
}

# round <mode> <node> <pause>: fails if the job ends too soon.
round() {
  local job rc=hangs killed=yes
  rm -rf round && mkdir round && cd round || exit 1
  cluster run -n $((active + spares)) --with-ft ulfm -- "$program" "$1" $spares . p >log 2>&1 </dev/null &
  job=$!
  wait_for_ranks $job || { cat log; die "the job did not come up"; }
  sleep "$3"
  cluster kill "$2" "$name" || killed=no
  if ends_in_time $job; then
    wait $job
    rc=$?
  fi
  judge $rc
  cd ..
  [ $killed = yes ]
}

name=$(basename "$program")
for i in $(seq "$rounds"); do
  mode=$((i % 2 ? 1 : 5)) node=$((RANDOM % 3 + 1)) pause=$(printf '0.%03d' $((RANDOM % 500)))
  echo "round $i: mode $mode, all ranks of node $node die after $pause s"
  for _ in 1 2 3; do
    if round $mode $node "$pause"; then break; fi
    late=$((late + 1)) pause=0
  done
done
echo "$right rounds with the right answer, $late of them without a kill, $apart with a flaw of MPI, $failed failed"
[ $failed = 0 ] && [ $late -le "$rounds" ]
