/* A client of the MPI API; also compiled as C++. */
#include <mpi.h>

#include <kvtree.h>
#include <kvtree_mpi.h>
#include <kvtree_util.h>
#include <rankstr_mpi.h>

#include <stdio.h>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      MPI_Abort(MPI_COMM_WORLD, 1);                                        \
    }                                                                      \
  } while (0)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  kvtree* tree = kvtree_new();
  if (rank == 0) {
    kvtree_util_set_int(tree, "ANSWER", 42);
  }
  CHECK(kvtree_bcast(tree, 0, MPI_COMM_WORLD) == KVTREE_SUCCESS);
  int answer = 0;
  CHECK(kvtree_util_get_int(tree, "ANSWER", &answer) == KVTREE_SUCCESS && answer == 42);
  kvtree_delete(&tree);

  int groups = 0, group = -1;
  rankstr_mpi(rank == 0 ? "first" : "others", MPI_COMM_WORLD, 1, 2, &groups, &group);
  CHECK(groups == (size > 1 ? 2 : 1));
  CHECK(group >= 0 && group < groups);

  MPI_Finalize();
  return 0;
}
