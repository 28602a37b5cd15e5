#!/usr/bin/env bash
# fenix_process.sh <how many ranks say that they are done, or none> <command...>
# Some ranks of the command are killed; the others must end well, and in time. With none, they must only end.
set -uo pipefail
wanted=$1
shift
timeout -k 5 60 "$@" >log 2>&1 </dev/null
rc=$?
cat log
got=$(grep -c 'is done$' log)
if [ "$wanted" = none ]; then
  grep -q 'ends itself$' log && [ $rc != 124 ] && [ $rc != 137 ]
  exit
fi
if [ $rc != 0 ] || [ "$got" != "$wanted" ]; then
  echo "exit code $rc, $got of $wanted ranks done"
  exit 1
fi
