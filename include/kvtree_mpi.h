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

/**
 * Sends the tree to `rank`, which calls kvtree_recv. To MPI_PROC_NULL it sends nothing.
 */
int kvtree_send(const kvtree *hash, int rank, MPI_Comm comm);

/**
 * Replaces `hash` by the tree that `rank` sends. From MPI_PROC_NULL comes an empty tree.
 */
int kvtree_recv(kvtree *hash, int rank, MPI_Comm comm);

/**
 * Sends one tree and receives another at the same time. Either rank may be MPI_PROC_NULL.
 */
int kvtree_sendrecv(const kvtree *hash_send, int rank_send, kvtree *hash_recv, int rank_recv, MPI_Comm comm);

/**
 * Broadcasts the tree of `root`: it replaces `hash` on all other ranks.
 *
 * # Collective
 * Called by all ranks of `comm` with the same root; all return the same code.
 */
int kvtree_bcast(kvtree *hash, int root, MPI_Comm comm);

/**
 * Adds `msg` to what `send_hash` holds for `rank`, for a later kvtree_exchange.
 */
int kvtree_exchange_sendq(kvtree *send_hash, int rank, const kvtree *msg);

/**
 * Sends the tree below each rank's number in `hash_send` to that rank, and merges what other ranks sent to this one
 * into `hash_recv` below their numbers.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int kvtree_exchange(const kvtree *hash_send, kvtree *hash_recv, MPI_Comm comm);

/**
 * As kvtree_exchange; `direction` only decides the order of the received trees.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int kvtree_exchange_direction(const kvtree *hash_send,
                              kvtree *hash_recv,
                              MPI_Comm comm,
                              kvtree_exchange_enum direction);

/**
 * Writes the trees of all ranks to a few files whose names begin with `prefix`.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code. Files of an earlier call with the same prefix are
 * replaced only after all ranks have synced theirs.
 */
int kvtree_write_gather(const char *prefix, kvtree *data, MPI_Comm comm);

/**
 * Reads what kvtree_write_gather wrote on as many ranks, and merges each rank's tree into its `data`.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int kvtree_read_scatter(const char *prefix, kvtree *data, MPI_Comm comm);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
