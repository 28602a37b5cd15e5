/* Stanchion: kvtree_mpi.h, compatible with kvtree 1.5.0.
 *
 * Trees between the ranks of a communicator. Collective functions return the same code on all ranks
 * and use a private duplicate of the communicator; its error handler is left as it is.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/kvtree_mpi.h and src/capi/kvtree_mpi.rs. */
#ifndef KVTREE_MPI_H
#define KVTREE_MPI_H

#include "mpi.h"
#include "kvtree.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  KVTREE_EXCHANGE_RIGHT = 0,
  KVTREE_EXCHANGE_LEFT
} kvtree_exchange_enum;

//BODY
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
