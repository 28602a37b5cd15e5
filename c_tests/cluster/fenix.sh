#!/usr/bin/env bash
# fenix.sh <rounds> <program fenix_kill> [kill|cut|node]: on a cluster of four nodes.
# Every round starts a job with two ranks on each of three nodes, and two spares on the fourth; groups are placed by host. Then all
# ranks of a node are killed, but not the daemon that has started them. The others must end with the right answer, and in time.
# With `cut` the cable of the node is pulled instead, and nobody is told: heartbeats find out. The ranks that are cut off must give
# up. mpiexec waits for their daemon, so it is ended. With `node` the daemon is killed, too: MPIEXEC must be a prterun that goes on
# then, and OPAL_PREFIX the place of Open MPI.
# A round whose job has ended before the node failed, as on a busy machine, is repeated. SEED repeats a run, KEEP=1 goes on after a
# failure, LIMIT is the time for a round in seconds, PERIOD and TIMEOUT are those of the heartbeats, OPTIONS more options of mpiexec.
#
# A process that crashes in Open MPI, since it hears of a failure while it makes a communicator, is one more that is lost, and there
# is no spare for it. Rounds with such a crash are counted apart, and so are those that do not end well after all ranks have answered:
# MPI_Finalize tolerates no failure. Any other crash is a failure. Cables are pulled after 0.1 s at the soonest, when Fenix_Init is
# likely to be over: in there every rank waits in the making of a communicator until it hears of the failure.
set -uo pipefail
. "$(dirname "$0")/common.sh"
rounds=$1 program=$2 how=${3:-kill}
RANDOM=${SEED:=$(date +%s)}
echo "SEED=$SEED"
active=6 spares=2 on_node=2 limit=${LIMIT:-60} right=0 apart=0 late=0 failed=0
export STANCHION_TOPOLOGY=host
# As docs/fenix.md has it, with the reasons.
launch=(--with-ft ulfm --mca async_mpi_finalize 1 --mca mpi_add_procs_cutoff 1024 --mca coll ^han,hcoll,portals4)
earliest=0
if [ $how = node ]; then
  export OMPI_MCA_mpi_ft_enable=1 OMPI_MCA_async_mpi_finalize=1 OMPI_MCA_mpi_add_procs_cutoff=1024 OMPI_MCA_coll=^han,hcoll,portals4
  launch=(--rtos recoverable)
elif [ $how = cut ]; then
  earliest=100
  export STANCHION_FENIX_QUORUM=1
  launch+=(--mca mpi_ft_detector 1 --mca mpi_ft_propagator_with_rbcast 1 --prtemca oob_tcp_keepalive_time 0)
  launch+=(--mca mpi_ft_detector_period "${PERIOD:-0.5}" --mca mpi_ft_detector_timeout "${TIMEOUT:-2}")
fi
read -ra more <<<"${OPTIONS:-}"
launch+=("${more[@]}")

# wait_for_ranks <job>: until every rank has come up; fails when the job ends before.
wait_for_ranks() {
  for _ in $(seq 1200); do
    if [ "$(ls pid.* 2>/dev/null | wc -l)" = $((active + spares)) ]; then return; fi
    kill -0 "$1" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

count() { cat "$1".* 2>/dev/null | grep -c "$2" || true; }
crashes() { grep -ac 'Process received signal' log; }
crashes_in_mpi() { grep -a ompi_comm_set_rank_failed log | cut -d] -f1 | sort -u | wc -l; }

# is_over <job>: it has ended, or, after a cut, every rank has said its last word.
is_over() {
  kill -0 "$1" 2>/dev/null || return 0
  [ $how = cut ] && [ "$(count end 'answer is')" = $active ] && [ "$(count cut_off 'has an error')" = $on_node ]
}

# ends_in_time <job>: or shows where its processes are. Ends what is left of it.
ends_in_time() {
  local pid start=${EPOCHREALTIME/./} answered='' rc=1
  for _ in $(seq $((limit * 10))); do
    if is_over "$1"; then rc=0; fi
    if [ -z "$answered" ] && [ "$(count end 'answer is')" = $active ]; then answered=$(((${EPOCHREALTIME/./} - start) / 100000)); fi
    if [ $rc = 0 ]; then break; fi
    sleep 0.1
  done
  if [ $how = cut ] && [ -n "$answered" ]; then echo "all ranks have answered after ${answered%?}.${answered: -1} s"; fi
  if [ $rc != 0 ]; then
    for pid in $(pgrep -x "$name"); do
      echo "--- process $pid"
      if command -v gdb >/dev/null; then timeout 60 gdb -p "$pid" -batch -ex bt 2>/dev/null | grep '^#'; fi
    done
  fi
  cp log judged
  if kill -0 "$1" 2>/dev/null; then pkill -KILL -x "$name"; pkill -KILL -x prted; kill -KILL "$1"; fi
  return $rc
}

# judge <exit code>
judge() {
  local well lost
  well=$(count end 'answer is right') lost=$(crashes_in_mpi)
  if [ "$1$(crashes)" = 00 ] && [ "$well" = $active ]; then
    right=$((right + 1))
    return
  fi
  cat log end.* cut_off.* 2>/dev/null
  echo "exit code $1, $well of $active ranks are right, $lost crashed in MPI (SEED=$SEED)"
  if [ "$(count end WRONG)" = 0 ] && [ "$(crashes)" = "$lost" ] && { [ "$lost" != 0 ] || [ "$well" = $active ]; }; then
    apart=$((apart + 1))
  else
    failed=$((failed + 1))
    if [ -z "${KEEP:-}" ]; then exit 1; fi
  fi
}

# plug_in <node>: until it answers; for a moment the others may still hold it for unreachable.
plug_in() {
  cluster plug "$1"
  for _ in $(seq 50); do
    if [[ $(timeout 1 bash -c "exec 3<>/dev/tcp/node$1/9" 2>&1) == *refused* ]]; then return; fi
    sleep 0.1
  done
  die "node $1 does not come back"
}

# round <mode> <node> <pause>: fails if the job ends too soon.
round() {
  local job rc=hangs struck=yes
  rm -rf round && mkdir round && cd round || exit 1
  cluster run -n $((active + spares)) "${launch[@]}" -- "$program" "$1" $spares . - >log 2>&1 </dev/null &
  job=$!
  wait_for_ranks $job || { cat log; die "the job did not come up"; }
  sleep "$3"
  case $how in
    cut) cluster cut "$2" && if [ -n "$(ls end.* 2>/dev/null)" ]; then struck=no; fi ;;
    node) cluster kill "$2" && if [ -n "$(ls end.* 2>/dev/null)" ]; then struck=no; fi ;;
    *) cluster kill "$2" "$name" || struck=no ;;
  esac
  if ends_in_time $job; then
    { wait $job; } 2>/dev/null
    rc=$?
    if [ $how = cut ]; then rc=0; fi
  fi
  if [ $how = cut ]; then cluster kill "$2"; plug_in "$2"; fi
  mv judged log
  if [ $how != cut ] || [ $struck = yes ]; then judge $rc; fi
  cd ..
  [ $struck = yes ]
}

name=$(basename "$program")
for i in $(seq "$rounds"); do
  mode=$((i % 2 ? 1 : 5)) node=$((RANDOM % 3 + 1)) pause=$(printf '0.%03d' $((earliest + RANDOM % (500 - earliest))))
  echo "round $i: mode $mode, $how node $node after $pause s"
  for _ in 1 2 3; do
    if round $mode $node "$pause"; then break; fi
    late=$((late + 1)) pause=0
  done
done
echo "$right rounds with the right answer, $late without a failure in time, $apart with a flaw of MPI, $failed failed"
[ $failed = 0 ] && [ $late -le "$rounds" ]
