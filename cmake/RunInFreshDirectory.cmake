# cmake -DDIRECTORY=<d> -P RunInFreshDirectory.cmake -- <command...>
# Runs the command in an empty <d>, which is kept only when the command fails. It has temporary files of its own: Open MPI keeps those of
# all jobs of a user in one directory, and a job that ends removes it while another one begins.
set(command)
set(seen FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(seen)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(seen TRUE)
  endif()
endforeach()

file(REMOVE_RECURSE "${DIRECTORY}")
file(MAKE_DIRECTORY "${DIRECTORY}")
string(RANDOM LENGTH 12 number)
set(temporary "/tmp/stanchion.${number}") # short: the names of sockets in it are limited
file(MAKE_DIRECTORY "${temporary}")
set(ENV{TMPDIR} "${temporary}")
execute_process(COMMAND ${command} WORKING_DIRECTORY "${DIRECTORY}" INPUT_FILE /dev/null RESULT_VARIABLE result)
file(REMOVE_RECURSE "${temporary}")
if(NOT result STREQUAL "0")
  message(FATAL_ERROR "failed (${result}), files left in ${DIRECTORY}: ${command}")
endif()
file(REMOVE_RECURSE "${DIRECTORY}")
