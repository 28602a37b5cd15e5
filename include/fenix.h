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

/* ======== Process ========
 * What a program asks between Fenix_Init and Fenix_Finalize. */

/**
 * Tells whether Fenix_Init has been called and Fenix_Finalize has not. May be called at any time.
 *
 * # Returns
 * 0, and 1 or 0 in `flag`.
 */
int Fenix_Initialized(int *flag);

/**
 * Registers a function that surviving ranks call after each recovery, before they go on. The last one registered is
 * called first. Its arguments are the repaired communicator, what Fenix_Init has put in `error`, and `callback_data`.
 *
 * # Returns
 * 0; FENIX_ERROR_UNINITIALIZED before Fenix_Init.
 */
int Fenix_Callback_register(void (*recover)(MPI_Comm comm, int error, void *data), void *callback_data);

/**
 * Removes the callback that was registered last.
 *
 * # Returns
 * 0; FENIX_ERROR_CALLBACK_NOT_REGISTERED if there is none; FENIX_ERROR_UNINITIALIZED before Fenix_Init.
 */
int Fenix_Callback_pop(void);

/**
 * Looks for failed ranks of the resilient communicator, without waiting. With `do_recovery` it recovers from them, as an
 * MPI call that meets them does.
 *
 * # Returns
 * MPI_SUCCESS, or the code that MPI has for the failure; FENIX_ERROR_UNINITIALIZED before Fenix_Init.
 */
int Fenix_Process_detect_failures(int do_recovery);

/**
 * Counts the ranks of the resilient communicator that have a role.
 *
 * # Returns
 * 0, and their number in `count`; FENIX_ERROR_UNINITIALIZED before Fenix_Init.
 */
int Fenix_get_number_of_ranks_with_role(int role, int *count);

/**
 * Gets the role of a rank of `comm`, which is the resilient communicator or one made of its ranks.
 *
 * # Returns
 * 0, and the role in `role`; FENIX_ERROR_UNINITIALIZED before Fenix_Init; FENIX_ERROR_NOCATEGORY if there is no such rank.
 */
int Fenix_get_role(MPI_Comm comm,
                   int rank,
                   int *role);

/**
 * Lists the processes that the last repair has lost, ascending, by the ranks they had before it; spares are counted
 * after the ranks of the resilient communicator.
 *
 * # Returns
 * Their number, and in `fail_list` an array that belongs to the library and lives until the next repair;
 * FENIX_ERROR_UNINITIALIZED before Fenix_Init.
 */
int Fenix_Process_fail_list(int **fail_list);

/**
 * Tests a request that was started before a recovery, without recovering again.
 *
 * # Returns
 * 0 if it has completed, 1 if a failure has ended it or it is not known to have completed.
 */
int Fenix_check_cancelled(MPI_Request *request, MPI_Status *status);

/**
 * Ends the use of Fenix; spares that were not needed leave Fenix_Init, finalize MPI and exit.
 *
 * # Returns
 * 0; FENIX_ERROR_CANCELLED, only with NO_JUMP, if a rank failed before all had called this: after the recovery this rank
 * goes back to work like the others and calls Fenix_Finalize again; FENIX_ERROR_UNINITIALIZED before Fenix_Init;
 * FENIX_ERROR_INTERN if an earlier recovery was given up.
 *
 * # Collective
 * Called by all ranks of the resilient communicator. If a rank fails while others are still at work, this recovers like
 * any other call; a rank that fails after all others have called this is not replaced.
 */
int Fenix_Finalize(void);

/* ======== Groups ========
 * A data group is a communicator with members, a redundancy policy and snapshots. */

/**
 * Creates a data group; after a failure, attaches it to the repaired communicator.
 *
 * `start_time_stamp` is the time stamp of the first commit, `depth` how many snapshots are kept besides the latest (-1:
 * all). `policy_value` of FENIX_DATA_POLICY_IN_MEMORY_RAID is {1, rank separation}: another rank keeps a copy, or
 * {5, rank separation, set size}: sets of ranks keep parity. That of STANCHION_FENIX_POLICY_RS of stanchion.h is
 * {rank separation, set size, k}: any k ranks of a set may be lost. If the environment variable STANCHION_TOPOLOGY is
 * set, the sets are placed by the failure domains that it names, as with STANCHION_FENIX_POLICY_PLACED of stanchion.h;
 * the rank separation is then ignored. A group that existed keeps its sets, its members and the snapshots that all
 * surviving ranks hold; new ranks get theirs by Fenix_Data_member_restore. `flag` gets the return code; it may be NULL.
 *
 * # Returns
 * 0; FENIX_ERROR_INVALID_TIMESTAMP, FENIX_ERROR_INVALID_DEPTH; FENIX_ERROR_GROUP_CREATE if the policy is impossible
 * here or the ranks' arguments differ.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int Fenix_Data_group_create(int group_id,
                            MPI_Comm comm,
                            int start_time_stamp,
                            int depth,
                            int policy_name,
                            void *policy_value,
                            int *flag);

/**
 * Gets how the group is protected, as Fenix_Data_group_create was told: `policy_value` gets {1, rank separation} or
 * {5, rank separation, set size}, with STANCHION_FENIX_POLICY_PLACED {1, 2}, {5, set size} or {6, set size, k}, with
 * STANCHION_FENIX_POLICY_RS {rank separation, set size, k}; `flag` gets 1.
 */
int Fenix_Data_group_get_redundancy_policy(int group_id, int *policy_name, void *policy_value, int *flag);

/**
 * Counts the members that this rank knows.
 */
int Fenix_Data_group_get_number_of_members(int group_id, int *number_of_members);

/**
 * Gets the id of the member at `position`, from 0: members are in the order of their ids.
 */
int Fenix_Data_group_get_member_at_position(int group_id, int *member_id, int position);

/**
 * Counts the snapshots that this rank has.
 */
int Fenix_Data_group_get_number_of_snapshots(int group_id, int *number_of_snapshots);

/**
 * Gets the time stamp of the snapshot at `position`: the newest is at 0.
 */
int Fenix_Data_group_get_snapshot_at_position(int group_id, int position, int *time_stamp);

/**
 * Deletes the snapshot with the time stamp, on this rank. FENIX_DATA_SNAPSHOT_LATEST is the newest one;
 * FENIX_DATA_SNAPSHOT_ALL stands for all, unless a snapshot has that number as its time stamp.
 *
 * # Returns
 * 0; FENIX_ERROR_INVALID_TIMESTAMP if there is no such snapshot.
 */
int Fenix_Data_snapshot_delete(int group_id, int time_stamp);

/**
 * Deletes a group with all its members and snapshots, on this rank. All ranks of the group should do so.
 */
int Fenix_Data_group_delete(int group_id);

/* ======== Members ========
 * A member of a data group is a buffer on every rank, which is stored and restored as a whole or in parts. */

/**
 * Makes `buffer` a member of the group: `count` elements, which may differ from rank to rank. `datatype` may have holes
 * and may be freed afterwards. A member that came back after a failure may be created once more, to give it a buffer and
 * a datatype.
 *
 * # Returns
 * 0; FENIX_ERROR_INVALID_GROUPID; FENIX_ERROR_INVALID_MEMBERID if there is such a member; FENIX_ERROR_MEMBER_CREATE for a
 * negative count or no datatype.
 */
int Fenix_Data_member_create(int group_id,
                             int member_id,
                             void *buffer,
                             int count,
                             MPI_Datatype datatype);

/**
 * Gets an attribute of a member: the buffer (`void*`), the count (`int`), the datatype (`MPI_Datatype`; a derived one
 * belongs to the library and lives as long as the member), or the packed size of an element in bytes (`int`). Count and
 * size are those of rank `source_rank` of the group, or of this rank if that is negative; the other two are always those
 * of this rank. `flag` gets 1 if there is a value: a member that came back after a failure has no buffer and no datatype
 * until it is given them.
 *
 * # Returns
 * 0; FENIX_ERROR_INVALID_ATTRIBUTE_NAME; FENIX_ERROR_INVALID_ATTRIBUTE_VALUE for a rank that is not in the group.
 *
 * # Collective
 * For count and size with a `source_rank` that is not negative: called by all ranks of the group, each of which may ask
 * another rank. All return the same code.
 */
int Fenix_Data_member_attr_get(int group_id,
                               int member_id,
                               int attributename,
                               void *attributevalue,
                               int *flag,
                               int source_rank);

/**
 * Changes an attribute of a member on this rank: the buffer (`attribute_value` is its address), the count (pointer to an
 * `int`) or the datatype (pointer to an `MPI_Datatype`). Snapshots stay as they are. `flag` gets 1 if the attribute was
 * changed.
 *
 * # Returns
 * 0; FENIX_ERROR_INVALID_ATTRIBUTE_NAME; FENIX_ERROR_INVALID_ATTRIBUTE_VALUE, which the size always gives.
 */
int Fenix_Data_member_attr_set(int group_id,
                               int member_id,
                               int attribute_name,
                               void *attribute_value,
                               int *flag);

/**
 * Deletes a member and what was stored of it, on this rank. All ranks of the group should do so.
 */
int Fenix_Data_member_delete(int group_id, int member_id);

/* ======== Subsets ========
 * A subset names elements of a member. Offsets count elements; a block goes from its start to its end, both included. */

/**
 * Makes a subset of `num_blocks` blocks: the first from `start_offset` to `end_offset`, each further one `stride`
 * elements on. Free it with Fenix_Data_subset_delete.
 */
int Fenix_Data_subset_create(int num_blocks,
                             int start_offset,
                             int end_offset,
                             int stride,
                             Fenix_Data_subset *subset_specifier);

/**
 * Makes a subset of `num_blocks` blocks, each with a start and an end. Free it with Fenix_Data_subset_delete.
 */
int Fenix_Data_subset_createv(int num_blocks,
                              int *array_start_offsets,
                              int *array_end_offsets,
                              Fenix_Data_subset *subset_specifier);

/**
 * Frees what a subset holds. Freeing it again does no harm.
 */
int Fenix_Data_subset_delete(Fenix_Data_subset *subset_specifier);

/* All elements of a member, and none. */
extern const Fenix_Data_subset FENIX_DATA_SUBSET_FULL;
extern const Fenix_Data_subset FENIX_DATA_SUBSET_EMPTY;

/* ======== Store ========
 * Copy members into the snapshot that the next commit makes, and protect the copy. */

/**
 * Stores the elements of `subset_specifier` of a member into the snapshot that the next commit makes;
 * FENIX_DATA_MEMBER_ALL stores all members, unless a member has that number as its id.
 *
 * # Returns
 * 0; FENIX_ERROR_INVALID_GROUPID, FENIX_ERROR_INVALID_MEMBERID, or the error of an invalid subset.
 *
 * # Collective
 * Called by all ranks of the group; counts and subsets may differ from rank to rank.
 */
int Fenix_Data_member_store(int group_id, int member_id, Fenix_Data_subset subset_specifier);

/**
 * As Fenix_Data_member_store.
 *
 * # Collective
 * Called by all ranks of the group; counts and subsets may differ from rank to rank.
 */
int Fenix_Data_member_storev(int group_id, int member_id, Fenix_Data_subset subset_specifier);

/**
 * As Fenix_Data_member_store, but only copies the elements; the rest goes on in the background, and the buffer may be
 * changed at once. `request` is for Fenix_Data_wait and Fenix_Data_test; a commit waits for all stores.
 *
 * # Collective
 * Called by all ranks of the group; counts and subsets may differ from rank to rank.
 */
int Fenix_Data_member_istore(int group_id, int member_id, Fenix_Data_subset subset_specifier, Fenix_Request *request);

/**
 * As Fenix_Data_member_istore.
 *
 * # Collective
 * Called by all ranks of the group; counts and subsets may differ from rank to rank.
 */
int Fenix_Data_member_istorev(int group_id, int member_id, Fenix_Data_subset subset_specifier, Fenix_Request *request);

/**
 * Waits for the end of a store that Fenix_Data_member_istore has started. A request that has ended, or a null request, is
 * fine.
 *
 * # Returns
 * 0; FENIX_ERROR_DATA_WAIT for what is no request, or one that a failure has ended.
 *
 * # Collective
 * Called by all ranks of the group.
 */
int Fenix_Data_wait(Fenix_Request request);

/**
 * As Fenix_Data_wait without waiting: `flag` gets 1 if the store has ended, else 0. Each call moves stores on.
 */
int Fenix_Data_test(Fenix_Request request, int *flag);

/* ======== Commit ========
 * Make what was stored a snapshot. */

/**
 * Makes what was stored a snapshot, on this rank; waits for stores that are under way. `time_stamp` gets the time stamp
 * of the snapshot; it may be NULL.
 */
int Fenix_Data_commit(int group_id, int *time_stamp);

/**
 * As Fenix_Data_commit on all ranks of the group or on none: the commit happens if all ranks that live have called this.
 * (In a group of only some ranks of the resilient communicator, some may have committed if a rank fails meanwhile;
 * Fenix_Data_group_create then goes back to the last snapshot that all have.)
 *
 * # Returns
 * 0; FENIX_ERROR_COMMIT_BARRIER if other ranks are recovering from a failure already, or a store since the last commit has
 * failed on some ranks and was not repeated: nothing was committed; FENIX_ERROR_CANCELLED if the commit happened, but a
 * rank has failed. After a failure a recovery has come between: a program that resumes at Fenix_Init does not get here.
 *
 * # Collective
 * Called by all ranks of the group.
 */
int Fenix_Data_commit_barrier(int group_id,
                              int *time_stamp);

/**
 * Deletes the snapshots of the group that not all ranks have.
 *
 * # Collective
 * Called by all ranks of the group, which all return the same code.
 */
int Fenix_Data_barrier(int group_id);

/* ======== Restore ========
 * Write the elements of a snapshot into a buffer, and rebuild what ranks have lost. */

/**
 * Restores a member: rebuilds what ranks have lost of it, then writes its elements below `max_count` to `target_buffer`,
 * as they were in the newest snapshot that is not newer than `time_stamp` (FENIX_DATA_SNAPSHOT_LATEST: the newest of all)
 * or, where that lacks them, in older ones. A `target_buffer` of NULL only rebuilds. `found_data` gets the elements that
 * were found, to be freed with Fenix_Data_subset_delete; it may be NULL. Holes of the datatype are left alone; a member
 * of which this rank knows no datatype is written without holes.
 *
 * # Returns
 * 0; FENIX_WARNING_PARTIAL_RESTORE if a rank did not get all elements; FENIX_ERROR_NODATA_FOUND if nothing was committed
 * or more ranks were lost than the policy protects, and then no buffer is touched; FENIX_ERROR_INVALID_TIMESTAMP,
 * FENIX_ERROR_INVALID_MEMBERID.
 *
 * # Collective
 * Called by all ranks of the group, which all return the same code.
 */
int Fenix_Data_member_restore(int group_id,
                              int member_id,
                              void *target_buffer,
                              int max_count,
                              int time_stamp,
                              Fenix_Data_subset *found_data);

/**
 * As Fenix_Data_member_restore from what this rank holds itself: rebuilds nothing. A `target_buffer` of NULL only tells
 * what would be found.
 */
int Fenix_Data_member_lrestore(int group_id,
                               int member_id,
                               void *target_buffer,
                               int max_count,
                               int time_stamp,
                               Fenix_Data_subset *found_data);

/**
 * As Fenix_Data_member_restore, but gets the elements that rank `source_rank` of the group stored; each rank may name
 * another one.
 *
 * # Collective
 * Called by all ranks of the group, which all return the same code.
 */
int Fenix_Data_member_restore_from_rank(int group_id,
                                        int member_id,
                                        void *data,
                                        int max_count,
                                        int time_stamp,
                                        Fenix_Data_subset *found_data,
                                        int source_rank);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
