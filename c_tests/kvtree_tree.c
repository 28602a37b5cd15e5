/* Every function of kvtree.h that works on trees: order, ownership, returns. The answers are compared
 * with those of a plain array, for few keys and for so many that lookups go through an index. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kvtree.h"
#include "kvtree_util.h"

#include <limits.h>

/* "a b c" for the keys of a tree in its order. */
static const char* order(const kvtree* tree)
{
  static char text[4096];
  char* end = text;
  *end = '\0';
  for (kvtree_elem* e = kvtree_elem_first(tree); e; e = kvtree_elem_next(e))
    end += sprintf(end, "%s%s", end == text ? "" : " ", kvtree_elem_key(e));
  return text;
}

static kvtree* tree_of(const char* first, ...)
{
  kvtree* tree = kvtree_new();
  va_list keys;
  va_start(keys, first);
  for (const char* key = first; key; key = va_arg(keys, const char*)) kvtree_set(tree, key, kvtree_new());
  va_end(keys);
  return tree;
}

static void new_and_delete(void)
{
  kvtree* tree = kvtree_new();
  CHECK(tree != NULL);
  CHECK_INT(kvtree_size(tree), 0);
  CHECK(kvtree_elem_first(tree) == NULL);
  CHECK(tree->lh_first == NULL);
  CHECK_INT(kvtree_delete(&tree), KVTREE_SUCCESS);
  CHECK(tree == NULL);
  CHECK_INT(kvtree_delete(&tree), KVTREE_SUCCESS);
}

static void newest_first(void)
{
  kvtree* tree = tree_of("a", "b", "c", NULL);
  CHECK_STR(order(tree), "c b a");
  CHECK_INT(kvtree_size(tree), 3);
  CHECK(kvtree_get(tree, "b") != NULL);
  CHECK(kvtree_get(tree, "d") == NULL);
  CHECK(kvtree_get(tree, "") == NULL);
  kvtree_delete(&tree);
}

static void set_replaces_and_moves(void)
{
  kvtree* tree = tree_of("a", "b", "c", NULL);
  kvtree* below = tree_of("x", NULL);
  CHECK(kvtree_set(tree, "a", below) == below);
  CHECK(kvtree_get(tree, "a") == below);
  CHECK_STR(order(tree), "a c b");
  /* The same tree again must not be deleted under our feet. */
  CHECK(kvtree_set(tree, "a", below) == below);
  CHECK_STR(order(kvtree_get(tree, "a")), "x");

  CHECK(kvtree_set(tree, "b", NULL) == NULL);
  CHECK_STR(order(tree), "b a c");
  CHECK(kvtree_get(tree, "b") == NULL);
  CHECK(kvtree_elem_get(tree, "b") != NULL);
  CHECK(kvtree_elem_hash(kvtree_elem_get(tree, "b")) == NULL);
  CHECK(kvtree_set(tree, "new", NULL) == NULL);
  CHECK_INT(kvtree_size(tree), 4);
  kvtree_delete(&tree);
}

static void keys_are_copied(void)
{
  char key[] = "key";
  kvtree* tree = kvtree_new();
  kvtree_set(tree, key, kvtree_new());
  kvtree_set_kv(tree, key, key);
  key[0] = 'K';
  CHECK(kvtree_get_kv(tree, "key", "key") != NULL);
  CHECK(kvtree_get(tree, "Key") == NULL);
  kvtree_delete(&tree);
}

static void set_kv_keeps_what_is_there(void)
{
  kvtree* tree = kvtree_new();
  kvtree* one = kvtree_set_kv(tree, "k", "1");
  CHECK(one != NULL);
  CHECK_INT(kvtree_size(one), 0);
  kvtree_set(one, "below", kvtree_new());
  kvtree_set_kv(tree, "other", "v");
  CHECK(kvtree_set_kv(tree, "k", "1") == one);
  CHECK_STR(order(tree), "other k");
  CHECK(kvtree_get(one, "below") != NULL);
  CHECK(kvtree_set_kv_int(tree, "k", 1) == one);
  CHECK(kvtree_set_kv_int(tree, "k", -7) != one);
  CHECK_STR(order(kvtree_get(tree, "k")), "-7 1");
  CHECK(kvtree_get_kv(tree, "k", "1") == one);
  CHECK(kvtree_get_kv_int(tree, "k", 1) == one);
  CHECK(kvtree_get_kv(tree, "k", "-7") == kvtree_get_kv_int(tree, "k", -7));
  CHECK(kvtree_get_kv(tree, "k", "2") == NULL);
  CHECK(kvtree_get_kv(tree, "none", "1") == NULL);
  CHECK(kvtree_get_kv_int(tree, "none", 1) == NULL);
  kvtree_set_kv_int(tree, "k", INT_MIN);
  CHECK(kvtree_get_kv(tree, "k", "-2147483648") != NULL);
  kvtree_delete(&tree);
}

static void unset(void)
{
  kvtree* tree = tree_of("a", "b", "c", NULL);
  CHECK_INT(kvtree_unset(tree, "b"), KVTREE_SUCCESS);
  CHECK_INT(kvtree_unset(tree, "b"), KVTREE_SUCCESS);
  CHECK_STR(order(tree), "c a");
  CHECK_INT(kvtree_unset_all(tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(tree), 0);
  kvtree_set(tree, "again", kvtree_new());
  CHECK_STR(order(tree), "again");
  kvtree_delete(&tree);
}

static void unset_kv_removes_the_emptied_key(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set_kv(tree, "k", "1");
  kvtree_set_kv_int(tree, "k", 2);
  CHECK_INT(kvtree_unset_kv(tree, "k", "3"), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(kvtree_get(tree, "k")), 2);
  CHECK_INT(kvtree_unset_kv(tree, "k", "1"), KVTREE_SUCCESS);
  CHECK_STR(order(kvtree_get(tree, "k")), "2");
  CHECK_INT(kvtree_unset_kv_int(tree, "k", 2), KVTREE_SUCCESS);
  CHECK(kvtree_elem_get(tree, "k") == NULL);
  kvtree_set(tree, "empty", kvtree_new());
  CHECK_INT(kvtree_unset_kv(tree, "empty", "1"), KVTREE_SUCCESS);
  CHECK(kvtree_elem_get(tree, "empty") == NULL);
  CHECK_INT(kvtree_unset_kv_int(tree, "none", 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(tree), 0);
  kvtree_delete(&tree);
}

static void extract_gives_the_tree_away(void)
{
  kvtree* tree = tree_of("a", "b", NULL);
  kvtree* below = tree_of("x", NULL);
  kvtree_set(tree, "b", below);
  CHECK(kvtree_extract(tree, "b") == below);
  CHECK(kvtree_extract(tree, "b") == NULL);
  CHECK_STR(order(tree), "a");
  kvtree_delete(&tree);
  CHECK_STR(order(below), "x");
  kvtree_delete(&below);
}

static void merge_copies(void)
{
  kvtree* into = tree_of("a", "b", NULL);
  kvtree* from = tree_of("b", "c", "d", NULL);
  kvtree_set_kv(into, "b", "old");
  kvtree_set_kv(from, "b", "new");
  kvtree_set(from, "nothing", NULL);
  CHECK_STR(order(from), "nothing d c b");
  CHECK_INT(kvtree_merge(into, from), KVTREE_SUCCESS);
  CHECK_STR(order(into), "c d nothing b a");
  CHECK_STR(order(kvtree_get(into, "b")), "new old");
  CHECK(kvtree_get(into, "nothing") != NULL);
  CHECK_INT(kvtree_size(kvtree_get(into, "nothing")), 0);
  CHECK(kvtree_get(into, "c") != kvtree_get(from, "c"));
  kvtree_delete(&from);
  CHECK_INT(kvtree_merge(into, NULL), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(into), 5);

  /* A copy of a copy has the order of the first again, at every depth. */
  kvtree *copy = kvtree_new(), *second = kvtree_new();
  kvtree_merge(copy, into);
  CHECK_STR(order(copy), "a b nothing d c");
  CHECK_STR(order(kvtree_get(copy, "b")), "old new");
  kvtree_merge(second, copy);
  CHECK_STR(order(second), "c d nothing b a");
  kvtree_delete(&copy);
  kvtree_delete(&second);
  kvtree_delete(&into);
}

static void sort_by_bytes(void)
{
  kvtree* tree = tree_of("b", "10", "a", "\xff", "9", "", "B", NULL);
  kvtree* below = kvtree_get(tree, "a");
  CHECK_INT(kvtree_sort(tree, KVTREE_SORT_ASCENDING), KVTREE_SUCCESS);
  const char* up[] = {"", "10", "9", "B", "a", "b", "\xff"};
  kvtree_elem* e = kvtree_elem_first(tree);
  for (int i = 0; i < 7; i++, e = kvtree_elem_next(e)) CHECK_STR(kvtree_elem_key(e), up[i]);
  CHECK(e == NULL);
  CHECK_INT(kvtree_sort(tree, KVTREE_SORT_DESCENDING), KVTREE_SUCCESS);
  e = kvtree_elem_first(tree);
  for (int i = 6; i >= 0; i--, e = kvtree_elem_next(e)) CHECK_STR(kvtree_elem_key(e), up[i]);
  CHECK(kvtree_get(tree, "a") == below);
  kvtree_delete(&tree);
}

static void sort_by_number(void)
{
  kvtree* tree = tree_of("10", "2147483647", "-1", "9", "-2147483648", "0", NULL);
  CHECK_INT(kvtree_sort_int(tree, KVTREE_SORT_ASCENDING), KVTREE_SUCCESS);
  CHECK_STR(order(tree), "-2147483648 -1 0 9 10 2147483647");
  CHECK_INT(kvtree_sort_int(tree, KVTREE_SORT_DESCENDING), KVTREE_SUCCESS);
  CHECK_STR(order(tree), "2147483647 10 9 0 -1 -2147483648");

  int num = 0, *list = NULL;
  CHECK_INT(kvtree_list_int(tree, &num, &list), KVTREE_SUCCESS);
  int wanted[] = {INT_MIN, -1, 0, 9, 10, INT_MAX};
  CHECK_INT(num, 6);
  for (int i = 0; i < num && i < 6; i++) CHECK_INT(list[i], wanted[i]);
  free(list);
  kvtree_delete(&tree);

  /* Equal numbers stay in the order in which they stand. */
  tree = tree_of("01", "2", "1", "+1", "002", "x", "0", NULL);
  kvtree_sort_int(tree, KVTREE_SORT_ASCENDING);
  CHECK_STR(order(tree), "0 x +1 1 01 002 2");
  kvtree_sort_int(tree, KVTREE_SORT_DESCENDING);
  CHECK_STR(order(tree), "002 2 +1 1 01 0 x");
  kvtree_delete(&tree);

  kvtree* empty = kvtree_new();
  num = 7;
  CHECK_INT(kvtree_list_int(empty, &num, &list), KVTREE_SUCCESS);
  CHECK_INT(num, 0);
  CHECK(list == NULL);
  CHECK_INT(kvtree_sort(empty, KVTREE_SORT_ASCENDING), KVTREE_SUCCESS);
  CHECK_INT(kvtree_sort_int(empty, KVTREE_SORT_DESCENDING), KVTREE_SUCCESS);
  kvtree_delete(&empty);
}

static void one_value(void)
{
  kvtree* tree = kvtree_new();
  CHECK(kvtree_get_val(tree, "k") == NULL);
  kvtree_set(tree, "k", kvtree_new());
  CHECK(kvtree_get_val(tree, "k") == NULL);
  CHECK(kvtree_elem_get_first_val(tree, "k") == NULL);
  kvtree_set_kv(tree, "k", "one");
  CHECK_STR(kvtree_get_val(tree, "k"), "one");
  CHECK(kvtree_get_val(tree, "k") == kvtree_elem_key(kvtree_elem_first(kvtree_get(tree, "k"))));
  CHECK_STR(kvtree_elem_get_first_val(tree, "k"), "one");
  kvtree_set_kv(tree, "k", "two");
  CHECK(kvtree_get_val(tree, "k") == NULL);
  CHECK_STR(kvtree_elem_get_first_val(tree, "k"), "two");
  CHECK(kvtree_elem_get_first_val(tree, "none") == NULL);
  kvtree_set(tree, "nothing", NULL);
  CHECK(kvtree_get_val(tree, "nothing") == NULL);
  CHECK(kvtree_elem_get_first_val(tree, "nothing") == NULL);
  kvtree_delete(&tree);
}

static void free_elem(kvtree_elem* elem)
{
  kvtree_delete(&elem->hash);
  free(elem->key);
  free(elem);
}

static void elements(void)
{
  kvtree* tree = tree_of("3", "word", "-5", "12abc", "last", NULL);
  kvtree_elem* e = kvtree_elem_get(tree, "12abc");
  CHECK_STR(kvtree_elem_key(e), "12abc");
  CHECK_INT(kvtree_elem_key_int(e), 12);
  CHECK(kvtree_elem_hash(e) == kvtree_get(tree, "12abc"));
  CHECK_INT(kvtree_elem_key_int(kvtree_elem_get(tree, "-5")), -5);
  CHECK_INT(kvtree_elem_key_int(kvtree_elem_get(tree, "word")), 0);
  CHECK(kvtree_elem_get(tree, "none") == NULL);
  CHECK(kvtree_elem_next(kvtree_elem_get(tree, "3")) == NULL);
  CHECK(kvtree_elem_first(tree) == tree->lh_first);
  CHECK(tree->lh_first->pointers.le_prev == &tree->lh_first);

  CHECK(kvtree_elem_extract(tree, "none") == NULL);
  CHECK(kvtree_elem_extract_int(tree, 99) == NULL);
  e = kvtree_elem_extract(tree, "word");
  CHECK_STR(e->key, "word");
  CHECK(e->hash != NULL);
  free_elem(e);
  e = kvtree_elem_extract_int(tree, -5);
  CHECK_STR(e->key, "-5");
  free_elem(e);
  e = kvtree_elem_get(tree, "3");
  CHECK(kvtree_elem_extract_by_addr(tree, e) == e);
  free_elem(e);
  CHECK_STR(order(tree), "last 12abc");
  e = kvtree_elem_extract_by_addr(tree, tree->lh_first);
  CHECK_STR(e->key, "last");
  free_elem(e);
  CHECK_STR(order(tree), "12abc");
  kvtree_delete(&tree);
}

static void pack(void)
{
  kvtree* tree = tree_of("b", "a", NULL);
  kvtree_set_kv(tree, "b", "v");
  static const char wanted[] = "\0\0\0\2" "a\0" "\0\0\0\0" "b\0" "\0\0\0\1" "v\0" "\0\0\0\0";
  CHECK_INT(kvtree_pack_size(tree), sizeof wanted - 1);
  char buffer[64];
  memset(buffer, 'z', sizeof buffer);
  CHECK_INT(kvtree_pack(buffer, tree), sizeof wanted - 1);
  CHECK(memcmp(buffer, wanted, sizeof wanted - 1) == 0);
  CHECK(buffer[sizeof wanted - 1] == 'z');

  kvtree* other = tree_of("a", NULL);
  CHECK_INT(kvtree_unpack(buffer, other), sizeof wanted - 1);
  CHECK_STR(order(other), "b a a"); /* neither merged nor in the order of the source */
  CHECK_STR(kvtree_get_val(other, "b"), "v");
  kvtree_delete(&other);

  CHECK_INT(kvtree_pack_size(NULL), 4);
  CHECK_INT(kvtree_pack(buffer, NULL), 4);
  CHECK(memcmp(buffer, "\0\0\0\0", 4) == 0);
  kvtree_set(tree, "n", NULL);
  CHECK_INT(kvtree_pack_size(tree), sizeof wanted - 1 + 6);
  kvtree_delete(&tree);
}

static void deep(void)
{
  int depth = check_size(200000, 5000);
  kvtree *tree = kvtree_new(), *at = tree, *copy = kvtree_new();
  for (int i = 0; i < depth; i++) at = kvtree_set(at, "d", kvtree_new());
  CHECK_INT(kvtree_merge(copy, tree), KVTREE_SUCCESS);
  size_t size = kvtree_pack_size(copy);
  CHECK_INT(size, 4 + 6 * (long long)depth);
  char* bytes = malloc(size);
  CHECK_INT(kvtree_pack(bytes, copy), size);
  kvtree_unset_all(copy);
  CHECK_INT(kvtree_unpack(bytes, copy), size);
  int found = 0;
  for (at = kvtree_get(copy, "d"); at; at = kvtree_get(at, "d")) found++;
  CHECK_INT(found, depth);
  free(bytes);
  kvtree_delete(&copy);
  kvtree_delete(&tree);
}

/* The same operations on an array, in which the order of the keys is their order in the list. */
struct model {
  int keys[8192];
  int stamps[8192];
  int size;
};

static int model_find(const struct model* model, int key)
{
  for (int i = 0; i < model->size; i++)
    if (model->keys[i] == key) return i;
  return -1;
}

static void model_remove(struct model* model, int at)
{
  if (at < 0) return;
  model->size--;
  memmove(model->keys + at, model->keys + at + 1, (size_t)(model->size - at) * sizeof(int));
  memmove(model->stamps + at, model->stamps + at + 1, (size_t)(model->size - at) * sizeof(int));
}

static void model_push(struct model* model, int key, int stamp)
{
  memmove(model->keys + 1, model->keys, (size_t)model->size * sizeof(int));
  memmove(model->stamps + 1, model->stamps, (size_t)model->size * sizeof(int));
  model->keys[0] = key;
  model->stamps[0] = stamp;
  model->size++;
}

static void model_sort(struct model* model, int ascending)
{
  for (int i = 1; i < model->size; i++) {
    int key = model->keys[i], stamp = model->stamps[i], j = i;
    for (; j > 0 && (ascending ? model->keys[j - 1] > key : model->keys[j - 1] < key); j--) {
      model->keys[j] = model->keys[j - 1];
      model->stamps[j] = model->stamps[j - 1];
    }
    model->keys[j] = key;
    model->stamps[j] = stamp;
  }
}

static int stamp_of(const kvtree* below)
{
  int stamp = -1;
  kvtree_util_get_int(below, "STAMP", &stamp);
  return stamp;
}

static void compare(const kvtree* tree, const struct model* model)
{
  int i = 0;
  CHECK_INT(kvtree_size(tree), model->size);
  kvtree_elem* const* place = &tree->lh_first;
  for (kvtree_elem* e = tree->lh_first; e && i < model->size; e = e->pointers.le_next, i++) {
    CHECK_INT(atoi(e->key), model->keys[i]);
    CHECK_INT(stamp_of(e->hash), model->stamps[i]);
    CHECK(e->pointers.le_prev == place);
    place = &e->pointers.le_next;
  }
  CHECK_INT(i, model->size);
}

static void like_a_model(int keys, int steps, unsigned seed)
{
  static struct model model;
  model.size = 0;
  kvtree* tree = kvtree_new();
  for (int step = 0; step < steps && !check_failures; step++) {
    int key = (int)(check_random(&seed) % (unsigned)keys);
    int at = model_find(&model, key);
    int stamp = at < 0 ? -1 : model.stamps[at];
    char text[16];
    snprintf(text, sizeof text, "%d", key);
    /* Grow at first, then hover, then shrink. */
    unsigned action = check_random(&seed) % 16;
    if (step < steps / 3 && action >= 10) action %= 4;
    if (step > steps * 2 / 3 && action < 3) action += 10;
    if (action < 3) {
      kvtree* below = kvtree_new();
      kvtree_util_set_int(below, "STAMP", step);
      CHECK(kvtree_set(tree, text, below) == below);
      model_remove(&model, at);
      model_push(&model, key, step);
    } else if (action < 5) {
      kvtree* below = kvtree_get(tree, text);
      CHECK((below != NULL) == (at >= 0));
      if (!below) {
        below = kvtree_set(tree, text, kvtree_new());
        model_push(&model, key, step);
      } else {
        model.stamps[at] = step;
      }
      kvtree_util_set_int(below, "STAMP", step);
    } else if (action < 10) {
      CHECK_INT(stamp_of(kvtree_get(tree, text)), stamp);
      CHECK((kvtree_elem_get(tree, text) != NULL) == (at >= 0));
    } else if (action < 12) {
      kvtree_unset(tree, text);
      model_remove(&model, at);
    } else if (action < 14) {
      kvtree* below = kvtree_extract(tree, text);
      CHECK_INT(stamp_of(below), stamp);
      kvtree_delete(&below);
      model_remove(&model, at);
    } else if (action < 15) {
      kvtree_elem* e = kvtree_elem_extract_int(tree, key);
      CHECK((e != NULL) == (at >= 0));
      if (e) free_elem(e);
      model_remove(&model, at);
    } else if (check_random(&seed) % 64 == 0) {
      int direction = check_random(&seed) % 2 ? KVTREE_SORT_ASCENDING : KVTREE_SORT_DESCENDING;
      kvtree_sort_int(tree, direction);
      model_sort(&model, direction == KVTREE_SORT_ASCENDING);
    }
    if (step % (keys / 4 + 1) == 0 || step == steps - 1) compare(tree, &model);
  }
  /* The copy of a copy is the same. */
  kvtree *once = kvtree_new(), *twice = kvtree_new();
  kvtree_merge(once, tree);
  kvtree_merge(twice, once);
  compare(twice, &model);
  kvtree_delete(&once);
  kvtree_delete(&twice);
  kvtree_unset_all(tree);
  model.size = 0;
  compare(tree, &model);
  kvtree_delete(&tree);
}

static void many_keys_sorted(void)
{
  int count = check_size(5000, 200);
  kvtree* tree = kvtree_new();
  for (int i = 0; i < count; i++) kvtree_set_kv_int(tree, "unsorted", (int)((i * 7919LL) % count));
  kvtree* keys = kvtree_get(tree, "unsorted");
  int distinct = kvtree_size(keys), num = 0, *list = NULL;
  kvtree_list_int(keys, &num, &list);
  CHECK_INT(num, distinct);
  kvtree_sort_int(keys, KVTREE_SORT_ASCENDING);
  int i = 0;
  for (kvtree_elem* e = kvtree_elem_first(keys); e; e = kvtree_elem_next(e), i++)
    CHECK_INT(kvtree_elem_key_int(e), list[i]);
  kvtree_sort(keys, KVTREE_SORT_DESCENDING);
  for (kvtree_elem* e = kvtree_elem_first(keys); kvtree_elem_next(e); e = kvtree_elem_next(e))
    CHECK(strcmp(kvtree_elem_key(e), kvtree_elem_key(kvtree_elem_next(e))) > 0);
  for (i = 0; i < num; i++) CHECK(kvtree_get_kv_int(tree, "unsorted", list[i]) != NULL);
  for (i = 0; i < num; i++) kvtree_unset_kv_int(tree, "unsorted", list[i]);
  CHECK_INT(kvtree_size(tree), 0);
  free(list);
  kvtree_delete(&tree);
}

static void equal_keys_that_stand_twice(void)
{
  int count = check_size(1000, 100);
  kvtree* tree = kvtree_new();
  for (int i = 0; i < count; i++) {
    char key[16];
    snprintf(key, sizeof key, "%d", i);
    kvtree_set_kv(tree, key, "first");
  }
  char* bytes = malloc(kvtree_pack_size(tree));
  kvtree_pack(bytes, tree);
  kvtree* twice = kvtree_new();
  kvtree_unpack(bytes, twice);
  kvtree_set_kv(kvtree_get(twice, "5"), "mark", "older");
  kvtree_unpack(bytes, twice);
  CHECK_INT(kvtree_size(twice), 2 * count);
  CHECK(kvtree_get(kvtree_get(twice, "5"), "mark") == NULL); /* the first in the list counts */
  kvtree_unset(twice, "5");
  CHECK(kvtree_get(kvtree_get(twice, "5"), "mark") != NULL);
  kvtree_unset(twice, "5");
  CHECK(kvtree_get(twice, "5") == NULL);
  CHECK_INT(kvtree_size(twice), 2 * count - 2);
  free(bytes);
  kvtree_delete(&twice);
  kvtree_delete(&tree);
}

int main(void)
{
  new_and_delete();
  newest_first();
  set_replaces_and_moves();
  keys_are_copied();
  set_kv_keeps_what_is_there();
  unset();
  unset_kv_removes_the_emptied_key();
  extract_gives_the_tree_away();
  merge_copies();
  sort_by_bytes();
  sort_by_number();
  one_value();
  elements();
  pack();
  deep();
  like_a_model(8, 2000, 1);
  like_a_model(40, check_size(6000, 2000), 2);
  like_a_model(100, check_size(20000, 3000), 3);
  like_a_model(4000, check_size(40000, 2000), 4);
  many_keys_sorted();
  equal_keys_that_stand_twice();
  return check_result();
}
