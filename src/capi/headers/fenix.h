/* Stanchion: fenix.h, compatible with Fenix 1.0.
 *
 * Ranks die, spare ranks take their places, and the job goes on with the data it had in memory.
 * Functions return 0, an error below 0 or a warning above; stanchion_last_error() in stanchion.h tells why.
 * All messages go over private duplicates of the communicators.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/fenix.h and src/capi/fenix/. */
#ifndef __FENIX__
#define __FENIX__

#include <mpi.h>
#include <setjmp.h>

#include "fenix_data_subset.h"
#include "fenix_process_recovery.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FENIX_SUCCESS 0
#define FENIX_ERROR_UNINITIALIZED -9
#define FENIX_ERROR_NOCATEGORY -10
#define FENIX_ERROR_CALLBACK_NOT_REGISTERED -11
#define FENIX_ERROR_GROUP_CREATE -12
#define FENIX_ERROR_MEMBER_CREATE -13
#define FENIX_ERROR_COMMIT_BARRIER -133
#define FENIX_ERROR_INVALID_GROUPID -14
#define FENIX_ERROR_INVALID_MEMBERID -15
#define FENIX_ERROR_INVALID_LOGIC_CALL -155
#define FENIX_ERROR_INVALID_TIMESTAMP -16
#define FENIX_ERROR_INVALID_DEPTH -17
#define FENIX_ERROR_INVALID_ATTRIBUTE_NAME -18
#define FENIX_ERROR_INVALID_ATTRIBUTE_VALUE -19
#define FENIX_ERROR_INVALID_POSITION -20
#define FENIX_ERROR_DATA_WAIT -21
#define FENIX_ERROR_SUBSET_NUM_BLOCKS -22
#define FENIX_ERROR_SUBSET_START_OFFSET -23
#define FENIX_ERROR_SUBSET_END_OFFSET -24
#define FENIX_ERROR_SUBSET_STRIDE -25
#define FENIX_ERROR_NODATA_FOUND -30
#define FENIX_ERROR_INTERN -40
#define FENIX_ERROR_CANCELLED -50
#define FENIX_WARNING_SPARE_RANKS_DEPLETED 100
#define FENIX_WARNING_PARTIAL_RESTORE 101

/* Points of the program where all ranks meet. */
#define FENIX_ERRHANDLER_LOC 1
#define FENIX_FINALIZE_LOC 2
#define FENIX_DATA_COMMIT_BARRIER_LOC 4

/* The role of a rank. */
typedef enum {
  FENIX_ROLE_INITIAL_RANK = 0,   /* nothing has failed yet */
  FENIX_ROLE_RECOVERED_RANK = 1, /* it was a spare before the last failure */
  FENIX_ROLE_SURVIVOR_RANK = 2   /* it was there before the last failure, and still is */
} Fenix_Rank_role;

/* Makes a communicator that survives the failure of ranks, and the place where execution goes on after one:
 *   void Fenix_Init(int* role, MPI_Comm comm, MPI_Comm* newcomm, int* argc, char*** argv, int spare_ranks,
 *                   int spawn, MPI_Info info, int* error)
 * Called by all ranks of `comm`, after MPI_Init. The last `spare_ranks` of them wait inside until they are
 * needed; spares that never are call MPI_Finalize and exit when the others call Fenix_Finalize. After a failure
 * all survivors, and the spares that replace failed ranks, return from it again. `role`, `newcomm` and `error`
 * are then written again, so they must stay valid. `error` gets 0, FENIX_WARNING_SPARE_RANKS_DEPLETED if the
 * communicator had to shrink, or an error below 0.
 * `info` may hold FENIX_RESUME_MODE: "Fenix_init" (the default) or "NO_JUMP", which returns from the MPI call
 * that met the failure, with its error code; and FENIX_UNHANDLED_MODE: "SILENT" (the default) or "NO_JUMP", which
 * prints errors of MPI other than process failures. `spawn` is not supported.
 * Where MPI can repair communicators, SIGPIPE is ignored from here on if it was at its default: a write to a connection that a
 * dead rank has closed would end the survivor. Programs that are started later inherit that; a handler of the program stays.
 * If the environment variable STANCHION_FENIX_QUORUM is 1, a failure that leaves less than half of the processes, or half of
 * them without the first one, is not repaired: `error` gets FENIX_ERROR_INTERN. The others may be cut off, not dead. */
#define Fenix_Init(_role, _comm, _newcomm, _argc, _argv, _spare_ranks, _spawn, _info, _error)               \
  {                                                                                                         \
    static jmp_buf bufjmp;                                                                                  \
    *(_role) = __fenix_preinit(_role, _comm, _newcomm, _argc, _argv, _spare_ranks, _spawn, _info, _error,   \
                               &bufjmp);                                                                    \
    if (setjmp(bufjmp)) {                                                                                   \
      *(_role) = FENIX_ROLE_SURVIVOR_RANK;                                                                  \
    }                                                                                                       \
    __fenix_postinit(_error);                                                                               \
  }

#define FENIX_DATA_GROUP_WORLD_ID 10
#define FENIX_GROUP_ID_MAX 11
#define FENIX_TIME_STAMP_MAX 12
#define FENIX_DATA_MEMBER_ALL 15
#define FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER 11
#define FENIX_DATA_MEMBER_ATTRIBUTE_COUNT 12
#define FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE 13
#define FENIX_DATA_MEMBER_ATTRIBUTE_SIZE 14
#define FENIX_DATA_SNAPSHOT_LATEST -1
#define FENIX_DATA_SNAPSHOT_ALL 16
#define FENIX_DATA_SUBSET_CREATED 2

#define FENIX_DATA_POLICY_IN_MEMORY_RAID 13

/* A store in progress. Not requests of MPI: do not pass them to it. */
typedef struct {
  MPI_Request mpi_send_req;
  MPI_Request mpi_recv_req;
} Fenix_Request;

//CHAPTER process
//CHAPTER groups
//CHAPTER members
//CHAPTER subsets
/* All elements of a member, and none. */
extern const Fenix_Data_subset FENIX_DATA_SUBSET_FULL;
extern const Fenix_Data_subset FENIX_DATA_SUBSET_EMPTY;

//CHAPTER store
//CHAPTER commit
//CHAPTER restore
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
