/* Sets that the original library wrote (golden/, given as argument) are rebuilt by one process after
 * every loss that they tolerate. After any other nothing is changed. */
#define _POSIX_C_SOURCE 200809L
#include "kvtree.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"
#include "redset_golden.h"

static int rebuild(const struct golden* set, int count, const char** files)
{
  if (set->type == REDSET_COPY_PARTNER) return redset_rebuild_partner(count, files, "enc/ck.", NULL);
  if (set->type == REDSET_COPY_XOR) return redset_rebuild_xor(count, files, "enc/ck.", NULL);
  return redset_rebuild_rs(count, files, "enc/ck.", NULL);
}

static redset_filelist contents(const struct golden* set, int count, const char** files, int* ranks, int** map)
{
  if (set->type == REDSET_COPY_PARTNER) return redset_filelist_get_data_partner(count, files, ranks, map);
  if (set->type == REDSET_COPY_XOR) return redset_filelist_get_data_xor(count, files, ranks, map);
  return redset_filelist_get_data_rs(count, files, ranks, map);
}

enum { DATA = 1, REDUNDANCY = 2 };

static void lose(const struct golden* set, unsigned lost, int what)
{
  for (int r = 0; r < set->ranks; r++) {
    if (!(lost >> r & 1)) continue;
    if (what & REDUNDANCY) unlink(golden_redundancy(set, "enc/ck.", r));
    for (int i = 0; i < set->files && (what & DATA); i++) unlink(golden_data(r, i));
  }
}

static void put_back(const char* golden, const struct golden* set, unsigned lost)
{
  for (int r = 0; r < set->ranks; r++) {
    const char* enc = golden_redundancy(set, "enc/ck.", r);
    if (!(lost >> r & 1)) continue;
    golden_copy_file(text("%s/%s/%s", golden, set->name, enc), enc);
    for (int i = 0; i < set->files; i++) golden_copy_file(text("%s/%s/%s", golden, set->name, golden_data(r, i)), golden_data(r, i));
  }
}

/* The redundancy files that are there. */
static int found_files(const struct golden* set, const char** files)
{
  static char names[MOST_RANKS][256];
  int count = 0;
  for (int r = 0; r < set->ranks; r++) {
    snprintf(names[count], sizeof names[count], "%s", golden_redundancy(set, "enc/ck.", r));
    if (!file_exists(names[count])) continue;
    files[count] = names[count];
    count++;
  }
  return count;
}

static void tells_its_files(const struct golden* set, int count, const char** files)
{
  int ranks = -1, *map = NULL, n = 0;
  redset_filelist list = contents(set, count, files, &ranks, &map);
  CHECK(list != NULL);
  CHECK_INT(ranks, set->ranks);
  for (int r = 0; map && r < ranks; r++) CHECK_INT(map[r], r);
  CHECK_INT(redset_filelist_count(list), set->ranks * set->files);
  for (int r = 0; r < set->ranks; r++)
    for (int i = 0; i < set->files; i++) CHECK_STR(redset_filelist_file(list, n++), golden_data(r, i));
  CHECK_OK(redset_filelist_release(&list));
  free(map);
}

static void after_a_loss(const char* golden, const struct golden* set, unsigned lost, int what)
{
  const char* files[MOST_RANKS];
  lose(set, lost, what);
  int count = found_files(set, files);
  if (golden_tolerates(set, lost)) {
    if (count > 0) tells_its_files(set, count, files);
    CHECK_OK(rebuild(set, count, files));
    for (int r = 0; r < set->ranks; r++) {
      golden_same(golden, set, golden_redundancy(set, "enc/ck.", r));
      for (int i = 0; i < set->files; i++) golden_same(golden, set, golden_data(r, i));
    }
    return;
  }
  CHECK(rebuild(set, count, files) != REDSET_SUCCESS);
  for (int r = 0; r < set->ranks; r++)
    for (int i = 0; i < set->files; i++) {
      int gone = (lost >> r & 1) && (what & DATA);
      CHECK_INT(file_exists(golden_data(r, i)), !gone);
      if (!gone) golden_same(golden, set, golden_data(r, i));
    }
  put_back(golden, set, lost);
}

int main(int argc, char** argv)
{
  if (argc != 2) return 2;
  for (int s = 0; s < GOLDEN_SETS; s++) {
    const struct golden* set = &golden_sets[s];
    if (set->type == REDSET_COPY_SINGLE) continue; /* nothing to rebuild from */
    if (set->ranks > check_size(MOST_RANKS, 4)) continue;
    golden_enter(argv[1], set);
    /* Every subset of the ranks; with less to do, none, the first, the first two... */
    for (unsigned lost = 0; lost < 1u << set->ranks; lost = check_size((int)lost + 1, (int)(2 * lost + 1))) {
      after_a_loss(argv[1], set, lost, DATA | REDUNDANCY);
      if (golden_tolerates(set, lost)) after_a_loss(argv[1], set, lost, DATA);
    }
    CHECK_INT(chdir(".."), 0);
  }
  return check_result();
}
