/* Which ranks form a set, what a descriptor shows, and that what is wrong on one rank fails on all. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_util.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"

#include <limits.h>

enum { MOST = 64 };

static MPI_Comm comm; /* not the world: its ranks stand in reverse order */
static int rank, size;

/* ---- which set a rank should be in ---- */

/* The failure group of a rank; `pattern` says how they are alike. */
static const char* group_of(int pattern, int of)
{
  switch (pattern) {
    case 0: return text("node%d", of);
    case 1: return text("node%d", of / 2);
    case 2: return text("node%d", of % 2);
    case 3: return "the same";
    default: return text("node%d", of == 0 ? 0 : 1 + of % 3);
  }
}

struct sets {
  int id[MOST], ranks[MOST], place[MOST], groups;
};

/* Of `count` ranks in a row, the number of the set that the one at `place` is in. */
static int part_of(int place, int count, int least)
{
  int groups = count / least;
  int each = groups > 0 ? least + (count - groups * least) / groups : count;
  int larger = count % each;
  return place < larger * (each + 1) ? place / (each + 1) : larger + (place - larger * (each + 1)) / each;
}

static struct sets expected(int pattern, int least)
{
  struct sets sets;
  int turn[MOST], part[MOST], leader[MOST];
  for (int i = 0; i < size; i++) { /* how many before us have our group */
    turn[i] = 0;
    for (int j = 0; j < i; j++) turn[i] += strcmp(group_of(pattern, i), group_of(pattern, j)) == 0;
  }
  for (int i = 0; i < size; i++) { /* a row is all ranks with the same turn */
    int place = 0, count = 0;
    for (int j = 0; j < size; j++) {
      place += j < i && turn[j] == turn[i];
      count += turn[j] == turn[i];
    }
    part[i] = part_of(place, count, least);
  }
  sets.groups = 0;
  for (int i = 0; i < size; i++) {
    leader[i] = i;
    sets.place[i] = sets.ranks[i] = 0;
    for (int j = size - 1; j >= 0; j--) {
      if (turn[j] != turn[i] || part[j] != part[i]) continue;
      sets.ranks[i]++;
      sets.place[i] += j < i;
      leader[i] = j < leader[i] ? j : leader[i];
    }
    sets.id[i] = leader[i] == i ? sets.groups++ : sets.id[leader[i]];
  }
  return sets;
}

static struct sets alone(void)
{
  struct sets sets;
  sets.groups = size;
  for (int i = 0; i < size; i++) {
    sets.id[i] = i;
    sets.ranks[i] = 1;
    sets.place[i] = 0;
  }
  return sets;
}

static int smallest(struct sets sets)
{
  int least = size;
  for (int i = 0; i < size; i++) least = sets.ranks[i] < least ? sets.ranks[i] : least;
  return least;
}

static int member(struct sets sets, int place)
{
  for (int i = 0; i < size; i++)
    if (sets.id[i] == sets.id[rank] && sets.place[i] == place) return i;
  return -1;
}

/* ---- what a descriptor shows ---- */

static void tree_is(redset d, int type, int extra, struct sets sets)
{
  static const char* const names[] = {"", "SINGLE", "PARTNER", "XOR", "RS"};
  kvtree* wanted = kvtree_new();
  kvtree_util_set_int(wanted, "ENABLED", 1);
  kvtree_util_set_str(wanted, "TYPE", names[type]);
  kvtree_util_set_int(wanted, "GROUPS", sets.groups);
  kvtree_util_set_int(wanted, "GROUP", sets.id[rank]);
  kvtree_util_set_int(wanted, "RANKS", sets.ranks[rank]);
  kvtree_util_set_int(wanted, "RANK", sets.place[rank]);
  kvtree_util_set_int(wanted, "WRANKS", size);
  kvtree_util_set_int(wanted, "WRANK", rank);
  if (type == REDSET_COPY_PARTNER) kvtree_util_set_int(wanted, "REPLICAS", extra);
  if (type == REDSET_COPY_RS) kvtree_util_set_int(wanted, "CKSUM", extra);
  kvtree* found = stanchion_redset_to_kvtree(d);
  CHECK(found != NULL);
  CHECK(check_equal(found, wanted));
  kvtree_delete(&found);
  kvtree_delete(&wanted);
}

static void shows(redset d, int type, int extra, struct sets sets)
{
  char host[256] = "";
  stanchion_redset_info info;
  memset(&info, 7, sizeof info);
  gethostname(host, sizeof host - 1);
  CHECK_OK(stanchion_redset_describe(d, &info));
  CHECK_INT(info.enabled, 1);
  CHECK_INT(info.type, type);
  CHECK_INT(info.groups, sets.groups);
  CHECK_INT(info.group_id, sets.id[rank]);
  CHECK_INT(info.ranks, sets.ranks[rank]);
  CHECK_INT(info.rank, sets.place[rank]);
  int left = (info.rank + info.ranks - 1) % info.ranks, right = (info.rank + 1) % info.ranks;
  CHECK_INT(info.lhs_rank, left);
  CHECK_INT(info.rhs_rank, right);
  CHECK_INT(info.lhs_rank_world, member(sets, left));
  CHECK_INT(info.rhs_rank_world, member(sets, right));
  CHECK_STR(info.lhs_hostname, host);
  CHECK_STR(info.rhs_hostname, host);
  CHECK(info.group_map != NULL);
  for (int i = 0; info.group_map && i < info.ranks; i++) CHECK_INT(info.group_map[i], member(sets, i));
  tree_is(d, type, extra, sets);
}

static int create(int type, const char* group, int least, int extra, redset* d)
{
  if (type == REDSET_COPY_SINGLE) return redset_create_single(comm, group, d);
  if (type == REDSET_COPY_PARTNER) return redset_create_partner(comm, group, least, extra, d);
  if (type == REDSET_COPY_XOR) return redset_create_xor(comm, group, least, d);
  return redset_create_rs(comm, group, least, extra, d);
}

static int fits(int type, int extra, int ranks)
{
  if (type == REDSET_COPY_SINGLE) return 1;
  if (type == REDSET_COPY_XOR) return ranks >= 2;
  return extra >= 1 && extra < ranks;
}

static void created(int type, int pattern, int least, int extra)
{
  struct sets sets = type == REDSET_COPY_SINGLE ? alone() : expected(pattern, least);
  redset d = &sets;
  int code = create(type, group_of(pattern, rank), least, extra, &d);
  if (!fits(type, extra, smallest(sets))) {
    CHECK(code != REDSET_SUCCESS);
    CHECK(d == NULL);
    CHECK_ERROR("ranks");
    return;
  }
  CHECK_OK(code);
  shows(d, type, extra, sets);
  CHECK_OK(redset_delete(&d));
  CHECK(d == NULL);
}

static void all_sets(void)
{
  for (int pattern = 0; pattern < 5; pattern++) {
    created(REDSET_COPY_SINGLE, pattern, 1, 0);
    for (int least = 1; least <= size + 1; least++) {
      created(REDSET_COPY_XOR, pattern, least, 0);
      for (int extra = 1; extra <= size; extra++) {
        created(REDSET_COPY_PARTNER, pattern, least, extra);
        created(REDSET_COPY_RS, pattern, least, extra);
      }
    }
  }
}

static void by_type(void)
{
  for (int least = 2; least <= 8; least += 3) {
    kvtree* config = kvtree_new();
    kvtree_util_set_int(config, REDSET_KEY_CONFIG_SET_SIZE, least);
    CHECK(redset_config(config) == config);
    kvtree_delete(&config);
    for (int type = REDSET_COPY_SINGLE; type <= REDSET_COPY_RS; type++) {
      struct sets sets = type == REDSET_COPY_SINGLE ? alone() : expected(0, least);
      int extra = type == REDSET_COPY_RS ? 2 : 1;
      redset d = NULL;
      int code = redset_create(type, comm, group_of(0, rank), &d);
      CHECK_INT(code == REDSET_SUCCESS, fits(type, extra, smallest(sets)));
      if (code != REDSET_SUCCESS) continue;
      shows(d, type, extra, sets);
      CHECK_OK(redset_delete(&d));
    }
  }
}

/* ---- what is wrong on one rank ---- */

static void fails(int code, const redset* d)
{
  CHECK(code != REDSET_SUCCESS);
  CHECK(*d == NULL);
  created(REDSET_COPY_SINGLE, 0, 1, 0); /* and the next call works */
}

static void wrong_arguments(int bad)
{
  int here = rank == bad;
  const char* group = group_of(0, rank);
  redset d;
  for (int type = REDSET_COPY_SINGLE; type <= REDSET_COPY_RS; type++) {
    d = &d;
    fails(create(type, here ? NULL : group, size, 1, &d), &d);
    CHECK_ERROR("NULL");
    d = NULL;
    CHECK(create(type, group, size, 1, here ? NULL : &d) != REDSET_SUCCESS);
    CHECK_ERROR("NULL");
    CHECK(d == NULL);
    if (type == REDSET_COPY_SINGLE) continue;
    for (int least = -1; least <= 0; least++) {
      d = &d;
      fails(create(type, group, here ? least : size, 1, &d), &d);
    }
    if (type == REDSET_COPY_XOR) continue;
    static const int extras[] = {0, -1, INT_MIN, INT_MAX};
    for (int i = 0; i < 4; i++) {
      d = &d;
      fails(create(type, group, size, here ? extras[i] : 1, &d), &d);
    }
  }
  static const int types[] = {REDSET_COPY_NULL, 5, -1};
  for (int i = 0; i < 3; i++) {
    d = &d;
    fails(redset_create(here ? types[i] : REDSET_COPY_XOR, comm, group, &d), &d);
    CHECK_ERROR("REDSET_COPY");
  }
}

/* Ranks that want different things get nothing. */
static void different_wishes(int bad)
{
  redset d = &d;
  if (size < 3) return;
  fails(create(rank == bad ? REDSET_COPY_XOR : REDSET_COPY_RS, group_of(0, rank), size, 1, &d), &d);
  d = &d;
  fails(create(REDSET_COPY_RS, group_of(0, rank), size, rank == bad ? 2 : 1, &d), &d);
  d = &d;
  fails(create(REDSET_COPY_XOR, group_of(0, rank), rank == bad ? 2 : size, 0, &d), &d);
}

static void set_checksums(int on)
{
  kvtree* config = kvtree_new();
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_CHECKSUM, on);
  CHECK(redset_config(config) == config);
  kvtree_delete(&config);
}

static void with_different_settings(int here, redset d)
{
  redset found = NULL;
  set_checksums(!here);
  CHECK(redset_apply(0, NULL, "ck.", d) != REDSET_SUCCESS);
  CHECK_ERROR("settings");
  CHECK(redset_recover(comm, "ck.", &found) != REDSET_SUCCESS);
  CHECK_OK(redset_delete(&found));
  set_checksums(1);
}

static void wrong_calls_on_a_descriptor(int bad)
{
  int here = rank == bad;
  const char* files[] = {"absent", NULL};
  redset d = NULL, found = NULL;
  kvtree* report = NULL;
  CHECK_OK(create(REDSET_COPY_SINGLE, group_of(0, rank), 1, 0, &d));
  CHECK(redset_apply(0, NULL, here ? NULL : "ck.", d) != REDSET_SUCCESS);
  CHECK_ERROR("name");
  CHECK(redset_apply(here ? -1 : 0, NULL, "ck.", d) != REDSET_SUCCESS);
  CHECK(redset_apply(here ? 1 : 0, NULL, "ck.", d) != REDSET_SUCCESS);
  CHECK_ERROR("files");
  CHECK(redset_apply(here ? 2 : 0, files, "ck.", d) != REDSET_SUCCESS);
  CHECK_ERROR("NULL");
  CHECK(redset_apply(here ? 1 : 0, files, "ck.", d) != REDSET_SUCCESS);
  CHECK_ERROR("absent");
  CHECK(redset_unapply(here ? NULL : "ck.", d) != REDSET_SUCCESS);
  CHECK_ERROR("name");
  CHECK_OK(redset_apply(0, NULL, "ck.", d));
  if (size > 1) with_different_settings(here, d);

  CHECK(redset_recover(comm, here ? NULL : "ck.", &found) != REDSET_SUCCESS);
  CHECK(found != NULL);
  CHECK(redset_apply(0, NULL, "ck.", found) != REDSET_SUCCESS);
  CHECK(redset_unapply("ck.", found) != REDSET_SUCCESS);
  CHECK(redset_filelist_enc_get("ck.", found) == NULL);
  CHECK_OK(redset_delete(&found));
  CHECK(redset_recover(comm, "ck.", here ? NULL : &found) != REDSET_SUCCESS);
  CHECK((found == NULL) == here);
  if (!here) CHECK_OK(redset_delete(&found));
  CHECK(stanchion_redset_verify(comm, here ? NULL : "ck.", &report) != REDSET_SUCCESS);
  CHECK(report == NULL);

  CHECK_OK(redset_recover(comm, "ck.", &found));
  CHECK_OK(redset_unapply("ck.", found));
  CHECK_OK(redset_delete(&found));
  CHECK_OK(redset_delete(&d));
}

/* ---- what is no descriptor ---- */

static void wrong_handles(void)
{
  redset d = NULL, none = NULL;
  stanchion_redset_info info;
  CHECK(redset_delete(NULL) != REDSET_SUCCESS);
  CHECK(redset_delete(&none) != REDSET_SUCCESS);
  CHECK_OK(create(REDSET_COPY_SINGLE, "g", 1, 0, &d));
  redset_filelist list = redset_filelist_enc_get("ck.", d);
  CHECK_INT(redset_filelist_count(list), 2);
  void* wrong[] = {NULL, list};
  for (int i = 0; i < 2; i++) {
    CHECK(redset_apply(0, NULL, "ck.", wrong[i]) != REDSET_SUCCESS);
    CHECK(redset_unapply("ck.", wrong[i]) != REDSET_SUCCESS);
    CHECK(redset_filelist_enc_get("ck.", wrong[i]) == NULL);
    CHECK(redset_filelist_orig_get("ck.", wrong[i]) == NULL);
    CHECK(stanchion_redset_describe(wrong[i], &info) != 0);
    CHECK(stanchion_redset_to_kvtree(wrong[i]) == NULL);
  }
  CHECK(stanchion_redset_describe(d, NULL) != 0);
  CHECK(redset_filelist_enc_get(NULL, d) == NULL);
  CHECK(redset_filelist_orig_get(NULL, d) == NULL);
  CHECK_INT(redset_filelist_count(d), 0);
  CHECK(redset_filelist_file(d, 0) == NULL);
  CHECK_OK(redset_filelist_release(&list));
  CHECK_OK(redset_delete(&d));
}

static void without_a_communicator(void)
{
  redset d = &d;
  kvtree* report = NULL;
  CHECK(redset_create(REDSET_COPY_XOR, MPI_COMM_NULL, "g", &d) != REDSET_SUCCESS);
  CHECK(d == NULL);
  d = &d;
  CHECK(redset_recover(MPI_COMM_NULL, "ck.", &d) != REDSET_SUCCESS);
  CHECK(d == NULL);
  CHECK(stanchion_redset_verify(MPI_COMM_NULL, "ck.", &report) != REDSET_SUCCESS);
}

/* ---- settings ---- */

static int setting(const char* key)
{
  kvtree* config = redset_config(NULL);
  int value = -7;
  CHECK_INT(kvtree_util_get_int(config, key, &value), KVTREE_SUCCESS);
  kvtree_delete(&config);
  return value;
}

static void settings(void)
{
  CHECK_INT(setting(REDSET_KEY_CONFIG_DEBUG), 1);
  CHECK_INT(setting(REDSET_KEY_CONFIG_SET_SIZE), 8);
  CHECK_INT(setting(REDSET_KEY_CONFIG_MPI_BUF_SIZE), 1 << 20);

  /* Upstream's clients find only keys that they know. */
  kvtree* config = redset_config(NULL);
  CHECK_INT(kvtree_size(config), 3);
  kvtree_delete(&config);

  config = kvtree_new();
  CHECK(redset_config(config) == config);
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_SET_SIZE, 3);
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_CHECKSUM, 0);
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_SALVAGE, 0);
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_DIRECT, 0);
  kvtree_util_set_bytecount(config, REDSET_KEY_CONFIG_MPI_BUF_SIZE, 12345);
  CHECK(redset_config(config) == config);
  CHECK_INT(setting(REDSET_KEY_CONFIG_SET_SIZE), 3);
  CHECK_INT(setting(REDSET_KEY_CONFIG_CHECKSUM), 0);
  CHECK_INT(setting(REDSET_KEY_CONFIG_SALVAGE), 0);
  CHECK_INT(setting(REDSET_KEY_CONFIG_DIRECT), 0);
  CHECK_INT(setting(REDSET_KEY_CONFIG_MPI_BUF_SIZE), 12345);

  /* Nothing is half applied. */
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_SET_SIZE, 5);
  kvtree_util_set_bytecount(config, REDSET_KEY_CONFIG_MPI_BUF_SIZE, 1ul << 31);
  CHECK(redset_config(config) == NULL);
  CHECK_ERROR("MPI_BUF_SIZE");
  kvtree_util_set_bytecount(config, REDSET_KEY_CONFIG_MPI_BUF_SIZE, 1 << 20);
  kvtree_util_set_int(config, "SET_SIZE", 5);
  CHECK(redset_config(config) == NULL);
  CHECK_ERROR("SET_SIZE");
  CHECK_INT(setting(REDSET_KEY_CONFIG_SET_SIZE), 3);
  CHECK_INT(setting(REDSET_KEY_CONFIG_MPI_BUF_SIZE), 12345);

  kvtree_unset(config, "SET_SIZE");
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_SET_SIZE, 8);
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_CHECKSUM, 1);
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_DIRECT, 1);
  CHECK(redset_config(config) == config);
  kvtree_delete(&config);
}

static void count(int level, const char* message, void* counter)
{
  *(int*)counter += level == STANCHION_LOG_ERROR && strlen(message) > 0;
}

/* DEBUG asks for errors in the log, unless a level was chosen. */
static void debugging(void)
{
  int logged = 0, chosen = getenv("STANCHION_LOG") != NULL;
  kvtree* config = kvtree_new();
  stanchion_set_log_callback(count, &logged);
  kvtree_util_set_int(config, REDSET_KEY_CONFIG_DEBUG, 1);
  CHECK(redset_config(config) == config);
  CHECK(redset_delete(NULL) != REDSET_SUCCESS);
  CHECK(logged == 1 || chosen);
  stanchion_set_log_level(STANCHION_LOG_NONE);
  CHECK(redset_config(config) == config);
  CHECK(redset_delete(NULL) != REDSET_SUCCESS);
  CHECK(logged == 1 || chosen);
  stanchion_set_log_callback(NULL, NULL);
  kvtree_delete(&config);
}

static void started(void)
{
  static const char* const methods[] = {"CPU", "OPENMP", "PTHREADS", "CUDA"};
  CHECK_OK(redset_init());
  CHECK_OK(redset_finalize());
  for (int i = 0; i < 4; i++) {
    setenv("REDSET_ENCODE", methods[i], 1);
    CHECK_OK(redset_init());
  }
  setenv("REDSET_ENCODE", "abacus", 1);
  CHECK(redset_init() != REDSET_SUCCESS);
  CHECK_ERROR("abacus");
  unsetenv("REDSET_ENCODE");
  CHECK_OK(redset_init());
}

/* The ranks of each half make sets of their own at the same time; their communicator may go before. */
static void in_halves(void)
{
  MPI_Comm half;
  redset d = NULL, other = NULL;
  stanchion_redset_info info;
  int half_size;
  MPI_Comm_split(comm, rank % 2, rank, &half);
  MPI_Comm_size(half, &half_size);
  CHECK_OK(redset_create_single(half, "g", &other));
  CHECK_INT(redset_create_xor(half, group_of(0, rank), half_size, &d) == REDSET_SUCCESS, half_size > 1);
  MPI_Comm_free(&half);
  if (d) {
    CHECK_OK(stanchion_redset_describe(d, &info));
    CHECK_INT(info.ranks, half_size);
    CHECK_INT(info.groups, 1);
    CHECK_OK(redset_apply(0, NULL, text("half%d.", rank % 2), d));
    CHECK_OK(redset_unapply(text("half%d.", rank % 2), d));
    CHECK_OK(redset_delete(&d));
  }
  CHECK_OK(redset_delete(&other));
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK_STR(REDSET_VERSION, "0.4.0");
  settings();
  debugging();
  started();
  all_sets();
  by_type();
  for (int bad = 0; bad < size; bad += size < 3 ? 1 : size - 1) {
    wrong_arguments(bad);
    different_wishes(bad);
    wrong_calls_on_a_descriptor(bad);
  }
  wrong_handles();
  without_a_communicator();
  in_halves();
  for (int i = 0; i < 200; i++) created(REDSET_COPY_XOR, 0, 2, 0);
  MPI_Comm_free(&comm);
  return check_result_mpi();
}
