/* The job that redset_kill.sh kills, and the one that looks at what is left.
 *
 *   redset_kill prepare|work|check apply|recover|update <scheme> <rank to lose>
 *
 * work: apply    protects the same files again and again; what was there before stays valid throughout
 *       recover  loses a rank's files and recovers them, again and again
 *       update   replaces the files by new versions and protects them, again and again
 *
 * DIRECT in the environment is that of redset_config. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_util.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"

enum { FILES = 2, BYTES = 5000000, SECONDS = 30 };

static int rank, size, scheme, lost;
static char file_names[FILES][64];
static const char* list[FILES];

/* The version stands in front, so that a file tells what it should hold. */
static struct bytes version_of(int i, int version)
{
  struct bytes file = made_bytes(BYTES / (i + 1) + 1000 * (rank + version % 3), (unsigned)(7919 * version + 10 * rank + i));
  memcpy(file.data, &version, sizeof version);
  return file;
}

/* As a careful program writes: a name never holds half a file. */
static void write_version(int i, int version)
{
  struct bytes file = version_of(i, version);
  char* temporary = text("%s.new", file_names[i]);
  CHECK_INT(write_bytes(temporary, file), 0);
  CHECK_INT(rename(temporary, file_names[i]), 0);
  free_bytes(&file);
}

/* The version that a file holds; -1: none, -2: a wrong one. */
static int version_in(int i)
{
  struct bytes found = read_bytes(file_names[i]);
  int version = found.size < 0 ? -1 : -2;
  if (found.size >= (long)sizeof version) {
    memcpy(&version, found.data, sizeof version);
    struct bytes wanted = version_of(i, version < 0 ? 0 : version);
    if (!same_bytes(found, wanted)) version = -2;
    free_bytes(&wanted);
  }
  free_bytes(&found);
  return version;
}

static int create(redset* d)
{
  const char* group = text("node%d", rank);
  if (scheme == REDSET_COPY_PARTNER) return redset_create_partner(MPI_COMM_WORLD, group, size, 1, d);
  if (scheme == REDSET_COPY_XOR) return redset_create_xor(MPI_COMM_WORLD, group, size, d);
  return redset_create_rs(MPI_COMM_WORLD, group, size, size > 2 ? 2 : 1, d);
}

static void lose(redset d)
{
  redset_filelist files = redset_filelist_enc_get("ck.", d);
  for (int i = 0; i < FILES; i++) unlink(file_names[i]);
  for (int i = 0; i < redset_filelist_count(files); i++) unlink(redset_filelist_file(files, i));
  redset_filelist_release(&files);
}

static void prepare(redset d)
{
  for (int i = 0; i < FILES; i++) write_version(i, 0);
  CHECK_OK(redset_apply(FILES, list, "ck.", d));
}

/* Whoever kills us reads the numbers of our processes. */
static void say_who_we_are(void)
{
  MPI_Barrier(MPI_COMM_WORLD);
  FILE* file = fopen(text("pid.%d.new", rank), "w");
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
  rename(text("pid.%d.new", rank), text("pid.%d", rank));
}

static void recover_lost(redset d)
{
  redset found = NULL;
  if (rank == lost) lose(d);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(redset_recover(MPI_COMM_WORLD, "ck.", &found));
  redset_delete(&found);
}

static void work(redset d, const char* mode)
{
  double begun = MPI_Wtime();
  say_who_we_are();
  for (int round = 1; MPI_Wtime() - begun < SECONDS; round++) {
    if (strcmp(mode, "recover") == 0) {
      recover_lost(d);
      continue;
    }
    for (int i = 0; i < FILES && strcmp(mode, "update") == 0; i++) write_version(i, round);
    CHECK_OK(redset_apply(FILES, list, "ck.", d));
    if (check_failures) break;
  }
}

static void check(redset d, const char* mode)
{
  redset found = NULL;
  int update = strcmp(mode, "update") == 0;
  if (strcmp(mode, "recover") != 0 && rank == lost) lose(d);
  MPI_Barrier(MPI_COMM_WORLD);
  int code = redset_recover(MPI_COMM_WORLD, "ck.", &found);
  /* Killed between new files and new redundancy, nothing promises that the lost ones come back. */
  if (!update) CHECK_OK(code);
  for (int i = 0; i < FILES; i++) {
    int version = version_in(i);
    CHECK(version != -2);
    CHECK(version != -1 || (code != REDSET_SUCCESS && rank == lost));
    if (!update) CHECK_INT(version, 0);
  }
  CHECK_OK(redset_delete(&found));
  if (code == REDSET_SUCCESS && !update) CHECK_OK(stanchion_redset_verify(MPI_COMM_WORLD, "ck.", NULL));
}

static void configure(void)
{
  const char* direct = getenv("DIRECT");
  kvtree* settings = kvtree_new();
  if (direct) kvtree_util_set_int(settings, REDSET_KEY_CONFIG_DIRECT, atoi(direct));
  CHECK(redset_config(settings) != NULL);
  kvtree_delete(&settings);
}

int main(int argc, char** argv)
{
  redset d = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 5) return 2;
  scheme = atoi(argv[3]);
  lost = atoi(argv[4]) % size;
  for (int i = 0; i < FILES; i++) {
    snprintf(file_names[i], sizeof file_names[i], "r%d_f%d", rank, i);
    list[i] = file_names[i];
  }
  configure();
  CHECK_OK(create(&d));
  if (strcmp(argv[1], "prepare") == 0) prepare(d);
  if (strcmp(argv[1], "work") == 0) work(d, argv[2]);
  if (strcmp(argv[1], "check") == 0) check(d, argv[2]);
  CHECK_OK(redset_delete(&d));
  return check_result_mpi();
}
