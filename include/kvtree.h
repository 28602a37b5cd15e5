/* Stanchion: kvtree.h, compatible with kvtree 1.5.0.
 *
 * A kvtree is a list of elements, each with a key (a string) and a kvtree below it. A value is a key
 * with nothing below. Functions return KVTREE_SUCCESS or another number; stanchion_last_error() in
 * stanchion.h then tells why. Nothing here aborts or prints, unless a log level asks for it.
 * New elements go to the head, so the newest comes first.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/kvtree.h and src/capi/kvtree*.rs. */
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

/* Only kvtree_new() makes a tree: it has more behind what is shown here. */
struct kvtree_struct {
  struct kvtree_elem_struct* lh_first;
};

/* `key` may be assigned another malloc'ed string while an element is at hand. */
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

/**
 * Sets `hash_value` below a path of keys, making the trees on the way. The format has one of
 * %s %d %lld %lu %llu %#x %#lx %f %p for each key, separated by spaces.
 *
 * Returns `hash_value`; NULL if `hash` is NULL or the format is not understood.
 */
kvtree* kvtree_setf(kvtree* hash, kvtree* hash_value, const char* format, ...);

/**
 * The tree below a path of keys, given as for kvtree_setf; NULL if a key is missing.
 */
kvtree* kvtree_getf(const kvtree* hash, const char* format, ...);

/**
 * Makes an empty tree, to be given back to kvtree_delete.
 */
kvtree *kvtree_new(void);

/**
 * Deletes a tree with all that is in it and sets the pointer to NULL; NULL is fine.
 */
int kvtree_delete(kvtree **ptr_hash);

/**
 * The number of keys; 0 for NULL.
 */
int kvtree_size(const kvtree *hash);

/**
 * The tree below `key`; NULL if there is none.
 */
kvtree *kvtree_get(const kvtree *hash, const char *key);

/**
 * Sets the tree below `key` to `hash_value`, which now belongs to `hash` and may be NULL; what stood
 * there is deleted.
 *
 * # Returns
 * `hash_value`; NULL if `hash` or `key` is NULL.
 */
kvtree *kvtree_set(kvtree *hash, const char *key, kvtree *hash_value);

/**
 * Removes `key` and returns the tree below it, which now belongs to the caller; NULL if none.
 */
kvtree *kvtree_extract(kvtree *hash, const char *key);

/**
 * Removes `key` with all below it, if it is there.
 */
int kvtree_unset(kvtree *hash, const char *key);

/**
 * Removes all keys; the tree itself stays.
 */
int kvtree_unset_all(kvtree *hash);

/**
 * Copies all of `hash2` into `hash1`; what stands below equal keys is merged. `hash2` may be NULL.
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
 * All keys as integers, ascending, in a list that the caller frees; NULL if there are none.
 */
int kvtree_list_int(const kvtree *hash, int *num, int **list);

/**
 * Makes sure that `val` stands below `key` and returns the tree below it.
 */
kvtree *kvtree_set_kv(kvtree *hash, const char *key, const char *val);

/**
 * As kvtree_set_kv with an integer as value.
 */
kvtree *kvtree_set_kv_int(kvtree *hash, const char *key, int val);

/**
 * The tree below `val` below `key`; NULL if there is none.
 */
kvtree *kvtree_get_kv(const kvtree *hash, const char *key, const char *val);

/**
 * As kvtree_get_kv with an integer as value.
 */
kvtree *kvtree_get_kv_int(const kvtree *hash, const char *key, int val);

/**
 * Removes `val` below `key`, and `key` too when nothing is left below it.
 */
int kvtree_unset_kv(kvtree *hash, const char *key, const char *val);

/**
 * As kvtree_unset_kv with an integer as value.
 */
int kvtree_unset_kv_int(kvtree *hash, const char *key, int val);

/**
 * The first element; NULL if there is none.
 */
kvtree_elem *kvtree_elem_first(const kvtree *hash);

/**
 * The element after `elem`; NULL if it is the last.
 */
kvtree_elem *kvtree_elem_next(const kvtree_elem *elem);

/**
 * The key of the element, which stays with it.
 */
char *kvtree_elem_key(const kvtree_elem *elem);

/**
 * The key of the element as an integer; 0 if it is none.
 */
int kvtree_elem_key_int(const kvtree_elem *elem);

/**
 * The tree below the element, which stays with it.
 */
kvtree *kvtree_elem_hash(const kvtree_elem *elem);

/**
 * The first element with this key; NULL if there is none.
 */
kvtree_elem *kvtree_elem_get(const kvtree *hash, const char *key);

/**
 * The first value below `key`; NULL if there is none.
 */
char *kvtree_elem_get_first_val(const kvtree *hash, const char *key);

/**
 * Takes the first element with this key out of the tree; it now belongs to the caller.
 */
kvtree_elem *kvtree_elem_extract(kvtree *hash, const char *key);

/**
 * As kvtree_elem_extract with an integer as key.
 */
kvtree_elem *kvtree_elem_extract_int(kvtree *hash, int key);

/**
 * Takes this element, which must be in the tree, out of it and returns it.
 */
kvtree_elem *kvtree_elem_extract_by_addr(kvtree *hash, kvtree_elem *elem);

/**
 * The one value below `key`; NULL if there is none or more than one.
 */
char *kvtree_get_val(const kvtree *hash, const char *key);

/**
 * The number of bytes that kvtree_pack will write.
 */
size_t kvtree_pack_size(const kvtree *hash);

/**
 * Packs the tree into `buf`, which has room for kvtree_pack_size bytes, and returns their number.
 */
size_t kvtree_pack(char *buf, const kvtree *hash);

/**
 * Adds the packed elements to `hash` and returns the number of bytes read. The buffer must hold a
 * packed tree; its length is not known here, so it cannot be checked.
 */
size_t kvtree_unpack(const char *buf, kvtree *hash);

/**
 * The tree as a file holds it, in a buffer that the caller frees.
 */
int kvtree_write_persist(void **ptr_buf, size_t *ptr_size, const kvtree *hash);

/**
 * Writes the tree at the current offset of `fd`; `file` is its name for messages.
 *
 * # Returns
 * The number of bytes written, or -1.
 */
ssize_t kvtree_write_fd(const char *file, int fd, const kvtree *hash);

/**
 * Reads a tree at the current offset of `fd` and merges it into `hash`; `file` is its name for
 * messages. The offset is then right behind the tree.
 *
 * # Returns
 * The number of bytes read, 0 at the end of the file, or -1.
 */
ssize_t kvtree_read_fd(const char *file, int fd, kvtree *hash);

/**
 * Replaces the file by one that holds the tree. Whatever happens, the file holds the old or the new
 * content.
 */
int kvtree_write_file(const char *file, const kvtree *hash);

/**
 * Reads the file and merges its tree into `hash`; an empty file is an empty tree.
 */
int kvtree_read_file(const char *file, kvtree *hash);

/**
 * As kvtree_read_file while no other process holds the file locked for writing; a missing file is
 * created empty.
 */
int kvtree_read_with_lock(const char *file, kvtree *hash);

/**
 * Writes the tree into the file while no other process holds it locked.
 */
int kvtree_write_with_lock(const char *file, kvtree *hash);

/**
 * Locks the file for writing, merges its tree into `hash` and leaves the file open in `fd`, for
 * kvtree_write_close_unlock. On failure `fd` is -1.
 */
int kvtree_lock_open_read(const char *file, int *fd, kvtree *hash);

/**
 * Puts the tree in the place of what the file held, then unlocks and closes it; `fd` becomes -1.
 */
int kvtree_write_close_unlock(const char *file, int *fd, const kvtree *hash);

/**
 * Writes what stands below the keys 0 to ranks-1 of `data` as kvtree_write_gather would; sorts `data`.
 */
int kvtree_write_to_gather(const char *prefix, kvtree *data, int ranks);

/**
 * Reads all that kvtree_write_gather wrote: what a rank gave is merged into `data` below its number.
 */
int kvtree_read_scatter_single(const char *prefix, kvtree *data);

/**
 * Prints the tree to standard output, one key a line.
 */
int kvtree_print(const kvtree *hash, int indent);

/**
 * Prints the tree to standard output; with KVTREE_PRINT_KEYVAL keys with one value as `key = value`.
 */
int kvtree_print_mode(const kvtree *hash, int indent, int mode);

/**
 * Logs the tree, one key a line, to where log messages of this level go.
 */
int kvtree_log(const kvtree *hash, int log_level, int indent);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
