/* Maps go into files and come back as they were, in their order and with their holes; files of upstream are read. */
#include "pio_common.h"

static int write_map(const char* name, int ndims, const int* dims, PIO_Offset length, PIO_Offset* places, MPI_Comm comm)
{
#if STANCHION_PIO_NCAR
  return PIOc_writemap(name, ndims, dims, length, places, comm);
#else
  return PIOc_writemap(name, 600, ndims, dims, length, places, comm);
#endif
}

static void check_back(const char* name, const struct map* map)
{
  int ndims = -1, *dims = NULL;
  PIO_Offset length = -1, *places = NULL;
  if (NEED(PIOc_readmap(name, &ndims, &dims, &length, &places, MPI_COMM_WORLD))) return;
  CHECK_INT(ndims, map->ndims);
  CHECK(memcmp(dims, map->dims, (size_t)map->ndims * sizeof *dims) == 0);
  CHECK_INT(length, map->length);
  if (length == map->length) CHECK(memcmp(places, map->places, (size_t)length * sizeof *places) == 0);
  free(dims);
  free(places);
}

static void check_round_trips(int system)
{
  static const int dims[3] = { 4, 5, 6 };
  for (int pattern = 0; pattern < PATTERNS; pattern++) {
    struct map map = new_map(pattern, 3, dims);
    int id = describe(system, PIO_INT, &map, rearrangers[pattern % 2]);
    NEED(write_map("map.txt", 3, dims, map.length, map.places, MPI_COMM_WORLD));
    check_back("map.txt", &map);
    NEED(PIOc_write_decomp("decomp.txt", system, id, MPI_COMM_WORLD)); /* in the order it was given */
    check_back("decomp.txt", &map);
    NEED(PIOc_freedecomp(system, id));
    free_map(&map);
  }
}

/* As upstream writes it, up to what follows the maps. */
static void check_text(void)
{
  static const int dims[2] = { 20, 3 };
  PIO_Offset places[2] = { rank + 1, 0 };
  char wanted[2000], got[2000] = "";
  int length = snprintf(wanted, sizeof wanted, "version 2001 npes %d ndims 2 \n20 3 \n", size);
  NEED(write_map("text.txt", 2, dims, rank % 2 ? 2 : 1, places, MPI_COMM_WORLD));
  for (int r = 0; r < size; r++)
    length += snprintf(wanted + length, sizeof wanted - (size_t)length, r % 2 ? "%d 2\n%d 0 \n" : "%d 1\n%d \n", r, r + 1);
  FILE* file = rank == 0 ? fopen("text.txt", "r") : NULL;
  if (file) {
    size_t count = fread(got, 1, (size_t)length, file);
    got[count] = 0;
    fclose(file);
    CHECK_STR(got, wanted);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void put_file(const char* name, const char* text)
{
  FILE* file = rank == 0 ? fopen(name, "w") : NULL;
  if (file) fputs(text, file);
  if (file) fclose(file);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Fewer ranks have written it: the others get nothing. More, or nonsense, is an error on all ranks. */
static void check_other_files(void)
{
  int ndims = -1, *dims = NULL;
  PIO_Offset length = -1, *places = NULL;
  static const char* const bad[] = {
    "", "version 2001 npes 1 ndims 1\n", "version 2001 npes 1 ndims 1\n5\n0 3\n1 2\n", "version 2001 npes 9999 ndims 1\n5\n0 0\n\n",
    "version 1 npes 1 ndims 1\n5\n0 1\n1\n", "version 2001 npes 1 ndims -4\n5\n0 1\n1\n",
    "version 2001 npes 1 ndims 1\n5\n0 99999999999999999\n1\n", "version 2001 npes 1 ndims 1\n5\n0 1\nx\n",
  };
  put_file("one.txt", "version 2001 npes 1 ndims 1 \n5 \n0 3\n2 0 1 \n\nObtained 3 stack frames.\n");
  if (NEED(PIOc_readmap("one.txt", &ndims, &dims, &length, &places, MPI_COMM_WORLD)) == 0) {
    CHECK_INT(length, rank == 0 ? 3 : 0);
    if (rank == 0) CHECK(places[0] == 2 && places[1] == 0 && places[2] == 1);
    CHECK_INT(dims[0], 5);
    free(dims);
    free(places);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    put_file("bad.txt", bad[i]);
    CHECK(COMMON(PIOc_readmap("bad.txt", &ndims, &dims, &length, &places, MPI_COMM_WORLD)) != PIO_NOERR);
  }
  CHECK(COMMON(PIOc_readmap("no_such_file", &ndims, &dims, &length, &places, MPI_COMM_WORLD)) != PIO_NOERR);
  CHECK(COMMON(PIOc_readmap(NULL, &ndims, &dims, &length, &places, MPI_COMM_WORLD)) != PIO_NOERR);
  CHECK(COMMON(write_map("no_such_directory/map", 1, (int[]){ 3 }, 0, NULL, MPI_COMM_WORLD)) != PIO_NOERR);
}

/* As a netCDF file: what comes back can be written and read with. */
static void check_nc_files(int system)
{
  static const int dims[2] = { 7, 9 };
  struct map map = new_map(SCATTERED, 2, dims);
  int id = describe(system, PIO_DOUBLE, &map, PIO_REARR_BOX), back = -1, order = -1;
  int ncid = -1, iotype = PIO_IOTYPE_NETCDF;
  PIO_Offset length = 0;
  char title[PIO_MAX_NAME + 1] = "", history[PIO_MAX_NAME + 1] = "";
  NEED(PIOc_write_nc_decomp(system, "decomp.nc", 0, id, (char*)"a title", (char*)"some history", 1));
  NEED(PIOc_read_nc_decomp(system, "decomp.nc", &back, MPI_COMM_WORLD, PIO_DOUBLE, title, history, &order));
  CHECK_STR(title, "a title");
  CHECK_STR(history, "some history");
  CHECK_INT(order, 1);
  if (!PIOc_iotype_available(iotype)) iotype = PIO_IOTYPE_PNETCDF;
  NEED(PIOc_openfile(system, &ncid, &iotype, "decomp.nc", PIO_NOWRITE));
  NEED(PIOc_inq_attlen(ncid, PIO_GLOBAL, STANCHION_PIO_NCAR ? "PIO_library_version" : "version", &length));
  CHECK(length > 0);
  NEED(PIOc_closefile(ncid));
  CHECK_INT(PIOc_get_local_array_size(back), map.length);
  NEED(PIOc_write_decomp("back.txt", system, back, MPI_COMM_WORLD));
  check_back("back.txt", &map);
  CHECK(COMMON(PIOc_read_nc_decomp(system, "no.nc", &back, MPI_COMM_WORLD, PIO_DOUBLE, NULL, NULL, NULL)) != PIO_NOERR);
  NEED(PIOc_write_nc_decomp(system, "plain.nc", 0, id, NULL, NULL, 0));
  NEED(PIOc_freedecomp(system, id));
  NEED(PIOc_freedecomp(system, back));
  NEED(PIOc_read_nc_decomp(system, "plain.nc", &back, MPI_COMM_WORLD, PIO_INT, NULL, NULL, NULL));
  NEED(PIOc_freedecomp(system, back));
  free_map(&map);
}

int main(int argc, char** argv)
{
  int types[2];
  begin(&argc, &argv);
  int system = new_system(2, PIO_REARR_SUBSET);
  check_round_trips(system);
  check_text();
  check_other_files();
  if (file_types(types) > 0) check_nc_files(system);
  NEED(PIOc_finalize(system));
  return check_result_mpi();
}
