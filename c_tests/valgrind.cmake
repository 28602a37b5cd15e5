# Tests once more under valgrind, with less data: `ctest -L valgrind`. All serial ones, and kvtree_mpi
# on two ranks where the MPI is an Open MPI that brings a list of its own flaws.

find_program(VALGRIND_EXECUTABLE valgrind)
mark_as_advanced(VALGRIND_EXECUTABLE)

set(valgrind_flags -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite)

# add_valgrind_test(<name> COMMAND <command...>)
function(add_valgrind_test name)
  stanchion_run_test(valgrind.${name} PROCESSORS 1 TIMEOUT 300 LABELS valgrind ${ARGN})
  set_property(TEST valgrind.${name} APPEND PROPERTY ENVIRONMENT STANCHION_TEST_SMALL=1)
endfunction()

function(add_valgrind_mpi_test)
  include(CheckSymbolExists)
  set(CMAKE_REQUIRED_INCLUDES ${MPI_C_INCLUDE_DIRS})
  check_symbol_exists(OPEN_MPI mpi.h STANCHION_MPI_IS_OPEN_MPI)
  get_filename_component(prefix "${MPIEXEC_EXECUTABLE}/../.." ABSOLUTE)
  set(known "${prefix}/share/openmpi/openmpi-valgrind.supp")
  if(NOT STANCHION_MPI_IS_OPEN_MPI OR NOT EXISTS "${known}")
    return()
  endif()
  add_valgrind_test(kvtree_mpi.2 COMMAND
    "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} 2 ${MPIEXEC_PREFLAGS}
    "${VALGRIND_EXECUTABLE}" ${valgrind_flags} "--suppressions=${known}"
    "--suppressions=${CMAKE_CURRENT_SOURCE_DIR}/valgrind-mpi.supp" "$<TARGET_FILE:kvtree_mpi>" ${MPIEXEC_POSTFLAGS})
endfunction()

if(VALGRIND_EXECUTABLE)
  foreach(name IN LISTS serial_tests)
    add_valgrind_test(${name} COMMAND "${VALGRIND_EXECUTABLE}" ${valgrind_flags} "$<TARGET_FILE:${name}_base>"
                      ${${name}_arguments})
  endforeach()
  if(STANCHION_MPI)
    add_valgrind_mpi_test()
  endif()
endif()
