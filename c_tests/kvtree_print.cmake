# The command kvtree_print: output and exit code, against texts in expected/.

# add_print_test(<name> <exit code> <arguments...>), expecting expected/<name>.txt
function(add_print_test name result)
  stanchion_run_test(kvtree_print.${name} PROCESSORS 1 LABELS serial
    COMMAND "${CMAKE_COMMAND}" "-DEXPECTED=${CMAKE_CURRENT_SOURCE_DIR}/expected/${name}.txt" -DRESULT=${result}
            -P "${CMAKE_CURRENT_SOURCE_DIR}/check_output.cmake" -- "${STANCHION_BINARY_kvtree_print}" ${ARGN})
endfunction()

set(gather "${golden}/xor_n4/gather.0.0")
add_print_test(gather.tree 0 "${gather}")
add_print_test(gather.keyval 0 -m keyval "${gather}")
add_print_test(help 0 --help)
add_print_test(no_file 1)
add_print_test(missing 1 missing)
add_print_test(bad_option 1 --colour "${gather}")
add_print_test(bad_mode 1 "${gather}" --mode=xml)
