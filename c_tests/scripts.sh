#!/usr/bin/env bash
# scripts.sh <scripts/common.sh>: which programs the scripts take for an MPI, with wrappers that are made up.
set -euo pipefail
common=$1
mkdir -p own/bin path
for program in own/bin/mpicc.mine own/bin/mpiexec.mine own/bin/mpifort.mine own/bin/wrapper path/mpiexec path/mpicc.openmpi \
  path/mpiexec.openmpi; do
  printf '#!/bin/sh\n' >$program
  chmod +x $program
done
here=$PWD
PATH=$here/path:$PATH

# chosen <variables...>: what is left in the variables for the main MPI.
chosen() { env -u MPICC -u MPIEXEC "$@" bash -euc '. "$0"; choose_mpi $main; echo "$main: $mpis: $mpicc $mpiexec"' "$common"; }
# is <wanted> <got>
is() { [ "$1" = "$2" ] || { echo "got    $2"; echo "wanted $1"; exit 1; }; }

is "openmpi: openmpi mpich openmpi5: $here/path/mpicc.openmpi $here/path/mpiexec.openmpi" "$(chosen)"
is "openmpi: openmpi mpich openmpi5: $here/path/mpicc.openmpi $here/path/mpiexec.openmpi" "$(chosen MPIEXEC="$here/path/mpiexec")"
is "own: own: $here/own/bin/mpicc.mine $here/own/bin/mpiexec.mine" "$(chosen MPICC="$here/own/bin/mpicc.mine")"
is "own: own: $here/own/bin/mpicc.mine $here/path/mpiexec" "$(chosen MPICC="$here/own/bin/mpicc.mine" MPIEXEC=mpiexec)"
is "own: own: $here/own/bin/wrapper $here/path/mpiexec" "$(chosen MPICC="$here/own/bin/wrapper")"
if chosen MPICC="$here/none" 2>error; then exit 1; fi
grep -q "not a program that can be found" error
is "$here/own/bin/mpifort.mine" "$(MPICC=$here/own/bin/mpicc.mine bash -euc '. "$0"; mpi_program own mpifort' "$common")"
