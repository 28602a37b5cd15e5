/* Raises a process failure on the user's communicator, once Rust has returned. */
#include "raise.h"

#include <mpi.h>

/* Rust: whether there is a failure to raise, where, and its MPI code. */
int inner_take_failure(MPI_Comm* comm, int* code);

int stanchion_raised(int rc)
{
  MPI_Comm comm;
  int code;
  if (inner_take_failure(&comm, &code)) MPI_Comm_call_errhandler(comm, code);
  return rc;
}
