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

//CHAPTER library
//CHAPTER descriptors
//CHAPTER apply
//CHAPTER filelists
//CHAPTER rebuild
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
