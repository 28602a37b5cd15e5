/* Stanchion: kvtree.h, compatible with kvtree 1.5.0.
 *
 * A kvtree is a list of elements, each with a key (a string) and a kvtree below it. A value is a key
 * with nothing below. Functions return KVTREE_SUCCESS or another number; stanchion_last_error() in
 * stanchion.h then tells why. Nothing here aborts, or prints unless a log level is set.
 * New elements go to the head: the newest comes first.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/kvtree.h and src/capi/kvtree/. */
#ifndef KVTREE_H
#define KVTREE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KVTREE_VERSION "1.5.0"
#define KVTREE_SUCCESS (0)
#define KVTREE_MAX_FILENAME (1024)

#define KVTREE_PRINT_TREE   (1)
#define KVTREE_PRINT_KEYVAL (2)

#define KVTREE_SORT_ASCENDING  (0)
#define KVTREE_SORT_DESCENDING (1)

struct kvtree_elem_struct;

/* Trees are made by kvtree_new() only: private fields follow the one shown here. */
struct kvtree_struct {
  struct kvtree_elem_struct* lh_first;
};

/* Programs may replace `key` by another malloc'ed string. */
struct kvtree_elem_struct {
  char* key;
  struct kvtree_struct* hash;
  struct {
    struct kvtree_elem_struct* le_next;
    struct kvtree_elem_struct** le_prev;
  } pointers;
};

typedef struct kvtree_struct kvtree;
typedef struct kvtree_elem_struct kvtree_elem;

/* ======== Trees ========
 * Make, read, change and order trees. */

/**
 * Makes an empty tree. Free it with kvtree_delete.
 */
kvtree *kvtree_new(void);

/**
 * Deletes a tree with everything below it and sets the pointer to NULL. A NULL tree is fine.
 */
int kvtree_delete(kvtree **ptr_hash);

/**
 * Returns the number of keys; 0 for NULL.
 */
int kvtree_size(const kvtree *hash);

/**
 * Returns the tree below `key`, which stays in `hash`; NULL if there is none.
 */
kvtree *kvtree_get(const kvtree *hash, const char *key);

/**
 * Puts `hash_value` below `key` and deletes what was there. `hash_value` then belongs to `hash`; it may be NULL.
 *
 * # Returns
 * `hash_value`; NULL if `hash` or `key` is NULL.
 */
kvtree *kvtree_set(kvtree *hash, const char *key, kvtree *hash_value);

/**
 * Removes `key` and returns the tree below it, which then belongs to the caller; NULL if there is none.
 */
kvtree *kvtree_extract(kvtree *hash, const char *key);

/**
 * Removes `key` with everything below it. A key that is not set is fine.
 */
int kvtree_unset(kvtree *hash, const char *key);

/**
 * Removes all keys; the tree itself stays.
 */
int kvtree_unset_all(kvtree *hash);

/**
 * Copies `hash2` into `hash1` and merges the trees below keys that both have. `hash2` may be NULL.
 */
int kvtree_merge(kvtree *hash1, const kvtree *hash2);

/**
 * Orders the elements by key, byte by byte.
 */
int kvtree_sort(kvtree *hash, int direction);

/**
 * Orders the elements by key, read as an integer.
 */
int kvtree_sort_int(kvtree *hash, int direction);

/**
 * Lists all keys as integers, ascending. `list` is malloc'ed, for the caller to free; NULL if there are none.
 */
int kvtree_list_int(const kvtree *hash, int *num, int **list);

/* ======== Pairs ========
 * Key/value pairs: a value is a key below a key. A key may have several values. */

/**
 * Adds `val` below `key` unless it is there, and returns the tree below it.
 */
kvtree *kvtree_set_kv(kvtree *hash, const char *key, const char *val);

/**
 * As kvtree_set_kv with an integer as value.
 */
kvtree *kvtree_set_kv_int(kvtree *hash, const char *key, int val);

/**
 * Returns the tree below `val` below `key`; NULL if there is none.
 */
kvtree *kvtree_get_kv(const kvtree *hash, const char *key, const char *val);

/**
 * As kvtree_get_kv with an integer as value.
 */
kvtree *kvtree_get_kv_int(const kvtree *hash, const char *key, int val);

/**
 * Removes `val` below `key`, and `key` too if that was its last value.
 */
int kvtree_unset_kv(kvtree *hash, const char *key, const char *val);

/**
 * As kvtree_unset_kv with an integer as value.
 */
int kvtree_unset_kv_int(kvtree *hash, const char *key, int val);

/**
 * Returns the value of `key`, which stays in the tree; NULL if there is none or more than one.
 */
char *kvtree_get_val(const kvtree *hash, const char *key);

/* ======== Paths ========
 * Trees below several keys at once: kvtree_setf and kvtree_getf. */

/**
 * Puts `hash_value` below a path of keys, making the trees on the way. The format has one of
 * %s %d %lld %lu %llu %#x %#lx %f %p for each key, separated by spaces.
 *
 * Returns `hash_value`; NULL if `hash` is NULL or the format is not understood.
 */
kvtree* kvtree_setf(kvtree* hash, kvtree* hash_value, const char* format, ...);

/**
 * Returns the tree below a path of keys, given as for kvtree_setf; NULL if a key is missing.
 */
kvtree* kvtree_getf(const kvtree* hash, const char* format, ...);

/* ======== Elements ========
 * An element is a key and the tree below it. Walk a tree with kvtree_elem_first and kvtree_elem_next. */

/**
 * Returns the first element; NULL if there is none.
 */
kvtree_elem *kvtree_elem_first(const kvtree *hash);

/**
 * Returns the element after `elem`; NULL after the last.
 */
kvtree_elem *kvtree_elem_next(const kvtree_elem *elem);

/**
 * Returns the key of an element, which owns it.
 */
char *kvtree_elem_key(const kvtree_elem *elem);

/**
 * Returns the key of an element as an integer; 0 if it is none.
 */
int kvtree_elem_key_int(const kvtree_elem *elem);

/**
 * Returns the tree below an element, which owns it.
 */
kvtree *kvtree_elem_hash(const kvtree_elem *elem);

/**
 * Returns the first element with this key; NULL if there is none.
 */
kvtree_elem *kvtree_elem_get(const kvtree *hash, const char *key);

/**
 * Returns the first value of `key`; NULL if there is none.
 */
char *kvtree_elem_get_first_val(const kvtree *hash, const char *key);

/**
 * Takes the first element with this key out of the tree and returns it. It then belongs to the caller.
 */
kvtree_elem *kvtree_elem_extract(kvtree *hash, const char *key);

/**
 * As kvtree_elem_extract with an integer as key.
 */
kvtree_elem *kvtree_elem_extract_int(kvtree *hash, int key);

/**
 * Takes `elem`, which must be in the tree, out of it and returns it.
 */
kvtree_elem *kvtree_elem_extract_by_addr(kvtree *hash, kvtree_elem *elem);

/* ======== Packing ========
 * A tree as bytes in memory, as kvtree_send sends it and files hold it. */

/**
 * Returns the number of bytes that kvtree_pack writes.
 */
size_t kvtree_pack_size(const kvtree *hash);

/**
 * Packs the tree into `buf`, which has room for kvtree_pack_size bytes, and returns their number.
 */
size_t kvtree_pack(char *buf, const kvtree *hash);

/**
 * Adds the packed elements to `hash` and returns the number of bytes read. `buf` must hold a packed tree: its length is
 * not known here, so it cannot be checked.
 */
size_t kvtree_unpack(const char *buf, kvtree *hash);

/* ======== Files ========
 * Trees in files. A file holds a header, the packed tree and a CRC-32 of both. */

/**
 * Writes the tree as a file holds it into a malloc'ed buffer, for the caller to free.
 */
int kvtree_write_persist(void **ptr_buf, size_t *ptr_size, const kvtree *hash);

/**
 * Writes the tree at the current offset of `fd`. `file` is its name in messages.
 *
 * # Returns
 * The number of bytes written, or -1.
 */
ssize_t kvtree_write_fd(const char *file, int fd, const kvtree *hash);

/**
 * Reads a tree at the current offset of `fd`, merges it into `hash` and leaves the offset right behind it. `file` is
 * its name in messages.
 *
 * # Returns
 * The number of bytes read, 0 at the end of the file, or -1.
 */
ssize_t kvtree_read_fd(const char *file, int fd, kvtree *hash);

/**
 * Replaces the file atomically: after a crash it holds the old or the new tree.
 */
int kvtree_write_file(const char *file, const kvtree *hash);

/**
 * Reads the file and merges its tree into `hash`. An empty file is an empty tree.
 */
int kvtree_read_file(const char *file, kvtree *hash);

/**
 * As kvtree_read_file under a shared lock. Creates a missing file, empty.
 */
int kvtree_read_with_lock(const char *file, kvtree *hash);

/**
 * Writes the tree into the file under an exclusive lock.
 */
int kvtree_write_with_lock(const char *file, kvtree *hash);

/**
 * Locks the file exclusively, merges its tree into `hash` and leaves the file open in `fd`, for
 * kvtree_write_close_unlock. On failure `fd` is -1.
 */
int kvtree_lock_open_read(const char *file, int *fd, kvtree *hash);

/**
 * Replaces what the file holds by the tree, then unlocks and closes it. `fd` becomes -1.
 */
int kvtree_write_close_unlock(const char *file, int *fd, const kvtree *hash);

/**
 * Writes the trees below the keys 0 to ranks-1 of `data` as kvtree_write_gather would. Sorts `data`.
 */
int kvtree_write_to_gather(const char *prefix, kvtree *data, int ranks);

/**
 * Reads everything that kvtree_write_gather wrote and merges the tree of each rank into `data` below its number.
 */
int kvtree_read_scatter_single(const char *prefix, kvtree *data);

/* ======== Printing ======== */

/**
 * Prints the tree to standard output, one key per line, indented by `indent` and two more per level.
 */
int kvtree_print(const kvtree *hash, int indent);

/**
 * As kvtree_print; KVTREE_PRINT_KEYVAL as `mode` prints a key with one value as `key = value`.
 */
int kvtree_print_mode(const kvtree *hash, int indent, int mode);

/**
 * Logs the tree, one key per line, at this log level.
 */
int kvtree_log(const kvtree *hash, int log_level, int indent);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
