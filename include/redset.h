/* Stanchion: redset.h, compatible with redset 0.4.0.
 *
 * Redundancy for the files of a set of ranks: lost files are rebuilt from those of the others.
 * Functions return REDSET_SUCCESS or another number; stanchion_last_error() in stanchion.h then tells
 * why. Collective functions return the same code on all ranks and use a private duplicate of the
 * communicator. Programs with MPI define REDSET_ENABLE_MPI before they include this, as the CMake and
 * pkg-config packages do for them. Without MPI there are only the chapters
 * Filelists and Rebuild.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/redset.h and src/capi/redset/. */
#ifndef REDSET_H
#define REDSET_H

#ifdef REDSET_ENABLE_MPI
#include "mpi.h"
#endif

/* kvtree */
#include "kvtree.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REDSET_VERSION "0.4.0"
#define REDSET_SUCCESS (0)

#define REDSET_COPY_NULL    (0)
#define REDSET_COPY_SINGLE  (1)
#define REDSET_COPY_PARTNER (2)
#define REDSET_COPY_XOR     (3)
#define REDSET_COPY_RS      (4)

/* Keys of redset_config. */
#define REDSET_KEY_CONFIG_SET_SIZE     "SETSIZE"
#define REDSET_KEY_CONFIG_MPI_BUF_SIZE "MPI_BUF_SIZE"
#define REDSET_KEY_CONFIG_DEBUG        "DEBUG"

/* A descriptor: the set of this rank and how it is protected. */
typedef void* redset;

/* A list of file names. */
typedef void* redset_filelist;

/* ======== Library ======== */

/**
 * Prepares the library. Fails if the environment variable REDSET_ENCODE is set to something other than CPU, OPENMP,
 * PTHREADS or CUDA; which of them does not matter, since the library chooses how it computes.
 */
int redset_init(void);

/**
 * Ends the use of the library. Descriptors that are left must still be deleted.
 */
int redset_finalize(void);

/**
 * Changes the settings of the process, or shows them.
 *
 * DEBUG (int): above 0, errors are logged unless a log level was chosen. SETSIZE (int): least size of the sets that
 * redset_create makes. MPI_BUF_SIZE (byte count): largest message. CHECKSUM (int): 0 leaves checksums out of new
 * redundancy files. SALVAGE (int): 1 lets recover rebuild all it can although more ranks have lost something than the
 * scheme survives. DIRECT (int): 0 makes ranks of one node exchange messages instead of reading and writing each
 * other's files. The last three are shown only once they were set.
 *
 * # Returns
 * `config`; NULL if a key or a value is not known, and then nothing is changed. With NULL as `config`: a new tree with
 * all settings, to be freed with kvtree_delete.
 */
kvtree *redset_config(const kvtree *config);

/* ======== Descriptors ========
 * A descriptor knows the set of this rank and how the set protects its files. */

#if defined(REDSET_ENABLE_MPI)
/**
 * As one of the functions below, for `type` one of the REDSET_COPY values. Sets have at least SETSIZE ranks; PARTNER
 * keeps one copy, RS survives the loss of two ranks.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int redset_create(int type, MPI_Comm comm, const char *group, redset *d);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Makes a descriptor that records files without protecting them.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int redset_create_single(MPI_Comm comm, const char *group, redset *d);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Makes a descriptor of sets in which `replicas` other ranks hold a copy of each rank's files.
 *
 * Ranks with the same `group` are expected to fail together, so they go to different sets. Sets have at least `size`
 * ranks if there are enough groups, and must have more than `replicas`.
 *
 * If the environment variable STANCHION_TOPOLOGY is set, the sets are those of fdp_create for it and this `size`;
 * `group` is then appended to the path as the innermost domain, unless the path ends with it.
 *
 * # Returns
 * 0, and the descriptor in `d`, to be freed with redset_delete.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int redset_create_partner(MPI_Comm comm, const char *group, int size, int replicas, redset *d);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Makes a descriptor of sets that survive the loss of one rank, as redset_create_partner does. Sets must have at least
 * two ranks.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int redset_create_xor(MPI_Comm comm, const char *group, int size, redset *d);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Makes a descriptor of sets that survive the loss of `k` ranks, as redset_create_partner does. Sets must have more than
 * `k` ranks, and at most 256 - `k`.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int redset_create_rs(MPI_Comm comm,
                     const char *group,
                     int size,
                     int k,
                     redset *d);
#endif

/**
 * Deletes a descriptor and sets the pointer to NULL.
 *
 * # Collective
 * Called by all ranks of the communicator that it was made from.
 */
int redset_delete(redset *d);

/* ======== Apply ========
 * Protect files, and rebuild those that are lost. */

/**
 * Protects `files`: writes redundancy to new files whose names begin with `name`.
 *
 * # Collective
 * Called by all ranks of the communicator that the descriptor was made from, which all return the same code.
 */
int redset_apply(int numfiles, const char **files, const char *name, redset d);

#if defined(REDSET_ENABLE_MPI)
/**
 * Rebuilds what is missing or damaged of the files that redset_apply protected under `name`.
 *
 * # Returns
 * 0 if all files of all ranks are there again. `d` gets a descriptor even on failure, as complete as can be known, to be
 * freed with redset_delete; NULL only if the communicator cannot be used.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int redset_recover(MPI_Comm comm,
                   const char *name,
                   redset *d);
#endif

/**
 * Removes the files that redset_apply wrote under `name`.
 *
 * # Collective
 * Called by all ranks of the communicator that the descriptor was made from, which all return the same code.
 */
int redset_unapply(const char *name, redset d);

/**
 * Lists the files that redset_apply writes on this rank. Free the list with redset_filelist_release.
 */
redset_filelist redset_filelist_enc_get(const char *name, redset d);

/**
 * Lists the files that this rank gave to redset_apply; NULL if that is no longer known. Free the list with
 * redset_filelist_release.
 */
redset_filelist redset_filelist_orig_get(const char *name, redset d);

/* ======== Filelists ========
 * Lists of file names that other functions return. */

/**
 * Frees a list of files and sets the pointer to NULL. A NULL list is fine.
 */
int redset_filelist_release(redset_filelist *plist);

/**
 * Returns the number of files in the list; 0 for NULL.
 */
int redset_filelist_count(redset_filelist list);

/**
 * Returns the name of the file at `index`, counted from 0; NULL if there is none. The string lives as long as the list.
 */
const char *redset_filelist_file(redset_filelist list, int index);

/* ======== Rebuild ========
 * One process rebuilds the files of a set, without MPI, from the redundancy files that were found. */

/**
 * Lists the original files of a PARTNER set, from those of its redundancy files that were found.
 *
 * `groupsize` gets the number of ranks of the set, `groupranks` a malloc'ed array with the rank of each in the parent
 * communicator, for the caller to free.
 *
 * # Returns
 * The list, to be freed with redset_filelist_release; NULL if the files do not say which.
 */
redset_filelist redset_filelist_get_data_partner(int num, const char **files, int *groupsize, int **groupranks);

/**
 * Rebuilds what is missing of a PARTNER set from the redundancy files that are given.
 *
 * New redundancy files get names that begin with `prefix`. `map` gives the present path of each original file; NULL if
 * none was moved.
 */
int redset_rebuild_partner(int num, const char **files, const char *prefix, const kvtree *map);

/**
 * As redset_filelist_get_data_partner, for an XOR set.
 */
redset_filelist redset_filelist_get_data_xor(int num, const char **files, int *groupsize, int **groupranks);

/**
 * As redset_rebuild_partner, for an XOR set.
 */
int redset_rebuild_xor(int num, const char **files, const char *prefix, const kvtree *map);

/**
 * As redset_filelist_get_data_partner, for a Reed-Solomon set.
 */
redset_filelist redset_filelist_get_data_rs(int num, const char **files, int *groupsize, int **groupranks);

/**
 * As redset_rebuild_partner, for a Reed-Solomon set.
 */
int redset_rebuild_rs(int num, const char **files, const char *prefix, const kvtree *map);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
