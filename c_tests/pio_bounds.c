/* With STANCHION_PIO_BOUNDS=holes an entry that is not in the array is a hole: written nowhere, read into nothing. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>

#include "pio_common.h"

static void check(int system, int rearranger)
{
  PIO_Offset places[3] = { 2 * rank + 1, 2 * size + 1, 2 * rank + 2 };
  int total = 2 * size, id = -1;
  const int given[3] = { 10 * rank, -1, 10 * rank + 1 };
  int back[3] = { 7, 7, 7 };
  int64_t elements = 0, regions = 0;
  NEED(PIOc_InitDecomp(system, PIO_INT, 1, &total, 3, places, &id, &rearranger, NULL, NULL));
  CHECK_INT(PIOc_get_local_array_size(id), 3);
  NEED(stanchion_pio_held(id, &elements, &regions));
  int *held = malloc(((size_t)elements + 1) * sizeof *held), fill = -5;
  NEED(stanchion_pio_to_io(id, given, 3, &fill, held, elements));
  for (int64_t i = 0; i < elements; i++) CHECK(held[i] >= 0);
  NEED(stanchion_pio_to_compute(id, held, elements, back, 3));
  CHECK_INT(back[0], given[0]);
  CHECK_INT(back[1], 7);
  CHECK_INT(back[2], given[2]);
  NEED(PIOc_freedecomp(system, id));
  free(held);
}

int main(int argc, char** argv)
{
  setenv("STANCHION_PIO_BOUNDS", "holes", 1);
  begin(&argc, &argv);
  for (int r = 0; r < 2; r++) {
    int system = new_system(2, rearrangers[r]);
    check(system, rearrangers[r]);
    NEED(PIOc_finalize(system));
  }
  return check_result_mpi();
}
