/* PIO in a program that uses serial netCDF and HDF5 itself: files of its own are open before, during and after PIO writes and reads
 * arrays. Both use the one netCDF that the process has. */
#define _GNU_SOURCE
#include <link.h>
#include <netcdf.h>
#ifdef STANCHION_TEST_HDF5
#include <hdf5.h>
#endif

#include "pio_common.h"

enum { LENGTH = 100 };

#define NETCDF(call) CHECK_INT(call, NC_NOERR)

/* ---- the program's own files, one for each rank ---- */

struct own {
  char name[40];
  int file, variable;
#ifdef STANCHION_TEST_HDF5
  hid_t hdf5;
#endif
};

static struct own open_own(const char* name)
{
  struct own own = { .file = -1 };
  int dim;
  snprintf(own.name, sizeof own.name, "%s.%d", name, rank);
  NETCDF(nc_create(own.name, NC_NETCDF4 | NC_CLOBBER, &own.file));
  NETCDF(nc_def_dim(own.file, "x", LENGTH, &dim));
  NETCDF(nc_def_var(own.file, "own", NC_INT, 1, &dim, &own.variable));
  NETCDF(nc_enddef(own.file));
#ifdef STANCHION_TEST_HDF5
  char other[60];
  snprintf(other, sizeof other, "%s.h5", own.name);
  CHECK(H5open() >= 0);
  own.hdf5 = H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(own.hdf5 >= 0);
#endif
  return own;
}

static void close_own(struct own* own)
{
  int values[LENGTH], back[LENGTH] = { 0 };
  for (int i = 0; i < LENGTH; i++) values[i] = 3 * i + rank;
  NETCDF(nc_put_var_int(own->file, own->variable, values));
  NETCDF(nc_close(own->file));
  NETCDF(nc_open(own->name, NC_NOWRITE, &own->file));
  NETCDF(nc_get_var_int(own->file, own->variable, back));
  NETCDF(nc_close(own->file));
  CHECK(memcmp(values, back, sizeof values) == 0);
#ifdef STANCHION_TEST_HDF5
  hid_t group = H5Gcreate2(own->hdf5, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(group >= 0);
  CHECK(H5Gclose(group) >= 0);
  CHECK(H5Fclose(own->hdf5) >= 0);
#endif
}

/* ---- PIO ---- */

static void write_and_read(int system, int type)
{
  int dims[1] = { LENGTH * size }, file, dim, variable;
  struct map map = new_map(STRIDE, 1, dims);
  double* values = new_values(&map, 1);
  int decomposition = describe(system, PIO_DOUBLE, &map, PIO_REARR_BOX);
  NEED(PIOc_createfile(system, &file, &type, "array.nc", PIO_CLOBBER));
  define_dims(file, &map, 0, &dim);
  NEED(PIOc_def_var(file, "v", PIO_DOUBLE, 1, &dim, &variable));
  NEED(PIOc_enddef(file));
  NEED(PIOc_write_darray(file, variable, decomposition, map.length, values, NULL));
  NEED(PIOc_closefile(file));
  NEED(PIOc_openfile(system, &file, &type, "array.nc", PIO_NOWRITE));
  CHECK_READS(file, variable, decomposition, &map, 1);
  NEED(PIOc_closefile(file));
  NEED(PIOc_freedecomp(system, decomposition));
  free(values);
  free_map(&map);
}

static int count_netcdf(struct dl_phdr_info* object, size_t length, void* count)
{
  (void)length;
  *(int*)count += strstr(object->dlpi_name, "/libnetcdf.so") != NULL;
  return 0;
}

int main(int argc, char** argv)
{
  int types[2], count, copies = 0;
  begin(&argc, &argv);
  struct own before = open_own("before"), around = open_own("around");
  close_own(&before);
  int system = new_system(2, PIO_REARR_BOX);
  count = file_types(types);
  CHECK_INT(types[count - 1], PIO_IOTYPE_NETCDF);
  for (int t = 0; t < count; t++) write_and_read(system, types[t]);
  NEED(PIOc_finalize(system));
  close_own(&around);
  struct own after = open_own("after");
  close_own(&after);
  dl_iterate_phdr(count_netcdf, &copies);
  CHECK_INT(copies, 1);
  return check_result_mpi();
}
