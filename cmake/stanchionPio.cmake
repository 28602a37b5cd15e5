# What the package PIO has beyond PIO::PIO_C: the Fortran module and the variables that projects read.

set(PIO_C_FOUND TRUE)
set(PIO_C_INCLUDE_DIR "${stanchion_includedir}")
set(PIO_C_INCLUDE_DIRS "${stanchion_includedir}")
set(PIO_C_LIBRARY "${stanchion_libdir}/libpioc.so")
set(PIO_C_LIBRARIES PIO::PIO_C)
set(PIO_INCLUDE_DIR "${stanchion_includedir}")
set(PIO_INCLUDE_DIRS "${stanchion_includedir}")
set(PIO_LIBRARIES PIO::PIO_C)

set(PIO_Fortran_FOUND FALSE)
if(EXISTS "${stanchion_libdir}/libpiof.a")
  set(PIO_Fortran_FOUND TRUE)
  set(PIO_Fortran_INCLUDE_DIR "${stanchion_includedir}")
  set(PIO_Fortran_INCLUDE_DIRS "${stanchion_includedir}")
  set(PIO_Fortran_LIBRARY "${stanchion_libdir}/libpiof.a")
  set(PIO_Fortran_LIBRARIES PIO::PIO_Fortran)
  set(PIO_LIBRARIES PIO::PIO_Fortran PIO::PIO_C)
  if(NOT TARGET PIO::PIO_Fortran-static)
    add_library(PIO::PIO_Fortran-static STATIC IMPORTED)
    set_target_properties(PIO::PIO_Fortran-static PROPERTIES
      IMPORTED_LOCATION "${PIO_Fortran_LIBRARY}"
      IMPORTED_LINK_INTERFACE_LANGUAGES "C;Fortran"
      INTERFACE_INCLUDE_DIRECTORIES "${stanchion_includedir}"
      INTERFACE_LINK_LIBRARIES PIO::PIO_C-static)
  endif()
endif()

# Projects that bring a module of their own for finding PIO ask for the kind of library this way.
set(PIO_STATIC_FOUND TRUE)
set(PIO_SHARED_FOUND TRUE)
foreach(component IN LISTS PIO_FIND_COMPONENTS)
  if(PIO_FIND_REQUIRED_${component} AND NOT PIO_${component}_FOUND)
    set(PIO_FOUND FALSE)
    set(PIO_NOT_FOUND_MESSAGE "Stanchion in ${stanchion_libdir} has no ${component} part of PIO")
  endif()
endforeach()
