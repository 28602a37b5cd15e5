/* fenix_no_jump [<step>:<rank>...]: what the Fortran module calls, without a jump. Steps that each rank can check;
 * a rank dies after the step that an argument says, and there is a spare for each of them. Every rank that
 * ends well leaves a file, since the launcher may lose output when ranks die. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "fenix.h"
#include "stanchion.h"
#include "check.h"

int stanchion_fenix_init_f(int* role, MPI_Fint comm, MPI_Fint* newcomm, int spare_ranks, int* error);
MPI_Fint stanchion_fenix_comm_f(void);
int stanchion_fenix_get_role_f(MPI_Fint comm, int rank, int* role);
int stanchion_fenix_group_create_f(int group_id, MPI_Fint comm, int start, int depth, int name, const int* value, int* flag);
int stanchion_fenix_member_create_f(int group_id, int member_id, void* buffer, int count, MPI_Fint datatype);
int stanchion_fenix_istore_f(int group_id, int member_id, Fenix_Data_subset subset, void* request);
int stanchion_fenix_wait_f(const void* request);
int stanchion_fenix_test_f(const void* request, int* flag);

enum { CELLS = 5000, STEPS = 30, SAVE_EVERY = 3, GROUP = 1, FIELD = 1, STEP = 2 };

static int role, error, step, rank, size, initial;
static MPI_Fint world;
static unsigned field[CELLS]; /* wraps around */

static MPI_Comm comm(void) { return MPI_Comm_f2c(world); }

/* Creates the group, and begins or goes back. 0 if a failure came between. */
static int start_or_go_back(void)
{
  int flag = -9, seen = -9, code;
  MPI_Comm_rank(comm(), &rank);
  MPI_Comm_size(comm(), &size);
  CHECK_INT(stanchion_fenix_comm_f(), world);
  CHECK_INT(stanchion_fenix_get_role_f(world, rank, &seen), FENIX_SUCCESS);
  CHECK_INT(seen, role);
  code = stanchion_fenix_group_create_f(GROUP, world, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, (const int[]){ 1, 1 }, &flag);
  CHECK_INT(flag, code);
  if (code != FENIX_SUCCESS) return 0;
  if (role == FENIX_ROLE_INITIAL_RANK) {
    for (int i = 0; i < CELLS; i++) field[i] = (unsigned)(rank + i);
    CHECK_INT(stanchion_fenix_member_create_f(GROUP, FIELD, field, CELLS, MPI_Type_c2f(MPI_UNSIGNED)), FENIX_SUCCESS);
    CHECK_INT(stanchion_fenix_member_create_f(GROUP, STEP, &step, 1, MPI_Type_c2f(MPI_INT)), FENIX_SUCCESS);
    return 1;
  }
  if (Fenix_Data_member_restore(GROUP, FIELD, field, CELLS, FENIX_DATA_SNAPSHOT_LATEST, NULL) != FENIX_SUCCESS) return 0;
  if (Fenix_Data_member_restore(GROUP, STEP, &step, 1, FENIX_DATA_SNAPSHOT_LATEST, NULL) != FENIX_SUCCESS) return 0;
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, FIELD, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, field, &flag), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, STEP, FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, &step, &flag), FENIX_SUCCESS);
  CHECK_INT(step % SAVE_EVERY, 0);
  return 1;
}

static int saved(void)
{
  long long requests[2][2] = { { 0 } };
  int flag = 0, code = stanchion_fenix_istore_f(GROUP, FIELD, FENIX_DATA_SUBSET_FULL, requests[0]);
  if (code == FENIX_SUCCESS) code = stanchion_fenix_istore_f(GROUP, STEP, FENIX_DATA_SUBSET_FULL, requests[1]);
  if (code == FENIX_SUCCESS) code = stanchion_fenix_wait_f(requests[1]);
  while (code == FENIX_SUCCESS && !flag) code = stanchion_fenix_test_f(requests[0], &flag);
  if (code == FENIX_SUCCESS) code = Fenix_Data_commit_barrier(GROUP, NULL);
  CHECK(code == FENIX_SUCCESS || code == FENIX_ERROR_CANCELLED || code == FENIX_ERROR_COMMIT_BARRIER ||
        code == FENIX_ERROR_INVALID_LOGIC_CALL);
  if (code == FENIX_ERROR_CANCELLED) CHECK_INT(role, FENIX_ROLE_SURVIVOR_RANK);
  return code == FENIX_SUCCESS;
}

static int advanced(void)
{
  unsigned sum = 0;
  if (MPI_Allreduce(&field[step], &sum, 1, MPI_UNSIGNED, MPI_SUM, comm()) != MPI_SUCCESS) return 0;
  for (int i = 0; i < CELLS; i++) field[i] += sum;
  step++;
  return 1;
}

static void die_if_told(int argc, char** argv)
{
  for (int i = 1; i < argc; i++)
    if (initial && atoi(argv[i]) == step && atoi(strchr(argv[i], ':') + 1) == rank) kill(getpid(), SIGKILL);
}

/* The same without failures and without Fenix. */
static unsigned expected(int of_rank, int cell)
{
  unsigned ranks = (unsigned)size, added = 0;
  for (unsigned s = 0; s < STEPS; s++) added += ranks * (added + s) + ranks * (ranks - 1) / 2;
  return (unsigned)(of_rank + cell) + added;
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  CHECK_INT(stanchion_fenix_init_f(&role, MPI_Comm_c2f(MPI_COMM_WORLD), &world, argc - 1, &error), FENIX_SUCCESS);
  CHECK_INT(error, FENIX_SUCCESS);
  initial = role == FENIX_ROLE_INITIAL_RANK;
  for (int ended = 0; !ended && check_failures < 20;) {
    if (!start_or_go_back()) continue;
    while (step < STEPS && (step % SAVE_EVERY || saved()) && advanced()) die_if_told(argc, argv);
    ended = step == STEPS && MPI_Barrier(comm()) == MPI_SUCCESS;
  }
  for (int i = 0; i < CELLS; i += 7) CHECK_INT(field[i], expected(rank, i));
  if (initial) CHECK_INT(role, argc == 1 ? FENIX_ROLE_INITIAL_RANK : FENIX_ROLE_SURVIVOR_RANK);
  CHECK_INT(Fenix_Finalize(), FENIX_SUCCESS);
  CHECK_INT(MPI_Comm_f2c(stanchion_fenix_comm_f()) == MPI_COMM_NULL, 1);
  char name[32];
  snprintf(name, sizeof name, "done.%d", rank);
  if (check_result() == 0) fclose(fopen(name, "w"));
  MPI_Finalize();
  return check_result();
}
