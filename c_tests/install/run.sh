#!/usr/bin/env bash
# run.sh <case>: one case of the install test. CMakeLists.txt hands everything else over as environment.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export PKG_CONFIG_PATH=$PREFIX/$LIBDIR/pkgconfig
libdir=$PREFIX/$LIBDIR
with_mpi() { [ "$WITH_MPI" = ON ]; }

rm -rf "$WORK"
mkdir -p "$WORK"
cd "$WORK"

# run <program> [<launcher words>]: in the test's own directory, with no library path to help it.
run() { echo "+ $*"; "$@" </dev/null; }
run_serial() { run "./$1"; }
run_mpi() { LD_PRELOAD=$PRELOAD run $MPIEXEC "./$1"; } # MPIEXEC holds several words

# The prefix is moved after the install: nothing in it may depend on where it was.
case_prefix() {
  rm -rf "$PREFIX"
  "$CMAKE" --install "$BUILD" --prefix "$WORK/first" >install.log
  mv "$WORK/first" "$PREFIX"
  if grep -rIl "$WORK/first" "$PREFIX"; then
    echo "these files name the prefix" >&2
    return 1
  fi
}

cmake_project() {
  "$CMAKE" -S "$here/$1" -B . -DCMAKE_PREFIX_PATH="$PREFIX" -DWITH_MPI="$WITH_MPI" -DCMAKE_BUILD_TYPE=Release \
    -DFENIX_CMAKE_DIRECTORY="$PREFIX/cmake" -DMPI_C_COMPILER="$MPICC" -DMPI_CXX_COMPILER="$(mpicxx_of "$MPICC")" --no-warn-unused-cli
  "$CMAKE" --build .
}
# mpicc.mpich goes with mpicxx.mpich.
mpicxx_of() { echo "${1%/*}/$(basename "$1" | sed 's/^mpicc/mpicxx/')"; }

case_cmake_c() {
  cmake_project c
  for program in base own_base serial redset_base; do run_serial $program; run_serial $program-static; done
  if with_mpi; then
    for program in mpi own_mpi redset own_redset fenix_client own_fenix pio own_pio; do run_mpi $program; run_mpi $program-static; done
  fi
}

# Stanchion as a part of another project. cargo has built everything in the directory that is shared.
case_parent() {
  local options=(-DSTANCHION_SOURCE="$SOURCE" -DSTANCHION_CARGO_DIR="$CARGO_DIR" -DSTANCHION_CARGO_PROFILE="$PROFILE"
    -DSTANCHION_MPI="$WITH_MPI" -DWITH_MPI="$WITH_MPI" -DCMAKE_C_COMPILER="$CC" -DMPI_C_COMPILER="$MPICC")
  local fortran=OFF program
  if [ -x "$(mpifort_of "$MPICC")" ]; then fortran=$WITH_FORTRAN; fi
  "$CMAKE" -S "$here/parent" -B added "${options[@]}" -DWITH_FORTRAN="$fortran" -DMPI_Fortran_COMPILER="$(mpifort_of "$MPICC")"
  "$CMAKE" --build added
  for program in serial serial-static; do run_serial added/$program; done
  if with_mpi; then
    for program in mpi client_redset client_fenix client_pio; do run_mpi added/$program; done
  fi
  if [ "$fortran" = TRUE ]; then run_mpi added/client_fortran; fi
  installs_only_serial added
  # FetchContent adds the same directory: that it configures and has the targets is enough.
  "$CMAKE" -S "$here/parent" -B fetched "${options[@]}" -DFETCH=ON
}
mpifort_of() { echo "${1%/*}/$(basename "$1" | sed 's/^mpicc/mpifort/')"; }

# installs_only_serial <build tree>: what the parent installs, and no test of Stanchion is among its own.
installs_only_serial() {
  "$CMAKE" --install "$1" --prefix "$WORK/prefix" >/dev/null
  (cd prefix && find . ! -type d) >installed
  echo ./bin/serial | diff - installed
  if [ -e "$1/stanchion/c_tests" ]; then return 1; fi
}

case_cmake_cxx() {
  cmake_project cxx
  for program in base redset_base; do run_serial $program; run_serial $program-static; done
  if with_mpi; then
    for program in mpi redset fenix_client pio; do run_mpi $program; run_mpi $program-static; done
  fi
}

case_pkgconfig() {
  for package in kvtree kvtree_base stanchion_base; do
    run "$CC" "$here/serial.c" $(pkg-config --cflags --libs $package) -Wl,-rpath,"$libdir" -o serial
    run_serial serial
  done
  run "$CC" "$here/redset_base.c" $(pkg-config --cflags --libs redset_base) -Wl,-rpath,"$libdir" -o redset_base
  run_serial redset_base
  if with_mpi; then
    for package in redset stanchion; do
      run "$MPICC" "$here/redset.c" $(pkg-config --cflags --libs $package) -Wl,-rpath,"$libdir" -o redset
      run_mpi redset
    done
    run "$MPICC" "$here/fenix.c" $(pkg-config --cflags --libs fenix) -Wl,-rpath,"$libdir" -o fenix
    run_mpi fenix
    run "$MPICC" "$here/pio.c" $(pkg-config --cflags --libs pio) -Wl,-rpath,"$libdir" -o pio
    run_mpi pio
    run "$MPICC" "$here/mpi.c" $(pkg-config --cflags --libs kvtree rankstr) -Wl,-rpath,"$libdir" -o mpi
    run_mpi mpi
    run "$MPICC" "$here/mpi.c" $(pkg-config --cflags --libs stanchion) -Wl,-rpath,"$libdir" -o mpi
    run_mpi mpi
  fi
}

# The base library in a program without any shared library; the full one beside a shared MPI.
case_pkgconfig_static() {
  run "$CC" -static "$here/serial.c" $(pkg-config --static --cflags --libs kvtree_base) -o serial
  run_serial serial
  run "$CC" -static "$here/redset_base.c" $(pkg-config --static --cflags --libs redset_base) -o redset_base
  run_serial redset_base
  if with_mpi; then
    run "$MPICC" "$here/redset.c" $(pkg-config --cflags redset) -Wl,-Bstatic $(pkg-config --libs redset) \
      -Wl,-Bdynamic $(pkg-config --static --libs-only-l --libs-only-other redset | sed -E 's/-l(redset|kvtree|rankstr)//g') -o redset
    needs_no_stanchion redset
    run_mpi redset
    # Fenix has always been an archive: named by its file, and with no shared twin behind it.
    run "$MPICC" "$here/fenix.c" -I"$PREFIX/include" "$libdir/libfenix.a" $(pkg-config --static --libs-only-l \
      --libs-only-other fenix | sed 's/-lfenix//') -o fenix
    needs_no_stanchion fenix
    run_mpi fenix
    run "$MPICC" "$here/pio.c" -I"$PREFIX/include" "$libdir/libpioc.a" $(pkg-config --static --libs-only-L --libs-only-l \
      --libs-only-other pio | sed "s/-lpioc//") -o pio
    needs_no_stanchion pio
    run_mpi pio
    # PIO's own archive is linked with the file libraries; all others load them, if they use them at all.
    run "$MPICC" "$here/pio.c" -I"$PREFIX/include" "$libdir/libstanchion.a" $(pkg-config --static --libs-only-l \
      --libs-only-other stanchion | sed "s/-lstanchion//") -o own_pio
    needs_no_stanchion own_pio
    needs_no_file_library own_pio
    needs_no_file_library fenix
    if [ "$FILE_LIBRARIES" != 0 ] && getconf GNU_LIBC_VERSION; then
      loads_file_library own_pio
      if loads_file_library pio; then return 1; fi
    fi
    run "$MPICC" "$here/mpi.c" $(pkg-config --cflags kvtree) -Wl,-Bstatic $(pkg-config --libs kvtree rankstr) \
      -Wl,-Bdynamic $(pkg-config --static --libs-only-l --libs-only-other kvtree | sed 's/-lkvtree//') -o mpi
    needs_no_stanchion mpi
    run_mpi mpi
  fi
}
needs_no_stanchion() {
  if readelf -d "$1" | grep -E 'NEEDED.*(stanchion|kvtree|redset|fenix|pioc)'; then return 1; fi
}

needs_no_file_library() {
  if readelf -d "$1" | grep -E 'NEEDED.*netcdf'; then return 1; fi
}
# Whether it asks the loader for one while it runs, which glibc's loader tells.
loads_file_library() {
  LD_DEBUG=files run_mpi "$1" 2>loader.txt
  grep -E 'file=[^ ]*netcdf.*(dynamically loaded by|direct_opencount)' loader.txt
}

# What a Makefile written for upstream says.
case_plain_line() {
  run "$CC" "$here/serial.c" -I"$PREFIX/include" -L"$libdir" -lkvtree_base -lz -Wl,-rpath,"$libdir" -o serial
  run_serial serial
  run "$CC" "$here/redset_base.c" -I"$PREFIX/include" -L"$libdir" -lredset_base -lkvtree_base -lz -Wl,-rpath,"$libdir" \
    -o redset_base
  run_serial redset_base
  if with_mpi; then
    run "$MPICC" "$here/mpi.c" -I"$PREFIX/include" -L"$libdir" -lkvtree -lrankstr -lz -Wl,-rpath,"$libdir" -o mpi
    run_mpi mpi
    run "$MPICC" "$here/fenix.c" -I"$PREFIX/include" -L"$libdir" -lfenix -Wl,-rpath,"$libdir" -o fenix
    run_mpi fenix
    run "$MPICC" "$here/pio.c" -I"$PREFIX/include" -L"$libdir" -lpioc -Wl,-rpath,"$libdir" -o pio
    run_mpi pio
    run "$MPICC" -DREDSET_ENABLE_MPI "$here/redset.c" -I"$PREFIX/include" -L"$libdir" -lredset -lkvtree -lrankstr -lz \
      -Wl,-rpath,"$libdir" -o redset
    run_mpi redset
  fi
}

# A program linked against upstream asks for libkvtree.so; a stand-in with that SONAME plays upstream.
case_old_binary() {
  mkdir upstream
  echo 'void kvtree_new(void){} void kvtree_delete(void){} void kvtree_set_kv(void){} void kvtree_size(void){}
        void kvtree_setf(void){} void kvtree_getf(void){} void kvtree_write_file(void){}
        void kvtree_util_set_int(void){} void kvtree_util_get_int(void){}
        void kvtree_bcast(void){} void rankstr_mpi(void){}
        void redset_filelist_count(void){} void redset_rebuild_xor(void){} void redset_filelist_get_data_rs(void){}
        void redset_init(void){} void redset_create_xor(void){} void redset_apply(void){} void redset_delete(void){}
        void redset_recover(void){} void redset_unapply(void){} void redset_finalize(void){}
        void redset_config(void){}
        void PIOc_Init_Intracomm(void){} void PIOc_InitDecomp(void){} void PIOc_get_local_array_size(void){}
        void PIOc_iotype_available(void){} void PIOc_createfile(void){} void PIOc_def_dim(void){}
        void PIOc_def_var(void){} void PIOc_enddef(void){} void PIOc_write_darray(void){} void PIOc_closefile(void){}
        void PIOc_openfile(void){} void PIOc_read_darray(void){} void PIOc_freedecomp(void){}
        void PIOc_finalize(void){}' >upstream.c
  for name in redset redset_base pioc; do
    "$CC" -shared -fPIC -fno-builtin upstream.c -Wl,-soname,lib$name.so -o upstream/lib$name.so
  done
  run "$CC" "$here/redset_base.c" -I"$PREFIX/include" -Lupstream -lredset_base -o redset_base
  readelf -d redset_base | grep "NEEDED.*\[libredset_base.so\]"
  LD_LIBRARY_PATH=$libdir run_serial redset_base
  for name in kvtree kvtree_base; do
    "$CC" -shared -fPIC -fno-builtin upstream.c -Wl,-soname,lib$name.so -o upstream/lib$name.so
    run "$CC" "$here/serial.c" -I"$PREFIX/include" -Lupstream -l$name -o serial
    readelf -d serial | grep "NEEDED.*\[lib$name.so\]"
    LD_LIBRARY_PATH=$libdir run_serial serial
  done
  if with_mpi; then
    run "$MPICC" "$here/mpi.c" -I"$PREFIX/include" -Lupstream -lkvtree -o mpi
    LD_LIBRARY_PATH=$libdir:${LD_LIBRARY_PATH:-} run_mpi mpi
    run "$MPICC" -DREDSET_ENABLE_MPI "$here/redset.c" -I"$PREFIX/include" -Lupstream -lredset -o redset
    LD_LIBRARY_PATH=$libdir:${LD_LIBRARY_PATH:-} run_mpi redset
    run "$MPICC" "$here/pio.c" -I"$PREFIX/include" -Lupstream -lpioc -o pio
    LD_LIBRARY_PATH=$libdir:${LD_LIBRARY_PATH:-} run_mpi pio
  fi
}

# A program that is linked with our name runs with upstream's library as well: the path alone decides. Again a stand-in,
# which tells by its answer that it was asked.
case_both_ways() {
  local cc=$CC
  if with_mpi; then cc=$MPICC; fi
  cat >client.c <<'END'
#include <kvtree.h>
#include <stdio.h>
int main(void) { printf("%d keys\n", kvtree_size(NULL)); return 0; }
END
  echo 'int kvtree_size(const void* tree) { (void)tree; return 42; }' >upstream.c
  mkdir upstream
  for name in kvtree kvtree_base; do
    "$CC" -shared -fPIC upstream.c -Wl,-soname,lib$name.so -o upstream/lib$name.so
    run "$cc" client.c -I"$PREFIX/include" -L"$libdir" -l$name -o client
    readelf -d client | grep "NEEDED.*\[lib$name.so\]"
    if readelf -d client | grep "NEEDED.*stanchion" || readelf -V client | grep STANCHION; then return 1; fi
    LD_LIBRARY_PATH=$libdir run ./client | grep "^0 keys"
    LD_LIBRARY_PATH=$PWD/upstream run ./client | grep "^42 keys"
  done
  with_mpi || return 0
  objects_both_ways
}

# The constants of Fenix are copied into programs that are not position-independent: sizes must agree.
objects_both_ways() {
  echo '#include <fenix.h>
        #include <stdio.h>
        int main(void) { printf("%d %d\n", FENIX_DATA_SUBSET_FULL.specifier, FENIX_DATA_SUBSET_EMPTY.specifier); return 0; }' >client.c
  echo '#include <fenix_data_subset.h>
        const Fenix_Data_subset FENIX_DATA_SUBSET_FULL = {.specifier = 42}, FENIX_DATA_SUBSET_EMPTY = {.specifier = 43};' >upstream.c
  run "$MPICC" -shared -fPIC upstream.c -I"$PREFIX/include" -Wl,-soname,libfenix.so -o upstream/libfenix.so
  for flags in -no-pie -fPIE; do
    run "$MPICC" $flags client.c -I"$PREFIX/include" -L"$libdir" -lfenix -o client
    LD_LIBRARY_PATH=$libdir:${LD_LIBRARY_PATH:-} run ./client | grep "^2 1"
    LD_LIBRARY_PATH=$PWD/upstream:${LD_LIBRARY_PATH:-} run ./client 2>client.log | grep "^42 43"
    if grep "different size" client.log; then return 1; fi
  done
}

# Libraries that use kvtree_base and others that use kvtree end up in one static link, in any order.
case_both_archives() {
  with_mpi || return 0
  natives=$(pkg-config --static --libs-only-l kvtree | sed 's/-lkvtree//')
  for order in "kvtree kvtree_base" "kvtree_base kvtree"; do
    set -- $order
    run "$MPICC" "$here/mpi.c" -I"$PREFIX/include" "$libdir/lib$1.a" "$libdir/lib$2.a" $natives -o mpi
    run_mpi mpi
  done
}

case_program() {
  run "$CC" "$here/serial.c" $(pkg-config --cflags --libs kvtree_base) -Wl,-rpath,"$libdir" -o serial
  run_serial serial
  run "$PREFIX/bin/kvtree_print" install_test.kv | tee printed
  grep RANKS printed
  run "$PREFIX/bin/stanchion" inspect install_test.kv | grep RANKS
}

# The examples of redset and PIO and their twins, which have the modules from source or as they were installed.
case_examples() {
  local examples=$here/../../examples mpifort link sources=$PREFIX/share/stanchion/fortran
  with_mpi || return 0
  run "$MPICC" "$examples/darray.c" $(pkg-config --cflags --libs pio stanchion) -Wl,-rpath,"$libdir" -o darray
  run_mpi darray
  run "$MPICC" "$examples/checkpoint.c" $(pkg-config --cflags --libs redset stanchion) -Wl,-rpath,"$libdir" -o checkpoint
  run_mpi checkpoint
  run "$MPICC" "$examples/placement.c" $(pkg-config --cflags --libs redset stanchion) -Wl,-rpath,"$libdir" -o placement
  run_mpi placement
  mpifort=$(mpifort_of "$MPICC")
  if [ "$WITH_FORTRAN" != TRUE ] || ! [ -x "$mpifort" ]; then return; fi
  link="$(pkg-config --libs stanchion) -Wl,-rpath,$libdir"
  run "$mpifort" "$sources/redset.f90" "$examples/checkpoint_f.f90" $link -o from_source
  run_mpi from_source
  rm -f redset.mod
  run "$mpifort" -I"$PREFIX/include/stanchion_fortran" "$examples/checkpoint_f.f90" -L"$libdir" -lstanchion_fortran $link \
    -o installed
  run_mpi installed
  with_piof || return 0
  link="-Wl,-rpath,$libdir"
  run "$mpifort" -I"$PREFIX/include" "$examples/darray_f.f90" $(pkg-config --libs piof) $link -o installed
  run_mpi installed
  run "$MPICC" -I"$PREFIX/include" -c "$sources"/pio/*.c
  run "$mpifort" "$sources/pio/pio.f90" "$examples/darray_f.f90" ./*.o $(pkg-config --libs pio stanchion) $link -o from_source
  run_mpi from_source
}
with_piof() { [ -e "$libdir/libpiof.a" ]; }

# The package PIO in a project of Fortran alone, and archives of Fortran in programs of C.
case_cmake_fortran() {
  local mpifort=$(mpifort_of "$MPICC")
  if ! with_mpi || ! with_piof || ! [ -x "$mpifort" ]; then return; fi
  local options=(-DCMAKE_PREFIX_PATH="$PREFIX" -DMPI_Fortran_COMPILER="$mpifort" -DCMAKE_BUILD_TYPE=Release)
  "$CMAKE" -S "$here/fortran" -B . "${options[@]}"
  "$CMAKE" --build .
  run_mpi darray
  run_mpi darray-static
  "$CMAKE" -S "$here/mixed" -B mixed "${options[@]}" -DMPI_C_COMPILER="$MPICC"
  "$CMAKE" --build mixed
}

# The module of Fenix, with the compiler of the MPI.
case_fortran() {
  local mpifort=$(mpifort_of "$MPICC") link
  if ! with_mpi || [ "$WITH_FORTRAN" != TRUE ] || ! [ -x "$mpifort" ]; then return; fi
  link="$(pkg-config --libs fenix stanchion) -Wl,-rpath,$libdir"
  run "$mpifort" "$PREFIX/share/stanchion/fortran/fenix.f90" "$here/fenix_f.f90" $link -o from_source
  run_mpi from_source
  rm -f fenix.mod
  run "$mpifort" -I"$PREFIX/include/stanchion_fortran" "$here/fenix_f.f90" -L"$libdir" -lstanchion_fortran $link -o installed
  run_mpi installed
}

"case_$1"
