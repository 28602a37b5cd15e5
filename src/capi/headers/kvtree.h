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

//CHAPTER trees
//CHAPTER pairs
//CHAPTER paths
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

//CHAPTER elements
//CHAPTER packing
//CHAPTER files
//CHAPTER printing
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
