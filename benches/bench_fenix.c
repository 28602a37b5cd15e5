/* How fast Fenix keeps data in memory, on its public API only: links against Stanchion or any Fenix 1.0.
 *
 *   mpiexec -n 4 bench_fenix store|overlap [mode = 1] [MiB a rank = 64] [repetitions = 10] [set size = 4]
 *   mpiexec --with-ft ulfm -n 5 bench_fenix recover [mode = 1] [MiB a rank = 64]
 *
 * store: store of a whole member and commit_barrier, mode 1 or 5; 6 is Stanchion's policy of Reed-Solomon codes, k = 2. The
 * slowest rank counts, best of the repetitions. The floor is the same bytes with buffers that exist already: mode 1 a copy beside
 * one exchange, modes 5 and 6 a copy, an exchange in the set and XOR; and the memory held afterwards beyond the user's own.
 * overlap: how much of a store is hidden when an istore goes on while this rank waits for something else as
 * long as the store takes, asking Fenix_Data_test now and then: of the whole store, and of what is left of it
 * when istore returns, which has copied the data by then.
 * recover: rank 1 dies after a commit, the fifth rank takes its place: until the communicator is repaired,
 * the group is created again, the member is restored. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>
#include <fenix.h>

enum { GROUP = 1, MEMBER = 10, WARM_UP = 2, RS_POLICY = 114 /* STANCHION_FENIX_POLICY_RS */ };

static MPI_Comm world;
static int rank, ranks;
static long count; /* doubles a rank */
static int set_size = 4;
static double* data;

static double slowest(double mine)
{
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, world);
  return all;
}

static void show(int mode, const char* what, double value, const char* unit)
{
  if (rank == 0) printf("mode %d %s %.3f %s\n", mode, what, value, unit);
  fflush(stdout);
}

static void wrong(const char* what)
{
  printf("WRONG: %s on rank %d\n", what, rank);
  fflush(stdout);
}

/* In MiB, what this rank holds at the moment. */
static double memory(void)
{
  long pages = 0, all = 0;
  FILE* statm = fopen("/proc/self/statm", "r");
  if (statm && fscanf(statm, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (statm) fclose(statm);
  return pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static double* new_doubles(long number)
{
  double* place = malloc(number * sizeof *place);
  if (!place) MPI_Abort(MPI_COMM_WORLD, 2);
  memset(place, 1, number * sizeof *place);
  return place;
}

/* ---- floors ---- */

static double *own, *other;

static void floor_of_copy(void)
{
  int peer = (rank ^ 1) < ranks ? rank ^ 1 : rank;
  MPI_Request requests[2];
  MPI_Irecv(other, (int)count, MPI_DOUBLE, peer, 1, world, &requests[0]);
  MPI_Isend(data, (int)count, MPI_DOUBLE, peer, 1, world, &requests[1]);
  memcpy(own, data, count * sizeof *own);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void floor_of_parity(void)
{
  long chunk = count / (set_size - 1);
  int first = rank / set_size * set_size, position = rank % set_size;
  uint64_t *parity = (uint64_t*)other, *came = (uint64_t*)(other + chunk);
  memcpy(own, data, count * sizeof *own);
  memset(parity, 0, chunk * sizeof *parity);
  for (int distance = 1; distance < set_size; distance++) {
    int to = (position + distance) % set_size, from = (position + set_size - distance) % set_size;
    double* mine = own + (to < position ? to : to - 1) * chunk;
    MPI_Sendrecv(mine, (int)chunk, MPI_DOUBLE, first + to, 2, came, (int)chunk, MPI_DOUBLE, first + from, 2, world, MPI_STATUS_IGNORE);
    for (long i = 0; i < chunk; i++) parity[i] ^= came[i];
  }
}

/* ---- what is measured ---- */

static int failure;

/* A store of Fenix 1.0 returns -1 when all went well. */
static void note(int code)
{
  if (code != FENIX_SUCCESS && code != -1) failure = code;
}

static void store_and_commit(void)
{
  note(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL));
  note(Fenix_Data_commit_barrier(GROUP, NULL));
}

static double best_of(int repetitions, void (*run)(void))
{
  double best = 1e30;
  for (int i = -WARM_UP; i < repetitions; i++) {
    MPI_Barrier(world);
    double start = MPI_Wtime();
    run();
    MPI_Barrier(world);
    double took = slowest(MPI_Wtime() - start);
    if (i >= 0 && took < best) best = took;
  }
  return best;
}

static void create_group(int mode)
{
  int raid[3] = { mode, 1, set_size }, rs[3] = { 1, set_size, 2 }, flag;
  int code = mode == 6 ? Fenix_Data_group_create(GROUP, world, 0, 0, RS_POLICY, rs, &flag)
                       : Fenix_Data_group_create(GROUP, world, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, raid, &flag);
  if (code) wrong("group_create");
}

static void create_member(void)
{
  if (Fenix_Data_member_create(GROUP, MEMBER, data, (int)count, MPI_DOUBLE)) wrong("member_create");
}

static void measure_store(int mode, int repetitions)
{
  own = new_doubles(count);
  other = new_doubles(count);
  double floor = best_of(repetitions, mode == 1 ? floor_of_copy : floor_of_parity);
  free(own);
  free(other);
  double before = memory();
  create_group(mode);
  create_member();
  double took = best_of(repetitions, store_and_commit);
  show(mode, "store and commit", took * 1e3, "ms");
  show(mode, "floor", floor * 1e3, "ms");
  show(mode, "time by floor", took / floor, "times");
  show(mode, "memory by member", slowest(memory() - before) / (count * 8 / 1048576.0), "times");
  Fenix_Data_group_delete(GROUP);
}

static void pass_time(double seconds, Fenix_Request request)
{
  struct timespec moment = { 0, 200000 };
  double end = MPI_Wtime() + seconds;
  int flag = 0;
  while (MPI_Wtime() < end) {
    nanosleep(&moment, NULL);
    if (!flag) note(Fenix_Data_test(request, &flag));
  }
}

static void measure_overlap(int mode, int repetitions)
{
  double alone = 1e30, together = 1e30, copy = 0;
  create_group(mode);
  create_member();
  for (int i = -WARM_UP; i < repetitions; i++) {
    MPI_Barrier(world);
    double start = MPI_Wtime();
    note(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL));
    double took = slowest(MPI_Wtime() - start);
    Fenix_Data_commit_barrier(GROUP, NULL);
    if (i >= 0 && took < alone) alone = took;
  }
  for (int i = -WARM_UP; i < repetitions; i++) {
    Fenix_Request request;
    MPI_Barrier(world);
    double start = MPI_Wtime();
    note(Fenix_Data_member_istore(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL, &request));
    double copied = MPI_Wtime() - start;
    pass_time(alone, request);
    note(Fenix_Data_wait(request));
    double took = slowest(MPI_Wtime() - start);
    copied = slowest(copied);
    Fenix_Data_commit_barrier(GROUP, NULL);
    if (i >= 0 && took < together) together = took, copy = copied;
  }
  show(mode, "store", alone * 1e3, "ms");
  show(mode, "istore beside as much waiting", together * 1e3, "ms");
  show(mode, "until istore returns", copy * 1e3, "ms");
  show(mode, "hidden of the whole store", (2 * alone - together) / alone * 100, "%");
  show(mode, "hidden of the rest", (2 * alone - together) / (alone - copy) * 100, "%");
  Fenix_Data_group_delete(GROUP);
}

static double died_at;

static void run_and_die(int mode)
{
  create_group(mode);
  create_member();
  for (int i = 0; i < 3; i++) store_and_commit();
  if (failure) wrong("store");
  MPI_Barrier(world);
  died_at = MPI_Wtime();
  if (rank == 1) raise(SIGKILL);
  MPI_Barrier(world);
}

static void measure_recovery(int mode, double repaired_at)
{
  create_group(mode);
  double created_at = MPI_Wtime();
  memset(data, 0xff, count * sizeof *data);
  double start = MPI_Wtime();
  int code = Fenix_Data_member_restore(GROUP, MEMBER, data, (int)count, FENIX_DATA_SNAPSHOT_LATEST, NULL);
  double took = MPI_Wtime() - start;
  for (long i = 0; i < count; i++)
    if (data[i] != rank * 1e6 + i) code = -1;
  if (code) wrong("restore");
  MPI_Bcast(&died_at, 1, MPI_DOUBLE, 0, world);
  show(mode, "until the communicator is repaired", slowest(repaired_at - died_at) * 1e3, "ms");
  show(mode, "group_create", slowest(created_at - repaired_at) * 1e3, "ms");
  show(mode, "restore", slowest(took) * 1e3, "ms");
}

int main(int argc, char** argv)
{
  static int role, error;
  const char* what = argc > 1 ? argv[1] : "store";
  int recover = !strcmp(what, "recover"), mode = argc > 2 ? atoi(argv[2]) : 1;
  long mebibytes = argc > 3 ? atol(argv[3]) : 64;
  int repetitions = argc > 4 ? atoi(argv[4]) : 10;
  if (argc > 5) set_size = atoi(argv[5]);

  MPI_Init(&argc, &argv);
  count = mebibytes * 1048576 / sizeof *data;
  data = new_doubles(count);
  Fenix_Init(&role, MPI_COMM_WORLD, &world, &argc, &argv, recover, 0, MPI_INFO_NULL, &error);
  double started = MPI_Wtime();
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  if (role == FENIX_ROLE_INITIAL_RANK)
    for (long i = 0; i < count; i++) data[i] = rank * 1e6 + i;
  if (recover && role == FENIX_ROLE_INITIAL_RANK) {
    run_and_die(mode);
  } else if (recover) {
    measure_recovery(mode, started);
  } else {
    void (*measure)(int, int) = !strcmp(what, "overlap") ? measure_overlap : measure_store;
    measure(mode, repetitions);
    if (failure) wrong("a call");
  }
  Fenix_Finalize();
  MPI_Finalize();
  return 0;
}
