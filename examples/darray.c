/* A field that is spread over all ranks, in one file.
 *
 * Every rank computes some columns of a grid and writes them for a few time steps; two ranks at most, the I/O
 * tasks, touch the file. Then the file is read back by rows: what a rank wants is up to its map, not to who wrote it.
 *   mpicc darray.c $(pkg-config --cflags --libs pio stanchion) -o darray && mpiexec -n 4 ./darray && ncdump -h field.nc
 */
#include <mpi.h>
#include <pio.h>
#include <stanchion.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 60, COLUMNS = 100, STEPS = 3 };

static int rank, ranks;

/* PIO's calls return the same code on all ranks, so all of them leave here. */
static void need(int code, const char* what)
{
  char why[512] = "";
  if (code == PIO_NOERR) return;
  stanchion_last_error(why, sizeof why);
  if (rank == 0) fprintf(stderr, "%s failed: %s\n", what, why);
  MPI_Finalize();
  exit(1);
}

#define NEED(call) need(call, #call)
#define SAY(...) (void)(rank == 0 && printf(__VA_ARGS__))

/* What the grid point has at a time: anything that tells points apart. */
static double value(int step, PIO_Offset place) { return step * 10000.0 + (double)place; }

/* Every ranks-th column; places in the grid count from 1. */
static int map_of_columns(PIO_Offset* map)
{
  int count = 0;
  for (int row = 0; row < ROWS; row++)
    for (int column = rank; column < COLUMNS; column += ranks) map[count++] = (PIO_Offset)row * COLUMNS + column + 1;
  return count;
}

/* Rows that follow each other. */
static int map_of_rows(PIO_Offset* map)
{
  int count = 0;
  for (int row = ROWS * rank / ranks; row < ROWS * (rank + 1) / ranks; row++)
    for (int column = 0; column < COLUMNS; column++) map[count++] = (PIO_Offset)row * COLUMNS + column + 1;
  return count;
}

static int decompose(int system, int rearranger, const PIO_Offset* map, int count)
{
  const int dims[2] = { ROWS, COLUMNS };
  int decomposition;
  NEED(PIOc_InitDecomp(system, PIO_DOUBLE, 2, dims, count, map, &decomposition, &rearranger, NULL, NULL));
  return decomposition;
}

static void write_field(int system, int iotype, const char* name)
{
  PIO_Offset* map = malloc(ROWS * COLUMNS * sizeof *map);
  double* part = malloc(ROWS * COLUMNS * sizeof *part);
  int count = map_of_columns(map), file, dims[3], field;
  int columns = decompose(system, PIO_REARR_SUBSET, map, count);
  NEED(PIOc_createfile(system, &file, &iotype, name, PIO_CLOBBER));
  NEED(PIOc_def_dim(file, "time", PIO_UNLIMITED, &dims[0]));
  NEED(PIOc_def_dim(file, "row", ROWS, &dims[1]));
  NEED(PIOc_def_dim(file, "column", COLUMNS, &dims[2]));
  NEED(PIOc_def_var(file, "field", PIO_DOUBLE, 3, dims, &field));
  NEED(PIOc_enddef(file));
  for (int step = 0; step < STEPS; step++) {
    for (int i = 0; i < count; i++) part[i] = value(step, map[i]);
    NEED(PIOc_setframe(file, field, step));
    NEED(PIOc_write_darray(file, field, columns, count, part, NULL)); /* part may be used again at once */
  }
  NEED(PIOc_closefile(file));
  NEED(PIOc_freedecomp(system, columns));
  free(part);
  free(map);
}

static long read_field(int system, int iotype, const char* name)
{
  PIO_Offset* map = malloc(ROWS * COLUMNS * sizeof *map);
  double* part = malloc(ROWS * COLUMNS * sizeof *part);
  int count = map_of_rows(map), file, field;
  int rows = decompose(system, PIO_REARR_BOX, map, count);
  long wrong = 0, all = 0;
  NEED(PIOc_openfile(system, &file, &iotype, name, PIO_NOWRITE));
  NEED(PIOc_inq_varid(file, "field", &field));
  for (int step = 0; step < STEPS; step++) {
    NEED(PIOc_setframe(file, field, step));
    NEED(PIOc_read_darray(file, field, rows, count, part));
    for (int i = 0; i < count; i++) wrong += part[i] != value(step, map[i]);
  }
  NEED(PIOc_closefile(file));
  NEED(PIOc_freedecomp(system, rows));
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  free(part);
  free(map);
  return all;
}

int main(int argc, char** argv)
{
  int system, tasks, iotype = PIO_IOTYPE_PNETCDF;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!PIOc_iotype_available(iotype)) iotype = PIO_IOTYPE_NETCDF;
  if (!PIOc_iotype_available(iotype)) {
    SAY("this library was built without PnetCDF and netCDF: there is nothing to write files with\n");
    return MPI_Finalize();
  }
  tasks = ranks < 2 ? 1 : 2;
  NEED(PIOc_Init_Intracomm(MPI_COMM_WORLD, tasks, ranks / tasks, 0, PIO_REARR_SUBSET, &system));
  write_field(system, iotype, "field.nc");
  long wrong = read_field(system, iotype, "field.nc");
  NEED(PIOc_finalize(system));
  SAY("%d steps of a %d x %d grid, written by columns and read by rows on %d ranks: %ld values wrong\n", STEPS, ROWS,
      COLUMNS, ranks, wrong);
  MPI_Finalize();
  return wrong != 0;
}
