# The command stanchion: verify, rebuild, inspect and plot.
stanchion_run_test(stanchion_tool PROCESSORS 1 LABELS serial
  COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/stanchion_tool.sh" "${STANCHION_BINARY_stanchion}" "${golden}"
          "${STANCHION_BINARY_kvtree_print}")
