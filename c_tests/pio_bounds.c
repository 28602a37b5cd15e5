/* What STANCHION_PIO_BOUNDS makes of entries that are not in the array.
 *
 *   pio_bounds holes    written nowhere, read into nothing
 *   pio_bounds wrap     wrapped around to the beginning of the array
 *   pio_bounds other    no such word: refused, and said why */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>

#include "pio_common.h"

/* Every rank has two elements but for the last, which has one, and an entry beyond the end: the last element, once around. */
static int decompose(int system, int rearranger, int* id)
{
  int total = 2 * size, last = rank == size - 1;
  PIO_Offset places[3] = { 2 * rank + 1, last ? 2 * total : 0, last ? 0 : 2 * rank + 2 };
  return PIOc_InitDecomp(system, PIO_INT, 1, &total, 3, places, id, &rearranger, NULL, NULL);
}

static void check(int system, int rearranger, int wraps)
{
  int id = -1, last = rank == size - 1, fill = -5;
  const int given[3] = { 10 * rank, 777, 10 * rank + 1 };
  int back[3] = { 7, 7, 7 };
  int64_t elements = 0, regions = 0, filled = 0;
  NEED(decompose(system, rearranger, &id));
  CHECK_INT(PIOc_get_local_array_size(id), 3);
  NEED(stanchion_pio_held(id, &elements, &regions));
  int* held = malloc(((size_t)elements + 1) * sizeof *held);
  NEED(stanchion_pio_to_io(id, given, 3, &fill, held, elements));
  for (int64_t i = 0; i < elements; i++) filled += held[i] == 777;
  int64_t all = 0;
  MPI_Allreduce(&filled, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  CHECK_INT(all, wraps);
  NEED(stanchion_pio_to_compute(id, held, elements, back, 3));
  CHECK_INT(back[0], given[0]);
  CHECK_INT(back[1], last && wraps ? 777 : 7);
  CHECK_INT(back[2], last ? 7 : given[2]);
  NEED(PIOc_freedecomp(system, id));
  free(held);
}

int main(int argc, char** argv)
{
  const char* word = argc > 1 ? argv[1] : "holes";
  setenv("STANCHION_PIO_BOUNDS", word, 1);
  begin(&argc, &argv);
  for (int r = 0; r < 2; r++) {
    int system = new_system(2, rearrangers[r]), id = -1;
    if (strcmp(word, "other") == 0) {
      PIOc_Set_IOSystem_Error_Handling(system, PIO_RETURN_ERROR);
      CHECK_INT(decompose(system, rearrangers[r], &id), PIO_EINVAL);
      char text[256] = "";
      stanchion_last_error(text, sizeof text);
      CHECK(strstr(text, "STANCHION_PIO_BOUNDS") != NULL);
    } else {
      check(system, rearrangers[r], strcmp(word, "wrap") == 0);
    }
    NEED(PIOc_finalize(system));
  }
  return check_result_mpi();
}
