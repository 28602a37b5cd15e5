/* The data calls of Fenix that talk to other ranks: as in raise_mpi.c. */
#include "raise.h"
#include "fenix.h"

INNER(Fenix_Data_group_create);
int Fenix_Data_group_create(int group_id, MPI_Comm comm, int start_time_stamp, int depth, int policy_name,
                            void* policy_value, int* flag)
{
  return stanchion_raised(
    inner_Fenix_Data_group_create(group_id, comm, start_time_stamp, depth, policy_name, policy_value, flag));
}

INNER(Fenix_Data_wait);
int Fenix_Data_wait(Fenix_Request request)
{
  return stanchion_raised(inner_Fenix_Data_wait(request));
}

INNER(Fenix_Data_test);
int Fenix_Data_test(Fenix_Request request, int* flag)
{
  return stanchion_raised(inner_Fenix_Data_test(request, flag));
}

INNER(Fenix_Data_member_store);
int Fenix_Data_member_store(int group_id, int member_id, Fenix_Data_subset subset)
{
  return stanchion_raised(inner_Fenix_Data_member_store(group_id, member_id, subset));
}

INNER(Fenix_Data_member_storev);
int Fenix_Data_member_storev(int group_id, int member_id, Fenix_Data_subset subset)
{
  return stanchion_raised(inner_Fenix_Data_member_storev(group_id, member_id, subset));
}

INNER(Fenix_Data_member_istore);
int Fenix_Data_member_istore(int group_id, int member_id, Fenix_Data_subset subset, Fenix_Request* request)
{
  return stanchion_raised(inner_Fenix_Data_member_istore(group_id, member_id, subset, request));
}

INNER(Fenix_Data_member_istorev);
int Fenix_Data_member_istorev(int group_id, int member_id, Fenix_Data_subset subset, Fenix_Request* request)
{
  return stanchion_raised(inner_Fenix_Data_member_istorev(group_id, member_id, subset, request));
}

INNER(Fenix_Data_commit);
int Fenix_Data_commit(int group_id, int* time_stamp)
{
  return stanchion_raised(inner_Fenix_Data_commit(group_id, time_stamp));
}

INNER(Fenix_Data_commit_barrier);
int Fenix_Data_commit_barrier(int group_id, int* time_stamp)
{
  return stanchion_raised(inner_Fenix_Data_commit_barrier(group_id, time_stamp));
}

INNER(Fenix_Data_barrier);
int Fenix_Data_barrier(int group_id)
{
  return stanchion_raised(inner_Fenix_Data_barrier(group_id));
}

INNER(Fenix_Data_member_restore);
int Fenix_Data_member_restore(int group_id, int member_id, void* target_buffer, int max_count, int time_stamp,
                              Fenix_Data_subset* found_data)
{
  return stanchion_raised(
    inner_Fenix_Data_member_restore(group_id, member_id, target_buffer, max_count, time_stamp, found_data));
}

INNER(Fenix_Data_member_restore_from_rank);
int Fenix_Data_member_restore_from_rank(int group_id, int member_id, void* data, int max_count, int time_stamp,
                                        Fenix_Data_subset* found_data, int source_rank)
{
  return stanchion_raised(inner_Fenix_Data_member_restore_from_rank(group_id, member_id, data, max_count, time_stamp,
                                                                    found_data, source_rank));
}

INNER(Fenix_Data_member_attr_get);
int Fenix_Data_member_attr_get(int group_id, int member_id, int attributename, void* attributevalue, int* flag,
                               int source_rank)
{
  return stanchion_raised(
    inner_Fenix_Data_member_attr_get(group_id, member_id, attributename, attributevalue, flag, source_rank));
}
