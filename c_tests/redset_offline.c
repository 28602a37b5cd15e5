/* What one process does without MPI: lists of files, paths that have moved, and arguments that are
 * wrong. The sets come from golden/, given as argument. */
#define _POSIX_C_SOURCE 200809L
#include "kvtree.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "redset_files.h"
#include "redset_golden.h"

typedef redset_filelist list_function(int, const char**, int*, int**);
typedef int rebuild_function(int, const char**, const char*, const kvtree*);
static list_function* const list_functions[] = {NULL, NULL, redset_filelist_get_data_partner, redset_filelist_get_data_xor,
                                                redset_filelist_get_data_rs};
static rebuild_function* const rebuild_functions[] = {NULL, NULL, redset_rebuild_partner, redset_rebuild_xor, redset_rebuild_rs};

static char names[MOST_RANKS][256];
static const char* files[MOST_RANKS];

/* The redundancy files of a set, without that of `lost`. */
static int list_without(const struct golden* set, const char* prefix, int lost)
{
  int count = 0;
  for (int r = 0; r < set->ranks; r++) {
    if (r == lost) continue;
    snprintf(names[count], sizeof names[count], "%s", golden_redundancy(set, prefix, r));
    files[count] = names[count];
    count++;
  }
  return count;
}

static void lists(void)
{
  redset_filelist none = NULL;
  CHECK_OK(redset_filelist_release(NULL));
  CHECK_OK(redset_filelist_release(&none));
  CHECK_INT(redset_filelist_count(NULL), 0);
  CHECK(redset_filelist_file(NULL, 0) == NULL);
}

static void no_list(list_function* list_of, int count, const char** given)
{
  int ranks = -7, *map = &ranks;
  CHECK(list_of(count, given, &ranks, &map) == NULL);
  CHECK_INT(ranks, 0);
  CHECK(map == NULL);
}

static void wrong_arguments(const struct golden* set)
{
  list_function* list_of = list_functions[set->type];
  rebuild_function* rebuild = rebuild_functions[set->type];
  const char* bad[] = {golden_redundancy(set, "enc/ck.", 0), NULL};
  const char* absent[] = {"enc/absent"};
  no_list(list_of, -1, files);
  no_list(list_of, 1, NULL);
  no_list(list_of, 2, bad);
  no_list(list_of, 0, NULL);
  no_list(list_of, 1, absent);
  CHECK(rebuild(-1, files, "enc/ck.", NULL) != REDSET_SUCCESS);
  CHECK(rebuild(1, NULL, "enc/ck.", NULL) != REDSET_SUCCESS);
  CHECK(rebuild(2, bad, "enc/ck.", NULL) != REDSET_SUCCESS);
  CHECK(rebuild(0, NULL, "enc/ck.", NULL) != REDSET_SUCCESS);
  CHECK(rebuild(1, absent, "enc/ck.", NULL) != REDSET_SUCCESS);
  int count = list_without(set, "enc/ck.", -1);
  CHECK(rebuild(count, files, NULL, NULL) != REDSET_SUCCESS);
  CHECK_ERROR("prefix");

  /* Files of another scheme. */
  for (int type = REDSET_COPY_PARTNER; type <= REDSET_COPY_RS; type++) {
    if (type == set->type) continue;
    CHECK(rebuild_functions[type](count, files, "enc/ck.", NULL) != REDSET_SUCCESS);
    no_list(list_functions[type], count, files);
  }
}

/* Outputs that are not wanted are left out; files may be given twice and in any order. */
static void what_a_list_needs(const struct golden* set)
{
  int count = list_without(set, "enc/ck.", -1), ranks = 0;
  redset_filelist list = list_functions[set->type](count, files, NULL, NULL);
  CHECK_INT(redset_filelist_count(list), set->ranks * set->files);
  CHECK_OK(redset_filelist_release(&list));
  list = list_functions[set->type](count, files, &ranks, NULL);
  CHECK_INT(ranks, set->ranks);
  CHECK_OK(redset_filelist_release(&list));
  const char* last = files[count - 1];
  files[count - 1] = files[0];
  files[0] = last;
  CHECK_OK(rebuild_functions[set->type](count, files, "enc/ck.", NULL));
}

/* Data and redundancy stand elsewhere; a rank is lost and rebuilt there. */
static void moved(const char* golden, const struct golden* set)
{
  kvtree* map = kvtree_new();
  CHECK(mkdir("moved", 0755) == 0 && rename("enc", "moved/enc") == 0 && rename("data", "moved/data") == 0);
  for (int r = 0; r < set->ranks; r++)
    for (int i = 0; i < set->files; i++) kvtree_set_kv(map, golden_data(r, i), text("moved/%s", golden_data(r, i)));
  unlink(golden_redundancy(set, "moved/enc/ck.", 1));
  for (int i = 0; i < set->files; i++) unlink(text("moved/%s", golden_data(1, i)));
  int count = list_without(set, "moved/enc/ck.", 1);

  /* A file that the map does not have. */
  kvtree* less = kvtree_new();
  kvtree_merge(less, map);
  kvtree_unset(less, golden_data(1, 0));
  CHECK(rebuild_functions[set->type](count, files, "moved/enc/ck.", less) != REDSET_SUCCESS);
  CHECK_ERROR(golden_data(1, 0));
  CHECK(!file_exists(text("moved/%s", golden_data(1, 0))));
  kvtree_delete(&less);

  CHECK_OK(rebuild_functions[set->type](count, files, "moved/enc/ck.", map));
  CHECK_INT(chdir("moved"), 0);
  for (int r = 0; r < set->ranks; r++) {
    golden_same(golden, set, golden_redundancy(set, "enc/ck.", r));
    for (int i = 0; i < set->files; i++) golden_same(golden, set, golden_data(r, i));
  }
  CHECK_INT(chdir(".."), 0);
  CHECK(rename("moved/enc", "enc") == 0 && rename("moved/data", "data") == 0);
  kvtree_delete(&map);
}

/* Redundancy may go to another place than the rest. */
static void another_prefix(const char* golden, const struct golden* set)
{
  char enc[256];
  snprintf(enc, sizeof enc, "%s", golden_redundancy(set, "enc/ck.", 0));
  CHECK_INT(mkdir("other", 0755), 0);
  unlink(enc);
  unlink(golden_data(0, 0));
  int count = list_without(set, "enc/ck.", 0);
  CHECK_OK(rebuild_functions[set->type](count, files, "other/new.", NULL));
  golden_same(golden, set, golden_data(0, 0));
  CHECK(!file_exists(enc));
  CHECK_INT(rename(golden_redundancy(set, "other/new.", 0), enc), 0);
  golden_same(golden, set, enc);
}

/* Nowhere to write to: nothing is changed, and it works when there is. */
static void no_directory(const char* golden, const struct golden* set)
{
  CHECK_INT(rename("data", "gone"), 0);
  int count = list_without(set, "enc/ck.", -1);
  CHECK(rebuild_functions[set->type](count, files, "enc/ck.", NULL) != REDSET_SUCCESS);
  CHECK_INT(rename("gone", "data"), 0);
  CHECK_OK(rebuild_functions[set->type](count, files, "enc/ck.", NULL));
  golden_same(golden, set, golden_data(0, 0));
}

int main(int argc, char** argv)
{
  if (argc != 2) return 2;
  lists();
  for (int s = 0; s < GOLDEN_SETS; s++) {
    const struct golden* set = &golden_sets[s];
    if (set->type == REDSET_COPY_SINGLE || set->ranks > check_size(MOST_RANKS, 4)) continue;
    golden_enter(argv[1], set);
    wrong_arguments(set);
    what_a_list_needs(set);
    moved(argv[1], set);
    another_prefix(argv[1], set);
    no_directory(argv[1], set);
    CHECK_INT(chdir(".."), 0);
  }
  return check_result();
}
