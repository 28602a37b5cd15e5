/* Stanchion: kvtree_util.h, compatible with kvtree 1.5.0.
 *
 * Values of C types below a key. Setters replace all values of the key, and succeed without doing
 * anything when the tree or the key is NULL. Getters fail, and leave the output as it is, when the tree
 * or the key is NULL, the key is not set, or it does not have exactly one value.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/kvtree_util.h and src/capi/kvtree_util.rs. */
#ifndef KVTREE_UTIL_H
#define KVTREE_UTIL_H

#include "kvtree.h"

/* uLong */
#include <zlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sets a number of bytes.
 */
int kvtree_util_set_bytecount(kvtree *hash, const char *key, unsigned long count);

/**
 * Sets a CRC-32: the lower 32 bits of `crc`.
 */
int kvtree_util_set_crc32(kvtree *hash, const char *key, uLong crc);

/**
 * Sets an int.
 */
int kvtree_util_set_int(kvtree *hash, const char *key, int value);

/**
 * Sets an unsigned long.
 */
int kvtree_util_set_unsigned_long(kvtree *hash, const char *key, unsigned long value);

/**
 * Sets a string; NULL leaves the key without a value.
 */
int kvtree_util_set_str(kvtree *hash, const char *key, const char *value);

/**
 * Sets a 64-bit integer.
 */
int kvtree_util_set_int64(kvtree *hash, const char *key, int64_t value);

/**
 * Sets a double: with six decimals where that is exact, else with 17 digits.
 */
int kvtree_util_set_double(kvtree *hash, const char *key, double value);

/**
 * Sets an address, which has a meaning in this process only.
 */
int kvtree_util_set_ptr(kvtree *hash, const char *key, void *ptr);

/**
 * Gets a number of bytes.
 */
int kvtree_util_get_bytecount(const kvtree *hash, const char *key, unsigned long *val);

/**
 * Gets a CRC-32.
 */
int kvtree_util_get_crc32(const kvtree *hash, const char *key, uLong *val);

/**
 * Gets an int: the first value of the key if it has several.
 */
int kvtree_util_get_int(const kvtree *hash, const char *key, int *value);

/**
 * Gets an unsigned long.
 */
int kvtree_util_get_unsigned_long(const kvtree *hash, const char *key, unsigned long *value);

/**
 * Gets a string, which stays in the tree.
 */
int kvtree_util_get_str(const kvtree *hash, const char *key, char **value);

/**
 * Gets a 64-bit integer.
 */
int kvtree_util_get_int64(const kvtree *hash, const char *key, int64_t *value);

/**
 * Gets a double.
 */
int kvtree_util_get_double(const kvtree *hash, const char *key, double *value);

/**
 * Gets an address.
 */
int kvtree_util_get_ptr(const kvtree *hash, const char *key, void **value);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
