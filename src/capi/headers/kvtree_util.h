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

//BODY
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
