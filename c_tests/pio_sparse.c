/* A few entries in an array that no memory could hold: what a decomposition takes follows the maps. */
#include <limits.h>
#include <stdint.h>

#include "pio_common.h"

enum { ENTRIES = 20 };

static void check_sparse(int rearranger, int read_only)
{
  int system = new_system(2, rearranger), dims[2] = { INT_MAX, INT_MAX }, id = -1, values[ENTRIES] = { 0 }, place = 0;
  PIO_Offset map[ENTRIES], far = (PIO_Offset)INT_MAX * INT_MAX / size;
  int64_t held = -1, regions = -1, all = 0;
  for (int i = 0; i < ENTRIES; i++) map[i] = far * rank + 3 * i + 1;
  NEED((read_only ? PIOc_InitDecomp_ReadOnly : PIOc_InitDecomp)(system, PIO_INT, 2, dims, ENTRIES, map, &id, &rearranger,
                                                                 NULL, NULL));
  CHECK_INT(PIOc_get_local_array_size(id), ENTRIES);
  NEED(stanchion_pio_held(id, &held, &regions));
  MPI_Allreduce(&held, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rearranger == PIO_REARR_SUBSET) CHECK_INT(all, ENTRIES * size);
  /* a buffer of the whole block is more than there is */
  if (rearranger == PIO_REARR_BOX)
    CHECK(COMMON(stanchion_pio_to_io(id, values, ENTRIES, NULL, held ? &place : NULL, held)) != PIO_NOERR);
  NEED(PIOc_freedecomp(system, id));

  map[ENTRIES - 1] = map[0];
  int code = COMMON(PIOc_InitDecomp(system, PIO_INT, 2, dims, ENTRIES, map, &id, &rearranger, NULL, NULL));
  CHECK_INT(code, rearranger == PIO_REARR_BOX ? PIO_EINVAL : PIO_NOERR);
  NEED(PIOc_finalize(system));
}

int main(int argc, char** argv)
{
  begin(&argc, &argv);
  for (int r = 0; r < 2; r++)
    for (int read_only = 0; read_only < 2; read_only++) check_sparse(rearrangers[r], read_only);
  return check_result_mpi();
}
