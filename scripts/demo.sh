#!/usr/bin/env bash
# demo.sh: builds, installs into build-demo/prefix and runs every program of examples/ against that prefix; then
# builds for Open MPI 5, which can repair a job, and kills ranks of a running one. MPICC in the environment, and MPIEXEC besides,
# name another MPI for all of it; ranks are killed if it can repair a job.
set -euo pipefail
. "$(dirname "$0")/common.sh"
exec </dev/null

cd "$repo"
bash scripts/deps.sh --demo
build=$repo/build-demo

# quietly <command...>: what it says goes to the log, and to the screen when it fails.
quietly() {
  "$@" >>"$log" 2>&1 || { tail -n 40 "$log"; die "failed: $*; all of its output is in $log"; }
}

# use_mpi <own|openmpi|openmpi5> <prefix>: leaves the programs of that MPI, the prefix and the log of its build in variables.
use_mpi() {
  mpi=$1
  prefix=$2
  log=$build/$mpi.log
  choose_mpi "$mpi"
  mpifort=$(command -v "$(mpi_program "$mpi" mpifort)" || true)
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
}

# For the MPI in use. Not optimized, as the tests build it: what users install takes minutes longer.
build_and_install() {
  : >"$log"
  quietly cmake -S . -B "$build/$mpi" -DCMAKE_BUILD_TYPE=Release -DSTANCHION_CARGO_PROFILE=ci -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DSTANCHION_CARGO_DIR="$build/cargo" "${mpi_options[@]}" -DBUILD_TESTING=OFF
  if [ "$mpi" != $main ]; then quietly start_from "$build/$main" "$build/$mpi"; fi
  quietly cmake --build "$build/$mpi" -j "$jobs"
  quietly cmake --install "$build/$mpi"
}

# run_example <source>: 4 ranks, in a fresh directory; then shows the trees it left.
run_example() {
  local name run
  name=$(basename "${1%.*}")
  run=$build/run/$name
  say "$1, on 4 ranks"
  rm -rf "$run"
  mkdir -p "$run"
  compile_example "$1" "$build/run/$name.bin"
  (cd "$run" && "$mpiexec" -n 4 "$build/run/$name.bin")
  show_trees "$run"
}

# compile_example <source> <program>: Fortran sources use the module, compiled along with them; PIO's is installed.
compile_example() {
  local link
  link="$(pkg-config --libs stanchion) -Wl,-rpath,$prefix/lib"
  case $1 in
    *.c) "$mpicc" -O2 "$1" $(pkg-config --cflags stanchion) $link -o "$2" ;;
    *darray_f.f90) "$mpifort" -O2 -I"$prefix/include" "$1" $(pkg-config --libs piof) $link -o "$2" ;;
    *.f90) "$mpifort" -O2 -J "$build/run" "$prefix"/share/stanchion/fortran/*.f90 "$1" $link -o "$2" ;;
  esac
}

show_trees() {
  local file
  for file in "$1"/*.kv; do
    [ -e "$file" ] || continue
    say "kvtree_print -m keyval $(basename "$file")"
    "$prefix/bin/kvtree_print" -m keyval "$file"
  done
}

# kill_ranks <argument...>: examples/heat.c on 4 ranks and a spare for each argument, which says who dies when.
kill_ranks() {
  local run=$build/run/heat5
  say "examples/heat.c $*, on 4 ranks, $# more standing by"
  rm -rf "$run"
  mkdir -p "$run"
  compile_example examples/heat.c "$run.bin"
  (cd "$run" && "$mpiexec" --with-ft ulfm --mca async_mpi_finalize 1 --mca mpi_add_procs_cutoff 1024 --mca coll ^han,hcoll,portals4 \
    -n $((4 + $#)) "$run.bin" "$@")
}

run_examples() {
  local source
  for source in examples/*.c examples/*.f90; do
    if [ -z "$mpifort" ] && [[ $source == *.f90 ]]; then say "$source: this MPI has no mpifort"; else run_example "$source"; fi
  done
}

kill_some() {
  kill_ranks 25:1
  kill_ranks 25:1 45:2 45:3
}

# One MPI for everything.
demo_own() {
  run_examples
  if grep -q '^STANCHION_ULFM:INTERNAL=ON' "$build/$mpi/CMakeCache.txt"; then kill_some
  else say "no rank is killed: this MPI cannot repair a job"
  fi
}

# While the examples run, the library is built for the MPI that can repair a job.
demo_two() {
  say "building for Open MPI 5 besides, watch $build/openmpi5.log"
  set -m # a process group, which an error in front ends as a whole
  (use_mpi openmpi5 "$build/prefix-openmpi5"; build_and_install) &
  building=$!
  set +m
  trap 'kill -- "-$building" 2>/dev/null || true' EXIT
  run_examples
  use_mpi openmpi5 "$build/prefix-openmpi5"
  say "Open MPI 5: waiting for what is installed into $prefix"
  wait $building
  trap - EXIT
  kill_some
}

mkdir -p "$build"
use_mpi $main "$build/prefix"
say "building for $mpicc and installing into $prefix: one to two minutes the first time, watch $log"
build_and_install
if [ $main = own ]; then demo_own; else demo_two; fi
say "done; to link your own code: PKG_CONFIG_PATH=$build/prefix/lib/pkgconfig pkg-config --cflags --libs redset"
