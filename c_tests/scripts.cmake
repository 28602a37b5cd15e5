stanchion_run_test(scripts PROCESSORS 1 LABELS serial
  COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/scripts.sh" "${PROJECT_SOURCE_DIR}/scripts/common.sh")
