/* Fortran names a communicator by an integer. MPI_Comm_f2c is a macro in some MPIs, so it is called from C. */
#include "stanchion.h"

int stanchion_redset_create_f(int type, MPI_Fint comm, const char* group, redset* d)
{
  return redset_create(type, MPI_Comm_f2c(comm), group, d);
}

int stanchion_redset_create_single_f(MPI_Fint comm, const char* group, redset* d)
{
  return redset_create_single(MPI_Comm_f2c(comm), group, d);
}

int stanchion_redset_create_partner_f(MPI_Fint comm, const char* group, int size, int replicas, redset* d)
{
  return redset_create_partner(MPI_Comm_f2c(comm), group, size, replicas, d);
}

int stanchion_redset_create_xor_f(MPI_Fint comm, const char* group, int size, redset* d)
{
  return redset_create_xor(MPI_Comm_f2c(comm), group, size, d);
}

int stanchion_redset_create_rs_f(MPI_Fint comm, const char* group, int size, int k, redset* d)
{
  return redset_create_rs(MPI_Comm_f2c(comm), group, size, k, d);
}

int stanchion_redset_recover_f(MPI_Fint comm, const char* name, redset* d)
{
  return redset_recover(MPI_Comm_f2c(comm), name, d);
}

int stanchion_redset_verify_f(MPI_Fint comm, const char* name, kvtree** report)
{
  return stanchion_redset_verify(MPI_Comm_f2c(comm), name, report);
}
