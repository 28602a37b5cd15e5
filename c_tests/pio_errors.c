/* What is wrong gets a code and a text, the same code on all ranks, and nobody waits for ever. What upstream dies of
 * works here or is such an error. All with the stack that a process has by default. */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>

#include "pio_common.h"

static int iotype = -1;

static int init(int system, int rearranger, int total, int length, const PIO_Offset* places)
{
  int id = -77;
  return COMMON(PIOc_InitDecomp(system, PIO_INT, 1, &total, length, places, &id, &rearranger, NULL, NULL));
}

static void check_text(const char* part)
{
  char text[400] = "";
  CHECK(stanchion_last_error(text, sizeof text) > 0);
  if (!strstr(text, part)) check_failed(__FILE__, __LINE__, "the text", text, part);
}

/* ---- ids and arguments ---- */

static void check_no_system(void)
{
  int n = 0, dims[1] = { 4 }, id = -1, type = PIO_IOTYPE_NETCDF;
  bool flag;
  PIO_Offset places[1] = { 1 };
  for (int i = 0; i < 2; i++) {
    int bad = i ? -1 : 99;
    CHECK_INT(PIOc_finalize(bad), PIO_EBADID);
    CHECK_INT(PIOc_get_numiotasks(bad, &n), PIO_EBADID);
    CHECK_INT(PIOc_iam_iotask(bad, &flag), PIO_EBADID);
    CHECK_INT(PIOc_iotask_rank(bad, &n), PIO_EBADID);
    CHECK_INT(PIOc_InitDecomp(bad, PIO_INT, 1, dims, 1, places, &id, NULL, NULL, NULL), PIO_EBADID);
    CHECK_INT(PIOc_init_decomp(bad, PIO_INT, 1, dims, 1, places, &id, 0, NULL, NULL), PIO_EBADID);
    CHECK_INT(PIOc_freedecomp(bad, 512), PIO_EBADID);
    CHECK_INT(PIOc_createfile(bad, &n, &type, "never.nc", PIO_CLOBBER), PIO_EBADID);
    CHECK_INT(PIOc_openfile(bad, &n, &type, "never.nc", PIO_NOWRITE), PIO_EBADID);
    CHECK_INT(PIOc_set_rearr_opts(bad, 0, 0, true, true, 1, true, true, 1), PIO_EBADID);
    CHECK_INT(PIOc_set_hint(bad, "a", "b"), PIO_EBADID);
  }
  CHECK_INT(PIOc_iosystem_is_active(99, &flag), PIO_NOERR);
  CHECK(!flag);
}

static void check_no_file(void)
{
  int n = 0, id = -1, dims[1] = { 0 };
  PIO_Offset length = 0;
  const int bad = 4242;
  double value = 0;
  CHECK_INT(PIOc_closefile(bad), PIO_EBADID);
  CHECK_INT(PIOc_sync(bad), PIO_EBADID);
  CHECK_INT(PIOc_redef(bad), PIO_EBADID);
  CHECK_INT(PIOc_enddef(bad), PIO_EBADID);
  CHECK_INT(PIOc_def_dim(bad, "x", 1, &id), PIO_EBADID);
  CHECK_INT(PIOc_def_var(bad, "x", PIO_INT, 1, dims, &id), PIO_EBADID);
  CHECK_INT(PIOc_inq_varid(bad, "x", &id), PIO_EBADID);
  CHECK_INT(PIOc_inq_dimlen(bad, 0, &length), PIO_EBADID);
  CHECK_INT(PIOc_inq_ndims(bad, &n), PIO_EBADID);
  CHECK_INT(PIOc_setframe(bad, 0, 0), PIO_EBADID);
  CHECK_INT(PIOc_advanceframe(bad, 0), PIO_EBADID);
  CHECK_INT(PIOc_write_darray(bad, 0, 512, 1, &value, NULL), PIO_EBADID);
  CHECK_INT(PIOc_read_darray(bad, 0, 512, 1, &value), PIO_EBADID);
}

static void check_systems(void)
{
  int system = -1;
  CHECK_INT(COMMON(PIOc_Init_Intracomm(MPI_COMM_WORLD, 0, 1, 0, PIO_REARR_BOX, &system)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_Init_Intracomm(MPI_COMM_WORLD, size + 1, 1, 0, PIO_REARR_BOX, &system)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_Init_Intracomm(MPI_COMM_WORLD, 1, size + 1, 0, PIO_REARR_BOX, &system)), PIO_EINVAL);
  CHECK(COMMON(PIOc_Init_Intracomm(MPI_COMM_WORLD, 1, 1, 0, 77, &system)) != PIO_NOERR);
  CHECK_INT(PIOc_Set_IOSystem_Error_Handling(PIO_DEFAULT, 12), PIO_EINVAL);
  if (size < 2) return;
  /* one rank wants something else than the others */
  CHECK(COMMON(PIOc_Init_Intracomm(MPI_COMM_WORLD, rank == size - 1 ? 2 : 1, 1, 0, PIO_REARR_BOX, &system)) != PIO_NOERR);
}

/* Wrong everywhere, or on the last rank only. */
static void check_arguments(int system)
{
  const int dims[1] = { 100 }, none[1] = { 0 };
  int id = -1, box = PIO_REARR_BOX, strange = 9;
  PIO_Offset places[2] = { rank + 1, 0 };
  int last = rank == size - 1;
  CHECK_INT(COMMON(PIOc_InitDecomp(system, 99, 1, dims, 1, places, &id, &box, NULL, NULL)), PIO_EBADTYPE);
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 0, dims, 1, places, &id, &box, NULL, NULL)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 1, none, 1, places, &id, &box, NULL, NULL)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 1, dims, 1, places, &id, &strange, NULL, NULL)), PIO_EBADREARR);
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 1, NULL, 1, places, &id, &box, NULL, NULL)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 1, dims, 1, last ? NULL : places, &id, &box, NULL, NULL)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 1, dims, 1, places, last ? NULL : &id, &box, NULL, NULL)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 1, dims, last ? -1 : 1, places, &id, &box, NULL, NULL)), PIO_EINVAL);
  if (size > 1)
    CHECK(COMMON(PIOc_InitDecomp(system, last ? PIO_INT : PIO_SHORT, 1, dims, 1, places, &id, &box, NULL, NULL)) != PIO_NOERR);
  CHECK_INT(COMMON(PIOc_freedecomp(system, 4)), PIO_EBADID);
  CHECK(PIOc_get_local_array_size(4) < 0);
}

/* ---- maps that upstream takes and is corrupted by ---- */

static void check_bounds(int system, int rearranger)
{
  PIO_Offset places[3] = { 3 * rank + 1, 3 * rank + 2, 3 * rank + 3 };
  int total = 3 * size + 10, last = rank == size - 1;
  CHECK_INT(init(system, rearranger, total, 3, places), PIO_NOERR);
  if (last) places[1] = total + 1;
  CHECK_INT(init(system, rearranger, total, 3, places), PIO_EINVAL);
  if (last) check_text("outside");
  if (last) places[1] = 570LL << 32;
  CHECK_INT(init(system, rearranger, total, 3, places), PIO_EINVAL);
  if (last) places[1] = -1;
  CHECK_INT(init(system, rearranger, total, 3, places), PIO_EINVAL);
}

/* All ranks have the same elements, which are many. */
static void check_duplicates(int system)
{
  int total = check_size(300000, 3000);
  PIO_Offset* places = malloc((size_t)total * sizeof *places);
  for (int i = 0; i < total; i++) places[i] = i + 1;
  int wanted = size > 1 ? PIO_EINVAL : PIO_NOERR;
  CHECK_INT(init(system, PIO_REARR_BOX, total, total, places), wanted);
  int old = stanchion_pio_strict(0);
  CHECK_INT(init(system, PIO_REARR_SUBSET, total, total, places), PIO_NOERR); /* a warning */
  stanchion_pio_strict(1);
  CHECK_INT(init(system, PIO_REARR_SUBSET, total, total, places), wanted);
  places[total - 1] = 1; /* twice on every rank */
  CHECK_INT(init(system, PIO_REARR_SUBSET, total, total, places), PIO_EINVAL);
  CHECK_INT(init(system, PIO_REARR_BOX, total, total, places), PIO_EINVAL);
  stanchion_pio_strict(old);
  free(places);
}

/* Millions of entries, and hundreds of thousands of pieces in the file, on the usual stack. */
static void check_large(int rearranger)
{
  int total = check_size(2000000, 20000), system = new_system(2, rearranger), id = -1, ids[1], varid, ncid = -1, type = iotype;
  struct map map = new_map(STRIDE, 1, &total);
  int* values = malloc(((size_t)map.length + 1) * sizeof *values);
  for (int i = 0; i < map.length; i++) values[i] = (int)map.places[i];
  id = describe(system, PIO_INT, &map, rearranger);
  if (iotype >= 0) {
    NEED(PIOc_createfile(system, &ncid, &type, "large.nc", PIO_CLOBBER));
    define_dims(ncid, &map, 0, ids);
    NEED(PIOc_def_var(ncid, "field", PIO_INT, 1, ids, &varid));
    NEED(PIOc_enddef(ncid));
    NEED(PIOc_write_darray(ncid, varid, id, map.length, values, NULL));
    NEED(PIOc_sync(ncid));
    memset(values, 0, (size_t)map.length * sizeof *values);
    NEED(PIOc_read_darray(ncid, varid, id, map.length, values));
    int right = 0;
    for (int i = 0; i < map.length; i++) right += values[i] == map.places[i];
    CHECK_INT(right, map.length);
    NEED(PIOc_closefile(ncid));
  }
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_finalize(system));
  free(values);
  free_map(&map);
}

static void check_large_block(void)
{
  int total = check_size(2000000, 20000), dims[2] = { size, total }, system = new_system(2, PIO_REARR_SUBSET), id = -1;
  long start[2] = { rank, 0 }, count[2] = { 1, total };
  NEED(PIOc_InitDecomp_bc(system, PIO_INT, 2, dims, start, count, &id));
  CHECK_INT(PIOc_get_local_array_size(id), total);
  NEED(PIOc_freedecomp(system, id));
  count[1] = total + 1;
  CHECK_INT(COMMON(PIOc_InitDecomp_bc(system, PIO_INT, 2, dims, start, count, &id)), PIO_EINVAL);
  NEED(PIOc_finalize(system));
}

/* Moves without a file. */
static void check_moves(int system)
{
  struct map map = new_map(BLOCK, 1, (int[]){ 40 });
  int id = describe(system, PIO_INT, &map, PIO_REARR_BOX), values[40] = { 0 }, held[40], last = rank == size - 1;
  int64_t count = -1;
  NEED(stanchion_pio_held(id, &count, NULL));
  CHECK_INT(stanchion_pio_held(4, &count, NULL), PIO_EBADID);
  CHECK_INT(stanchion_pio_regions(4, NULL, NULL), PIO_EBADID);
  CHECK_INT(COMMON(stanchion_pio_to_io(4, values, map.length, NULL, held, count)), PIO_EBADID);
  if (map.length > 0 || !last)
    CHECK_INT(COMMON(stanchion_pio_to_io(id, last ? NULL : values, map.length, NULL, held, count)), PIO_EINVAL);
  CHECK_INT(COMMON(stanchion_pio_to_io(id, values, map.length, NULL, held, count - (count > 0))), PIO_EINVAL);
  CHECK_INT(COMMON(stanchion_pio_to_compute(id, held, count, values, last ? -1 : map.length)), map.length || !last ? PIO_EINVAL : 0);
  NEED(stanchion_pio_to_io(id, values, map.length, NULL, held, count));
  CHECK_INT(stanchion_pio_decomp_type(id), PIO_INT);
  CHECK_INT(stanchion_pio_decomp_type(4), PIO_EBADID);
  NEED(PIOc_freedecomp(system, id));
  free_map(&map);
}

/* ---- files ---- */

static void check_opening(int system)
{
  int ncid = -1, type = iotype, strange = 77, last = rank == size - 1;
  CHECK(COMMON(PIOc_openfile(system, &ncid, &type, "no_such_file.nc", PIO_NOWRITE)) != PIO_NOERR);
  type = iotype;
  CHECK(COMMON(PIOc_createfile(system, &ncid, &type, "no_such_directory/file.nc", PIO_CLOBBER)) != PIO_NOERR);
  CHECK(COMMON(PIOc_createfile(system, &ncid, &strange, "strange.nc", PIO_CLOBBER)) != PIO_NOERR);
  strange = PIO_IOTYPE_NETCDF4P;
  CHECK_INT(COMMON(PIOc_createfile(system, &ncid, &strange, "netcdf4.nc", PIO_CLOBBER)), PIO_EBADIOTYPE);
  type = iotype;
  CHECK_INT(COMMON(PIOc_createfile(system, &ncid, &type, last ? NULL : "null.nc", PIO_CLOBBER)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_createfile(system, last ? NULL : &ncid, &type, "null.nc", PIO_CLOBBER)), PIO_EINVAL);
  if (rank == 0) {
    FILE* text = fopen("text.nc", "w");
    if (text) fputs("this is no such file", text);
    if (text) fclose(text);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(COMMON(PIOc_openfile(system, &ncid, &type, "text.nc", PIO_NOWRITE)) != PIO_NOERR);
  type = iotype;
  CHECK_INT(COMMON(PIOc_createfile(system, &ncid, &type, "text.nc", PIO_NOCLOBBER)), PIO_EEXIST);
}

static void check_file(int system, int rearranger)
{
  struct map map = new_map(BLOCK, 2, (int[]){ 8, 10 }), other = new_map(BLOCK, 1, (int[]){ 30 });
  int id = describe(system, PIO_INT, &map, rearranger), wrong = describe(system, PIO_INT, &other, rearranger);
  int ncid = -1, type = iotype, ids[2], varid, strange, last = rank == size - 1, values[100] = { 0 };
  NEED(PIOc_createfile(system, &ncid, &type, "file.nc", PIO_CLOBBER));
  define_dims(ncid, &map, 0, ids);
  CHECK(COMMON(PIOc_def_dim(ncid, "d0", 4, &strange)) != PIO_NOERR); /* the name is taken */
  CHECK(COMMON(PIOc_def_dim(ncid, NULL, 4, &strange)) != PIO_NOERR);
  CHECK(COMMON(PIOc_def_dim(ncid, "negative", -4, &strange)) != PIO_NOERR);
  NEED(PIOc_def_var(ncid, "field", PIO_INT, 2, ids, &varid));
  CHECK(COMMON(PIOc_def_var(ncid, "field", PIO_INT, 2, ids, &strange)) != PIO_NOERR);
  CHECK(COMMON(PIOc_def_var(ncid, "type", 99, 2, ids, &strange)) != PIO_NOERR);
  CHECK(COMMON(PIOc_def_var(ncid, "dims", PIO_INT, 1, (int[]){ 55 }, &strange)) != PIO_NOERR);
  NEED(PIOc_enddef(ncid));
  CHECK(COMMON(PIOc_enddef(ncid)) != PIO_NOERR);
  CHECK(COMMON(PIOc_inq_varid(ncid, "nothing", &strange)) != PIO_NOERR);
  CHECK(COMMON(PIOc_write_darray(ncid, 55, id, map.length, values, NULL)) != PIO_NOERR);
  CHECK_INT(COMMON(PIOc_write_darray(ncid, varid, 4, map.length, values, NULL)), PIO_EBADID);
  CHECK_INT(COMMON(PIOc_read_darray(ncid, varid, 4, map.length, values)), PIO_EBADID);
  CHECK(COMMON(PIOc_write_darray(ncid, varid, wrong, other.length, values, NULL)) != PIO_NOERR);
  if (map.length > 0 || !last) {
    CHECK(COMMON(PIOc_write_darray(ncid, varid, id, last ? map.length - 1 : map.length, values, NULL)) != PIO_NOERR);
    CHECK(COMMON(PIOc_read_darray(ncid, varid, id, last ? map.length - 1 : map.length, values)) != PIO_NOERR);
    CHECK(COMMON(PIOc_write_darray(ncid, varid, id, map.length, last ? NULL : values, NULL)) != PIO_NOERR);
    CHECK(COMMON(PIOc_read_darray(ncid, varid, id, map.length, last ? NULL : values)) != PIO_NOERR);
  }
  NEED(PIOc_write_darray(ncid, varid, id, map.length, values, NULL)); /* it still works */
  NEED(PIOc_closefile(ncid));
  CHECK_INT(COMMON(PIOc_closefile(ncid)), PIO_EBADID);

  type = iotype;
  NEED(PIOc_openfile(system, &ncid, &type, "file.nc", PIO_NOWRITE));
  CHECK_INT(COMMON(PIOc_write_darray(ncid, varid, id, map.length, values, NULL)), PIO_EPERM);
  CHECK(COMMON(PIOc_redef(ncid)) != PIO_NOERR);
  NEED(PIOc_read_darray(ncid, varid, id, map.length, values));
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_freedecomp(system, wrong));
  free_map(&map);
  free_map(&other);
}

/* Through what is only for reading nothing is written. */
static void check_read_only(int system, int rearranger)
{
  struct map map = new_map(BLOCK, 1, (int[]){ 50 });
  int id = -1, ncid = -1, type = iotype, ids[1], varid, values[50] = { 0 };
  NEED(PIOc_InitDecomp_ReadOnly(system, PIO_INT, 1, map.dims, map.length, map.places, &id, &rearranger, NULL, NULL));
  NEED(PIOc_createfile(system, &ncid, &type, "read.nc", PIO_CLOBBER));
  define_dims(ncid, &map, 0, ids);
  NEED(PIOc_def_var(ncid, "field", PIO_INT, 1, ids, &varid));
  NEED(PIOc_enddef(ncid));
  CHECK_INT(COMMON(PIOc_write_darray(ncid, varid, id, map.length, values, NULL)), PIO_EINVAL);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_freedecomp(system, id));
  free_map(&map);
}

/* A disk that takes no more than a few kilobytes: some call says so, and the job goes on. (Not with PnetCDF on Open MPI's
 * OMPIO, which prints a message and reports success.) */
static void check_full_disk(int rearranger)
{
  int total = 200000, system = new_system(2, rearranger), ncid = -1, type = iotype, ids[1], varid = -1, failed = 0;
  struct map map = new_map(BLOCK, 1, &total);
  int id = describe(system, PIO_DOUBLE, &map, rearranger);
  double* values = new_values(&map, 0);
  struct rlimit old, small;
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = 64 << 10;
  NEED(PIOc_createfile(system, &ncid, &type, "full.nc", PIO_CLOBBER));
  define_dims(ncid, &map, 0, ids);
  NEED(PIOc_def_var(ncid, "field", PIO_DOUBLE, 1, ids, &varid));
  MPI_Barrier(MPI_COMM_WORLD);
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  failed |= COMMON(PIOc_enddef(ncid)) != PIO_NOERR;
  failed |= COMMON(PIOc_write_darray(ncid, varid, id, map.length, values, NULL)) != PIO_NOERR;
  failed |= COMMON(PIOc_sync(ncid)) != PIO_NOERR;
  failed |= COMMON(PIOc_closefile(ncid)) != PIO_NOERR;
  setrlimit(RLIMIT_FSIZE, &old);
  CHECK(failed || iotype == PIO_IOTYPE_PNETCDF);
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_finalize(system));
  free(values);
  free_map(&map);
}

static void check_handlers(int system)
{
  int old = 0, missing = -1;
  PIO_Offset places[1] = { 1 };
  CHECK_INT(PIOc_set_iosystem_error_handling(system, PIO_BCAST_ERROR, &old), PIO_NOERR);
  CHECK_INT(old, PIO_RETURN_ERROR);
  CHECK_INT(PIOc_Set_IOSystem_Error_Handling(system, PIO_INTERNAL_ERROR), PIO_BCAST_ERROR);
  CHECK_INT(PIOc_set_iosystem_error_handling(system, 7, &old), PIO_EINVAL);
  if (rank == 0) fprintf(stderr, "a message about element 9 is expected:\n");
  CHECK_INT(COMMON(PIOc_InitDecomp(system, PIO_INT, 1, (int[]){ 3 }, 1, (places[0] = 9, places), &missing, NULL, NULL, NULL)),
            PIO_EINVAL); /* a message, and the job goes on */
  CHECK_INT(PIOc_Set_IOSystem_Error_Handling(system, PIO_RETURN_ERROR), PIO_INTERNAL_ERROR);
}

int main(int argc, char** argv)
{
  int types[2];
  begin(&argc, &argv);
  check_no_system();
  check_no_file();
  check_systems();
  int system = new_system(2, PIO_REARR_SUBSET);
  check_handlers(system);
  check_arguments(system);
  check_duplicates(system);
  check_moves(system);
  for (int r = 0; r < 2; r++) check_bounds(system, rearrangers[r]);
  check_large_block();
  int count = file_types(types);
  if (count == 0) check_large(PIO_REARR_SUBSET);
  for (int t = 0; t < count; t++) {
    iotype = types[t];
    check_opening(system);
    for (int r = 0; r < 2; r++) {
      check_file(system, rearrangers[r]);
      check_read_only(system, rearrangers[r]);
      check_large(rearrangers[r]);
      check_full_disk(rearrangers[r]);
    }
  }
  NEED(PIOc_finalize(system));
  CHECK_INT(PIOc_finalize(system), PIO_EBADID);
  return check_result_mpi();
}
