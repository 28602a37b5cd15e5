# The libraries export what stanchion.map lists, no more and no less, and carry the right SONAME.

# add_names_test(<test> <shared|static> <target> <library whose names it has>)
function(add_names_test test kind target library)
  add_test(NAME exports.${test}.${kind}
           COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" -DKIND=${kind} "-DLIBRARY=$<TARGET_FILE:${target}>"
                   "-DNAMES=${CMAKE_BINARY_DIR}/link/${library}/names.txt"
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/check_exports.cmake")
  set_tests_properties(exports.${test}.${kind} PROPERTIES LABELS serial)
endfunction()

function(add_export_test library)
  add_names_test(${library} shared ${library} ${library})
  add_names_test(${library} static ${library}-static ${library})
  add_test(NAME soname.${library} COMMAND "${CMAKE_READELF}" -d "$<TARGET_FILE:${library}>")
  set_tests_properties(soname.${library} PROPERTIES
    LABELS serial PASS_REGULAR_EXPRESSION "SONAME[^\n]*\\[lib${library}\\.so\\.${PROJECT_VERSION_MAJOR}\\]")
endfunction()

find_program(CMAKE_READELF readelf)
add_export_test(stanchion_base)
if(STANCHION_MPI)
  add_export_test(stanchion)
  if(TARGET stanchion_pio-static)
    add_names_test(pioc static stanchion_pio-static stanchion)
  endif()
endif()
