/* What the tests share: checks that go on after a failure, so that no rank leaves the others waiting.
 * Include mpi.h and kvtree.h first where they are needed. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;

static inline void check_failed(const char* file, int line, const char* what, const char* got, const char* wanted)
{
  if (++check_failures > 20) return;
  fprintf(stderr, "%s:%d: %s", file, line, what);
  if (got && wanted) fprintf(stderr, " is %s, should be %s", got, wanted);
  fputc('\n', stderr);
}

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) check_failed(__FILE__, __LINE__, #condition " is false", NULL, NULL); \
  } while (0)

static inline void check_int(const char* file, int line, const char* what, long long got, long long wanted)
{
  char texts[2][32];
  if (got == wanted) return;
  snprintf(texts[0], sizeof texts[0], "%lld", got);
  snprintf(texts[1], sizeof texts[1], "%lld", wanted);
  check_failed(file, line, what, texts[0], texts[1]);
}

static inline void check_str(const char* file, int line, const char* what, const char* got, const char* wanted)
{
  if (got == wanted || (got && wanted && strcmp(got, wanted) == 0)) return;
  check_failed(file, line, what, got ? got : "NULL", wanted ? wanted : "NULL");
}

#define CHECK_INT(got, wanted) check_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(wanted))
#define CHECK_STR(got, wanted) check_str(__FILE__, __LINE__, #got, got, wanted)

/* For main of a serial test. */
static inline int check_result(void)
{
  if (check_failures) fprintf(stderr, "%d checks failed\n", check_failures);
  return check_failures != 0;
}

/* STANCHION_TEST_SMALL asks for less, for slow tools such as valgrind. */
static inline int check_size(int usual, int small)
{
  return getenv("STANCHION_TEST_SMALL") ? small : usual;
}

/* The same numbers on every machine. */
static inline unsigned check_random(unsigned* state)
{
  unsigned x = *state;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return *state = x;
}

#ifdef KVTREE_H
/* Same keys in the same order, at all depths. */
static inline int check_same(const kvtree* a, const kvtree* b)
{
  size_t size = kvtree_pack_size(a);
  if (size != kvtree_pack_size(b)) return 0;
  char *bytes_a = malloc(size), *bytes_b = malloc(size);
  kvtree_pack(bytes_a, a);
  kvtree_pack(bytes_b, b);
  int same = memcmp(bytes_a, bytes_b, size) == 0;
  free(bytes_a);
  free(bytes_b);
  return same;
}

/* Same keys in any order, at all depths. */
static inline int check_equal(const kvtree* a, const kvtree* b)
{
  if (kvtree_size(a) != kvtree_size(b)) return 0;
  for (kvtree_elem* e = kvtree_elem_first(a); e; e = kvtree_elem_next(e)) {
    kvtree_elem* other = kvtree_elem_get(b, kvtree_elem_key(e));
    if (!other || !check_equal(kvtree_elem_hash(e), kvtree_elem_hash(other))) return 0;
  }
  return 1;
}
#endif

#ifdef MPI_VERSION

/* All ranks, but in reverse order: what tells them apart is not their rank in the world. */
static inline MPI_Comm check_reversed(int* rank, int* size)
{
  MPI_Comm reversed;
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -*rank, &reversed);
  MPI_Comm_rank(reversed, rank);
  MPI_Comm_size(reversed, size);
  return reversed;
}

/* For main of an MPI test: all ranks fail when one does. */
static inline int check_result_mpi(void)
{
  int mine = check_result(), all = 1;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return all;
}
#endif

#endif
