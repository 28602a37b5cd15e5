# What makes targets usable by the project that takes this one with add_subdirectory.

# stanchion_find_target(<target> <find_package arguments>...): finds the package, and lets the parent see the target too. Imported
# targets are seen only in the directory that found them and below; one that the parent has found stays as it is. A macro, since
# packages set variables.
macro(stanchion_find_target target)
  if(TARGET ${target})
    find_package(${ARGN} REQUIRED)
  else()
    find_package(${ARGN} REQUIRED)
    set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
endmacro()

# As install(), where this project installs at all.
function(stanchion_put)
  if(STANCHION_INSTALL)
    install(${ARGN})
  endif()
endfunction()
