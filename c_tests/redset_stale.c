/* A rank comes back with files of an earlier apply under the same name: its descriptor of another scheme, its redundancy,
 * its data, or all of them. It is told, and the files of the last apply come back on all ranks. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"

enum { PARTS = 3, SCHEMES = 3 };

static MPI_Comm comm;
static int rank, size;
static char names[PARTS][256]; /* data, descriptor, redundancy */
static struct bytes old[PARTS], new[PARTS];

static int create(int scheme, redset* d)
{
  const char* group = text("node%d", rank);
  if (scheme == 0) return redset_create_xor(comm, group, size, d);
  if (scheme == 1) return redset_create_partner(comm, group, size, 1, d);
  return redset_create_rs(comm, group, size, 1, d);
}

/* Writes data of its own, protects it, and notes down what is there then. */
static void apply(int scheme, unsigned seed, struct bytes* parts)
{
  redset d = NULL;
  CHECK_OK(create(scheme, &d));
  snprintf(names[0], sizeof names[0], "data%d", rank);
  struct bytes data = made_bytes(1000 + 8 * rank, seed + (unsigned)rank);
  CHECK_INT(write_bytes(names[0], data), 0);
  free_bytes(&data);
  const char* files[] = {names[0]};
  CHECK_OK(redset_apply(1, files, "ck.", d));
  redset_filelist list = redset_filelist_enc_get("ck.", d);
  for (int i = 0; i < 2; i++) snprintf(names[i + 1], sizeof names[i + 1], "%s", redset_filelist_file(list, i));
  CHECK_OK(redset_filelist_release(&list));
  CHECK_OK(redset_delete(&d));
  for (int i = 0; i < PARTS; i++) {
    free_bytes(&parts[i]);
    parts[i] = read_bytes(names[i]);
  }
  MPI_Barrier(comm);
}

/* Recovers, and expects what the last apply left. */
static void recovers(void)
{
  redset d = NULL;
  MPI_Barrier(comm);
  CHECK(stanchion_redset_verify(comm, "ck.", NULL) != REDSET_SUCCESS);
  CHECK_OK(redset_recover(comm, "ck.", &d));
  CHECK_OK(redset_delete(&d));
  for (int i = 0; i < PARTS; i++) CHECK(file_is(names[i], new[i]));
  CHECK_OK(stanchion_redset_verify(comm, "ck.", NULL));
  MPI_Barrier(comm);
}

static void stale_parts(int scheme)
{
  apply(scheme, 1, old);
  apply(scheme, 100, new);
  for (int stale = 0; stale < size; stale++)
    for (unsigned parts = 1; parts < 1u << PARTS; parts++) {
      for (int i = 0; i < PARTS && rank == stale; i++)
        if (parts >> i & 1) CHECK_INT(write_bytes(names[i], old[i]), 0);
      recovers();
    }
}

/* The scheme changes, with what the first left removed or not. */
static void stale_scheme(int first, int second, int removes)
{
  redset d = NULL;
  apply(first, 1, old);
  if (removes) {
    CHECK_OK(redset_recover(comm, "ck.", &d));
    CHECK_OK(redset_unapply("ck.", d));
    CHECK_OK(redset_delete(&d));
  }
  apply(second, 100, new);
  if (rank == 1) CHECK_INT(write_bytes(names[1], old[1]), 0);
  recovers();
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK_OK(redset_init());
  for (int i = 0; i < PARTS; i++) old[i] = new[i] = (struct bytes){NULL, -1};
  for (int scheme = 0; scheme < SCHEMES; scheme++) stale_parts(scheme);
  /* Two ranks that know of one apply each cannot tell which is newer, once the first was removed. */
  for (int removes = 0; removes < (size > 2 ? 2 : 1); removes++)
    for (int scheme = 0; scheme < SCHEMES; scheme++) stale_scheme(scheme, (scheme + 1) % SCHEMES, removes);
  for (int i = 0; i < PARTS; i++) {
    free_bytes(&old[i]);
    free_bytes(&new[i]);
  }
  CHECK_OK(redset_finalize());
  MPI_Comm_free(&comm);
  return check_result_mpi();
}
