# The libraries export what stanchion.map lists, no more and no less, and carry the right SONAME.

function(add_export_test library)
  foreach(kind shared static)
    set(target ${library})
    if(kind STREQUAL "static")
      set(target ${library}-static)
    endif()
    add_test(NAME exports.${library}.${kind}
             COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" -DKIND=${kind} "-DLIBRARY=$<TARGET_FILE:${target}>"
                     "-DNAMES=${PROJECT_BINARY_DIR}/link/${library}/names.txt"
                     -P "${CMAKE_CURRENT_SOURCE_DIR}/check_exports.cmake")
    set_tests_properties(exports.${library}.${kind} PROPERTIES LABELS serial)
  endforeach()
  add_test(NAME soname.${library} COMMAND "${CMAKE_READELF}" -d "$<TARGET_FILE:${library}>")
  set_tests_properties(soname.${library} PROPERTIES
    LABELS serial PASS_REGULAR_EXPRESSION "SONAME[^\n]*\\[lib${library}\\.so\\.${PROJECT_VERSION_MAJOR}\\]")
endfunction()

find_program(CMAKE_READELF readelf)
add_export_test(stanchion_base)
if(STANCHION_MPI)
  add_export_test(stanchion)
endif()
