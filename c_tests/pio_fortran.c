/* Starts MPI for pio_fortran.f90 and counts the checks that failed on any rank. */
#include <mpi.h>

#include "check.h"

void pio_fortran_tests(MPI_Fint comm, int rank, int size, int* failures);

int main(int argc, char** argv)
{
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pio_fortran_tests(MPI_Comm_c2f(MPI_COMM_WORLD), rank, size, &check_failures);
  return check_result_mpi();
}
