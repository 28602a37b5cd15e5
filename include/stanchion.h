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

#define STANCHION_VERSION "0.1.0"
#define STANCHION_VERSION_MAJOR (0)
#define STANCHION_VERSION_MINOR (1)
#define STANCHION_VERSION_PATCH (0)
/* To compare: STANCHION_VERSION_NUMBER >= 200 is 0.2.0 or later. */
#define STANCHION_VERSION_NUMBER (0 * 10000 + 1 * 100 + 0)

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

/* ======== Library ========
 * Version, errors and messages. */

/**
 * Returns the version of the library, such as "0.1.0". The string lives forever.
 */
const char *stanchion_version(void);

/**
 * Returns how the library was built, in one line: version, target, profile, MPI, and what PIO has. The string lives
 * forever.
 */
const char *stanchion_build_info(void);

/**
 * Copies the text of this thread's last error into `buffer`, cut to `size` bytes with the closing NUL. `buffer` may be
 * NULL.
 *
 * # Returns
 * The length of the whole text without the NUL; 0 if there was no error.
 */
size_t stanchion_last_error(char *buffer, size_t size);

/**
 * Sets which messages are logged: 0 none (the default), 1 errors, 2 warnings, 3 information, 4 all.
 * Until the first call the environment variable STANCHION_LOG decides.
 */
void stanchion_set_log_level(int level);

/**
 * Sends log messages to `callback` instead of standard error; NULL restores that. The callback may be called with `user`
 * from any thread until another one is set.
 */
void stanchion_set_log_callback(stanchion_log_callback callback,
                                void *user);

/* ======== Trees ========
 * Trees of failure domains, and what groups of units spread over one tolerate. Functions return 0, a positive number
 * where that is an answer, or a negative errno. */

/**
 * Makes a tree with one target for each of `n` paths, such as "rack3/chassis1/node17" with `separator` '/'. All paths
 * have the same number of parts, and no two are equal. Free the tree with fdt_destroy.
 *
 * # Returns
 * 0; -EEXIST if a path comes twice; -EINVAL for paths that make no tree.
 */
int fdt_create_paths(const char *const *paths, size_t n, char separator, fdt_t **out);

/**
 * Makes a tree from the number of children of each domain: `degrees` has first that of the root, then those of all
 * domains of level 0, and so on; `per_level` says how many there are of each, for `depth` levels.
 *
 * # Returns
 * 0; -EINVAL if the numbers contradict each other or one is 0; -ERANGE if the tree is too large.
 */
int fdt_create_degrees(const uint32_t *degrees, const size_t *per_level, uint32_t depth, fdt_t **out);

/**
 * Frees a tree; layouts made from it stay. NULL is ignored.
 */
void fdt_destroy(fdt_t *tree);

/**
 * Gets the number of levels below the root.
 */
int fdt_depth_get(const fdt_t *tree, uint32_t *depth);

/**
 * Gets the number of domains of a level. The domains of the last level are the targets.
 */
int fdt_width_get(const fdt_t *tree, uint32_t level, uint64_t *width);

/**
 * Finds the domain that a path names, whole ("rack3/chassis1/node17") or only its first parts ("rack3").
 *
 * # Returns
 * 0; -ENOENT if there is none.
 */
int fdt_domain_find(const fdt_t *tree, const char *path, char separator, fdt_domain *domain);

/**
 * Finds the symmetric tree that a layout with these attributes would use, and which levels it keeps.
 *
 * `children` gets the number of children of the root and of the domains of each level that is kept, `depth` how many
 * these are, `states` an FDT_LEVEL value for each level of the tree. `children` and `states` have room for all levels
 * of the tree; `states` may be NULL.
 *
 * # Returns
 * 0; 1 if there is no symmetric tree and domains are filled instead: then `children` is left as it is; -ENOSPC if the
 * units of a group do not fit, or if more targets must be tolerated than there are parity units.
 */
int fdt_vsymm_tree_generate(const fdt_t *tree,
                            const fdt_attr *attr,
                            uint32_t *children,
                            uint32_t *depth,
                            uint32_t *states);

/**
 * Tells how many failures in one level every group survives, for each of the `depth` levels of a symmetric tree: the
 * largest number (`exact`), and K / ceil(G / domains), which the polytope is made of (`bound_b`). Either may be NULL.
 *
 * # Returns
 * 0; -ENOSPC if the units of a group do not fit.
 */
int fdt_tolerance_max(const uint32_t *children,
                      uint32_t depth,
                      uint32_t data,
                      uint32_t parity,
                      uint32_t spare,
                      uint32_t *exact,
                      uint32_t *bound_b);

/**
 * Tells whether every group survives `tolerance` failures in each level, one level at a time.
 *
 * # Returns
 * 0; 1 if not: then `bad_level`, which may be NULL, is the first level that has too many.
 */
int fdt_tolerance_check(const uint32_t *children,
                        uint32_t depth,
                        uint32_t data,
                        uint32_t parity,
                        uint32_t spare,
                        const uint32_t *tolerance,
                        uint32_t *bad_level);

/**
 * Lists the largest combinations of failures that every group survives at once: each vector has a number for each of
 * the `depth` levels. `count` says how many vectors there is room for, and gets how many there are.
 *
 * # Returns
 * 0; 1 if there was room for some only (`vectors` may be NULL); -ERANGE if there are too many to find.
 */
int fdt_tolerance_vectors(const uint32_t *children,
                          uint32_t depth,
                          uint32_t data,
                          uint32_t parity,
                          uint32_t spare,
                          uint32_t *vectors,
                          size_t *count);

/* ======== Layouts ========
 * A layout places the units of parity groups on the targets of a tree: maps both ways, and which failures it survives. */

/**
 * Makes a layout: where each unit of each group goes. It holds no table and may be used by several threads at once. Free
 * it with fdt_layout_destroy; the tree may be destroyed before.
 *
 * # Returns
 * 0; -ENOSPC and so on as fdt_vsymm_tree_generate; -ERANGE if a domain has more than 65535 children in mode
 * FDT_MOTR_COMPAT.
 */
int fdt_ft_perm_generate(const fdt_t *tree,
                         const fdt_attr *attr,
                         fdt_layout_t **out);

/**
 * Frees a layout. NULL is ignored.
 */
void fdt_layout_destroy(fdt_layout_t *layout);

/**
 * Gets the numbers of a layout.
 */
int fdt_layout_get(const fdt_layout_t *layout, fdt_shape *shape);

/**
 * Tells how many failures in one level a layout survives, as fdt_tolerance_max, for each level of its tree; 0 for levels
 * that were left out.
 */
int fdt_layout_tolerance(const fdt_layout_t *layout,
                         uint32_t *exact,
                         uint32_t *bound_b);

/**
 * Finds the target and the frame of unit `unit` of parity group `group`. Data units come first, then parity, then spare.
 *
 * # Returns
 * 0; -ERANGE if the frame does not fit in 64 bits.
 */
int fd_pg2tgt_map(const fdt_layout_t *layout,
                  fd_gfid file,
                  uint64_t group,
                  uint32_t unit,
                  uint64_t *target,
                  uint64_t *frame);

/**
 * Finds the unit that is in a frame of a target.
 *
 * # Returns
 * 0; 1 if none is; -ERANGE if the number of the group does not fit in 64 bits.
 */
int fd_tgt2pg_map(const fdt_layout_t *layout,
                  fd_gfid file,
                  uint64_t target,
                  uint64_t frame,
                  uint64_t *group,
                  uint32_t *unit);

/**
 * Tells whether every group survives `failed` failures in each level of the tree, all at once and wherever they are.
 * `test` is FDT_POLYTOPE_B, FDT_SUM or FDT_EXACT; each accepts all that the one before it does.
 *
 * # Returns
 * 0 with the verdict; -EINVAL if more domains fail than there are.
 */
int fdt_failvec_check(const fdt_layout_t *layout, const uint32_t *failed, int test, fdt_verdict *verdict);

/**
 * Tells whether every group of every file survives the failure of these domains. A domain inside another one that failed
 * counts once.
 *
 * # Returns
 * 0 with the verdict; -ENOENT if there is no such domain.
 */
int fdt_failset_check(const fdt_layout_t *layout,
                      const fdt_domain *failed,
                      size_t n,
                      fdt_verdict *verdict);

/**
 * Gets the polytope of FDT_POLYTOPE_B: failures v pass if A v <= b. `a` gets `rows` rows with a number for each level of
 * the tree, `b` one for each row. There are never more rows than levels and one; `a` and `b` may be NULL.
 */
int fdt_polytope_get(const fdt_layout_t *layout,
                     uint64_t *a,
                     uint64_t *b,
                     uint32_t *rows);

/**
 * Chooses a spare unit for each lost unit of a group. `slots` has an entry for each data and parity unit: the unit in
 * whose place it is, at first its own number, FD_UNPLACED for none. Units in failed domains move to spare ones.
 * `failed` holds all domains that are gone, also those of earlier calls, from which `slots` is handed on.
 *
 * # Returns
 * 0; 1 if spares ran out, then units stay FD_UNPLACED; -EIO if the group lost more units than it has parity.
 */
int fd_repair_map(const fdt_layout_t *layout,
                  fd_gfid file,
                  uint64_t group,
                  const fdt_domain *failed,
                  size_t n,
                  uint32_t *slots);

/* ======== redset ========
 * Sets of a placement, the contents of a descriptor, and a check of files that changes nothing. */

#if defined(REDSET_ENABLE_MPI)
/**
 * Makes a descriptor of the sets of a placement, with its numbers and its scheme: what fdp_survives says of the
 * placement holds for the files. The placement may be destroyed afterwards.
 *
 * # Returns
 * 0, and the descriptor in `d`, to be freed with redset_delete; 1, also if the placement is not for as many ranks.
 *
 * # Collective
 * Called by all ranks of the communicator that the placement was made for, which all return the same code.
 */
int stanchion_redset_create_placed(MPI_Comm comm, const fdp_t *placement, redset *d);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Shows what a descriptor holds. The strings and the map in `info` live until redset_delete; they are NULL if recover
 * could not form the set.
 *
 * # Returns
 * 0; 1 if `d` is no descriptor, or one of a recover that found none for this rank.
 */
int stanchion_redset_describe(redset d, stanchion_redset_info *info);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Returns the descriptor as redundancy files keep it, with ENABLED, TYPE, GROUPS, GROUP, RANKS, RANK and so on: a new
 * tree, to be freed with kvtree_delete; NULL where stanchion_redset_describe fails.
 */
kvtree *stanchion_redset_to_kvtree(redset d);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Reads all files that redset_apply protected under `name`, and their redundancy, and compares them with their
 * checksums. Changes nothing.
 *
 * `report` gets a new tree with the state of each file of each rank of the caller's set, to be freed with
 * kvtree_delete; it may be NULL.
 *
 * # Returns
 * 0 if nothing is missing or damaged on any rank.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int stanchion_redset_verify(MPI_Comm comm, const char *name, kvtree **report);
#endif

/* ======== Fenix ========
 * Checksums of data groups in memory. */

#if defined(REDSET_ENABLE_MPI)
/**
 * Makes data groups of Fenix that are created from now on keep checksums (1) or not (0, the default). A restore compares
 * what it reads with them; damaged data counts as lost. Until the first call the environment variable
 * STANCHION_FENIX_CHECKSUM decides. The setting must be the same on all ranks.
 *
 * # Returns
 * The previous setting.
 */
int stanchion_fenix_checksums(int on);
#endif

/* ======== PIO ========
 * Settings of PIO, and the rearrangement of arrays without a file. */

#if defined(REDSET_ENABLE_MPI)
/**
 * Makes new decompositions with the subset rearranger fail (1) or only warn (0, the default) if an element is in their
 * maps more than once. Until the first call the environment variable STANCHION_PIO_STRICT decides. The setting must be
 * the same on all ranks.
 *
 * # Returns
 * The previous setting.
 */
int stanchion_pio_strict(int on);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Counts what this rank holds of a rearranged array as an I/O task: elements, and regions of the array that they are in.
 * Both are 0 on a rank that is no I/O task, and both pointers may be NULL.
 *
 * # Returns
 * 0; PIO_EBADID if there is no such decomposition.
 */
int stanchion_pio_held(int ioid,
                       int64_t *elements,
                       int64_t *regions);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Lists the regions that stanchion_pio_held has counted, in the order in which their elements are held. `start` and
 * `count` have room for a number in each dimension of each region, the slowest dimension first.
 *
 * # Returns
 * 0; PIO_EBADID or PIO_EINVAL.
 */
int stanchion_pio_regions(int ioid, int64_t *start, int64_t *count);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Moves an array from the ranks to the I/O tasks, without a file. `array` has this rank's `array_length` elements in the
 * order of its map; `held` gets what this rank holds as an I/O task and has room for `held_length` elements. Elements
 * that are in no map get `fill`, or netCDF's fill value if that is NULL.
 *
 * # Returns
 * 0; PIO_EBADID; PIO_EINVAL if an array is too short or NULL.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int stanchion_pio_to_io(int ioid,
                        const void *array,
                        int64_t array_length,
                        const void *fill,
                        void *held,
                        int64_t held_length);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Moves an array from the I/O tasks to the ranks, without a file: the way back of stanchion_pio_to_io. Holes of the map
 * keep what they had.
 *
 * # Returns
 * As stanchion_pio_to_io.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int stanchion_pio_to_compute(int ioid, const void *held, int64_t held_length, void *array, int64_t array_length);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Returns the number of the type of a decomposition's arrays, which the Fortran module checks; PIO_EBADID if there is no
 * such decomposition.
 */
int stanchion_pio_decomp_type(int ioid);
#endif

/* ======== PIO Fortran ========
 * For the Fortran module: attributes and variables that all ranks have as a whole, in arrays of Fortran. */

#if defined(REDSET_ENABLE_MPI)
/**
 * Sets an attribute to the values of an array: `elements` of `size` bytes of that type. `error` is not PIO_NOERR if the
 * array cannot be used.
 *
 * # Returns
 * PIO_NOERR; the error of the array of any rank.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int stanchion_pio_put_attribute(int ncid,
                                int varid,
                                const char *name,
                                int xtype,
                                int64_t size,
                                int64_t elements,
                                void *data,
                                int error);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Reads an attribute into an array. An array that is too short is an error and keeps what it had; text is cut off, and an
 * error.
 *
 * # Returns
 * As stanchion_pio_put_attribute; PIO_EINSUFFBUF if the attribute is longer than the array of any rank.
 */
int stanchion_pio_get_attribute(int ncid,
                                int varid,
                                const char *name,
                                int xtype,
                                int64_t size,
                                int64_t elements,
                                void *data,
                                int error);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Writes an array into a variable. `start` and `count` have `given` numbers each, counted from 1 and the fastest dimension
 * first. Slower dimensions that are not given are taken at their first place, and numbers beyond the variable's dimensions
 * are ignored. Without `count` it is one value, or one string; without `start` the whole variable, with as many records as
 * the array makes.
 *
 * # Returns
 * As stanchion_pio_put_attribute; PIO_EINSUFFBUF if the array of any rank is too short.
 */
int stanchion_pio_put_variable(int ncid,
                               int varid,
                               int given,
                               const int *start,
                               const int *count,
                               int xtype,
                               int64_t size,
                               int64_t elements,
                               void *data,
                               int error);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Reads a variable, or the part that stanchion_pio_put_variable would write, into an array. Text that is longer than a
 * string is cut off, and an error.
 *
 * # Returns
 * As stanchion_pio_put_variable.
 */
int stanchion_pio_get_variable(int ncid,
                               int varid,
                               int given,
                               const int *start,
                               const int *count,
                               int xtype,
                               int64_t size,
                               int64_t elements,
                               void *data,
                               int error);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Takes the place of PIOc_write_darray, PIOc_write_darray_multi or PIOc_read_darray on a rank whose array cannot be used:
 * all ranks return `code`, which is not PIO_NOERR.
 *
 * # Collective
 * As those functions.
 */
int stanchion_pio_refuse_array(int ncid,
                               int code);
#endif

/* ======== Placements ========
 * Sets of ranks, placed by failure domains so that as many failures as possible are survived. Functions return 0 or
 * above for success, or a negative errno. */

#if defined(REDSET_ENABLE_MPI)
/**
 * Divides the ranks of a communicator into sets that survive as many failures of domains as possible. Each rank gives
 * its own `path`, such as "rack3/chassis1/node17": the outermost domain first, and as many parts on all ranks. A rank
 * that gives NULL takes its path from the environment variable STANCHION_TOPOLOGY, or from its host's name.
 *
 * # Returns
 * 0, and the placement in `placement`, the same on all ranks, to be freed with fdp_destroy; -EINVAL; -ENOTSUP if what is
 * required cannot be had (stanchion_last_error names the level, and what could be had); -EIO.
 *
 * # Collective
 * Called by all ranks of `comm` with the same scheme; all return the same code.
 */
int fdp_create(MPI_Comm comm,
               const char *path,
               const fdp_scheme *scheme,
               fdp_t **placement);
#endif

/**
 * As fdp_create for the paths of all `count` ranks, without MPI: for planning.
 */
int fdp_create_local(const char *const *paths, size_t count, const fdp_scheme *scheme, fdp_t **placement);

/**
 * Frees a placement. NULL is ignored. Not collective.
 */
void fdp_destroy(fdp_t *placement);

/**
 * Counts ranks, sets and levels. The ranks are the last level. Each pointer may be NULL.
 *
 * # Returns
 * 0; -EINVAL.
 */
int fdp_size(const fdp_t *placement, int *ranks, int *sets, unsigned int *levels);

/**
 * Gets the set of a rank, the rank's place in it, and the size of the set. Each pointer may be NULL.
 *
 * # Returns
 * 0; -EINVAL.
 */
int fdp_get(const fdp_t *placement, int rank, int *set_id, int *rank_in_set, int *set_size);

/**
 * Lists the ranks of a set in their order. `*count` says how many `ranks` has room for, and gets how many there are;
 * `ranks` may be NULL to ask for that only.
 *
 * # Returns
 * 0; -EINVAL; -ERANGE if there is not enough room.
 */
int fdp_members(const fdp_t *placement, int set_id, int *ranks, size_t *count);

/**
 * Tells how many domains of a level may fail, any k of them, without loss of data: `any_k`. Level 0 is the outermost.
 * `weakest_set` gets a set that does not survive more. Both pointers may be NULL.
 *
 * # Returns
 * 0; -EINVAL.
 */
int fdp_tolerance(const fdp_t *placement, unsigned int level, uint32_t *any_k, uint32_t *weakest_set);

/**
 * Calls `callback` with each minimal combination of at most `max_failed` domains whose failure loses data, those of the
 * fewest domains first: without one of its domains, or with a domain inside of it instead, everything would be survived.
 * There may be many. `callback` gets the paths of the domains and a set that is lost; it returns 0 to go on and another
 * number to end, and must not jump away.
 *
 * # Returns
 * 0; what the callback returned if that was not 0; -EINVAL.
 */
int fdp_scenarios(const fdp_t *placement,
                  uint32_t max_failed,
                  fdp_scenario_cb callback,
                  void *user);

/**
 * Tells whether everything is survived when all these domains fail: "rack3", "rack3/chassis1" and so on, or a rank as
 * "rack3/chassis1/node17/42". One domain may be inside another. `lost_set` gets the first set that is lost, or -1; it
 * may be NULL.
 *
 * # Returns
 * 1 if everything is survived, 0 if not; -EINVAL; -ENOENT if there is no such domain.
 */
int fdp_survives(const fdp_t *placement, const char *const *failed_domains, size_t count, int *lost_set);

/**
 * Writes a report about a placement as JSON: tolerance at each level, the smallest combinations of domains that lose
 * data, what the scheme costs, how a rebuild loads the survivors. `*length` says how many bytes `json` has room for,
 * and gets how many it takes with the closing NUL; `json` may be NULL to ask for that only.
 *
 * # Returns
 * 0; -EINVAL; -ERANGE if there is not enough room.
 */
int fdp_report(const fdp_t *placement, char *json, size_t *length);

/**
 * Draws a placement as SVG: domains inside of each other, ranks in the colours of their sets, and the tolerance at each
 * level. Buffers as for fdp_report.
 *
 * # Returns
 * 0; -EINVAL; -ERANGE if there is not enough room.
 */
int fdp_picture(const fdp_t *placement, char *svg, size_t *length);

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
