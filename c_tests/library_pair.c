/* One process holds the MPI library, linked, and the one without MPI, loaded from the path given as
 * argument: trees of either are used, changed and deleted by the other. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "check.h"
#include "kvtree.h"

#include <dlfcn.h>

struct library {
  kvtree* (*new)(void);
  int (*delete)(kvtree**);
  int (*size)(const kvtree*);
  kvtree* (*get)(const kvtree*, const char*);
  kvtree* (*set)(kvtree*, const char*, kvtree*);
  kvtree* (*set_kv)(kvtree*, const char*, const char*);
  int (*unset)(kvtree*, const char*);
  int (*merge)(kvtree*, const kvtree*);
  int (*sort)(kvtree*, int);
  kvtree_elem* (*elem_first)(const kvtree*);
  kvtree_elem* (*elem_next)(const kvtree_elem*);
  kvtree_elem* (*elem_extract)(kvtree*, const char*);
  int (*write_file)(const char*, const kvtree*);
  int (*read_file)(const char*, kvtree*);
};

static const struct library linked = {kvtree_new,   kvtree_delete,    kvtree_size,         kvtree_get,       kvtree_set,
                                      kvtree_set_kv, kvtree_unset,     kvtree_merge,        kvtree_sort,      kvtree_elem_first,
                                      kvtree_elem_next, kvtree_elem_extract, kvtree_write_file, kvtree_read_file};

static void* symbol(void* library, const char* name, void* other)
{
  void* found = dlsym(library, name);
  CHECK(found != NULL);
  CHECK(found != other); /* else there is only one library here */
  return found;
}

#define LOAD(field, name) *(void**)&loaded.field = symbol(library, #name, dlsym(RTLD_DEFAULT, #name))

static struct library load(const char* path)
{
  struct library loaded;
  memset(&loaded, 0, sizeof loaded);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  LOAD(new, kvtree_new);
  LOAD(delete, kvtree_delete);
  LOAD(size, kvtree_size);
  LOAD(get, kvtree_get);
  LOAD(set, kvtree_set);
  LOAD(set_kv, kvtree_set_kv);
  LOAD(unset, kvtree_unset);
  LOAD(merge, kvtree_merge);
  LOAD(sort, kvtree_sort);
  LOAD(elem_first, kvtree_elem_first);
  LOAD(elem_next, kvtree_elem_next);
  LOAD(elem_extract, kvtree_elem_extract);
  LOAD(write_file, kvtree_write_file);
  LOAD(read_file, kvtree_read_file);
  return loaded;
}

static char* key(int number)
{
  static char text[16];
  snprintf(text, sizeof text, "key%d", number);
  return text;
}

static void handed_over(const struct library* a, const struct library* b, int count)
{
  kvtree* tree = a->new();
  for (int i = 0; i < count; i++) a->set_kv(tree, key(i), "a");
  CHECK_INT(b->size(tree), count);
  for (int i = 0; i < count; i++) CHECK(b->get(tree, key(i)) != NULL);
  CHECK(b->get(tree, "absent") == NULL);

  /* The other one adds, replaces, removes, renames; the first one sees it. */
  for (int i = count; i < 2 * count; i++) b->set_kv(tree, key(i), "b");
  for (int i = 0; i < count; i += 2) b->unset(tree, key(i));
  for (int i = 1; i < count; i += 2) b->set(tree, key(i), b->new());
  CHECK_INT(a->size(tree), 2 * count - (count + 1) / 2);
  for (int i = 0; i < 2 * count; i++) CHECK((a->get(tree, key(i)) != NULL) == (i >= count || i % 2 == 1));
  for (kvtree_elem* e = b->elem_first(tree); e; e = b->elem_next(e)) memcpy(e->key, "KEY", 3);
  CHECK(a->get(tree, key(1)) == NULL);
  CHECK(a->get(tree, "KEY1") != NULL);
  a->set_kv(tree, "KEY1", "x");
  CHECK_INT(b->size(tree), 2 * count - (count + 1) / 2);

  /* Elements go from one to the other. */
  kvtree_elem* e = b->elem_extract(tree, "KEY1");
  CHECK(e != NULL && b->get(tree, "KEY1") == NULL && a->get(tree, "KEY1") == NULL);
  if (e) {
    b->set(tree, "taken", e->hash);
    free(e->key);
    free(e);
  }
  kvtree* copy = b->new();
  CHECK_INT(b->merge(copy, tree), KVTREE_SUCCESS);
  CHECK_INT(a->sort(copy, KVTREE_SORT_ASCENDING), KVTREE_SUCCESS);
  CHECK_INT(a->write_file("tree", copy), KVTREE_SUCCESS);
  kvtree* read = a->new();
  CHECK_INT(b->read_file("tree", read), KVTREE_SUCCESS);
  CHECK_INT(a->size(read), b->size(tree));
  a->set(tree, "below", copy); /* made by b, owned by a's tree, deleted by b */
  a->set(tree, "read", read);
  CHECK_INT(b->delete(&tree), KVTREE_SUCCESS);
  CHECK(tree == NULL);
}

int main(int argc, char** argv)
{
  if (argc != 2) return 2;
  struct library loaded = load(argv[1]);
  int counts[] = {3, 20, 1000};
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < 3; i++) {
      handed_over(&linked, &loaded, counts[i]);
      handed_over(&loaded, &linked, counts[i]);
    }
  return check_result();
}
