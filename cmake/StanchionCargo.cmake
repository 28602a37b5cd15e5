# Runs cargo: finds it, maps the build type to a profile, builds the crate's archive and programs.

find_program(CARGO_EXECUTABLE cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin"
             DOC "The cargo that builds the Rust half")
if(NOT CARGO_EXECUTABLE)
  message(FATAL_ERROR "cargo was not found. Install Rust ${STANCHION_RUST_VERSION} or newer "
                      "or set CARGO_EXECUTABLE.")
endif()

function(stanchion_check_rust)
  execute_process(COMMAND "${CARGO_EXECUTABLE}" --version WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                  OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE failed)
  string(REGEX MATCH "cargo ([0-9.]+)" _ "${text}")
  if(failed OR CMAKE_MATCH_1 VERSION_LESS STANCHION_RUST_VERSION)
    message(FATAL_ERROR "${CARGO_EXECUTABLE} is not Rust ${STANCHION_RUST_VERSION} or newer; it says: ${text}")
  endif()
  message(STATUS "Found cargo: ${CARGO_EXECUTABLE} (${CMAKE_MATCH_1})")
endfunction()
stanchion_check_rust()

# What a program needs besides libstanchion.a. libgcc_s and libc are left to the compiler driver,
# which knows when -static asks for libgcc_eh instead.
function(stanchion_native_libs result)
  get_filename_component(bin "${CARGO_EXECUTABLE}" DIRECTORY)
  find_program(RUSTC_EXECUTABLE rustc HINTS "${bin}" DOC "The rustc that belongs to CARGO_EXECUTABLE")
  file(WRITE "${PROJECT_BINARY_DIR}/CMakeFiles/empty.rs" "")
  execute_process(
    COMMAND "${RUSTC_EXECUTABLE}" --crate-type staticlib --print native-static-libs
            -o "${PROJECT_BINARY_DIR}/CMakeFiles/libempty.a" "${PROJECT_BINARY_DIR}/CMakeFiles/empty.rs"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE failed)
  if(failed OR NOT text MATCHES "native-static-libs: ([^\n]*)")
    message(FATAL_ERROR "${RUSTC_EXECUTABLE} does not tell its native libraries: ${text}")
  endif()
  string(REPLACE " " ";" libs "${CMAKE_MATCH_1}")
  list(REMOVE_ITEM libs -lgcc_s -lc)
  list(REMOVE_DUPLICATES libs)
  set(${result} ${libs} PARENT_SCOPE)
endfunction()
stanchion_native_libs(STANCHION_NATIVE_LIBS)

# The profile of Cargo.toml that goes with the build type, unless the user names another (tests take "ci").
set(STANCHION_CARGO_PROFILE "" CACHE STRING "Profile of Cargo.toml; empty: the one of CMAKE_BUILD_TYPE")
if(STANCHION_CARGO_PROFILE)
  set(cargo_profile ${STANCHION_CARGO_PROFILE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(cargo_profile dev)
elseif(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  set(cargo_profile relwithdebinfo)
else()
  set(cargo_profile release)
endif()
set(cargo_profile_directory ${cargo_profile})
if(cargo_profile STREQUAL "dev")
  set(cargo_profile_directory debug)
endif()

set(STANCHION_CARGO_FLAGS --locked --profile ${cargo_profile})
# Flags of the environment (RUSTFLAGS) then reach only what is built for the target, not programs that cargo runs.
set(STANCHION_CARGO_TARGET "" CACHE STRING "Rust target triple; empty: the host, as cargo builds by default")
if(STANCHION_CARGO_TARGET)
  list(APPEND STANCHION_CARGO_FLAGS --target ${STANCHION_CARGO_TARGET})
  string(PREPEND cargo_profile_directory "${STANCHION_CARGO_TARGET}/")
endif()
if(cargo_profile STREQUAL "release")
  list(APPEND STANCHION_CARGO_FLAGS --config "profile.release.strip=\"debuginfo\"")
endif()
if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/vendor")
  list(APPEND STANCHION_CARGO_FLAGS --offline
       --config "source.crates-io.replace-with=\"vendored-sources\""
       --config "source.vendored-sources.directory=\"${PROJECT_SOURCE_DIR}/vendor\"")
elseif(STANCHION_OFFLINE)
  list(APPEND STANCHION_CARGO_FLAGS --offline)
endif()

# stanchion_cargo_build(<name> [FEATURES f...] [BINARIES b...] [ENVIRONMENT VAR=value...] [KEY text])
# Target cargo_<name> asks cargo at every build; cargo touches its outputs only when they change.
# Sets STANCHION_ARCHIVE_<name> and, for each binary, STANCHION_BINARY_<b>.
# KEY: what cargo itself does not watch (mpi-sys ignores a changed MPICC) gets a directory of its own.
function(stanchion_cargo_build name)
  cmake_parse_arguments(ARG "" "KEY" "FEATURES;BINARIES;ENVIRONMENT" ${ARGN})
  set(directory "${STANCHION_CARGO_DIR}/${name}")
  if(ARG_KEY)
    string(SHA1 key "${ARG_KEY}")
    string(SUBSTRING ${key} 0 8 key)
    string(APPEND directory "-${key}")
  endif()
  set(STANCHION_CARGO_DIRECTORY_${name} "${directory}" CACHE INTERNAL "Where cargo builds ${name}")
  set(outputs "${directory}/${cargo_profile_directory}")

  # Tests need the archive alone. Asking for it alone would also switch on lto, which cargo leaves out where a Rust library
  # is made besides: releases stay as they were measured.
  set(command build)
  if(cargo_profile STREQUAL "ci" AND NOT ARG_BINARIES)
    set(command rustc --crate-type staticlib)
  endif()
  set(flags --lib)
  foreach(binary IN LISTS ARG_BINARIES)
    list(APPEND flags --bin ${binary})
    list(APPEND binaries "${outputs}/${binary}")
    set(STANCHION_BINARY_${binary} "${outputs}/${binary}" PARENT_SCOPE)
  endforeach()
  set(features reserve ${ARG_FEATURES})
  string(REPLACE ";" "," features "${features}")
  list(APPEND flags --features ${features})

  # Without the unsets a make jobserver that does not reach cargo, or a user's own
  # cross-compile default, would change what is built or where it lands.
  add_custom_target(cargo_${name} ALL
    COMMAND "${CMAKE_COMMAND}" -E env --unset=MAKEFLAGS --unset=MFLAGS --unset=CARGO_BUILD_TARGET
            "CARGO_TARGET_DIR=${directory}" ${ARG_ENVIRONMENT}
            "${CARGO_EXECUTABLE}" ${command} ${STANCHION_CARGO_FLAGS} ${flags}
    BYPRODUCTS "${outputs}/libstanchion.a" ${binaries}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMENT "cargo build (${name})"
    VERBATIM)
  set(STANCHION_ARCHIVE_${name} "${outputs}/libstanchion.a" PARENT_SCOPE)
endfunction()
