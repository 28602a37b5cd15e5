# PIO, in C and in Fortran. Without a file library only decompositions and maps are left to test.

set(pio_sizes 1 2 5)
set(pio_slow_sizes 4 8)
foreach(name pio_decomp pio_map_files pio_errors)
  add_test_program(${name} ${name}.c stanchion)
  add_mpi_test(NAME ${name} EXECUTABLE ${name} SIZES ${pio_sizes} SLOW_SIZES ${pio_slow_sizes})
endforeach()

foreach(name pio_same pio_sparse pio_threads)
  add_test_program(${name} ${name}.c stanchion)
  add_mpi_test(NAME ${name} EXECUTABLE ${name} SIZES 2 4)
endforeach()

add_test_program(pio_bounds pio_bounds.c stanchion)
foreach(word holes wrap other)
  add_mpi_test(NAME pio_bounds.${word} EXECUTABLE pio_bounds SIZES 4 ARGUMENTS ${word})
endforeach()

if(STANCHION_FILE_LIBS)
  foreach(name pio_darray pio_metadata)
    add_test_program(${name} ${name}.c stanchion)
    add_mpi_test(NAME ${name} EXECUTABLE ${name} SIZES ${pio_sizes} SLOW_SIZES ${pio_slow_sizes})
  endforeach()

  # Bytes and text of files, against a serial writer.
  add_test_program(pio_files pio_files.c stanchion)
  find_program(NCDUMP_EXECUTABLE ncdump)
  find_program(NCMPIDUMP_EXECUTABLE ncmpidump)
  mark_as_advanced(NCDUMP_EXECUTABLE NCMPIDUMP_EXECUTABLE)
  foreach(library NETCDF PNETCDF)
    if(STANCHION_HAVE_${library})
      target_compile_definitions(pio_files PRIVATE STANCHION_TEST_${library})
      target_include_directories(pio_files SYSTEM PRIVATE "${STANCHION_${library}_INCLUDE_DIR}")
      target_link_libraries(pio_files PRIVATE "${STANCHION_${library}_LIBRARY}")
    endif()
  endforeach()
  stanchion_sample_size(sample ${pio_sizes})
  foreach(size IN LISTS pio_sizes pio_slow_sizes)
    stanchion_run_test(pio_files.${size} PROCESSORS ${size}
      LABELS mpi $<$<EQUAL:${size},${sample}>:sample> $<$<IN_LIST:${size},${pio_slow_sizes}>:slow>
      COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/pio_files.sh"
              "$<IF:$<BOOL:${NCDUMP_EXECUTABLE}>,${NCDUMP_EXECUTABLE},->"
              "$<IF:$<BOOL:${NCMPIDUMP_EXECUTABLE}>,${NCMPIDUMP_EXECUTABLE},->"
              "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${size} ${MPIEXEC_PREFLAGS} "$<TARGET_FILE:pio_files>"
              ${MPIEXEC_POSTFLAGS})
  endforeach()
  include(pio_loading.cmake)
endif()

# Every exported name is in the header, but for what upstream's header does not have either.
set(pio_names ${STANCHION_EXPORTS})
list(FILTER pio_names INCLUDE REGEX "^PIOc_")
list(FILTER pio_names EXCLUDE REGEX "_tc$")
list(TRANSFORM pio_names PREPEND "  (function)")
list(JOIN pio_names ",\n" pio_names)
stanchion_write_if_different("${CMAKE_CURRENT_BINARY_DIR}/pio_names.c"
  "#include \"pio.h\"\ntypedef void (*function)(void);\nfunction names[] = {\n${pio_names}\n};\n\nint main(void)\n{\n  return names[0] ? 0 : 1;\n}\n")
add_test_program(pio_names "${CMAKE_CURRENT_BINARY_DIR}/pio_names.c" stanchion)
add_serial_test(NAME pio_names EXECUTABLE pio_names)

# The examples as they are.
add_test_program(example_darray "${PROJECT_SOURCE_DIR}/examples/darray.c" stanchion)
add_mpi_test(NAME example_darray EXECUTABLE example_darray SIZES 1 4)

# Every generic of the module. The program starts in C, so that it needs nothing of the MPI's Fortran half.
if(STANCHION_HAVE_PIOF)
  add_library(pio_fortran_checks STATIC pio_fortran.f90)
  set_target_properties(pio_fortran_checks PROPERTIES Fortran_MODULE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/pio_fortran_modules")
  target_link_libraries(pio_fortran_checks PUBLIC piof)
  add_test_program(pio_fortran pio_fortran.c pio_fortran_checks)
  add_mpi_test(NAME pio_fortran EXECUTABLE pio_fortran SIZES ${pio_sizes} SLOW_SIZES ${pio_slow_sizes})
endif()
