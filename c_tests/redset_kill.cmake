# Jobs that are killed at a random moment: a few rounds always, many with the slow tests.

add_test_program(redset_kill redset_kill.c stanchion)

# add_kill_test(<name> <rounds> <ranks> <timeout> [<label>])
function(add_kill_test name rounds ranks timeout)
  stanchion_run_test(redset_kill.${name} PROCESSORS ${ranks} TIMEOUT ${timeout} LABELS mpi fault ${ARGN}
    COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/redset_kill.sh" ${rounds} ${ranks} "$<TARGET_FILE:redset_kill>"
            "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS})
endfunction()

add_kill_test(few 6 4 300)
add_kill_test(many 100 4 3000 slow)
