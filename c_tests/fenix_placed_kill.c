/* fenix_placed_kill <mode> <domain> [<ranks>]: all ranks of a domain die, and spares that sit elsewhere take their places. What
 * fdp_survives says of it is what happens to the data. Every rank that ends well leaves a file. Needs an MPI with ULFM. */
#define _POSIX_C_SOURCE 200809L
#include "fenix_data.h"
#include "domains.h"

#include <signal.h>

enum { MEMBER = 4, COUNT = 5000 };

/* All that must survive a jump is global. */
static int active = 8, role, error, start_rank, start_size, mode, comes_back;
static const struct domain* failing;
static int memory[COUNT], values[COUNT];

static const char* own_path(void) { return start_rank < active ? path_of(start_rank) : text("rack7/chassis7/spare%d", start_rank); }

static void ask_report(void)
{
  fdp_scheme scheme = { mode == 5 ? REDSET_COPY_XOR : REDSET_COPY_PARTNER, 1, mode == 5 ? 4 : 2, NULL, 0 };
  fdp_t* placement = NULL;
  char paths[MOST_RANKS][64];
  const char* pointers[MOST_RANKS];
  for (int i = 0; i < active; i++) {
    snprintf(paths[i], sizeof paths[i], "%s", path_of(i));
    pointers[i] = paths[i];
  }
  CHECK_OK(fdp_create_local(pointers, active, &scheme, &placement));
  comes_back = survives(placement, failing, failing);
  fdp_destroy(placement);
}

static void create(void)
{
  stanchion_fenix_placed placed = { mode, 4, own_path(), 0 };
  CHECK_OK(Fenix_Data_group_create(GROUP, world, 0, 0, STANCHION_FENIX_POLICY_PLACED, &placed, NULL));
}

static void store_and_fail(void)
{
  create();
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, COUNT - rank, MPI_INT), FENIX_SUCCESS);
  fill(memory, COUNT - rank, MEMBER, 1);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  MPI_Barrier(world);
  if (is_in(failing, rank)) kill(getpid(), SIGKILL);
  MPI_Barrier(world);
}

static void come_back(void)
{
  create();
  clear(values, COUNT);
  int code = common(Fenix_Data_member_restore(GROUP, MEMBER, values, COUNT, -1, NULL));
  CHECK_INT(code, comes_back ? FENIX_SUCCESS : FENIX_ERROR_NODATA_FOUND);
  if (code == FENIX_SUCCESS) CHECK_INT(wrong(values, 0, COUNT - rank, MEMBER, 1, rank), 0);
  else CHECK_INT(touched(values, 0, COUNT), 0);
}

/* Ranks of a domain need not die in the same moment: those that had time to come back do so once more. */
static int all_have_failed(void)
{
  int from_start = start_rank < active && is_in(failing, rank), left;
  MPI_Allreduce(&from_start, &left, 1, MPI_INT, MPI_SUM, world);
  if (from_start) kill(getpid(), SIGKILL);
  if (left > 0) MPI_Barrier(world);
  return left == 0;
}

int main(int argc, char** argv)
{
  alarm(55);
  mode = argc > 1 ? atoi(argv[1]) : 1;
  if (argc > 3) active = atoi(argv[3]);
  find_domains(active);
  for (int i = 0; i < domain_count && argc > 2; i++)
    if (strcmp(domains[i].path, argv[2]) == 0) failing = &domains[i];
  if (!failing) return 2;
  ask_report();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &start_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &start_size);
  Fenix_Init(&role, MPI_COMM_WORLD, &world, &argc, &argv, start_size - active, 0, MPI_INFO_NULL, &error);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  CHECK_INT(size, active);
  if (role == FENIX_ROLE_INITIAL_RANK) store_and_fail();
  if (all_have_failed()) come_back();
  CHECK_INT(Fenix_Finalize(), 0);
  if (check_failures) return 1;
  fclose(fopen(text("done.%d", rank), "w"));
  MPI_Finalize();
  return 0;
}
