/* Damaged and missing files, directories that cannot be made, disks that are full: a rank's trouble is an
 * error on all, what is there stays as it is, and once the cause is gone everything works. */
#define _XOPEN_SOURCE 700
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_util.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"

#include <signal.h>
#include <sys/resource.h>

enum { FILES = 2, BYTES = 300000 };

static MPI_Comm comm;
static int rank, size;
static redset d;
static char file_names[FILES][64], enc_names[2][256];
static struct bytes contents[FILES], enc[2];
static const char* list[FILES];

struct scheme {
  int type, extra;
};

static int create(struct scheme s)
{
  const char* group = text("node%d", rank);
  if (s.type == REDSET_COPY_PARTNER) return redset_create_partner(comm, group, size, s.extra, &d);
  if (s.type == REDSET_COPY_XOR) return redset_create_xor(comm, group, size, &d);
  return redset_create_rs(comm, group, size, s.extra, &d);
}

/* ---- a protected set, each rank's data in a directory of its own ---- */

static void begin(struct scheme s)
{
  CHECK_OK(create(s));
  mkdir(text("data%d", rank), 0755);
  for (int i = 0; i < FILES; i++) {
    snprintf(file_names[i], sizeof file_names[i], "data%d/file%d", rank, i);
    list[i] = file_names[i];
    contents[i] = made_bytes(BYTES / (i + 1) + rank, (unsigned)(10 * rank + i + 1));
    CHECK_INT(write_bytes(file_names[i], contents[i]), 0);
  }
  CHECK_OK(redset_apply(FILES, list, "ck.", d));
  redset_filelist files = redset_filelist_enc_get("ck.", d);
  for (int i = 0; i < 2; i++) {
    const char* file = redset_filelist_file(files, i);
    snprintf(enc_names[i], sizeof enc_names[i], "%s", file ? file : "");
    enc[i] = read_bytes(enc_names[i]);
  }
  CHECK_OK(redset_filelist_release(&files));
  MPI_Barrier(comm);
}

/* Everything as it was at first. */
static void reset(void)
{
  MPI_Barrier(comm);
  for (int i = 0; i < FILES; i++) CHECK_INT(write_bytes(file_names[i], contents[i]), 0);
  for (int i = 0; i < 2; i++) CHECK_INT(write_bytes(enc_names[i], enc[i]), 0);
  MPI_Barrier(comm);
}

static void end(void)
{
  reset();
  CHECK_OK(redset_unapply("ck.", d));
  CHECK_OK(redset_delete(&d));
  for (int i = 0; i < FILES; i++) {
    unlink(file_names[i]);
    free_bytes(&contents[i]);
  }
  for (int i = 0; i < 2; i++) free_bytes(&enc[i]);
  MPI_Barrier(comm);
}

static void lose(void)
{
  for (int i = 0; i < FILES; i++) unlink(file_names[i]);
  for (int i = 0; i < 2; i++) unlink(enc_names[i]);
}

static int recover(void)
{
  redset found = NULL;
  MPI_Barrier(comm);
  int code = redset_recover(comm, "ck.", &found);
  CHECK(found != NULL);
  CHECK_OK(redset_delete(&found));
  return code;
}

static void all_is_well(void)
{
  for (int i = 0; i < FILES; i++) CHECK(file_is(file_names[i], contents[i]));
  for (int i = 0; i < 2; i++) CHECK(file_is(enc_names[i], enc[i]));
  MPI_Barrier(comm);
  CHECK_OK(stanchion_redset_verify(comm, "ck.", NULL));
}

/* recover fails on all ranks and changes nothing. */
static void stays_as_it_is(void)
{
  struct bytes before[FILES + 2];
  for (int i = 0; i < FILES; i++) before[i] = read_bytes(file_names[i]);
  for (int i = 0; i < 2; i++) before[FILES + i] = read_bytes(enc_names[i]);
  CHECK(recover() != REDSET_SUCCESS);
  for (int i = 0; i < FILES; i++) CHECK(file_is(file_names[i], before[i]));
  CHECK(file_is(enc_names[1], before[FILES + 1]));
  for (int i = 0; i < FILES + 2; i++) free_bytes(&before[i]);
  MPI_Barrier(comm);
}

/* ---- damage ---- */

/* The four kinds: data, redundancy payload, header, and a cut redundancy file. */
static void damage(int kind)
{
  if (kind == 0) flip(file_names[0], BYTES / 2);
  if (kind == 1) flip(enc_names[1], -100);
  if (kind == 2) flip(enc_names[1], 60);
  if (kind == 3) CHECK_INT(truncate(enc_names[1], enc[1].size - 1), 0);
  if (kind == 4) CHECK_INT(truncate(enc_names[1], 10), 0);
  if (kind == 5) flip(file_names[FILES - 1], -1);
}

static void is_reported(int bad, int kind)
{
  kvtree* report = NULL;
  if (rank == bad) damage(kind);
  MPI_Barrier(comm);
  CHECK(stanchion_redset_verify(comm, "ck.", &report) != REDSET_SUCCESS);
  CHECK(report != NULL);
  CHECK_ERROR(kind == 0 || kind == 5 ? text("data%d", bad) : text("ck.%d", bad));
  kvtree_delete(&report);
  for (int i = 0; i < FILES; i++) CHECK(rank == bad || file_is(file_names[i], contents[i]));
  reset();
}

/* With nothing lost, damage is found and made good. */
static void is_repaired(int bad, int kind)
{
  if (rank == bad) damage(kind);
  CHECK_OK(recover());
  all_is_well();
  reset();
}

/* One rank is lost, another one damaged. */
static void is_not_built_on(struct scheme s, int bad, int kind)
{
  int lost = (bad + 1) % size;
  int tolerated = s.type != REDSET_COPY_XOR && s.extra > 1;
  if (rank == bad) damage(kind);
  if (rank == lost) lose();
  if (tolerated) {
    CHECK_OK(recover());
    if (kind != 1) all_is_well(); /* parity that was not needed is not looked at */
    for (int i = 0; i < FILES; i++) CHECK(file_is(file_names[i], contents[i]));
  } else if (s.type == REDSET_COPY_PARTNER) {
    /* What is damaged may be something that was not needed. */
    if (recover() == REDSET_SUCCESS)
      for (int i = 0; i < FILES; i++) CHECK(rank == bad || file_is(file_names[i], contents[i]));
  } else {
    stays_as_it_is();
    if (kind == 0 || kind == 5) CHECK_ERROR(text("data%d", bad));
  }
  reset();
}

/* ---- nowhere to write ---- */

/* A directory that is missing is made, unless a file is in the way. */
static void without_a_directory(int bad, int a_file_there)
{
  const char* place = text("data%d", rank);
  if (rank == bad) {
    lose();
    CHECK_INT(rmdir(place), 0);
    if (a_file_there) CHECK_INT(write_bytes(place, contents[1]), 0);
  }
  if (a_file_there) {
    stays_as_it_is();
    CHECK_ERROR(text("cannot make the directory data%d: ", bad));
    if (rank == bad) CHECK_INT(unlink(place), 0);
  }
  CHECK_OK(recover());
  all_is_well();
}

/* Where redundancy should go there is a directory. */
static void in_the_way(int bad)
{
  if (rank == bad) {
    lose();
    CHECK_INT(mkdir(enc_names[1], 0755), 0);
  }
  CHECK(recover() != REDSET_SUCCESS);
  CHECK(file_is(file_names[0], contents[0]) || (rank == bad && !file_exists(file_names[0])));
  if (rank == bad) CHECK_INT(rmdir(enc_names[1]), 0);
  CHECK_OK(recover());
  all_is_well();
}

/* Whether ranks of one node open each other's files, or send messages as ranks of different nodes do. */
static int is_direct;

static void set_direct(int on)
{
  is_direct = on;
  kvtree* config = kvtree_new();
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_DIRECT, on);
  CHECK(redset_config(config) == config);
  kvtree_delete(&config);
}

/* No file may grow beyond `bytes`: what a full disk looks like. */
static void limit(rlim_t bytes)
{
  struct rlimit limits;
  getrlimit(RLIMIT_FSIZE, &limits);
  limits.rlim_cur = bytes < limits.rlim_max ? bytes : limits.rlim_max;
  CHECK_INT(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

/* Ranks of one node write to each other's files, so there the limit is that of all of them. */
static void full_disk(int bad)
{
  int here = is_direct || rank == bad;
  if (here) limit(20000);
  CHECK(redset_apply(FILES, list, "ck.", d) != REDSET_SUCCESS);
  if (here) limit(RLIM_INFINITY);
  all_is_well();
  if (rank == bad) lose();
  MPI_Barrier(comm);
  if (here) limit(20000);
  stays_as_it_is();
  if (here) limit(RLIM_INFINITY);
  CHECK_OK(recover());
  all_is_well();
}

/* apply fails on one rank: what was there before still protects. */
static void apply_fails(int bad)
{
  const char* other[] = {list[0], "absent"};
  int here = rank == bad;
  CHECK(redset_apply(FILES, here ? other : list, "ck.", d) != REDSET_SUCCESS);
  CHECK_ERROR("absent");
  all_is_well();
  CHECK(redset_apply(FILES, list, here ? "no/such/ck." : "ck.", d) != REDSET_SUCCESS);
  CHECK_ERROR("no/such");
  all_is_well();
  const char* folder[] = {list[0], "."};
  CHECK(redset_apply(FILES, here ? folder : list, "ck.", d) != REDSET_SUCCESS);
  all_is_well();
  if (here) lose();
  CHECK_OK(recover());
  all_is_well();
}

static void under_another_name(void)
{
  redset found = NULL;
  kvtree* report = NULL;
  CHECK(redset_recover(comm, "unknown.", &found) != REDSET_SUCCESS);
  CHECK(found != NULL);
  CHECK_ERROR("unknown.");
  CHECK_OK(redset_delete(&found));
  CHECK(redset_recover(comm, "no/such/", &found) != REDSET_SUCCESS);
  CHECK_OK(redset_delete(&found));
  CHECK(stanchion_redset_verify(comm, "unknown.", &report) != REDSET_SUCCESS);
  kvtree_delete(&report);
}

static void with(struct scheme s)
{
  begin(s);
  all_is_well();
  for (int bad = 0; bad < size; bad += size > 2 ? size - 1 : 1) {
    for (int kind = 0; kind < 6; kind++) {
      is_reported(bad, kind);
      is_repaired(bad, kind);
      is_not_built_on(s, bad, kind);
    }
    without_a_directory(bad, 0);
    without_a_directory(bad, 1);
    in_the_way(bad);
    full_disk(bad);
    apply_fails(bad);
  }
  under_another_name();
  end();
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  signal(SIGXFSZ, SIG_IGN); /* writing beyond the limit is an error, not the end */
  struct scheme schemes[] = {{REDSET_COPY_XOR, 1}, {REDSET_COPY_PARTNER, 1}, {REDSET_COPY_RS, 1}, {REDSET_COPY_RS, 2}};
  for (int i = 0; i < 4; i++) {
    set_direct(i % 2 == 0);
    if (schemes[i].extra < size) with(schemes[i]);
  }
  MPI_Comm_free(&comm);
  return check_result_mpi();
}
