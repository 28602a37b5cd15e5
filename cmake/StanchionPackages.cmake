# Upstream's names, and what `cmake --install` puts into the prefix: libraries, headers, programs, CMake packages and
# pkg-config files. Nothing in it names the prefix, so it may be moved.
#
# Each package <name> has targets <name>::<target> and <name>::<target>-static, exported by install(EXPORT); in a project that
# takes this one with add_subdirectory they have the same names.

include(CMakePackageConfigHelpers)

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
  stanchion_write_if_different("${PROJECT_BINARY_DIR}/packages/pio.h" "${text}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/pio.h")
  set(${result} "${PROJECT_BINARY_DIR}/packages/pio.h" PARENT_SCOPE)
endfunction()

# ---- libraries ----

# stanchion_upstream_library(<package> <library> <half> [TARGET <t>] [PKGCONFIG <p>] VERSION <v> [DEFINE <macro>] [WITH <libraries>...])
# lib<library>.so filters the library of that half, base or mpi; lib<library>.a is a link to its archive, but for PIO's.
# WITH: whose names programs that use this one need besides.
function(stanchion_upstream_library package library half)
  cmake_parse_arguments(ARG "" "TARGET;PKGCONFIG;VERSION;DEFINE" "WITH" ${ARGN})
  foreach(name TARGET PKGCONFIG)
    if(NOT ARG_${name})
      set(ARG_${name} ${library})
    endif()
  endforeach()
  string(REGEX REPLACE "_base$" "" shown ${library})
  if(half STREQUAL "base")
    set(ours stanchion_base)
    stanchion_add_filter(${library} ${ours} ${STANCHION_BASE_SHOWN_${shown}})
    stanchion_interface(${library})
  else()
    set(ours stanchion)
    stanchion_add_filter(${library} ${ours} ${STANCHION_SHOWN_${shown}})
    stanchion_interface(${library} MPI ${ARG_DEFINE})
  endif()
  if(NOT TARGET ${library}-static) # PIO has an archive of its own
    add_library(${library}-static INTERFACE)
    target_link_libraries(${library}-static INTERFACE ${ours}-static)
    stanchion_install_archive_link(${library} ${ours})
  endif()
  target_link_libraries(${library} INTERFACE ${ARG_WITH})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${ARG_TARGET})
  set_target_properties(${library}-static PROPERTIES EXPORT_NAME ${ARG_TARGET}-static)
  stanchion_install_targets(${package} ${library} ${library}-static)
  list(TRANSFORM ARG_WITH PREPEND "-l")
  list(JOIN ARG_WITH " " with)
  string(STRIP "-l${library} ${with}" link)
  stanchion_install_pkgconfig(${ARG_PKGCONFIG} "${link}" ${ours} ${ARG_VERSION} ${ARG_DEFINE})
endfunction()

# stanchion_install_targets(<package> <targets>...): also as <package>::<name> in this build.
function(stanchion_install_targets package)
  foreach(target IN LISTS ARGN)
    get_target_property(name ${target} EXPORT_NAME)
    if(NOT name)
      set(name ${target})
    endif()
    add_library(${package}::${name} ALIAS ${target})
  endforeach()
  stanchion_put(TARGETS ${ARGN} EXPORT ${package}
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()

function(stanchion_install_archive_link name library)
  set(directory "${PROJECT_BINARY_DIR}/links")
  file(MAKE_DIRECTORY "${directory}")
  file(CREATE_LINK "lib${library}.a" "${directory}/lib${name}.a" SYMBOLIC)
  stanchion_put(FILES "${directory}/lib${name}.a" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
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
  configure_file("${PROJECT_SOURCE_DIR}/cmake/stanchion.pc.in" "${PROJECT_BINARY_DIR}/packages/${name}.pc" @ONLY)
  stanchion_put(FILES "${PROJECT_BINARY_DIR}/packages/${name}.pc" DESTINATION "${directory}")
endfunction()

# ---- packages ----

# stanchion_install_package(<name> <version> [NEEDS <packages>...] [PLAIN <target>])
# NEEDS: whose targets come along. PLAIN: a target that projects also name without the package, with its static twin.
function(stanchion_install_package name version)
  cmake_parse_arguments(ARG "" "PLAIN" "NEEDS" ${ARGN})
  set(directory "${CMAKE_INSTALL_DATADIR}/${name}/cmake")
  set(needed ${ARG_NEEDS})
  set(plain "${ARG_PLAIN}")
  set(generated "${PROJECT_BINARY_DIR}/packages/${name}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/package.cmake.in" "${generated}Config.cmake"
    INSTALL_DESTINATION "${directory}"
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_DATADIR
    NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file("${generated}ConfigVersion.cmake" VERSION ${version} COMPATIBILITY SameMajorVersion)
  stanchion_put(FILES "${generated}Config.cmake" "${generated}ConfigVersion.cmake" DESTINATION "${directory}")
  stanchion_put(EXPORT ${name} NAMESPACE ${name}:: FILE ${name}Targets.cmake DESTINATION "${directory}")
  if(plain)
    stanchion_install_config_in_cmake(${name} "${directory}")
  endif()
endfunction()

# Fenix installs its configuration in <prefix>/cmake, and projects may say so.
function(stanchion_install_config_in_cmake name directory)
  file(RELATIVE_PATH to_config "/prefix/cmake" "/prefix/${directory}")
  foreach(file ${name}Config.cmake ${name}ConfigVersion.cmake)
    set(forward "${PROJECT_BINARY_DIR}/packages/cmake/${file}")
    stanchion_write_if_different("${forward}" "include(\"\${CMAKE_CURRENT_LIST_DIR}/${to_config}/${file}\")\n")
    stanchion_put(FILES "${forward}" DESTINATION cmake)
  endforeach()
endfunction()

# ---- all of it ----

function(stanchion_install_stanchion)
  set(libraries stanchion_base stanchion_base-static)
  stanchion_install_pkgconfig(stanchion_base -lstanchion_base stanchion_base ${PROJECT_VERSION})
  if(STANCHION_MPI)
    list(APPEND libraries stanchion stanchion-static)
    stanchion_install_pkgconfig(stanchion -lstanchion stanchion ${PROJECT_VERSION} REDSET_ENABLE_MPI)
  endif()
  stanchion_install_targets(stanchion ${libraries})
  stanchion_install_package(stanchion ${PROJECT_VERSION})
endfunction()

# As upstream: without MPI the plain names are base libraries; whoever finds redset has the targets of the others as well.
function(stanchion_install_upstream)
  stanchion_upstream_library(kvtree kvtree_base base VERSION 1.5.0)
  stanchion_upstream_library(redset redset_base base VERSION 0.4.0 WITH kvtree_base)
  if(NOT STANCHION_MPI)
    stanchion_upstream_library(kvtree kvtree base VERSION 1.5.0)
    stanchion_upstream_library(redset redset base VERSION 0.4.0 WITH kvtree)
    stanchion_install_package(redset 0.4.0 NEEDS kvtree)
  else()
    stanchion_pio_version(pio_version)
    stanchion_upstream_library(kvtree kvtree mpi VERSION 1.5.0)
    stanchion_upstream_library(redset redset mpi VERSION 0.4.0 DEFINE REDSET_ENABLE_MPI WITH kvtree rankstr)
    stanchion_upstream_library(rankstr rankstr mpi VERSION 0.4.0)
    stanchion_upstream_library(fenix fenix mpi VERSION 1.0)
    stanchion_upstream_library(PIO pioc mpi TARGET PIO_C PKGCONFIG pio VERSION ${pio_version})
    stanchion_install_package(redset 0.4.0 NEEDS kvtree rankstr)
    stanchion_install_package(rankstr 0.4.0)
    stanchion_install_package(fenix 1.0 PLAIN fenix)
    stanchion_install_package(PIO ${pio_version})
  endif()
  stanchion_install_package(kvtree 1.5.0)
endfunction()

function(stanchion_install_files)
  list(TRANSFORM STANCHION_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/" OUTPUT_VARIABLE headers)
  if(STANCHION_MPI)
    stanchion_pio_header(header)
    list(REMOVE_ITEM headers "${PROJECT_SOURCE_DIR}/include/pio.h")
    list(APPEND headers "${header}")
  endif()
  stanchion_put(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  stanchion_put(PROGRAMS "${STANCHION_BINARY_kvtree_print}" "${STANCHION_BINARY_stanchion}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
  stanchion_put(FILES "${PROJECT_SOURCE_DIR}/cmake/stanchionDependencies.cmake" "${PROJECT_SOURCE_DIR}/cmake/stanchionPio.cmake"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/stanchion/cmake")
endfunction()

function(stanchion_install)
  stanchion_install_stanchion()
  stanchion_install_upstream()
  stanchion_install_files()
endfunction()
