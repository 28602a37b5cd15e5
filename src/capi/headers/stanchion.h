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

//BODY
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
