#!/usr/bin/env bash
# fenix_process.sh <how many ranks leave a file, or none> <command...>
# Some ranks of the command are killed; the others must end well, and in time. With none, they must only end.
set -uo pipefail
wanted=$1
shift
rm -f done.*
timeout -k 5 60 "$@" >log 2>&1 </dev/null
rc=$?
cat log
got=$(ls done.* 2>/dev/null | wc -l)
if [ $rc = 124 ] || [ $rc = 137 ]; then echo "the job hangs"; exit 1; fi
if [ "$wanted" = none ]; then [ -e done.none ]; exit; fi
if [ $rc != 0 ] || [ "$got" != "$wanted" ]; then
  echo "exit code $rc, $got of $wanted ranks done"
  exit 1
fi
