# Which file libraries PIO gets: PnetCDF and serial netCDF, each used when it is there and fits the MPI.
# STANCHION_PNETCDF, STANCHION_NETCDF: AUTO takes what works, ON insists, OFF leaves it out.
# PIO loads them when it first needs them; only its static library is linked with them.
# Sets STANCHION_PIO_FEATURES and STANCHION_PIO_CARGO_ENV (of cargo), STANCHION_FILE_NAMES, STANCHION_FILE_LIBS
# and STANCHION_FILE_INCLUDES (for the table of their functions), STANCHION_FILE_DIRECTORIES (where the loader is to look besides) and
# STANCHION_FILE_LINK_FLAGS (for links of the installed archive).

set(STANCHION_PNETCDF AUTO CACHE STRING "PIO with PnetCDF: AUTO, ON or OFF")
set(STANCHION_NETCDF AUTO CACHE STRING "PIO with serial netCDF: AUTO, ON or OFF")
set(STANCHION_PIO_ABI scorpio CACHE STRING "Whose binary interface pio.h has: scorpio or ncar")
set_property(CACHE STANCHION_PNETCDF STANCHION_NETCDF PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE STANCHION_PIO_ABI PROPERTY STRINGS scorpio ncar)

# What MPI itself is called in the list of what a program loads; not its C++ and Fortran halves.
set(STANCHION_LIBMPI "libmpi(ch|_(abi|cray|gnu|intel|amd|aocc|nvidia|pgi)[a-z0-9_]*)?\\.so[.0-9]*")

# The MPI libraries that a program or library would load here, as real paths; empty when that cannot be told.
function(stanchion_mpi_of result file)
  set(${result} "" PARENT_SCOPE)
  find_program(STANCHION_LDD ldd DOC "Tells what a program loads")
  mark_as_advanced(STANCHION_LDD)
  if(NOT STANCHION_LDD OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  execute_process(COMMAND "${STANCHION_LDD}" "${file}" OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCHALL "${STANCHION_LIBMPI} => /[^ \n]+" lines "${text}")
  set(found)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".* => " "" path "${line}")
    get_filename_component(path "${path}" REALPATH)
    list(APPEND found "${path}")
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Leaves in <result> what speaks against using <library>: nothing, or a sentence. A program that loads two
# MPIs, or another MPI than the library alone would load, breaks at its first file at the latest.
function(stanchion_try_file_library result name library source)
  set(${result} "" PARENT_SCOPE)
  set(program "${PROJECT_BINARY_DIR}/CMakeFiles/probe_${name}")
  file(WRITE "${program}.c" "${source}")
  try_compile(links "${PROJECT_BINARY_DIR}/CMakeFiles/probe" "${program}.c"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${STANCHION_${name}_INCLUDE_DIR}"
    LINK_LIBRARIES "${library}" MPI::MPI_C
    OUTPUT_VARIABLE output
    COPY_FILE "${program}" COPY_FILE_ERROR ignored)
  if(NOT links)
    file(APPEND "${PROJECT_BINARY_DIR}/CMakeFiles/CMakeError.log" "${name}:\n${output}\n")
    set(${result} "a program with ${library} and this MPI does not link (see CMakeFiles/CMakeError.log)" PARENT_SCOPE)
    return()
  endif()
  stanchion_mpi_of(of_program "${program}")
  stanchion_mpi_of(of_library "${library}")
  set(all ${of_program} ${of_library})
  list(REMOVE_DUPLICATES all)
  list(LENGTH all count)
  if(of_program AND count GREATER 1)
    list(REMOVE_ITEM of_program ${of_library})
    set(${result} "${library} belongs to another MPI (${of_library}) than the one in use (${of_program})" PARENT_SCOPE)
  endif()
endfunction()

# How a link elsewhere names it: by -l where the compiler looks anyway.
function(stanchion_link_flags result library)
  get_filename_component(directory "${library}" DIRECTORY)
  get_filename_component(name "${library}" NAME_WE)
  string(REGEX REPLACE "^lib" "-l" flags "${name}")
  if(NOT directory IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    list(INSERT flags 0 "-L${directory}")
  endif()
  set(${result} ${flags} PARENT_SCOPE)
endfunction()

# What PIO asks the loader for: the library's SONAME, then the file that was found, for loaders that do not look there.
# An archive cannot be loaded and leaves nothing.
function(stanchion_loader_names result library)
  set(${result} "" PARENT_SCOPE)
  if(library MATCHES "\\.a$")
    return()
  endif()
  find_program(CMAKE_READELF readelf)
  get_filename_component(real "${library}" REALPATH)
  get_filename_component(soname "${real}" NAME)
  if(CMAKE_READELF)
    execute_process(COMMAND "${CMAKE_READELF}" -d "${library}" OUTPUT_VARIABLE text ERROR_QUIET)
    if(text MATCHES "\\(SONAME\\)[^\n]*\\[([^]\n]+)\\]")
      set(soname "${CMAKE_MATCH_1}")
    endif()
  endif()
  get_filename_component(directory "${library}" DIRECTORY)
  if(EXISTS "${directory}/${soname}")
    set(real "${directory}/${soname}")
  endif()
  set(${result} "${soname}:${real}" PARENT_SCOPE)
endfunction()

# stanchion_find_file_library(<PNETCDF|NETCDF> <title> <header> <library> <source of a program> <hints>...)
function(stanchion_find_file_library name title header file source)
  if(NOT STANCHION_${name})
    set(STANCHION_HAVE_${name} FALSE PARENT_SCOPE)
    return()
  endif()
  find_path(STANCHION_${name}_INCLUDE_DIR ${header} HINTS ${ARGN} PATH_SUFFIXES include DOC "Directory of ${header}")
  find_library(STANCHION_${name}_LIBRARY ${file} HINTS ${ARGN} PATH_SUFFIXES lib lib64 DOC "The library ${title}")
  mark_as_advanced(STANCHION_${name}_INCLUDE_DIR STANCHION_${name}_LIBRARY)
  set(library "${STANCHION_${name}_LIBRARY}")
  if(library AND STANCHION_${name}_INCLUDE_DIR)
    stanchion_try_file_library(objection ${name} "${library}" "${source}")
  else()
    set(objection "${header} or lib${file} was not found")
  endif()
  if(objection AND NOT STANCHION_${name} STREQUAL "AUTO")
    message(FATAL_ERROR "STANCHION_${name} is ${STANCHION_${name}}, but ${objection}. Set CMAKE_PREFIX_PATH or "
                        "STANCHION_${name}_INCLUDE_DIR and STANCHION_${name}_LIBRARY.")
  endif()
  if(objection)
    message(STATUS "PIO without ${title}: ${objection}")
    set(STANCHION_HAVE_${name} FALSE PARENT_SCOPE)
    return()
  endif()
  stanchion_link_flags(flags "${library}")
  stanchion_loader_names(names "${library}")
  get_filename_component(directory "${library}" DIRECTORY)
  if(NOT directory IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    set(STANCHION_FILE_DIRECTORIES ${STANCHION_FILE_DIRECTORIES} "${directory}" PARENT_SCOPE)
  endif()
  set(STANCHION_HAVE_${name} TRUE PARENT_SCOPE)
  set(STANCHION_${name}_NAMES "${names}" CACHE INTERNAL "What PIO asks the loader for")
  set(STANCHION_FILE_LIBS ${STANCHION_FILE_LIBS} "${library}" PARENT_SCOPE)
  set(STANCHION_FILE_LINK_FLAGS ${STANCHION_FILE_LINK_FLAGS} ${flags} PARENT_SCOPE)
  message(STATUS "PIO with ${title}: ${library}")
endfunction()

set(STANCHION_FILE_LIBS)
set(STANCHION_FILE_DIRECTORIES)
set(STANCHION_FILE_LINK_FLAGS)
stanchion_find_file_library(PNETCDF "PnetCDF" pnetcdf.h pnetcdf
"#include <mpi.h>
#include <pnetcdf.h>
int main(int argc, char **argv)
{
  int file, request;
  MPI_Offset *none[1] = {0};
  MPI_Init(&argc, &argv);
  if (ncmpi_create(MPI_COMM_WORLD, argv[0], NC_64BIT_DATA, MPI_INFO_NULL, &file)) return 1;
  ncmpi_iput_varn_double(file, 0, 0, none, none, 0, &request);
  ncmpi_close(file);
  return MPI_Finalize();
}
" "${PnetCDF_PATH}" "${PnetCDF_ROOT}" ENV PnetCDF_ROOT ENV PNETCDF_ROOT ENV PNETCDF)
stanchion_find_file_library(NETCDF "netCDF" netcdf.h netcdf
"#include <mpi.h>
#include <netcdf.h>
int main(int argc, char **argv)
{
  int file;
  MPI_Init(&argc, &argv);
  if (nc_create(argv[0], NC_64BIT_DATA, &file)) return 1;
  nc_close(file);
  return MPI_Finalize();
}
" "${NetCDF_C_PATH}" "${NetCDF_PATH}" "${netCDF_ROOT}" ENV netCDF_ROOT ENV NETCDF_ROOT ENV NETCDF)

if(STANCHION_PIO_ABI STREQUAL "ncar")
  set(STANCHION_PIO_NCAR 1)
elseif(STANCHION_PIO_ABI STREQUAL "scorpio")
  set(STANCHION_PIO_NCAR 0)
else()
  message(FATAL_ERROR "STANCHION_PIO_ABI is ${STANCHION_PIO_ABI}; it must be scorpio or ncar.")
endif()

set(STANCHION_FILE_NAMES)
set(STANCHION_FILE_INCLUDES)
set(STANCHION_PIO_CARGO_ENV)
foreach(name PNETCDF NETCDF)
  if(STANCHION_HAVE_${name})
    string(TOLOWER ${name} feature)
    list(APPEND STANCHION_FILE_NAMES ${feature})
    list(APPEND STANCHION_FILE_INCLUDES "${STANCHION_${name}_INCLUDE_DIR}")
    list(APPEND STANCHION_PIO_CARGO_ENV "STANCHION_${name}_NAMES=${STANCHION_${name}_NAMES}")
  endif()
endforeach()
set(STANCHION_PIO_FEATURES ${STANCHION_FILE_NAMES})
if(STANCHION_FILE_LIBS)
  list(APPEND STANCHION_PIO_FEATURES linked)
endif()
if(STANCHION_PIO_NCAR)
  list(APPEND STANCHION_PIO_FEATURES pio_ncar)
endif()
if(NOT STANCHION_FILE_LIBS)
  message(STATUS "PIO without any file library: decompositions and rearrangement only")
endif()
message(STATUS "PIO has the binary interface of ${STANCHION_PIO_ABI}")
