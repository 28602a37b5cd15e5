/* As quiet as upstream: a job that asks for errors in the log (SCR_DEBUG=1 becomes DEBUG of redset_config) and has none prints
 * nothing. It sets and gets, misses keys and files, gathers, applies, loses files and recovers them. Then an error is printed as
 * one line that names rank and host.
 *
 * Standard error is a file from the start of main to its end. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include "kvtree.h"
#include "kvtree_mpi.h"
#include "kvtree_util.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"

#include <fcntl.h>
#include <unistd.h>

static int rank, ranks;

/* ---- what goes to standard error ---- */

static char captured[4096];
static int screen;

static void capture(void)
{
  char path[64];
  snprintf(path, sizeof path, "errors.%d", rank);
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
  screen = dup(STDERR_FILENO);
  dup2(file, STDERR_FILENO);
  close(file);
}

/* What was printed since `capture`; checks print to the screen again. */
static const char* release(void)
{
  ssize_t length = pread(STDERR_FILENO, captured, sizeof captured - 1, 0);
  captured[length < 0 ? 0 : length] = '\0';
  dup2(screen, STDERR_FILENO);
  close(screen);
  return captured;
}

/* ---- a life without errors ---- */

/* As SCR reads its variable and hands it on. */
static void ask_for_errors(void)
{
  const char* debug = getenv("SCR_DEBUG");
  kvtree* config = kvtree_new();
  CHECK_INT(kvtree_util_set_int(config, REDSET_KEY_CONFIG_DEBUG, debug ? atoi(debug) : 0), KVTREE_SUCCESS);
  CHECK(redset_config(config) == config);
  kvtree_delete(&config);
}

static void look_for_keys(kvtree* tree)
{
  int number = 7;
  unsigned long count;
  double real;
  char* word;
  kvtree_util_set_int(tree, "set", 3);
  CHECK_INT(kvtree_util_get_int(tree, "set", &number), KVTREE_SUCCESS);
  CHECK_INT(number, 3);
  CHECK(kvtree_util_get_int(tree, "absent", &number) != KVTREE_SUCCESS);
  CHECK(kvtree_util_get_bytecount(tree, "absent, and longer than most keys are in practice", &count) != KVTREE_SUCCESS);
  CHECK(kvtree_util_get_double(tree, "absent", &real) != KVTREE_SUCCESS);
  CHECK(kvtree_util_get_str(tree, "absent", &word) != KVTREE_SUCCESS);
  CHECK(kvtree_util_get_int(kvtree_get(tree, "absent"), "below", &number) != KVTREE_SUCCESS);
  CHECK(kvtree_getf(tree, "%s %d", "absent", 1) == NULL);
  CHECK(kvtree_elem_get(tree, "absent") == NULL);
  CHECK(kvtree_get_val(tree, "absent") == NULL);
  CHECK_INT(kvtree_unset(tree, "absent"), KVTREE_SUCCESS);
}

static void trees(void)
{
  kvtree *tree = kvtree_new(), *again = kvtree_new(), *scattered = kvtree_new();
  look_for_keys(tree);
  CHECK(kvtree_read_file(text("tree.%d", rank), again) != KVTREE_SUCCESS);
  CHECK(kvtree_read_file(text("no/such/directory/tree.%d", rank), again) != KVTREE_SUCCESS);
  CHECK_INT(kvtree_write_file(text("tree.%d", rank), tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_read_file(text("tree.%d", rank), again), KVTREE_SUCCESS);
  CHECK_INT(kvtree_read_with_lock(text("locked.%d", rank), again), KVTREE_SUCCESS);
  for (int i = 0; i < 2; i++) CHECK_INT(kvtree_write_gather("gathered", tree, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK_INT(kvtree_read_scatter("gathered", scattered, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK(check_equal(tree, scattered));
  CHECK_INT(kvtree_bcast(tree, 0, MPI_COMM_WORLD), KVTREE_SUCCESS);
  kvtree_delete(&tree);
  kvtree_delete(&again);
  kvtree_delete(&scattered);
}

/* Rank 0 loses its file and all of its redundancy in between. */
static void protected_by(int type)
{
  char prefix[32], path[32];
  const char* file = path;
  snprintf(path, sizeof path, "data.%d", rank);
  snprintf(prefix, sizeof prefix, "set%d.", type);
  struct bytes content = made_bytes(10000 + 17 * rank, (unsigned)rank + 1);
  redset d;
  CHECK_INT(write_bytes(file, content), 0);
  CHECK_INT(redset_create(type, MPI_COMM_WORLD, text("node%d", rank), &d), REDSET_SUCCESS);
  CHECK_INT(redset_apply(1, &file, prefix, d), REDSET_SUCCESS);
  CHECK_INT(redset_delete(&d), REDSET_SUCCESS);
  if (rank == 0) {
    CHECK_INT(unlink(file), 0);
    CHECK_INT(system(text("rm set%d.0*", type)), 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(redset_recover(MPI_COMM_WORLD, prefix, &d), REDSET_SUCCESS);
  CHECK(file_is(file, content));
  redset_filelist list = redset_filelist_orig_get(prefix, d);
  CHECK_INT(redset_filelist_count(list), 1);
  redset_filelist_release(&list);
  CHECK_INT(redset_unapply(prefix, d), REDSET_SUCCESS);
  CHECK_INT(redset_delete(&d), REDSET_SUCCESS);
  free_bytes(&content);
}

static void files(void)
{
  CHECK_INT(redset_init(), REDSET_SUCCESS);
  protected_by(REDSET_COPY_PARTNER);
  protected_by(REDSET_COPY_XOR);
  if (ranks > 2) protected_by(REDSET_COPY_RS);
  CHECK_INT(redset_finalize(), REDSET_SUCCESS);
}

/* ---- an error ---- */

static void fail(void)
{
  kvtree* tree = kvtree_new();
  CHECK(kvtree_write_file("no/such/directory/tree", tree) != KVTREE_SUCCESS);
  kvtree_delete(&tree);
}

static void is_line_of_this_rank(const char* printed)
{
  char host[256] = "", wanted[512];
  gethostname(host, sizeof host - 1);
  snprintf(wanted, sizeof wanted, "stanchion: rank %d on %s: cannot ", rank, host);
  if (strncmp(printed, wanted, strlen(wanted)) != 0) CHECK_STR(printed, wanted);
  CHECK(strstr(printed, "no/such/directory") != NULL);
  CHECK(strchr(printed, '\n') == printed + strlen(printed) - 1);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsetenv("STANCHION_LOG");
  setenv("SCR_DEBUG", "1", 1);
  capture();
  ask_for_errors();
  trees();
  files();
  CHECK_STR(release(), "");

  capture();
  fail();
  is_line_of_this_rank(release());
  return check_result_mpi();
}
