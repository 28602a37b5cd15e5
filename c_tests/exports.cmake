# The libraries export what symbols.in lists, no more and no less, and carry the right SONAME.

# add_names_test(<test> <shared|static> <target> <library whose names it has>)
function(add_names_test test kind target library)
  add_test(NAME exports.${test}.${kind}
           COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" -DKIND=${kind} "-DLIBRARY=$<TARGET_FILE:${target}>"
                   "-DNAMES=${PROJECT_BINARY_DIR}/link/${library}/names.txt"
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

# A filter shows its own API's names, without versions, under upstream's SONAME.
function(add_filter_test library names)
  set(list "${PROJECT_BINARY_DIR}/link/${library}/names.txt")
  list(JOIN names "\n" names)
  file(WRITE "${list}" "${names}\n")
  add_test(NAME exports.${library}
           COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" -DKIND=filter "-DLIBRARY=$<TARGET_FILE:${library}>" "-DNAMES=${list}"
                   -P "${CMAKE_CURRENT_SOURCE_DIR}/check_exports.cmake")
  add_test(NAME soname.${library} COMMAND "${CMAKE_READELF}" -d "$<TARGET_FILE:${library}>")
  set_tests_properties(exports.${library} soname.${library} PROPERTIES LABELS serial)
  set_tests_properties(soname.${library} PROPERTIES PASS_REGULAR_EXPRESSION
    "SONAME[^\n]*\\[lib${library}\\.so\\].*RUNPATH[^\n]*\\[.ORIGIN\\].*FILTER[^\n]*\\[libstanchion(_base)?\\.so\\.${PROJECT_VERSION_MAJOR}\\]"
    FAIL_REGULAR_EXPRESSION "NEEDED")
endfunction()

find_program(CMAKE_READELF readelf)
foreach(library kvtree redset)
  add_filter_test(${library}_base "${STANCHION_BASE_SHOWN_${library}}")
endforeach()
add_export_test(stanchion_base)
if(STANCHION_MPI)
  add_export_test(stanchion)
  foreach(library kvtree redset rankstr fenix pioc)
    add_filter_test(${library} "${STANCHION_SHOWN_${library}}")
  endforeach()
  if(STANCHION_FILE_LIBS)
    add_names_test(pioc static pioc-static stanchion)
  endif()
endif()
