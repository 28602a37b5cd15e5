#!/usr/bin/env bash
# Cargo's RUSTC_WORKSPACE_WRAPPER in sanitize.sh: the address sanitizer for this crate, with all generic and inlined code of
# its dependencies. Those themselves, and build.rs, stay as the tests have compiled them.
# RUSTC_BOOTSTRAP lets a stable Rust know the flag; set for cargo, it would have dependencies compiled anew.
case " $* " in
  *" --crate-name build_script_build "*) exec "$@" ;;
  *) RUSTC_BOOTSTRAP=1 exec "$@" -Zsanitizer=address ;;
esac
