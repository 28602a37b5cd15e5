# Tests between nodes, on a cluster of namespaces. Where none can be had they are skipped and say why.

set(cluster_directory "${CMAKE_CURRENT_LIST_DIR}")

# add_cluster_test(<name> NODES <n> RANKS <r> COMMAND <c...> [TIMEOUT <s>] [LABELS l...])
# The command runs on the front end, with `cluster` in its PATH and in a directory that all nodes see.
function(add_cluster_test name)
  cmake_parse_arguments(ARG "" "NODES;RANKS;TIMEOUT" "LABELS;COMMAND" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  stanchion_run_test(cluster.${name} PROCESSORS ${ARG_RANKS} TIMEOUT ${ARG_TIMEOUT} LABELS mpi cluster ${ARG_LABELS}
    COMMAND bash "${cluster_directory}/cluster" with ${ARG_NODES} -- ${ARG_COMMAND})
  set_property(TEST cluster.${name} PROPERTY SKIP_REGULAR_EXPRESSION "cluster: SKIPPED")
  set_property(TEST cluster.${name} APPEND PROPERTY ENVIRONMENT "MPIEXEC=${MPIEXEC_EXECUTABLE}")
endfunction()

# The cluster itself.
stanchion_run_test(cluster.self PROCESSORS 4 TIMEOUT 120 LABELS serial cluster
  COMMAND bash "${cluster_directory}/self.sh" "${cluster_directory}/cluster")
set_property(TEST cluster.self PROPERTY SKIP_REGULAR_EXPRESSION "cluster: SKIPPED")

execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version OUTPUT_VARIABLE launcher ERROR_QUIET)
if(launcher MATCHES HYDRA)
  message(STATUS "No tests between nodes: every other job of MPICH 4.0 over UCX hangs in MPI_Finalize there")
  return()
endif()

add_test_program(redset_nodes cluster/redset_nodes.c stanchion)
foreach(ranks 4 8)
  add_cluster_test(redset.${ranks} NODES 5 RANKS ${ranks}
    COMMAND bash "${cluster_directory}/redset.sh" ${ranks} "$<TARGET_FILE:redset_nodes>")
endforeach()
add_cluster_test(placed NODES 5 RANKS 8 COMMAND bash "${cluster_directory}/placed.sh" "$<TARGET_FILE:redset_nodes>")

# Programs that need no more than a directory that all nodes share.
add_cluster_test(kvtree_gather NODES 4 RANKS 8
  COMMAND cluster run -n 8 -- "$<TARGET_FILE:kvtree_gather>" ${kvtree_gather_arguments})
if(TARGET pio_darray)
  add_cluster_test(pio_darray NODES 4 RANKS 4 COMMAND cluster run -n 4 -- "$<TARGET_FILE:pio_darray>")
endif()

# All ranks of a node die, or its cable is pulled, and spares on another one take their places: a few times always, many times with
# the slow tests.
function(add_node_loss_test name how rounds timeout)
  add_cluster_test(fenix.${name} NODES 4 RANKS 8 TIMEOUT ${timeout} LABELS fault ${ARGN}
    COMMAND bash "${cluster_directory}/fenix.sh" ${rounds} "$<TARGET_FILE:fenix_kill>" ${how})
endfunction()
if(STANCHION_ULFM)
  add_node_loss_test(few kill 4 600)
  add_node_loss_test(many kill 100 7000 slow)
  add_node_loss_test(cut cut 1 300)
  add_node_loss_test(cuts cut 20 4000 slow)
endif()
