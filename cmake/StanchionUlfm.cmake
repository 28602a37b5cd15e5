# Sets STANCHION_ULFM: whether Fenix can repair jobs, that is, the MPI has ULFM as Open MPI 5 does. Says so, or why not: a job that
# cannot be repaired shows it only when a rank dies.

include(CheckCSourceCompiles)
include(CheckSymbolExists)

# Some MPIs install the header of an extension that their library was built without.
function(stanchion_probe_ulfm)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
  set(CMAKE_REQUIRED_QUIET ON)
  check_symbol_exists(OMPI_HAVE_MPI_EXT_FTMPI "mpi.h;mpi-ext.h" STANCHION_MPI_DECLARES_ULFM)
  if(STANCHION_MPI_DECLARES_ULFM)
    check_c_source_compiles("
#include <mpi.h>
#include <mpi-ext.h>
int main(void)
{
  int flag = MPIX_ERR_PROC_FAILED + MPIX_ERR_PROC_FAILED_PENDING + MPIX_ERR_REVOKED;
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Group group;
  return MPIX_Comm_revoke(comm) + MPIX_Comm_is_revoked(comm, &flag) + MPIX_Comm_shrink(comm, &comm)
    + MPIX_Comm_agree(comm, &flag) + MPIX_Comm_failure_ack(comm) + MPIX_Comm_failure_get_acked(comm, &group);
}
" STANCHION_MPI_LINKS_ULFM)
  endif()
endfunction()

stanchion_probe_ulfm()
set(ulfm OFF)
if(NOT STANCHION_MPI_DECLARES_ULFM)
  message(STATUS "Fenix cannot repair jobs: this MPI has no ULFM (Open MPI 5 has it)")
elseif(NOT STANCHION_MPI_LINKS_ULFM)
  message(STATUS "Fenix cannot repair jobs: mpi-ext.h declares ULFM, but a program that calls it does not link; "
                 "is the header of another MPI than the library?")
else()
  set(ulfm ON)
  message(STATUS "Fenix can repair jobs that are started with fault tolerance: mpiexec --with-ft ulfm")
endif()
set(STANCHION_ULFM ${ulfm} CACHE INTERNAL "Whether Fenix can repair jobs")
list(APPEND STANCHION_MPI_CARGO_ENV "STANCHION_ULFM=${STANCHION_ULFM}")
