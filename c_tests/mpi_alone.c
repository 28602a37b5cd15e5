/* Loads what MPI itself needs. */
#include <mpi.h>

int mpi_alone(void);
int mpi_alone(void)
{
  int rank;
  return MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}
