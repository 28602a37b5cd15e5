# The configure step says whether Fenix can repair jobs, and why not.

function(add_ulfm_probe_test case wanted text)
  add_test(NAME ulfm_probe.${case}
    COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_SOURCE_DIR}/ulfm_probe" -B "${PROJECT_BINARY_DIR}/test-directories/ulfm_probe.${case}"
            "-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}" -DCASE=${case} -DWANTED=${wanted})
  set_tests_properties(ulfm_probe.${case} PROPERTIES LABELS serial PASS_REGULAR_EXPRESSION "${text}"
                       FAIL_REGULAR_EXPRESSION "CMake Error")
endfunction()

add_ulfm_probe_test(none OFF "Fenix cannot repair jobs: this MPI has no ULFM")
add_ulfm_probe_test(header OFF "Fenix cannot repair jobs: mpi-ext.h declares ULFM, but")
add_ulfm_probe_test(usable ON "Fenix can repair jobs")
