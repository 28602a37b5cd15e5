/* Files of all ranks are protected, some are lost, all come back: every scheme, every kind of loss up to
 * what it tolerates. Beyond that all ranks fail and nothing is changed. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_util.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"

enum { MOST_FILES = 4 };
enum { DATA = 1, REDUNDANCY = 2, DESCRIPTOR = 4, ONE_FILE = 8 };

static MPI_Comm comm; /* not the world: its ranks stand in reverse order */
static int rank, size;

struct scheme {
  int type, least, extra;
};

static const char* const type_names[] = {"null", "single", "partner", "xor", "rs"};

static int create(struct scheme s, redset* d)
{
  const char* group = text("node%d", rank);
  if (s.type == REDSET_COPY_SINGLE) return redset_create_single(comm, group, d);
  if (s.type == REDSET_COPY_PARTNER) return redset_create_partner(comm, group, s.least, s.extra, d);
  if (s.type == REDSET_COPY_XOR) return redset_create_xor(comm, group, s.least, d);
  return redset_create_rs(comm, group, s.least, s.extra, d);
}

/* ---- the files of a rank ---- */

static char file_names[MOST_FILES][64];
static struct bytes contents[MOST_FILES];
static struct stat states[MOST_FILES];
static int files;

/* Ranks have different numbers of files, of different sizes, some of them empty. */
static void make_files(long scale)
{
  files = rank % (MOST_FILES + 1);
  if (scale == 0) files = 1; /* nothing but an empty file everywhere */
  for (int i = 0; i < files; i++) {
    long bytes = (i + rank) % 3 == 2 ? 0 : scale / (i + 1) + (scale > 0 ? 17 * rank + i : 0);
    struct timespec times[2] = {{1500000000 + rank, 123456000 + i}, {1400000000 + i, 999999999 - rank}};
    snprintf(file_names[i], sizeof file_names[i], "data/r%d_f%d", rank, i);
    contents[i] = made_bytes(bytes, (unsigned)(1000 * rank + i + 1));
    CHECK_INT(write_bytes(file_names[i], contents[i]), 0);
    CHECK_INT(chmod(file_names[i], i % 2 ? 0640 : 0600), 0);
    CHECK_INT(utimensat(AT_FDCWD, file_names[i], times, 0), 0);
    CHECK_INT(stat(file_names[i], &states[i]), 0);
  }
}

static void files_are_whole(void)
{
  for (int i = 0; i < files; i++) {
    struct stat found;
    CHECK(file_is(file_names[i], contents[i]));
    CHECK_INT(stat(file_names[i], &found), 0);
    CHECK_INT(found.st_mode, states[i].st_mode);
    CHECK_INT(found.st_uid, states[i].st_uid);
    CHECK_INT(found.st_mtim.tv_sec, states[i].st_mtim.tv_sec);
    CHECK_INT(found.st_mtim.tv_nsec, states[i].st_mtim.tv_nsec);
  }
}

static void remove_files(void)
{
  for (int i = 0; i < files; i++) {
    unlink(file_names[i]);
    free_bytes(&contents[i]);
  }
}

/* ---- its redundancy: the descriptor's file, then that of the scheme ---- */

static char enc_names[2][256];
static struct bytes enc[2];

static void note_redundancy(const char* name, redset d)
{
  redset_filelist list = redset_filelist_enc_get(name, d);
  CHECK_INT(redset_filelist_count(list), 2);
  for (int i = 0; i < 2; i++) {
    const char* file = redset_filelist_file(list, i);
    snprintf(enc_names[i], sizeof enc_names[i], "%s", file ? file : "");
    enc[i] = read_bytes(enc_names[i]);
    CHECK(enc[i].size > 0);
  }
  CHECK(redset_filelist_file(list, 2) == NULL);
  CHECK(redset_filelist_file(list, -1) == NULL);
  CHECK_OK(redset_filelist_release(&list));
  CHECK(list == NULL);
}

static void names_are_upstreams(struct scheme s, const char* name, redset d)
{
  stanchion_redset_info info;
  CHECK_OK(stanchion_redset_describe(d, &info));
  CHECK_STR(enc_names[0], text("%s%d.redset", name, rank));
  CHECK_STR(enc_names[1], text("%s%d.%s.grp_%d_of_%d.mem_%d_of_%d.redset", name, rank, type_names[s.type], info.group_id + 1,
                               info.groups, info.rank + 1, info.ranks));
}

static void originals_are_listed(const char* name, redset d)
{
  redset_filelist list = redset_filelist_orig_get(name, d);
  CHECK(list != NULL);
  CHECK_INT(redset_filelist_count(list), files);
  for (int i = 0; i < files; i++) CHECK_STR(redset_filelist_file(list, i), file_names[i]);
  CHECK_OK(redset_filelist_release(&list));
}

static void redundancy_is_whole(void)
{
  for (int i = 0; i < 2; i++)
    if (!file_is(enc_names[i], enc[i])) check_failed(__FILE__, __LINE__, enc_names[i], "changed", "as apply wrote it");
}

static void lose(int what)
{
  if (what & ONE_FILE) unlink(file_names[rank % (files ? files : 1)]);
  for (int i = 0; i < files && (what & DATA); i++) unlink(file_names[i]);
  if (what & DESCRIPTOR) unlink(enc_names[0]);
  if (what & REDUNDANCY) unlink(enc_names[1]);
}

static void put_back(void)
{
  for (int i = 0; i < files; i++) {
    struct timespec times[2] = {states[i].st_atim, states[i].st_mtim};
    if (file_exists(file_names[i])) continue;
    CHECK_INT(write_bytes(file_names[i], contents[i]), 0);
    CHECK_INT(chmod(file_names[i], states[i].st_mode & 07777), 0);
    CHECK_INT(utimensat(AT_FDCWD, file_names[i], times, 0), 0);
  }
  for (int i = 0; i < 2; i++)
    if (!file_exists(enc_names[i])) CHECK_INT(write_bytes(enc_names[i], enc[i]), 0);
}

/* ---- losses ---- */

static stanchion_redset_info mine;

static int is_lost(unsigned lost, int place)
{
  return lost >> place & 1;
}

/* Whether a set survives the loss of these of its members; what a file of the scheme holds is lost too. */
static int tolerates(struct scheme s, int ranks, unsigned lost)
{
  int count = 0;
  for (int i = 0; i < ranks; i++) {
    int copies = 0;
    count += is_lost(lost, i);
    for (int j = 1; j <= s.extra; j++) copies += !is_lost(lost, (i + j) % ranks);
    if (s.type == REDSET_COPY_PARTNER && is_lost(lost, i) && copies == 0) return 0;
  }
  if (s.type == REDSET_COPY_PARTNER) return 1;
  return count <= (s.type == REDSET_COPY_RS ? s.extra : s.type == REDSET_COPY_XOR ? 1 : 0);
}

static void recovers(const char* name)
{
  redset d = NULL;
  MPI_Barrier(comm);
  CHECK_OK(redset_recover(comm, name, &d));
  CHECK(d != NULL);
  files_are_whole();
  redundancy_is_whole();
  originals_are_listed(name, d);
  stanchion_redset_info info;
  CHECK_OK(stanchion_redset_describe(d, &info));
  CHECK_INT(info.group_id, mine.group_id);
  CHECK_INT(info.rank, mine.rank);
  CHECK_OK(redset_delete(&d));
  MPI_Barrier(comm);
}

/* All ranks fail, and every file is as it was before. Where only a part of a rank is lost, more than
 * is promised may be possible. */
static void gives_up(const char* name, int may_succeed)
{
  struct bytes before[MOST_FILES];
  redset d = NULL;
  for (int i = 0; i < files; i++) before[i] = read_bytes(file_names[i]);
  MPI_Barrier(comm);
  int failed = redset_recover(comm, name, &d) != REDSET_SUCCESS;
  CHECK(failed || may_succeed);
  CHECK(d != NULL);
  CHECK_OK(redset_delete(&d));
  for (int i = 0; i < files; i++) {
    CHECK(file_is(file_names[i], failed ? before[i] : contents[i]));
    free_bytes(&before[i]);
  }
  MPI_Barrier(comm);
}

static void loses(struct scheme s, const char* name, unsigned lost, int what)
{
  int own = is_lost(lost, mine.rank), fine = tolerates(s, mine.ranks, lost), all_fine;
  if (own) lose(what);
  MPI_Allreduce(&fine, &all_fine, 1, MPI_INT, MPI_LAND, comm);
  if (all_fine) {
    recovers(name);
    return;
  }
  gives_up(name, (what & (DATA | REDUNDANCY)) != (DATA | REDUNDANCY));
  put_back(); /* the cause is gone */
  recovers(name);
}

static unsigned all_of(int count)
{
  return (1u << count) - 1;
}

/* One rank loses each kind of file; then `most` times up to one rank more than is tolerated. */
static void losses(struct scheme s, const char* name, int most)
{
  unsigned state = 77;
  int tolerated = s.type == REDSET_COPY_SINGLE ? 0 : s.type == REDSET_COPY_XOR ? 1 : s.extra;
  recovers(name);
  loses(s, name, 1, DATA | REDUNDANCY | DESCRIPTOR);
  if (s.type == REDSET_COPY_SINGLE) return;
  loses(s, name, 2, REDUNDANCY);
  loses(s, name, 1, ONE_FILE);
  loses(s, name, 2, DATA);
  loses(s, name, 1, DESCRIPTOR);
  for (int i = 0; i < most; i++) {
    unsigned lost = 0;
    int kinds[] = {DATA | REDUNDANCY | DESCRIPTOR, DATA | REDUNDANCY, DATA, DATA | DESCRIPTOR};
    int count = 1 + (int)(check_random(&state) % (unsigned)(tolerated + 1));
    for (int j = 0; j < count; j++) lost |= 1u << check_random(&state) % (unsigned)size;
    loses(s, name, lost & all_of(mine.ranks), kinds[i % 4]);
  }
}

/* ---- one scheme from apply to unapply ---- */

static int count_of(int number)
{
  int all = 0;
  MPI_Allreduce(&number, &all, 1, MPI_INT, MPI_SUM, comm);
  return all;
}

static void protects(struct scheme s, long scale, int most)
{
  redset d = NULL;
  const char* name = "enc/ck.";
  const char* list[MOST_FILES];
  if (create(s, &d) != REDSET_SUCCESS) return; /* redset_create.c says when that is right */
  CHECK_OK(stanchion_redset_describe(d, &mine));
  make_files(scale);
  for (int i = 0; i < files; i++) list[i] = file_names[i];
  CHECK_OK(redset_apply(files, list, name, d));
  CHECK_OK(redset_apply(files, list, name, d)); /* once more over it */
  note_redundancy(name, d);
  names_are_upstreams(s, name, d);
  originals_are_listed(name, d);
  files_are_whole();
  kvtree* report = NULL;
  CHECK_OK(stanchion_redset_verify(comm, name, &report));
  CHECK(kvtree_size(report) > 0);
  kvtree_delete(&report);
  losses(s, name, most);

  MPI_Barrier(comm);
  CHECK_OK(redset_unapply(name, d));
  CHECK_INT(count_of(file_exists(enc_names[0]) + file_exists(enc_names[1])), 0);
  CHECK_OK(redset_delete(&d));
  CHECK(redset_recover(comm, name, &d) != REDSET_SUCCESS);
  CHECK_OK(redset_delete(&d));
  files_are_whole();
  remove_files();
  for (int i = 0; i < 2; i++) free_bytes(&enc[i]);
  MPI_Barrier(comm);
}

static void set(const char* key, int value)
{
  kvtree* config = kvtree_new();
  kvtree_util_set_int(config, key, value);
  CHECK(redset_config(config) == config);
  kvtree_delete(&config);
}

static void every_scheme(long scale, int most)
{
  struct scheme single = {REDSET_COPY_SINGLE, 1, 0}, xor = {REDSET_COPY_XOR, size, 0}, small = {REDSET_COPY_XOR, 2, 0};
  protects(single, scale, most);
  protects(xor, scale, most);
  if (size > 3) protects(small, scale, most);
  int step = size > 5 ? size - 4 : size > 3 ? size - 3 : 1;
  for (int extra = 1; extra < size; extra += step) {
    struct scheme partner = {REDSET_COPY_PARTNER, size, extra}, rs = {REDSET_COPY_RS, size, extra};
    protects(partner, scale, most);
    protects(rs, scale, most);
  }
}

/* Larger than any buffer of the library, and not a multiple of anything. */
static void large_files(void)
{
  struct scheme schemes[] = {{REDSET_COPY_PARTNER, size, 1}, {REDSET_COPY_XOR, size, 0}, {REDSET_COPY_RS, size, 2}};
  for (int i = 0; i < 3; i++) protects(schemes[i], check_size(3 * 1024 * 1024 + 4321, 100000), 1);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK_OK(redset_init());
  if (rank == 0) CHECK(mkdir("data", 0755) == 0 && mkdir("enc", 0755) == 0);
  MPI_Barrier(comm);
  every_scheme(5000, size < 4 ? 12 : 5);
  every_scheme(0, 1);
  set(REDSET_KEY_CONFIG_CHECKSUM, 0);
  every_scheme(3, 3);
  set(REDSET_KEY_CONFIG_CHECKSUM, 1);
  large_files();
  /* Once more by messages, as between nodes. */
  set(REDSET_KEY_CONFIG_DIRECT, 0);
  large_files();
  every_scheme(700, 3);
  set(REDSET_KEY_CONFIG_DIRECT, 1);
  /* More ranks are left than a rebuild needs to read from. */
  if (size == 5) protects((struct scheme){REDSET_COPY_RS, 5, 3}, 5000, 4);
  CHECK_OK(redset_finalize());
  MPI_Comm_free(&comm);
  return check_result_mpi();
}
