/* fenix.h, process recovery on any MPI, as long as nothing fails: codes, roles, spares that are not needed. */
#include <mpi.h>
#include <fenix.h>
#include <stanchion.h>
#include <signal.h>
#include "check.h"

static MPI_Comm comm;
static int role, error, world_rank, world_size;

static void ignore(MPI_Comm given, int code, void* data)
{
  (void)given;
  (void)code;
  (void)data;
  CHECK(!"nothing is recovered here");
}

static void init(int spares)
{
  role = error = -77;
  Fenix_Init(&role, MPI_COMM_WORLD, &comm, NULL, NULL, spares, 0, MPI_INFO_NULL, &error);
}

static void before_init(void)
{
  int number = -1, *list;
  CHECK_INT(Fenix_Initialized(&number), 0);
  CHECK_INT(number, 0);
  CHECK(Fenix_Initialized(NULL) < 0);
  CHECK_INT(Fenix_Callback_register(ignore, NULL), FENIX_ERROR_UNINITIALIZED);
  CHECK_INT(Fenix_Callback_pop(), FENIX_ERROR_UNINITIALIZED);
  CHECK_INT(Fenix_Process_detect_failures(1), FENIX_ERROR_UNINITIALIZED);
  CHECK_INT(Fenix_get_number_of_ranks_with_role(0, &number), FENIX_ERROR_UNINITIALIZED);
  CHECK_INT(Fenix_get_role(MPI_COMM_WORLD, 0, &number), FENIX_ERROR_UNINITIALIZED);
  CHECK_INT(Fenix_Process_fail_list(&list), FENIX_ERROR_UNINITIALIZED);
  CHECK_INT(Fenix_Finalize(), FENIX_ERROR_UNINITIALIZED);
}

static void all_active(int wanted_error)
{
  int rank, size, sum = 0, number = -1;
  CHECK_INT(role, FENIX_ROLE_INITIAL_RANK);
  if (wanted_error) CHECK(error < 0);
  else CHECK_INT(error, 0);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK_INT(rank, world_rank);
  CHECK_INT(size, world_size);
  CHECK_INT(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  CHECK_INT(sum, size * (size - 1) / 2);
  CHECK_INT(Fenix_Initialized(&number), 0);
  CHECK_INT(number, 1);
}

static void queries(void)
{
  int number = -1, *list = NULL;
  CHECK_INT(Fenix_get_number_of_ranks_with_role(FENIX_ROLE_INITIAL_RANK, &number), 0);
  CHECK_INT(number, world_size);
  CHECK_INT(Fenix_get_number_of_ranks_with_role(FENIX_ROLE_SURVIVOR_RANK, &number), 0);
  CHECK_INT(number, 0);
  CHECK(Fenix_get_number_of_ranks_with_role(0, NULL) < 0);
  CHECK_INT(Fenix_get_role(comm, world_size - 1, &number), 0);
  CHECK_INT(number, FENIX_ROLE_INITIAL_RANK);
  CHECK_INT(Fenix_get_role(MPI_COMM_SELF, 0, &number), 0);
  CHECK(Fenix_get_role(comm, 0, NULL) < 0);
  CHECK_INT(Fenix_Process_fail_list(&list), 0);
  CHECK(Fenix_Process_fail_list(NULL) < 0);
  CHECK_INT(Fenix_Process_detect_failures(0), 0);
  CHECK_INT(Fenix_Process_detect_failures(1), 0);
}

static void callbacks(void)
{
  CHECK_INT(Fenix_Callback_pop(), FENIX_ERROR_CALLBACK_NOT_REGISTERED);
  CHECK_INT(Fenix_Callback_register(ignore, NULL), 0);
  CHECK(Fenix_Callback_register(NULL, NULL) < 0);
  CHECK_INT(Fenix_Callback_pop(), 0);
  CHECK_INT(Fenix_Callback_pop(), FENIX_ERROR_CALLBACK_NOT_REGISTERED);
}

static void requests(void)
{
  MPI_Request request;
  int got = 0, sent = 5;
  MPI_Irecv(&got, 1, MPI_INT, world_rank, 3, comm, &request);
  CHECK_INT(Fenix_check_cancelled(&request, MPI_STATUS_IGNORE), 1);
  MPI_Send(&sent, 1, MPI_INT, world_rank, 3, comm);
  CHECK_INT(Fenix_check_cancelled(&request, MPI_STATUS_IGNORE), 0);
  CHECK_INT(got, 5);
  CHECK_INT(Fenix_check_cancelled(NULL, MPI_STATUS_IGNORE), 1);
}

static void impossible(int spares)
{
  char text[256];
  init(spares);
  all_active(1);
  stanchion_last_error(text, sizeof text);
  CHECK(strstr(text, "spares") != NULL);
  CHECK_INT(Fenix_Finalize(), 0);
}

static void twice(void)
{
  init(0);
  MPI_Comm first = comm;
  init(0);
  all_active(1);
  CHECK(first == comm);
  CHECK_INT(Fenix_Finalize(), 0);
}

static void on_broken_pipe(int number) { (void)number; }

/* A handler of the program stays in force. */
static void handler_stays(void)
{
  signal(SIGPIPE, on_broken_pipe);
  init(0);
  CHECK(signal(SIGPIPE, SIG_DFL) == on_broken_pipe);
  CHECK_INT(Fenix_Finalize(), 0);
}

/* The spare does not come back: it ends inside Fenix_Init, with code 0. */
static void with_spare(void)
{
  int size;
  char text[256];
  init(1);
  MPI_Comm_size(comm, &size);
  CHECK_INT(size, world_size - 1);
  CHECK_INT(role, FENIX_ROLE_INITIAL_RANK);
  if (error != 0) {
    CHECK_INT(error, FENIX_ERROR_INTERN);
    stanchion_last_error(text, sizeof text);
    CHECK(strstr(text, "repair") != NULL);
  }
  MPI_Barrier(comm);
  CHECK_INT(Fenix_Finalize(), 0);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  before_init();
  init(0);
  all_active(0);
  queries();
  callbacks();
  requests();
  CHECK_INT(Fenix_Finalize(), 0);
  before_init();
  impossible(world_size);
  impossible(-1);
  if (world_size > 1) impossible(world_rank % 2);
  twice();
  handler_stays();
  if (world_size > 1) with_spare();
  MPI_Finalize();
  return check_result();
}
