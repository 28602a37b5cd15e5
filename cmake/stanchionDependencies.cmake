# Shared by the packages: what their targets need, zlib's header and the MPI.

find_dependency(ZLIB)

# A project of C++ or of Fortran alone has no MPI::MPI_C.
if(stanchion_mpi AND NOT TARGET stanchion::mpi)
  get_property(stanchion_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(stanchion_language C)
  foreach(language C CXX Fortran)
    if(language IN_LIST stanchion_languages)
      set(stanchion_language ${language})
      break()
    endif()
  endforeach()
  find_dependency(MPI COMPONENTS ${stanchion_language})
  add_library(stanchion::mpi INTERFACE IMPORTED)
  set_target_properties(stanchion::mpi PROPERTIES INTERFACE_LINK_LIBRARIES MPI::MPI_${stanchion_language})
endif()

# stanchion_plain_names(<package> [<target>]): lets projects say <target> for <package>::<target>, and <target>-static.
function(stanchion_plain_names package)
  foreach(target IN LISTS ARGN)
    foreach(name ${target} ${target}-static)
      if(NOT TARGET ${name})
        add_library(${name} INTERFACE IMPORTED)
        set_target_properties(${name} PROPERTIES INTERFACE_LINK_LIBRARIES ${package}::${name})
      endif()
    endforeach()
  endforeach()
endfunction()
