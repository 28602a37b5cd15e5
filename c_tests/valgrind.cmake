# Tests once more under valgrind, with less data: `ctest -L valgrind`. All serial ones, and some on a few ranks
# where the MPI is an Open MPI that brings a list of its own flaws.

find_program(VALGRIND_EXECUTABLE valgrind)
mark_as_advanced(VALGRIND_EXECUTABLE)

set(valgrind_flags -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite)

# add_valgrind_test(<name> COMMAND <command...>)
function(add_valgrind_test name)
  stanchion_run_test(valgrind.${name} PROCESSORS 1 TIMEOUT 300 LABELS valgrind ${ARGN})
  set_property(TEST valgrind.${name} APPEND PROPERTY ENVIRONMENT STANCHION_TEST_SMALL=1)
endfunction()

# add_valgrind_mpi_tests(<name>.<ranks>...)
function(add_valgrind_mpi_tests)
  include(CheckSymbolExists)
  set(CMAKE_REQUIRED_INCLUDES ${MPI_C_INCLUDE_DIRS})
  check_symbol_exists(OPEN_MPI mpi.h STANCHION_MPI_IS_OPEN_MPI)
  get_filename_component(prefix "${MPIEXEC_EXECUTABLE}/../.." ABSOLUTE)
  set(known "${prefix}/share/openmpi/openmpi-valgrind.supp")
  if(NOT STANCHION_MPI_IS_OPEN_MPI OR NOT EXISTS "${known}")
    return()
  endif()
  foreach(test ${ARGN})
    string(REGEX MATCH "^(.*)\\.([0-9]+)$" _ ${test})
    add_valgrind_test(${test} COMMAND
      "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${CMAKE_MATCH_2} ${MPIEXEC_PREFLAGS}
      "${VALGRIND_EXECUTABLE}" ${valgrind_flags} "--suppressions=${known}"
      "--suppressions=${CMAKE_CURRENT_SOURCE_DIR}/valgrind-mpi.supp" "$<TARGET_FILE:${CMAKE_MATCH_1}>" ${MPIEXEC_POSTFLAGS})
  endforeach()
endfunction()

if(VALGRIND_EXECUTABLE)
  foreach(name IN LISTS serial_tests)
    add_valgrind_test(${name} COMMAND "${VALGRIND_EXECUTABLE}" ${valgrind_flags} "$<TARGET_FILE:${name}_base>"
                      ${${name}_arguments})
  endforeach()
  if(STANCHION_MPI)
    add_valgrind_test(fenix_subset COMMAND "${VALGRIND_EXECUTABLE}" ${valgrind_flags} "$<TARGET_FILE:fenix_subset>")
    add_valgrind_mpi_tests(kvtree_mpi.2 fenix_loss.3 fenix_types.3)
  endif()
endif()
