# The serial tests once more under valgrind, with less data: `ctest -L valgrind`.

find_program(VALGRIND_EXECUTABLE valgrind)
mark_as_advanced(VALGRIND_EXECUTABLE)

set(valgrind_flags -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite)

# add_valgrind_test(<name> <target> [arguments...])
function(add_valgrind_test name target)
  stanchion_run_test(valgrind.${name} PROCESSORS 1 TIMEOUT 300 LABELS valgrind
    COMMAND "${VALGRIND_EXECUTABLE}" ${valgrind_flags} "$<TARGET_FILE:${target}>" ${ARGN})
  set_property(TEST valgrind.${name} APPEND PROPERTY ENVIRONMENT STANCHION_TEST_SMALL=1)
endfunction()

if(VALGRIND_EXECUTABLE)
  foreach(name IN LISTS serial_tests)
    add_valgrind_test(${name} ${name}_base ${${name}_arguments})
  endforeach()
endif()
