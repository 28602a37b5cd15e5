/* How fast PIO describes, writes and reads decomposed arrays, on its public API only: links against Stanchion, NCAR
 * ParallelIO or SCORPIO.
 *
 *   mpiexec -n 4 bench_pio darray|init|again <pattern> <rearranger> [elements = 1048576] [I/O tasks = 2]
 *                          [repetitions = 3] [directory = .] [block size]
 *
 * darray: time of PIOc_InitDecomp; of PIOc_write_darray with PIOc_sync and of PIOc_read_darray, for the first time
 * (which may build what later ones use) and at best; memory that describing takes. All that is read is compared.
 * init: describing only. again: the same decomposition, not freed, for the 1,000th time.
 * pattern: block, stride (every rank every n-th element), tile (2-D) or random. rearranger: box, subset or contig, which
 * only SCORPIO has. The slowest rank counts, best of the repetitions.
 * The floors are a look at every entry of the map, and the same bytes from the ranks to the I/O tasks (and back) in one
 * message each, with a plain write (and read) of them by every I/O task. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>
#include <pio.h>

enum { AGAIN = 1000, CONTIG = 4, MOST_REPETITIONS = 100 };

static int rank, ranks;

/* What to do. */
static const char *mode, *pattern, *rearranger_name, *directory = ".";
static long elements = 1048576;
static int tasks = 2, repetitions = 3, block_size, rearranger;

/* What this rank has. */
static int system_id, ndims, dims[2];
static long count;
static PIO_Offset* map;
static double *data, *back;

/* ---- measuring ---- */

static double slowest(double mine)
{
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static double sum(double mine)
{
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static void show(const char* what, double value, const char* unit)
{
  if (rank == 0) printf("%s %s %ld %s %.5f %s\n", pattern, rearranger_name, elements, what, value, unit);
  fflush(stdout);
}

static void fail(const char* what, int code)
{
  fprintf(stderr, "rank %d: %s returned %d\n", rank, what, code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

#define NEED(call)                     \
  do {                                 \
    int code_ = (call);                \
    if (code_) fail(#call, code_);     \
  } while (0)

/* A line of /proc/self/status, in MiB. */
static double memory(const char* key)
{
  char line[256];
  double kib = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, key, strlen(key)) == 0) kib = atof(line + strlen(key) + 1);
  if (status) fclose(status);
  return kib / 1024;
}

static void forget_peak(void)
{
  FILE* refs = fopen("/proc/self/clear_refs", "w");
  if (!refs) return;
  fputs("5", refs);
  fclose(refs);
}

/* The seconds that all ranks need together. */
static double timed(void (*work)(void))
{
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  work();
  return slowest(MPI_Wtime() - begin);
}

static double best_of(double best, double next) { return next < best ? next : best; }

static void* room(size_t bytes)
{
  void* place = malloc(bytes ? bytes : 1);
  if (!place) fail("malloc", -1);
  return place;
}

/* ---- maps ---- */

static void make_tile(void)
{
  long side = (long)(sqrt((double)elements) + 0.5);
  int down = 1;
  for (int i = 1; i * i <= ranks; i++)
    if (ranks % i == 0) down = i;
  int across = ranks / down, y = rank / across, x = rank % across;
  long top = side * y / down, bottom = side * (y + 1) / down, left = side * x / across, right = side * (x + 1) / across;
  elements = side * side;
  ndims = 2;
  dims[0] = dims[1] = (int)side;
  map = room((size_t)((bottom - top) * (right - left)) * sizeof *map);
  for (long row = top; row < bottom; row++)
    for (long column = left; column < right; column++) map[count++] = row * side + column + 1;
}

static long divisor(long a, long b)
{
  while (b) {
    long rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* k * factor modulo n, where factor has nothing in common with n, takes all values once. */
static PIO_Offset shuffled(long k)
{
  static long factor;
  if (!factor) {
    factor = 2654435761L % elements > 3 ? 2654435761L % elements : 3;
    while (divisor(factor, elements) != 1) factor++;
  }
  return (PIO_Offset)(((__int128)k * factor) % elements) + 1;
}

static void make_line(void)
{
  int stride = strcmp(pattern, "stride") == 0, random = strcmp(pattern, "random") == 0;
  long first = elements * rank / ranks, end = elements * (rank + 1) / ranks;
  ndims = 1;
  dims[0] = (int)elements;
  count = stride ? (elements - rank + ranks - 1) / ranks : end - first;
  map = room((size_t)count * sizeof *map);
  for (long k = 0; k < count; k++) map[k] = stride ? rank + k * ranks + 1 : random ? shuffled(first + k) : first + k + 1;
}

/* ---- floors ---- */

static volatile PIO_Offset looked_at;

static void look_at_map(void)
{
  PIO_Offset total = 0;
  for (long k = 0; k < count; k++) total += map[k];
  looked_at = total;
}

static int is_task(void) { return rank % (ranks / tasks) == 0 && rank / (ranks / tasks) < tasks; }

/* The ranks from one I/O task to before the next. */
static MPI_Comm floor_group;
static double* floor_buffer;
static int *floor_counts, *floor_starts, floor_file = -1;

static void begin_floor(void)
{
  int group = rank / (ranks / tasks), size, mine = (int)count, total = 0;
  char name[4096];
  MPI_Comm_split(MPI_COMM_WORLD, group < tasks ? group : tasks - 1, rank, &floor_group);
  MPI_Comm_size(floor_group, &size);
  floor_counts = room((size_t)size * sizeof *floor_counts);
  floor_starts = room((size_t)size * sizeof *floor_starts);
  MPI_Gather(&mine, 1, MPI_INT, floor_counts, 1, MPI_INT, 0, floor_group);
  if (!is_task()) return;
  for (int i = 0; i < size; i++) {
    floor_starts[i] = total;
    total += floor_counts[i];
  }
  floor_buffer = room((size_t)total * sizeof *floor_buffer);
  memset(floor_buffer, 1, (size_t)total * sizeof *floor_buffer);
  snprintf(name, sizeof name, "%s/bench_pio_floor.%d", directory, rank);
  floor_file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (floor_file < 0) fail(name, -1);
  unlink(name);
}

static size_t floor_bytes(void)
{
  int size;
  MPI_Comm_size(floor_group, &size);
  return (size_t)(floor_starts[size - 1] + floor_counts[size - 1]) * sizeof *floor_buffer;
}

static void floor_write(void)
{
  MPI_Gatherv(data, (int)count, MPI_DOUBLE, floor_buffer, floor_counts, floor_starts, MPI_DOUBLE, 0, floor_group);
  if (!is_task()) return;
  for (size_t done = 0, all = floor_bytes(); done < all;) {
    ssize_t step = pwrite(floor_file, (char*)floor_buffer + done, all - done, (off_t)done);
    if (step <= 0) fail("pwrite", -1);
    done += (size_t)step;
  }
}

static void floor_read(void)
{
  if (is_task())
    for (size_t done = 0, all = floor_bytes(); done < all;) {
      ssize_t step = pread(floor_file, (char*)floor_buffer + done, all - done, (off_t)done);
      if (step <= 0) fail("pread", -1);
      done += (size_t)step;
    }
  MPI_Scatterv(floor_buffer, floor_counts, floor_starts, MPI_DOUBLE, back, (int)count, MPI_DOUBLE, 0, floor_group);
}

static void measure_floor(const char* what, void (*work)(void))
{
  double best = 1e9;
  for (int i = 0; i < repetitions; i++) best = best_of(best, timed(work));
  show(what, best, "s");
}

static void end_floor(void)
{
  if (is_task()) close(floor_file);
  free(floor_buffer);
  free(floor_counts);
  free(floor_starts);
  MPI_Comm_free(&floor_group);
}

/* ---- describing ---- */

static int decomposition;

static void describe(void)
{
  NEED(PIOc_InitDecomp(system_id, PIO_DOUBLE, ndims, dims, (int)count, map, &decomposition, &rearranger, NULL, NULL));
}

/* Leaves the last decomposition. */
static void measure_init(void)
{
  double best = 1e9, before = memory("VmRSS");
  forget_peak();
  for (int i = 0; i < repetitions; i++) {
    double took = timed(describe);
    best = best_of(best, took);
    if (i == 0) {
      double peak = memory("VmHWM") - before, kept = memory("VmRSS") - before;
      show("init first", took, "s");
      show("init memory of all ranks at most", sum(peak), "MiB");
      show("init memory of all ranks afterwards", sum(kept), "MiB");
      show("init memory of the worst rank at most", slowest(peak), "MiB");
    }
    if (i < repetitions - 1) NEED(PIOc_freedecomp(system_id, decomposition));
  }
  show("init", best, "s");
  measure_floor("floor of init: a look at the map", look_at_map);
}

/* What a program pays that describes the same again and again. */
static void measure_again(void)
{
  int* ids = room(AGAIN * sizeof *ids);
  double first = 0, last = 1e9;
  for (int i = 0; i < AGAIN; i++) {
    double took = timed(describe);
    ids[i] = decomposition;
    if (i == 0) first = took;
    if (i >= AGAIN - repetitions) last = best_of(last, took);
  }
  show("again: first init", first, "s");
  show("again: 1000th init", last, "s");
  for (int i = 0; i < AGAIN; i++) NEED(PIOc_freedecomp(system_id, ids[i]));
  free(ids);
}

/* ---- writing and reading ---- */

static int file, variables[MOST_REPETITIONS + 1], variable;

static void write_variable(void)
{
  NEED(PIOc_write_darray(file, variable, decomposition, count, data, NULL));
  NEED(PIOc_sync(file));
}

static void read_variable(void) { NEED(PIOc_read_darray(file, variable, decomposition, count, back)); }

static int create(const char* name)
{
  int iotype = PIO_IOTYPE_PNETCDF, dim_ids[2];
  char text[32];
  if (!PIOc_iotype_available(iotype)) iotype = PIO_IOTYPE_NETCDF;
  NEED(PIOc_createfile(system_id, &file, &iotype, name, PIO_CLOBBER | PIO_64BIT_DATA));
  for (int d = 0; d < ndims; d++) {
    snprintf(text, sizeof text, "d%d", d);
    NEED(PIOc_def_dim(file, text, dims[d], &dim_ids[d]));
  }
  for (int v = 0; v <= repetitions; v++) {
    snprintf(text, sizeof text, "v%d", v);
    NEED(PIOc_def_var(file, text, PIO_DOUBLE, ndims, dim_ids, &variables[v]));
  }
  NEED(PIOc_enddef(file));
  return iotype;
}

/* Both for each variable: the first time, and the best of the others. */
static void measure_each(const char* what, void (*work)(void), void (*after)(void))
{
  char first[64];
  double best = 1e9;
  snprintf(first, sizeof first, "%s first", what);
  for (int v = 0; v <= repetitions; v++) {
    variable = variables[v];
    double took = timed(work);
    if (v == 0) show(first, took, "s");
    else best = best_of(best, took);
    if (after) after();
  }
  show(what, best, "s");
}

static void compare(void)
{
  long bad = 0;
  for (long k = 0; k < count; k++) bad += back[k] != data[k];
  if (bad) printf("WRONG: %ld values on rank %d\n", bad, rank);
  memset(back, 0, (size_t)count * sizeof *back);
}

static void measure_file(void)
{
  char name[4096];
  snprintf(name, sizeof name, "%s/bench_pio_%s_%s.nc", directory, pattern, rearranger_name);
  int iotype = create(name);
  measure_each("write", write_variable, NULL);
  NEED(PIOc_closefile(file));
  NEED(PIOc_openfile(system_id, &file, &iotype, name, PIO_NOWRITE));
  measure_each("read", read_variable, compare);
  NEED(PIOc_closefile(file));
  if (rank == 0) unlink(name);
  begin_floor();
  measure_floor("floor of write: plain messages and write", floor_write);
  measure_floor("floor of read: plain read and messages", floor_read);
  end_floor();
}

/* ---- the command ---- */

static int one_of(const char* word, const char* const* words)
{
  for (int i = 0; words[i]; i++)
    if (strcmp(word, words[i]) == 0) return i + 1;
  return 0;
}

static int understand(int argc, char** argv)
{
  static const char *const modes[] = { "darray", "init", "again", NULL };
  static const char *const patterns[] = { "block", "stride", "tile", "random", NULL };
  static const char *const rearrangers[] = { "box", "subset", "any", "contig", NULL };
  if (argc < 4) return 0;
  mode = argv[1];
  pattern = argv[2];
  rearranger_name = argv[3];
  rearranger = one_of(rearranger_name, rearrangers);
  if (argc > 4) elements = atol(argv[4]);
  if (argc > 5) tasks = atoi(argv[5]);
  if (argc > 6) repetitions = atoi(argv[6]);
  if (argc > 7) directory = argv[7];
  if (argc > 8) block_size = atoi(argv[8]);
  return one_of(mode, modes) && one_of(pattern, patterns) && rearranger && elements >= ranks && elements <= 2147483647 &&
         tasks >= 1 && tasks <= ranks && repetitions >= 1 && repetitions <= MOST_REPETITIONS;
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!understand(argc, argv)) {
    if (rank == 0)
      fprintf(stderr, "usage: bench_pio darray|init|again block|stride|tile|random box|subset|contig "
                      "[elements] [I/O tasks] [repetitions] [directory] [block size]\n");
    MPI_Finalize();
    return 2;
  }
  if (strcmp(pattern, "tile") == 0) make_tile();
  else make_line();
  data = room((size_t)count * sizeof *data);
  back = room((size_t)count * sizeof *back);
  for (long k = 0; k < count; k++) data[k] = 1.5 * (double)map[k];
  memset(back, 0, (size_t)count * sizeof *back);
  NEED(PIOc_Init_Intracomm(MPI_COMM_WORLD, tasks, ranks / tasks, 0, rearranger == CONTIG ? PIO_REARR_BOX : rearranger, &system_id));
  if (block_size) PIOc_set_blocksize(block_size);
  if (strcmp(mode, "again") == 0) measure_again();
  else measure_init();
  if (strcmp(mode, "darray") == 0) measure_file();
  if (strcmp(mode, "again") != 0) NEED(PIOc_freedecomp(system_id, decomposition));
  NEED(PIOc_finalize(system_id));
  free(map);
  free(data);
  free(back);
  MPI_Finalize();
  return 0;
}
