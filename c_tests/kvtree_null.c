/* NULL for every pointer of every serial function: nothing crashes, the documented return comes back,
 * outputs and trees stay as they are. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kvtree.h"
#include "kvtree_util.h"

#include <fcntl.h>
#include <unistd.h>

static void trees(kvtree* tree)
{
  kvtree* null = NULL;
  CHECK_INT(kvtree_delete(NULL), KVTREE_SUCCESS);
  CHECK_INT(kvtree_delete(&null), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(NULL), 0);
  CHECK(kvtree_get(NULL, "k") == NULL);
  CHECK(kvtree_get(tree, NULL) == NULL);
  kvtree* value = kvtree_new();
  CHECK(kvtree_set(NULL, "k", value) == NULL);
  CHECK(kvtree_set(tree, NULL, value) == NULL);
  CHECK_INT(kvtree_delete(&value), KVTREE_SUCCESS); /* it is still ours */
  CHECK(kvtree_extract(NULL, "k") == NULL);
  CHECK(kvtree_extract(tree, NULL) == NULL);
  CHECK_INT(kvtree_unset(NULL, "k"), KVTREE_SUCCESS);
  CHECK_INT(kvtree_unset(tree, NULL), KVTREE_SUCCESS);
  CHECK_INT(kvtree_unset_all(NULL), KVTREE_SUCCESS);
  CHECK(kvtree_merge(NULL, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_merge(NULL, NULL) != KVTREE_SUCCESS);
  CHECK_INT(kvtree_merge(tree, NULL), KVTREE_SUCCESS);
  CHECK_INT(kvtree_sort(NULL, KVTREE_SORT_ASCENDING), KVTREE_SUCCESS);
  CHECK_INT(kvtree_sort_int(NULL, KVTREE_SORT_DESCENDING), KVTREE_SUCCESS);

  int num = 7, number = 8, *list = &number;
  CHECK(kvtree_list_int(tree, NULL, &list) != KVTREE_SUCCESS);
  CHECK(kvtree_list_int(tree, &num, NULL) != KVTREE_SUCCESS);
  CHECK(list == &number);
  CHECK_INT(num, 7);
  CHECK_INT(kvtree_list_int(NULL, &num, &list), KVTREE_SUCCESS);
  CHECK_INT(num, 0);
  CHECK(list == NULL);
}

static void keys_and_values(kvtree* tree)
{
  CHECK(kvtree_set_kv(NULL, "k", "v") == NULL);
  CHECK(kvtree_set_kv(tree, NULL, "v") == NULL);
  CHECK(kvtree_set_kv(tree, "k", NULL) == NULL);
  CHECK(kvtree_set_kv_int(NULL, "k", 1) == NULL);
  CHECK(kvtree_set_kv_int(tree, NULL, 1) == NULL);
  CHECK(kvtree_get_kv(NULL, "k", "v") == NULL);
  CHECK(kvtree_get_kv(tree, NULL, "v") == NULL);
  CHECK(kvtree_get_kv(tree, "k", NULL) == NULL);
  CHECK(kvtree_get_kv_int(NULL, "k", 1) == NULL);
  CHECK(kvtree_get_kv_int(tree, NULL, 1) == NULL);
  CHECK_INT(kvtree_unset_kv(NULL, "k", "v"), KVTREE_SUCCESS);
  CHECK_INT(kvtree_unset_kv(tree, NULL, "v"), KVTREE_SUCCESS);
  CHECK_INT(kvtree_unset_kv(tree, "k", NULL), KVTREE_SUCCESS);
  CHECK_INT(kvtree_unset_kv_int(NULL, "k", 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_unset_kv_int(tree, NULL, 1), KVTREE_SUCCESS);
  CHECK(kvtree_get_val(NULL, "k") == NULL);
  CHECK(kvtree_get_val(tree, NULL) == NULL);

  kvtree* value = kvtree_new();
  CHECK(kvtree_setf(NULL, value, "%s", "k") == NULL);
  CHECK(kvtree_setf(tree, value, NULL) == NULL);
  CHECK(kvtree_setf(tree, value, "%s", (char*)NULL) == NULL);
  CHECK(kvtree_setf(tree, value, "%s %s", "other", (char*)NULL) == NULL);
  CHECK(kvtree_get(tree, "other") == NULL);
  CHECK(kvtree_getf(NULL, "%s", "k") == NULL);
  CHECK(kvtree_getf(tree, NULL) == NULL);
  CHECK(kvtree_getf(tree, "%s", (char*)NULL) == NULL);
  kvtree_delete(&value);
}

static void elements(kvtree* tree)
{
  CHECK(kvtree_elem_first(NULL) == NULL);
  CHECK(kvtree_elem_next(NULL) == NULL);
  CHECK(kvtree_elem_key(NULL) == NULL);
  CHECK_INT(kvtree_elem_key_int(NULL), 0);
  CHECK(kvtree_elem_hash(NULL) == NULL);
  CHECK(kvtree_elem_get(NULL, "k") == NULL);
  CHECK(kvtree_elem_get(tree, NULL) == NULL);
  CHECK(kvtree_elem_get_first_val(NULL, "k") == NULL);
  CHECK(kvtree_elem_get_first_val(tree, NULL) == NULL);
  CHECK(kvtree_elem_extract(NULL, "k") == NULL);
  CHECK(kvtree_elem_extract(tree, NULL) == NULL);
  CHECK(kvtree_elem_extract_int(NULL, 1) == NULL);
  CHECK(kvtree_elem_extract_by_addr(NULL, kvtree_elem_first(tree)) == NULL);
  CHECK(kvtree_elem_extract_by_addr(tree, NULL) == NULL);
}

/* A client may have set the key of an element to NULL. */
static void an_element_without_a_key(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set_kv(tree, "k", "v");
  kvtree_set_kv(tree, "other", "v");
  kvtree_elem* elem = kvtree_elem_get(tree, "k");
  free(elem->key);
  elem->key = NULL;
  CHECK(kvtree_elem_key(elem) == NULL);
  CHECK_INT(kvtree_elem_key_int(elem), 0);
  CHECK(kvtree_get(tree, "k") == NULL);
  CHECK(kvtree_get(tree, "") == NULL);
  CHECK(kvtree_get(tree, "other") != NULL);
  kvtree* copy = kvtree_new();
  CHECK(kvtree_merge(copy, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_get(copy, "other") != NULL);
  CHECK_INT(kvtree_size(copy), 1);
  char bytes[64];
  CHECK_INT(kvtree_pack(bytes, tree), kvtree_pack_size(tree));
  kvtree_sort(tree, KVTREE_SORT_ASCENDING);
  kvtree_sort_int(tree, KVTREE_SORT_ASCENDING);
  kvtree_delete(&copy);
  kvtree_delete(&tree);
}

static void packing(kvtree* tree)
{
  char bytes[256];
  CHECK_INT(kvtree_pack_size(NULL), 4);
  CHECK_INT(kvtree_pack(NULL, tree), 0);
  CHECK_INT(kvtree_pack(bytes, NULL), 4);
  CHECK_INT(kvtree_unpack(NULL, tree), 0);
  CHECK_INT(kvtree_unpack(bytes, NULL), 0);
}

static void files(kvtree* tree)
{
  void* buffer = &tree;
  size_t size = 7;
  CHECK(kvtree_write_persist(NULL, &size, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_write_persist(&buffer, NULL, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_write_persist(&buffer, &size, NULL) != KVTREE_SUCCESS);
  CHECK(buffer == &tree);
  CHECK_INT(size, 7);

  int fd = open("descriptor", O_RDWR | O_CREAT, 0600);
  CHECK_INT(kvtree_write_fd(NULL, fd, tree), -1);
  CHECK_INT(kvtree_write_fd("descriptor", -1, tree), -1);
  CHECK_INT(kvtree_write_fd("descriptor", fd, NULL), -1);
  CHECK_INT(lseek(fd, 0, SEEK_END), 0);
  CHECK_INT(kvtree_read_fd(NULL, fd, tree), -1);
  CHECK_INT(kvtree_read_fd("descriptor", -1, tree), -1);
  CHECK_INT(kvtree_read_fd("descriptor", fd, NULL), -1);

  CHECK(kvtree_write_file(NULL, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_write_file("none", NULL) != KVTREE_SUCCESS);
  CHECK(kvtree_read_file(NULL, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_read_file("none", NULL) != KVTREE_SUCCESS);
  CHECK(kvtree_read_with_lock(NULL, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_read_with_lock("none", NULL) != KVTREE_SUCCESS);
  CHECK(kvtree_write_with_lock(NULL, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_write_with_lock("none", NULL) != KVTREE_SUCCESS);
  int opened = 7;
  CHECK(kvtree_lock_open_read(NULL, &opened, tree) != KVTREE_SUCCESS);
  CHECK_INT(opened, -1);
  CHECK(kvtree_lock_open_read("none", NULL, tree) != KVTREE_SUCCESS);
  opened = 7;
  CHECK(kvtree_lock_open_read("none", &opened, NULL) != KVTREE_SUCCESS);
  CHECK_INT(opened, -1);
  CHECK(kvtree_write_close_unlock(NULL, &fd, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_write_close_unlock("descriptor", NULL, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_write_close_unlock("descriptor", &fd, NULL) != KVTREE_SUCCESS);
  CHECK(kvtree_write_close_unlock("descriptor", &opened, tree) != KVTREE_SUCCESS);
  CHECK(fcntl(fd, F_GETFD) >= 0); /* still open */
  close(fd);

  CHECK(kvtree_write_to_gather(NULL, tree, 1) != KVTREE_SUCCESS);
  CHECK(kvtree_write_to_gather("none", NULL, 1) != KVTREE_SUCCESS);
  CHECK(kvtree_read_scatter_single(NULL, tree) != KVTREE_SUCCESS);
  CHECK(kvtree_read_scatter_single("none", NULL) != KVTREE_SUCCESS);
  CHECK(access("none", F_OK) != 0);
}

static void printing(void)
{
  CHECK_INT(kvtree_print(NULL, 0), KVTREE_SUCCESS);
  CHECK_INT(kvtree_print_mode(NULL, 2, KVTREE_PRINT_KEYVAL), KVTREE_SUCCESS);
  CHECK_INT(kvtree_log(NULL, 1, 0), KVTREE_SUCCESS);
}

static void setters(kvtree* tree)
{
  CHECK_INT(kvtree_util_set_bytecount(NULL, "x", 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_bytecount(tree, NULL, 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_crc32(NULL, "x", 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_crc32(tree, NULL, 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_int(NULL, "x", 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_int(tree, NULL, 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_unsigned_long(NULL, "x", 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_unsigned_long(tree, NULL, 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_str(NULL, "x", "v"), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_str(tree, NULL, "v"), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_int64(NULL, "x", 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_int64(tree, NULL, 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_double(NULL, "x", 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_double(tree, NULL, 1), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_ptr(NULL, "x", tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_ptr(tree, NULL, tree), KVTREE_SUCCESS);
  CHECK(kvtree_get(tree, "x") == NULL);
}

/* Without a tree, without a key, without a place for the value, and without the key in the tree. */
#define CHECK_GETTER(function, type, initial)                    \
  do {                                                           \
    type value = (initial);                                      \
    type before = value;                                         \
    CHECK(function(NULL, "1", &value) != KVTREE_SUCCESS);        \
    CHECK(function(tree, NULL, &value) != KVTREE_SUCCESS);       \
    CHECK(function(tree, "1", NULL) != KVTREE_SUCCESS);          \
    CHECK(function(tree, "missing", &value) != KVTREE_SUCCESS);  \
    CHECK(value == before);                                      \
  } while (0)

static void getters(kvtree* tree)
{
  char text[] = "text";
  CHECK_GETTER(kvtree_util_get_bytecount, unsigned long, 7);
  CHECK_GETTER(kvtree_util_get_crc32, uLong, 7);
  CHECK_GETTER(kvtree_util_get_int, int, 7);
  CHECK_GETTER(kvtree_util_get_unsigned_long, unsigned long, 7);
  CHECK_GETTER(kvtree_util_get_str, char*, text);
  CHECK_GETTER(kvtree_util_get_int64, int64_t, 7);
  CHECK_GETTER(kvtree_util_get_double, double, 7);
  CHECK_GETTER(kvtree_util_get_ptr, void*, text);
}

int main(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set_kv(tree, "1", "1");
  kvtree_set_kv(tree, "2", "2");
  trees(tree);
  keys_and_values(tree);
  kvtree_unset(tree, "k");
  elements(tree);
  packing(tree);
  files(tree);
  printing();
  setters(tree);
  getters(tree);
  CHECK_INT(kvtree_size(tree), 2);
  CHECK_STR(kvtree_get_val(tree, "1"), "1");
  CHECK_STR(kvtree_get_val(tree, "2"), "2");
  kvtree_delete(&tree);
  an_element_without_a_key();
  return check_result();
}
