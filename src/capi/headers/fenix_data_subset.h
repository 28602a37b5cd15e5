/* Stanchion: part of fenix.h, compatible with Fenix 1.0.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/fenix_data_subset.h and
 * src/capi/fenix_data_subset.rs. */
#ifndef __FENIX_DATA_SUBSET_H__
#define __FENIX_DATA_SUBSET_H__

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define __FENIX_SUBSET_EMPTY 1
#define __FENIX_SUBSET_FULL 2
#define __FENIX_SUBSET_CREATE 3
#define __FENIX_SUBSET_CREATEV 4
#define __FENIX_SUBSET_UNDEFINED -1

/* Elements of a member: blocks from a start to an end, both included, each repeated num_repeats times more,
 * stride elements further on each time. */
typedef struct {
  int num_blocks;
  int* start_offsets;
  int* end_offsets;
  int* num_repeats;
  int stride;
  int specifier; /* one of the numbers above */
} Fenix_Data_subset;

//BODY
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
