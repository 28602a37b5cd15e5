# Every installed header, alone and twice in one file, compiles without a warning as C99, C11 and C++11;
# those that know programs without MPI, both ways.

include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
endif()

set(header_system_includes ${ZLIB_INCLUDE_DIRS} ${MPI_C_INCLUDE_DIRS})
# -isystem of the compiler's own directory would break C++'s #include_next.
list(REMOVE_ITEM header_system_includes ${CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES})
list(TRANSFORM header_system_includes PREPEND "-isystem")

# add_header_test(<header> <standard> <compiler> <language> [<macro>])
function(add_header_test header standard compiler language)
  get_filename_component(name ${header} NAME_WE)
  set(define ${ARGN})
  if(define)
    string(TOLOWER "${define}" suffix)
    string(REGEX REPLACE "^.*_(mpi|ncar)(=1)?$" ".\\1" suffix "${suffix}")
    string(APPEND name ${suffix})
    list(TRANSFORM define PREPEND -D)
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/header_${name}.txt")
  file(WRITE "${source}" "#include \"${header}\"\n#include \"${header}\"\n")
  add_test(NAME header.${name}.${standard}
           COMMAND "${compiler}" -x ${language} -std=${standard} ${STANCHION_C_WARNINGS} -pedantic -fsyntax-only ${define}
                   "-I${PROJECT_SOURCE_DIR}/include" ${header_system_includes} "${source}")
  set_tests_properties(header.${name}.${standard} PROPERTIES LABELS serial)
endfunction()

function(add_header_tests header)
  add_header_test(${header} c99 "${CMAKE_C_COMPILER}" c ${ARGN})
  add_header_test(${header} c11 "${CMAKE_C_COMPILER}" c ${ARGN})
  if(CMAKE_CXX_COMPILER)
    add_header_test(${header} c++11 "${CMAKE_CXX_COMPILER}" c++ ${ARGN})
  endif()
endfunction()

foreach(header IN LISTS STANCHION_HEADERS)
  add_header_tests(${header})
endforeach()
if(STANCHION_MPI)
  add_header_tests(redset.h REDSET_ENABLE_MPI)
  add_header_tests(stanchion.h REDSET_ENABLE_MPI)
  add_header_tests(pio.h STANCHION_PIO_NCAR=1)
endif()
