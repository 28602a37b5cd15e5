# The final link. The crate's archive and the C shim become one relocatable object whose only global
# names are the exported ones; the shared and the static library are both made from that object.
# (So a program may link libstanchion.a beside another Rust archive: nothing of std collides.)

find_program(CMAKE_OBJCOPY objcopy)
if(NOT CMAKE_OBJCOPY)
  message(FATAL_ERROR "objcopy (binutils) was not found; set CMAKE_OBJCOPY.")
endif()

# stanchion_add_library(<name> CRATE <cargo name> SHIM <sources> EXPORTS <names> [LINK <targets>])
# Targets <name> (shared) and <name>-static.
function(stanchion_add_library name)
  cmake_parse_arguments(ARG "" "CRATE" "SHIM;EXPORTS;LINK" ${ARGN})
  set(directory "${PROJECT_BINARY_DIR}/link/${name}")
  stanchion_write_exports("${directory}" ${ARG_EXPORTS})
  stanchion_shim_objects(${name}_shim SHIM ${ARG_SHIM} LINK ${ARG_LINK})
  stanchion_one_object(${name} ${ARG_CRATE} "${directory}")
  stanchion_shared(${name} "${directory}" "${ARG_LINK}")
  stanchion_static(${name} "${directory}")
  foreach(target ${name} ${name}-static)
    if(ARG_LINK)
      stanchion_interface(${target} MPI REDSET_ENABLE_MPI)
    else()
      stanchion_interface(${target})
    endif()
  endforeach()
endfunction()

function(stanchion_shim_objects target)
  cmake_parse_arguments(ARG "" "" "SHIM;LINK" ${ARGN})
  add_library(${target} OBJECT ${ARG_SHIM})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src/shim")
  target_link_libraries(${target} PRIVATE ${ARG_LINK} ZLIB::ZLIB)
  # A relocatable link cannot take the compiler's intermediate code.
  target_compile_options(${target} PRIVATE ${STANCHION_C_WARNINGS} -ffunction-sections -fno-lto)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 POSITION_INDEPENDENT_CODE ON
                                             INTERPROCEDURAL_OPTIMIZATION OFF)
  if(ARG_LINK)
    target_compile_definitions(${target} PRIVATE REDSET_ENABLE_MPI STANCHION_PIO_NCAR=${STANCHION_PIO_NCAR})
  endif()
endfunction()

function(stanchion_one_object name crate directory)
  # Nearly all debug information of such a build is that of Rust's std.
  if(cargo_profile MATCHES "^(release|ci)$")
    set(strip --strip-unneeded)
  endif()
  # The base archive's names are weak, so that a static link that meets both archives takes the full one.
  if(name MATCHES "_base$")
    set(weaken "--weaken-symbols=${directory}/names.txt")
  endif()
  # COMDAT groups must go: of two objects with the same group the linker would drop one, names made local or not.
  set(archive "${STANCHION_ARCHIVE_${crate}}")
  set(objects "$<TARGET_OBJECTS:${name}_shim>")
  add_custom_command(
    OUTPUT "${directory}/shared.o" "${directory}/static.o"
    COMMAND "${CMAKE_C_COMPILER}" -r -nostdlib -Wl,--force-group-allocation -o "${directory}/all.o"
            "@${directory}/roots.rsp" "${objects}" "${archive}"
    COMMAND "${CMAKE_OBJCOPY}" "--keep-global-symbols=${directory}/names.txt" ${strip}
            "--redefine-syms=${directory}/renames.txt" # the functions that raise (StanchionRaise.cmake)
            --remove-section=.llvmbc --remove-section=.llvmcmd # std's bitcode: useless to us, and GNU ar trips over it
            "${directory}/all.o" "${directory}/shared.o"
    COMMAND "${CMAKE_OBJCOPY}" ${weaken} "${directory}/shared.o" "${directory}/static.o"
    COMMAND "${CMAKE_COMMAND}" -E remove "${directory}/all.o"
    DEPENDS cargo_${crate} "${archive}" "${objects}" "${directory}/roots.rsp" "${directory}/names.txt"
            "${directory}/renames.txt"
    COMMENT "Joining ${name} into one object"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name}_object DEPENDS "${directory}/shared.o" "${directory}/static.o")
  add_dependencies(${name}_object ${name}_shim cargo_${crate})
endfunction()

function(stanchion_shared name directory link)
  add_library(${name} SHARED "${directory}/shared.o")
  add_dependencies(${name} ${name}_object)
  set_target_properties(${name} PROPERTIES
    LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS "${directory}/exports.map")
  target_link_options(${name} PRIVATE
    "LINKER:--version-script=${directory}/exports.map"
    "LINKER:-z,defs" "LINKER:--gc-sections" "LINKER:--as-needed"
    # Calls between our own functions stay inside, even beside another library with the same names.
    "LINKER:-Bsymbolic-functions")
  target_link_libraries(${name} PRIVATE ${link} ${STANCHION_NATIVE_LIBS})
endfunction()

function(stanchion_static name directory)
  add_library(${name}-static STATIC "${directory}/static.o")
  add_dependencies(${name}-static ${name}_object)
  set_target_properties(${name}-static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME ${name})
  target_link_libraries(${name}-static INTERFACE ${STANCHION_NATIVE_LIBS})
endfunction()

# stanchion_add_pio_archive(): libpioc.a, the one archive that is linked with the file libraries: libstanchion.a's object and the
# table of their functions. Target pioc-static. The table is compiled in any case: it compares their headers with calls.in.
function(stanchion_add_pio_archive)
  set(directory "${PROJECT_BINARY_DIR}/link/pioc")
  set(object "${PROJECT_BINARY_DIR}/link/stanchion/static.o")
  stanchion_write_calls("${directory}/calls.c" ${STANCHION_FILE_NAMES})
  stanchion_shim_objects(stanchion_file_calls SHIM "${directory}/calls.c" LINK MPI::MPI_C)
  target_include_directories(stanchion_file_calls PRIVATE "${PROJECT_SOURCE_DIR}/src/shim")
  target_include_directories(stanchion_file_calls SYSTEM PRIVATE ${STANCHION_FILE_INCLUDES})
  set(table "$<TARGET_OBJECTS:stanchion_file_calls>")
  add_custom_command(
    OUTPUT "${directory}/static.o"
    COMMAND "${CMAKE_C_COMPILER}" -r -nostdlib -o "${directory}/all.o" "${object}" "${table}"
    COMMAND "${CMAKE_OBJCOPY}" --localize-symbol=stanchion_linked_calls "${directory}/all.o" "${directory}/static.o"
    COMMAND "${CMAKE_COMMAND}" -E remove "${directory}/all.o"
    DEPENDS stanchion_object "${object}" stanchion_file_calls "${table}"
    COMMENT "Joining stanchion and the table of the file libraries"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_library(pioc-static STATIC "${directory}/static.o")
  set_target_properties(pioc-static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME pioc)
  target_link_libraries(pioc-static INTERFACE
    "$<BUILD_INTERFACE:${STANCHION_FILE_LIBS}>" "$<INSTALL_INTERFACE:${STANCHION_FILE_LINK_FLAGS}>" ${STANCHION_NATIVE_LIBS})
  stanchion_interface(pioc-static MPI)
endfunction()

# stanchion_interface(<target> [MPI] [<macro>...]): what programs that use the library need, here and where it is installed.
# kvtree_util.h includes zlib.h.
function(stanchion_interface target)
  target_link_libraries(${target} INTERFACE ZLIB::ZLIB)
  target_include_directories(${target} INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set(macros ${ARGN})
  if("MPI" IN_LIST macros)
    list(REMOVE_ITEM macros MPI)
    target_link_libraries(${target} INTERFACE "$<BUILD_INTERFACE:MPI::MPI_C>" "$<INSTALL_INTERFACE:stanchion::mpi>")
    target_compile_definitions(${target} INTERFACE "$<BUILD_INTERFACE:STANCHION_PIO_NCAR=${STANCHION_PIO_NCAR}>")
  endif()
  target_compile_definitions(${target} INTERFACE ${macros})
endfunction()

# stanchion_add_filter(<name> <library> <names>...): lib<name>.so, as upstream calls it. It shows these names and has no code:
# the loader takes every one of them from <library>. A program that is linked with it records upstream's SONAME, so it runs
# with upstream's library as well. Names have no versions here, as upstream's have none.
function(stanchion_add_filter name library)
  set(source "${PROJECT_BINARY_DIR}/link/${name}/stubs.c")
  set(text "/* Made from symbols.in: never called, never read. */\n")
  if(library STREQUAL "stanchion")
    string(APPEND text "#include <mpi.h>\n")
  endif()
  foreach(symbol IN LISTS ARGN)
    if(STANCHION_SIZE_OF_${symbol})
      # Not const: the linker would put a program's copy of it where the library cannot write.
      string(APPEND text "extern char ${symbol}[${STANCHION_SIZE_OF_${symbol}}] __attribute__((aligned));\n"
                         "char ${symbol}[${STANCHION_SIZE_OF_${symbol}}] = {0};\n")
    else()
      string(APPEND text "void ${symbol}(void) {}\n")
    endif()
  endforeach()
  stanchion_write_if_different("${source}" "${text}")
  add_library(${name} SHARED "${source}")
  add_dependencies(${name} ${library})
  set_target_properties(${name} PROPERTIES
    INTERPROCEDURAL_OPTIMIZATION OFF
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN"
    INSTALL_RPATH_USE_LINK_PATH OFF)
  target_include_directories(${name} PRIVATE ${MPI_C_INCLUDE_DIRS})
  target_link_options(${name} PRIVATE -nostdlib
    "LINKER:--filter=lib${library}.so.${PROJECT_VERSION_MAJOR}" "LINKER:--enable-new-dtags")
endfunction()
