/* A job of two racks with two chassis of two nodes each, for tests that lose domains of it. Ranks follow each other
 * from node to node; their number is a multiple of eight. */
#ifndef DOMAINS_H
#define DOMAINS_H

#include "redset_files.h"

enum { MOST_RANKS = 16, NODES = 8, CHASSIS = 4, RACKS = 2, MOST_DOMAINS = RACKS + CHASSIS + NODES + MOST_RANKS };

static int job_ranks;

static inline int node_of(int rank) { return rank * NODES / job_ranks; }

static inline const char* node(int rank) { return text("node%d", node_of(rank)); }

static inline const char* chassis(int rank) { return text("rack%d/chassis%d", node_of(rank) / 4, node_of(rank) / 2 % 2); }

static inline const char* path_of(int rank) { return text("%s/%s", chassis(rank), node(rank)); }

/* A domain with its ranks. */
struct domain {
  char path[64];
  int first, count;
};

static struct domain domains[MOST_DOMAINS]; /* from the outermost on */
static int domain_count;

static inline void add_domain(const char* path, int first, int count)
{
  struct domain* domain = &domains[domain_count++];
  snprintf(domain->path, sizeof domain->path, "%s", path);
  domain->first = first;
  domain->count = count;
}

static inline void find_domains(int ranks)
{
  int each = ranks / NODES;
  job_ranks = ranks;
  for (int i = 0; i < RACKS; i++) add_domain(text("rack%d", i), i * 4 * each, 4 * each);
  for (int i = 0; i < CHASSIS; i++) add_domain(chassis(i * 2 * each), i * 2 * each, 2 * each);
  for (int i = 0; i < NODES; i++) add_domain(path_of(i * each), i * each, each);
  for (int i = 0; i < ranks; i++) add_domain(text("%s/%d", path_of(i), i), i, 1);
}

static inline int is_in(const struct domain* domain, int rank)
{
  return rank >= domain->first && rank < domain->first + domain->count;
}

/* What the report says of the loss of two domains; they may be one. */
static inline int survives(const fdp_t* placement, const struct domain* one, const struct domain* other)
{
  const char* failed[] = { one->path, other->path };
  int answer = fdp_survives(placement, failed, 2, NULL);
  CHECK(answer == 0 || answer == 1);
  return answer == 1;
}

#endif
