/* A client of PIO: writes a decomposed array and reads it back. Also compiled as C++. */
#include <pio.h>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      MPI_Abort(MPI_COMM_WORLD, 1);                                        \
    }                                                                      \
  } while (0)

enum { LENGTH = 10 };

int main(int argc, char** argv) {
  int rank = -1, ranks = -1, system = -1, decomposition = -1, total, file, dim, field;
  int iotype = PIO_IOTYPE_PNETCDF;
  PIO_Offset map[LENGTH];
  double values[LENGTH], back[LENGTH];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  total = LENGTH * ranks;
  for (int i = 0; i < LENGTH; i++) {
    map[i] = (PIO_Offset)i * ranks + rank + 1;
    values[i] = (double)map[i];
    back[i] = -1;
  }
  CHECK(PIOc_Init_Intracomm(MPI_COMM_WORLD, 1, 1, 0, PIO_REARR_SUBSET, &system) == PIO_NOERR);
  CHECK(PIOc_InitDecomp(system, PIO_DOUBLE, 1, &total, LENGTH, map, &decomposition, NULL, NULL, NULL) == PIO_NOERR);
  CHECK(PIOc_get_local_array_size(decomposition) == LENGTH);
  if (!PIOc_iotype_available(iotype)) iotype = PIO_IOTYPE_NETCDF;
  if (PIOc_iotype_available(iotype)) {
    CHECK(PIOc_createfile(system, &file, &iotype, "install_test.nc", PIO_CLOBBER) == PIO_NOERR);
    CHECK(PIOc_def_dim(file, "x", total, &dim) == PIO_NOERR);
    CHECK(PIOc_def_var(file, "field", PIO_DOUBLE, 1, &dim, &field) == PIO_NOERR);
    CHECK(PIOc_enddef(file) == PIO_NOERR);
    CHECK(PIOc_write_darray(file, field, decomposition, LENGTH, values, NULL) == PIO_NOERR);
    CHECK(PIOc_closefile(file) == PIO_NOERR);
    CHECK(PIOc_openfile(system, &file, &iotype, "install_test.nc", PIO_NOWRITE) == PIO_NOERR);
    CHECK(PIOc_read_darray(file, field, decomposition, LENGTH, back) == PIO_NOERR);
    CHECK(PIOc_closefile(file) == PIO_NOERR);
    for (int i = 0; i < LENGTH; i++) CHECK(back[i] == values[i]);
  }
  CHECK(PIOc_freedecomp(system, decomposition) == PIO_NOERR);
  CHECK(PIOc_finalize(system) == PIO_NOERR);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
