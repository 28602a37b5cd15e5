/* How fast redset is, on its public API only: links against Stanchion or any other redset.
 *
 *   mpiexec -n 4 bench_redset [MiB a rank = 64] [directory = /dev/shm/bench_redset] [repetitions = 5] [KEY=value ...]
 *
 * The keys are those of redset_config, such as DIRECT=0. BENCH_SCHEME=XOR4 in the environment measures that one alone.
 * Every rank is a failure group of its own. For each scheme: apply, recover with nothing lost, recover
 * with as many ranks lost as it tolerates (PARTNER and XOR 1, RS 2); wall time, CPU time of all ranks
 * together, most memory of a rank beyond what it had at the start, when MPI was warm. Best of the
 * repetitions.
 *
 * The floor is the same bytes through read, MPI, memory and write alone, in the same job: each stage in
 * blocks of 1 MiB that stay in the cache, all ranks at once, no stage overlapping another. The memory
 * stage reads a block and changes another, once for XOR and once for each parity block for RS. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi.h"
#include "kvtree.h"
#include "redset.h"

enum { BLOCK = 1 << 20 };

static int rank, ranks;
static size_t bytes; /* of each rank's file */
static const char* directory;
static char data_file[512], floor_file[512];
static char *block, *other;

struct scheme {
  const char* name;
  int type, set, extra, lost;
};

static void wrong(const char* what)
{
  printf("WRONG: %s on rank %d\n", what, rank);
}

/* ---- measures ---- */

static double reduced(double mine, MPI_Op op)
{
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return all;
}

static double cpu(void)
{
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_utime.tv_sec + use.ru_stime.tv_sec + 1e-6 * (use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* KiB, from a line of /proc/self/status. */
static double memory(const char* line)
{
  char text[256];
  double kib = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(text, sizeof text, status))
    if (strncmp(text, line, strlen(line)) == 0) kib = atof(text + strlen(line));
  if (status) fclose(status);
  return kib;
}

static void forget_peak(void)
{
  int fd = open("/proc/self/clear_refs", O_WRONLY);
  if (fd >= 0 && write(fd, "5", 1) < 0) perror("clear_refs");
  if (fd >= 0) close(fd);
}

struct cost {
  double seconds, cpu, kib;
};

static struct cost none(void)
{
  struct cost cost = {1e30, 1e30, 0};
  return cost;
}

static void keep_best(struct cost* best, struct cost now)
{
  if (now.seconds < best->seconds) best->seconds = now.seconds;
  if (now.cpu < best->cpu) best->cpu = now.cpu;
  if (now.kib > best->kib) best->kib = now.kib;
}

static struct cost start; /* kib: of the whole program, the rest of a call */

static void begin(void)
{
  MPI_Barrier(MPI_COMM_WORLD);
  forget_peak();
  start.cpu = cpu();
  MPI_Barrier(MPI_COMM_WORLD);
  start.seconds = MPI_Wtime();
}

static struct cost end(void)
{
  struct cost cost;
  double seconds = MPI_Wtime() - start.seconds, used = cpu() - start.cpu, peak = memory("VmHWM:");
  cost.seconds = reduced(seconds, MPI_MAX);
  cost.cpu = reduced(used, MPI_SUM);
  cost.kib = reduced(peak - start.kib, MPI_MAX);
  return cost;
}

/* ---- the file of a rank ---- */

static uint64_t next(uint64_t* state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void fill(uint64_t* state)
{
  uint64_t* words = (uint64_t*)block;
  for (size_t i = 0; i < BLOCK / 8; i++) words[i] = next(state);
}

static size_t piece(size_t done, size_t all)
{
  return all - done < BLOCK ? all - done : BLOCK;
}

static void make_file(void)
{
  uint64_t state = 88172645463325252ull + 7919 * (unsigned)rank;
  unlink(data_file);
  int fd = open(data_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (size_t done = 0; done < bytes; done += BLOCK) {
    fill(&state);
    if (write(fd, block, piece(done, bytes)) < 0) wrong("writing data");
  }
  close(fd);
}

static int file_is_whole(void)
{
  uint64_t state = 88172645463325252ull + 7919 * (unsigned)rank;
  struct stat found;
  int fd = open(data_file, O_RDONLY), whole = fd >= 0 && fstat(fd, &found) == 0 && (size_t)found.st_size == bytes;
  for (size_t done = 0; whole && done < bytes; done += BLOCK) {
    size_t size = piece(done, bytes);
    fill(&state);
    whole = read(fd, other, size) == (ssize_t)size && memcmp(block, other, size) == 0;
  }
  if (fd >= 0) close(fd);
  return whole;
}

/* ---- floors ---- */

/* What a rank moves at least. `to` and `from` are where most of it goes to and comes from. */
struct volume {
  size_t read, send, recv, pass, write;
  int to, from;
};

static void read_floor(size_t all)
{
  int fd = open(data_file, O_RDONLY);
  for (size_t done = 0; done < all; done += BLOCK) {
    if (bytes > BLOCK && done % bytes < BLOCK) lseek(fd, 0, SEEK_SET);
    if (read(fd, block, piece(done, all)) < 0) wrong("reading");
  }
  close(fd);
}

static void send_floor(struct volume v)
{
  size_t most = v.send > v.recv ? v.send : v.recv;
  for (size_t done = 0; done < most; done += BLOCK) {
    MPI_Request requests[2];
    int count = 0;
    if (done < v.recv)
      MPI_Irecv(other, (int)piece(done, v.recv), MPI_BYTE, v.from, 0, MPI_COMM_WORLD, &requests[count++]);
    if (done < v.send) MPI_Isend(block, (int)piece(done, v.send), MPI_BYTE, v.to, 0, MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }
}

static void pass_floor(size_t all)
{
  for (size_t done = 0; done < all; done += BLOCK) {
    uint64_t *a = (uint64_t*)block, *b = (uint64_t*)other;
    size_t words = piece(done, all) / 8;
    for (size_t i = 0; i < words; i++) a[i] ^= b[i];
    __asm__ volatile("" ::: "memory");
  }
}

static void write_floor(size_t all)
{
  if (all == 0) return;
  int fd = open(floor_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (size_t done = 0; done < all; done += BLOCK)
    if (write(fd, block, piece(done, all)) < 0) wrong("writing");
  if (fsync(fd) != 0) wrong("fsync");
  close(fd);
}

enum { READ, SEND, PASS, WRITE, STAGES };
static const char* const stage_names[STAGES] = {"read", "send", "memory", "write"};

/* Best time of each stage. */
static void stages(struct volume v, int repetitions, double* best)
{
  for (int s = 0; s < STAGES; s++) best[s] = 1e30;
  for (int r = 0; r < repetitions; r++)
    for (int s = 0; s < STAGES; s++) {
      MPI_Barrier(MPI_COMM_WORLD);
      double begun = MPI_Wtime();
      if (s == READ) read_floor(v.read);
      if (s == SEND) send_floor(v);
      if (s == PASS) pass_floor(v.pass);
      if (s == WRITE) write_floor(v.write);
      double seconds = reduced(MPI_Wtime() - begun, MPI_MAX);
      if (seconds < best[s]) best[s] = seconds;
      if (s == WRITE) unlink(floor_file);
    }
}

static int set_size(struct scheme s)
{
  return s.set < ranks ? s.set : ranks;
}

/* Sets of neighbours, as long as the number of ranks is a multiple of their size. */
static int beside(struct scheme s, int distance)
{
  int size = set_size(s), first = rank / size * size;
  return first + (rank - first + distance + size) % size;
}

static int is_lost(struct scheme s, int of)
{
  int place = of % set_size(s);
  return place >= 1 && place <= s.lost;
}

static size_t chunk(struct scheme s)
{
  return bytes / (size_t)(set_size(s) - s.extra);
}

static struct volume apply_volume(struct scheme s)
{
  size_t copies = (size_t)s.extra;
  struct volume v = {bytes, bytes * copies, bytes * copies, 0, bytes * copies, beside(s, 1), beside(s, -1)};
  if (s.type == REDSET_COPY_PARTNER) return v;
  v.pass = bytes * copies;
  v.write = chunk(s) * copies;
  return v;
}

/* PARTNER: both neighbours of the lost rank read a file and send it there. */
static struct volume partner_volume(struct scheme s)
{
  struct volume v = {0, 0, 0, 0, 0, 0, 0};
  int right_is_lost = is_lost(s, beside(s, 1)), left_is_lost = is_lost(s, beside(s, -1));
  if (is_lost(s, rank)) {
    v.recv = v.write = 2 * bytes;
    v.from = MPI_ANY_SOURCE;
  } else if (right_is_lost || left_is_lost) {
    int both = right_is_lost && left_is_lost;
    v.read = v.send = bytes * (both ? 2 : 1);
    v.to = beside(s, right_is_lost ? 1 : -1);
  }
  return v;
}

/* Every survivor reads all it has, gives most of it to other survivors, and computes its share of what
 * is lost. What goes to the lost ranks is counted as if it went to a survivor. */
static struct volume recover_volume(struct scheme s)
{
  if (s.type == REDSET_COPY_PARTNER) return partner_volume(s);
  int size = set_size(s), survivors = size - s.lost;
  size_t all = chunk(s) * (size_t)size; /* files and parity of a rank */
  struct volume v = {0, 0, 0, 0, 0, 0, 0};
  if (is_lost(s, rank)) {
    v.write = all;
    return v;
  }
  v.read = all;
  v.send = v.recv = survivors > 1 ? all / (size_t)survivors * (size_t)(survivors - 1 + s.lost) : 0;
  v.pass = all * (size_t)s.lost;
  for (v.to = beside(s, 1); is_lost(s, v.to);) v.to = v.to / size * size + (v.to % size + 1) % size;
  for (v.from = beside(s, -1); is_lost(s, v.from);) v.from = v.from / size * size + (v.from % size + size - 1) % size;
  return v;
}

/* ---- settings ---- */

static void configure(const char* setting)
{
  const char* value = strchr(setting, '=');
  char key[64];
  snprintf(key, sizeof key, "%.*s", (int)strcspn(setting, "="), setting);
  kvtree* settings = kvtree_new();
  kvtree_set_kv(settings, key, value ? value + 1 : "1");
  if (!redset_config(settings)) wrong(setting);
  kvtree_delete(&settings);
}

/* ---- one scheme ---- */

static int create(struct scheme s, redset* d)
{
  char group[32];
  snprintf(group, sizeof group, "node%d", rank);
  if (s.type == REDSET_COPY_PARTNER) return redset_create_partner(MPI_COMM_WORLD, group, s.set, s.extra, d);
  if (s.type == REDSET_COPY_XOR) return redset_create_xor(MPI_COMM_WORLD, group, s.set, d);
  return redset_create_rs(MPI_COMM_WORLD, group, s.set, s.extra, d);
}

static void lose(redset_filelist list)
{
  unlink(data_file);
  for (int i = 0; i < redset_filelist_count(list); i++) unlink(redset_filelist_file(list, i));
}

static struct cost recover(const char* name, redset* d)
{
  begin();
  int failed = redset_recover(MPI_COMM_WORLD, name, d);
  struct cost cost = end();
  if (failed || !file_is_whole()) wrong("recover");
  return cost;
}

static void say(struct scheme s, const char* what, double value, const char* unit)
{
  if (rank == 0) printf("redset ranks=%d %s set=%d %s %.3f %s\n", ranks, s.name, set_size(s), what, value, unit);
}

static void say_cost(struct scheme s, const char* call, struct cost cost)
{
  char what[64];
  say(s, call, cost.seconds * 1e3, "ms");
  snprintf(what, sizeof what, "%s_cpu", call);
  say(s, what, cost.cpu * 1e3, "ms");
  snprintf(what, sizeof what, "%s_memory", call);
  say(s, what, cost.kib / 1024, "MiB");
}

static void say_floor(struct scheme s, const char* call, struct volume v, double seconds, int repetitions)
{
  double best[STAGES], sum = 0;
  char what[64];
  stages(v, repetitions, best);
  for (int i = 0; i < STAGES; i++) {
    snprintf(what, sizeof what, "floor_of_%s_%s", call, stage_names[i]);
    say(s, what, best[i] * 1e3, "ms");
    sum += best[i];
  }
  snprintf(what, sizeof what, "floor_of_%s", call);
  say(s, what, sum * 1e3, "ms");
  snprintf(what, sizeof what, "floor_to_%s", call);
  say(s, what, sum / seconds, "ratio");
}

static void measure(struct scheme s, int repetitions)
{
  struct cost apply = none(), nothing = none(), lost = none();
  char name[512];
  const char* files[1] = {data_file};
  snprintf(name, sizeof name, "%s/%s_", directory, s.name);
  for (int r = 0; r < repetitions; r++) {
    redset d = NULL;
    make_file(); /* anew, for a rebuilt one may be faster to read than one that a program has written */
    if (create(s, &d) != REDSET_SUCCESS) wrong("create");
    begin();
    int failed = redset_apply(1, files, name, d);
    keep_best(&apply, end());
    if (failed) wrong("apply");
    redset_filelist list = redset_filelist_enc_get(name, d);
    redset_delete(&d);
    keep_best(&nothing, recover(name, &d));
    redset_delete(&d);
    if (is_lost(s, rank)) lose(list);
    keep_best(&lost, recover(name, &d));
    if (redset_unapply(name, d) != REDSET_SUCCESS) wrong("unapply");
    redset_delete(&d);
    redset_filelist_release(&list);
  }
  say_cost(s, "apply", apply);
  say_cost(s, "recover", lost);
  say(s, "recover_nothing", nothing.seconds * 1e3, "ms");
  say_floor(s, "apply", apply_volume(s), apply.seconds, repetitions);
  say_floor(s, "recover", recover_volume(s), lost.seconds, repetitions);
  if (rank == 0) fflush(stdout);
  unlink(data_file);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bytes = (size_t)(argc > 1 ? atol(argv[1]) : 64) << 20;
  directory = argc > 2 ? argv[2] : "/dev/shm/bench_redset";
  int repetitions = argc > 3 ? atoi(argv[3]) : 5;
  if (ranks < 2 || bytes == 0 || repetitions < 1) {
    if (rank == 0) fprintf(stderr, "usage: mpiexec -n <2 or more> %s [MiB a rank] [directory] [repetitions] [KEY=value ...]\n", argv[0]);
    MPI_Finalize();
    return 1;
  }
  mkdir(directory, 0755);
  snprintf(data_file, sizeof data_file, "%s/data.%d", directory, rank);
  snprintf(floor_file, sizeof floor_file, "%s/floor.%d", directory, rank);
  block = malloc(BLOCK);
  other = malloc(BLOCK);
  memset(block, 1, BLOCK);
  memset(other, 1, BLOCK);
  struct volume ring = {0, 8 * BLOCK, 8 * BLOCK, 0, 0, (rank + 1) % ranks, (rank + ranks - 1) % ranks};
  send_floor(ring);
  start.kib = memory("VmRSS:");
  redset_init();
  for (int i = 4; i < argc; i++) configure(argv[i]);
  struct scheme schemes[] = {{"PARTNER", REDSET_COPY_PARTNER, ranks, 1, 1},
                             {"XOR4", REDSET_COPY_XOR, 4, 1, 1},
                             {"XOR", REDSET_COPY_XOR, ranks, 1, 1},
                             {"RS2", REDSET_COPY_RS, ranks, 2, 2}};
  const char* only = getenv("BENCH_SCHEME");
  for (int i = 0; i < 4; i++) {
    if (i == 1 && (ranks <= 4 || ranks % 4)) continue;
    if (only && strcmp(only, schemes[i].name) != 0) continue;
    if (schemes[i].extra < ranks) measure(schemes[i], repetitions);
  }
  redset_finalize();
  free(block);
  free(other);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) rmdir(directory);
  MPI_Finalize();
  return 0;
}
