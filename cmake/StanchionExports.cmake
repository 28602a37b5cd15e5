# Reads stanchion.map, the single list of exported names.

# A heading "# MPI ..." opens a section that only the MPI library has; any other heading closes it.
function(stanchion_read_map file all_result base_result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" lines)
  set(mpi_section FALSE)
  foreach(line IN LISTS lines)
    if(line MATCHES "^ *# (MPI )?[a-z_]+\\.h")
      string(COMPARE EQUAL "${CMAKE_MATCH_1}" "MPI " mpi_section)
    elseif(line MATCHES "^ *([A-Za-z_][A-Za-z0-9_]*);?$")
      list(APPEND all ${CMAKE_MATCH_1})
      if(NOT mpi_section)
        list(APPEND base ${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
  set(${all_result} ${all} PARENT_SCOPE)
  set(${base_result} ${base} PARENT_SCOPE)
endfunction()

# Writes the name list in the three forms that compiler, objcopy and linker read:
# <directory>/{roots.rsp,names.txt,exports.map}.
function(stanchion_write_exports directory)
  list(JOIN ARGN "\n" names)
  list(TRANSFORM ARGN PREPEND "-Wl,--require-defined=" OUTPUT_VARIABLE roots)
  list(JOIN roots "\n" roots)
  list(JOIN ARGN ";\n" globals)
  stanchion_write_if_different("${directory}/roots.rsp" "${roots}\n")
  stanchion_write_if_different("${directory}/names.txt" "${names}\n")
  stanchion_write_if_different("${directory}/exports.map" "STANCHION_0 {\nglobal:\n${globals};\nlocal:\n*;\n};\n")
endfunction()

function(stanchion_write_if_different file text)
  if(EXISTS "${file}")
    file(READ "${file}" old)
  endif()
  if(NOT "${old}" STREQUAL "${text}")
    file(WRITE "${file}" "${text}")
  endif()
endfunction()

stanchion_read_map("${PROJECT_SOURCE_DIR}/cmake/stanchion.map" STANCHION_EXPORTS STANCHION_BASE_EXPORTS)
