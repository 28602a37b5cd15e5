# Sourced by the tests, which run on the front end of a cluster.

say() { printf '\n==> %s\n' "$*"; }
die() { printf '\nerror: %s\n' "$*" >&2; exit 1; }

# job <ranks> <nodes> <command...>: in time, or it hangs.
job() {
  local rc=0
  timeout -k 5 120 cluster run -n "$1" -w "$2" -- "${@:3}" || rc=$?
  case $rc in
    0) ;;
    124 | 137) die "the job hangs: ${*:3}" ;;
    *) die "exit code $rc: ${*:3}" ;;
  esac
}
