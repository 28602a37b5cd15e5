#!/usr/bin/env bash
# demo.sh: builds, installs into build-demo/prefix and runs every program of examples/ against that prefix.
set -euo pipefail
. "$(dirname "$0")/common.sh"
exec </dev/null

cd "$repo"
bash scripts/deps.sh --demo
build=$repo/build-demo
prefix=$build/prefix
mpicc=$(command -v "$(mpi_program openmpi mpicc)")
mpiexec=$(command -v "$(mpi_program openmpi mpiexec)")
mpifort=$(command -v "$(mpi_program openmpi mpifort)" || true)
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig

# quietly <command...>: what it says goes to the log, and to the screen when it fails.
log=$build/demo.log
quietly() {
  "$@" >>"$log" 2>&1 || { tail -n 40 "$log"; die "failed: $*; all of its output is in $log"; }
}

say "building and installing into $prefix: 2 to 4 minutes the first time, watch $log"
mkdir -p "$build"
: >"$log"
quietly cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
  -DMPI_C_COMPILER="$mpicc" -DBUILD_TESTING=OFF
quietly cmake --build "$build" -j "$jobs"
quietly cmake --install "$build"

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

# compile_example <source> <program>: Fortran sources use the module, compiled along with them.
compile_example() {
  local link
  link="$(pkg-config --libs stanchion) -Wl,-rpath,$prefix/lib"
  case $1 in
    *.c) "$mpicc" -O2 "$1" $(pkg-config --cflags stanchion) $link -o "$2" ;;
    *.f90) "$mpifort" -O2 -J "$build/run" "$prefix/share/stanchion/fortran/redset.f90" "$1" $link -o "$2" ;;
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

for source in examples/*.c; do
  run_example "$source"
done
if [ -n "$mpifort" ] && have gfortran; then
  for source in examples/*.f90; do run_example "$source"; done
else
  say "no Fortran compiler here: examples/*.f90 left out"
fi
say "done; to link your own code: PKG_CONFIG_PATH=$PKG_CONFIG_PATH pkg-config --cflags --libs redset"
