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

/* Two domains that are lost at once; they may be one. */
struct loss {
  const struct domain *one, *other;
};

static struct loss losses[MOST_DOMAINS + (RACKS + CHASSIS) * (RACKS + CHASSIS)];
static int loss_count;

static inline void add_loss(int one, int other)
{
  losses[loss_count++] = (struct loss){ &domains[one], &domains[other] };
}

static inline int is_rack(const struct domain* domain) { return domain < domains + RACKS; }

/* Every domain alone, and every two of the outer levels. */
static inline void find_losses(void)
{
  enum { OUTER = RACKS + CHASSIS };
  for (int i = 0; i < domain_count; i++) {
    add_loss(i, i);
    for (int j = i + 1; i < OUTER && j < OUTER; j++) add_loss(i, j);
  }
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
