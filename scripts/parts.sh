# Sourced by test.sh: its parts, in two lanes. Builds and lints go one after the other in the background and tests in front,
# which keeps two cores busy: neither a compiler nor ranks that wait for each other need both all the time.
# Wants $parts, an empty directory: what a part of the background says is in $parts/<name>.log until it has ended.

started=$SECONDS
current=
lane=

# The caller's EXIT trap.
finish_parts() {
  local rc=$?
  if [ -n "$lane" ]; then kill -- "-$lane" 2>/dev/null || true; fi
  if [ -n "$current" ]; then echo "FAILED  $current" >>"$parts/summary"; fi
  say "summary, $((SECONDS - started)) s; parts of the background and in front ran at the same time"
  sed 's/^/  /' "$parts/summary"
  if [ $rc = 0 ]; then
    if grep -q SKIPPED "$parts/summary"; then echo "all that ran passed"; else echo "all passed"; fi
  fi
}

# measured <what> <command...>: in a subshell; notes its time, and that of all cores.
measured() {
  local what=$1 begin=$SECONDS self=$BASHPID
  shift
  "$@"
  printf 'ok %4d s, %4d s of CPU  %s\n' $((SECONDS - begin)) "$(cpu_seconds "$self")" "$what" >>"$parts/summary"
}

# cpu_seconds <process>: what it and its ended children have used, user and system.
cpu_seconds() {
  local statistics
  read -r -a statistics <"/proc/$1/stat"
  local -i ticks=statistics[13]+statistics[14]+statistics[15]+statistics[16]
  echo $((ticks / $(getconf CLK_TCK)))
}

# part <what> <command...>: in front.
part() {
  current=$1
  say "$current"
  (measured "$@")
  current=
  lane_is_well
}

# in_background <function>: calls queued for every part of the background.
in_background() {
  set -m # a process group, which can be ended as a whole
  "$1" >"$parts/lane.log" 2>&1 &
  lane=$!
  set +m
}

# queued <name> <what> <command...>
queued() {
  local name=$1
  shift
  (measured "$@") >"$parts/$name.log" 2>&1 &
  if wait $!; then
    touch "$parts/$name.done"
  else
    printf '%s\n' "$1" >"$parts/failed"
    mv "$parts/$name.log" "$parts/failed.log"
    exit 1
  fi
}

# A part of the background that failed ends all.
lane_is_well() {
  if ! [ -e "$parts/failed.log" ]; then return; fi
  current=$(cat "$parts/failed")
  say "$current"
  cat "$parts/failed.log"
  exit 1
}

# await <name>: until that part of the background has ended; shows what it said.
await() {
  say "waiting for $1"
  until [ -e "$parts/$1.done" ]; do
    lane_is_well
    if ! kill -0 "$lane" 2>/dev/null && ! [ -e "$parts/$1.done" ]; then
      cat "$parts/lane.log"
      die "the background has ended without $1"
    fi
    sleep 1
  done
  cat "$parts/$1.log"
}

# skipped <what> <why>
skipped() {
  say "SKIPPED: $1 ($2)"
  echo "SKIPPED $1: $2" >>"$parts/summary"
}
