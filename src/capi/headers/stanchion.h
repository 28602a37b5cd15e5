/* Stanchion: what the library says about itself and its errors, and what it adds to the APIs that it
 * replaces. Programs with MPI define REDSET_ENABLE_MPI before they include this, as for redset.h.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/stanchion.h and src/capi/stanchion/. */
#ifndef STANCHION_H
#define STANCHION_H

#include <stddef.h>
#include <stdint.h>

/* redset, kvtree, and MPI_Comm if REDSET_ENABLE_MPI is defined */
#include "redset.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STANCHION_VERSION "@VERSION@"
#define STANCHION_VERSION_MAJOR (@MAJOR@)
#define STANCHION_VERSION_MINOR (@MINOR@)
#define STANCHION_VERSION_PATCH (@PATCH@)
/* To compare: STANCHION_VERSION_NUMBER >= 200 is 0.2.0 or later. */
#define STANCHION_VERSION_NUMBER (@MAJOR@ * 10000 + @MINOR@ * 100 + @PATCH@)

#define STANCHION_LOG_NONE    (0)
#define STANCHION_LOG_ERROR   (1)
#define STANCHION_LOG_WARNING (2)
#define STANCHION_LOG_INFO    (3)
#define STANCHION_LOG_DEBUG   (4)

/** Receives a log message: its level, its text, and the pointer that was set with the callback. */
typedef void (*stanchion_log_callback)(int level, const char* text, void* user);

/* A key of redset_config: 0 leaves checksums out of new redundancy files, 1 (the default) puts them in. */
#define REDSET_KEY_CONFIG_CHECKSUM "CHECKSUM"

/* A key of redset_config: 1 lets recover rebuild all it can although more ranks have lost something than
 * the scheme promises to survive; 0 (the default) makes that an error. */
#define REDSET_KEY_CONFIG_SALVAGE "SALVAGE"

/* A key of redset_config: 0 lets ranks of one node send each other messages, as ranks of different nodes do;
 * 1 (the default) lets them read and write each other's files. */
#define REDSET_KEY_CONFIG_DIRECT "DIRECT"

/** What a redset descriptor holds. */
typedef struct {
  int enabled;
  int type;                 /**< one of the REDSET_COPY values */
  int groups;               /**< number of sets */
  int group_id;             /**< which of them is that of this rank, from 0 */
  int ranks;                /**< size of the set */
  int rank;                 /**< rank in the set */
  int lhs_rank;             /**< left neighbour: rank in the set, */
  int lhs_rank_world;       /**< rank in the communicator that the sets were made from, */
  const char* lhs_hostname; /**< and the name of its node */
  int rhs_rank;             /**< right neighbour */
  int rhs_rank_world;
  const char* rhs_hostname;
  const int* group_map;     /**< rank in that communicator of each rank of the set */
} stanchion_redset_info;

/** A tree of failure domains, and a layout over one. */
typedef struct fdt fdt_t;
typedef struct fdt_layout fdt_layout_t;

/* fdt_attr.mode: how the children of a domain are permuted from tile to tile. */
#define FDT_DECLUSTERED (0) /**< differently in every domain: a rebuild loads all survivors alike */
#define FDT_MOTR_COMPAT (1) /**< as Motr does, alike in all domains with as many children */

/* fdt_attr.options */
#define FDT_WATER_FILLING (1) /**< where the symmetric tree is too small, fill domains as far as they hold units */

/** Attributes of a layout; zeros are good defaults. */
typedef struct fdt_attr {
  uint32_t data;             /**< N, */
  uint32_t parity;           /**< K */
  uint32_t spare;            /**< and S units of a group */
  uint32_t mode;             /**< FDT_DECLUSTERED or FDT_MOTR_COMPAT */
  uint64_t seed[2];
  uint32_t first_level;      /**< levels above it are left out */
  uint32_t options;          /**< 0 or FDT_WATER_FILLING */
  const uint32_t* tolerance; /**< failures to be survived in each level of the tree, or NULL: levels for which this is
                                  impossible are left out */
} fdt_attr;

/* States of a level. */
#define FDT_LEVEL_KEPT    (0)
#define FDT_LEVEL_DROPPED (1) /**< above the first level that was asked for */
#define FDT_LEVEL_UNMET   (2) /**< its required tolerance is impossible */

/** The numbers of a layout. */
typedef struct fdt_shape {
  uint32_t depth;   /**< levels of the tree */
  uint32_t units;   /**< G = N + K + S */
  uint64_t targets; /**< of the tree, */
  uint64_t used;    /**< and how many of them each tile uses */
  uint64_t rows;    /**< frames of each used target in a tile */
  uint64_t groups;  /**< groups of a tile */
  int filled;       /**< 1 if domains are filled: then there are no tiles */
} fdt_shape;

/** The file that is laid out; each has its own permutations. */
typedef struct fd_gfid {
  uint64_t container;
  uint64_t key;
} fd_gfid;

/** A domain: its level, from 0 below the root, and its number there. A target is a domain of the last level. */
typedef struct fdt_domain {
  uint32_t level;
  uint64_t index;
} fdt_domain;

/* Tests of a vector of failures. */
#define FDT_POLYTOPE_B (0) /**< A v <= b */
#define FDT_SUM        (1) /**< what each level loses at most, added up */
#define FDT_EXACT      (2) /**< the worst case */

typedef struct fdt_verdict {
  int tolerable;
  uint64_t loss;  /**< units that a group loses, at most */
  uint64_t slack; /**< how many more it could lose */
} fdt_verdict;

/** The slot of a lost unit for which there was no spare. */
#define FD_UNPLACED UINT32_MAX

/** Sets of ranks that were placed by failure domains. */
typedef struct fdp fdp_t;

/** The sets that fdp_create makes. */
typedef struct fdp_scheme {
  int type;                 /**< one of the REDSET_COPY values */
  int count;                /**< copies of PARTNER, k of RS; else ignored */
  int set_size;             /**< ranks of a set; ignored by SINGLE */
  const uint32_t* required; /**< failures that must be survived at each level; NULL: as many as possible */
  size_t levels;            /**< length of `required`, which starts with the outermost level */
} fdp_scheme;

/** Receives the paths of domains whose failure loses data, and a set that is lost. */
typedef int (*fdp_scenario_cb)(const char* const* domains, size_t count, int lost_set, void* user);

/* A policy_name of Fenix_Data_group_create: sets are placed by failure domains. */
#define STANCHION_FENIX_POLICY_PLACED 113

/** Its policy_value. */
typedef struct {
  int mode;         /**< 1: another rank keeps a copy; 5: sets of ranks keep parity; 6: sets keep Reed-Solomon parity */
  int set_size;     /**< of mode 5, at least 3; of mode 6, at least k + 2; mode 1 does not look at it */
  const char* path; /**< where this rank is, as for fdp_create; NULL: from STANCHION_TOPOLOGY or the host's name */
  int k;            /**< of mode 6: how many ranks of a set may be lost; other modes do not look at it */
} stanchion_fenix_placed;

/* A policy_name of Fenix_Data_group_create: sets of ranks keep Reed-Solomon parity, and any k ranks of a set may be
 * lost. Its policy_value is an array of int: {rank separation, set size, k}; the set size is at least k + 2. */
#define STANCHION_FENIX_POLICY_RS 114

//CHAPTER library
//CHAPTER trees
//CHAPTER layouts
//CHAPTER redset
//CHAPTER fenix
//CHAPTER pio
//CHAPTER pio_fortran
//CHAPTER placements
#ifdef REDSET_ENABLE_MPI
/* For Fortran: as the functions without _f, with the communicator as Fortran has it. */
int stanchion_redset_create_f(int type, MPI_Fint comm, const char* group, redset* d);
int stanchion_redset_create_single_f(MPI_Fint comm, const char* group, redset* d);
int stanchion_redset_create_partner_f(MPI_Fint comm, const char* group, int size, int replicas, redset* d);
int stanchion_redset_create_xor_f(MPI_Fint comm, const char* group, int size, redset* d);
int stanchion_redset_create_rs_f(MPI_Fint comm, const char* group, int size, int k, redset* d);
int stanchion_redset_recover_f(MPI_Fint comm, const char* name, redset* d);
int stanchion_redset_verify_f(MPI_Fint comm, const char* name, kvtree** report);
#endif

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
