# Finds the MPI, the mpiexec that belongs to it, and what cargo must be told so that both halves of
# the library use the same one.

# mpicc.mpich goes with mpiexec.mpich beside it, <prefix>/bin/mpicc with <prefix>/bin/mpiexec;
# FindMPI alone would take the first mpiexec on the PATH.
function(stanchion_find_mpiexec)
  if(MPIEXEC_EXECUTABLE OR NOT MPI_C_COMPILER)
    return()
  endif()
  find_program(STANCHION_MPI_WRAPPER NAMES "${MPI_C_COMPILER}")
  mark_as_advanced(STANCHION_MPI_WRAPPER)
  if(NOT STANCHION_MPI_WRAPPER)
    message(FATAL_ERROR "MPI_C_COMPILER is ${MPI_C_COMPILER}, which is not a program that can be found.")
  endif()
  get_filename_component(directory "${STANCHION_MPI_WRAPPER}" DIRECTORY)
  get_filename_component(name "${STANCHION_MPI_WRAPPER}" NAME)
  string(REGEX REPLACE "^mpi[a-z]*" "" suffix "${name}")
  foreach(launcher mpiexec mpirun)
    if(EXISTS "${directory}/${launcher}${suffix}")
      set(MPIEXEC_EXECUTABLE "${directory}/${launcher}${suffix}" CACHE FILEPATH "Starts MPI programs")
      return()
    endif()
  endforeach()
endfunction()

# The first mpi.h on a list of directories, or nothing.
function(stanchion_first_mpi_h result)
  set(${result} "" PARENT_SCOPE)
  foreach(directory IN LISTS ARGN)
    if(EXISTS "${directory}/mpi.h")
      get_filename_component(header "${directory}/mpi.h" REALPATH)
      set(${result} "${header}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# cargo's mpi-sys asks `<wrapper> -show`; CMake may hold answers of another wrapper in its cache.
function(stanchion_check_wrapper show_result)
  execute_process(COMMAND "${MPI_C_COMPILER}" -show OUTPUT_VARIABLE show ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(words UNIX_COMMAND "${show}")
  list(FILTER words INCLUDE REGEX "^-I.")
  list(TRANSFORM words REPLACE "^-I" "")
  stanchion_first_mpi_h(wrapper_header ${words})
  stanchion_first_mpi_h(cmake_header ${MPI_C_INCLUDE_DIRS})
  if(wrapper_header AND cmake_header AND NOT wrapper_header STREQUAL cmake_header)
    message(FATAL_ERROR "CMake and the MPI wrapper disagree about which MPI to use:\n"
      "  CMake found       ${cmake_header}\n  ${MPI_C_COMPILER} -show names  ${wrapper_header}\n"
      "Configure an empty build directory with -DMPI_C_COMPILER=<the wrapper you want>.")
  endif()
  set(${show_result} "${MPI_C_COMPILER} ${show}" PARENT_SCOPE)
endfunction()

# bindgen loads libclang while cargo runs; without it the build would end in a long Rust panic.
function(stanchion_find_libclang)
  file(GLOB llvm_directories /usr/lib/llvm-*/lib /usr/lib64/llvm*/lib /usr/local/llvm*/lib /opt/llvm*/lib)
  file(GLOB versioned $ENV{LIBCLANG_PATH}/libclang*.so* /usr/lib/*/libclang-*.so* /usr/lib64/libclang.so*)
  list(TRANSFORM versioned REPLACE ".*/" "")
  find_library(STANCHION_LIBCLANG NAMES clang libclang.so libclang.so.1 ${versioned}
               HINTS ENV LIBCLANG_PATH PATHS ${llvm_directories}
               DOC "libclang, which reads mpi.h for the Rust half")
  if(NOT STANCHION_LIBCLANG)
    message(FATAL_ERROR "libclang was not found: the MPI build needs it to read mpi.h. Install it (Debian: "
      "libclang-dev), or set LIBCLANG_PATH in the environment or -DSTANCHION_LIBCLANG=<file>.")
  endif()
endfunction()

stanchion_find_mpiexec()
stanchion_find_target(MPI::MPI_C MPI COMPONENTS C)
stanchion_check_wrapper(STANCHION_MPI_SHOW)
stanchion_find_libclang()

get_filename_component(libclang_directory "${STANCHION_LIBCLANG}" DIRECTORY)
set(STANCHION_MPI_CARGO_ENV "MPICC=${MPI_C_COMPILER}" "LIBCLANG_PATH=${libclang_directory}")
if(STANCHION_MPI_SHOW MATCHES " -I")
  # mpi-sys asks these before it asks the wrapper.
  list(INSERT STANCHION_MPI_CARGO_ENV 0 --unset=MPI_PKG_CONFIG --unset=CRAY_MPICH_DIR)
endif()
message(STATUS "MPI: ${MPI_C_COMPILER}, started by ${MPIEXEC_EXECUTABLE}")
