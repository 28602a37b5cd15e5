# Shared by the packages whose targets are Stanchion's libraries.

# A project of C++ or of Fortran alone has no MPI::MPI_C.
function(stanchion_mpi_language result)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language C CXX Fortran)
    if(language IN_LIST languages)
      set(${result} ${language} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} C PARENT_SCOPE)
endfunction()

# stanchion_import(<package> <target> <library> [MPI [<macro to define>]])
# Defines <package>::<target> and <package>::<target>-static.
function(stanchion_import package target library)
  if(TARGET ${package}::${target})
    return()
  endif()
  set(dependencies ZLIB::ZLIB)
  set(static_dependencies ${stanchion_native_libs})
  set(definitions ${ARGN})
  if("MPI" IN_LIST ARGN)
    list(APPEND dependencies MPI::MPI_${stanchion_language})
    list(REMOVE_ITEM definitions MPI)
  endif()
  set(archive ${library})
  if(package STREQUAL "PIO")
    set(archive pioc) # the one that is linked with the file libraries
    set(static_dependencies ${stanchion_file_libs} ${static_dependencies})
  endif()

  add_library(${package}::${target} SHARED IMPORTED)
  set_target_properties(${package}::${target} PROPERTIES
    IMPORTED_LOCATION "${stanchion_libdir}/lib${library}.so.${stanchion_soversion}"
    IMPORTED_SONAME "lib${library}.so.${stanchion_soversion}"
    INTERFACE_INCLUDE_DIRECTORIES "${stanchion_includedir}"
    INTERFACE_COMPILE_DEFINITIONS "${definitions}"
    INTERFACE_LINK_LIBRARIES "${dependencies}")

  add_library(${package}::${target}-static STATIC IMPORTED)
  set_target_properties(${package}::${target}-static PROPERTIES
    IMPORTED_LOCATION "${stanchion_libdir}/lib${archive}.a"
    INTERFACE_INCLUDE_DIRECTORIES "${stanchion_includedir}"
    INTERFACE_COMPILE_DEFINITIONS "${definitions}"
    INTERFACE_LINK_LIBRARIES "${static_dependencies};${dependencies}")
endfunction()

# Lets projects say <target> for <package>::<target>, and <target>-static.
function(stanchion_plain_name package target)
  foreach(name ${target} ${target}-static)
    if(NOT TARGET ${name})
      add_library(${name} INTERFACE IMPORTED)
      set_target_properties(${name} PROPERTIES INTERFACE_LINK_LIBRARIES ${package}::${name})
    endif()
  endforeach()
endfunction()
