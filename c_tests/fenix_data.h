/* What the tests of data groups share: Fenix without spares, groups of both modes, and values to recognize. */
#ifndef FENIX_DATA_H
#define FENIX_DATA_H

#include <mpi.h>

#include "fenix.h"
#include "stanchion.h"
#include "check.h"

static MPI_Comm world;
static int rank, size;

/* Returns the thread level that MPI has given. */
static inline int begin_at(int level, int* argc, char*** argv)
{
  static int role, error;
  MPI_Init_thread(argc, argv, level, &level);
  Fenix_Init(&role, MPI_COMM_WORLD, &world, argc, argv, 0, 0, MPI_INFO_NULL, &error);
  CHECK_INT(error, 0);
  CHECK_INT(role, FENIX_ROLE_INITIAL_RANK);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  return level;
}

static inline void begin(int* argc, char*** argv) { begin_at(MPI_THREAD_SINGLE, argc, argv); }

static inline int end(void)
{
  CHECK_INT(Fenix_Finalize(), 0);
  return check_result_mpi();
}

/* A way to protect a group; `least` is the number of ranks that it needs. */
struct policy {
  int value[3], least, name;
};

static const struct policy policies[] = {
  { { 1, 1, 0 }, 2, FENIX_DATA_POLICY_IN_MEMORY_RAID }, { { 1, 2, 0 }, 2, FENIX_DATA_POLICY_IN_MEMORY_RAID },
  { { 5, 1, 3 }, 3, FENIX_DATA_POLICY_IN_MEMORY_RAID }, { { 1, 4, 2 }, 4, STANCHION_FENIX_POLICY_RS },
  { { 5, 1, 4 }, 3, FENIX_DATA_POLICY_IN_MEMORY_RAID }, { { 5, 2, 3 }, 3, FENIX_DATA_POLICY_IN_MEMORY_RAID },
  { { 1, 3, 1 }, 3, STANCHION_FENIX_POLICY_RS },
};

enum { POLICIES = sizeof policies / sizeof *policies, GROUP = 7 };

static inline int create_on(MPI_Comm comm, const struct policy* policy, int first, int depth)
{
  int value[3] = { policy->value[0], policy->value[1], policy->value[2] }, flag = 99;
  int code = Fenix_Data_group_create(GROUP, comm, first, depth, policy->name, value, &flag);
  CHECK_INT(flag, code);
  return code;
}

/* Creates the group if there are enough ranks for that. */
static inline int has_group(const struct policy* policy, int first, int depth)
{
  int code = create_on(world, policy, first, depth);
  CHECK_INT(code, size < policy->least ? FENIX_ERROR_GROUP_CREATE : FENIX_SUCCESS);
  return code == FENIX_SUCCESS;
}

/* The same code on all ranks. */
static inline int common(int code)
{
  int both[2] = { code, -code }, most[2];
  MPI_Allreduce(both, most, 2, MPI_INT, MPI_MAX, world);
  CHECK_INT(most[0], -most[1]);
  return code;
}

static inline int value_of(int member, int round, int of_rank, int index)
{
  return member * 1000003 + round * 10007 + of_rank * 101 + index;
}

static inline void fill(int* values, int count, int member, int round)
{
  for (int i = 0; i < count; i++) values[i] = value_of(member, round, rank, i);
}

enum { UNTOUCHED = -7 };

static inline void clear(int* values, int count)
{
  for (int i = 0; i < count; i++) values[i] = UNTOUCHED;
}

/* How many of the elements from..to are not what `of_rank` stored in `round`. */
static inline int wrong(const int* values, int from, int to, int member, int round, int of_rank)
{
  int differ = 0;
  for (int i = from; i < to; i++) differ += values[i] != value_of(member, round, of_rank, i);
  return differ;
}

static inline int touched(const int* values, int from, int to)
{
  int differ = 0;
  for (int i = from; i < to; i++) differ += values[i] != UNTOUCHED;
  return differ;
}

#endif
