/* fenix_process <scenario>: ranks die by their own hand or another's, and the job goes on. Every rank that ends well
 * leaves a file, since the launcher may lose output when ranks die. Needs an MPI with ULFM, and all ranks on one
 * machine. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <fenix.h>
#include <pio.h>
#include <redset.h>
#include <rankstr_mpi.h>
#include <kvtree_mpi.h>
#include <kvtree_util.h>
#include <stanchion.h>
#include <errno.h>
#include <sys/time.h>
#include <time.h>
#include "check.h"

/* All that must survive a jump is global. */
static MPI_Comm comm;
static int role, error, rank, size, start_rank, start_size;
static pid_t* pids;
static int calls[8], call_count;
static redset descriptor;
static int io_system = -1;

static void nap(int milliseconds)
{
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

static void die(void) { kill(getpid(), SIGKILL); }

/* The last active rank kills others; all know of it before any of them meets it. */
static void kill_at_once(int count, const int* victims)
{
  MPI_Barrier(comm);
  if (rank == size - 1) {
    nap(300);
    for (int i = 0; i < count; ++i) kill(pids[victims[i]], SIGKILL);
  }
  nap(rank == size - 1 ? 300 : 600);
}

static void sum_is(int wanted)
{
  int sum = 0;
  CHECK_INT(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  CHECK_INT(sum, wanted);
}

static void failed_are(int count, int first, int second)
{
  int* list = NULL;
  CHECK_INT(Fenix_Process_fail_list(&list), count);
  CHECK(list || count == 0);
  if (count > 0 && list) CHECK_INT(list[0], first);
  if (count > 1 && list) CHECK_INT(list[1], second);
}

static void roles_are(int recovered, int survivors)
{
  int count;
  CHECK_INT(Fenix_get_number_of_ranks_with_role(FENIX_ROLE_RECOVERED_RANK, &count), 0);
  CHECK_INT(count, recovered);
  CHECK_INT(Fenix_get_number_of_ranks_with_role(FENIX_ROLE_SURVIVOR_RANK, &count), 0);
  CHECK_INT(count, survivors);
}

static void where_am_i(void)
{
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
}

static void note_call(MPI_Comm given, int code, void* data)
{
  int found = -1;
  CHECK_INT(MPI_Comm_rank(given, &found), MPI_SUCCESS);
  CHECK_INT(code, 0);
  CHECK(given == comm);
  if (call_count < 8) calls[call_count++] = *(int*)data;
}

/* What every recovered world must be able to do. */
static void works(int wanted_size)
{
  CHECK_INT(size, wanted_size);
  sum_is(wanted_size * (wanted_size - 1) / 2);
}

/* Two of four die at once; two spares take their places, the last one first. */
static void two(void)
{
  static int first = 1, second = 2;
  if (role == FENIX_ROLE_INITIAL_RANK) {
    CHECK_INT(Fenix_Callback_register(note_call, &first), 0);
    CHECK_INT(Fenix_Callback_register(note_call, &second), 0);
    failed_are(0, 0, 0);
    works(4);
    kill_at_once(2, (int[]){0, 2});
    MPI_Barrier(comm);
    CHECK(!"this barrier cannot be passed");
  }
  works(4);
  CHECK_INT(error, 0);
  failed_are(2, 0, 2);
  roles_are(2, 2);
  CHECK_INT(role, rank % 2 ? FENIX_ROLE_SURVIVOR_RANK : FENIX_ROLE_RECOVERED_RANK);
  CHECK_INT(start_rank, rank == 0 ? 5 : rank == 2 ? 4 : rank);
  for (int r = 0; r < size; ++r) {
    int known = -1;
    CHECK_INT(Fenix_get_role(comm, r, &known), 0);
    CHECK_INT(known, r % 2 ? FENIX_ROLE_SURVIVOR_RANK : FENIX_ROLE_RECOVERED_RANK);
  }
  CHECK_INT(call_count, rank % 2 ? 2 : 0);
  if (call_count == 2) CHECK(calls[0] == 2 && calls[1] == 1);
}


/* Three spares; the rank dies whose turn it is, told by how many spares are used up. */
static void three_in_a_row(void)
{
  int sum = 0;
  works(3);
  MPI_Allreduce(&start_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  /* 0, 1, 2 at first; then rank 0 was the spare 5, rank 1 was 4, rank 2 was 3. */
  if (sum == 3 && rank == 0) die();
  if (sum == 8 && rank == 1) die();
  if (sum == 11 && rank == 2) die();
  if (sum < 12) MPI_Barrier(comm);
  CHECK_INT(start_rank, 5 - rank);
  failed_are(1, 2, 0);
}

/* A survivor dies in its callback, while the others come back. */
static void dying_call(MPI_Comm given, int code, void* data)
{
  int here;
  (void)code;
  MPI_Comm_rank(given, &here);
  if (here == 2 && start_rank == 2) die();
  if (++*(int*)data == 1) MPI_Barrier(given);
}

static void in_callback(void)
{
  static int called;
  if (role == FENIX_ROLE_INITIAL_RANK) {
    CHECK_INT(Fenix_Callback_register(dying_call, &called), 0);
    MPI_Barrier(comm);
    if (rank == 1) die();
    MPI_Barrier(comm);
  }
  /* The first spare comes out between the two failures: its barrier stands against that of the callbacks. */
  if (start_rank == 5 && role == FENIX_ROLE_RECOVERED_RANK) MPI_Barrier(comm);
  works(3);
  CHECK_INT(start_rank, rank == 1 ? 5 : rank == 2 ? 4 : 0);
  if (rank == 0) CHECK_INT(called, 2);
}

/* Spares die: nobody takes notice until the next repair, and then they are left out. */
static void dead_spares(void)
{
  if (role == FENIX_ROLE_INITIAL_RANK) {
    works(3);
    if (rank == 0) {
      kill(pids[3], SIGKILL);
      kill(pids[5], SIGKILL);
    }
    nap(300);
    works(3);
    MPI_Barrier(comm);
    if (rank == 1) die();
    MPI_Barrier(comm);
  }
  works(3);
  CHECK_INT(error, 0);
  int* list = NULL;
  CHECK_INT(Fenix_Process_fail_list(&list), 3);
  if (list) CHECK(list[0] == 1 && list[1] == 3 && list[2] == 5);
  if (rank == 1) CHECK_INT(start_rank, 4);
}

/* Only spares die; nothing is repaired, and all can end. */
static void only_spares(void)
{
  if (rank == 0) kill(pids[start_size - 1], SIGKILL);
  nap(200);
  works(3);
  CHECK_INT(role, FENIX_ROLE_INITIAL_RANK);
}

/* Three die, one spare is left: the lowest rank gets it, the others move up. */
static void shrink(void)
{
  if (role == FENIX_ROLE_INITIAL_RANK) {
    works(5);
    kill_at_once(3, (int[]){0, 2, 3});
    MPI_Barrier(comm);
  }
  works(3);
  CHECK_INT(error, FENIX_WARNING_SPARE_RANKS_DEPLETED);
  CHECK_INT(start_rank, rank == 0 ? 5 : rank == 1 ? 1 : 4);
  failed_are(3, 0, 2);
}

/* Without any spare; and a later repair too. */
static void no_spare(void)
{
  CHECK_INT(error, size == 4 ? 0 : FENIX_WARNING_SPARE_RANKS_DEPLETED);
  works(size);
  if (size == 4 && start_rank == 0) die();
  if (size == 3 && start_rank == 2) die();
  if (size > 2) MPI_Barrier(comm);
  CHECK_INT(start_rank, rank == 0 ? 1 : 3);
  failed_are(1, 1, 0);
}

/* The failing call returns, and the variables have changed. */
static void no_jump(void)
{
  static int data = 3;
  if (role == FENIX_ROLE_RECOVERED_RANK) {
    works(3);
    return;
  }
  CHECK_INT(Fenix_Callback_register(note_call, &data), 0);
  works(3);
  if (rank == 1) die();
  MPI_Comm old = comm;
  CHECK(MPI_Barrier(comm) != MPI_SUCCESS);
  CHECK_INT(role, FENIX_ROLE_SURVIVOR_RANK);
  CHECK_INT(error, 0);
  CHECK_INT(call_count, 1);
  CHECK(old != comm);
  /* What was repaired already is not repaired again. */
  CHECK(MPI_Barrier(old) != MPI_SUCCESS);
  CHECK_INT(call_count, 1);
  where_am_i();
  works(3);
}

/* Looking for failures without communication. */
static void detect(void)
{
  if (role == FENIX_ROLE_INITIAL_RANK) {
    CHECK_INT(Fenix_Process_detect_failures(0), MPI_SUCCESS);
    MPI_Barrier(comm);
    if (rank == 1) die();
    int code = 0;
    for (int i = 0; i < 5000 && code == 0; ++i) {
      code = Fenix_Process_detect_failures(0);
      if (code == 0) nap(1);
    }
    CHECK(code == MPI_ERR_PROC_FAILED || code == MPI_ERR_REVOKED);
    CHECK(Fenix_Process_detect_failures(0) != 0);
    Fenix_Process_detect_failures(1);
    CHECK(!"the recovery jumps");
  }
  CHECK_INT(Fenix_Process_detect_failures(1), MPI_SUCCESS);
  works(3);
}

/* A rank dies while some are in Fenix_Finalize already: all come back and end together. */
static void at_finalize(void)
{
  if (role == FENIX_ROLE_INITIAL_RANK) {
    MPI_Barrier(comm);
    if (rank == 1) die();
    if (rank == 0) {
      nap(200);
      MPI_Barrier(comm);
    }
    return;
  }
  works(3);
}

/* A rank dies in front of Fenix_Finalize: the others end without it. */
static void before_finalize(void)
{
  MPI_Barrier(comm);
  if (rank == 1) die();
}

static void open_requests(void)
{
  static MPI_Request from_dead, from_living;
  static int got[2];
  if (role == FENIX_ROLE_INITIAL_RANK) {
    if (rank == 0) {
      MPI_Irecv(&got[0], 1, MPI_INT, 1, 1, comm, &from_dead);
      MPI_Irecv(&got[1], 1, MPI_INT, 2, 1, comm, &from_living);
    }
    if (rank == 2) MPI_Send(&rank, 1, MPI_INT, 0, 1, comm);
    MPI_Barrier(comm);
    if (rank == 1) die();
    MPI_Barrier(comm);
  }
  if (rank == 0) {
    CHECK_INT(Fenix_check_cancelled(&from_dead, MPI_STATUS_IGNORE), 1);
    CHECK_INT(Fenix_check_cancelled(&from_living, MPI_STATUS_IGNORE), 0);
    CHECK_INT(got[1], 2);
  }
  works(3);
}

/* A failure met in our own functions leads to the same recovery. */

static void exchange(void)
{
  kvtree *send = kvtree_new(), *received = kvtree_new();
  for (int r = 0; r < size; ++r) {
    kvtree* message = kvtree_new();
    kvtree_util_set_int(message, "from", rank);
    kvtree_exchange_sendq(send, r, message);
    kvtree_delete(&message);
  }
  if (role == FENIX_ROLE_INITIAL_RANK) {
    CHECK_INT(kvtree_exchange(send, received, comm), KVTREE_SUCCESS);
    if (rank == 1) die();
    kvtree_exchange(send, received, comm);
    CHECK(!"the exchange jumps");
  }
  CHECK_INT(kvtree_exchange(send, received, comm), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(received), 3);
  kvtree_delete(&send);
  kvtree_delete(&received);
  works(3);
}

/* One rank waits for another that has met the failure elsewhere. */
static void blocked(void)
{
  kvtree* tree = kvtree_new();
  if (role == FENIX_ROLE_INITIAL_RANK) {
    MPI_Barrier(comm);
    if (rank == 1) die();
    if (rank == 0) kvtree_recv(tree, 2, comm);
    if (rank == 2) kvtree_recv(tree, 1, comm);
    if (rank == 3) kvtree_bcast(tree, 0, comm);
    CHECK(!"these calls jump");
  }
  kvtree_delete(&tree);
  works(4);
}

static void write_file(const char* name)
{
  FILE* file = fopen(name, "w");
  for (int i = 0; i < 1000; ++i) fprintf(file, "%d %d\n", rank, i);
  fclose(file);
}

static void apply(void)
{
  char name[32], group[32];
  const char* files[] = {name};
  snprintf(name, sizeof name, "file.%d", rank);
  snprintf(group, sizeof group, "group%d", rank);
  write_file(name);
  if (role == FENIX_ROLE_INITIAL_RANK) {
    CHECK_INT(redset_create_xor(comm, group, 3, &descriptor), 0);
    CHECK_INT(redset_apply(1, files, "first", descriptor), 0);
    if (rank == 1) die();
    redset_apply(1, files, "second", descriptor);
    CHECK(!"apply jumps");
  }
  /* The descriptor of the lost communicator can still be used: each call fails, and can be deleted. */
  if (descriptor) {
    CHECK(redset_apply(1, files, "late", descriptor) != 0);
    CHECK_INT(redset_delete(&descriptor), 0);
  }
  CHECK_INT(redset_recover(comm, "first", &descriptor), 0);
  CHECK_INT(redset_apply(1, files, "second", descriptor), 0);
  CHECK_INT(redset_delete(&descriptor), 0);
  works(4);
}

/* In NO_JUMP mode the call fails, and its communicator is repaired. */
static void apply_returns(void)
{
  int groups = 0, group = 0;
  if (role == FENIX_ROLE_INITIAL_RANK) {
    rankstr_mpi("a", comm, 1, 2, &groups, &group);
    CHECK_INT(groups, 1);
    if (rank == 1) die();
    rankstr_mpi("a", comm, 1, 2, &groups, &group);
    CHECK_INT(groups, 0);
    CHECK_INT(role, FENIX_ROLE_SURVIVOR_RANK);
    where_am_i();
  }
  rankstr_mpi("a", comm, 1, 2, &groups, &group);
  CHECK_INT(groups, 1);
  works(3);
}

/* An array, `part` elements on each rank, goes to the I/O tasks and back, under a description that is another one for each
 * `turn`. */
static int rearranged(int part, int turn)
{
  int dims[1] = {part * size}, decomposition = -1;
  int64_t elements = 0, regions = 0;
  PIO_Offset* map = calloc(part, sizeof *map);
  double *array = calloc(part, sizeof *array), *back = calloc(part, sizeof *back), fill = -1, *held;
  for (int i = 0; i < part; ++i) {
    map[i] = 1 + (rank + turn + i * size) % dims[0];
    array[i] = rank + 100 * i;
  }
  int code = PIOc_InitDecomp(io_system, PIO_DOUBLE, 1, dims, part, map, &decomposition, NULL, NULL, NULL);
  if (code == PIO_NOERR) {
    CHECK_INT(stanchion_pio_held(decomposition, &elements, &regions), PIO_NOERR);
    held = calloc((size_t)elements + 1, sizeof *held);
    code = stanchion_pio_to_io(decomposition, array, part, &fill, held, elements);
    if (code == PIO_NOERR) code = stanchion_pio_to_compute(decomposition, held, elements, back, part);
    if (code == PIO_NOERR) CHECK(memcmp(array, back, part * sizeof *array) == 0);
    if (code == PIO_NOERR) code = PIOc_freedecomp(io_system, decomposition);
    free(held);
  }
  free(map);
  free(array);
  free(back);
  return code;
}

/* A rank dies while the others describe an array. */
static void arrays(void)
{
  PIOc_Set_IOSystem_Error_Handling(PIO_DEFAULT, PIO_RETURN_ERROR);
  if (role == FENIX_ROLE_INITIAL_RANK) {
    CHECK_INT(PIOc_Init_Intracomm(comm, 2, 2, 0, PIO_REARR_BOX, &io_system), PIO_NOERR);
    CHECK_INT(rearranged(12, 0), PIO_NOERR);
    if (rank == 1) die();
    rearranged(12, 1);
    CHECK(!"a call of PIO jumps");
  }
  /* The I/O system of the lost communicator: its calls fail, and it can be given up. */
  if (io_system >= 0) {
    CHECK(rearranged(12, 2) != PIO_NOERR);
    PIOc_finalize(io_system);
  }
  CHECK_INT(PIOc_Init_Intracomm(comm, 2, 2, 0, PIO_REARR_SUBSET, &io_system), PIO_NOERR);
  CHECK_INT(rearranged(12, 3), PIO_NOERR);
  CHECK_INT(PIOc_finalize(io_system), PIO_NOERR);
  works(4);
}

/* The process dies when so much time has passed, whatever it does then. */
static void die_after(double seconds)
{
  long micros = 1 + (long)(seconds * 1e6); /* 0 would be never, and a million is not allowed */
  struct itimerval when = {{0, 0}, {micros / 1000000, micros % 1000000}};
  signal(SIGALRM, SIG_DFL);
  CHECK_INT(setitimer(ITIMER_REAL, &when, NULL), 0);
}

/* A rank, and then each I/O task, dies while arrays of many messages are under way. */
static void arrays_midway(void)
{
  static const int victims[] = {1, 2, 0};
  static int deaths;
  enum { VICTIMS = sizeof victims / sizeof *victims, PART = 300000 };
  if (role == FENIX_ROLE_SURVIVOR_RANK) ++deaths;
  if (io_system >= 0) PIOc_finalize(io_system);
  PIOc_Set_IOSystem_Error_Handling(PIO_DEFAULT, PIO_RETURN_ERROR);
  MPI_Allreduce(MPI_IN_PLACE, &deaths, 1, MPI_INT, MPI_MAX, comm);
  int rearranger = deaths == 1 ? PIO_REARR_SUBSET : PIO_REARR_BOX;
  CHECK_INT(PIOc_Init_Intracomm(comm, 2, 2, 0, rearranger, &io_system), PIO_NOERR);
  double begin = MPI_Wtime();
  CHECK_INT(rearranged(PART, 0), PIO_NOERR);
  if (deaths < VICTIMS) {
    if (rank == victims[deaths]) die_after((MPI_Wtime() - begin) * (getpid() % 100) / 100);
    for (int turn = 1; turn <= 1000; ++turn) rearranged(PART, turn);
    CHECK(!"a call of PIO jumps");
  }
  CHECK_INT(PIOc_finalize(io_system), PIO_NOERR);
  works(4);
}

/* A failure in a communicator that the user has made of the resilient one. */
static void derived(void)
{
  static MPI_Comm half;
  MPI_Comm_split(comm, rank / 2, rank, &half);
  if (role == FENIX_ROLE_INITIAL_RANK) {
    MPI_Barrier(half);
    if (rank == 1) die();
    if (rank == 0) {
      kvtree* tree = kvtree_new();
      kvtree_bcast(tree, 1, half);
      CHECK(!"bcast jumps");
    }
    MPI_Barrier(comm);
  }
  MPI_Barrier(half);
  MPI_Comm_free(&half);
  works(4);
}

/* Ranks that wait in derived communicators hear of a failure elsewhere, one from the other. What such a communicator has
 * left afterwards leads to no recovery. */
static void blocked_derived(void)
{
  static MPI_Comm pair, line;
  static MPI_Request open = MPI_REQUEST_NULL;
  static int entered, number[2];
  if (role == FENIX_ROLE_INITIAL_RANK) {
    MPI_Comm_split(comm, rank / 2, rank, &pair);
    MPI_Cart_create(comm, 1, (int[]){4}, (int[]){0}, 0, &line);
    if (rank == 0) MPI_Irecv(&number[0], 1, MPI_INT, 1, 9, pair, &open);
    MPI_Barrier(comm);
    if (rank == 3) nap(300), die();
    if (rank == 0) MPI_Recv(&number[1], 1, MPI_INT, 1, 5, pair, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Recv(&number[1], 1, MPI_INT, 2, 5, line, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    CHECK(!"the failure is met");
  }
  CHECK_INT(++entered, 1);
  if (rank == 0) CHECK(MPI_Wait(&open, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  works(4);
}

/* A failure interrupts the making of a communicator, and later there is another failure: what the first one has left
 * behind incomplete must not be revoked then, either. */
static void incomplete(void)
{
  static MPI_Comm part;
  MPI_Group all;
  int sum = 0;
  works(4);
  MPI_Comm_group(comm, &all);
  MPI_Allreduce(&start_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  /* 0, 1, 2, 3 at first; then rank 1 was the spare 5, rank 2 was 4. */
  if (sum == 6 && rank == 1) nap(200), die();
  if (sum == 6) MPI_Comm_create(comm, all, &part);
  if (sum == 10 && rank == 2) die();
  if (sum == 10) MPI_Barrier(comm);
  CHECK_INT(sum, 12);
  MPI_Group_free(&all);
}

/* Without a jump, one rank is in Fenix_Finalize while another has met a failure and goes back to work. */
static void finalize_returns(void)
{
  if (role == FENIX_ROLE_INITIAL_RANK) {
    MPI_Barrier(comm);
    if (rank == 0) nap(300), die();
    nap(rank == 1 ? 0 : 600);
    int code = rank == 1 ? Fenix_Finalize() : MPI_Barrier(comm);
    if (rank == 1) CHECK_INT(code, FENIX_ERROR_CANCELLED);
    CHECK(code != MPI_SUCCESS);
    CHECK_INT(role, FENIX_ROLE_SURVIVOR_RANK);
    where_am_i();
  }
  works(3);
}

/* A policy that is computed from the number of ranks, which has become smaller. */
static void shrink_policy(void)
{
  static int data[100];
  int policy[2] = {1, size / 2}, flag;
  CHECK_INT(Fenix_Data_group_create(1, comm, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, policy, &flag), 0);
  if (role == FENIX_ROLE_INITIAL_RANK) {
    data[99] = 7 + rank;
    CHECK_INT(Fenix_Data_member_create(1, 1, data, 100, MPI_INT), 0);
    CHECK_INT(Fenix_Data_member_store(1, 1, FENIX_DATA_SUBSET_FULL), 0);
    CHECK_INT(Fenix_Data_commit_barrier(1, NULL), 0);
    if (rank == 3) die();
    MPI_Barrier(comm);
  }
  CHECK_INT(error, FENIX_WARNING_SPARE_RANKS_DEPLETED);
  data[99] = 0;
  CHECK_INT(Fenix_Data_member_lrestore(1, 1, data, 100, FENIX_DATA_SNAPSHOT_LATEST, NULL), 0);
  CHECK_INT(data[99], 7 + start_rank);
  CHECK_INT(Fenix_Data_member_store(1, 1, FENIX_DATA_SUBSET_FULL), 0);
  CHECK_INT(Fenix_Data_commit_barrier(1, NULL), 0);
  CHECK_INT(Fenix_Data_member_restore(1, 1, data, 100, FENIX_DATA_SNAPSHOT_LATEST, NULL), 0);
  works(3);
}

/* Errors that are no failures come back to the caller. */
static void unhandled(void)
{
  CHECK(MPI_Send(&rank, 1, MPI_INT, size + 7, 0, comm) != MPI_SUCCESS);
  CHECK_INT(role, FENIX_ROLE_INITIAL_RANK);
  works(3);
}

/* Writing to what a dead rank has closed is an error, not the end of the survivor; also on a rank that was a spare. */
static void broken_pipe(void)
{
  int ends[2];
  CHECK_INT(pipe(ends), 0);
  close(ends[0]);
  CHECK_INT(write(ends[1], "", 1), -1);
  CHECK_INT(errno, EPIPE);
  close(ends[1]);
  if (role == FENIX_ROLE_INITIAL_RANK && rank == 1) die();
  if (role == FENIX_ROLE_INITIAL_RANK) MPI_Barrier(comm);
  works(3);
}

static void leave_done(void)
{
  char name[32];
  snprintf(name, sizeof name, "done.%d", rank);
  fclose(fopen(name, "w"));
}

/* Most processes are left, so the job goes on. */
static void majority(void)
{
  if (role == FENIX_ROLE_INITIAL_RANK && rank > 0) die();
  if (role == FENIX_ROLE_INITIAL_RANK) MPI_Barrier(comm);
  works(3);
}

/* Two of five cannot know whether the others are dead or go on without them. */
static void minority(void)
{
  char text[256];
  if (error == FENIX_SUCCESS) {
    if (rank > 1) die();
    MPI_Barrier(comm);
  }
  CHECK_INT(error, FENIX_ERROR_INTERN);
  stanchion_last_error(text, sizeof text);
  CHECK(strstr(text, "only 2 of 5 processes") != NULL);
  CHECK_INT(Fenix_Finalize(), FENIX_ERROR_INTERN);
  if (check_failures) exit(1);
  leave_done();
  MPI_Finalize();
  exit(0);
}

/* No active rank is left: the spares must end, too. */
static void all_die(void)
{
  MPI_Barrier(comm);
  if (rank == 0) fclose(fopen("done.none", "w"));
  die();
}

static const struct scenario {
  const char* name;
  int active, spares, no_jump;
  void (*run)(void);
} scenarios[] = {
    {"two", 4, 2, 0, two},
    {"three_in_a_row", 3, 3, 0, three_in_a_row},
    {"in_callback", 3, 3, 0, in_callback},
    {"dead_spares", 3, 3, 0, dead_spares},
    {"only_spares", 3, 2, 0, only_spares},
    {"shrink", 5, 1, 0, shrink},
    {"no_spare", 4, 0, 0, no_spare},
    {"no_jump", 3, 2, 1, no_jump},
    {"detect", 3, 1, 0, detect},
    {"at_finalize", 3, 2, 0, at_finalize},
    {"before_finalize", 3, 1, 0, before_finalize},
    {"open_requests", 3, 1, 0, open_requests},
    {"exchange", 3, 1, 0, exchange},
    {"blocked", 4, 1, 0, blocked},
    {"apply", 4, 1, 0, apply},
    {"apply_returns", 3, 1, 1, apply_returns},
    {"arrays", 4, 1, 0, arrays},
    {"arrays_midway", 4, 3, 0, arrays_midway},
    {"derived", 4, 1, 0, derived},
    {"blocked_derived", 4, 1, 0, blocked_derived},
    {"incomplete", 4, 2, 0, incomplete},
    {"finalize_returns", 3, 1, 1, finalize_returns},
    {"shrink_policy", 4, 0, 0, shrink_policy},
    {"unhandled", 3, 1, 0, unhandled},
    {"broken_pipe", 3, 1, 0, broken_pipe},
    {"majority", 3, 2, 0, majority},
    {"minority", 5, 0, 0, minority},
    {"all_die", 2, 2, 0, all_die},
};

static const struct scenario* find(const char* name)
{
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
    if (strcmp(scenarios[i].name, name) == 0) return &scenarios[i];
  }
  fprintf(stderr, "there is no scenario %s\n", name);
  exit(2);
}

static const struct scenario* chosen;

int main(int argc, char** argv)
{
  MPI_Info info;
  alarm(55);
  chosen = find(argc > 1 ? argv[1] : "");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &start_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &start_size);
  CHECK_INT(start_size, chosen->active + chosen->spares);
  pids = calloc(start_size, sizeof *pids);
  pid_t own = getpid();
  MPI_Allgather(&own, sizeof own, MPI_BYTE, pids, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  if (chosen->run == majority || chosen->run == minority) setenv("STANCHION_FENIX_QUORUM", "1", 1);
  MPI_Info_create(&info);
  if (chosen->no_jump) MPI_Info_set(info, "FENIX_RESUME_MODE", "NO_JUMP");
  MPI_Info_set(info, "FENIX_UNHANDLED_MODE", "NO_JUMP");
  Fenix_Init(&role, MPI_COMM_WORLD, &comm, &argc, &argv, chosen->spares, 0, info, &error);
  where_am_i();
  chosen->run();
  CHECK_INT(Fenix_Finalize(), 0);
  CHECK_INT(Fenix_Finalize(), FENIX_ERROR_UNINITIALIZED);
  if (check_failures) return 1;
  leave_done();
  MPI_Finalize();
  return 0;
}
