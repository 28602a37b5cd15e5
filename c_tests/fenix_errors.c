/* What is wrong gets a code and a text, the same code on all ranks where the call is collective. */
#include "fenix_data.h"

enum { MOST = 16, MEMBER = 3 };

static int memory[MOST];

/* Before Fenix_Init and after Fenix_Finalize nothing works. */
static void check_uninitialized(void)
{
  int n = 0, value[3] = { 1, 1, 0 };
  Fenix_Data_subset found;
  Fenix_Request request;
  memset(&request, 0, sizeof request);
  const int wanted = FENIX_ERROR_UNINITIALIZED;
  CHECK_INT(Fenix_Initialized(&n), FENIX_SUCCESS);
  CHECK_INT(n, 0);
  CHECK_INT(Fenix_Data_group_create(GROUP, MPI_COMM_WORLD, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, value, &n), wanted);
  CHECK_INT(n, wanted);
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, 1, MPI_INT), wanted);
  CHECK_INT(Fenix_Data_group_get_redundancy_policy(GROUP, &n, value, &n), wanted);
  CHECK_INT(Fenix_Data_wait(request), wanted);
  CHECK_INT(Fenix_Data_test(request, &n), wanted);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), wanted);
  CHECK_INT(Fenix_Data_member_storev(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), wanted);
  CHECK_INT(Fenix_Data_member_istore(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL, &request), wanted);
  CHECK_INT(Fenix_Data_member_istorev(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL, &request), wanted);
  CHECK_INT(Fenix_Data_commit(GROUP, &n), wanted);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, &n), wanted);
  CHECK_INT(Fenix_Data_barrier(GROUP), wanted);
  CHECK_INT(Fenix_Data_member_restore(GROUP, MEMBER, memory, 1, -1, &found), wanted);
  CHECK_INT(Fenix_Data_member_lrestore(GROUP, MEMBER, memory, 1, -1, &found), wanted);
  CHECK_INT(Fenix_Data_member_restore_from_rank(GROUP, MEMBER, memory, 1, -1, &found, 0), wanted);
  CHECK_INT(Fenix_Data_group_get_number_of_members(GROUP, &n), wanted);
  CHECK_INT(Fenix_Data_group_get_member_at_position(GROUP, &n, 0), wanted);
  CHECK_INT(Fenix_Data_group_get_number_of_snapshots(GROUP, &n), wanted);
  CHECK_INT(Fenix_Data_group_get_snapshot_at_position(GROUP, 0, &n), wanted);
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, FENIX_DATA_MEMBER_ATTRIBUTE_COUNT, &n, &n, 0), wanted);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, memory, &n), wanted);
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, 0), wanted);
  CHECK_INT(Fenix_Data_group_delete(GROUP), wanted);
  CHECK_INT(Fenix_Data_member_delete(GROUP, MEMBER), wanted);
}

static void check_no_group(void)
{
  int n = 0, value[3];
  Fenix_Data_subset found;
  Fenix_Request request;
  const int wanted = FENIX_ERROR_INVALID_GROUPID;
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, 1, MPI_INT), wanted);
  CHECK_INT(Fenix_Data_group_get_redundancy_policy(GROUP, &n, value, &n), wanted);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), wanted);
  CHECK_INT(Fenix_Data_member_istore(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL, &request), wanted);
  CHECK_INT(Fenix_Data_wait(request), FENIX_SUCCESS); /* there is nothing to wait for */
  CHECK_INT(Fenix_Data_commit(GROUP, &n), wanted);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, &n), wanted);
  CHECK_INT(Fenix_Data_barrier(GROUP), wanted);
  CHECK_INT(Fenix_Data_member_restore(GROUP, MEMBER, memory, 1, -1, &found), wanted);
  CHECK_INT(Fenix_Data_subset_delete(&found), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_lrestore(GROUP, MEMBER, memory, 1, -1, &found), wanted);
  CHECK_INT(Fenix_Data_group_get_number_of_members(GROUP, &n), wanted);
  CHECK_INT(Fenix_Data_group_get_snapshot_at_position(GROUP, 0, &n), wanted);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, memory, &n), wanted);
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, 0), wanted);
  CHECK_INT(Fenix_Data_group_delete(GROUP), wanted);
  char text[200] = "";
  CHECK(stanchion_last_error(text, sizeof text) > 0 && strstr(text, "7"));
}

static int create(MPI_Comm comm, int first, int depth, int policy, int mode, int separation, int set_size)
{
  int value[3] = { mode, separation, set_size }, flag = -9;
  int code = Fenix_Data_group_create(GROUP, comm, first, depth, policy, value, &flag);
  CHECK_INT(flag, code);
  return common(code);
}

/* Wrong everywhere, or on the last rank only. */
static void check_group_create(void)
{
  const int raid = FENIX_DATA_POLICY_IN_MEMORY_RAID, last = rank == size - 1, none = FENIX_ERROR_GROUP_CREATE;
  for (int everywhere = 0; everywhere < 2; everywhere++) {
    int bad = everywhere || last;
    CHECK_INT(create(world, bad ? -1 : 0, 0, raid, 1, 1, 0), FENIX_ERROR_INVALID_TIMESTAMP);
    CHECK_INT(create(world, 0, bad ? -2 : 0, raid, 1, 1, 0), FENIX_ERROR_INVALID_DEPTH);
    CHECK_INT(create(world, 0, 0, bad ? 12 : raid, 1, 1, 0), none);
    CHECK_INT(create(world, 0, 0, raid, bad ? 2 : 1, 1, 0), none);
    CHECK_INT(create(world, 0, 0, raid, 1, bad ? 0 : 1, 0), none);
    CHECK_INT(create(world, 0, 0, raid, 1, bad ? -3 : 1, 0), none);
    CHECK_INT(create(world, 0, 0, raid, 5, 1, bad ? 2 : 3), none);
    CHECK_INT(create(world, 0, 0, raid, 5, 1, bad ? -2 : 3), none);
    CHECK_INT(create(world, 0, 0, raid, 5, bad ? 0 : 1, 3), none);
    int value[2] = { 1, 1 };
    CHECK_INT(common(Fenix_Data_group_create(GROUP, world, 0, 0, raid, bad ? NULL : value, NULL)), none);
  }
  if (size > 1) { /* each rank asks for something else */
    CHECK_INT(create(world, rank, 0, raid, 1, 1, 0), none);
    CHECK_INT(create(world, 0, rank, raid, 1, 1, 0), none);
    CHECK_INT(create(world, 0, 0, raid, 1, 1 + last, 0), none);
    CHECK_INT(create(world, 0, 0, raid, last ? 5 : 1, 1, 3), none);
    int value[2] = { 1, 1 };
    CHECK_INT(common(Fenix_Data_group_create(rank, world, 0, 0, raid, value, NULL)), none);
  }
  CHECK(create(MPI_COMM_NULL, 0, 0, raid, 1, 1, 0) < 0);
  check_no_group();
}

/* A member that only the first rank has: it cannot be stored, and nobody commits without it. */
static void check_different_members(void)
{
  const int extra = MEMBER + 1, differ = FENIX_ERROR_INVALID_MEMBERID, all = FENIX_DATA_MEMBER_ALL;
  Fenix_Request request;
  if (rank == 0) CHECK_INT(Fenix_Data_member_create(GROUP, extra, memory, MOST, MPI_INT), FENIX_SUCCESS);
  CHECK_INT(common(Fenix_Data_member_store(GROUP, all, FENIX_DATA_SUBSET_FULL)), differ);
  CHECK_INT(common(Fenix_Data_member_istore(GROUP, all, FENIX_DATA_SUBSET_FULL, &request)), differ);
  CHECK(Fenix_Data_member_store(GROUP, extra, FENIX_DATA_SUBSET_FULL) < 0);
  CHECK_INT(common(Fenix_Data_commit_barrier(GROUP, NULL)), FENIX_ERROR_COMMIT_BARRIER);
  if (rank == 0) CHECK_INT(Fenix_Data_member_delete(GROUP, extra), FENIX_SUCCESS);
  CHECK_INT(common(Fenix_Data_member_store(GROUP, all, FENIX_DATA_SUBSET_FULL)), FENIX_SUCCESS);
  CHECK_INT(common(Fenix_Data_commit_barrier(GROUP, NULL)), FENIX_SUCCESS);
}

static void check_wrong_arguments(void)
{
  int n = -9, one = 1;
  void* none = NULL;
  Fenix_Data_subset bad = FENIX_DATA_SUBSET_FULL;
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, -1, MPI_INT), FENIX_ERROR_MEMBER_CREATE);
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, 1, MPI_DATATYPE_NULL), FENIX_ERROR_MEMBER_CREATE);
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, MOST, MPI_INT), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_store(GROUP, 99, FENIX_DATA_SUBSET_FULL), FENIX_ERROR_INVALID_MEMBERID);
  CHECK_INT(Fenix_Data_member_delete(GROUP, 99), FENIX_ERROR_INVALID_MEMBERID);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, 99, FENIX_DATA_MEMBER_ATTRIBUTE_COUNT, &one, &n), FENIX_ERROR_INVALID_MEMBERID);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, 99, memory, 1, -1, NULL)), FENIX_ERROR_INVALID_MEMBERID);
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, 4), FENIX_ERROR_INVALID_TIMESTAMP);
  CHECK(Fenix_Data_group_get_number_of_members(GROUP, NULL) < 0);
  CHECK(Fenix_Data_group_get_member_at_position(GROUP, NULL, 0) < 0);
  CHECK(Fenix_Data_group_get_number_of_snapshots(GROUP, NULL) < 0);
  CHECK(Fenix_Data_group_get_redundancy_policy(GROUP, &n, NULL, &n) < 0);
  CHECK(Fenix_Data_group_get_redundancy_policy(GROUP, NULL, memory, &n) < 0);
  CHECK_INT(Fenix_Data_group_get_redundancy_policy(GROUP, &n, memory, NULL), FENIX_SUCCESS);

  /* A subset that is none, a member without a buffer: others are not kept waiting. */
  bad.specifier = __FENIX_SUBSET_UNDEFINED;
  int code = Fenix_Data_member_store(GROUP, MEMBER, rank == 0 ? bad : FENIX_DATA_SUBSET_FULL);
  CHECK(rank == 0 ? code < 0 : code <= 0);
  bad.specifier = __FENIX_SUBSET_CREATEV;
  bad.num_blocks = 1;
  CHECK(Fenix_Data_member_store(GROUP, MEMBER, bad) < 0);
  bad.num_blocks = -1;
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, bad), FENIX_ERROR_SUBSET_NUM_BLOCKS);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, none, &n), FENIX_SUCCESS);
  CHECK(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL) < 0);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_EMPTY), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, memory, &n), FENIX_SUCCESS);
  Fenix_Request request;
  CHECK(Fenix_Data_member_istore(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL, NULL) < 0);
  CHECK_INT(Fenix_Data_member_istore(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL, &request), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_test(request, NULL), FENIX_ERROR_DATA_WAIT);
  CHECK_INT(Fenix_Data_wait(request), FENIX_SUCCESS);

  /* Counts that only one rank has wrong. */
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, MEMBER, memory, rank == size - 1 ? -4 : MOST, -1, NULL)), FENIX_ERROR_NOCATEGORY);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, MEMBER, memory, MOST, -1, NULL)), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_restore(GROUP, MEMBER, memory, MOST, -7, NULL), FENIX_ERROR_INVALID_TIMESTAMP);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  check_uninitialized();
  static int role, error;
  Fenix_Init(&role, MPI_COMM_WORLD, &world, &argc, &argv, 0, 0, MPI_INFO_NULL, &error);
  CHECK_INT(error, FENIX_SUCCESS);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  check_no_group();
  check_group_create();
  for (int i = 0; i < POLICIES; i++) {
    if (!has_group(&policies[i], 0, 0)) continue;
    check_wrong_arguments();
    check_different_members();
    CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
    check_no_group();
  }
  has_group(&policies[0], 0, 0); /* left to Fenix_Finalize */
  CHECK_INT(Fenix_Finalize(), FENIX_SUCCESS);
  check_uninitialized();
  return check_result_mpi();
}
