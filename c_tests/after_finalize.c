/* After MPI_Finalize every function that would need MPI returns its API's error, and what only frees memory works. */
#include <errno.h>
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_mpi.h"
#include "rankstr_mpi.h"
#include "redset.h"
#include "stanchion.h"

#include "check.h"

/* What both return where something fails. */
enum { FAILURE = 1 };

static void check_text(void)
{
  char text[200] = "";
  stanchion_last_error(text, sizeof text);
  CHECK(strstr(text, "not initialized, or already finalized"));
}

#define CHECK_GONE(call, code)   \
  do {                           \
    CHECK_INT(call, code);       \
    check_text();                \
  } while (0)

static void trees_and_strings(void)
{
  kvtree* tree = kvtree_new();
  CHECK_GONE(kvtree_bcast(tree, 0, MPI_COMM_WORLD), FAILURE);
  CHECK_GONE(kvtree_send(tree, 0, MPI_COMM_WORLD), FAILURE);
  CHECK_GONE(kvtree_recv(tree, 0, MPI_COMM_WORLD), FAILURE);
  CHECK_GONE(kvtree_exchange(tree, tree, MPI_COMM_WORLD), FAILURE);
  CHECK_GONE(kvtree_write_gather("gathered", tree, MPI_COMM_WORLD), FAILURE);
  CHECK_GONE(kvtree_read_scatter("gathered", tree, MPI_COMM_WORLD), FAILURE);
  kvtree_delete(&tree);
  int groups = 7, group = 7;
  rankstr_mpi("text", MPI_COMM_WORLD, 0, 1, &groups, &group);
  CHECK_INT(groups, 0);
  CHECK_INT(group, -1);
  check_text();
  MPI_Comm part = MPI_COMM_WORLD;
  rankstr_mpi_comm_split(MPI_COMM_WORLD, "text", 0, 0, 1, &part);
  CHECK(part == MPI_COMM_NULL);
  check_text();
}

static void sets(redset applied)
{
  redset d = NULL;
  const char* files[] = {"file"};
  CHECK_GONE(redset_create_single(MPI_COMM_WORLD, "group", &d), FAILURE);
  CHECK_GONE(redset_apply(1, files, "set", applied), FAILURE);
  CHECK_GONE(redset_unapply("set", applied), FAILURE);
  CHECK_GONE(redset_recover(MPI_COMM_WORLD, "set", &d), FAILURE);
  /* Nothing was removed by what failed. */
  redset_filelist list = redset_filelist_enc_get("set", applied);
  CHECK(redset_filelist_count(list) > 0);
  for (int i = 0; i < redset_filelist_count(list); i++) {
    FILE* file = fopen(redset_filelist_file(list, i), "r");
    CHECK(file != NULL);
    if (file) fclose(file);
  }
  redset_filelist_release(&list);
  CHECK_INT(redset_delete(&applied), REDSET_SUCCESS);
}

static void places(void)
{
  fdp_t* placement = NULL;
  fdp_scheme scheme = {.type = REDSET_COPY_XOR, .set_size = 2};
  CHECK_GONE(fdp_create(MPI_COMM_WORLD, NULL, &scheme, &placement), -EIO);
  CHECK(placement == NULL);
}

int main(int argc, char** argv)
{
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char name[32];
  snprintf(name, sizeof name, "file.%d", rank);
  FILE* file = fopen(name, "w");
  CHECK(file && fputs("bytes", file) >= 0 && fclose(file) == 0);
  redset d = NULL;
  const char* files[] = {name};
  CHECK_INT(redset_init(), REDSET_SUCCESS);
  CHECK_INT(redset_create_single(MPI_COMM_WORLD, "group", &d), REDSET_SUCCESS);
  CHECK_INT(redset_apply(1, files, "set", d), REDSET_SUCCESS);
  MPI_Finalize();

  trees_and_strings();
  sets(d);
  places();
  return check_result();
}
