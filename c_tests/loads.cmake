# A program that is linked with the libraries loads nothing besides MPI and what the compiler brings.

find_program(STANCHION_LDD ldd)
mark_as_advanced(STANCHION_LDD)

# add_loads_test(<library> [<file whose libraries are needed anyway>])
function(add_loads_test library)
  add_test(NAME loads.${library}
           COMMAND "${CMAKE_COMMAND}" "-DLDD=${STANCHION_LDD}" "-DLIBRARY=$<TARGET_FILE:${library}>" "-DBESIDE=${ARGN}"
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/check_loads.cmake")
  set_tests_properties(loads.${library} PROPERTIES LABELS serial)
endfunction()

if(STANCHION_LDD)
  add_loads_test(stanchion_base)
  if(STANCHION_MPI)
    add_library(mpi_alone MODULE mpi_alone.c)
    target_link_libraries(mpi_alone PRIVATE MPI::MPI_C)
    add_loads_test(stanchion "$<TARGET_FILE:mpi_alone>")
  endif()
endif()
