# Memory that runs out, request by request: a sample, and as `slow` every one of the first 600 requests of each case.
# Not with sanitizers or valgrind, which bring a malloc of their own.
add_library(alloc_faults MODULE alloc_faults.c)
target_link_libraries(alloc_faults PRIVATE ${CMAKE_DL_LIBS})
add_test_program(alloc_faults_calls alloc_faults_calls.c stanchion)
add_mpi_test(NAME alloc_faults EXECUTABLE alloc_faults_calls SIZES 2 ARGUMENTS sample LABELS fault)
add_mpi_test(NAME alloc_faults.all EXECUTABLE alloc_faults_calls SIZES 2 4 TIMEOUT 3000 ARGUMENTS all LABELS fault slow)
add_mpi_test(NAME alloc_faults.large EXECUTABLE alloc_faults_calls SIZES 2 TIMEOUT 1000 ARGUMENTS large LABELS fault slow)
foreach(test alloc_faults.2 alloc_faults.all.2 alloc_faults.all.4 alloc_faults.large.2)
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
               "LD_PRELOAD=$<TARGET_FILE:waiting_sleeps>:$<TARGET_FILE:alloc_faults>")
endforeach()
