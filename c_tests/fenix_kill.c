/* fenix_kill <mode> <spares> <directory> <what: letters> [<rank of the world> <when: letter> <calls>]...
 * An iterating code with a checkable answer that stores its data now and then, while someone kills ranks. Each rank
 * that ends says whether the answer is right, or which error kept it from one. Letters: s works in communicators
 * derived from the resilient one too, and leaves them after a failure; f frees them then; n is without a jump. When ranks
 * are lost for good the computation starts again with those that are left.
 *
 * A rank that is named at the end dies by its own hand, in a call of MPI that recovery uses, after so many others: r
 * counts them from the moment when it hears of a failure, f from its Fenix_Finalize on. So it dies in the midst of
 * what a kill from outside hardly ever hits. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <mpi-ext.h>
#include <fenix.h>
#include <stanchion.h>
#include <signal.h>
#include <time.h>
#include "check.h"

enum { GROUP = 7, ITERATION = 3, VALUES = 2, LENGTH = 5000, STEPS = 200, EVERY = 5 };

/* All that must survive a jump is global. */
static MPI_Comm comm, half = MPI_COMM_NULL, row = MPI_COMM_NULL;
static int role, error, rank, size, world_rank, cut_off;
static int mode, spares, derives, frees, returns;
static const char* directory;
static int iteration;
static volatile int recoveries;
static int seen;
static unsigned long long values[LENGTH], left[LENGTH];

/* When this rank dies by its own hand, if it does, and how many calls it makes before. */
static char dies_when;
static int calls_left, counts, shrinks;

static void pass(void)
{
  if (counts && calls_left-- == 0) kill(getpid(), SIGKILL);
}

static void hear_of_failure(void) { counts |= dies_when == 'r'; }

/* The library's calls come by here. */
int MPIX_Comm_revoke(MPI_Comm given)
{
  hear_of_failure();
  pass();
  return PMPIX_Comm_revoke(given);
}

/* The first one is that of Fenix_Init; a spare hears of a failure by being asked for the second. */
int MPIX_Comm_shrink(MPI_Comm given, MPI_Comm* made)
{
  if (++shrinks > 1) hear_of_failure();
  pass();
  return PMPIX_Comm_shrink(given, made);
}

int MPIX_Comm_agree(MPI_Comm given, int* flag)
{
  pass();
  return PMPIX_Comm_agree(given, flag);
}

int MPI_Comm_split(MPI_Comm given, int color, int key, MPI_Comm* made)
{
  pass();
  return PMPI_Comm_split(given, color, key, made);
}

int MPI_Comm_dup(MPI_Comm given, MPI_Comm* made)
{
  pass();
  return PMPI_Comm_dup(given, made);
}

int MPI_Allgather(const void* mine, int count, MPI_Datatype type, void* all, int count_of_each, MPI_Datatype type_of_each,
                  MPI_Comm given)
{
  pass();
  return PMPI_Allgather(mine, count, type, all, count_of_each, type_of_each, given);
}

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
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  snprintf(text, sizeof text, "%ld", (long)getpid());
  leave("pid", world_rank, text);
}

static void set_end(int victim, char when, int calls)
{
  if (victim != world_rank) return;
  dies_when = when;
  calls_left = calls;
}

static void end(const char* text)
{
  char line[700];
  snprintf(line, sizeof line, "rank %d of %d: %s", rank, size, text);
  if (cut_off) leave("cut_off", world_rank, line);
  else leave("end", rank, line);
}

/* Ends this rank with an error that all ranks have. */
static void give_up(const char* call, int code)
{
  char text[512], line[600];
  stanchion_last_error(text, sizeof text);
  Fenix_Finalize();
  snprintf(line, sizeof line, "has an error: %s returns %d: %s", call, code, text);
  end(line);
  MPI_Finalize();
  exit(0);
}

static void count_recovery(MPI_Comm given, int code, void* data)
{
  (void)given, (void)code, (void)data;
  recoveries++;
}

/* 0 if a recovery has come between, which only a program without jumps gets to see: it goes back then. */
static int good(const char* call, int code)
{
  if (recoveries != seen && returns) return 0;
  if (code != FENIX_SUCCESS) give_up(call, code);
  return 1;
}

static int saved(void)
{
  return good("store", Fenix_Data_member_store(GROUP, VALUES, FENIX_DATA_SUBSET_FULL)) &&
         good("store", Fenix_Data_member_store(GROUP, ITERATION, FENIX_DATA_SUBSET_FULL)) &&
         good("commit_barrier", Fenix_Data_commit_barrier(GROUP, NULL));
}

static unsigned long long first_value(int of, int i) { return 1000003ULL * of + i; }

/* Nothing was committed by so many ranks, so nothing can be lost. */
static int begun(void)
{
  iteration = 0;
  for (int i = 0; i < LENGTH; ++i) values[i] = first_value(rank, i);
  Fenix_Data_member_create(GROUP, VALUES, values, LENGTH, MPI_UNSIGNED_LONG_LONG);
  Fenix_Data_member_create(GROUP, ITERATION, &iteration, 1, MPI_INT);
  return saved();
}

static int resumed(void)
{
  int flag, latest = FENIX_DATA_SNAPSHOT_LATEST;
  int code = Fenix_Data_member_restore(GROUP, ITERATION, &iteration, 1, latest, NULL);
  if (code == FENIX_ERROR_NODATA_FOUND || code == FENIX_ERROR_INVALID_MEMBERID) return begun();
  return good("restore", code) && good("restore", Fenix_Data_member_restore(GROUP, VALUES, values, LENGTH, latest, NULL)) &&
         good("attr_set", Fenix_Data_member_attr_set(GROUP, VALUES, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, values, &flag)) &&
         good("attr_set", Fenix_Data_member_attr_set(GROUP, ITERATION, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, &iteration, &flag));
}

/* Neighbours in pairs, and a ring of all: by different constructors. One that a failure interrupts may leave a handle
 * behind that is none, so it is not kept before the constructor has succeeded. */
static int derived(void)
{
  MPI_Comm pair, ring;
  if (!derives) return 1;
  if (frees && half != MPI_COMM_NULL) MPI_Comm_free(&half);
  if (frees && row != MPI_COMM_NULL) MPI_Comm_free(&row);
  half = row = MPI_COMM_NULL;
  if (!good("MPI_Comm_split", MPI_Comm_split(comm, rank / 2, rank, &pair))) return 0;
  half = pair;
  if (!good("MPI_Cart_create", MPI_Cart_create(comm, 1, (int[]){size}, (int[]){1}, 0, &ring))) return 0;
  row = ring;
  return 1;
}

/* Who waits for its neighbour here does not hear of a failure elsewhere. */
static int met_neighbour(void)
{
  int most = 0;
  if (!derives) return 1;
  if (!good("MPI_Allreduce", MPI_Allreduce(&iteration, &most, 1, MPI_INT, MPI_MAX, half))) return 0;
  if (most != iteration) give_up("the neighbour is elsewhere", most);
  return 1;
}

static int stepped(void)
{
  struct timespec time = {0, 3000000L};
  nanosleep(&time, NULL);
  int code = MPI_Sendrecv(values, LENGTH, MPI_UNSIGNED_LONG_LONG, (rank + 1) % size, 1, left, LENGTH,
                          MPI_UNSIGNED_LONG_LONG, (rank + size - 1) % size, 1, derives ? row : comm, MPI_STATUS_IGNORE);
  if (!good("MPI_Sendrecv", code) || !met_neighbour()) return 0;
  for (int i = 0; i < LENGTH; ++i) values[i] = 3 * values[i] + left[i];
  return ++iteration % EVERY != 0 || saved();
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

static int worked(int* mine)
{
  int policy[3] = {mode, size / 2, size / 2}, flag, all;
  if (!good("group_create", Fenix_Data_group_create(GROUP, comm, 0, 1, FENIX_DATA_POLICY_IN_MEMORY_RAID, policy, &flag)))
    return 0;
  if (!(role == FENIX_ROLE_INITIAL_RANK ? begun() : resumed()) || !derived()) return 0;
  while (iteration < STEPS)
    if (!stepped()) return 0;
  *mine = iteration == STEPS && is_right();
  if (!good("MPI_Allreduce", MPI_Allreduce(mine, &all, 1, MPI_INT, MPI_MIN, comm))) return 0;
  counts |= dies_when == 'f';
  return good("Fenix_Finalize", Fenix_Finalize());
}

int main(int argc, char** argv)
{
  static int registered, mine;
  MPI_Info info;
  MPI_Init(&argc, &argv);
  mode = atoi(argv[1]);
  spares = atoi(argv[2]);
  directory = argv[3];
  derives = strpbrk(argv[4], "sf") != NULL;
  frees = strchr(argv[4], 'f') != NULL;
  returns = strchr(argv[4], 'n') != NULL;
  leave_pid();
  for (int i = 5; i + 2 < argc; i += 3) set_end(atoi(argv[i]), argv[i + 1][0], atoi(argv[i + 2]));
  MPI_Info_create(&info);
  if (returns) MPI_Info_set(info, "FENIX_RESUME_MODE", "NO_JUMP");
  Fenix_Init(&role, MPI_COMM_WORLD, &comm, &argc, &argv, spares, 0, info, &error);
  if (!registered++) Fenix_Callback_register(count_recovery, NULL);
  do {
    seen = recoveries;
    if (comm != MPI_COMM_NULL) { /* it may have been cut off before there was one */
      MPI_Comm_rank(comm, &rank);
      MPI_Comm_size(comm, &size);
    }
    cut_off = getenv("STANCHION_FENIX_QUORUM") && error == FENIX_ERROR_INTERN; /* another may have its rank by now */
    if (error != FENIX_SUCCESS && error != FENIX_WARNING_SPARE_RANKS_DEPLETED) give_up("Fenix_Init", error);
  } while (!worked(&mine));
  end(mine ? "the answer is right" : "the answer is WRONG");
  MPI_Finalize();
  return !mine;
}
