/* Distributed arrays come back as they were written: with every file library, rearranger and number of I/O tasks, by
 * the same or by another decomposition. */
#include "pio_common.h"

static int iotype;

static int create(int system, const char* name)
{
  int ncid = -1, type = iotype;
  NEED(PIOc_createfile(system, &ncid, &type, name, PIO_CLOBBER | PIO_64BIT_DATA));
  CHECK_INT(type, iotype);
  return ncid;
}

static int reopen(int system, const char* name, int mode)
{
  int ncid = -1, type = iotype;
  NEED(PIOc_openfile(system, &ncid, &type, name, mode));
  return ncid;
}

static void write_values(int ncid, int varid, int decomposition, const struct map* map, int variable)
{
  double* values = new_values(map, variable);
  NEED(PIOc_write_darray(ncid, varid, decomposition, map->length, values, NULL));
  for (int i = 0; i < map->length; i++) values[i] = -1; /* they were taken over */
  free(values);
}

/* ---- one variable, all patterns ---- */

static void check_round_trip(int system, int rearranger, enum pattern pattern, int ndims, const int* dims)
{
  struct map map = new_map(pattern, ndims, dims), other = new_map(STRIDE, ndims, dims);
  int decomposition = describe(system, PIO_DOUBLE, &map, rearranger), ids[8], varid, field, size_of_map;
  int ncid = create(system, "round.nc");
  int count = define_dims(ncid, &map, 0, ids);
  NEED(PIOc_def_var(ncid, "field", PIO_DOUBLE, count, ids, &varid));
  NEED(PIOc_enddef(ncid));
  write_values(ncid, varid, decomposition, &map, 1);
  NEED(PIOc_sync(ncid));
  CHECK_READS(ncid, varid, decomposition, &map, 1);
  NEED(PIOc_closefile(ncid));
  size_of_map = PIOc_get_local_array_size(decomposition);
  CHECK_INT(size_of_map, map.length);

  ncid = reopen(system, "round.nc", PIO_NOWRITE);
  NEED(PIOc_inq_varid(ncid, "field", &field));
  CHECK_READS(ncid, field, decomposition, &map, 1);
  if (!has_gaps(pattern)) {
    int by_stride = describe(system, PIO_DOUBLE, &other, rearranger == PIO_REARR_BOX ? PIO_REARR_SUBSET : PIO_REARR_BOX);
    CHECK_READS(ncid, field, by_stride, &other, 1);
    NEED(PIOc_freedecomp(system, by_stride));
  }
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_freedecomp(system, decomposition));
  free_map(&map);
  free_map(&other);
}

static void check_patterns(int system, int rearranger, int all)
{
  static const int shapes[][4] = { { 97 }, { 11, 13 }, { 5, 4, 7 }, { 3, 1, 4, 5 } };
  int every = all ? 1 : 3;
  for (int pattern = 0; pattern < PATTERNS; pattern++)
    for (int ndims = 1; ndims <= 4; ndims++)
      if ((4 * pattern + ndims + size) % every == 0) check_round_trip(system, rearranger, pattern, ndims, shapes[ndims - 1]);
  check_round_trip(system, rearranger, BLOCK, 1, (int[]){ 1 }); /* most ranks have nothing */
  check_round_trip(system, rearranger, SCATTERED, 7, (int[]){ 2, 1, 3, 1, 2, 2, 3 });
}

/* So large that an array goes to its I/O tasks in many messages, and to the file piece by piece as they arrive. */
static void check_large(int system, int rearranger)
{
  static const int shape[] = { 701, 901 };
  for (int pattern = 0; pattern < PATTERNS; pattern++) check_round_trip(system, rearranger, pattern, 2, shape);
  check_round_trip(system, rearranger, BLOCK, 1, (int[]){ 700001 });
}

/* ---- records ---- */

static void check_records(int system, int rearranger)
{
  static const int dims[2] = { 6, 9 };
  struct map map = new_map(STRIDE, 2, dims);
  int decomposition = describe(system, PIO_DOUBLE, &map, rearranger), ids[3], temperature, still, found;
  PIO_Offset length = 0;
  double any[54] = { 0 };
  int ncid = create(system, "records.nc");
  int count = define_dims(ncid, &map, 1, ids);
  NEED(PIOc_def_var(ncid, "temperature", PIO_DOUBLE, count, ids, &temperature));
  NEED(PIOc_def_var(ncid, "still", PIO_DOUBLE, count - 1, ids + 1, &still));
  NEED(PIOc_enddef(ncid));
  write_values(ncid, still, decomposition, &map, 6);
  CHECK(COMMON(PIOc_write_darray(ncid, temperature, decomposition, map.length, any, NULL)) != PIO_NOERR); /* which record? */
  for (int record = 0; record < 3; record++) { /* in other orders than they come */
    NEED(PIOc_setframe(ncid, temperature, 2 - record));
    write_values(ncid, temperature, decomposition, &map, 2 - record);
  }
  NEED(PIOc_setframe(ncid, temperature, 2));
  NEED(PIOc_advanceframe(ncid, temperature));
  write_values(ncid, temperature, decomposition, &map, 3);
  NEED(PIOc_setframe(ncid, temperature, 1));
  write_values(ncid, temperature, decomposition, &map, 4); /* what is written later stays */
  NEED(PIOc_closefile(ncid));

  ncid = reopen(system, "records.nc", PIO_WRITE);
  NEED(PIOc_inq_dimid(ncid, "time", &found));
  NEED(PIOc_inq_dimlen(ncid, found, &length));
  CHECK_INT(length, 4);
  NEED(PIOc_inq_varid(ncid, "temperature", &temperature));
  NEED(PIOc_inq_varid(ncid, "still", &still));
  CHECK_READS(ncid, still, decomposition, &map, 6);
  for (int record = 0; record < 4; record++) {
    NEED(PIOc_setframe(ncid, temperature, record));
    CHECK_READS(ncid, temperature, decomposition, &map, record == 1 ? 4 : record);
  }
  NEED(PIOc_setframe(ncid, temperature, 4));
  CHECK(COMMON(PIOc_read_darray(ncid, temperature, decomposition, map.length, any)) != PIO_NOERR); /* not there yet */
  write_values(ncid, temperature, decomposition, &map, 5);
  NEED(PIOc_sync(ncid));
  CHECK_READS(ncid, temperature, decomposition, &map, 5);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_freedecomp(system, decomposition));
  free_map(&map);
}

/* ---- places that nobody has ---- */

static void check_fill_with(int system, int rearranger, const double* given)
{
  static const int dims[1] = { 200 };
  struct map map = new_map(SCATTERED, 1, dims), all = new_map(BLOCK, 1, dims);
  int decomposition = describe(system, PIO_DOUBLE, &map, rearranger), blocks = describe(system, PIO_DOUBLE, &all, PIO_REARR_BOX);
  int ids[1], varid, ncid = create(system, "fill.nc");
  double wanted = given ? *given : PIO_FILL_DOUBLE, *values = new_values(&map, 2);
  define_dims(ncid, &map, 0, ids);
  NEED(PIOc_def_var(ncid, "field", PIO_DOUBLE, 1, ids, &varid));
  NEED(PIOc_enddef(ncid));
  NEED(PIOc_write_darray(ncid, varid, decomposition, map.length, values, given ? (void*)given : NULL));
  NEED(PIOc_closefile(ncid));
  free(values);

  ncid = reopen(system, "fill.nc", PIO_NOWRITE);
  values = empty_values(&all);
  NEED(PIOc_read_darray(ncid, varid, blocks, all.length, values));
  for (int i = 0; i < all.length; i++) {
    PIO_Offset element = all.places[i] - 1;
    int filled = owner(SCATTERED, element, 200) < 0;
    CHECK(values[i] == (filled ? wanted : value_of(element + 1, 2)));
  }
  free(values);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_freedecomp(system, blocks));
  NEED(PIOc_freedecomp(system, decomposition));
  free_map(&map);
  free_map(&all);
}

static void check_fill(int system, int rearranger)
{
  const double value = -99.5;
  check_fill_with(system, rearranger, &value);
  check_fill_with(system, rearranger, NULL);
}

/* ---- many variables ---- */

static void check_multi(int system, int rearranger)
{
  enum { VARIABLES = 3 };
  static const int dims[2] = { 7, 8 };
  struct map map = new_map(SCATTERED, 2, dims);
  int decomposition = describe(system, PIO_DOUBLE, &map, rearranger), ids[3], varids[VARIABLES], frames[VARIABLES] = { 1, 0, 2 };
  int ncid = create(system, "multi.nc"), count = define_dims(ncid, &map, 1, ids);
  double *values = malloc(((size_t)map.length * VARIABLES + 1) * sizeof *values), fills[VARIABLES] = { 17, 18, 19 };
  for (int v = 0; v < VARIABLES; v++) {
    double* part = new_values(&map, v);
    char name[8] = { 'a', (char)('0' + v), 0 };
    NEED(PIOc_def_var(ncid, name, PIO_DOUBLE, count, ids, &varids[v]));
    memcpy(values + (size_t)v * map.length, part, (size_t)map.length * sizeof *part);
    free(part);
  }
  NEED(PIOc_enddef(ncid));
  NEED(PIOc_write_darray_multi(ncid, varids, decomposition, VARIABLES, map.length, values, frames, (void*)fills, true));
  for (int v = 0; v < VARIABLES; v++) {
    NEED(PIOc_setframe(ncid, varids[v], frames[v]));
    CHECK_READS(ncid, varids[v], decomposition, &map, v);
  }
  NEED(PIOc_write_darray_multi(ncid, varids, decomposition, VARIABLES, map.length, values, frames, NULL, false));
  free(values);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_freedecomp(system, decomposition));
  free_map(&map);
}

/* More than the buffer holds, by two decompositions, into two files in turns. */
static void check_buffering(int system, int rearranger, PIO_Offset limit)
{
  enum { VARIABLES = 6 };
  static const int dims[2] = { 16, 25 };
  struct map maps[2] = { new_map(STRIDE, 2, dims), new_map(SCATTERED, 2, dims) };
  int decompositions[2], files[2], ids[2], varids[VARIABLES];
  PIO_Offset old = PIOc_set_buffer_size_limit(limit);
  for (int i = 0; i < 2; i++) {
    decompositions[i] = describe(system, PIO_DOUBLE, &maps[i], rearranger);
    files[i] = create(system, i ? "second.nc" : "first.nc");
    define_dims(files[i], &maps[0], 0, ids);
    for (int v = 0; v < VARIABLES; v++) {
      char name[8] = { 'v', (char)('0' + v), 0 };
      NEED(PIOc_def_var(files[i], name, PIO_DOUBLE, 2, ids, &varids[v]));
    }
    NEED(PIOc_enddef(files[i]));
  }
  for (int v = 0; v < VARIABLES; v++)
    for (int i = 0; i < 2; i++) write_values(files[i], varids[v], decompositions[(v + i) % 2], &maps[(v + i) % 2], v);
  for (int i = 0; i < 2; i++) NEED(PIOc_freedecomp(system, decompositions[i])); /* what is buffered is still written */
  NEED(PIOc_closefile(files[0]));
  NEED(PIOc_closefile(files[1]));
  for (int i = 0; i < 2; i++) decompositions[i] = describe(system, PIO_DOUBLE, &maps[i], rearranger);
  for (int i = 0; i < 2; i++) {
    files[i] = reopen(system, i ? "second.nc" : "first.nc", PIO_NOWRITE);
    for (int v = 0; v < VARIABLES; v++) CHECK_READS(files[i], varids[v], decompositions[(v + i) % 2], &maps[(v + i) % 2], v);
    NEED(PIOc_closefile(files[i]));
  }
  CHECK_INT(PIOc_set_buffer_size_limit(old), limit);
  for (int i = 0; i < 2; i++) {
    NEED(PIOc_freedecomp(system, decompositions[i]));
    free_map(&maps[i]);
  }
}

/* ---- types ---- */

/* Fewer than 100 elements, so that all values fit into a byte. */
#define CHECK_TYPE(type, number)                                                                             \
  do {                                                                                                       \
    int decomposition = describe(system, number, &map, rearranger), same = 0, varid = -1, ids[1];            \
    int ncid = create(system, "types.nc");                                                                   \
    type values[100], back[100];                                                                             \
    define_dims(ncid, &map, 0, ids);                                                                         \
    NEED(PIOc_def_var(ncid, #type, number, 1, ids, &varid));                                                 \
    NEED(PIOc_enddef(ncid));                                                                                 \
    for (int i = 0; i < map.length; i++) values[i] = (type)map.places[i];                                    \
    memset(back, 0, sizeof back);                                                                            \
    NEED(PIOc_write_darray(ncid, varid, decomposition, map.length, values, NULL));                           \
    NEED(PIOc_sync(ncid));                                                                                   \
    NEED(PIOc_read_darray(ncid, varid, decomposition, map.length, back));                                    \
    for (int i = 0; i < map.length; i++) same += back[i] == (type)map.places[i];                             \
    CHECK_INT(same, map.length);                                                                             \
    NEED(PIOc_closefile(ncid));                                                                              \
    NEED(PIOc_freedecomp(system, decomposition));                                                            \
  } while (0)

static void check_types(int system, int rearranger)
{
  struct map map = new_map(STRIDE, 1, (int[]){ 90 });
  CHECK_TYPE(short, PIO_SHORT);
  CHECK_TYPE(float, PIO_FLOAT);
  CHECK_TYPE(signed char, PIO_BYTE);
  CHECK_TYPE(char, PIO_CHAR);
  CHECK_TYPE(unsigned char, PIO_UBYTE);
  CHECK_TYPE(unsigned short, PIO_USHORT);
  CHECK_TYPE(unsigned, PIO_UINT);
  CHECK_TYPE(unsigned long long, PIO_UINT64);
  CHECK_TYPE(double, PIO_DOUBLE);
  CHECK_TYPE(int, PIO_INT);
  CHECK_TYPE(long long, PIO_INT64);
  free_map(&map);
}

/* The file has another type than the array. */
static void check_conversion(int system, int rearranger)
{
  struct map map = new_map(SCATTERED, 1, (int[]){ 120 });
  int as_int = describe(system, PIO_INT, &map, rearranger), as_double = describe(system, PIO_DOUBLE, &map, rearranger);
  int ids[1], varid, ncid = create(system, "conversion.nc"), *integers = malloc(((size_t)map.length + 1) * sizeof *integers);
  define_dims(ncid, &map, 0, ids);
  NEED(PIOc_def_var(ncid, "field", PIO_FLOAT, 1, ids, &varid));
  NEED(PIOc_enddef(ncid));
  for (int i = 0; i < map.length; i++) integers[i] = map.places[i] ? (int)value_of(map.places[i], 3) : 0;
  NEED(PIOc_write_darray(ncid, varid, as_int, map.length, integers, NULL));
  NEED(PIOc_sync(ncid));
  CHECK_READS(ncid, varid, as_double, &map, 3);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_freedecomp(system, as_int));
  NEED(PIOc_freedecomp(system, as_double));
  free(integers);
  free_map(&map);
}

/* ---- what is only read ---- */

/* Each rank has its block and what is beside it. */
static void check_halos(int system, int rearranger)
{
  enum { TOTAL = 100 };
  struct map blocks = new_map(BLOCK, 1, (int[]){ TOTAL }), halo = new_map(BLOCK, 1, (int[]){ TOTAL });
  PIO_Offset first = halo.length ? halo.places[0] : 0, last = halo.length ? halo.places[halo.length - 1] : 0;
  if (first > 1) halo.places[halo.length++] = first - 1;
  if (last && last < TOTAL) halo.places[halo.length++] = last + 1;
  int decomposition = describe(system, PIO_DOUBLE, &blocks, rearranger), with_halo = -1, ids[1], varid;
  NEED(PIOc_InitDecomp_ReadOnly(system, PIO_DOUBLE, 1, halo.dims, halo.length, halo.places, &with_halo, &rearranger, NULL, NULL));
  int ncid = create(system, "halo.nc");
  define_dims(ncid, &blocks, 0, ids);
  NEED(PIOc_def_var(ncid, "field", PIO_DOUBLE, 1, ids, &varid));
  NEED(PIOc_enddef(ncid));
  write_values(ncid, varid, decomposition, &blocks, 1);
  NEED(PIOc_sync(ncid));
  CHECK_READS(ncid, varid, with_halo, &halo, 1);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_freedecomp(system, with_halo));
  NEED(PIOc_freedecomp(system, decomposition));
  free_map(&blocks);
  free_map(&halo);
}

/* ---- what the options change is not the result ---- */

static void check_options(int system, int rearranger)
{
  static const int pending[] = { 1, 2, 0, PIO_REARR_COMM_UNLIMITED_PEND_REQ };
  for (int i = 0; i < 4; i++) {
    NEED(PIOc_set_rearr_opts(system, PIO_REARR_COMM_P2P, PIO_REARR_COMM_FC_2D_ENABLE, i % 2, i < 2, pending[i], i < 2, i % 2,
                             pending[3 - i]));
    check_round_trip(system, rearranger, SCATTERED, 2, (int[]){ 12, 11 });
  }
  NEED(PIOc_set_rearr_opts(system, PIO_REARR_COMM_COLL, PIO_REARR_COMM_FC_2D_DISABLE, false, false, 0, false, false, 0));
  check_round_trip(system, rearranger, STRIDE, 2, (int[]){ 12, 11 });
}

/* An I/O system that ends closes what is still open. */
static void check_end(int rearranger)
{
  struct map map = new_map(STRIDE, 1, (int[]){ 60 });
  int system = new_system(2, rearranger), decomposition = describe(system, PIO_DOUBLE, &map, rearranger), ids[1], varid;
  int ncid = create(system, "end.nc");
  define_dims(ncid, &map, 0, ids);
  NEED(PIOc_def_var(ncid, "field", PIO_DOUBLE, 1, ids, &varid));
  NEED(PIOc_enddef(ncid));
  write_values(ncid, varid, decomposition, &map, 1);
  NEED(PIOc_finalize(system));
  CHECK_INT(COMMON(PIOc_sync(ncid)), PIO_EBADID);
  system = new_system(1, rearranger);
  decomposition = describe(system, PIO_DOUBLE, &map, rearranger);
  ncid = reopen(system, "end.nc", PIO_NOWRITE);
  CHECK_READS(ncid, varid, decomposition, &map, 1);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_finalize(system));
  free_map(&map);
}

/* Ids differ between ranks that have made decompositions in I/O systems of their own. */
static void check_other_ids(int rearranger)
{
  int own = -1, id = -1, dims[1] = { 4 }, system;
  PIO_Offset places[4] = { 1, 2, 3, 4 };
  if (rank > 0) NEED(PIOc_Init_Intracomm(MPI_COMM_SELF, 1, 1, 0, rearranger, &own));
  for (int i = 0; i < rank; i++) NEED(PIOc_InitDecomp(own, PIO_INT, 1, dims, 4, places, &id, NULL, NULL, NULL));
  system = new_system(2, rearranger);
  check_round_trip(system, rearranger, STRIDE, 2, (int[]){ 6, 10 });
  check_multi(system, rearranger);
  NEED(PIOc_finalize(system));
  if (rank > 0) NEED(PIOc_finalize(own));
}

static void check_all(int tasks, int rearranger)
{
  int system = new_system(tasks, rearranger), all = tasks == 2 || size == 1;
  check_patterns(system, rearranger, all);
  if (all) check_large(system, rearranger);
  check_records(system, rearranger);
  check_fill(system, rearranger);
  check_multi(system, rearranger);
  check_buffering(system, rearranger, 1000);
  if (all) check_buffering(system, rearranger, 1 << 20);
  if (all) {
    check_types(system, rearranger);
    check_conversion(system, rearranger);
    check_halos(system, rearranger);
    check_options(system, rearranger);
  }
  NEED(PIOc_finalize(system));
  check_end(rearranger);
  if (all) check_other_ids(rearranger);
}

int main(int argc, char** argv)
{
  int types[2], tasks[3];
  begin(&argc, &argv);
  for (int t = 0, count = file_types(types); t < count; t++)
    for (int n = 0, numbers = task_numbers(tasks); n < numbers; n++)
      for (int r = 0; r < 2; r++) {
        iotype = types[t];
        check_all(tasks[n], rearrangers[r]);
      }
  return check_result_mpi();
}
