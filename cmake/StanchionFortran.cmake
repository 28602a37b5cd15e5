# Sets STANCHION_HAVE_FORTRAN from STANCHION_FORTRAN (AUTO: when there is a compiler). The modules are for
# programs with MPI.
set(STANCHION_HAVE_FORTRAN FALSE)
if(STANCHION_FORTRAN AND STANCHION_MPI)
  include(CheckLanguage)
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    set(STANCHION_HAVE_FORTRAN TRUE)
    enable_language(Fortran)
  elseif(NOT STANCHION_FORTRAN STREQUAL "AUTO")
    message(FATAL_ERROR "STANCHION_FORTRAN is ${STANCHION_FORTRAN} but no Fortran compiler was found; set FC.")
  endif()
endif()

# The sources are installed in any case: a .mod file serves one compiler only.
function(stanchion_install_fortran)
  file(GLOB modules CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fortran/*.f90")
  if(STANCHION_MPI)
    install(FILES ${modules} DESTINATION "${CMAKE_INSTALL_DATADIR}/stanchion/fortran")
  endif()
  if(NOT STANCHION_HAVE_FORTRAN)
    return()
  endif()
  add_library(stanchion_fortran STATIC ${modules})
  set_target_properties(stanchion_fortran PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    Fortran_MODULE_DIRECTORY "${CMAKE_BINARY_DIR}/fortran")
  install(TARGETS stanchion_fortran ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY "${CMAKE_BINARY_DIR}/fortran/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/stanchion_fortran"
          FILES_MATCHING PATTERN "*.mod")
endfunction()
