/* Decompositions: what the rearrangers let I/O tasks hold, that data come back from there as they went, and all ways to
 * describe a map. */
#include <stdint.h>

#include "pio_common.h"

/* ---- what I/O tasks hold ---- */

/* The elements of one region, row by row. */
static int list_region(int ndims, const int* dims, const int64_t* start, const int64_t* count, PIO_Offset* elements)
{
  int64_t number = 1, at[7] = { 0 };
  for (int d = 0; d < ndims; d++) number *= count[d];
  for (int64_t i = 0; i < number; i++) {
    PIO_Offset element = 0;
    for (int d = 0; d < ndims; d++) element = element * dims[d] + start[d] + at[d];
    elements[i] = element;
    for (int d = ndims - 1; d >= 0 && ++at[d] == count[d]; d--) at[d] = 0;
  }
  return (int)number;
}

/* The elements that this rank holds as an I/O task, counted from 0, in the order of its buffer. */
static int held_elements(int id, int ndims, const int* dims, PIO_Offset** elements)
{
  int64_t number = -1, regions = -1, *start, *count;
  int listed = 0;
  NEED(stanchion_pio_held(id, &number, &regions));
  if (number < 0 || regions < 0) return -1;
  start = malloc(((size_t)(regions * ndims) + 1) * sizeof *start);
  count = malloc(((size_t)(regions * ndims) + 1) * sizeof *count);
  *elements = malloc(((size_t)number + 1) * sizeof **elements);
  NEED(stanchion_pio_regions(id, start, count));
  for (int r = 0; r < regions; r++) listed += list_region(ndims, dims, start + r * ndims, count + r * ndims, *elements + listed);
  CHECK_INT(listed, number);
  free(start);
  free(count);
  return listed;
}

static void check_held(int id, int ndims, const int* dims, const PIO_Offset* wanted, int count)
{
  PIO_Offset* elements = NULL;
  int number = held_elements(id, ndims, dims, &elements), same = 0;
  CHECK_INT(number, count);
  for (int i = 0; i < number && i < count; i++) same += elements[i] == wanted[i];
  CHECK_INT(same, count);
  free(elements);
}

/* The example of PIO's documentation, on 5 ranks. */
static void check_example(void)
{
  static const PIO_Offset maps[5][4] = {
    { 0, 4, 8, 12 }, { 16, 1, 5, 9 }, { 13, 17, 2, 6 }, { 10, 14, 18, 3 }, { 7, 11, 15, 19 }
  };
  static const PIO_Offset box[2][10] = { { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 } };
  static const PIO_Offset subset[2][12] = { { 0, 1, 4, 5, 8, 9, 12, 16 }, { 2, 3, 6, 7, 10, 11, 13, 14, 15, 17, 18, 19 } };
  static const int dims[2] = { 4, 5 };
  int system = -1, id = -1, task = -1;
  if (size != 5) return;
  PIOc_set_blocksize(8);
  NEED(PIOc_Init_Intracomm(MPI_COMM_WORLD, 2, 2, 0, PIO_REARR_BOX, &system));
  NEED(PIOc_iotask_rank(system, &task));
  CHECK_INT(task, rank == 0 ? 0 : rank == 2 ? 1 : -1);
  NEED(PIOc_init_decomp(system, PIO_INT, 2, dims, 4, maps[rank], &id, PIO_REARR_BOX, NULL, NULL));
  check_held(id, 2, dims, task < 0 ? NULL : box[task], task < 0 ? 0 : 10);
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_init_decomp(system, PIO_INT, 2, dims, 4, maps[rank], &id, PIO_REARR_SUBSET, NULL, NULL));
  check_held(id, 2, dims, task < 0 ? NULL : subset[task], task < 0 ? 0 : task == 0 ? 8 : 12);
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_finalize(system));
}

/* Box: all I/O tasks have as much, to within one element or row, whatever the shape; nothing is missing. */
static void check_box(int tasks)
{
  static const int shapes[][3] = { { 997, 1, 1 }, { 60, 31, 1 }, { 7, 200, 3 }, { 3, 5, 640 }, { 500, 2, 2 } };
  int system = new_system(tasks, PIO_REARR_BOX), used = tasks > size ? size : tasks;
  PIOc_set_blocksize(8);
  for (int s = 0; s < 5; s++) {
    struct map map = new_map(STRIDE, 3, shapes[s]);
    int id = describe(system, PIO_DOUBLE, &map, PIO_REARR_BOX);
    PIO_Offset* elements = NULL;
    int count = held_elements(id, 3, map.dims, &elements), row = shapes[s][1] * shapes[s][2], total = 0, most = 0;
    int least = count > 0 ? count : 1 << 30, in_order = 1;
    for (int i = 1; i < count; i++) in_order &= elements[i] == elements[i - 1] + 1;
    CHECK(in_order);
    MPI_Allreduce(&count, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&count, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    CHECK_INT(total, map.total);
    CHECK(most - least <= (shapes[s][0] / used >= 64 ? row : 1));
    CHECK(most <= map.total / used + row);
    free(elements);
    NEED(PIOc_freedecomp(system, id));
    free_map(&map);
  }
  NEED(PIOc_finalize(system));
}

/* A block size that leaves work for one I/O task only. */
static void check_block_size(void)
{
  int system = new_system(2, PIO_REARR_BOX), task = -1, dims[1] = { 1000 };
  struct map map = new_map(STRIDE, 1, dims);
  NEED(PIOc_iotask_rank(system, &task));
  CHECK_INT(PIOc_set_blocksize(1 << 20), PIO_NOERR);
  int id = describe(system, PIO_INT, &map, PIO_REARR_BOX);
  PIO_Offset* elements = NULL;
  CHECK_INT(held_elements(id, 1, dims, &elements), task == 0 ? 1000 : 0);
  free(elements);
  CHECK_INT(PIOc_set_blocksize(-4), PIO_NOERR); /* ignored */
  CHECK_INT(PIOc_set_blocksize(8), PIO_NOERR);
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_finalize(system));
  free_map(&map);
}

/* Regions that the caller chooses: the last task has the first rows. */
static void check_given_regions(void)
{
  static const int dims[2] = { 10, 6 };
  struct map map = new_map(SCATTERED, 2, dims);
  int system = new_system(2, PIO_REARR_BOX), task = -1, id = -1, box = PIO_REARR_BOX, two = size > 1;
  PIO_Offset start[2] = { 0, 0 }, count[2] = { 0, 0 }, wanted[60];
  NEED(PIOc_iotask_rank(system, &task));
  if (task >= 0) {
    start[0] = task == 1 ? 0 : two ? 4 : 0;
    count[0] = task == 1 ? 4 : two ? 6 : 10;
    count[1] = 6;
  }
  for (int i = 0; i < 60; i++) wanted[i] = start[0] * 6 + i;
  NEED(PIOc_InitDecomp(system, PIO_INT, 2, dims, map.length, map.places, &id, &box, start, count));
  check_held(id, 2, dims, wanted, (int)(count[0] * count[1]));
  NEED(PIOc_freedecomp(system, id));
  if (task == 0) count[0] -= 1; /* a row that nobody takes */
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 2, dims, map.length, map.places, &id, &box, start, count)), PIO_EINVAL);
  if (task == 0) count[0] += 2; /* beyond the end */
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 2, dims, map.length, map.places, &id, &box, start, count)), PIO_EINVAL);
  if (task == 0) count[0] -= 1;
  if (task == 1) count[0] += 1; /* a row that both take */
  if (two) CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 2, dims, map.length, map.places, &id, &box, start, count)), PIO_EINVAL);
  NEED(PIOc_finalize(system));
  free_map(&map);
}

/* Subset: an I/O task has exactly the elements of its group; groups differ by one rank at most. */
static void check_subset(int tasks)
{
  static const int dims[2] = { 20, 15 };
  struct map map = new_map(SCATTERED, 2, dims);
  int system = new_system(tasks, PIO_REARR_SUBSET), id = describe(system, PIO_INT, &map, PIO_REARR_SUBSET);
  PIO_Offset* elements = NULL;
  int count = held_elements(id, 2, dims, &elements), total = 0, owned = 0, all = 0, groups = tasks > size ? size : tasks;
  int of_rank[64] = { 0 }, members = 0, in_order = 1;
  for (int i = 0; i < map.length; i++) owned += map.places[i] > 0;
  MPI_Allreduce(&owned, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&count, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_INT(total, all);
  for (int i = 0; i < count; i++) {
    of_rank[owner(SCATTERED, elements[i], 300)]++;
    in_order &= i == 0 || elements[i] > elements[i - 1];
  }
  CHECK(in_order);
  for (int r = 0; r < size; r++) members += of_rank[r] > 0;
  if (count > 0) CHECK(members == size / groups || members == size / groups + 1);
  free(elements);
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_finalize(system));
  free_map(&map);
}

/* ---- there and back ---- */

static void check_there_and_back(int system, int rearranger, enum pattern pattern, int ndims, const int* dims)
{
  struct map map = new_map(pattern, ndims, dims);
  int id = describe(system, PIO_DOUBLE, &map, rearranger), right = 0;
  double *values = new_values(&map, 3), *back = empty_values(&map), fill = -3;
  PIO_Offset* elements = NULL;
  int count = held_elements(id, ndims, dims, &elements);
  double* held = malloc(((size_t)count + 1) * sizeof *held);
  NEED(stanchion_pio_to_io(id, values, map.length, &fill, held, count));
  for (int i = 0; i < count; i++)
    right += held[i] == (owner(pattern, elements[i], map.total) < 0 ? fill : value_of(elements[i] + 1, 3));
  CHECK_INT(right, count);
  NEED(stanchion_pio_to_compute(id, held, count, back, map.length));
  CHECK_VALUES(&map, 3, back);
  NEED(PIOc_freedecomp(system, id));
  free(elements);
  free(held);
  free(values);
  free(back);
  free_map(&map);
}

static void check_moves(int tasks)
{
  static const int shapes[][7] = { { 83 }, { 9, 14 }, { 4, 5, 6 }, { 2, 3, 4, 5 }, { 2, 2, 3, 2, 3 }, { 2, 1, 3, 2, 2, 3 },
                                   { 2, 2, 1, 3, 2, 2, 2 } };
  for (int r = 0; r < 2; r++) {
    int system = new_system(tasks, rearrangers[r]);
    for (int ndims = 1; ndims <= 7; ndims++)
      for (int pattern = 0; pattern < PATTERNS; pattern++)
        check_there_and_back(system, rearrangers[r], pattern, ndims, shapes[ndims - 1]);
    NEED(PIOc_finalize(system));
  }
}

/* ---- descriptions ---- */

/* All ways to say the same. */
static void check_forms(void)
{
  static const int dims[2] = { 12, 10 };
  struct map map = { 2, { 12, 10 }, 0, 120, malloc(120 * sizeof *map.places) };
  int system = new_system(2, PIO_REARR_SUBSET), by_map = -1, from_zero = -1, by_block = -1, subset = PIO_REARR_SUBSET;
  long start[2] = { 12L * rank / size, 0 }, count[2] = { 12L * (rank + 1) / size - start[0], 10 };
  PIO_Offset zero_based[120], *first = NULL, *other = NULL;
  for (long row = start[0]; row < start[0] + count[0]; row++)
    for (long column = 0; column < 10; column++) map.places[map.length++] = row * 10 + column + 1;
  for (int i = 0; i < map.length; i++) zero_based[i] = map.places[i] - 1;
  NEED(PIOc_InitDecomp(system, PIO_INT, 2, dims, map.length, map.places, &by_map, NULL, NULL, NULL)); /* as the system has it */
  NEED(PIOc_init_decomp(system, PIO_INT, 2, dims, map.length, zero_based, &from_zero, subset, NULL, NULL));
  NEED(PIOc_InitDecomp_bc(system, PIO_INT, 2, dims, start, count, &by_block));
  CHECK(by_map >= 512 && from_zero == by_map + 1 && by_block == from_zero + 1);
  CHECK_INT(PIOc_get_local_array_size(by_block), map.length);
  int number = held_elements(by_map, 2, dims, &first);
  CHECK_INT(held_elements(by_block, 2, dims, &other), number);
  for (int i = 0; i < number; i++) CHECK_INT(other[i], first[i]);
  free(other);
  CHECK_INT(held_elements(from_zero, 2, dims, &other), number);
  for (int i = 0; i < number; i++) CHECK_INT(other[i], first[i]);
  free(other);
  free(first);
  NEED(PIOc_freedecomp(system, by_map));
  CHECK_INT(COMMON(PIOc_freedecomp(system, by_map)), PIO_EBADID);
  NEED(PIOc_freedecomp(system, from_zero));
  NEED(PIOc_freedecomp(system, by_block));
  NEED(PIOc_finalize(system));
  free_map(&map);
}

/* Nobody has anything; some have nothing. */
static void check_empty(void)
{
  static const int dims[1] = { 30 };
  for (int r = 0; r < 2; r++) {
    int system = new_system(2, rearrangers[r]), id = -1;
    NEED(PIOc_InitDecomp(system, PIO_INT, 1, dims, 0, NULL, &id, NULL, NULL, NULL));
    CHECK_INT(PIOc_get_local_array_size(id), 0);
    NEED(PIOc_freedecomp(system, id));
    NEED(PIOc_finalize(system));
  }
}

/* The same again and again, and freed in another order. */
static void check_again(void)
{
  enum { TIMES = 20 };
  static const int dims[1] = { 300 };
  struct map map = new_map(SCATTERED, 1, dims);
  int system = new_system(2, PIO_REARR_SUBSET), ids[TIMES];
  for (int i = 0; i < TIMES; i++) ids[i] = describe(system, i % 2 ? PIO_INT : PIO_FLOAT, &map, rearrangers[i / 2 % 2]);
  for (int i = 1; i < TIMES; i++) CHECK(ids[i] > ids[i - 1]);
  for (int i = 0; i < TIMES; i++) NEED(PIOc_freedecomp(system, ids[i * 7 % TIMES]));
  NEED(PIOc_finalize(system));
  free_map(&map);
}

/* Many systems, one after the other and beside each other. */
static void check_many_systems(void)
{
  int systems[3], tasks = 0;
  bool active = false;
  for (int i = 0; i < 40; i++) NEED(PIOc_finalize(new_system(1 + i % 2, rearrangers[i % 2])));
  for (int i = 0; i < 3; i++) systems[i] = new_system(i + 1, PIO_REARR_BOX);
  CHECK(systems[0] != systems[1] && systems[1] != systems[2] && systems[0] != systems[2]);
  NEED(PIOc_finalize(systems[0]));
  for (int i = 1; i < 3; i++) {
    NEED(PIOc_get_numiotasks(systems[i], &tasks));
    CHECK_INT(tasks, i + 1 < size ? i + 1 : size);
  }
  systems[0] = new_system(1, PIO_REARR_SUBSET);
  CHECK(systems[0] != systems[1] && systems[0] != systems[2]);
  NEED(PIOc_iosystem_is_active(systems[0], &active));
  CHECK(active);
  for (int i = 0; i < 3; i++) NEED(PIOc_finalize(systems[i]));
  NEED(PIOc_iosystem_is_active(systems[0], &active));
  CHECK(!active);
}

int main(int argc, char** argv)
{
  int tasks[3];
  begin(&argc, &argv);
  check_example();
  for (int n = 0, numbers = task_numbers(tasks); n < numbers; n++) {
    check_box(tasks[n]);
    check_subset(tasks[n]);
    check_moves(tasks[n]);
  }
  check_block_size();
  check_given_regions();
  check_forms();
  check_empty();
  check_again();
  check_many_systems();
  return check_result_mpi();
}
