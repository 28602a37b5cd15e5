/* What the tests of PIO share: I/O systems, maps of many kinds, and values to recognize. */
#ifndef PIO_COMMON_H
#define PIO_COMMON_H

#include <mpi.h>

#include "pio.h"
#include "stanchion.h"
#include "check.h"

static int rank, size;

static inline void begin(int* argc, char*** argv)
{
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  PIOc_Set_IOSystem_Error_Handling(PIO_DEFAULT, PIO_RETURN_ERROR);
}

/* The code, which must be the same on all ranks. */
static inline int common_at(const char* file, int line, const char* what, int code)
{
  int least, most;
  MPI_Allreduce(&code, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&code, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (least != most) check_failed(file, line, what, "not the same on all ranks", "so");
  return code;
}

#define COMMON(call) common_at(__FILE__, __LINE__, #call, call)

/* A call that must succeed; says why it did not. */
static inline int need_at(const char* file, int line, const char* what, int code)
{
  char why[400] = "";
  if (code == PIO_NOERR) return code;
  stanchion_last_error(why, sizeof why);
  check_failed(file, line, what, why, "without error");
  return code;
}

#define NEED(call) need_at(__FILE__, __LINE__, #call, call)

/* ---- I/O systems ---- */

static const int rearrangers[2] = { PIO_REARR_BOX, PIO_REARR_SUBSET };

/* Every n-th rank from the first. */
static inline int new_system(int tasks, int rearranger)
{
  int system = -1;
  if (tasks > size) tasks = size;
  NEED(PIOc_Init_Intracomm(MPI_COMM_WORLD, tasks, size / tasks, 0, rearranger, &system));
  return system;
}

/* How many I/O tasks are tried: in *numbers, without duplicates. */
static inline int task_numbers(int numbers[3])
{
  int count = 0;
  numbers[count++] = 1;
  if (size > 1) numbers[count++] = 2;
  if (size > 2) numbers[count++] = size;
  return count;
}

static inline int file_types(int types[2])
{
  int count = 0;
  if (PIOc_iotype_available(PIO_IOTYPE_PNETCDF)) types[count++] = PIO_IOTYPE_PNETCDF;
  if (PIOc_iotype_available(PIO_IOTYPE_NETCDF)) types[count++] = PIO_IOTYPE_NETCDF;
  return count;
}

/* ---- maps ---- */

struct map {
  int ndims, dims[7], length;
  PIO_Offset total;
  PIO_Offset* places; /* from 1, 0 is a hole */
};

enum pattern { BLOCK, STRIDE, SCATTERED, ONE_RANK, PATTERNS };

static inline PIO_Offset total_of(int ndims, const int* dims)
{
  PIO_Offset total = 1;
  for (int d = 0; d < ndims; d++) total *= dims[d];
  return total;
}

static inline unsigned mixed(unsigned x)
{
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

/* Who has an element, counted from 0; -1 is nobody. */
static inline int owner(enum pattern pattern, PIO_Offset element, PIO_Offset total)
{
  switch (pattern) {
    case BLOCK: return (int)(element * size / total);
    case STRIDE: return (int)(element % size);
    case SCATTERED: return mixed((unsigned)element) % 7 == 0 ? -1 : (int)(mixed((unsigned)element + 99) % (unsigned)size);
    default: return size - 1;
  }
}

static inline int has_gaps(enum pattern pattern) { return pattern == SCATTERED; }

/* SCATTERED: in no order and with holes. */
static inline struct map new_map(enum pattern pattern, int ndims, const int* dims)
{
  struct map map = { ndims, { 0 }, 0, total_of(ndims, dims), NULL };
  unsigned seed = 12345 + (unsigned)rank;
  memcpy(map.dims, dims, (size_t)ndims * sizeof *dims);
  map.places = malloc(((size_t)map.total + 8) * sizeof *map.places);
  for (PIO_Offset e = 0; e < map.total; e++)
    if (owner(pattern, e, map.total) == rank) map.places[map.length++] = e + 1;
  if (pattern != SCATTERED) return map;
  for (int hole = 0; hole < 3; hole++) map.places[map.length++] = 0;
  for (int i = map.length - 1; i > 0; i--) {
    int other = (int)(check_random(&seed) % (unsigned)(i + 1));
    PIO_Offset kept = map.places[i];
    map.places[i] = map.places[other];
    map.places[other] = kept;
  }
  return map;
}

static inline void free_map(struct map* map) { free(map->places); }

static inline int describe(int system, int type, const struct map* map, int rearranger)
{
  int id = -1;
  NEED(PIOc_InitDecomp(system, type, map->ndims, map->dims, map->length, map->places, &id, &rearranger, NULL, NULL));
  return id;
}

/* ---- values ---- */

static inline double value_of(PIO_Offset place, int variable) { return (double)(place + 1000 * (variable % 7)); }

static inline double* new_values(const struct map* map, int variable)
{
  double* values = malloc(((size_t)map->length + 1) * sizeof *values);
  for (int i = 0; i < map->length; i++) values[i] = map->places[i] ? value_of(map->places[i], variable) : -5;
  return values;
}

/* Holes must still have what was there: -7. */
static inline void check_values(const char* file, int line, const struct map* map, int variable, const double* values)
{
  int wrong = 0, first = -1;
  for (int i = 0; i < map->length; i++) {
    double wanted = map->places[i] ? value_of(map->places[i], variable) : -7;
    if (values[i] != wanted && wrong++ == 0) first = i;
  }
  if (!wrong) return;
  char what[160];
  snprintf(what, sizeof what, "rank %d of %d: %d of %d values wrong; the first, place %lld, has %g", rank, size, wrong,
           map->length, (long long)map->places[first], values[first]);
  check_failed(file, line, what, NULL, NULL);
}

#define CHECK_VALUES(map, variable, values) check_values(__FILE__, __LINE__, map, variable, values)

static inline double* empty_values(const struct map* map)
{
  double* values = malloc(((size_t)map->length + 1) * sizeof *values);
  for (int i = 0; i < map->length; i++) values[i] = -7;
  return values;
}

static inline void check_reads(const char* file, int line, int ncid, int varid, int decomposition, const struct map* map,
                               int variable)
{
  double* values = empty_values(map);
  if (need_at(file, line, "PIOc_read_darray", PIOc_read_darray(ncid, varid, decomposition, map->length, values)) == PIO_NOERR)
    check_values(file, line, map, variable, values);
  free(values);
}

#define CHECK_READS(ncid, varid, decomposition, map, variable) \
  check_reads(__FILE__, __LINE__, ncid, varid, decomposition, map, variable)

/* ---- files ---- */

/* Dimensions d0, d1, ... as the map has them; a dimension of records before them if wanted. Returns their number. */
static inline int define_dims(int ncid, const struct map* map, int records, int* dims)
{
  int count = 0;
  if (records) NEED(PIOc_def_dim(ncid, "time", PIO_UNLIMITED, &dims[count++]));
  for (int d = 0; d < map->ndims; d++) {
    char name[16];
    snprintf(name, sizeof name, "d%d", d);
    NEED(PIOc_def_dim(ncid, name, map->dims[d], &dims[count++]));
  }
  return count;
}

#endif
