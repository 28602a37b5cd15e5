/* Error texts name a rank as the caller knows it: by its number in the communicator that was passed, not in its set, and by
 * its host. The communicator has the ranks of the world in reverse order; the set of its last rank loses too much. */
#define _XOPEN_SOURCE 700
#include <mpi.h>

#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"

enum { SET = 2, MOST = 2 * SET };

static MPI_Comm comm;
static int rank, size;

/* The set of the last rank, in ascending order. */
static int lost[MOST], losts;

static int by_number(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static void find_lost(redset d)
{
  stanchion_redset_info info;
  CHECK_OK(stanchion_redset_describe(d, &info));
  losts = info.ranks;
  MPI_Bcast(&losts, 1, MPI_INT, size - 1, comm);
  CHECK(losts <= MOST);
  for (int i = 0; i < info.ranks && i < MOST; i++) lost[i] = info.group_map[i];
  MPI_Bcast(lost, MOST, MPI_INT, size - 1, comm);
  qsort(lost, (size_t)losts, sizeof *lost, by_number);
}

static int is_lost(void)
{
  for (int i = 0; i < losts; i++)
    if (lost[i] == rank) return 1;
  return 0;
}

int main(int argc, char** argv)
{
  char host[256] = "";
  redset d = NULL, found = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  gethostname(host, sizeof host - 1);
  CHECK_INT(redset_init(), 0);

  const char* file = text("file%d", rank);
  struct bytes content = made_bytes(1000 + rank, (unsigned)rank + 1);
  CHECK_INT(write_bytes(file, content), 0);
  CHECK_OK(redset_create_xor(comm, text("group%d", rank), SET, &d));
  find_lost(d);
  CHECK_OK(redset_apply(1, &file, "ck.", d));
  if (is_lost()) CHECK_INT(unlink(file), 0);
  MPI_Barrier(comm);
  CHECK(redset_recover(comm, "ck.", &found) != REDSET_SUCCESS);
  for (int i = 0; i < losts; i++) CHECK_ERROR(text("rank %d on %s: file%d: ", lost[i], host, lost[i]));
  if (!is_lost()) CHECK_ERROR(text("rank %d on %s failed: ", lost[0], host));

  /* What all ranks do together: the last one names a file that is not there. */
  const char* given = rank == size - 1 ? "absent" : file;
  if (is_lost()) CHECK_INT(write_bytes(file, content), 0);
  CHECK(redset_apply(1, &given, "ck.", d) != REDSET_SUCCESS);
  CHECK_ERROR("absent");
  if (rank != size - 1) CHECK_ERROR(text("rank %d on %s failed: ", size - 1, host));

  CHECK_OK(redset_unapply("ck.", d));
  CHECK_OK(redset_delete(&found));
  CHECK_OK(redset_delete(&d));
  free_bytes(&content);
  CHECK_INT(redset_finalize(), 0);
  MPI_Comm_free(&comm);
  return check_result_mpi();
}
