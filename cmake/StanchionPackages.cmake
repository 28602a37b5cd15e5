# What `cmake --install` puts into the prefix: libraries, upstream's names as links to them, headers,
# programs, CMake packages and pkg-config files. Nothing in it names the prefix, so it may be moved.

include(CMakePackageConfigHelpers)

# name, version reported, "base" when upstream has a <name>_base twin, macro that programs with MPI define.
# Later APIs add their line here.
set(STANCHION_PACKAGES
    "stanchion ${PROJECT_VERSION} base REDSET_ENABLE_MPI"
    "kvtree 1.5.0 base"
    "rankstr 0.4.0"
    "redset 0.4.0 base REDSET_ENABLE_MPI"
    "fenix 1.0")
# As upstream: whoever finds redset has the targets of these as well.
set(STANCHION_NEEDS_redset kvtree rankstr)
# As upstream: targets without the name of the package before them.
set(STANCHION_PLAIN_fenix fenix)
# As upstream: the target of PIO, its library and its pkg-config file have three names; the package has more to say.
set(STANCHION_TARGET_PIO PIO_C)
set(STANCHION_LIBRARY_PIO_C pioc)
set(STANCHION_PKGCONFIG_PIO_C pio)
set(STANCHION_MORE_PIO stanchionPio.cmake)

set(STANCHION_HEADERS kvtree.h kvtree_util.h redset.h stanchion.h)
set(STANCHION_MPI_HEADERS
    kvtree_mpi.h rankstr_mpi.h pio.h fenix.h fenix_data_subset.h fenix_process_recovery.h fenix_data_recovery.h)
if(STANCHION_MPI)
  list(APPEND STANCHION_HEADERS ${STANCHION_MPI_HEADERS})
endif()

# Which PIO it is: that of SCORPIO or of NCAR.
function(stanchion_pio_version result)
  if(STANCHION_PIO_NCAR)
    set(${result} 2.7.0 PARENT_SCOPE)
  else()
    set(${result} 2.0.1 PARENT_SCOPE)
  endif()
endfunction()

# The installed pio.h knows which of the two ABIs the library has.
function(stanchion_pio_header result)
  file(READ "${PROJECT_SOURCE_DIR}/include/pio.h" text)
  string(REPLACE "#define STANCHION_PIO_NCAR 0" "#define STANCHION_PIO_NCAR ${STANCHION_PIO_NCAR}" text "${text}")
  stanchion_write_if_different("${CMAKE_BINARY_DIR}/packages/pio.h" "${text}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/pio.h")
  set(${result} "${CMAKE_BINARY_DIR}/packages/pio.h" PARENT_SCOPE)
endfunction()

function(stanchion_install)
  set(libraries stanchion_base stanchion_base-static)
  if(STANCHION_MPI)
    list(APPEND libraries stanchion stanchion-static)
    if(TARGET stanchion_pio-static)
      list(APPEND libraries stanchion_pio-static)
    endif()
    stanchion_pio_version(version)
    list(APPEND STANCHION_PACKAGES "PIO ${version}")
  endif()
  install(TARGETS ${libraries}
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  list(TRANSFORM STANCHION_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/" OUTPUT_VARIABLE headers)
  if(STANCHION_MPI)
    stanchion_pio_header(header)
    list(REMOVE_ITEM headers "${PROJECT_SOURCE_DIR}/include/pio.h")
    list(APPEND headers "${header}")
  endif()
  install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(PROGRAMS "${STANCHION_BINARY_kvtree_print}" "${STANCHION_BINARY_stanchion}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/stanchionImport.cmake" "${PROJECT_SOURCE_DIR}/cmake/stanchionPio.cmake"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/stanchion/cmake")
  foreach(package IN LISTS STANCHION_PACKAGES)
    separate_arguments(package)
    stanchion_install_package(${package})
  endforeach()
endfunction()

# The value of <variable> if it has one, or else <name>.
function(stanchion_name_or result variable name)
  if(${variable})
    set(name "${${variable}}")
  endif()
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# stanchion_package_members(<result> <name> <version> [base] [<macro>]): "<target> <library> [MPI [<macro>]]" each.
function(stanchion_package_members result name version)
  set(members)
  if(STANCHION_MPI)
    set(macro ${ARGN})
    list(REMOVE_ITEM macro base)
    stanchion_name_or(target STANCHION_TARGET_${name} ${name})
    list(APPEND members "${target} stanchion MPI ${macro}")
  elseif("base" IN_LIST ARGN AND NOT name STREQUAL "stanchion")
    # As upstream: without MPI the plain name is the base library.
    list(APPEND members "${name} stanchion_base")
  endif()
  if("base" IN_LIST ARGN)
    list(APPEND members "${name}_base stanchion_base")
  endif()
  set(${result} ${members} PARENT_SCOPE)
endfunction()

# stanchion_install_package(<name> <version> [base] [<macro>])
function(stanchion_install_package name version)
  stanchion_package_members(members ${name} ${version} ${ARGN})
  if(NOT members)
    return()
  endif()
  foreach(member IN LISTS members)
    separate_arguments(member)
    list(GET member 0 member_name)
    list(GET member 1 library)
    set(macro ${member})
    list(REMOVE_ITEM macro ${member_name} ${library} MPI)
    stanchion_name_or(link_name STANCHION_LIBRARY_${member_name} ${member_name})
    stanchion_name_or(pkgconfig_name STANCHION_PKGCONFIG_${member_name} ${member_name})
    stanchion_install_links(${link_name} ${library})
    stanchion_install_pkgconfig(${pkgconfig_name} -l${link_name} ${library} ${version} ${macro})
  endforeach()
  stanchion_install_config(${name} ${version} "${members}")
endfunction()

# Programs linked long ago look for lib<name>.so; new links through that name record our SONAME.
function(stanchion_install_links name library)
  if(name STREQUAL library)
    return()
  endif()
  set(directory "${CMAKE_BINARY_DIR}/links")
  file(MAKE_DIRECTORY "${directory}")
  file(CREATE_LINK "lib${library}.so.${PROJECT_VERSION_MAJOR}" "${directory}/lib${name}.so" SYMBOLIC)
  install(FILES "${directory}/lib${name}.so" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  if(name STREQUAL "pioc" AND TARGET stanchion_pio-static)
    return() # an archive of its own
  endif()
  file(CREATE_LINK "lib${library}.a" "${directory}/lib${name}.a" SYMBOLIC)
  install(FILES "${directory}/lib${name}.a" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()

# stanchion_install_pkgconfig(<name> <flags of the link> <library> <version> [<macro>])
function(stanchion_install_pkgconfig name link library version)
  set(directory "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  file(RELATIVE_PATH to_prefix "/prefix/${directory}" "/prefix")
  string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
  set(native_libs ${STANCHION_NATIVE_LIBS})
  if(link MATCHES "-lpioc")
    set(native_libs ${STANCHION_FILE_LINK_FLAGS} ${native_libs})
  endif()
  list(JOIN native_libs " " native_libs)
  set(definitions ${ARGN})
  list(TRANSFORM definitions PREPEND " -D")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/stanchion.pc.in" "${CMAKE_BINARY_DIR}/packages/${name}.pc" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/packages/${name}.pc" DESTINATION "${directory}")
endfunction()

function(stanchion_imports result name members)
  set(lines)
  foreach(member IN LISTS members)
    string(APPEND lines "stanchion_import(${name} ${member})\n")
  endforeach()
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

function(stanchion_install_config name version members)
  stanchion_imports(imports ${name} "${members}")
  foreach(package IN LISTS STANCHION_PACKAGES)
    separate_arguments(package)
    list(GET package 0 other)
    if(other IN_LIST STANCHION_NEEDS_${name})
      stanchion_package_members(members ${package})
      stanchion_imports(needed ${other} "${members}")
      string(APPEND imports "${needed}")
    endif()
  endforeach()
  foreach(more IN LISTS STANCHION_MORE_${name})
    string(APPEND imports "include(\"\${stanchion_cmakedir}/${more}\")\n")
  endforeach()
  foreach(plain IN LISTS STANCHION_PLAIN_${name})
    string(APPEND imports "stanchion_plain_name(${name} ${plain})\n")
  endforeach()
  set(directory "${CMAKE_INSTALL_DATADIR}/${name}/cmake")
  file(RELATIVE_PATH to_import "/prefix/${directory}" "/prefix/${CMAKE_INSTALL_DATADIR}/stanchion/cmake")
  set(generated "${CMAKE_BINARY_DIR}/packages/${name}")
  set(soversion ${PROJECT_VERSION_MAJOR})
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/package.cmake.in" "${generated}Config.cmake"
    INSTALL_DESTINATION "${directory}"
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR
    NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file("${generated}ConfigVersion.cmake" VERSION ${version} COMPATIBILITY SameMajorVersion)
  install(FILES "${generated}Config.cmake" "${generated}ConfigVersion.cmake" DESTINATION "${directory}")
  if(STANCHION_PLAIN_${name})
    stanchion_install_config_in_cmake(${name} "${directory}")
  endif()
endfunction()

# Fenix installs its configuration in <prefix>/cmake, and projects may say so.
function(stanchion_install_config_in_cmake name directory)
  file(RELATIVE_PATH to_config "/prefix/cmake" "/prefix/${directory}")
  foreach(file ${name}Config.cmake ${name}ConfigVersion.cmake)
    set(forward "${CMAKE_BINARY_DIR}/packages/cmake/${file}")
    stanchion_write_if_different("${forward}" "include(\"\${CMAKE_CURRENT_LIST_DIR}/${to_config}/${file}\")\n")
    install(FILES "${forward}" DESTINATION cmake)
  endforeach()
endfunction()
