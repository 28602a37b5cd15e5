/* fenix_kill <mode> <spares> <directory for the numbers of the processes>
 * An iterating code with a checkable answer that stores its data now and then, while someone kills ranks. Each rank
 * that ends says whether the answer is right, or which error kept it from one. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <fenix.h>
#include <stanchion.h>
#include <time.h>
#include "check.h"

enum { GROUP = 7, ITERATION = 3, VALUES = 2, LENGTH = 5000, STEPS = 200, EVERY = 5 };

/* All that must survive a jump is global. */
static MPI_Comm comm;
static int role, error, rank, size;
static int mode, spares;
static const char* directory;
static int iteration;
static unsigned long long values[LENGTH], left[LENGTH];

/* In files, since the launcher may lose output when ranks die. */
static void leave(const char* what, int number, const char* text)
{
  char name[512], final[512];
  snprintf(name, sizeof name, "%s/new.%s.%d", directory, what, number);
  snprintf(final, sizeof final, "%s/%s.%d", directory, what, number);
  FILE* file = fopen(name, "w");
  fprintf(file, "%s\n", text);
  fclose(file);
  rename(name, final);
}

static void leave_pid(void)
{
  char text[32];
  int world_rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  snprintf(text, sizeof text, "%ld", (long)getpid());
  leave("pid", world_rank, text);
}

/* Ends this rank with an error that all ranks have. */
static void give_up(const char* call, int code)
{
  char text[512], line[700];
  stanchion_last_error(text, sizeof text);
  Fenix_Finalize();
  snprintf(line, sizeof line, "rank %d has an error: %s returns %d: %s", rank, call, code, text);
  leave("end", rank, line);
  MPI_Finalize();
  exit(0);
}

static void need(const char* call, int code)
{
  if (code != FENIX_SUCCESS) give_up(call, code);
}

static void save(void)
{
  need("store", Fenix_Data_member_store(GROUP, VALUES, FENIX_DATA_SUBSET_FULL));
  need("store", Fenix_Data_member_store(GROUP, ITERATION, FENIX_DATA_SUBSET_FULL));
  need("commit_barrier", Fenix_Data_commit_barrier(GROUP, NULL));
}

static unsigned long long first_value(int of, int i) { return 1000003ULL * of + i; }

/* Nothing was committed, so nothing can be lost. */
static void begin(void)
{
  iteration = 0;
  for (int i = 0; i < LENGTH; ++i) values[i] = first_value(rank, i);
  Fenix_Data_member_create(GROUP, VALUES, values, LENGTH, MPI_UNSIGNED_LONG_LONG);
  Fenix_Data_member_create(GROUP, ITERATION, &iteration, 1, MPI_INT);
  save();
}

static void resume(void)
{
  int flag;
  int code = Fenix_Data_member_restore(GROUP, ITERATION, &iteration, 1, FENIX_DATA_SNAPSHOT_LATEST, NULL);
  if (code == FENIX_ERROR_NODATA_FOUND || code == FENIX_ERROR_INVALID_MEMBERID) {
    begin();
    return;
  }
  need("restore", code);
  code = Fenix_Data_member_restore(GROUP, VALUES, values, LENGTH, FENIX_DATA_SNAPSHOT_LATEST, NULL);
  need("restore", code);
  need("attr_set", Fenix_Data_member_attr_set(GROUP, VALUES, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, values, &flag));
  need("attr_set", Fenix_Data_member_attr_set(GROUP, ITERATION, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, &iteration, &flag));
}

static void step(void)
{
  struct timespec time = {0, 3000000L};
  nanosleep(&time, NULL);
  MPI_Sendrecv(values, LENGTH, MPI_UNSIGNED_LONG_LONG, (rank + 1) % size, 1, left, LENGTH, MPI_UNSIGNED_LONG_LONG,
               (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE);
  for (int i = 0; i < LENGTH; ++i) values[i] = 3 * values[i] + left[i];
  if (++iteration % EVERY == 0) save();
}

/* What one process would compute for all. */
static int is_right(void)
{
  for (int i = 0; i < LENGTH; i += 499) {
    unsigned long long all[64], next[64];
    for (int r = 0; r < size; ++r) all[r] = first_value(r, i);
    for (int s = 0; s < STEPS; ++s) {
      for (int r = 0; r < size; ++r) next[r] = 3 * all[r] + all[(r + size - 1) % size];
      memcpy(all, next, sizeof all);
    }
    if (values[i] != all[rank]) return 0;
  }
  return 1;
}

int main(int argc, char** argv)
{
  alarm(50);
  MPI_Init(&argc, &argv);
  mode = atoi(argv[1]);
  spares = atoi(argv[2]);
  directory = argv[3];
  leave_pid();
  Fenix_Init(&role, MPI_COMM_WORLD, &comm, &argc, &argv, spares, 0, MPI_INFO_NULL, &error);
  int policy[3] = {mode, 1, 3}, flag;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (error != FENIX_SUCCESS) give_up("Fenix_Init", error);
  need("group_create", Fenix_Data_group_create(GROUP, comm, 0, 1, FENIX_DATA_POLICY_IN_MEMORY_RAID, policy, &flag));
  if (role == FENIX_ROLE_INITIAL_RANK) begin();
  else resume();
  while (iteration < STEPS) step();
  int mine = iteration == STEPS && is_right(), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
  Fenix_Finalize();
  leave("end", rank, mine ? "the answer is right" : "the answer is WRONG");
  MPI_Finalize();
  return !all;
}
