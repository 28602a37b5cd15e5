# The file libraries are loaded when PIO needs them.

# Programs that use the same libraries.
if(STANCHION_HAVE_NETCDF)
  find_path(STANCHION_TEST_HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
  find_library(STANCHION_TEST_HDF5_LIBRARY NAMES hdf5_serial hdf5)
  mark_as_advanced(STANCHION_TEST_HDF5_INCLUDE_DIR STANCHION_TEST_HDF5_LIBRARY)
  add_test_program(pio_beside pio_beside.c stanchion)
  target_include_directories(pio_beside SYSTEM PRIVATE "${STANCHION_NETCDF_INCLUDE_DIR}")
  target_link_libraries(pio_beside PRIVATE "${STANCHION_NETCDF_LIBRARY}")
  if(STANCHION_TEST_HDF5_INCLUDE_DIR AND STANCHION_TEST_HDF5_LIBRARY)
    target_compile_definitions(pio_beside PRIVATE STANCHION_TEST_HDF5)
    target_include_directories(pio_beside SYSTEM PRIVATE "${STANCHION_TEST_HDF5_INCLUDE_DIR}")
    target_link_libraries(pio_beside PRIVATE "${STANCHION_TEST_HDF5_LIBRARY}")
  endif()
  add_mpi_test(NAME pio_beside EXECUTABLE pio_beside SIZES 1 2 4)
endif()

# Libraries that one rank cannot load.
add_test_program(pio_library pio_library.c stanchion)
add_library(other_mpi MODULE other_mpi.c)
foreach(library IN LISTS STANCHION_FILE_NAMES)
  string(TOUPPER ${library} name)
  if(NOT STANCHION_${name}_NAMES MATCHES "^([^:]+):")
    continue()
  endif()
  set(soname ${CMAKE_MATCH_1})
  foreach(case missing other_mpi configured)
    stanchion_run_test(pio_library.${library}.${case} PROCESSORS 3 LABELS mpi sample
      COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/pio_library.sh" ${case} ${library} ${soname}
              "$<TARGET_SONAME_FILE:stanchion>" "$<TARGET_FILE:other_mpi>"
              "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} "$<TARGET_FILE:pio_library>")
  endforeach()
endforeach()

# A header that declares a function in another way stops the build.
list(GET STANCHION_FILE_NAMES 0 library)
set(prefix_netcdf nc)
set(prefix_pnetcdf ncmpi)
file(READ "${PROJECT_BINARY_DIR}/link/pioc/calls.c" text)
string(REPLACE "int ${prefix_${library}}_inq_varid(int," "int ${prefix_${library}}_inq_varid(long," text "${text}")
stanchion_write_if_different("${CMAKE_CURRENT_BINARY_DIR}/calls_changed.c" "${text}")
set(includes ${STANCHION_FILE_INCLUDES} ${MPI_C_INCLUDE_DIRS} "${PROJECT_SOURCE_DIR}/src/shim")
list(REMOVE_ITEM includes ${CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES})
list(TRANSFORM includes PREPEND -I)
add_test(NAME pio_calls.changed
         COMMAND "${CMAKE_C_COMPILER}" -fsyntax-only ${includes} "${CMAKE_CURRENT_BINARY_DIR}/calls_changed.c")
set_tests_properties(pio_calls.changed PROPERTIES
  LABELS serial PASS_REGULAR_EXPRESSION "conflicting types for [^\n]*${prefix_${library}}_inq_varid")
