/* A client of redset with MPI: protects a file, loses it, gets it back. Also compiled as C++. */
#ifndef REDSET_ENABLE_MPI
#error "the package should define REDSET_ENABLE_MPI"
#endif
#include <mpi.h>

#include <kvtree.h>
#include <redset.h>

#include <stdio.h>
#include <unistd.h>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      MPI_Abort(MPI_COMM_WORLD, 1);                                        \
    }                                                                      \
  } while (0)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, found = -1;
  char file[32], group[32];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(file, sizeof file, "file%d", rank);
  snprintf(group, sizeof group, "node%d", rank);
  FILE* stream = fopen(file, "w");
  CHECK(stream && fprintf(stream, "%d", rank) > 0 && fclose(stream) == 0);

  redset d = NULL;
  const char* files[1] = {file};
  CHECK(redset_init() == REDSET_SUCCESS);
  CHECK(redset_create_xor(MPI_COMM_WORLD, group, 2, &d) == REDSET_SUCCESS);
  CHECK(redset_apply(1, files, "ck.", d) == REDSET_SUCCESS);
  CHECK(redset_delete(&d) == REDSET_SUCCESS);
  if (rank == 1) unlink(file);
  CHECK(redset_recover(MPI_COMM_WORLD, "ck.", &d) == REDSET_SUCCESS);
  stream = fopen(file, "r");
  CHECK(stream && fscanf(stream, "%d", &found) == 1 && fclose(stream) == 0 && found == rank);
  CHECK(redset_unapply("ck.", d) == REDSET_SUCCESS);
  CHECK(redset_delete(&d) == REDSET_SUCCESS);
  CHECK(redset_finalize() == REDSET_SUCCESS);
  kvtree* config = redset_config(NULL);
  CHECK(kvtree_size(config) > 0 && kvtree_delete(&config) == KVTREE_SUCCESS);
  MPI_Finalize();
  return 0;
}
