/* redset_nodes protect|recover|lost <local directory> <scheme>...      (schemes: partner, xor, rs2)
 *
 * protect  every rank makes files on the local disk of its node and protects them in sets of four ranks of different nodes
 * recover  after nodes have lost their disks, directories too: all files come back, and stanchion_redset_verify says so
 * lost     after more than that: recover fails on all ranks and changes nothing
 *
 * The failure group of a rank is the name of its host; STANCHION_TOPOLOGY places sets as it does in any program. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "redset.h"
#include "stanchion.h"
#include "../check.h"
#include "../redset_files.h"

enum { FILES = 2, SET = 4, HOST = 64, MOST_RANKS = 64 };

static int rank, size;
static const char *directory, *scheme;
static char hosts[MOST_RANKS][HOST];

static const char* file_name(int i) { return text("%s/%s/r%d_f%d", directory, scheme, rank, i); }

static const char* prefix(void) { return text("%s/%s/ck", directory, scheme); }

/* Of another length on every rank; the first one takes many messages. */
static struct bytes content(int i)
{
  long length = i == 0 ? 1500000 + 77777 * rank : 100 + rank;
  return made_bytes(length, (unsigned)(1000 * rank + 10 * i + scheme[0]));
}

static void find_hosts(void)
{
  char own[HOST] = "";
  CHECK_INT(gethostname(own, sizeof own - 1), 0);
  MPI_Allgather(own, HOST, MPI_CHAR, hosts, HOST, MPI_CHAR, MPI_COMM_WORLD);
}

static int create(redset* d)
{
  const char* group = hosts[rank];
  if (strcmp(scheme, "partner") == 0) return redset_create_partner(MPI_COMM_WORLD, group, SET, 1, d);
  if (strcmp(scheme, "xor") == 0) return redset_create_xor(MPI_COMM_WORLD, group, SET, d);
  return redset_create_rs(MPI_COMM_WORLD, group, SET, 2, d);
}

/* No two ranks of a set on one node. */
static void check_set(redset d)
{
  stanchion_redset_info info;
  CHECK_OK(stanchion_redset_describe(d, &info));
  CHECK(info.ranks > 1);
  for (int i = 0; i < info.ranks; i++)
    for (int j = 0; j < i; j++) CHECK(strcmp(hosts[info.group_map[i]], hosts[info.group_map[j]]) != 0);
}

static void make_directory(void)
{
  mkdir(directory, 0755);
  mkdir(text("%s/%s", directory, scheme), 0755);
}

static void protect(void)
{
  redset d = NULL;
  const char* files[FILES];
  make_directory();
  for (int i = 0; i < FILES; i++) {
    struct bytes made = content(i);
    files[i] = file_name(i);
    CHECK_INT(write_bytes(files[i], made), 0);
    free_bytes(&made);
  }
  CHECK_OK(create(&d));
  check_set(d);
  CHECK_OK(redset_apply(FILES, files, prefix(), d));
  CHECK_OK(redset_delete(&d));
}

/* Each file is right, or, if none was there before recover, absent. */
static void check_files(int absent)
{
  for (int i = 0; i < FILES; i++) {
    struct bytes wanted = content(i);
    if (absent) CHECK(!file_exists(file_name(i)));
    else CHECK(file_is(file_name(i), wanted));
    free_bytes(&wanted);
  }
}

static void recover(void)
{
  redset d = NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(redset_recover(MPI_COMM_WORLD, prefix(), &d));
  CHECK_OK(redset_delete(&d));
  check_files(0);
  CHECK_OK(stanchion_redset_verify(MPI_COMM_WORLD, prefix(), NULL));
}

static void lost(void)
{
  redset d = NULL;
  int absent = !file_exists(file_name(0));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(redset_recover(MPI_COMM_WORLD, prefix(), &d), 1);
  redset_delete(&d);
  check_files(absent);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 4 || size > MOST_RANKS) return 2;
  directory = argv[2];
  find_hosts();
  CHECK_INT(redset_init(), 0);
  for (int i = 3; i < argc; i++) {
    scheme = argv[i];
    if (strcmp(argv[1], "protect") == 0) protect();
    if (strcmp(argv[1], "recover") == 0) recover();
    if (strcmp(argv[1], "lost") == 0) lost();
  }
  CHECK_INT(redset_finalize(), 0);
  return check_result_mpi();
}
