/* Sets that the original library wrote (golden/, given as argument) are recovered by as many ranks after
 * every loss that they tolerate, and verified. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"
#include "redset_golden.h"

static int rank, ranks;
static MPI_Comm comm;

static void after_a_loss(const char* golden, const struct golden* set, unsigned lost)
{
  redset d = NULL;
  int own = lost >> rank & 1;
  char enc[256];
  snprintf(enc, sizeof enc, "%s", golden_redundancy(set, "enc/ck.", rank));
  if (own) {
    unlink(enc);
    unlink(golden_descriptor(rank));
    for (int i = 0; i < set->files; i++) unlink(golden_data(rank, i));
  }
  MPI_Barrier(comm);
  if (golden_tolerates(set, lost)) {
    CHECK_OK(redset_recover(comm, "enc/ck.", &d));
    golden_same(golden, set, enc);
    golden_same(golden, set, golden_descriptor(rank));
    for (int i = 0; i < set->files; i++) golden_same(golden, set, golden_data(rank, i));
    CHECK_OK(redset_delete(&d));
  } else {
    CHECK(redset_recover(comm, "enc/ck.", &d) != REDSET_SUCCESS);
    CHECK_OK(redset_delete(&d));
    for (int i = 0; i < set->files; i++) CHECK_INT(file_exists(golden_data(rank, i)), !own);
    MPI_Barrier(comm);
    golden_copy_file(text("%s/%s/%s", golden, set->name, enc), enc);
    golden_copy_file(text("%s/%s/%s", golden, set->name, golden_descriptor(rank)), golden_descriptor(rank));
    for (int i = 0; i < set->files && own; i++)
      golden_copy_file(text("%s/%s/%s", golden, set->name, golden_data(rank, i)), golden_data(rank, i));
  }
  MPI_Barrier(comm);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  if (argc != 2) return 2;
  for (int s = 0; s < GOLDEN_SETS; s++) {
    const struct golden* set = &golden_sets[s];
    if (set->ranks != ranks) continue;
    if (rank == 0) {
      golden_enter(argv[1], set);
      CHECK_INT(chdir(".."), 0);
    }
    MPI_Barrier(comm);
    CHECK_INT(chdir(set->name), 0);
    CHECK_OK(stanchion_redset_verify(comm, "enc/ck.", NULL));
    for (unsigned lost = 0; lost < 1u << ranks; lost++) after_a_loss(argv[1], set, lost);
    CHECK_OK(stanchion_redset_verify(comm, "enc/ck.", NULL));
    CHECK_INT(chdir(".."), 0);
  }
  MPI_Comm_free(&comm);
  return check_result_mpi();
}
