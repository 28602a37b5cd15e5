/* Subsets: layout, constants, codes, and what merging two of them gives. Needs no MPI_Init. */
#include <mpi.h>

#include "fenix.h"
#include "fenix_data_recovery.h"
#include "check.h"

#include <stddef.h>

static void check_layout(void)
{
  CHECK_INT(sizeof(Fenix_Data_subset), 40);
  CHECK_INT(offsetof(Fenix_Data_subset, start_offsets), 8);
  CHECK_INT(offsetof(Fenix_Data_subset, end_offsets), 16);
  CHECK_INT(offsetof(Fenix_Data_subset, num_repeats), 24);
  CHECK_INT(offsetof(Fenix_Data_subset, stride), 32);
  CHECK_INT(offsetof(Fenix_Data_subset, specifier), 36);
  CHECK_INT(sizeof(Fenix_Request), 2 * sizeof(MPI_Request));
  CHECK_INT(FENIX_DATA_SUBSET_FULL.specifier, __FENIX_SUBSET_FULL);
  CHECK_INT(FENIX_DATA_SUBSET_EMPTY.specifier, __FENIX_SUBSET_EMPTY);
  CHECK(FENIX_DATA_SUBSET_FULL.num_blocks == 0 && !FENIX_DATA_SUBSET_FULL.start_offsets);
  CHECK_INT(__FENIX_RESUME_NO_JUMP, 200);
}

static void check_create(void)
{
  Fenix_Data_subset s;
  memset(&s, 0x55, sizeof s);
  CHECK_INT(Fenix_Data_subset_create(0, 0, 9, 20, &s), FENIX_ERROR_SUBSET_NUM_BLOCKS);
  CHECK_INT(Fenix_Data_subset_create(3, -1, 9, 20, &s), FENIX_ERROR_SUBSET_START_OFFSET);
  CHECK_INT(Fenix_Data_subset_create(3, 0, -1, 20, &s), FENIX_ERROR_SUBSET_END_OFFSET);
  CHECK_INT(Fenix_Data_subset_create(3, 5, 4, 20, &s), FENIX_ERROR_SUBSET_END_OFFSET);
  CHECK_INT(Fenix_Data_subset_create(3, 0, 9, 0, &s), FENIX_ERROR_SUBSET_STRIDE);
  CHECK_INT(s.num_blocks, 0x55555555);
  CHECK(Fenix_Data_subset_create(3, 0, 9, 20, NULL) < 0);
  CHECK_INT(Fenix_Data_subset_create(3, 5, 7, 10, &s), FENIX_SUCCESS);
  CHECK(s.num_blocks == 1 && s.start_offsets[0] == 5 && s.end_offsets[0] == 7 && s.num_repeats[0] == 2);
  CHECK(s.stride == 10 && s.specifier == __FENIX_SUBSET_CREATE);
  CHECK_INT(Fenix_Data_subset_delete(&s), FENIX_SUCCESS);
  CHECK_INT(s.specifier, __FENIX_SUBSET_UNDEFINED);
  CHECK_INT(Fenix_Data_subset_delete(&s), FENIX_SUCCESS);
}

static void check_createv(void)
{
  Fenix_Data_subset s;
  int starts[] = { 7, 0, 40 }, ends[] = { 9, 0, 49 }, low[] = { 7, 0, -1 }, before[] = { 9, 0, 39 };
  CHECK_INT(Fenix_Data_subset_createv(0, starts, ends, &s), FENIX_ERROR_SUBSET_NUM_BLOCKS);
  CHECK_INT(Fenix_Data_subset_createv(-3, starts, ends, &s), FENIX_ERROR_SUBSET_NUM_BLOCKS);
  CHECK_INT(Fenix_Data_subset_createv(3, NULL, ends, &s), FENIX_ERROR_SUBSET_START_OFFSET);
  CHECK_INT(Fenix_Data_subset_createv(3, starts, NULL, &s), FENIX_ERROR_SUBSET_END_OFFSET);
  CHECK_INT(Fenix_Data_subset_createv(3, low, ends, &s), FENIX_ERROR_SUBSET_START_OFFSET);
  CHECK_INT(Fenix_Data_subset_createv(3, starts, before, &s), FENIX_ERROR_SUBSET_END_OFFSET);
  CHECK(Fenix_Data_subset_createv(3, starts, ends, NULL) < 0);
  CHECK_INT(Fenix_Data_subset_createv(3, starts, ends, &s), FENIX_SUCCESS);
  starts[0] = ends[0] = 99; /* they are the caller's */
  CHECK(s.num_blocks == 3 && s.specifier == __FENIX_SUBSET_CREATEV);
  CHECK(s.start_offsets[0] == 7 && s.end_offsets[0] == 9 && s.start_offsets[2] == 40 && s.end_offsets[2] == 49);
  CHECK(s.num_repeats[0] == 0 && s.num_repeats[1] == 0 && s.num_repeats[2] == 0);
  CHECK_INT(Fenix_Data_subset_delete(&s), FENIX_SUCCESS);
  CHECK(Fenix_Data_subset_delete(NULL) < 0);
  CHECK_INT(Fenix_Data_subset_delete((Fenix_Data_subset*)&FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  CHECK_INT(FENIX_DATA_SUBSET_FULL.specifier, __FENIX_SUBSET_FULL);
}

/* ---- merging ---- */

static void check_blocks(int line, const Fenix_Data_subset* got, int specifier, int stride, int blocks, const int* bounds)
{
  check_int(__FILE__, line, "specifier", got->specifier, specifier);
  check_int(__FILE__, line, "num_blocks", got->num_blocks, blocks);
  if (specifier == __FENIX_SUBSET_CREATE) check_int(__FILE__, line, "stride", got->stride, stride);
  for (int i = 0; i < blocks && i < got->num_blocks; i++) {
    check_int(__FILE__, line, "start", got->start_offsets[i], bounds[3 * i]);
    check_int(__FILE__, line, "end", got->end_offsets[i], bounds[3 * i + 1]);
    check_int(__FILE__, line, "repeats", got->num_repeats[i], bounds[3 * i + 2]);
  }
}

/* As upstream's test of the same name, and with the right number of repeats. */
static void check_merge_of_created(void)
{
  static const struct {
    int first[4], second[4], specifier, stride, blocks, bounds[6];
  } cases[] = {
    { { 3, 2, 5, 5 }, { 3, 2, 5, 5 }, 3, 5, 1, { 2, 5, 2 } },
    { { 1, 17, 20, 5 }, { 3, 12, 15, 5 }, 3, 5, 1, { 12, 15, 2 } },
    { { 1, 22, 25, 5 }, { 2, 12, 15, 5 }, 3, 5, 1, { 12, 15, 2 } },
    { { 1, 22, 25, 5 }, { 1, 12, 15, 5 }, 3, 5, 2, { 22, 25, 0, 12, 15, 0 } },
    { { 1, 13, 15, 5 }, { 1, 12, 15, 5 }, 3, 5, 1, { 12, 15, 0 } },
    { { 1, 17, 19, 5 }, { 1, 12, 15, 5 }, 3, 5, 2, { 17, 19, 0, 12, 15, 0 } },
    { { 1, 17, 19, 5 }, { 2, 12, 15, 5 }, 3, 5, 1, { 12, 15, 1 } },
    { { 1, 17, 19, 6 }, { 1, 12, 15, 5 }, 4, 0, 2, { 17, 19, 0, 12, 15, 0 } },
    { { 1, 13, 16, 6 }, { 1, 12, 15, 5 }, 4, 0, 1, { 12, 16, 0 } },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Fenix_Data_subset a, b, both;
    const int *f = cases[i].first, *s = cases[i].second;
    CHECK_INT(Fenix_Data_subset_create(f[0], f[1], f[2], f[3], &a), FENIX_SUCCESS);
    CHECK_INT(Fenix_Data_subset_create(s[0], s[1], s[2], s[3], &b), FENIX_SUCCESS);
    memset(&both, 0x55, sizeof both);
    __fenix_data_subset_merge(&a, &b, &both);
    check_blocks(1000 + (int)i, &both, cases[i].specifier, cases[i].stride, cases[i].blocks, cases[i].bounds);
    CHECK_INT(__fenix_data_subset_free(&a), FENIX_SUCCESS);
    CHECK_INT(__fenix_data_subset_free(&b), FENIX_SUCCESS);
    CHECK_INT(__fenix_data_subset_free(&both), FENIX_SUCCESS);
    CHECK_INT(Fenix_Data_subset_delete(&a), FENIX_SUCCESS);
  }
}

static void check_merge_of_blocks(void)
{
  Fenix_Data_subset a, b, both;
  int starts[] = { 1, 4, 21, 23 }, ends[] = { 2, 17, 25, 26 }, more_starts[] = { 0, 18, 30 }, more_ends[] = { 1, 19, 30 };
  int other_starts[] = { 0, 12, 31 }, other_ends[] = { 1, 20, 31 };
  CHECK_INT(Fenix_Data_subset_createv(4, starts, ends, &a), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_subset_createv(3, more_starts, more_ends, &b), FENIX_SUCCESS);
  __fenix_data_subset_merge(&a, &b, &both);
  check_blocks(__LINE__, &both, 4, 0, 4, (const int[]){ 0, 2, 0, 4, 19, 0, 21, 26, 0, 30, 30, 0 });
  Fenix_Data_subset_delete(&a);
  Fenix_Data_subset_delete(&b);
  Fenix_Data_subset_delete(&both);
  CHECK_INT(Fenix_Data_subset_create(4, 11, 13, 10, &a), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_subset_createv(3, other_starts, other_ends, &b), FENIX_SUCCESS);
  __fenix_data_subset_merge(&a, &b, &both);
  check_blocks(__LINE__, &both, 4, 0, 4, (const int[]){ 11, 23, 0, 31, 33, 0, 41, 43, 0, 0, 1, 0 });
  Fenix_Data_subset_delete(&both);
  both = FENIX_DATA_SUBSET_FULL;
  Fenix_Data_subset all;
  __fenix_data_subset_merge(&a, &both, &all);
  CHECK_INT(all.specifier, __FENIX_SUBSET_FULL);
  CHECK_INT(Fenix_Data_subset_delete(&all), FENIX_SUCCESS);
  both = FENIX_DATA_SUBSET_EMPTY;
  __fenix_data_subset_merge(&both, &a, &all);
  check_blocks(__LINE__, &all, 3, 10, 1, (const int[]){ 11, 13, 3 });
  CHECK_INT(Fenix_Data_subset_delete(&all), FENIX_SUCCESS);
  Fenix_Data_subset_delete(&a);
  Fenix_Data_subset_delete(&b);
  __fenix_data_subset_merge(&a, &b, &all); /* of what was deleted */
  CHECK_INT(all.specifier, __FENIX_SUBSET_UNDEFINED);
  __fenix_data_subset_merge(NULL, &b, &all);
  __fenix_data_subset_merge(&b, &b, NULL);
}

enum { ELEMENTS = 200 };

static void mark(const Fenix_Data_subset* s, char* marks)
{
  for (int b = 0; b < s->num_blocks; b++)
    for (int r = 0; r <= s->num_repeats[b]; r++)
      for (int i = s->start_offsets[b]; i <= s->end_offsets[b]; i++) marks[i + r * s->stride] = 1;
}

static Fenix_Data_subset random_subset(unsigned* state)
{
  Fenix_Data_subset s;
  int start = (int)(check_random(state) % 40), length = (int)(check_random(state) % 6);
  if (check_random(state) % 2) {
    int stride = 1 + (int)(check_random(state) % 8), blocks = 1 + (int)(check_random(state) % 8);
    CHECK_INT(Fenix_Data_subset_create(blocks, start, start + length, stride, &s), FENIX_SUCCESS);
  } else {
    int starts[4], ends[4];
    for (int i = 0; i < 4; i++) {
      starts[i] = (int)(check_random(state) % 60);
      ends[i] = starts[i] + (int)(check_random(state) % 9);
    }
    CHECK_INT(Fenix_Data_subset_createv(1 + (int)(check_random(state) % 4), starts, ends, &s), FENIX_SUCCESS);
  }
  return s;
}

static void check_merge_of_any(void)
{
  unsigned state = 11;
  for (int round = 0; round < 3000; round++) {
    char wanted[ELEMENTS] = { 0 }, got[ELEMENTS] = { 0 };
    Fenix_Data_subset a = random_subset(&state), b = random_subset(&state), both;
    mark(&a, wanted);
    mark(&b, wanted);
    __fenix_data_subset_merge(&a, &b, &both);
    mark(&both, got);
    CHECK(memcmp(wanted, got, sizeof got) == 0);
    Fenix_Data_subset_delete(&a);
    Fenix_Data_subset_delete(&b);
    Fenix_Data_subset_delete(&both);
  }
}

int main(void)
{
  check_layout();
  check_create();
  check_createv();
  check_merge_of_created();
  check_merge_of_blocks();
  check_merge_of_any();
  return check_result();
}
