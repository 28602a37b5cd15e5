/* A client of the base API; also compiled as C++. */
#include <kvtree.h>
#include <kvtree_util.h>

#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      return 1;                                                            \
    }                                                                      \
  } while (0)

int main(void) {
  kvtree* tree = kvtree_new();
  CHECK(tree != NULL);
  CHECK(kvtree_set_kv(tree, "FILE", "ckpt.0") != NULL);
  CHECK(kvtree_util_set_int(tree, "RANKS", 4) == KVTREE_SUCCESS);
  CHECK(kvtree_setf(tree, kvtree_new(), "%s %d %s", "RANK", 3, "STATE") != NULL);
  CHECK(kvtree_size(tree) == 3);

  int ranks = 0;
  CHECK(kvtree_util_get_int(tree, "RANKS", &ranks) == KVTREE_SUCCESS && ranks == 4);
  CHECK(kvtree_getf(tree, "%s %d", "RANK", 3) != NULL);
  CHECK(kvtree_write_file("install_test.kv", tree) == KVTREE_SUCCESS);

  kvtree_delete(&tree);
  CHECK(tree == NULL);
  return 0;
}
