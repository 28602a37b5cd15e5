/* Stanchion: what the library says about itself and its errors, and what it adds to the APIs that it
 * replaces. Programs with MPI define REDSET_ENABLE_MPI before they include this, as for redset.h.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/stanchion.h and src/capi/stanchion*.rs. */
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

/** A redset descriptor in the open. */
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

/** Sets of ranks that were placed by failure domains. */
typedef struct fdp fdp_t;

/** What sets fdp_create shall make. */
typedef struct fdp_scheme {
  int type;                 /**< one of the REDSET_COPY values */
  int count;                /**< copies of PARTNER, k of RS; not looked at else */
  int set_size;             /**< how many ranks a set shall have; SINGLE does not look at it */
  const uint32_t* required; /**< how many failures must be survived at each level; NULL: as many as can be */
  size_t levels;            /**< how many numbers `required` has, from the outermost level on */
} fdp_scheme;

/** Receives the paths of domains whose failure loses data, and a set that is lost. */
typedef int (*fdp_scenario_cb)(const char* const* domains, size_t count, int lost_set, void* user);

/* A policy_name of Fenix_Data_group_create: sets are placed by failure domains. */
#define STANCHION_FENIX_POLICY_PLACED 113

/** Its policy_value. */
typedef struct {
  int mode;         /**< 1: another rank keeps a copy; 5: sets of ranks keep parity */
  int set_size;     /**< of mode 5, at least 3; mode 1 does not look at it */
  const char* path; /**< where this rank is, as for fdp_create; NULL: from STANCHION_TOPOLOGY or the host's name */
} stanchion_fenix_placed;

/**
 * The version of the library, such as "0.1.0". The string lives forever.
 */
const char *stanchion_version(void);

/**
 * How the library was built: version, target, profile, MPI, and what PIO has. One line; the string lives forever.
 */
const char *stanchion_build_info(void);

/**
 * Copies the text of this thread's last error, cut to `size` bytes with the closing NUL.
 *
 * # Returns
 * The length of the whole text without the NUL; 0 if there was no error.
 *
 * # Safety
 * `buffer` is NULL or has room for `size` bytes.
 */
size_t stanchion_last_error(char *buffer, size_t size);

/**
 * Sets which messages are logged: 0 none (the default), 1 errors, 2 warnings, 3 information, 4 all.
 * Before the first call the environment variable STANCHION_LOG decides.
 */
void stanchion_set_log_level(int level);

/**
 * Sends log messages to `callback` instead of standard error; NULL goes back to that.
 *
 * # Safety
 * `callback` may be called with `user` from any thread until another one is set.
 */
void stanchion_set_log_callback(stanchion_log_callback callback, void *user);

#if defined(REDSET_ENABLE_MPI)
/**
 * Makes a descriptor of the sets of a placement, with its numbers and its scheme: what fdp_survives says of the
 * placement holds for the files. It may be destroyed afterwards.
 *
 * # Returns
 * 0, and the descriptor in `d`, to be given to redset_delete; 1, also if the placement is not one of as many ranks.
 *
 * # Collective
 * Called by all ranks of the communicator that the placement was made for, which all return the same code.
 */
int stanchion_redset_create_placed(MPI_Comm comm,
                                   const fdp_t *placement,
                                   redset *d);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Shows a descriptor. The strings and the map in `info` belong to it and live until redset_delete; they
 * are NULL if recover could not form the set.
 *
 * # Returns
 * 0; 1 if `d` is no descriptor, or one of a recover that found none for this rank.
 */
int stanchion_redset_describe(redset d, stanchion_redset_info *info);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * The descriptor as redundancy files keep it: ENABLED, TYPE, GROUPS, GROUP, RANKS, RANK and so on.
 *
 * # Returns
 * A new tree, to be given to kvtree_delete; NULL as stanchion_redset_describe fails.
 */
kvtree *stanchion_redset_to_kvtree(redset d);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Reads all files that redset_apply protected under `name`, and their redundancy, and compares them with
 * their checksums. Changes nothing.
 *
 * `report` gets a new tree with the state of each file of each rank of the caller's set, to be given to
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

#if defined(REDSET_ENABLE_MPI)
/**
 * Lets data groups of Fenix that are created from now on keep checksums (1) or not (0, the default): what a
 * restore brings back is compared with them, and a share that is damaged counts as lost. Before the first
 * call the environment variable STANCHION_FENIX_CHECKSUM decides. To be the same on all ranks.
 *
 * # Returns
 * The setting until now.
 */
int stanchion_fenix_checksums(int on);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Lets decompositions with the subset rearranger that are made from now on fail (1) or only warn (0, the
 * default) if an element is in their maps more than once. Before the first call the environment variable
 * STANCHION_PIO_STRICT decides. To be the same on all ranks.
 *
 * # Returns
 * The setting until now.
 */
int stanchion_pio_strict(int on);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * How much of an array this rank holds as an I/O task when it is rearranged: elements, and regions of the array
 * that they lie in. Both are 0 on a rank that is no I/O task, and both pointers may be NULL.
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
 * The regions that stanchion_pio_held has counted, in the order in which their elements are held. `start` and `count`
 * have room for a number in each dimension of each region, the slowest dimension first.
 *
 * # Returns
 * 0; PIO_EBADID or PIO_EINVAL.
 */
int stanchion_pio_regions(int ioid,
                          int64_t *start,
                          int64_t *count);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Moves an array from the ranks to the I/O tasks, without a file. `array` has this rank's `array_length` elements in
 * the order of its map; `held` gets what this rank holds as an I/O task and has room for `held_length` elements.
 * Elements that are in no map get `fill`, or if that is NULL netCDF's fill value.
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
 * Moves an array from the I/O tasks to the ranks, without a file: the way back of stanchion_pio_to_io. Holes of the
 * map keep what they had.
 *
 * # Returns
 * As stanchion_pio_to_io.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int stanchion_pio_to_compute(int ioid,
                             const void *held,
                             int64_t held_length,
                             void *array,
                             int64_t array_length);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * What the arrays of a decomposition are made of. The Fortran module asks this of every array it is given.
 *
 * # Returns
 * The number of the type; PIO_EBADID if there is no such decomposition.
 */
int stanchion_pio_decomp_type(int ioid);
#endif

#if defined(REDSET_ENABLE_MPI)
/**
 * Divides the ranks of a communicator into sets, so that as many failures of domains are survived as can be. Each
 * rank gives its own `path`, such as "rack3/chassis1/node17": all the same number of parts, the outermost first. A
 * rank that gives NULL takes its path from the environment variable STANCHION_TOPOLOGY, or from its host's name.
 *
 * # Returns
 * 0, and the placement in `placement`, the same on all ranks, to be given to fdp_destroy; -EINVAL; -ENOTSUP if what
 * is required cannot be had (stanchion_last_error tells the level, and what could be had); -EIO.
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
 * Frees a placement; NULL is nothing. Not collective.
 */
void fdp_destroy(fdp_t *placement);

/**
 * How many ranks, sets and levels there are. The ranks are the last level. Each pointer may be NULL.
 *
 * # Returns
 * 0; -EINVAL.
 */
int fdp_size(const fdp_t *placement, int *ranks, int *sets, unsigned int *levels);

/**
 * The set of a rank, the rank's place in it, and the size of the set. Each pointer may be NULL.
 *
 * # Returns
 * 0; -EINVAL.
 */
int fdp_get(const fdp_t *placement, int rank, int *set_id, int *rank_in_set, int *set_size);

/**
 * The ranks of a set in their order. `*count` says how many `ranks` has room for, and gets how many there are;
 * `ranks` may be NULL to ask for that only.
 *
 * # Returns
 * 0; -EINVAL; -ERANGE if there is not enough room.
 */
int fdp_members(const fdp_t *placement,
                int set_id,
                int *ranks,
                size_t *count);

/**
 * How many domains of a level may fail, whichever they are, without data being lost: `any_k`. Level 0 is the
 * outermost. `weakest_set` gets a set that does not survive more. Both pointers may be NULL.
 *
 * # Returns
 * 0; -EINVAL.
 */
int fdp_tolerance(const fdp_t *placement, unsigned int level, uint32_t *any_k, uint32_t *weakest_set);

/**
 * Calls `callback` with all narrowest combinations of at most `max_failed` domains whose failure loses data, those of
 * the fewest domains first: none of the domains can be left out, nor be replaced by a domain inside of it, without
 * everything being survived. There may be many of them. `callback` gets the paths of the domains and a set that is
 * lost; it returns 0 to go on and another number to end, and must not jump away.
 *
 * # Returns
 * 0; what the callback returned if that was not 0; -EINVAL.
 */
int fdp_scenarios(const fdp_t *placement,
                  uint32_t max_failed,
                  fdp_scenario_cb callback,
                  void *user);

/**
 * Whether everything is survived when all these domains fail: "rack3", "rack3/chassis1" and so on, or a rank as
 * "rack3/chassis1/node17/42". Domains may be inside of each other. `lost_set` gets the first set that is lost, or -1;
 * it may be NULL.
 *
 * # Returns
 * 1 if everything is survived, 0 if not; -EINVAL; -ENOENT if there is no such domain.
 */
int fdp_survives(const fdp_t *placement,
                 const char *const *failed_domains,
                 size_t count,
                 int *lost_set);

/**
 * Everything about a placement as JSON: tolerance at each level, the smallest combinations of domains that lose
 * data, what the scheme costs, how a rebuild loads the survivors. `*length` says how many bytes `json` has room for,
 * and gets how many it takes with the closing NUL; `json` may be NULL to ask for that only.
 *
 * # Returns
 * 0; -EINVAL; -ERANGE if there is not enough room.
 */
int fdp_report(const fdp_t *placement,
               char *json,
               size_t *length);

/**
 * A picture as SVG: domains inside of each other, ranks in the colours of their sets, and the tolerance at each
 * level. Buffers as for fdp_report.
 *
 * # Returns
 * 0; -EINVAL; -ERANGE if there is not enough room.
 */
int fdp_picture(const fdp_t *placement,
                char *svg,
                size_t *length);

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
