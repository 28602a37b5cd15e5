/* How fast kvtree is, on its public API only: links against Stanchion or any other kvtree.
 *
 *   bench_kvtree serial 1 4 16 10000 100000   CPU nanoseconds a key: insert, look up, merge, ...
 *   bench_kvtree memory 1 4 16 100000         bytes of heap a key
 *   mpiexec -n 8 bench_kvtree mpi 10 400 1000 milliseconds: exchange, gather, scatter, broadcast
 *
 * Every figure is the best of several repetitions; floors are what memory, MPI and the kernel alone
 * need for the same. Ratios between two builds mean something only when
 * both run in turns: benches/compare.sh does that. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi.h"
#include "kvtree.h"
#include "kvtree_mpi.h"
#include "kvtree_util.h"

static int rank, ranks;
static double budget = 20; /* seconds; a repetition that takes longer is the only one */

static double cpu(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* ---- one process ---- */

enum { INSERT, LOOKUP, ABSENT, ITERATE, PACK, UNPACK, MERGE, SORT, WRITE, READ, RECORDS, UNSET, DELETE, STEPS };
static const char* const step_names[STEPS] = {"insert", "lookup", "absent", "iterate", "pack", "unpack", "merge",
                                              "sort_int", "write_file", "read_file", "records", "unset", "delete"};

static int scattered(int i, int n)
{
  return (int)((i * 2654435761u) % (unsigned)n);
}

/* Nested records as checkpoint file lists have them. */
static void add_records(kvtree* tree, int n)
{
  for (int i = 0; i < n; i++) {
    char name[64];
    snprintf(name, sizeof name, "ckpt.%d/rank_%d.dat", i % 7, i);
    kvtree* record = kvtree_set_kv_int(tree, "RANK", i);
    kvtree_util_set_str(record, "FILE", name);
    kvtree_util_set_bytecount(record, "SIZE", 1000ul + i);
    kvtree_util_set_crc32(record, "CRC", i * 77);
    kvtree_util_set_int(record, "COMPLETE", 1);
  }
}

/* One pass over all steps with n keys, `times` trees over so that small ones can be timed. */
static void serial_pass(int n, int times, double* seconds)
{
  int sample = n > 2000 ? 2000 : n;
  double scale = (double)n / sample, start;
  char file[64];
  long found = 0;
  snprintf(file, sizeof file, "/dev/shm/bench_kvtree.%d", (int)getpid());
  kvtree** trees = malloc(times * sizeof *trees);
  kvtree** copies = malloc(times * sizeof *copies);
  kvtree** unpacked = malloc(times * sizeof *unpacked);
  for (int t = 0; t < times; t++) {
    trees[t] = kvtree_new();
    copies[t] = kvtree_new();
    unpacked[t] = kvtree_new();
  }
#define STEP(step, factor, body)                        \
  start = cpu();                                        \
  for (int t = 0; t < times; t++) body                  \
  seconds[step] += (cpu() - start) * (factor) / times;

  STEP(INSERT, 1, { for (int i = 0; i < n; i++) kvtree_set_kv_int(trees[t], "K", i); })
  STEP(LOOKUP, scale, { for (int i = 0; i < sample; i++) found += kvtree_get_kv_int(trees[t], "K", scattered(i, n)) != NULL; })
  STEP(ABSENT, scale, { for (int i = 0; i < sample; i++) found += kvtree_get_kv_int(trees[t], "K", -1 - i) != NULL; })
  size_t size = kvtree_pack_size(trees[0]);
  char* buffer = malloc(size);
  STEP(PACK, 1, { kvtree_pack(buffer, trees[t]); })
  STEP(UNPACK, 1, { kvtree_unpack(buffer, unpacked[t]); })
  STEP(MERGE, 1, { kvtree_merge(copies[t], trees[t]); })
  STEP(SORT, 1, { kvtree_sort_int(kvtree_get(unpacked[t], "K"), KVTREE_SORT_ASCENDING); })
  STEP(DELETE, 1, { kvtree_delete(&copies[t]); copies[t] = kvtree_new(); })
  if (times == 1) {
    STEP(WRITE, 1, { kvtree_write_file(file, trees[t]); })
    STEP(READ, 1, { kvtree_read_file(file, copies[t]); })
    unlink(file);
  }
  STEP(UNSET, scale, { for (int i = 0; i < sample; i++) kvtree_unset_kv_int(trees[t], "K", i); })
  kvtree* keys;
  STEP(ITERATE, 1, { keys = kvtree_get(unpacked[t], "K"); for (kvtree_elem* e = kvtree_elem_first(keys); e; e = kvtree_elem_next(e)) found += e->key != NULL; })
  STEP(RECORDS, 1, { kvtree* c = kvtree_new(); add_records(c, n < 10 ? 1 : n / 10); kvtree_delete(&c); })
#undef STEP
  if (found != (long)times * (sample + n)) printf("WRONG: found %ld\n", found);
  for (int t = 0; t < times; t++) {
    kvtree_delete(&trees[t]);
    kvtree_delete(&copies[t]);
    kvtree_delete(&unpacked[t]);
  }
  free(trees);
  free(copies);
  free(unpacked);
  free(buffer);
}

/* What memory allows: three reads that wait for each other, as a lookup needs at least (table, element,
 * key), in as much memory as n keys take. */
static double floor_of_lookup(int n)
{
  enum { RECORD = 112 };
  char* memory = malloc((size_t)n * RECORD);
  int* order = malloc(n * sizeof *order);
  for (int i = 0; i < n; i++) order[i] = i;
  srand(1);
  for (int i = n - 1; i > 0; i--) {
    int j = rand() % (i + 1), k = order[i];
    order[i] = order[j];
    order[j] = k;
  }
  for (int i = 0; i < n; i++) *(void**)(memory + (size_t)order[i] * RECORD) = memory + (size_t)order[(i + 1) % n] * RECORD;
  double best = 1e30;
  void* volatile at = memory;
  for (int repetition = 0; repetition < 5; repetition++) {
    void** place = at;
    double start = cpu();
    for (int i = 0; i < 3 * 20000; i++) place = *place;
    double seconds = (cpu() - start) / 20000;
    at = place;
    if (seconds < best) best = seconds;
  }
  free(memory);
  free(order);
  return best;
}

static void serial(int n)
{
  double best[STEPS];
  for (int s = 0; s < STEPS; s++) best[s] = 1e30;
  int times = n < 1000 ? 20000 / n : 1;
  double begun = cpu();
  for (int repetition = 0; repetition < 10 && (repetition == 0 || cpu() - begun < budget); repetition++) {
    double now[STEPS] = {0};
    serial_pass(n, times, now);
    for (int s = 0; s < STEPS; s++)
      if (now[s] < best[s]) best[s] = now[s];
  }
  for (int s = 0; s < STEPS; s++)
    if (best[s] > 0) printf("serial n=%d %s %.1f ns/key\n", n, step_names[s], best[s] / n * 1e9);
  printf("serial n=%d floor_of_lookup %.1f ns/key\n", n, floor_of_lookup(n) * 1e9);
}

static void memory(int n)
{
  int times = n < 1000 ? 20000 / n : 1;
  kvtree** trees = malloc(times * sizeof *trees);
  size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  for (int t = 0; t < times; t++) {
    trees[t] = kvtree_new();
    for (int i = 0; i < n; i++) kvtree_set_kv_int(trees[t], "K", i);
  }
  size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  printf("memory n=%d heap %.1f bytes/key\n", n, (double)(after - before) / n / times);
  for (int t = 0; t < times; t++) kvtree_delete(&trees[t]);
  free(trees);
}

/* ---- many processes ---- */

static double most(double mine)
{
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static kvtree* payload(int keys)
{
  kvtree* tree = kvtree_new();
  for (int i = 0; i < keys; i++) {
    char key[32];
    snprintf(key, sizeof key, "key%d", i);
    kvtree_util_set_int(tree, key, rank + i);
  }
  return tree;
}

enum { ALL_TO_ALL, RING, GATHER, SCATTER, BCAST, CALLS };
static const char* const call_names[CALLS] = {"exchange_all_to_all", "exchange_ring", "write_gather", "read_scatter", "bcast"};

static double timed(int call, const char* prefix, kvtree* data)
{
  kvtree *out = kvtree_new(), *in = kvtree_new();
  if (call == ALL_TO_ALL)
    for (int d = 0; d < ranks; d++) kvtree_exchange_sendq(out, d, data);
  if (call == RING) kvtree_exchange_sendq(out, (rank + 1) % ranks, data);
  if (call == BCAST && rank == 0) kvtree_merge(in, data);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  int failed = 0;
  if (call == ALL_TO_ALL || call == RING) failed = kvtree_exchange(out, in, MPI_COMM_WORLD);
  if (call == GATHER) failed = kvtree_write_gather(prefix, data, MPI_COMM_WORLD);
  if (call == SCATTER) failed = kvtree_read_scatter(prefix, in, MPI_COMM_WORLD);
  if (call == BCAST) failed = kvtree_bcast(in, 0, MPI_COMM_WORLD);
  double seconds = most(MPI_Wtime() - start);
  if (failed || (call == ALL_TO_ALL && kvtree_size(in) != ranks) ||
      (call == SCATTER && kvtree_pack_size(in) != kvtree_pack_size(data)))
    printf("WRONG: %s on rank %d\n", call_names[call], rank);
  kvtree_delete(&out);
  kvtree_delete(&in);
  return seconds;
}

/* The same bytes by MPI and the kernel alone. */
static double timed_floor(int call, const char* file, size_t size)
{
  char *mine = calloc(ranks, size), *all = calloc(ranks, size);
  int bytes = (int)size, fd = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  if (call == ALL_TO_ALL) MPI_Alltoall(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
  if (call == RING)
    MPI_Sendrecv(mine, bytes, MPI_BYTE, (rank + 1) % ranks, 0, all, bytes, MPI_BYTE, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (call == GATHER) MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (call == GATHER && rank == 0) {
    fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(fd, all, size * ranks) < 0 || fsync(fd) != 0) printf("WRONG: cannot write %s\n", file);
  }
  if (call == SCATTER && rank == 0) {
    fd = open(file, O_RDONLY);
    if (read(fd, all, size * ranks) < 0) printf("WRONG: cannot read %s\n", file);
  }
  if (call == SCATTER) MPI_Scatter(all, bytes, MPI_BYTE, mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (call == BCAST) MPI_Bcast(mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  double seconds = most(MPI_Wtime() - start);
  if (fd >= 0) close(fd);
  free(mine);
  free(all);
  return seconds;
}

static void remove_gather_files(const char* prefix)
{
  for (int level = 0; level < 3; level++)
    for (int writer = 0; writer < ranks; writer++) {
      char file[128];
      snprintf(file, sizeof file, "%s.%d.%d", prefix, level, writer);
      unlink(file);
    }
  unlink(prefix);
}

static void parallel(int keys)
{
  char prefix[64], floor_file[80];
  int id = (int)getpid();
  MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(prefix, sizeof prefix, "/dev/shm/bench_kvtree_gather.%d", id);
  snprintf(floor_file, sizeof floor_file, "%s.floor", prefix);
  kvtree* data = payload(keys);
  size_t size = (size_t)most((double)kvtree_pack_size(data)); /* the largest of all ranks */
  for (int call = 0; call < CALLS; call++) {
    double best = 1e30, floor = 1e30, begun = MPI_Wtime();
    for (int repetition = 0; repetition < 10; repetition++) {
      double seconds = timed(call, prefix, data);
      double least = timed_floor(call, floor_file, size);
      if (seconds < best) best = seconds;
      if (least < floor) floor = least;
      if (most(MPI_Wtime() - begun) > budget) break;
    }
    if (rank != 0) continue;
    printf("mpi ranks=%d keys=%d %s %.4f ms\n", ranks, keys, call_names[call], best * 1e3);
    printf("mpi ranks=%d keys=%d floor_of_%s %.4f ms\n", ranks, keys, call_names[call], floor * 1e3);
  }
  if (rank == 0) remove_gather_files(prefix);
  if (rank == 0) unlink(floor_file);
  kvtree_delete(&data);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (getenv("BENCH_BUDGET")) budget = atof(getenv("BENCH_BUDGET"));
  const char* mode = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; i++) {
    if (strcmp(mode, "mpi") == 0) parallel(atoi(argv[i]));
    if (strcmp(mode, "serial") == 0 && rank == 0) serial(atoi(argv[i]));
    if (strcmp(mode, "memory") == 0 && rank == 0) memory(atoi(argv[i]));
    fflush(stdout);
  }
  if (argc < 3 && rank == 0) fprintf(stderr, "usage: %s serial|memory|mpi <keys>...\n", argv[0]);
  MPI_Finalize();
  return argc < 3;
}
