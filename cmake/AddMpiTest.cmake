# Tests that run a program, alone or under mpiexec, each in a fresh directory of its own.
# Labels: serial, mpi, fault, valgrind, install, slow; and sample: what scripts/test.sh runs on its second and third MPI.

set(STANCHION_TEST_WRAPPER "" CACHE STRING
    "Command put before every test program, e.g. valgrind;--error-exitcode=1")

# Lets Open MPI 4 and 5 run as root and with more ranks than cores, as containers and CI need, and ranks that wait
# give their core away (waiting_sleeps.c).
# MPICH does both unasked and ignores the variables.
set(STANCHION_TEST_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_btl_vader_single_copy_mechanism=none
    PRTE_ALLOW_RUN_AS_ROOT=1
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    CACHE STRING "Environment of every test")
mark_as_advanced(STANCHION_TEST_ENVIRONMENT)

# stanchion_sample_size(<result> <size>...): the size that stands for all: odd, and small because tests of many ranks take
# longest.
function(stanchion_sample_size result)
  list(GET ARGN 0 chosen)
  foreach(size 2 5 3)
    if(size IN_LIST ARGN)
      set(chosen ${size})
    endif()
  endforeach()
  set(${result} ${chosen} PARENT_SCOPE)
endfunction()

# add_mpi_test(NAME n EXECUTABLE target SIZES 1 2 ... [SLOW_SIZES 4 ...] [TIMEOUT s] [LABELS l...] [ARGUMENTS a...])
# One test per size, named <n>.<size>; one of them is in the sample. SLOW_SIZES are those that are not known to
# find anything that the others do not.
function(add_mpi_test)
  cmake_parse_arguments(ARG "" "NAME;EXECUTABLE;TIMEOUT" "SIZES;SLOW_SIZES;LABELS;ARGUMENTS" ${ARGN})
  stanchion_sample_size(sample ${ARG_SIZES})
  foreach(size IN LISTS ARG_SIZES ARG_SLOW_SIZES)
    set(labels mpi ${ARG_LABELS})
    if(size EQUAL sample)
      list(APPEND labels sample)
    endif()
    if(size IN_LIST ARG_SLOW_SIZES)
      list(APPEND labels slow)
    endif()
    stanchion_run_test(${ARG_NAME}.${size} PROCESSORS ${size} TIMEOUT "${ARG_TIMEOUT}" LABELS ${labels}
      COMMAND "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${size} ${MPIEXEC_PREFLAGS}
              ${STANCHION_TEST_WRAPPER} "$<TARGET_FILE:${ARG_EXECUTABLE}>" ${MPIEXEC_POSTFLAGS} ${ARG_ARGUMENTS})
  endforeach()
endfunction()

# add_serial_test(NAME n EXECUTABLE target [TIMEOUT s] [LABELS l...] [ARGUMENTS a...])
function(add_serial_test)
  cmake_parse_arguments(ARG "" "NAME;EXECUTABLE;TIMEOUT" "LABELS;ARGUMENTS" ${ARGN})
  stanchion_run_test(${ARG_NAME}
    PROCESSORS 1 TIMEOUT "${ARG_TIMEOUT}" LABELS serial ${ARG_LABELS}
    COMMAND ${STANCHION_TEST_WRAPPER} "$<TARGET_FILE:${ARG_EXECUTABLE}>" ${ARG_ARGUMENTS})
endfunction()

# stanchion_run_test(<name> COMMAND c... PROCESSORS <ranks> [TIMEOUT s] [LABELS l...])
# Ranks that wait sleep: four of them keep about one core busy.
function(stanchion_run_test name)
  cmake_parse_arguments(ARG "" "PROCESSORS;TIMEOUT" "LABELS;COMMAND" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(STANCHION_TEST_WRAPPER)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 10")
  endif()
  math(EXPR processors "(${ARG_PROCESSORS} + 3) / 4")
  add_test(NAME ${name}
           COMMAND "${CMAKE_COMMAND}" "-DDIRECTORY=${PROJECT_BINARY_DIR}/test-directories/${name}"
                   -P "${PROJECT_SOURCE_DIR}/cmake/RunInFreshDirectory.cmake" -- ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT}
    PROCESSORS ${processors}
    LABELS "${ARG_LABELS}"
    ENVIRONMENT "${STANCHION_TEST_ENVIRONMENT}")
  if(mpi IN_LIST ARG_LABELS)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:waiting_sleeps>")
  endif()
endfunction()
