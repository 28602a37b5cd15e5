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

//BODY
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
