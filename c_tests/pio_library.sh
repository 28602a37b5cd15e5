#!/usr/bin/env bash
# pio_library.sh <missing|other_mpi|configured> <netcdf|pnetcdf> <SONAME> <libstanchion.so> <library of another MPI> <launcher> <its
# flag for a number of ranks> <program>
# Three ranks of which one cannot load the file library: the one that needs it most. Its libstanchion is a copy in which the
# names that the loader is asked for are wrong.
set -euo pipefail
what=$1 library=$2 soname=$3 stanchion=$4 other=$5 launcher=$6 count=$7 program=$8

mkdir copy other
cp "$other" "other/$soname"
# change <sed command>: of the same length, in a copy that is loaded instead.
change() {
  LC_ALL=C sed "$1" "$stanchion" >"copy/$(basename "$stanchion")"
  if cmp -s "$stanchion" copy/*; then echo "$1 has changed nothing" >&2; exit 1; fi
  bad+=("LD_PRELOAD=$PWD/copy/$(basename "$stanchion"):${LD_PRELOAD:-}")
}

bad=(env)
texts=()
case $what in
  missing)
    change "s/lib$library\.so/lib$library-no/g"
    texts=("cannot be used" "lib$library-no" "No such file") ;;
  other_mpi)
    change "s,$soname:/,$soname:!,g"
    bad+=("LD_LIBRARY_PATH=$PWD/other:${LD_LIBRARY_PATH:-}")
    texts=("cannot be used" "$soname: built for another MPI ($PWD/other/$soname)" "than the one in use (/") ;;
  configured) # the file that was there when Stanchion was configured is taken instead
    bad+=("LD_LIBRARY_PATH=$PWD/other:${LD_LIBRARY_PATH:-}") ;;
esac
good=("$program" "$library" "${texts[@]}")
case $library in
  netcdf) "$launcher" "$count" 1 "${bad[@]}" "${good[@]}" : "$count" 2 "${good[@]}" ;;
  *) "$launcher" "$count" 2 "${good[@]}" : "$count" 1 "${bad[@]}" "${good[@]}" ;;
esac
