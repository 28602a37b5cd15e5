/* The heat equation on a ring, which goes on when ranks die.
 *
 * Fenix keeps the field in memory twice: each rank holds a copy of its partner's part. When a rank dies,
 * a spare takes its place and everybody goes back to the last snapshot. When both partners die, memory does
 * not suffice: then the files come back, which redset protects against two lost ranks.
 * Run without arguments it kills nobody; each argument <step>:<rank> kills one rank at a step, for which one
 * of the ranks at the end stands by as a spare.
 *   mpicc heat.c $(pkg-config --cflags --libs stanchion) -o heat
 *   mpiexec --with-ft ulfm --mca async_mpi_finalize 1 --mca mpi_add_procs_cutoff 1024 \
 *     --mca coll ^han,hcoll,portals4 -n 7 ./heat 25:1 45:2 45:3
 */
#include <fenix.h>
#include <mpi.h>
#include <redset.h>
#include <stanchion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CELLS = 100000, STEPS = 60 };
enum { IN_MEMORY_EVERY = 10, IN_FILES_EVERY = 30 };
enum { GROUP = 1, FIELD = 1, STEP = 2 };

/* What a jump back to Fenix_Init must find again is static. */
static MPI_Comm world; /* the ranks that compute, whoever is alive */
static int rank, ranks, step, was_spare;
static double field[CELLS + 2], next[CELLS + 2];
static char node[64], file[96], protection[96]; /* stands for the disk of this rank's node */

#define SAY(...) (void)(rank == 0 && printf(__VA_ARGS__) && fflush(stdout))

static void need(int code, const char* what)
{
  char why[512] = "";
  if (code == 0) return;
  stanchion_last_error(why, sizeof why);
  fprintf(stderr, "rank %d: %s failed: %s\n", rank, what, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void begin(void)
{
  step = 0;
  for (int i = 1; i <= CELLS; i++) field[i] = 0.001 * (i * 37 % 1000) + rank;
}

static void advance(void)
{
  int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  MPI_Sendrecv(&field[1], 1, MPI_DOUBLE, left, 0, &field[CELLS + 1], 1, MPI_DOUBLE, right, 0, world, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&field[CELLS], 1, MPI_DOUBLE, right, 1, &field[0], 1, MPI_DOUBLE, left, 1, world, MPI_STATUS_IGNORE);
  for (int i = 1; i <= CELLS; i++) next[i] = field[i] + 0.25 * (field[i - 1] - 2 * field[i] + field[i + 1]);
  memcpy(&field[1], &next[1], CELLS * sizeof *field);
  step++;
}

/* ---- in memory ---- */

static void save_in_memory(void)
{
  need(Fenix_Data_member_store(GROUP, FIELD, FENIX_DATA_SUBSET_FULL), "store");
  need(Fenix_Data_member_store(GROUP, STEP, FENIX_DATA_SUBSET_FULL), "store");
  need(Fenix_Data_commit_barrier(GROUP, NULL), "commit");
}

static void create_members(void)
{
  need(Fenix_Data_member_create(GROUP, FIELD, field, CELLS + 2, MPI_DOUBLE), "member_create");
  need(Fenix_Data_member_create(GROUP, STEP, &step, 1, MPI_INT), "member_create");
}

/* A rank that is new has no members before the first restore; then it says where they are. */
static void attach_members(void)
{
  int flag;
  need(Fenix_Data_member_attr_set(GROUP, FIELD, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, field, &flag), "attr_set");
  need(Fenix_Data_member_attr_set(GROUP, STEP, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, &step, &flag), "attr_set");
}

static int restore_from_memory(void)
{
  int code = Fenix_Data_member_restore(GROUP, FIELD, field, CELLS + 2, FENIX_DATA_SNAPSHOT_LATEST, NULL);
  if (code == FENIX_SUCCESS) code = Fenix_Data_member_restore(GROUP, STEP, &step, 1, FENIX_DATA_SNAPSHOT_LATEST, NULL);
  return code;
}

/* ---- in files ---- */

static void name_files(void)
{
  snprintf(node, sizeof node, "node%d", rank);
  snprintf(file, sizeof file, "node%d/field", rank);
  snprintf(protection, sizeof protection, "node%d/set_", rank);
  mkdir(node, 0777);
}

static void save_in_files(void)
{
  const char* files[] = { file };
  redset set = NULL;
  FILE* out = fopen(file, "wb");
  int written = out && fwrite(&step, sizeof step, 1, out) == 1 && fwrite(field, sizeof field, 1, out) == 1;
  written = out && fclose(out) == 0 && written;
  need(!written, "writing the file");
  need(redset_create_rs(world, node, ranks, 2, &set), "redset_create_rs");
  need(redset_apply(1, files, protection, set), "redset_apply");
  need(redset_delete(&set), "redset_delete");
}

/* On the repaired communicator, as on any other. */
static void restore_from_files(void)
{
  redset set = NULL;
  need(redset_recover(world, protection, &set), "redset_recover");
  need(redset_delete(&set), "redset_delete");
  FILE* in = fopen(file, "rb");
  int read = in && fread(&step, sizeof step, 1, in) == 1 && fread(field, sizeof field, 1, in) == 1;
  if (in) fclose(in);
  need(!read, "reading the file");
}

/* ---- the job ---- */

static void go_back(int role)
{
  const char* where = "memory";
  int code = restore_from_memory();
  if (code == FENIX_SUCCESS) {
    if (role == FENIX_ROLE_RECOVERED_RANK) attach_members();
  } else {
    where = "files";
    restore_from_files();
    if (role == FENIX_ROLE_RECOVERED_RANK) create_members();
    save_in_memory();
  }
  SAY("back to step %d, from %s\n", step, where);
}

/* A node takes its disk with it. Whoever takes a rank's place is not killed once more. */
static void die_if_told(int argc, char** argv)
{
  int at, whom;
  for (int i = 1; i < argc; i++) {
    if (sscanf(argv[i], "%d:%d", &at, &whom) != 2 || at != step || whom != rank || was_spare) continue;
    printf("step %d: rank %d dies\n", step, rank);
    fflush(stdout);
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", node);
    if (system(command) == 0) raise(SIGKILL);
  }
}

int main(int argc, char** argv)
{
  static int role, error; /* Fenix writes to them after every failure */
  int policy[2] = { 1, 1 }, flag; /* a copy at the next rank */
  double mine = 0, all = 0;

  MPI_Init(&argc, &argv);
  Fenix_Init(&role, MPI_COMM_WORLD, &world, &argc, &argv, argc - 1, 0, MPI_INFO_NULL, &error);
  /* Here everybody comes, at first and after every failure. */
  need(error, "Fenix_Init");
  was_spare |= role == FENIX_ROLE_RECOVERED_RANK;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  name_files();
  need(Fenix_Data_group_create(GROUP, world, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, policy, &flag), "group_create");
  if (role == FENIX_ROLE_INITIAL_RANK) {
    begin();
    create_members();
  } else {
    go_back(role);
  }
  while (step < STEPS) {
    if (step % IN_FILES_EVERY == 0) save_in_files();
    if (step % IN_MEMORY_EVERY == 0) save_in_memory();
    advance();
    die_if_told(argc, argv);
  }
  for (int i = 1; i <= CELLS; i++) mine += field[i] * field[i];
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, world);
  SAY("after %d steps on %d ranks the sum of squares is %.10e\n", step, ranks, all);
  Fenix_Finalize();
  MPI_Finalize();
  return 0;
}
