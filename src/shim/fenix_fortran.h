/* What fortran/fenix.f90 calls; communicators and datatypes are integers there. */
#ifndef STANCHION_FENIX_FORTRAN_H
#define STANCHION_FENIX_FORTRAN_H

#include "fenix.h"

int stanchion_fenix_init_f(int* role, MPI_Fint comm, MPI_Fint* newcomm, int spare_ranks, int* error);
MPI_Fint stanchion_fenix_comm_f(void);
int stanchion_fenix_get_role_f(MPI_Fint comm, int rank, int* role);
int stanchion_fenix_group_create_f(int group_id, MPI_Fint comm, int start_time_stamp, int depth, int policy_name,
                                   const int* policy_value, int* flag);
int stanchion_fenix_member_create_f(int group_id, int member_id, void* buffer, int count, MPI_Fint datatype);
int stanchion_fenix_istore_f(int group_id, int member_id, Fenix_Data_subset subset, void* request);
int stanchion_fenix_wait_f(const void* request);
int stanchion_fenix_test_f(const void* request, int* flag);

#endif
