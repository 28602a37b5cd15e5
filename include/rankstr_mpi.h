/* Stanchion: rankstr_mpi.h, compatible with rankstr 0.4.0.
 *
 * Groups of ranks that give the same string. The tags are not used: messages travel on a private
 * duplicate of the communicator.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/rankstr_mpi.h and src/capi/rankstr_mpi.rs. */
#ifndef RANKSTR_MPI_H
#define RANKSTR_MPI_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RANKSTR_VERSION "0.4.0"

/**
 * Counts the different strings of the ranks; `groupid` gets the number of this rank's, in byte order from 0.
 *
 * # Collective
 * Called by all ranks of `comm`. A NULL string on any rank gives 0 groups and group -1 on all.
 */
void rankstr_mpi(const char *str, MPI_Comm comm, int _tag1, int _tag2, int *groups, int *groupid);

/**
 * Splits `comm` into communicators of ranks with the same string, ordered by `key`. Ranks that give NULL get
 * MPI_COMM_NULL; so do all ranks if one of them gives NULL for `newcomm`.
 *
 * # Collective
 * Called by all ranks of `comm`.
 */
void rankstr_mpi_comm_split(MPI_Comm comm, const char *str, int key, int _tag1, int _tag2, MPI_Comm *newcomm);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
