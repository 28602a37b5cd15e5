/* Sets that the original library wrote, copied from golden/ so that they can be damaged. */
#ifndef REDSET_GOLDEN_H
#define REDSET_GOLDEN_H

#include <dirent.h>

enum { MOST_RANKS = 8, MOST_FILES = 3 };

struct golden {
  const char* name;
  int type, ranks, files, extra; /* extra: replicas or k */
};

static const struct golden golden_sets[] = {
    {"single_n2", 1, 2, 2, 0},     {"partner_n4_k1", 2, 4, 2, 1}, {"partner_n5_k2", 2, 5, 3, 2}, {"xor_n4", 3, 4, 3, 1},
    {"xor_n5", 3, 5, 1, 1},        {"rs_n4_k2", 4, 4, 2, 2},      {"rs_n6_k3", 4, 6, 3, 3},
};
enum { GOLDEN_SETS = sizeof golden_sets / sizeof *golden_sets };

static const char* const golden_types[] = {"null", "single", "partner", "xor", "rs"};

/* The files of a rank, as the headers name them: relative to the directory of the set. */
static inline char* golden_data(int rank, int i)
{
  return text("data/r%d_f%d.bin", rank, i);
}

static inline char* golden_redundancy(const struct golden* set, const char* prefix, int rank)
{
  int single = set->type == 1;
  return text("%s%d.%s.grp_%d_of_%d.mem_%d_of_%d.redset", prefix, rank, golden_types[set->type], single ? rank + 1 : 1,
              single ? set->ranks : 1, single ? 1 : rank + 1, single ? 1 : set->ranks);
}

static inline char* golden_descriptor(int rank)
{
  return text("enc/ck.%d.redset", rank);
}

static inline void golden_copy_file(const char* from, const char* to)
{
  struct bytes file = read_bytes(from);
  CHECK(file.size >= 0);
  CHECK_INT(write_bytes(to, file), 0);
  free_bytes(&file);
}

/* Makes and enters a fresh copy of a set. */
static inline void golden_enter(const char* golden, const struct golden* set)
{
  CHECK(mkdir(set->name, 0755) == 0 || errno == EEXIST);
  CHECK_INT(chdir(set->name), 0);
  CHECK(mkdir("data", 0755) == 0 && mkdir("enc", 0755) == 0);
  for (int r = 0; r < set->ranks; r++) {
    golden_copy_file(text("%s/%s/%s", golden, set->name, golden_descriptor(r)), golden_descriptor(r));
    golden_copy_file(text("%s/%s/%s", golden, set->name, golden_redundancy(set, "enc/ck.", r)), golden_redundancy(set, "enc/ck.", r));
    for (int i = 0; i < set->files; i++)
      golden_copy_file(text("%s/%s/%s", golden, set->name, golden_data(r, i)), golden_data(r, i));
  }
}

static inline int golden_tolerates(const struct golden* set, unsigned lost)
{
  int count = 0;
  for (int r = 0; r < set->ranks; r++) {
    int copies = 0;
    count += lost >> r & 1;
    for (int j = 1; j <= set->extra; j++) copies += !(lost >> (r + j) % set->ranks & 1);
    if (set->type == 2 && (lost >> r & 1) && copies == 0) return 0;
  }
  return set->type == 2 || count <= set->extra;
}

/* A file is what it is in golden/. */
static inline void golden_same(const char* golden, const struct golden* set, const char* file)
{
  struct bytes wanted = read_bytes(text("%s/%s/%s", golden, set->name, file)), found = read_bytes(file);
  if (!same_bytes(wanted, found)) check_failed(__FILE__, __LINE__, text("%s/%s", set->name, file), found.size < 0 ? "missing" : "different", "as it was");
  free_bytes(&wanted);
  free_bytes(&found);
}

#endif
