/* How fast redset is between nodes, on its public API only: links against Stanchion or any other redset.
 *
 *   bench_redset_nodes partner|xor|rs2 [MiB a rank = 64] [repetitions = 2] [directory = /dev/shm/local]
 *
 * Sets of four ranks, the failure group of a rank is the name of its host; the directory is local to each node. apply, then recover
 * after the loss of the second node, for rs2 of the third one, too: wall time, CPU time of all ranks together, bytes that the busiest
 * node has sent and received, headers and all. Best of the repetitions. benches/nodes.sh runs it on a cluster.
 *
 * The floor, if BENCH_GBIT in the environment gives the rate of a link, is the payload of the busiest direction of a link / rate. M is
 * the length of a rank's file, times the ranks of a node:
 *   apply     PARTNER sends M, XOR M, RS(2) 3/2 M
 *   recover   PARTNER: the lost node receives 2 M; XOR: each survivor sends 4/3 M; RS(2): survivors and lost nodes share the work, 5/2 M */
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

enum { BLOCK = 1 << 20, SET = 4, HOST = 64 };

struct scheme {
  const char* name;
  int type, lost; /* nodes */
  double apply, recover; /* the floor, in files of a rank */
};

static const struct scheme schemes[] = {
  {"partner", REDSET_COPY_PARTNER, 1, 1.0, 2.0},
  {"xor", REDSET_COPY_XOR, 1, 1.0, 4.0 / 3},
  {"rs2", REDSET_COPY_RS, 2, 1.5, 2.5},
};

static int rank, ranks, node, ranks_of_node;
static char host[HOST], data_file[512], name[512];
static size_t bytes; /* of each rank's file */
static uint64_t block[BLOCK / 8], other[BLOCK / 8];

static void wrong(const char* what)
{
  printf("WRONG: %s on rank %d\n", what, rank);
}

/* ---- measures ---- */

enum { SECONDS, CPU, SENT, RECEIVED, MEASURES };

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

/* Of all interfaces of this node but the loopback. */
static void count_bytes(double* sent, double* received)
{
  char line[512];
  FILE* interfaces = fopen("/proc/net/dev", "r");
  *sent = *received = 0;
  while (interfaces && fgets(line, sizeof line, interfaces)) {
    char* counts = strchr(line, ':');
    double in, out;
    if (!counts || strstr(line, " lo:") || sscanf(counts + 1, "%lf %*s %*s %*s %*s %*s %*s %*s %lf", &in, &out) != 2) continue;
    *received += in;
    *sent += out;
  }
  if (interfaces) fclose(interfaces);
}

static double start[MEASURES];

static void begin(void)
{
  MPI_Barrier(MPI_COMM_WORLD);
  count_bytes(&start[SENT], &start[RECEIVED]);
  MPI_Barrier(MPI_COMM_WORLD);
  start[CPU] = cpu();
  start[SECONDS] = MPI_Wtime();
}

static void end(double* best)
{
  double now[MEASURES] = {MPI_Wtime() - start[SECONDS], cpu() - start[CPU], 0, 0};
  MPI_Barrier(MPI_COMM_WORLD);
  count_bytes(&now[SENT], &now[RECEIVED]);
  now[SENT] -= start[SENT];
  now[RECEIVED] -= start[RECEIVED];
  for (int i = 0; i < MEASURES; i++) {
    double all = reduced(now[i], i == CPU ? MPI_SUM : MPI_MAX);
    if (all < best[i]) best[i] = all;
  }
}

/* ---- nodes ---- */

static int node_of(char (*hosts)[HOST], int of)
{
  int before = 0;
  for (int i = 0; i < of; i++) {
    if (strcmp(hosts[i], hosts[of]) == 0) return node_of(hosts, i);
    int is_new = 1;
    for (int j = 0; j < i; j++) is_new &= strcmp(hosts[i], hosts[j]) != 0;
    before += is_new;
  }
  return before;
}

static void find_node(void)
{
  char(*hosts)[HOST] = calloc((size_t)ranks, HOST);
  gethostname(host, sizeof host - 1);
  MPI_Allgather(host, HOST, MPI_CHAR, hosts, HOST, MPI_CHAR, MPI_COMM_WORLD);
  node = node_of(hosts, rank);
  for (int i = 0; i < ranks; i++) ranks_of_node += strcmp(hosts[i], host) == 0;
  free(hosts);
}

static int is_lost(struct scheme s) { return node >= 1 && node <= s.lost; }

/* ---- the file of a rank ---- */

static void fill(uint64_t* state)
{
  for (size_t i = 0; i < BLOCK / 8; i++) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    block[i] = *state;
  }
}

static uint64_t first_state(void) { return 88172645463325252ull + 7919 * (unsigned)rank; }

static void make_file(void)
{
  uint64_t state = first_state();
  unlink(data_file);
  int fd = open(data_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (size_t done = 0; done < bytes; done += BLOCK) {
    fill(&state);
    if (write(fd, block, BLOCK) != BLOCK) wrong("writing data");
  }
  close(fd);
}

static int file_is_whole(void)
{
  uint64_t state = first_state();
  struct stat found;
  int fd = open(data_file, O_RDONLY), whole = fd >= 0 && fstat(fd, &found) == 0 && (size_t)found.st_size == bytes;
  for (size_t done = 0; whole && done < bytes; done += BLOCK) {
    fill(&state);
    whole = read(fd, other, BLOCK) == BLOCK && memcmp(block, other, BLOCK) == 0;
  }
  if (fd >= 0) close(fd);
  return whole;
}

/* Of all bytes of redundancy: recover must bring back the same. */
static uint64_t hash(redset_filelist list)
{
  uint64_t hash = 1469598103934665603ull;
  for (int i = 0; i < redset_filelist_count(list); i++) {
    int fd = open(redset_filelist_file(list, i), O_RDONLY);
    ssize_t got;
    if (fd < 0) return 0;
    while (memset(block, 0, BLOCK), (got = read(fd, block, BLOCK)) > 0)
      for (ssize_t word = 0; word < (got + 7) / 8; word++) hash = (hash ^ block[word]) * 1099511628211ull, hash ^= hash >> 29;
    close(fd);
  }
  return hash;
}

/* ---- one scheme ---- */

static int create(struct scheme s, redset* d)
{
  if (s.type == REDSET_COPY_PARTNER) return redset_create_partner(MPI_COMM_WORLD, host, SET, 1, d);
  if (s.type == REDSET_COPY_XOR) return redset_create_xor(MPI_COMM_WORLD, host, SET, d);
  return redset_create_rs(MPI_COMM_WORLD, host, SET, 2, d);
}

static void lose(redset_filelist list)
{
  unlink(data_file);
  for (int i = 0; i < redset_filelist_count(list); i++) unlink(redset_filelist_file(list, i));
}

static void repeat(struct scheme s, double* apply, double* recover)
{
  redset d = NULL;
  const char* files[1] = {data_file};
  make_file(); /* anew, for a rebuilt one may be faster to read than one that a program has written */
  if (create(s, &d) != REDSET_SUCCESS) wrong("create");
  begin();
  int failed = redset_apply(1, files, name, d);
  end(apply);
  if (failed) wrong("apply");
  redset_filelist list = redset_filelist_enc_get(name, d);
  uint64_t before = hash(list);
  redset_delete(&d);
  if (is_lost(s)) lose(list);
  begin();
  failed = redset_recover(MPI_COMM_WORLD, name, &d);
  end(recover);
  if (failed || !file_is_whole() || hash(list) != before) wrong("recover");
  if (redset_unapply(name, d) != REDSET_SUCCESS) wrong("unapply");
  redset_delete(&d);
  redset_filelist_release(&list);
}

static void say(struct scheme s, const char* call, const char* what, double value, const char* unit)
{
  if (rank == 0) printf("%s %d ranks, %d a node: %s%s %.3f %s\n", s.name, ranks, ranks_of_node, call, what, value, unit);
}

static void say_all(struct scheme s, const char* call, const double* best, double files)
{
  const char* gbit = getenv("BENCH_GBIT");
  say(s, call, "", best[SECONDS] * 1e3, "ms");
  say(s, call, "_cpu", best[CPU] * 1e3, "ms");
  say(s, call, "_sent", best[SENT] / 1e6, "MB");
  say(s, call, "_received", best[RECEIVED] / 1e6, "MB");
  if (gbit && atof(gbit) > 0)
    say(s, call, "_to_floor", best[SECONDS] / (files * ranks_of_node * (double)bytes * 8 / (atof(gbit) * 1e9)), "ratio");
}

static void measure(struct scheme s, int repetitions)
{
  double apply[MEASURES] = {1e30, 1e30, 1e30, 1e30}, recover[MEASURES] = {1e30, 1e30, 1e30, 1e30};
  for (int r = 0; r < repetitions; r++) repeat(s, apply, recover);
  say_all(s, "apply", apply, s.apply);
  say_all(s, "recover", recover, s.recover);
  unlink(data_file);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* directory = argc > 4 ? argv[4] : "/dev/shm/local";
  bytes = (size_t)(argc > 2 ? atol(argv[2]) : 64) * BLOCK;
  int repetitions = argc > 3 ? atoi(argv[3]) : 2, known = 0;
  snprintf(data_file, sizeof data_file, "%s/data.%d", directory, rank);
  snprintf(name, sizeof name, "%s/set_", directory);
  find_node();
  redset_init();
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes && argc > 1; i++)
    if (strcmp(schemes[i].name, argv[1]) == 0) {
      known = 1;
      measure(schemes[i], repetitions);
    }
  if (!known && rank == 0) fprintf(stderr, "usage: %s partner|xor|rs2 [MiB a rank] [repetitions] [directory]\n", argv[0]);
  redset_finalize();
  MPI_Finalize();
  return !known;
}
