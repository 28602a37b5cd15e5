/* Calls that NCAR's and SCORPIO's ABI have with other arguments: Fortran sees one form of them. */
#include <pio.h>
#include <stdlib.h>
#include <string.h>

static void copy_text(char* to, int length, const char* from)
{
  if (length < 1) return;
  strncpy(to, from, (size_t)length - 1);
  to[length - 1] = '\0';
}

/* NCAR's functions do not know how long the caller's text is; they need no more than this. */
enum { LONGEST = PIO_MAX_NAME + 1 };

int stanchion_piof_strerror(int code, char* text, int length)
{
  char found[LONGEST] = "";
#if STANCHION_PIO_NCAR
  int result = PIOc_strerror(code, found);
#else
  int result = PIOc_strerror(code, found, sizeof found);
#endif
  copy_text(text, length, found);
  return result;
}

int stanchion_piof_inq_varname(int ncid, int varid, char* name, int length)
{
  char found[LONGEST] = "";
#if STANCHION_PIO_NCAR
  int result = PIOc_inq_varname(ncid, varid, found);
#else
  int result = PIOc_inq_varname(ncid, varid, found, sizeof found);
#endif
  copy_text(name, length, found);
  return result;
}

int stanchion_piof_writemap(const char* file, int ioid, int ndims, const int* gdims, PIO_Offset maplen,
                            const PIO_Offset* map, int comm)
{
#if STANCHION_PIO_NCAR
  (void)ioid;
  return PIOc_writemap_from_f90(file, ndims, gdims, maplen, map, comm);
#else
  return PIOc_writemap_from_f90(file, ioid, ndims, gdims, maplen, map, comm);
#endif
}

/* The library does not look at the communicator. */
int stanchion_piof_read_nc_decomp(int iosysid, const char* file, int* ioid, int comm, int type, char* title,
                                  int title_length, char* history, int history_length, int* fortran_order)
{
  char titles[LONGEST] = "", histories[LONGEST] = "";
  (void)comm;
  *fortran_order = 0;
  int result = PIOc_read_nc_decomp(iosysid, file, ioid, MPI_COMM_NULL, type, titles, histories, fortran_order);
  copy_text(title, title_length, titles);
  copy_text(history, history_length, histories);
  return result;
}
