/* Another thread uses what the first has made. A store that is under way when MPI ends is left alone, and what is called
 * after that, until the process has ended, gets an error instead of an abort. */
#include <pthread.h>
#include "fenix_data.h"

enum { COUNT = 1000, MEMBER = 3 };

static int memory[COUNT], code_at_exit = -1;

static void* store(void* nothing)
{
  CHECK(has_group(&policies[0], 0, 0));
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, COUNT, MPI_INT), FENIX_SUCCESS);
  fill(memory, COUNT, MEMBER, 1);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  return nothing;
}

static void check_ended(void)
{
  int n = -9, value[2] = { 1, 1 };
  Fenix_Request request;
  CHECK(Fenix_Data_group_create(GROUP, world, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, value, &n) < 0);
  CHECK(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL) < 0);
  CHECK(Fenix_Data_member_istore(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL, &request) < 0);
  CHECK(Fenix_Data_commit(GROUP, NULL) < 0);
  CHECK(Fenix_Data_commit_barrier(GROUP, NULL) < 0);
  CHECK(Fenix_Data_barrier(GROUP) < 0);
  CHECK(Fenix_Data_member_restore(GROUP, MEMBER, memory, COUNT, -1, NULL) < 0);
  CHECK(Fenix_Data_member_attr_get(GROUP, MEMBER, FENIX_DATA_MEMBER_ATTRIBUTE_COUNT, &n, &n, 0) < 0);
  CHECK(Fenix_Data_member_create(GROUP, MEMBER + 1, memory, COUNT, MPI_INT) < 0);
  CHECK(Fenix_Process_detect_failures(0) < 0);
  CHECK(Fenix_get_role(world, 0, &n) < 0);
}

static void at_exit(void)
{
  code_at_exit = Fenix_Data_group_delete(GROUP);
  if (code_at_exit >= 0 || check_failures) _exit(3);
}

int main(int argc, char** argv)
{
  static int role, error;
  int level;
  pthread_t thread;
  Fenix_Request request;
  atexit(at_exit);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  Fenix_Init(&role, MPI_COMM_WORLD, &world, &argc, &argv, 0, 0, MPI_INFO_NULL, &error);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  CHECK(level >= MPI_THREAD_SERIALIZED && pthread_create(&thread, NULL, store, NULL) == 0);
  pthread_join(thread, NULL);
  clear(memory, COUNT);
  CHECK_INT(Fenix_Data_member_restore(GROUP, MEMBER, memory, COUNT, -1, NULL), FENIX_SUCCESS);
  CHECK_INT(wrong(memory, 0, COUNT, MEMBER, 1, rank), 0);
  CHECK_INT(Fenix_Data_member_istore(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL, &request), FENIX_SUCCESS);
  MPI_Barrier(world);
  MPI_Finalize(); /* without Fenix_Finalize */
  check_ended();
  CHECK(Fenix_Data_wait(request) < 0);
  return check_result();
}
