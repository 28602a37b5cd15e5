/* A computation that survives the loss of a node.
 *
 * Every rank keeps its part of a field and writes it to a file now and then. redset protects the files of
 * all ranks: one rank may lose everything it has. That happens here in the middle of the run; the job goes
 * back to the checkpoint and ends with the same result as if nothing had happened.
 *   mpicc checkpoint.c $(pkg-config --cflags --libs redset stanchion) -o checkpoint && mpiexec -n 4 ./checkpoint
 */
#include <mpi.h>
#include <redset.h>
#include <stanchion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CELLS = 100000, STEPS = 60, SAVE_AT = 30, LOSE_AT = 45 };

static int rank, ranks;
static char node[64], file[128]; /* stands for the disk of this rank's node */

/* Redset's calls return the same code on all ranks, so all of them leave here. */
static void need(int code, const char* what)
{
  char why[512] = "";
  if (code == REDSET_SUCCESS) return;
  stanchion_last_error(why, sizeof why);
  fprintf(stderr, "rank %d: %s failed: %s\n", rank, what, why);
  MPI_Finalize();
  exit(1);
}

#define SAY(...) (void)(rank == 0 && printf(__VA_ARGS__))

/* One step of the heat equation on a ring; cells 0 and CELLS + 1 belong to the neighbours. */
static void advance(double* field, double* next)
{
  int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  MPI_Sendrecv(&field[1], 1, MPI_DOUBLE, left, 0, &field[CELLS + 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&field[CELLS], 1, MPI_DOUBLE, right, 1, &field[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 1; i <= CELLS; i++) next[i] = field[i] + 0.25 * (field[i - 1] - 2 * field[i] + field[i + 1]);
  memcpy(&field[1], &next[1], CELLS * sizeof *field);
}

static void begin(double* field)
{
  for (int i = 1; i <= CELLS; i++) field[i] = 0.001 * (i * 37 % 1000) + rank;
}

static double total_of_squares(const double* field)
{
  double mine = 0, all = 0;
  for (int i = 1; i <= CELLS; i++) mine += field[i] * field[i];
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static int save(const double* field)
{
  FILE* stream = fopen(file, "wb");
  if (!stream) return 1;
  size_t written = fwrite(&field[1], sizeof *field, CELLS, stream);
  return fclose(stream) != 0 || written != CELLS;
}

static int load(double* field)
{
  FILE* stream = fopen(file, "rb");
  if (!stream) return 1;
  size_t got = fread(&field[1], sizeof *field, CELLS, stream);
  return fclose(stream) != 0 || got != CELLS;
}

/* The node is replaced by an empty one: its files and its memory are gone. */
static void lose_node(double* field, redset d)
{
  redset_filelist list = redset_filelist_enc_get("nodes/ck.", d);
  unlink(file);
  for (int i = 0; i < redset_filelist_count(list); i++) unlink(redset_filelist_file(list, i));
  redset_filelist_release(&list);
  memset(field, 0, (CELLS + 2) * sizeof *field);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double *field = calloc(CELLS + 2, sizeof *field), *next = calloc(CELLS + 2, sizeof *next);
  snprintf(node, sizeof node, "node%d", rank); /* a real code: MPI_Get_processor_name */
  mkdir("nodes", 0755);
  snprintf(file, sizeof file, "nodes/%s.checkpoint", node);

  begin(field);
  for (int step = 0; step < STEPS; step++) advance(field, next);
  double undisturbed = total_of_squares(field);
  SAY("1. %d steps on %d ranks without a checkpoint: %.12e\n", STEPS, ranks, undisturbed);

  redset d = NULL;
  const char* files[] = {file};
  need(redset_init(), "redset_init");
  need(redset_create_xor(MPI_COMM_WORLD, node, ranks, &d), "redset_create_xor");
  begin(field);
  for (int step = 0, lost = 0; step < STEPS; step++) {
    if (step == SAVE_AT && !lost) {
      int failed = save(field);
      MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      need(failed, "writing the checkpoint");
      need(redset_apply(1, files, "nodes/ck.", d), "redset_apply");
      SAY("2. step %d: every rank wrote a checkpoint; redset_apply protects them (XOR)\n", step);
    }
    if (step == LOSE_AT && !lost) {
      lost = 1;
      if (rank == ranks - 1) lose_node(field, d);
      need(redset_delete(&d), "redset_delete");
      SAY("3. step %d: rank %d loses its checkpoint and its redundancy\n", step, ranks - 1);
      MPI_Barrier(MPI_COMM_WORLD);
      need(redset_recover(MPI_COMM_WORLD, "nodes/ck.", &d), "redset_recover");
      need(stanchion_redset_verify(MPI_COMM_WORLD, "nodes/ck.", NULL), "stanchion_redset_verify");
      need(load(field), "reading the checkpoint");
      SAY("4. redset_recover rebuilt its files from those of the others; back to step %d\n", SAVE_AT);
      step = SAVE_AT;
    }
    advance(field, next);
  }
  double result = total_of_squares(field);
  int same = result == undisturbed;
  SAY("5. the result is %.12e: %s\n", result, same ? "the same to the last bit" : "WRONG");

  need(redset_unapply("nodes/ck.", d), "redset_unapply");
  need(redset_delete(&d), "redset_delete");
  need(redset_finalize(), "redset_finalize");
  unlink(file);
  free(field);
  free(next);
  MPI_Finalize();
  return !same;
}
