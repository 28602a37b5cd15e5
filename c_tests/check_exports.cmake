# cmake -DNM=<nm> -DKIND=shared|filter|static -DLIBRARY=<file> -DNAMES=<file> -P check_exports.cmake
set(dynamic)
if(NOT KIND STREQUAL "static")
  set(dynamic --dynamic)
endif()
execute_process(COMMAND "${NM}" ${dynamic} --extern-only --defined-only "${LIBRARY}"
                OUTPUT_VARIABLE text RESULT_VARIABLE result)
if(NOT result STREQUAL "0")
  message(FATAL_ERROR "nm failed on ${LIBRARY}")
endif()

string(REGEX MATCHALL " [A-Z] [^\n]+" symbols "${text}")
list(TRANSFORM symbols REPLACE "^ [A-Z] " "")
if(KIND STREQUAL "shared")
  list(FILTER symbols EXCLUDE REGEX "^STANCHION_0(@@STANCHION_0)?$") # the version node itself
  set(unversioned ${symbols})
  list(FILTER unversioned EXCLUDE REGEX "@@STANCHION_0$")
  list(TRANSFORM symbols REPLACE "@@.*" "")
endif()
file(STRINGS "${NAMES}" names)

set(missing ${names})
list(REMOVE_ITEM missing ${symbols})
set(leaked ${symbols})
list(REMOVE_ITEM leaked ${names})
if(missing OR leaked OR unversioned OR NOT symbols)
  message(FATAL_ERROR "${LIBRARY}\n  missing: ${missing}\n  leaked: ${leaked}\n  without version: ${unversioned}")
endif()
