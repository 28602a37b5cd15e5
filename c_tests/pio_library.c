/* pio_library netcdf|pnetcdf [<part of a text>...]: a file library that one rank cannot load is an error with that text on all
 * ranks, and everything else goes on working. Without a text: all ranks can. */
#include "pio_common.h"

static int create(int system, int type, int* file)
{
  return COMMON(PIOc_createfile(system, file, &type, "array.nc", PIO_CLOBBER));
}

static void write_and_read(int system, int type)
{
  int dims[1] = { 30 * size }, file, dim, variable;
  struct map map = new_map(BLOCK, 1, dims);
  double* values = new_values(&map, 1);
  int decomposition = describe(system, PIO_DOUBLE, &map, PIO_REARR_BOX);
  NEED(create(system, type, &file));
  define_dims(file, &map, 0, &dim);
  NEED(PIOc_def_var(file, "v", PIO_DOUBLE, 1, &dim, &variable));
  NEED(PIOc_enddef(file));
  NEED(PIOc_write_darray(file, variable, decomposition, map.length, values, NULL));
  NEED(PIOc_sync(file));
  CHECK_READS(file, variable, decomposition, &map, 1);
  NEED(PIOc_closefile(file));
  NEED(PIOc_freedecomp(system, decomposition));
  free(values);
  free_map(&map);
}

static void check_texts(char** parts)
{
  char text[2000] = "";
  stanchion_last_error(text, sizeof text);
  for (; *parts; parts++)
    if (!strstr(text, *parts)) check_failed(__FILE__, __LINE__, "the text", text, *parts);
}

/* Whatever it says: it does not need the library. */
static void check_strerror(void)
{
  char text[PIO_MAX_NAME + 1] = "";
#if STANCHION_PIO_NCAR
  CHECK_INT(PIOc_strerror(PIO_EINVAL, text), PIO_NOERR);
#else
  CHECK_INT(PIOc_strerror(PIO_EINVAL, text, sizeof text), PIO_NOERR);
#endif
  CHECK(text[0]);
}

int main(int argc, char** argv)
{
  begin(&argc, &argv);
  int type = argc > 1 && !strcmp(argv[1], "pnetcdf") ? PIO_IOTYPE_PNETCDF : PIO_IOTYPE_NETCDF;
  int other = PIO_IOTYPE_PNETCDF + PIO_IOTYPE_NETCDF - type, file = -1;
  int system = new_system(size, PIO_REARR_BOX);
  if (argc < 3) {
    write_and_read(system, type);
    NEED(PIOc_finalize(system));
    return check_result_mpi();
  }
  for (int i = 0; i < 2; i++) {
    int can = PIOc_iotype_available(type), all;
    MPI_Allreduce(&can, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(all, size - 1);
    CHECK_INT(create(system, type, &file), PIO_EBADIOTYPE);
    check_texts(argv + 2);
    check_strerror();
    if (PIOc_iotype_available(other)) write_and_read(system, other);
  }
  /* netCDF, which is tried next, reads what it has written. */
  int opened = COMMON(PIOc_openfile(system, &file, &type, "array.nc", PIO_NOWRITE));
  if (type == PIO_IOTYPE_PNETCDF && PIOc_iotype_available(other)) {
    CHECK_INT(opened, PIO_NOERR);
    NEED(PIOc_closefile(file));
  } else {
    CHECK_INT(opened, PIO_EBADIOTYPE);
  }
  NEED(PIOc_finalize(system));
  return check_result_mpi();
}
