/* Fortran names communicators and datatypes by integers, and cannot be jumped to: it gets Fenix without a jump. */
#include "fenix_fortran.h"
#include "stanchion.h"

#include <string.h>

static MPI_Comm current; /* written by Fenix at every recovery */

/* Runs last of all callbacks, as the first that was registered. */
static void refresh(MPI_Comm comm, int error, void* newcomm)
{
  (void)error;
  *(MPI_Fint*)newcomm = MPI_Comm_c2f(comm);
}

int stanchion_fenix_init_f(int* role, MPI_Fint comm, MPI_Fint* newcomm, int spare_ranks, int* error)
{
  static jmp_buf nowhere;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "FENIX_RESUME_MODE", "NO_JUMP");
  current = MPI_COMM_NULL;
  *role = __fenix_preinit(role, MPI_Comm_f2c(comm), &current, NULL, NULL, spare_ranks, 0, info, error, &nowhere);
  MPI_Info_free(&info);
  *newcomm = MPI_Comm_c2f(current);
  __fenix_postinit(error);
  Fenix_Callback_register(refresh, newcomm);
  return *error;
}

MPI_Fint stanchion_fenix_comm_f(void)
{
  int running = 0;
  Fenix_Initialized(&running);
  return MPI_Comm_c2f(running ? current : MPI_COMM_NULL);
}

int stanchion_fenix_get_role_f(MPI_Fint comm, int rank, int* role)
{
  return Fenix_get_role(MPI_Comm_f2c(comm), rank, role);
}

int stanchion_fenix_group_create_f(int group_id, MPI_Fint comm, int start_time_stamp, int depth, int policy_name,
                                   const int* policy_value, int* flag)
{
  if (policy_name == STANCHION_FENIX_POLICY_PLACED) {
    int mode = policy_value[0];
    stanchion_fenix_placed placed = { mode, mode == 1 ? 0 : policy_value[1], NULL, mode == 6 ? policy_value[2] : 0 };
    return Fenix_Data_group_create(group_id, MPI_Comm_f2c(comm), start_time_stamp, depth, policy_name, &placed, flag);
  }
  int value[3] = { policy_value[0], policy_value[1], 0 };
  if (value[0] == 5 || policy_name == STANCHION_FENIX_POLICY_RS) value[2] = policy_value[2];
  return Fenix_Data_group_create(group_id, MPI_Comm_f2c(comm), start_time_stamp, depth, policy_name, value, flag);
}

int stanchion_fenix_member_create_f(int group_id, int member_id, void* buffer, int count, MPI_Fint datatype)
{
  return Fenix_Data_member_create(group_id, member_id, buffer, count, MPI_Type_f2c(datatype));
}

/* A request of Fortran has 16 bytes with every MPI. */
int stanchion_fenix_istore_f(int group_id, int member_id, Fenix_Data_subset subset, void* request)
{
  Fenix_Request started;
  int code = Fenix_Data_member_istore(group_id, member_id, subset, &started);
  memcpy(request, &started, sizeof started);
  return code;
}

int stanchion_fenix_wait_f(const void* request)
{
  Fenix_Request started;
  memcpy(&started, request, sizeof started);
  return Fenix_Data_wait(started);
}

int stanchion_fenix_test_f(const void* request, int* flag)
{
  Fenix_Request started;
  memcpy(&started, request, sizeof started);
  return Fenix_Data_test(started, flag);
}
