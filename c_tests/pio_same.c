/* The last rank asks for something else than the others, or for nothing that can be done: all ranks get the same error,
 * nobody waits for it, and nothing is read or written. */
#include <stdint.h>

#include "pio_common.h"

/* In no header, as upstream. */
int PIOc_put_vars_tc(int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const PIO_Offset* stride,
                     int xtype, const void* buf);
int PIOc_get_vars_tc(int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const PIO_Offset* stride,
                     int xtype, void* buf);
int spio_put_vars_tc(int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const PIO_Offset* stride,
                     int xtype, const void* buf);
int spio_get_vars_tc(int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const PIO_Offset* stride,
                     int xtype, void* buf);

static int last, iotype;

/* Refused everywhere where ranks differ. */
#define REFUSED(call) CHECK(COMMON(call) != PIO_NOERR)

enum { LENGTH = 30 };

static int new_file(int system, const char* name)
{
  int ncid = -1, type = iotype;
  NEED(PIOc_createfile(system, &ncid, &type, name, PIO_CLOBBER));
  return ncid;
}

static void check_definitions(int system)
{
  int ncid = new_file(system, "definitions.nc"), dims[2], varid[2], id = -1, number = 7;
  PIO_Offset offset;
  char name[PIO_MAX_NAME + 1];
  NEED(PIOc_def_dim(ncid, "x", 2, &dims[0]));
  NEED(PIOc_def_dim(ncid, "y", LENGTH, &dims[1]));
  REFUSED(PIOc_def_dim(ncid, last ? "a" : "b", 4, &id));
  REFUSED(PIOc_def_dim(ncid, "z", last ? 5 : 4, &id));
  REFUSED(PIOc_def_dim(ncid, last ? NULL : "z", 4, &id));
  NEED(PIOc_def_var(ncid, "one", PIO_INT, 1, &dims[1], &varid[0]));
  NEED(PIOc_def_var(ncid, "two", PIO_DOUBLE, 2, dims, &varid[1]));
  REFUSED(PIOc_def_var(ncid, last ? "a" : "b", PIO_INT, 1, dims, &id));
  REFUSED(PIOc_def_var(ncid, "v", last ? PIO_INT : PIO_SHORT, 1, dims, &id));
  REFUSED(PIOc_def_var(ncid, "v", PIO_INT, last ? 2 : 1, dims, &id));
  REFUSED(PIOc_def_var(ncid, "v", PIO_INT, 1, last ? &dims[1] : &dims[0], &id));
  REFUSED(PIOc_rename_dim(ncid, last ? dims[0] : dims[1], "renamed"));
  REFUSED(PIOc_rename_var(ncid, last ? varid[0] : varid[1], "renamed"));
  REFUSED(PIOc_set_fill(ncid, last ? PIO_FILL : PIO_NOFILL, NULL));
  REFUSED(PIOc_def_var_fill(ncid, last ? varid[1] : varid[0], 0, &number));
  REFUSED(PIOc_def_var_fill(ncid, varid[0], last ? 0 : 1, &number));

  NEED(PIOc_put_att_int(ncid, varid[0], "a", PIO_INT, 1, &number));
  NEED(PIOc_put_att_int(ncid, varid[1], "a", PIO_INT, 1, &number));
  NEED(PIOc_put_att_int(ncid, varid[0], "b", PIO_INT, 1, &number));
  REFUSED(PIOc_put_att_int(ncid, varid[0], last ? "c" : "d", PIO_INT, 1, &number));
  REFUSED(PIOc_put_att_int(ncid, last ? varid[0] : varid[1], "c", PIO_INT, 1, &number));
  REFUSED(PIOc_put_att_int(ncid, varid[0], "c", last ? PIO_INT : PIO_SHORT, 1, &number));
  REFUSED(PIOc_put_att_int(ncid, varid[0], "c", PIO_INT, last ? 0 : 1, &number));
  REFUSED(PIOc_put_att_int(ncid, varid[0], "c", PIO_INT, 1, last ? NULL : &number));
  REFUSED(PIOc_rename_att(ncid, varid[0], "b", last ? "e" : "f"));
  REFUSED(PIOc_del_att(ncid, varid[0], last ? "a" : "b"));
  REFUSED(PIOc_copy_att(ncid, varid[0], "b", ncid, last ? varid[0] : varid[1]));
  REFUSED(PIOc_copy_att(ncid, varid[0], "b", last ? 4242 : ncid, varid[1]));
  NEED(PIOc_enddef(ncid));

  REFUSED(PIOc_inq_dim(ncid, last ? dims[0] : dims[1], name, &offset));
  REFUSED(PIOc_inq_dimid(ncid, last ? "x" : "y", &id));
  REFUSED(PIOc_inq_varid(ncid, last ? "one" : "two", &id));
  REFUSED(PIOc_inq_vartype(ncid, last ? varid[0] : varid[1], &id));
  REFUSED(PIOc_inq_varndims(ncid, last ? 77 : varid[1], &id));
  REFUSED(PIOc_inq_var_fill(ncid, last ? varid[0] : varid[1], &id, NULL));
  REFUSED(PIOc_inq_att(ncid, varid[0], last ? "a" : "b", NULL, &offset));
  REFUSED(PIOc_inq_att(ncid, varid[0], last ? NULL : "b", NULL, &offset));
  REFUSED(PIOc_inq_attid(ncid, last ? varid[0] : varid[1], "a", &id));
  REFUSED(PIOc_inq_attname(ncid, varid[0], last ? 0 : 1, name));
  REFUSED(PIOc_get_att_int(ncid, varid[0], last ? "a" : "b", &number));
  REFUSED(PIOc_get_att_int(ncid, varid[0], "a", last ? NULL : &number));
  NEED(PIOc_get_att_int(ncid, varid[0], "a", &number));
  CHECK_INT(number, 7);
  NEED(PIOc_closefile(ncid));
}

static void check_data(int system)
{
  int ncid = new_file(system, "data.nc"), dims[2], one, two, values[2 * LENGTH], got[2 * LENGTH];
  double doubles[LENGTH];
  PIO_Offset zero = 0, four = 4, five = 5, three = 3, far = (PIO_Offset)1 << 40;
  PIO_Offset start[2] = { 1, 1 }, count[2] = { 1, 4 }, other[2] = { 1, 5 };
  for (int i = 0; i < 2 * LENGTH; i++) values[i] = i;
  NEED(PIOc_def_dim(ncid, "t", PIO_UNLIMITED, &dims[0]));
  NEED(PIOc_def_dim(ncid, "y", LENGTH, &dims[1]));
  NEED(PIOc_def_var(ncid, "one", PIO_INT, 1, &dims[1], &one));
  NEED(PIOc_def_var(ncid, "two", PIO_INT, 2, dims, &two));
  NEED(PIOc_enddef(ncid));
  NEED(PIOc_put_var_int(ncid, one, values));
  PIO_Offset stride = last ? 3 : 2, step[2] = { 1, stride }, all[2] = { 2, LENGTH }, begin[2] = { 0, 0 };
  NEED(PIOc_put_vara_int(ncid, two, begin, all, values));
  memset(got, 0, sizeof got);

  REFUSED(PIOc_get_vars_int(ncid, one, &zero, &five, &stride, got));
  REFUSED(PIOc_get_vars(ncid, one, &zero, &five, &stride, got));
  REFUSED(PIOc_get_vars_double(ncid, two, start, count, step, doubles));
  REFUSED(PIOc_put_vars_int(ncid, one, &zero, &five, &stride, values));
  REFUSED(PIOc_put_vars(ncid, two, start, count, step, values));
  REFUSED(PIOc_get_vara_int(ncid, one, &zero, last ? &four : &five, got));
  REFUSED(PIOc_get_vara_int(ncid, one, last ? &three : &zero, &five, got));
  REFUSED(PIOc_put_vara_int(ncid, two, start, last ? count : other, values));
  REFUSED(PIOc_get_var1_int(ncid, one, last ? &four : &five, got));
  REFUSED(PIOc_put_var1_int(ncid, one, last ? &four : &five, values));
  REFUSED(PIOc_get_var_int(ncid, last ? two : one, got));
  REFUSED(PIOc_get_var_int(ncid, last ? 77 : one, got));
  REFUSED(PIOc_get_var_int(ncid, one, last ? NULL : got));
  REFUSED(PIOc_put_var_int(ncid, one, last ? NULL : values));
  REFUSED(last ? PIOc_get_var_double(ncid, one, doubles) : PIOc_get_var_int(ncid, one, got));
  REFUSED(last ? PIOc_put_var_int(ncid, one, values) : PIOc_get_var_int(ncid, one, got));
  REFUSED(PIOc_get_vars_tc(ncid, one, &zero, &five, NULL, last ? 99 : PIO_INT, got));
  REFUSED(PIOc_put_vars_tc(ncid, one, &zero, &five, NULL, last ? 99 : PIO_INT, values));
  REFUSED(spio_get_vars_tc(ncid, one, &zero, &five, NULL, last ? 99 : PIO_INT, got));
  REFUSED(spio_put_vars_tc(ncid, one, &zero, &five, NULL, last ? 99 : PIO_INT, values));
  for (int i = 0; i < 2 * LENGTH; i++) CHECK_INT(got[i], 0);

  /* what leaves the variable, before anything is made of it */
  stride = 2;
  CHECK_INT(COMMON(PIOc_get_vars_int(ncid, one, &zero, &far, &stride, got)), PIO_EEDGE);
  CHECK_INT(COMMON(PIOc_get_vars_int(ncid, one, &zero, last ? &far : &five, &stride, got)), PIO_EEDGE);
  CHECK_INT(COMMON(PIOc_get_vara_int(ncid, one, &zero, &far, got)), PIO_EEDGE);
  CHECK_INT(COMMON(PIOc_put_vars_int(ncid, one, &zero, &far, &stride, values)), PIO_EEDGE);
  CHECK_INT(COMMON(PIOc_get_vara_int(ncid, one, &far, &five, got)), PIO_EINVALCOORDS);
  PIO_Offset records[2] = { (PIO_Offset)1 << 60, 4 }, steps[2] = { 2, 1 };
  REFUSED(PIOc_put_vars_int(ncid, two, begin, records, steps, values));

  /* a stride of a single element means nothing */
  PIO_Offset single = 1, any = last ? 9 : 2;
  NEED(PIOc_get_vars_int(ncid, one, &four, &single, &any, got));
  CHECK_INT(got[0], 4);
  NEED(PIOc_get_vars_int(ncid, one, &three, &five, &stride, got));
  for (int i = 0; i < 5; i++) CHECK_INT(got[i], 3 + 2 * i);
  NEED(PIOc_closefile(ncid));
}

static void check_opening(int system)
{
  int ncid = -1, type = iotype, mode = iotype == PIO_IOTYPE_PNETCDF ? NC_PNETCDF : 0;
  NEED(PIOc_closefile(new_file(system, "there.nc")));
  REFUSED(PIOc_createfile(system, &ncid, &type, last ? "a.nc" : "b.nc", PIO_CLOBBER));
  REFUSED(PIOc_createfile(system, &ncid, &type, "a.nc", last ? PIO_CLOBBER : PIO_64BIT_OFFSET));
  if (iotype == PIO_IOTYPE_NETCDF) /* which fills */
    REFUSED(last ? PIOc_create(system, "a.nc", mode, &ncid) : PIOc_createfile(system, &ncid, &type, "a.nc", mode));
  REFUSED(last ? PIOc_openfile2(system, &ncid, &type, "there.nc", 0) : PIOc_openfile(system, &ncid, &type, "there.nc", 0));
  REFUSED(PIOc_deletefile(system, last ? "a.nc" : "there.nc"));
  NEED(PIOc_openfile(system, &ncid, &type, "there.nc", 0));
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_deletefile(system, "there.nc"));
}

/* Places that no rank has get one fill value. */
static void check_arrays(int system)
{
  struct map map = new_map(SCATTERED, 1, (int[]){ LENGTH });
  int id = describe(system, PIO_INT, &map, PIO_REARR_BOX), other = describe(system, PIO_INT, &map, PIO_REARR_SUBSET);
  int ncid = new_file(system, "arrays.nc"), dims[2], varid[2], values[LENGTH + 8] = { 0 }, fill = last ? 3 : 4;
  int64_t held = 0;
  define_dims(ncid, &map, 1, dims);
  NEED(PIOc_def_var(ncid, "a", PIO_INT, 2, dims, &varid[0]));
  NEED(PIOc_def_var(ncid, "b", PIO_INT, 2, dims, &varid[1]));
  NEED(PIOc_enddef(ncid));
  NEED(PIOc_setframe(ncid, varid[0], 0));
  NEED(PIOc_setframe(ncid, varid[1], last ? 1 : 0));
  REFUSED(PIOc_write_darray(ncid, varid[0], id, map.length, values, &fill));
  REFUSED(PIOc_write_darray(ncid, varid[1], id, map.length, values, NULL));
  REFUSED(PIOc_write_darray(ncid, last ? varid[1] : varid[0], id, map.length, values, NULL));
  REFUSED(PIOc_write_darray(ncid, varid[0], last ? other : id, map.length, values, NULL));
  REFUSED(PIOc_put_vard(ncid, varid[0], id, last ? 1 : 0, values));
  REFUSED(last ? PIOc_put_vard_int(ncid, varid[0], id, 0, values) : PIOc_put_vard(ncid, varid[0], id, 0, values));
  NEED(PIOc_write_darray(ncid, varid[0], id, map.length, values, NULL));
  NEED(PIOc_sync(ncid));
  REFUSED(PIOc_read_darray(ncid, varid[0], last ? other : id, map.length, values));
  NEED(stanchion_pio_held(id, &held, NULL));
  int* room = malloc(((size_t)held + LENGTH) * sizeof *room);
  REFUSED(stanchion_pio_to_io(last ? other : id, values, map.length, NULL, room, held + LENGTH));
  free(room);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_freedecomp(system, other));
  free_map(&map);
}

static void check_map_files(int system)
{
  struct map map = new_map(BLOCK, 1, (int[]){ LENGTH });
  int id = describe(system, PIO_INT, &map, PIO_REARR_BOX), other = describe(system, PIO_INT, &map, PIO_REARR_SUBSET);
  int ndims, *dims = NULL, read = -1;
  PIO_Offset length, *places = NULL;
  MPI_Comm world = MPI_COMM_WORLD;
  NEED(PIOc_write_decomp("map.txt", system, id, world));
  REFUSED(PIOc_write_decomp(last ? "a.txt" : "b.txt", system, id, world));
  REFUSED(PIOc_write_decomp("a.txt", system, last ? other : id, world));
  REFUSED(PIOc_write_decomp("a.txt", system, last ? 4 : id, world));
  REFUSED(PIOc_write_decomp("a.txt", system, id, last ? MPI_COMM_NULL : world));
  REFUSED(PIOc_readmap(last ? "a.txt" : "map.txt", &ndims, &dims, &length, &places, world));
  REFUSED(PIOc_readmap("map.txt", &ndims, last ? NULL : &dims, &length, &places, world));
  if (iotype >= 0) {
    NEED(PIOc_write_nc_decomp(system, "map.nc", 0, id, NULL, NULL, 0));
    REFUSED(PIOc_write_nc_decomp(system, last ? "a.nc" : "b.nc", 0, id, NULL, NULL, 0));
    REFUSED(PIOc_write_nc_decomp(system, "a.nc", 0, id, last ? "title" : NULL, NULL, 0));
    REFUSED(PIOc_write_nc_decomp(system, "a.nc", 0, last ? other : id, NULL, NULL, 0));
    REFUSED(PIOc_read_nc_decomp(system, last ? "a.nc" : "map.nc", &read, world, PIO_INT, NULL, NULL, NULL));
    REFUSED(PIOc_read_nc_decomp(system, "map.nc", &read, world, last ? PIO_INT : PIO_SHORT, NULL, NULL, NULL));
  }
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_freedecomp(system, other));
  free_map(&map);
}

/* A sender that waits to be asked needs a receiver that asks. */
static void check_settings(int system)
{
  REFUSED(PIOc_set_rearr_opts(system, PIO_REARR_COMM_P2P, PIO_REARR_COMM_FC_2D_ENABLE, last, true, 4, last, true, 4));
  REFUSED(PIOc_set_rearr_opts(system, last ? 99 : PIO_REARR_COMM_P2P, 0, true, true, 4, true, true, 4));
  NEED(PIOc_set_rearr_opts(system, PIO_REARR_COMM_P2P, PIO_REARR_COMM_FC_2D_ENABLE, true, true, 4, true, true, 4));
}

int main(int argc, char** argv)
{
  int types[2];
  begin(&argc, &argv);
  last = rank == size - 1;
  int count = file_types(types);
  for (int tasks = 1; tasks <= 2; tasks++) {
    int system = new_system(tasks, PIO_REARR_BOX);
    for (int t = 0; t < count; t++) {
      iotype = types[t];
      check_definitions(system);
      check_data(system);
      check_opening(system);
      check_arrays(system);
    }
    iotype = count ? types[0] : -1;
    check_settings(system);
    check_map_files(system);
    NEED(PIOc_finalize(system));
  }
  return check_result_mpi();
}
