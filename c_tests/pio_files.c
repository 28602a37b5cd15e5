/* pio_files: writes files through PIO into pio/ and the same, by one rank and plain calls of the file library, into
 * serial/: pio_files.sh compares them byte by byte and as text.
 * STANCHION_TEST_NETCDF and STANCHION_TEST_PNETCDF say which libraries there are. */
#define _XOPEN_SOURCE 700
#include <sys/stat.h>

#include "pio_common.h"

#ifdef STANCHION_TEST_NETCDF
#include <netcdf.h>
#endif
#ifdef STANCHION_TEST_PNETCDF
#include <pnetcdf.h>
#endif

enum { ROWS = 9, COLUMNS = 14, TOTAL = ROWS * COLUMNS, RECORDS = 3 };

static const int dims[2] = { ROWS, COLUMNS };

/* What all files are made of: a double and a short variable of one record, and an int variable of many. */
static double double_at(int element) { return 0.5 * element - 7; }
static short short_at(int element) { return (short)(3 * element); }
static int int_at(int record, int element) { return 100000 * record + element; }

/* ---- through PIO ---- */

#define PART(type, name, value)                                                  \
  type* name = malloc(((size_t)map->length + 1) * sizeof *name);                 \
  for (int i = 0; i < map->length; i++) {                                        \
    int e = (int)map->places[i] - 1;                                             \
    name[i] = e < 0 ? 0 : value;                                                 \
  }

static void write_parts(int system, int ncid, const int* varids, const struct map* map, int rearranger)
{
  int doubles = describe(system, PIO_DOUBLE, map, rearranger), shorts = describe(system, PIO_SHORT, map, rearranger);
  int ints = describe(system, PIO_INT, map, rearranger);
  PART(double, d, double_at(e))
  PART(short, s, short_at(e))
  NEED(PIOc_write_darray(ncid, varids[0], doubles, map->length, d, NULL));
  NEED(PIOc_write_darray(ncid, varids[1], shorts, map->length, s, NULL));
  for (int record = 0; record < RECORDS; record++) {
    PART(int, n, int_at(record, e))
    NEED(PIOc_setframe(ncid, varids[2], record));
    NEED(PIOc_write_darray(ncid, varids[2], ints, map->length, n, NULL));
    free(n);
  }
  free(d);
  free(s);
  NEED(PIOc_freedecomp(system, doubles));
  NEED(PIOc_freedecomp(system, shorts));
  NEED(PIOc_freedecomp(system, ints));
}

static void write_with_pio(const char* name, int iotype, int mode, int tasks, enum pattern pattern, int rearranger)
{
  int system = new_system(tasks, rearranger), ncid = -1, ids[3], varids[3];
  struct map map = new_map(pattern, 2, dims);
  NEED(PIOc_createfile(system, &ncid, &iotype, name, PIO_CLOBBER | mode));
  define_dims(ncid, &map, 1, ids);
  NEED(PIOc_def_var(ncid, "d", PIO_DOUBLE, 2, ids + 1, &varids[0]));
  NEED(PIOc_def_var(ncid, "s", PIO_SHORT, 2, ids + 1, &varids[1]));
  NEED(PIOc_def_var(ncid, "n", PIO_INT, 3, ids, &varids[2]));
  NEED(PIOc_put_att_text(ncid, varids[0], "units", 5, "meter"));
  NEED(PIOc_put_att_int(ncid, PIO_GLOBAL, "answer", PIO_INT, 1, (int[]){ 42 }));
  NEED(PIOc_enddef(ncid));
  write_parts(system, ncid, varids, &map, rearranger);
  NEED(PIOc_closefile(ncid));
  NEED(PIOc_finalize(system));
  free_map(&map);
}

/* ---- by one rank ---- */

static double all_d[TOTAL];
static short all_s[TOTAL];
static int all_n[RECORDS * TOTAL];

static void make_values(void)
{
  for (int e = 0; e < TOTAL; e++) {
    all_d[e] = double_at(e);
    all_s[e] = short_at(e);
    for (int record = 0; record < RECORDS; record++) all_n[record * TOTAL + e] = int_at(record, e);
  }
}

#ifdef STANCHION_TEST_NETCDF
static void write_with_netcdf(const char* name, int mode)
{
  int ncid, ids[3], d, s, n;
  size_t start[3] = { 0, 0, 0 }, count[3] = { RECORDS, ROWS, COLUMNS };
  CHECK_INT(nc_create(name, NC_CLOBBER | mode, &ncid), 0);
  CHECK_INT(nc_def_dim(ncid, "time", NC_UNLIMITED, &ids[0]), 0);
  CHECK_INT(nc_def_dim(ncid, "d0", ROWS, &ids[1]), 0);
  CHECK_INT(nc_def_dim(ncid, "d1", COLUMNS, &ids[2]), 0);
  CHECK_INT(nc_def_var(ncid, "d", NC_DOUBLE, 2, ids + 1, &d), 0);
  CHECK_INT(nc_def_var(ncid, "s", NC_SHORT, 2, ids + 1, &s), 0);
  CHECK_INT(nc_def_var(ncid, "n", NC_INT, 3, ids, &n), 0);
  CHECK_INT(nc_put_att_text(ncid, d, "units", 5, "meter"), 0);
  CHECK_INT(nc_put_att_int(ncid, NC_GLOBAL, "answer", NC_INT, 1, (int[]){ 42 }), 0);
  CHECK_INT(nc_enddef(ncid), 0);
  CHECK_INT(nc_put_var_double(ncid, d, all_d), 0);
  CHECK_INT(nc_put_var_short(ncid, s, all_s), 0);
  CHECK_INT(nc_put_vara_int(ncid, n, start, count, all_n), 0);
  CHECK_INT(nc_close(ncid), 0);
}
#endif

#ifdef STANCHION_TEST_PNETCDF
static void write_with_pnetcdf(const char* name, int mode)
{
  int ncid, ids[3], d, s, n;
  MPI_Offset start[3] = { 0, 0, 0 }, count[3] = { RECORDS, ROWS, COLUMNS };
  CHECK_INT(ncmpi_create(MPI_COMM_SELF, name, NC_CLOBBER | mode, MPI_INFO_NULL, &ncid), 0);
  CHECK_INT(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &ids[0]), 0);
  CHECK_INT(ncmpi_def_dim(ncid, "d0", ROWS, &ids[1]), 0);
  CHECK_INT(ncmpi_def_dim(ncid, "d1", COLUMNS, &ids[2]), 0);
  CHECK_INT(ncmpi_def_var(ncid, "d", NC_DOUBLE, 2, ids + 1, &d), 0);
  CHECK_INT(ncmpi_def_var(ncid, "s", NC_SHORT, 2, ids + 1, &s), 0);
  CHECK_INT(ncmpi_def_var(ncid, "n", NC_INT, 3, ids, &n), 0);
  CHECK_INT(ncmpi_put_att_text(ncid, d, "units", 5, "meter"), 0);
  CHECK_INT(ncmpi_put_att_int(ncid, NC_GLOBAL, "answer", NC_INT, 1, (int[]){ 42 }), 0);
  CHECK_INT(ncmpi_enddef(ncid), 0);
  CHECK_INT(ncmpi_put_var_double_all(ncid, d, all_d), 0);
  CHECK_INT(ncmpi_put_var_short_all(ncid, s, all_s), 0);
  CHECK_INT(ncmpi_put_vara_int_all(ncid, n, start, count, all_n), 0);
  CHECK_INT(ncmpi_close(ncid), 0);
}
#endif

/* ---- pairs ---- */

static void make_pair(int iotype, const char* library, int mode, const char* format, int tasks, enum pattern pattern,
                      int rearranger)
{
  char name[2][100];
  const char* directories[2] = { "pio", "serial" };
  for (int i = 0; i < 2; i++)
    snprintf(name[i], sizeof name[i], "%s/%s_%s_%d_%d_%d.nc", directories[i], library, format, tasks, pattern, rearranger);
  write_with_pio(name[0], iotype, mode, tasks, pattern, rearranger);
  if (rank != 0) return;
#ifdef STANCHION_TEST_NETCDF
  if (iotype == PIO_IOTYPE_NETCDF) write_with_netcdf(name[1], mode);
#endif
#ifdef STANCHION_TEST_PNETCDF
  if (iotype == PIO_IOTYPE_PNETCDF) write_with_pnetcdf(name[1], mode);
#endif
}

static void make_pairs(int iotype, const char* library)
{
  static const int modes[3] = { 0, PIO_64BIT_OFFSET, PIO_64BIT_DATA };
  static const char* const formats[3] = { "cdf1", "cdf2", "cdf5" };
  int tasks[3], numbers = task_numbers(tasks);
  for (int n = 0; n < numbers; n++)
    for (int r = 0; r < 2; r++)
      for (int pattern = BLOCK; pattern <= STRIDE; pattern++)
        make_pair(iotype, library, modes[(n + r) % 3], formats[(n + r) % 3], tasks[n], pattern, rearrangers[r]);
}

int main(int argc, char** argv)
{
  begin(&argc, &argv);
  if (rank == 0) {
    mkdir("pio", 0777);
    mkdir("serial", 0777);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  make_values();
#ifdef STANCHION_TEST_NETCDF
  make_pairs(PIO_IOTYPE_NETCDF, "netcdf");
#endif
#ifdef STANCHION_TEST_PNETCDF
  make_pairs(PIO_IOTYPE_PNETCDF, "pnetcdf");
#endif
  return check_result_mpi();
}
