/* Dimensions, variables, attributes, and variables that are not distributed: what one call puts in, another gets out,
 * in the same file and after it was opened again; and a wrong argument of one rank is an error on all. */
#include "pio_common.h"

static int iotype, last;

/* ---- attributes ---- */

static void define_attributes(int ncid, int varid)
{
  const short shorts[3] = { 1, -2, 3 };
  const double doubles[2] = { 0.5, -2.25 };
  const long longs[1] = { 77 };
  NEED(PIOc_put_att_text(ncid, PIO_GLOBAL, "title", 6, "fields"));
  NEED(PIOc_put_att_text(ncid, varid, "empty", 0, NULL));
  NEED(PIOc_put_att_short(ncid, varid, "shorts", PIO_INT, 3, shorts));
  NEED(PIOc_put_att_double(ncid, varid, "doubles", PIO_FLOAT, 2, doubles));
  NEED(PIOc_put_att_long(ncid, varid, "long", PIO_DOUBLE, 1, longs));
  NEED(PIOc_put_att(ncid, varid, "as stored", PIO_DOUBLE, 2, doubles));
  NEED(PIOc_put_att_int(ncid, varid, "gone", PIO_INT, 1, &rank));
  NEED(PIOc_del_att(ncid, varid, "gone"));
  NEED(PIOc_rename_att(ncid, varid, "long", "number"));
  NEED(PIOc_copy_att(ncid, varid, "doubles", ncid, PIO_GLOBAL));
}

static void check_attributes(int ncid, int varid)
{
  char text[PIO_MAX_NAME + 1] = "";
  int ints[3] = { 0 }, id = -1, count = 0;
  float floats[2] = { 0 };
  double doubles[2] = { 0 };
  long long number = 0;
  nc_type type = PIO_NAT;
  PIO_Offset length = -1;
  NEED(PIOc_get_att_text(ncid, PIO_GLOBAL, "title", text));
  CHECK_STR(text, "fields");
  NEED(PIOc_inq_att(ncid, varid, "shorts", &type, &length));
  CHECK_INT(type, PIO_INT);
  CHECK_INT(length, 3);
  NEED(PIOc_get_att_int(ncid, varid, "shorts", ints));
  CHECK(ints[0] == 1 && ints[1] == -2 && ints[2] == 3);
  NEED(PIOc_get_att_float(ncid, PIO_GLOBAL, "doubles", floats));
  CHECK(floats[0] == 0.5F && floats[1] == -2.25F);
  NEED(PIOc_get_att(ncid, varid, "as stored", doubles));
  CHECK(doubles[0] == 0.5 && doubles[1] == -2.25);
  NEED(PIOc_get_att_longlong(ncid, varid, "number", &number));
  CHECK_INT(number, 77);
  NEED(PIOc_inq_attlen(ncid, varid, "empty", &length));
  CHECK_INT(length, 0);
  NEED(PIOc_inq_atttype(ncid, varid, "number", &type));
  CHECK_INT(type, PIO_DOUBLE);
  NEED(PIOc_inq_attid(ncid, varid, "shorts", &id));
  NEED(PIOc_inq_attname(ncid, varid, id, text));
  CHECK_STR(text, "shorts");
  NEED(PIOc_inq_varnatts(ncid, varid, &count));
  CHECK_INT(count, 5);
  CHECK_INT(COMMON(PIOc_inq_att(ncid, varid, "gone", &type, &length)), PIO_ENOTATT);
  CHECK_INT(COMMON(PIOc_get_att_int(ncid, varid, last ? NULL : "shorts", ints)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_get_att_int(ncid, varid, "shorts", last ? NULL : ints)), PIO_EINVAL);
}

/* ---- dimensions and variables ---- */

static void check_shape(int ncid)
{
  char name[PIO_MAX_NAME + 1] = "";
  int dims = 0, vars = 0, attributes = 0, unlimited = -7, id = -1, ids[2] = { -1, -1 }, format = 0;
  PIO_Offset length = 0;
  nc_type type = PIO_NAT;
  NEED(PIOc_inq(ncid, &dims, &vars, &attributes, &unlimited));
  CHECK(dims == 3 && vars == 3 && attributes == 2);
  NEED(PIOc_inq_dimid(ncid, "time", &id));
  CHECK_INT(unlimited, id);
  NEED(PIOc_inq_unlimdims(ncid, &dims, ids));
  CHECK(dims == 1 && ids[0] == id);
  NEED(PIOc_inq_dimid(ncid, "y", &id));
  NEED(PIOc_inq_dim(ncid, id, name, &length));
  CHECK_STR(name, "y");
  CHECK_INT(length, 3);
  NEED(PIOc_inq_varid(ncid, "grid", &id));
#if STANCHION_PIO_NCAR
  NEED(PIOc_inq_var(ncid, id, name, &type, &dims, ids, &attributes));
#else
  NEED(PIOc_inq_var(ncid, id, name, sizeof name, &type, &dims, ids, &attributes));
  char cut[3];
  NEED(PIOc_inq_varname(ncid, id, cut, sizeof cut));
  CHECK_STR(cut, "gr");
#endif
  CHECK_STR(name, "grid");
  CHECK(type == PIO_INT && dims == 2 && attributes == 5);
  NEED(PIOc_inq_dimlen(ncid, ids[1], &length));
  CHECK_INT(length, 4);
  NEED(PIOc_inq_type(ncid, PIO_DOUBLE, name, &length));
  CHECK_STR(name, "double");
  CHECK_INT(length, 8);
  NEED(PIOc_inq_format(ncid, &format));
  CHECK_INT(format, 5); /* NC_FORMAT_CDF5 */
  CHECK_INT(COMMON(PIOc_inq_varid(ncid, "none", &id)), PIO_ENOTVAR);
  CHECK_INT(COMMON(PIOc_inq_dimid(ncid, "none", &id)), PIO_EBADDIM);
  CHECK_INT(COMMON(PIOc_inq_varid(ncid, last ? NULL : "grid", &id)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_inq_dimlen(ncid, 40, &length)), PIO_EBADDIM);
  CHECK_INT(COMMON(PIOc_inq_vartype(ncid, 40, &type)), PIO_ENOTVAR);
}

static void check_wrong_definitions(int ncid)
{
  char longer[PIO_MAX_NAME + 2];
  int dim = 0, id = -1;
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  CHECK_INT(COMMON(PIOc_def_dim(ncid, last ? NULL : "never", 3, &id)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_def_dim(ncid, longer, 3, &id)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_def_dim(ncid, "never", -3, &id)), PIO_EDIMSIZE);
  CHECK_INT(COMMON(PIOc_def_dim(ncid, "y", 3, &id)), PIO_ENAMEINUSE);
  CHECK_INT(COMMON(PIOc_def_var(ncid, "never", 99, 1, &dim, &id)), PIO_EBADTYPE);
  CHECK_INT(COMMON(PIOc_def_var(ncid, "never", PIO_INT, last ? -1 : 1, &dim, &id)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_def_var(ncid, "never", PIO_INT, 1, last ? NULL : &dim, &id)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_def_var_fill(ncid, 0, 42, NULL)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_def_var_fill(ncid, 0, 0, NULL)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_def_var_deflate(ncid, 0, 1, 1, 1)), PIO_ENOTNC4);
#if STANCHION_PIO_NCAR
  CHECK_INT(COMMON(PIOc_def_var_quantize(ncid, 0, PIO_QUANTIZE_BITROUND, 3)), PIO_ENOTNC4);
#endif
}

/* ---- data ---- */

static void put_data(int ncid, const int* varids)
{
  int grid[12];
  const PIO_Offset start[2] = { 1, 1 }, count[2] = { 2, 2 }, stride[2] = { 1, 2 }, corner[2] = { 2, 3 };
  const short block[4] = { 51, 52, 53, 54 }, apart[4] = { 61, 62, 63, 64 };
  const double at_corner = 99;
  for (int i = 0; i < 12; i++) grid[i] = i;
  NEED(PIOc_put_var_int(ncid, varids[0], grid));
  NEED(PIOc_put_vara_short(ncid, varids[0], start, count, block));
  NEED(PIOc_put_vars_short(ncid, varids[0], start, count, stride, apart));
  NEED(PIOc_put_var1_double(ncid, varids[0], corner, &at_corner));
  for (int record = 0; record < 3; record++) {
    const PIO_Offset from[2] = { record, 0 }, one_row[2] = { 1, 4 };
    const float row[4] = { (float)record, 1, 2, 3 };
    NEED(PIOc_put_vara_float(ncid, varids[1], from, one_row, row));
  }
  NEED(PIOc_put_var_text(ncid, varids[2], "abcd"));
  CHECK_INT(COMMON(PIOc_put_var_int(ncid, varids[0], last ? NULL : grid)), PIO_EINVAL);
  const PIO_Offset before[2] = { 0, -1 }, beyond[2] = { 0, 5 }, none[2] = { 1, 0 };
  CHECK_INT(COMMON(PIOc_put_var1_int(ncid, varids[0], before, grid)), PIO_EINVALCOORDS);
  CHECK(COMMON(PIOc_put_vara_int(ncid, varids[0], beyond, count, grid)) != PIO_NOERR);
  CHECK_INT(COMMON(PIOc_put_vars_int(ncid, varids[0], start, count, none, grid)), PIO_ESTRIDE);
  CHECK_INT(COMMON(PIOc_put_var_text(ncid, varids[0], "abcdabcdabcd")), PIO_ECHAR);
}

static void check_data(int ncid, const int* varids)
{
  /* 61 to 64 stand at (1,1) (1,3) (2,1) (2,3), and 99 on the last of them */
  static const int wanted[12] = { 0, 1, 2, 3, 4, 61, 52, 62, 8, 63, 54, 99 };
  long long grid[12] = { 0 };
  const PIO_Offset start[2] = { 1, 1 }, count[2] = { 2, 2 }, stride[2] = { 1, 2 };
  unsigned short part[4] = { 0 };
  char text[5] = "";
  double rows[12] = { 0 };
  int same = 0;
  NEED(PIOc_get_var_longlong(ncid, varids[0], grid));
  for (int i = 0; i < 12; i++) same += grid[i] == wanted[i];
  CHECK_INT(same, 12);
  NEED(PIOc_get_vara_ushort(ncid, varids[0], start, count, part));
  CHECK(part[0] == 61 && part[1] == 52 && part[2] == 63 && part[3] == 54);
  NEED(PIOc_get_vars_ushort(ncid, varids[0], start, count, stride, part));
  CHECK(part[0] == 61 && part[1] == 62 && part[2] == 63 && part[3] == 99);
  NEED(PIOc_get_var_double(ncid, varids[1], rows));
  CHECK(rows[0] == 0 && rows[4] == 1 && rows[8] == 2 && rows[11] == 3);
  NEED(PIOc_get_var(ncid, varids[2], text));
  CHECK_STR(text, "abcd");
  CHECK_INT(COMMON(PIOc_get_var_longlong(ncid, varids[0], last ? NULL : grid)), PIO_EINVAL);
  CHECK_INT(COMMON(PIOc_get_var_int(ncid, 40, &same)), PIO_ENOTVAR);
}

static void check_fill(int ncid, int varid)
{
  int fill = 0, mode = -1;
  NEED(PIOc_inq_var_fill(ncid, varid, &mode, &fill));
  CHECK_INT(mode, 0);
  CHECK_INT(fill, -9);
}

static void check_file(int tasks)
{
  int system = new_system(tasks, PIO_REARR_BOX), ncid = -1, dims[3], varids[3], type = iotype, mode = -1;
  const int fill = -9;
  NEED(PIOc_createfile(system, &ncid, &type, "metadata.nc", PIO_CLOBBER | PIO_64BIT_DATA));
  NEED(PIOc_def_dim(ncid, "time", PIO_UNLIMITED, &dims[0]));
  NEED(PIOc_def_dim(ncid, "rows", 3, &dims[1]));
  NEED(PIOc_def_dim(ncid, "x", 4, &dims[2]));
  NEED(PIOc_rename_dim(ncid, dims[1], "y"));
  NEED(PIOc_def_var(ncid, "v", PIO_INT, 2, &dims[1], &varids[0]));
  NEED(PIOc_rename_var(ncid, varids[0], "grid"));
  NEED(PIOc_def_var(ncid, "series", PIO_DOUBLE, 2, (int[]){ dims[0], dims[2] }, &varids[1]));
  NEED(PIOc_def_var(ncid, "name", PIO_CHAR, 1, &dims[2], &varids[2]));
  NEED(PIOc_set_fill(ncid, PIO_FILL, &mode));
  CHECK_INT(mode, PIO_NOFILL);
  NEED(PIOc_def_var_fill(ncid, varids[0], 0, &fill));
  check_wrong_definitions(ncid);
  define_attributes(ncid, varids[0]);
  NEED(PIOc_enddef(ncid));
  check_fill(ncid, varids[0]);
  put_data(ncid, varids);
  check_data(ncid, varids);
  NEED(PIOc_redef(ncid));
  NEED(PIOc_del_att(ncid, varids[0], "_FillValue"));
  NEED(PIOc_enddef(ncid));
  check_attributes(ncid, varids[0]);
  check_shape(ncid);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_openfile(system, &ncid, &type, "metadata.nc", PIO_NOWRITE));
  check_attributes(ncid, varids[0]);
  check_shape(ncid);
  check_data(ncid, varids);
  CHECK_INT(COMMON(PIOc_put_var_text(ncid, varids[2], "efgh")), PIO_EPERM);
  NEED(PIOc_closefile(ncid));
  CHECK_INT(COMMON(PIOc_deletefile(system, last ? NULL : "metadata.nc")), PIO_EINVAL);
  NEED(PIOc_deletefile(system, "metadata.nc"));
  CHECK(COMMON(PIOc_deletefile(system, "metadata.nc")) != PIO_NOERR);
  NEED(PIOc_finalize(system));
}

/* A file that nobody closed is written out by the end of its I/O system. */
static void check_left_open(void)
{
  int system = new_system(1, PIO_REARR_BOX), ncid = -1, dim, varid, type = iotype, total = 2 * size, id;
  struct map map = new_map(BLOCK, 1, &total);
  double* values = new_values(&map, 1);
  NEED(PIOc_createfile(system, &ncid, &type, "left.nc", PIO_CLOBBER));
  NEED(PIOc_def_dim(ncid, "x", total, &dim));
  NEED(PIOc_def_var(ncid, "v", PIO_DOUBLE, 1, &dim, &varid));
  NEED(PIOc_enddef(ncid));
  id = describe(system, PIO_DOUBLE, &map, PIO_REARR_BOX);
  NEED(PIOc_write_darray(ncid, varid, id, map.length, values, NULL));
  NEED(PIOc_finalize(system));
  CHECK_INT(PIOc_File_is_Open(ncid), 0);
  CHECK_INT(PIOc_freedecomp(system, id), PIO_EBADID);
  system = new_system(1, PIO_REARR_BOX);
  NEED(PIOc_openfile(system, &ncid, &type, "left.nc", PIO_NOWRITE));
  id = describe(system, PIO_DOUBLE, &map, PIO_REARR_BOX);
  CHECK_READS(ncid, varid, id, &map, 1);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_finalize(system));
  free(values);
  free_map(&map);
}

int main(int argc, char** argv)
{
  int types[2], tasks[3];
  begin(&argc, &argv);
  last = rank == size - 1;
  for (int t = 0, count = file_types(types); t < count; t++) {
    iotype = types[t];
    for (int n = 0, numbers = task_numbers(tasks); n < numbers; n++) check_file(tasks[n]);
    check_left_open();
  }
  return check_result_mpi();
}
