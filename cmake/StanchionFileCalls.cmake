# The C side of src/pio/format/calls.in: a file that compiles only if the headers of the file libraries declare all functions as
# PIO calls them. It also has the table of these functions that makes PIO's static library independent of the loader.

set(STANCHION_FILE_CALLS "${PROJECT_SOURCE_DIR}/src/pio/format/calls.in")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${STANCHION_FILE_CALLS}")

# stanchion_expand_call(<result> <prototype>): one for each kind of data, if it has the place of one.
function(stanchion_expand_call result prototype)
  if(NOT prototype MATCHES "_{(kind|number)}")
    set(${result} "${prototype}" PARENT_SCOPE)
    return()
  endif()
  set(ending ${CMAKE_MATCH_0})
  foreach(kind IN LISTS kinds)
    if(ending STREQUAL "_{number}" AND kind STREQUAL "text")
      string(REPLACE "${ending}" "" one "${prototype}")
      string(REPLACE "{type}" "void" one "${one}")
    else()
      string(REPLACE "${ending}" "_${kind}" one "${prototype}")
      string(REPLACE "{type}" "${type_${kind}}" one "${one}")
    endif()
    list(APPEND expanded "${one}")
  endforeach()
  set(${result} ${expanded} PARENT_SCOPE)
endfunction()

# stanchion_calls_of(<result> <netcdf|pnetcdf>): the prototypes of a library.
function(stanchion_calls_of result library)
  file(STRINGS "${STANCHION_FILE_CALLS}" lines REGEX "^[a-z]")
  set(prototypes)
  foreach(line IN LISTS lines)
    if(line MATCHES "^library ${library} ([^ ]+) ([^ ]+)$")
      set(prefix ${CMAKE_MATCH_1})
      set(count ${CMAKE_MATCH_2})
    elseif(line MATCHES "^kind ([^ ]+) (.+)$")
      list(APPEND kinds ${CMAKE_MATCH_1})
      set(type_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    elseif(line MATCHES " ({nc}|${prefix})[^ ]*\\(")
      string(REPLACE "{nc}" "${prefix}" line "${line}")
      string(REPLACE "{count}" "${count}" line "${line}")
      stanchion_expand_call(expanded "${line}")
      list(APPEND prototypes ${expanded})
    endif()
  endforeach()
  set(${result} ${prototypes} PARENT_SCOPE)
endfunction()

# stanchion_write_calls(<file> <netcdf|pnetcdf>...)
function(stanchion_write_calls file)
  set(includes)
  set(declarations)
  set(entries)
  foreach(library IN LISTS ARGN)
    string(APPEND includes "#include <${library}.h>\n")
    stanchion_calls_of(prototypes ${library})
    foreach(prototype IN LISTS prototypes)
      string(REGEX MATCH "([a-z0-9_]+)\\(" _ "${prototype}")
      set(name ${CMAKE_MATCH_1})
      # The first line stops where the header does not have the function at all.
      string(APPEND declarations "extern __typeof__(${name}) ${name};\n${prototype};\n")
      string(APPEND entries "  { \"${name}\", (void (*)(void))${name} },\n")
    endforeach()
  endforeach()
  stanchion_write_if_different("${file}"
"/* Made from calls.in. */
#include <mpi.h>
${includes}#include \"linked.h\"

_Static_assert(sizeof(size_t) == 8 && sizeof(MPI_Offset) == 8, \"lengths have 64 bits\");

${declarations}
const struct stanchion_linked_call stanchion_linked_calls[] = {
${entries}  { 0, 0 },
};
")
endfunction()
