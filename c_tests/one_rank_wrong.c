/* One rank gives what cannot be: NULL, a number out of range, something else than the others. As long as its
 * communicator is known, all ranks return and give the same answer. What is not known (a NULL descriptor) is told to
 * that rank at once; nobody else calls anything then. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_mpi.h"
#include "kvtree_util.h"
#include "rankstr_mpi.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"

#include <unistd.h>

static int rank, size, bad, is_bad;
static char group[16], file[32];

/* All ranks say the same, and it is a failure. */
static void all_fail(int line, int code)
{
  int failed = code != 0, all = 0;
  MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check_int(__FILE__, line, "ranks that fail", all, size);
}

#define ALL_FAIL(call) all_fail(__LINE__, call)

static kvtree* some(void)
{
  kvtree* tree = kvtree_new();
  kvtree_util_set_int(tree, "rank", rank);
  return tree;
}

static void broadcasts(void)
{
  const int roots[] = {-1, size, 99, 2147483647, bad == 0 ? size - 1 : bad};
  kvtree* tree = some();
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
    ALL_FAIL(kvtree_bcast(tree, is_bad ? roots[i] : 0, MPI_COMM_WORLD));
  }
  ALL_FAIL(kvtree_bcast(is_bad ? NULL : tree, (bad + 1) % size, MPI_COMM_WORLD));
  int value = -1;
  CHECK_INT(kvtree_util_get_int(tree, "rank", &value), KVTREE_SUCCESS);
  CHECK_INT(value, rank);
  kvtree_delete(&tree);
}

static void exchanges(void)
{
  kvtree* nowhere = kvtree_new();
  kvtree* received = kvtree_new();
  kvtree* nothing = kvtree_new();
  const char* keys[] = {"zzz", "-1", "", "99999999999999999999"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    kvtree_unset_all(nowhere);
    kvtree_set(nowhere, keys[i], kvtree_new());
    ALL_FAIL(kvtree_exchange(is_bad ? nowhere : nothing, received, MPI_COMM_WORLD));
    ALL_FAIL(kvtree_exchange_direction(is_bad ? nowhere : nothing, received, MPI_COMM_WORLD, KVTREE_EXCHANGE_LEFT));
  }
  ALL_FAIL(kvtree_exchange(nothing, is_bad ? NULL : received, MPI_COMM_WORLD));
  ALL_FAIL(kvtree_exchange_direction(nothing, is_bad ? NULL : received, MPI_COMM_WORLD, KVTREE_EXCHANGE_RIGHT));
  CHECK_INT(kvtree_size(received), 0);
  kvtree_delete(&nowhere);
  kvtree_delete(&received);
  kvtree_delete(&nothing);
}

static void gathers(void)
{
  kvtree* tree = some();
  ALL_FAIL(kvtree_write_gather(is_bad ? NULL : "fresh", tree, MPI_COMM_WORLD));
  CHECK(access("fresh", F_OK) != 0);
  CHECK_INT(kvtree_write_gather("set", tree, MPI_COMM_WORLD), KVTREE_SUCCESS);
  ALL_FAIL(kvtree_read_scatter(is_bad ? NULL : "set", tree, MPI_COMM_WORLD));
  ALL_FAIL(kvtree_read_scatter("set", is_bad ? NULL : tree, MPI_COMM_WORLD));
  if (bad == 0) ALL_FAIL(kvtree_read_scatter(is_bad ? "no/such/set" : "set", tree, MPI_COMM_WORLD));
  kvtree_delete(&tree);
}

static void strings(void)
{
  int groups = 7, id = 7;
  rankstr_mpi(is_bad ? NULL : "same", MPI_COMM_WORLD, 0, 1, &groups, &id);
  CHECK_INT(groups, 0);
  CHECK_INT(id, -1);
  MPI_Comm split = MPI_COMM_WORLD;
  rankstr_mpi_comm_split(MPI_COMM_WORLD, "same", rank, 0, 1, is_bad ? NULL : &split);
  CHECK(is_bad || split == MPI_COMM_NULL);
  rankstr_mpi(is_bad ? "one" : "other", MPI_COMM_WORLD, is_bad ? 5 : 0, 1, is_bad ? NULL : &groups, &id);
  CHECK(is_bad || groups == (size > 1 ? 2 : 1));
  MPI_Barrier(MPI_COMM_WORLD);
}

static void creates(void)
{
  redset d = NULL;
  ALL_FAIL(redset_create_xor(MPI_COMM_WORLD, is_bad ? NULL : group, size, &d));
  ALL_FAIL(redset_create_xor(MPI_COMM_WORLD, group, size, is_bad ? NULL : &d));
  ALL_FAIL(redset_create_xor(MPI_COMM_WORLD, group, is_bad ? -5 : size, &d));
  ALL_FAIL(redset_create_xor(MPI_COMM_WORLD, group, is_bad ? 0 : size, &d));
  ALL_FAIL(redset_create_rs(MPI_COMM_WORLD, group, size, is_bad ? -1 : 1, &d));
  ALL_FAIL(redset_create_rs(MPI_COMM_WORLD, group, is_bad ? 2147483647 : size, is_bad ? 2147483647 : 1, &d));
  ALL_FAIL(redset_create_partner(MPI_COMM_WORLD, group, size, is_bad ? -1 : 1, &d));
  ALL_FAIL(redset_create(is_bad ? 77 : REDSET_COPY_XOR, MPI_COMM_WORLD, group, &d));
  ALL_FAIL(is_bad ? redset_create_rs(MPI_COMM_WORLD, group, size, 1, &d)
                  : redset_create_xor(MPI_COMM_WORLD, group, size, &d));
  ALL_FAIL(is_bad ? redset_create_single(MPI_COMM_WORLD, group, &d)
                  : redset_create_xor(MPI_COMM_WORLD, group, size, &d));
  CHECK(d == NULL);
}

static void applies(void)
{
  redset d = NULL, again = NULL;
  const char* files[] = {file};
  const char* null_file[] = {NULL};
  const char* absent[] = {"no/such/file"};
  CHECK_INT(redset_create_xor(MPI_COMM_WORLD, group, size, &d), REDSET_SUCCESS);
  ALL_FAIL(redset_apply(is_bad ? -1 : 1, files, "ck.", d));
  ALL_FAIL(redset_apply(1, is_bad ? NULL : files, "ck.", d));
  ALL_FAIL(redset_apply(1, is_bad ? null_file : files, "ck.", d));
  ALL_FAIL(redset_apply(1, is_bad ? absent : files, "ck.", d));
  ALL_FAIL(redset_apply(1, files, is_bad ? NULL : "ck.", d));
  ALL_FAIL(redset_apply(1, files, is_bad ? "no/such/directory/ck." : "ck.", d));
  /* Its communicator is not known: the rank hears it at once. */
  if (is_bad) CHECK(redset_apply(1, files, "ck.", NULL) != REDSET_SUCCESS);
  if (is_bad) CHECK(redset_unapply("ck.", NULL) != REDSET_SUCCESS);

  CHECK_INT(redset_apply(1, files, "ck.", d), REDSET_SUCCESS);
  ALL_FAIL(redset_recover(MPI_COMM_WORLD, is_bad ? NULL : "ck.", &again));
  CHECK_INT(redset_delete(&again), REDSET_SUCCESS);
  ALL_FAIL(redset_recover(MPI_COMM_WORLD, "ck.", is_bad ? NULL : &again));
  CHECK_INT(is_bad ? REDSET_SUCCESS : redset_delete(&again), REDSET_SUCCESS);
  ALL_FAIL(stanchion_redset_verify(MPI_COMM_WORLD, is_bad ? NULL : "ck.", NULL));
  ALL_FAIL(redset_unapply(is_bad ? NULL : "ck.", d));
  CHECK(redset_filelist_enc_get(NULL, d) == NULL);
  CHECK(redset_filelist_orig_get(NULL, d) == NULL);
  CHECK(redset_filelist_enc_get("ck.", NULL) == NULL);
  CHECK(redset_filelist_orig_get("ck.", NULL) == NULL);
  CHECK_INT(redset_recover(MPI_COMM_WORLD, "ck.", &again), REDSET_SUCCESS);
  CHECK_INT(redset_delete(&again), REDSET_SUCCESS);
  CHECK_INT(redset_unapply("ck.", d), REDSET_SUCCESS);
  CHECK_INT(redset_delete(&d), REDSET_SUCCESS);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  alarm(120); /* whoever waits is told */
  redset_init();
  snprintf(group, sizeof group, "group%d", rank);
  snprintf(file, sizeof file, "file%d", rank);
  FILE* out = fopen(file, "w");
  for (int i = 0; i < 5000; i++) fputc(i * (rank + 1), out);
  fclose(out);
  for (bad = 0; bad < size; bad++) {
    is_bad = rank == bad;
    broadcasts();
    exchanges();
    gathers();
    strings();
    creates();
    applies();
  }
  redset_finalize();
  int result = check_result();
  MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
