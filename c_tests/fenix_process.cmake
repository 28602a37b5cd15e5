# Jobs that lose ranks and go on: only where the MPI can repair communicators, that is, has ULFM as Open MPI 5 does.

if(NOT STANCHION_ULFM)
  return()
endif()

# As docs/fenix.md has it, with the reasons.
set(ulfm_settings OMPI_MCA_async_mpi_finalize=1 OMPI_MCA_mpi_add_procs_cutoff=1024 OMPI_MCA_coll=^han,hcoll,portals4)

# stanchion_run_resilient(<name> <ranks> <timeout> SCRIPT <words...> PROGRAM <words...> [LABELS l...])
function(stanchion_run_resilient name ranks timeout)
  cmake_parse_arguments(ARG "" "" "SCRIPT;PROGRAM;LABELS" ${ARGN})
  stanchion_run_test(${name} PROCESSORS ${ranks} TIMEOUT ${timeout} LABELS mpi fault ${ARG_LABELS}
    COMMAND bash ${ARG_SCRIPT} "${MPIEXEC_EXECUTABLE}" --with-ft ulfm ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
            ${ARG_PROGRAM})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${ulfm_settings})
endfunction()

add_test_program(fenix_process fenix_process.c stanchion)

# add_recovery_test(<scenario> <ranks> <ranks that end well, or none>)
function(add_recovery_test scenario ranks ending)
  stanchion_run_resilient(fenix_process.${scenario} ${ranks} 80
    SCRIPT "${CMAKE_CURRENT_SOURCE_DIR}/fenix_process.sh" ${ending}
    PROGRAM "$<TARGET_FILE:fenix_process>" ${scenario})
endfunction()

add_recovery_test(two 6 4)
add_recovery_test(three_in_a_row 6 3)
add_recovery_test(in_callback 6 3)
add_recovery_test(dead_spares 6 3)
add_recovery_test(only_spares 5 3)
add_recovery_test(shrink 6 3)
add_recovery_test(no_spare 4 2)
add_recovery_test(no_jump 5 3)
add_recovery_test(detect 4 3)
add_recovery_test(at_finalize 5 3)
add_recovery_test(before_finalize 4 2)
add_recovery_test(open_requests 4 3)
add_recovery_test(exchange 4 3)
add_recovery_test(blocked 5 4)
add_recovery_test(apply 5 4)
add_recovery_test(apply_returns 4 3)
add_recovery_test(arrays 5 4)
add_recovery_test(arrays_midway 7 4)
add_recovery_test(derived 5 4)
add_recovery_test(blocked_derived 5 4)
add_recovery_test(incomplete 6 4)
add_recovery_test(finalize_returns 4 3)
add_recovery_test(shrink_policy 4 3)
add_recovery_test(unhandled 4 3)
add_recovery_test(broken_pipe 4 3)
add_recovery_test(majority 5 3)
add_recovery_test(minority 5 2)
add_recovery_test(all_die 4 none)

# Without a jump, as Fortran has it: data calls return what came between.
function(add_no_jump_test name ranks)
  stanchion_run_resilient(fenix_no_jump.${name} ${ranks} 80
    SCRIPT "${CMAKE_CURRENT_SOURCE_DIR}/fenix_process.sh" 4 PROGRAM "$<TARGET_FILE:fenix_no_jump>" ${ARGN})
endfunction()
add_no_jump_test(one 5 14:1)
add_no_jump_test(at_commit 5 15:2)
add_no_jump_test(two_in_a_row 6 8:1 19:3)

# Whole domains of a placed job: eight ranks and as many spares as are lost.
add_test_program(fenix_placed_kill fenix_placed_kill.c stanchion)
function(add_domain_test name ranks mode domain)
  stanchion_run_resilient(fenix_placed_kill.${name} ${ranks} 80
    SCRIPT "${CMAKE_CURRENT_SOURCE_DIR}/fenix_process.sh" 8 PROGRAM "$<TARGET_FILE:fenix_placed_kill>" ${mode} ${domain})
endfunction()
add_domain_test(rack_of_copies 12 1 rack0)
add_domain_test(chassis_of_parity 10 5 rack1/chassis0)
add_domain_test(node_of_parity 9 5 rack0/chassis1/node2)
add_domain_test(too_much 12 5 rack1)

# Ranks killed at random moments: a few rounds always, many with the slow tests.
add_test_program(fenix_kill fenix_kill.c stanchion)
function(add_rank_kill_test name rounds timeout)
  stanchion_run_test(fenix_kill.${name} PROCESSORS 8 TIMEOUT ${timeout} LABELS mpi fault ${ARGN}
    COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/fenix_kill.sh" ${rounds} "$<TARGET_FILE:fenix_kill>"
            "${MPIEXEC_EXECUTABLE}" --with-ft ulfm ${MPIEXEC_PREFLAGS} ${MPIEXEC_NUMPROC_FLAG})
  set_property(TEST fenix_kill.${name} APPEND PROPERTY ENVIRONMENT ${ulfm_settings})
endfunction()
add_rank_kill_test(few 4 350)
add_rank_kill_test(many 300 20000 slow)
