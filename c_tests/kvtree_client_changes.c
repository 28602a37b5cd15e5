/* Clients change trees behind the library's back: they assign elem->key, write into keys, and link
 * elements by hand. The list is the truth, whatever a hidden index remembers. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kvtree.h"

static char* name(const char* prefix, int number)
{
  static char texts[4][32];
  static int turn;
  char* text = texts[turn++ % 4];
  snprintf(text, sizeof texts[0], "%s%d", prefix, number);
  return text;
}

static kvtree* tree_with(const char* prefix, int count)
{
  kvtree* tree = kvtree_new();
  for (int i = 0; i < count; i++) kvtree_set_kv(tree, name(prefix, i), "value");
  return tree;
}

static void rename_to(kvtree_elem* elem, const char* key)
{
  free(elem->key);
  elem->key = strdup(key);
}

static void rename_all(kvtree* tree)
{
  for (kvtree_elem* e = kvtree_elem_first(tree); e; e = kvtree_elem_next(e)) rename_to(e, name("new", atoi(e->key + 3)));
}

static void new_keys_hit_and_old_ones_miss(const kvtree* tree, int count)
{
  CHECK_INT(kvtree_size(tree), count);
  for (int i = 0; i < count; i++) {
    CHECK(kvtree_get_kv(tree, name("new", i), "value") != NULL);
    CHECK(kvtree_get(tree, name("old", i)) == NULL);
  }
}

static void renamed_while_iterating(int count)
{
  kvtree* tree = tree_with("old", count);
  rename_all(tree);
  new_keys_hit_and_old_ones_miss(tree, count);
  kvtree_set(tree, "new1", kvtree_new()); /* is there: must not stand twice */
  kvtree_set_kv(tree, "new1", "value");
  kvtree_set_kv(tree, "new2", "value");
  new_keys_hit_and_old_ones_miss(tree, count);
  kvtree_set_kv(tree, "old1", "fresh"); /* is free again */
  CHECK_INT(kvtree_size(tree), count + 1);
  CHECK_STR(kvtree_get_val(tree, "old1"), "fresh");
  kvtree_unset(tree, "old1");
  new_keys_hit_and_old_ones_miss(tree, count);
  for (int i = 0; i < count; i++) kvtree_unset(tree, name("new", i));
  CHECK_INT(kvtree_size(tree), 0);
  kvtree_delete(&tree);

  /* Nothing looked up at all between the change and a change, a merge or the end. */
  tree = tree_with("old", count);
  rename_all(tree);
  kvtree_delete(&tree);
  tree = tree_with("old", count);
  rename_all(tree);
  kvtree_set_kv(tree, "new0", "value");
  new_keys_hit_and_old_ones_miss(tree, count);
  kvtree* copy = kvtree_new();
  rename_to(kvtree_elem_get(tree, "new0"), "last");
  kvtree_merge(copy, tree);
  CHECK(kvtree_get(copy, "last") != NULL);
  CHECK(kvtree_get(copy, "new0") == NULL);
  kvtree_unset_all(tree);
  CHECK(kvtree_get(tree, "last") == NULL);
  kvtree_delete(&copy);
  kvtree_delete(&tree);
}

static void renamed_one_by_one_between_lookups(int count)
{
  kvtree* tree = tree_with("old", count);
  for (kvtree_elem* e = kvtree_elem_first(tree); e; e = kvtree_elem_next(e)) {
    int number = atoi(e->key + 3);
    CHECK(kvtree_get(tree, name("new", number)) == NULL);
    rename_to(e, name("new", number));
    CHECK(kvtree_get(tree, name("new", number)) == e->hash);
    CHECK(kvtree_get(tree, name("old", number)) == NULL);
  }
  new_keys_hit_and_old_ones_miss(tree, count);
  kvtree_delete(&tree);
}

/* The next element is fetched first, and the tree is changed while it is held. */
static void renamed_one_by_one_between_changes(int count)
{
  kvtree* tree = tree_with("old", count);
  kvtree_elem* next;
  for (kvtree_elem* e = kvtree_elem_first(tree); e; e = next) {
    next = kvtree_elem_next(e);
    if (strncmp(e->key, "old", 3) != 0) continue;
    int number = atoi(e->key + 3);
    rename_to(e, name("new", number));
    CHECK(kvtree_get(tree, name("new", number)) == e->hash);
    kvtree_set_kv(tree, name("other", number), "x");
  }
  CHECK_INT(kvtree_size(tree), 2 * count);
  for (int i = 0; i < count; i++) kvtree_unset(tree, name("other", i));
  new_keys_hit_and_old_ones_miss(tree, count);
  kvtree_delete(&tree);
}

static void looked_up_then_renamed(int count)
{
  kvtree* tree = tree_with("old", count);
  kvtree_elem* e = kvtree_elem_get(tree, "old1");
  CHECK(kvtree_elem_get(tree, "renamed") == NULL);
  CHECK(kvtree_get(tree, "renamed") == NULL);
  rename_to(e, "renamed");
  CHECK(kvtree_elem_get(tree, "renamed") == e);
  CHECK(kvtree_get(tree, "old1") == NULL);
  rename_to(e, "again");
  CHECK(kvtree_get(tree, "renamed") == NULL);
  CHECK(kvtree_get(tree, "again") == e->hash);
  CHECK_INT(kvtree_unset(tree, "again"), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(tree), count - 1);
  CHECK(kvtree_get(tree, "again") == NULL);

  /* Two elements swap their keys. */
  kvtree_elem *a = kvtree_elem_get(tree, "old0"), *b = kvtree_elem_get(tree, "old2");
  char* key = a->key;
  a->key = b->key;
  b->key = key;
  CHECK(kvtree_elem_get(tree, "old0") == b);
  CHECK(kvtree_elem_get(tree, "old2") == a);
  kvtree_delete(&tree);
}

static void held_while_the_tree_changes(int count)
{
  kvtree* tree = tree_with("old", count);
  kvtree_elem* e = kvtree_elem_get(tree, "old1");
  for (int i = 0; i < count; i++) kvtree_set_kv(tree, name("more", i), "value");
  for (int i = 0; i < count; i++) kvtree_unset(tree, name("more", i));
  rename_to(e, "renamed");
  CHECK(kvtree_get(tree, "renamed") == e->hash);
  CHECK(kvtree_get(tree, "old1") == NULL);
  kvtree_set_kv(tree, "renamed", "value");
  CHECK_INT(kvtree_size(tree), count);
  kvtree_delete(&tree);
}

static void keys_edited_in_place(int count)
{
  kvtree* tree = tree_with("old", count);
  for (kvtree_elem* e = kvtree_elem_first(tree); e; e = kvtree_elem_next(e)) memcpy(e->key, "new", 3);
  new_keys_hit_and_old_ones_miss(tree, count);
  memcpy(kvtree_elem_key(kvtree_elem_get(tree, "new1")), "old", 3);
  CHECK(kvtree_get(tree, "old1") != NULL);
  CHECK(kvtree_get(tree, "new1") == NULL);
  kvtree_unset(tree, "old1");
  CHECK_INT(kvtree_size(tree), count - 1);
  kvtree_delete(&tree);
}

/* What the list macros of <sys/queue.h> do. */
static void list_remove(kvtree_elem* e)
{
  if (e->pointers.le_next) e->pointers.le_next->pointers.le_prev = e->pointers.le_prev;
  *e->pointers.le_prev = e->pointers.le_next;
}

static void list_insert_head(kvtree* tree, kvtree_elem* e)
{
  e->pointers.le_next = tree->lh_first;
  if (tree->lh_first) tree->lh_first->pointers.le_prev = &e->pointers.le_next;
  tree->lh_first = e;
  e->pointers.le_prev = &tree->lh_first;
}

static void free_elem(kvtree_elem* e)
{
  kvtree_delete(&e->hash);
  free(e->key);
  free(e);
}

static void unlinked_by_hand(int count)
{
  kvtree* tree = tree_with("old", count);
  kvtree_elem* e = kvtree_elem_get(tree, "old1"); /* in the middle */
  list_remove(e);
  CHECK_INT(kvtree_size(tree), count - 1);
  CHECK(kvtree_get(tree, "old1") == NULL);
  CHECK(kvtree_get(tree, "old0") != NULL);
  kvtree_set_kv(tree, "old1", "second");
  CHECK_INT(kvtree_size(tree), count);
  CHECK_STR(kvtree_get_val(tree, "old1"), "second");
  free_elem(e);
  e = kvtree_elem_first(tree);
  list_remove(e);
  CHECK(kvtree_get(tree, e->key) == NULL);
  list_insert_head(tree, e);
  CHECK(kvtree_elem_get(tree, e->key) == e);
  CHECK_INT(kvtree_size(tree), count);
  kvtree_delete(&tree);
}

static void moved_to_another_tree(int count)
{
  kvtree *from = tree_with("old", count), *to = tree_with("new", count);
  for (int i = 0; i < 2; i++) {
    kvtree_elem* e = kvtree_elem_get(from, name("old", i));
    list_remove(e);
    list_insert_head(to, e);
    CHECK(kvtree_get(from, name("old", i)) == NULL);
    CHECK(kvtree_elem_get(to, name("old", i)) == e);
    rename_to(e, name("moved", i));
    CHECK(kvtree_elem_get(to, name("moved", i)) == e);
    CHECK(kvtree_get(to, name("old", i)) == NULL);
  }
  CHECK_INT(kvtree_size(from), count - 2);
  CHECK_INT(kvtree_size(to), count + 2);
  kvtree_unset(to, "moved0");
  CHECK(kvtree_get(to, "moved0") == NULL);
  kvtree_set_kv(from, "old0", "value");
  CHECK_INT(kvtree_size(from), count - 1);
  kvtree_delete(&from); /* an element in `to` once was in here */
  CHECK(kvtree_get(to, "moved1") != NULL);
  kvtree_elem* e = kvtree_elem_extract(to, "moved1");
  free_elem(e);
  for (int i = 0; i < count; i++) CHECK(kvtree_get(to, name("new", i)) != NULL);
  CHECK_INT(kvtree_size(to), count);

  /* All of them, one after the other. */
  kvtree* third = kvtree_new();
  while ((e = to->lh_first)) {
    list_remove(e);
    list_insert_head(third, e);
  }
  CHECK_INT(kvtree_size(to), 0);
  CHECK(kvtree_get(to, "new0") == NULL);
  kvtree_set_kv(to, "new0", "fresh");
  CHECK_INT(kvtree_size(to), 1);
  for (int i = 0; i < count; i++) CHECK(kvtree_get(third, name("new", i)) != NULL);
  CHECK(kvtree_get(third, "new") == NULL);
  kvtree_set_kv(third, "new0", "value");
  CHECK_INT(kvtree_size(third), count);
  kvtree_delete(&to);
  kvtree_delete(&third);
}

/* The tree to which elements were moved goes first. */
static void moved_and_deleted_there(int count)
{
  kvtree *from = tree_with("old", count), *to = kvtree_new(), *outer = kvtree_new();
  for (int i = 1; i < 3; i++) {
    kvtree_elem* e = kvtree_elem_get(from, name("old", i));
    list_remove(e);
    list_insert_head(to, e);
  }
  kvtree_set(outer, "to", to);
  kvtree_delete(&outer);
  CHECK(kvtree_get(from, "old1") == NULL);
  CHECK(kvtree_get(from, "old2") == NULL);
  CHECK(kvtree_get(from, "absent") == NULL);
  CHECK(kvtree_get(from, "old0") != NULL);
  kvtree_set_kv(from, "old1", "value");
  CHECK_INT(kvtree_size(from), count - 1);
  kvtree_delete(&from);
}

static void extracted_and_put_back(int count)
{
  kvtree* tree = tree_with("old", count);
  kvtree_elem* e = kvtree_elem_extract(tree, "old2");
  rename_to(e, "back");
  list_insert_head(tree, e);
  CHECK(kvtree_elem_get(tree, "back") == e);
  CHECK(kvtree_get(tree, "old2") == NULL);
  CHECK_INT(kvtree_size(tree), count);
  kvtree_unset(tree, "back");
  CHECK_INT(kvtree_size(tree), count - 1);
  kvtree_delete(&tree);
}

static void the_list_can_be_walked_directly(int count)
{
  kvtree* tree = tree_with("old", count);
  kvtree_sort_int(tree, KVTREE_SORT_ASCENDING);
  kvtree_set_kv(tree, "head", "value");
  kvtree_unset(tree, "old1");
  int found = 0;
  kvtree_elem* const* place = &tree->lh_first;
  for (kvtree_elem* e = tree->lh_first; e; e = e->pointers.le_next) {
    CHECK(e->pointers.le_prev == place);
    CHECK(kvtree_elem_get(tree, e->key) == e);
    CHECK(e->hash == kvtree_get(tree, e->key));
    place = &e->pointers.le_next;
    found++;
  }
  CHECK_INT(found, count);
  kvtree_delete(&tree);
}

int main(void)
{
  int counts[] = {3, 33, 40, check_size(5000, 200)};
  for (int i = 0; i < 4; i++) {
    renamed_while_iterating(counts[i]);
    renamed_one_by_one_between_lookups(counts[i] > 1000 ? 1000 : counts[i]);
    renamed_one_by_one_between_changes(counts[i] > 1000 ? 1000 : counts[i]);
    looked_up_then_renamed(counts[i]);
    if (counts[i] > 32) held_while_the_tree_changes(counts[i]);
    keys_edited_in_place(counts[i]);
    unlinked_by_hand(counts[i]);
    moved_to_another_tree(counts[i]);
    moved_and_deleted_there(counts[i]);
    extracted_and_put_back(counts[i]);
    the_list_can_be_walked_directly(counts[i]);
  }
  return check_result();
}
