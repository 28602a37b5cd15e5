# Sourced by the other scripts: where the repository is, how to talk, which MPIs there are and what they need.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${STANCHION_VENV:-$repo/build-deps/openmpi5}
jobs=$(nproc 2>/dev/null || echo 2)
for directory in "$HOME/.cargo/bin" "${CARGO_HOME:-$HOME/.cargo}/bin"; do
  if [ -x "$directory/cargo" ]; then PATH=$directory:$PATH; fi
done

say() { printf '\n==> %s\n' "$*"; }
die() { printf '\nerror: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# at_least <version> <wanted>
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# The MPI of all that needs only one. If MPICC names a wrapper, that is `own`, and there is no other; else Open MPI 4, besides MPICH
# and Open MPI 5, under Debian's names.
main=openmpi
mpis="openmpi mpich openmpi5"
if [ -n "${MPICC:-}" ]; then
  main=own
  mpis=own
fi

# mpi_program <own|openmpi|mpich|openmpi5> <mpicc|mpiexec|mpifort>
mpi_program() {
  case $1 in
    own) own_program "$2" ;;
    openmpi | mpich) echo "$2.$1" ;;
    openmpi5) echo "$venv/bin/$2" ;;
    *) die "unknown MPI $1: openmpi, mpich or openmpi5" ;;
  esac
}

# own_program <mpicc|mpiexec|mpifort>: of the MPI of $MPICC. mpicc.mpich goes with mpiexec.mpich beside it, a wrapper of another name
# with mpiexec; where there is no mpiexec beside it, the PATH decides.
own_program() {
  local wrapper suffix= beside
  wrapper=$(command -v "${MPICC:?}") || die "MPICC is $MPICC, which is not a program that can be found"
  if [[ $(basename "$wrapper") =~ ^mpi[a-z]*(.*) ]]; then suffix=${BASH_REMATCH[1]}; fi
  beside=$(dirname "$wrapper")/$1$suffix
  if [ "$1" = mpicc ]; then echo "$wrapper"
  elif [ "$1" = mpiexec ] && [ -n "${MPIEXEC:-}" ]; then echo "$MPIEXEC"
  elif [ "$1" = mpiexec ] && ! [ -x "$beside" ]; then echo mpiexec
  else echo "$beside"
  fi
}

# choose_mpi <own|openmpi|mpich|openmpi5>: leaves its programs in $mpicc and $mpiexec, and what CMake is told in $mpi_options.
choose_mpi() {
  mpicc=$(command -v "$(mpi_program "$1" mpicc)") || die "there is no $(mpi_program "$1" mpicc)"
  mpiexec=$(command -v "$(mpi_program "$1" mpiexec)") || die "there is no $(mpi_program "$1" mpiexec)"
  mpi_options=("-DMPI_C_COMPILER=$mpicc" "-DMPIEXEC_EXECUTABLE=$mpiexec")
}

# Open MPI 4 and 5 as root and with more ranks than cores; MPICH needs nothing.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_btl_vader_single_copy_mechanism=none

# optimized_cargo <command> <arguments...>: for what runs for hours; checks stay on, and one directory serves all of it.
optimized_cargo() {
  local command=$1
  shift
  cargo "$command" --locked --profile fuzz --target-dir "$repo/build-test/cargo/fuzz" --features faults "$@"
}

# cargo_directory <build tree>: where CMake lets cargo build the MPI half.
cargo_directory() { sed -n 's/^STANCHION_CARGO_DIRECTORY_mpi:INTERNAL=//p' "$1/CMakeCache.txt"; }

# start_from <build tree> <configured tree for another MPI>: crates that read mpi.h take longest to compile and are the
# same for every MPI, so cargo begins with a copy; mpi-sys does not notice when the MPI changes below it and is made anew.
start_from() {
  local from to
  from=$(cargo_directory "$1")
  to=$(cargo_directory "$2")
  if [ -d "$to" ] || ! [ -d "$from" ]; then return; fi
  mkdir -p "$(dirname "$to")"
  cp -a "$from" "$to"
  CARGO_TARGET_DIR=$to cargo clean --quiet --profile ci -p mpi-sys -p stanchion
}
