/* Ids are known to all threads. What runs at the end of the process, or when MPI has ended, gets an answer or an error. */
#include <pthread.h>

#include "pio_common.h"

static int shared_system, decomposition, kept_system, kept_file = -1, iotype = -1;

/* One thread at a time, as MPI_THREAD_SERIALIZED has it. */
static void on_thread(void* (*work)(void*), void* argument)
{
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, argument) == 0) pthread_join(thread, NULL);
  else check_failed(__FILE__, __LINE__, "no thread", NULL, NULL);
}

static void* make(void* unused)
{
  (void)unused;
  struct map map = new_map(BLOCK, 1, (int[]){ 100 });
  decomposition = describe(shared_system, PIO_INT, &map, PIO_REARR_BOX);
  free_map(&map);
  return NULL;
}

static void* use_file(void* file)
{
  int ncid = *(int*)file, varid = -1, value = -1;
  PIO_Offset index = 3;
  NEED(PIOc_inq_varid(ncid, "x", &varid));
  NEED(PIOc_get_var1_int(ncid, varid, &index, &value));
  CHECK_INT(value, 30);
  NEED(PIOc_closefile(ncid));
  return NULL;
}

static int new_file(int system, const char* name)
{
  int ncid = -1, type = iotype, dim = -1, varid = -1, values[4] = { 0, 10, 20, 30 };
  NEED(PIOc_createfile(system, &ncid, &type, name, PIO_CLOBBER));
  NEED(PIOc_def_dim(ncid, "n", 4, &dim));
  NEED(PIOc_def_var(ncid, "x", PIO_INT, 1, &dim, &varid));
  NEED(PIOc_enddef(ncid));
  NEED(PIOc_put_var_int(ncid, varid, values));
  return ncid;
}

static void* text_of_own(void* unused)
{
  (void)unused;
  char text[100] = "";
  stanchion_last_error(text, sizeof text);
  CHECK_STR(text, ""); /* errors of other threads are theirs */
  CHECK_INT(PIOc_finalize(77), PIO_EBADID);
  CHECK(stanchion_last_error(text, sizeof text) > 0);
  return NULL;
}

/* After MPI_Finalize every function that needs MPI says so. */
static void check_ended(void)
{
  int n = 0, dims[1] = { 4 }, id = -1, type = iotype;
  bool active = false;
  PIO_Offset places[1] = { 1 }, length = 0;
  double value = 0;
  CHECK(PIOc_InitDecomp(kept_system, PIO_INT, 1, dims, 1, places, &id, NULL, NULL, NULL) != PIO_NOERR);
  CHECK(PIOc_Init_Intracomm(MPI_COMM_WORLD, 1, 1, 0, PIO_REARR_BOX, &id) != PIO_NOERR);
  CHECK(PIOc_Init_Intracomm_from_F90(0, 1, 1, 0, PIO_REARR_BOX, NULL, &id) != PIO_NOERR);
  CHECK(PIOc_readmap_from_f90("late.txt", &n, NULL, &length, NULL, 0) != PIO_NOERR);
  CHECK(PIOc_freedecomp(kept_system, 512) != PIO_NOERR);
  CHECK(PIOc_createfile(kept_system, &n, &type, "late.nc", PIO_CLOBBER) != PIO_NOERR);
  CHECK(PIOc_readmap("late.txt", &n, NULL, &length, NULL, MPI_COMM_WORLD) != PIO_NOERR);
  CHECK(PIOc_set_global_log_level(kept_system, 0) != PIO_NOERR);
  CHECK(PIOc_iosystem_is_active(kept_system, &active) == PIO_NOERR && active);
  if (iotype >= 0) {
    CHECK(PIOc_sync(kept_file) != PIO_NOERR);
    CHECK(PIOc_redef(kept_file) != PIO_NOERR);
    CHECK(PIOc_inq_varid(kept_file, "x", &n) != PIO_NOERR);
    CHECK(PIOc_write_darray(kept_file, 0, 512, 1, &value, NULL) != PIO_NOERR);
    CHECK(PIOc_put_att_text(kept_file, 0, "a", 1, "b") != PIO_NOERR);
    CHECK(PIOc_closefile(kept_file) != PIO_NOERR);
  }
  CHECK(PIOc_finalize(kept_system) != PIO_NOERR);
}

static void at_exit(void)
{
  char text[100];
  PIOc_Set_IOSystem_Error_Handling(PIO_DEFAULT, PIO_INTERNAL_ERROR);
  CHECK_INT(PIOc_get_local_array_size(decomposition), 100 / size);
  CHECK_INT(PIOc_finalize(shared_system), PIO_NOERR);
  PIOc_Set_IOSystem_Error_Handling(PIO_DEFAULT, PIO_RETURN_ERROR);
  CHECK_INT(PIOc_finalize(shared_system), PIO_EBADID);
  stanchion_last_error(text, sizeof text);
  MPI_Finalize();
  check_ended();
  if (check_failures) _Exit(1);
}

int main(int argc, char** argv)
{
  int provided, types[2];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  PIOc_Set_IOSystem_Error_Handling(PIO_DEFAULT, PIO_RETURN_ERROR);
  if (provided < MPI_THREAD_SERIALIZED) return MPI_Finalize();
  if (file_types(types) > 0) iotype = types[0];
  shared_system = new_system(2, PIO_REARR_BOX);
  on_thread(make, NULL);
  CHECK(PIOc_get_local_array_size(decomposition) > 0);
  if (iotype >= 0) {
    int ncid = new_file(shared_system, "shared.nc");
    on_thread(use_file, &ncid);
    CHECK_INT(PIOc_File_is_Open(ncid), 0);
  }
  on_thread(text_of_own, NULL);
  /* one system and file stay, for when MPI has ended */
  kept_system = new_system(1, PIO_REARR_BOX);
  if (iotype >= 0) kept_file = new_file(kept_system, "kept.nc");
  atexit(at_exit);
  return 0;
}
