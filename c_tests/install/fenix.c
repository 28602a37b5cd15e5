/* A client of Fenix: stores a member, loses it, gets it back. Also compiled as C++. */
#include <fenix.h>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      MPI_Abort(MPI_COMM_WORLD, 1);                                        \
    }                                                                      \
  } while (0)

static int role, error, resumed;
static MPI_Comm world;

static void on_recovery(MPI_Comm comm, int code, void* data) {
  (void)comm;
  (void)code;
  *(int*)data += 1;
}

int main(int argc, char** argv) {
  int rank = -1, flag = -1, stamp = -1, policy[2] = {1, 1};
  double field[100];
  Fenix_Data_subset found, half;
  MPI_Init(&argc, &argv);
  Fenix_Init(&role, MPI_COMM_WORLD, &world, &argc, &argv, 0, 0, MPI_INFO_NULL, &error);
  CHECK(error == FENIX_SUCCESS && role == FENIX_ROLE_INITIAL_RANK);
  MPI_Comm_rank(world, &rank);
  recover callback = on_recovery;
  CHECK(Fenix_Callback_register(callback, &resumed) == FENIX_SUCCESS && Fenix_Callback_pop() == FENIX_SUCCESS);
  CHECK(Fenix_Data_group_create(1, world, 0, 1, FENIX_DATA_POLICY_IN_MEMORY_RAID, policy, &flag) == FENIX_SUCCESS && flag == 0);
  CHECK(Fenix_Data_member_create(1, 2, field, 100, MPI_DOUBLE) == FENIX_SUCCESS);
  for (int i = 0; i < 100; i++) field[i] = i + rank;
  CHECK(Fenix_Data_member_store(1, 2, FENIX_DATA_SUBSET_FULL) == FENIX_SUCCESS);
  CHECK(Fenix_Data_commit_barrier(1, &stamp) == FENIX_SUCCESS && stamp == 0);
  CHECK(Fenix_Data_subset_create(1, 0, 49, 1, &half) == FENIX_SUCCESS);
  CHECK(Fenix_Data_member_store(1, 2, half) == FENIX_SUCCESS);
  CHECK(Fenix_Data_subset_delete(&half) == FENIX_SUCCESS);
  CHECK(Fenix_Data_commit(1, NULL) == FENIX_SUCCESS);
  for (int i = 0; i < 100; i++) field[i] = -1;
  CHECK(Fenix_Data_member_restore(1, 2, field, 100, FENIX_DATA_SNAPSHOT_LATEST, &found) == FENIX_SUCCESS);
  for (int i = 0; i < 100; i++) CHECK(field[i] == i + rank);
  CHECK(found.num_blocks == 1 && found.end_offsets[0] == 99 && Fenix_Data_subset_delete(&found) == FENIX_SUCCESS);
  CHECK(Fenix_Finalize() == FENIX_SUCCESS && resumed == 0);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
