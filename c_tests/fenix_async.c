/* Stores that go on in the background: several at once, of one member or of all, of one group or several, ended in any order.
 * With the argument `threads` several threads might call MPI. */
#include "fenix_data.h"

enum { MOST = 200000, MEMBERS = 4 };

static int* memory[MEMBERS];

static int count_of(int member) { return member == 0 ? 3 : check_size(MOST, 5000) / member - rank; }

static void commit_and_check(int rounds[MEMBERS], int stamp)
{
  static int values[MOST];
  int found = -9;
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, &found), FENIX_SUCCESS);
  CHECK_INT(found, stamp);
  for (int i = 0; i < MEMBERS; i++) {
    clear(values, count_of(i));
    CHECK_INT(common(Fenix_Data_member_restore(GROUP, i, values, MOST, -1, NULL)), FENIX_SUCCESS);
    CHECK_INT(wrong(values, 0, count_of(i), i, rounds[i], rank), 0);
  }
}

/* The buffer may change as soon as istore has returned. */
static void start(int member, int round, Fenix_Request* request)
{
  fill(memory[member], count_of(member), member, round);
  int code = round % 2 ? Fenix_Data_member_istore(GROUP, member, FENIX_DATA_SUBSET_FULL, request)
                       : Fenix_Data_member_istorev(GROUP, member, FENIX_DATA_SUBSET_FULL, request);
  CHECK_INT(code, FENIX_SUCCESS);
  clear(memory[member], count_of(member));
}

static void test_until_ended(Fenix_Request request)
{
  int flag = 0;
  while (!flag && check_failures < 20) CHECK_INT(Fenix_Data_test(request, &flag), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_test(request, &flag), FENIX_SUCCESS);
  CHECK_INT(flag, 1);
}

static void check_orders(void)
{
  Fenix_Request requests[MEMBERS];
  for (int i = 0; i < MEMBERS; i++) start(i, 1, &requests[i]);
  for (int i = 0; i < MEMBERS; i++) CHECK_INT(Fenix_Data_wait(requests[i]), FENIX_SUCCESS);
  commit_and_check((int[]){ 1, 1, 1, 1 }, 0);
  for (int i = 0; i < MEMBERS; i++) start(i, 2, &requests[i]);
  for (int i = MEMBERS - 1; i >= 0; i--) CHECK_INT(Fenix_Data_wait(requests[i]), FENIX_SUCCESS);
  for (int i = 0; i < MEMBERS; i++) CHECK_INT(Fenix_Data_wait(requests[i]), FENIX_SUCCESS); /* again */
  commit_and_check((int[]){ 2, 2, 2, 2 }, 1);
  for (int i = 0; i < MEMBERS; i++) start(i, 3, &requests[i]); /* each rank in an order of its own */
  for (int i = 0; i < MEMBERS; i++) test_until_ended(requests[(i + rank) % MEMBERS]);
  commit_and_check((int[]){ 3, 3, 3, 3 }, 2);
  for (int i = 0; i < MEMBERS; i++) start(i, 4, &requests[i]); /* the commit waits for them */
  commit_and_check((int[]){ 4, 4, 4, 4 }, 3);
  for (int i = 0; i < MEMBERS; i++) test_until_ended(requests[i]);
}

static void check_mixed(void)
{
  Fenix_Request first, second, all;
  start(1, 5, &first);
  start(1, 6, &second); /* the same member: the later store wins */
  fill(memory[2], count_of(2), 2, 5);
  CHECK_INT(Fenix_Data_member_store(GROUP, 2, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS); /* between them */
  CHECK_INT(Fenix_Data_wait(second), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_wait(first), FENIX_SUCCESS);
  commit_and_check((int[]){ 4, 6, 5, 4 }, 4);
  for (int i = 0; i < MEMBERS; i++) fill(memory[i], count_of(i), i, 7);
  CHECK_INT(Fenix_Data_member_istore(GROUP, FENIX_DATA_MEMBER_ALL, FENIX_DATA_SUBSET_FULL, &all), FENIX_SUCCESS);
  for (int i = 0; i < MEMBERS; i++) clear(memory[i], count_of(i));
  test_until_ended(all);
  CHECK_INT(Fenix_Data_member_istore(GROUP, 1, FENIX_DATA_SUBSET_EMPTY, &first), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_wait(first), FENIX_SUCCESS);
  commit_and_check((int[]){ 7, 7, 7, 7 }, 5);
}

/* What is no request is no crash. */
static void check_requests(void)
{
  Fenix_Request request, null = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
  int flag = 0;
  CHECK_INT(Fenix_Data_wait(null), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_test(null, &flag), FENIX_SUCCESS);
  CHECK_INT(flag, 1);
  memset(&request, 0, sizeof request);
  CHECK_INT(Fenix_Data_wait(request), FENIX_SUCCESS);
  memset(&request, 0x5a, sizeof request);
  CHECK_INT(Fenix_Data_wait(request), FENIX_ERROR_DATA_WAIT);
  flag = 1;
  CHECK_INT(Fenix_Data_test(request, &flag), FENIX_ERROR_DATA_WAIT);
  CHECK_INT(flag, 0);
  start(0, 8, &request);
  request.mpi_recv_req = null.mpi_recv_req;
  CHECK_INT(Fenix_Data_wait(request), FENIX_ERROR_DATA_WAIT);
}

/* Communicators that the library has made, counted on their way to MPI, and how many it should make for a group. */
static int made, wanted;

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part)
{
  made++;
  return PMPI_Comm_split(comm, color, key, part);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy)
{
  made++;
  return PMPI_Comm_dup(comm, copy);
}

enum { GROUPS = 3, ROUNDS = 3, BURST = 300, SHARED = 20000 };

/* The last two ids differ by a multiple of 16, so these groups have their tags in common. */
static const int ids[GROUPS] = { 1, 2, 2 + 16 * 5 };

static int round_value(int group, int round) { return 100 * group + round; }

/* Stores of all groups are under way at once, blocking stores and collectives between them: no message goes to another group. */
static void interleave(int* buffers[GROUPS])
{
  Fenix_Request requests[GROUPS];
  int flag, count = SHARED - 3 * rank;
  for (int round = 0; round < ROUNDS; round++) {
    for (int g = 0; g < GROUPS; g++) {
      fill(buffers[g], count, g, round_value(g, round));
      CHECK_INT(Fenix_Data_member_istore(ids[g], 1, FENIX_DATA_SUBSET_FULL, &requests[g]), FENIX_SUCCESS);
      clear(buffers[g], count);
    }
    for (int g = GROUPS - 1; g >= 0; g--) CHECK_INT(Fenix_Data_member_store(ids[g], 2, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
    for (int g = 0; g < GROUPS; g++) CHECK_INT(Fenix_Data_test(requests[(g + rank) % GROUPS], &flag), FENIX_SUCCESS);
    for (int g = GROUPS - 1; g >= 0; g--) CHECK_INT(Fenix_Data_commit_barrier(ids[g], NULL), FENIX_SUCCESS);
    for (int g = 0; g < GROUPS; g++) {
      CHECK_INT(common(Fenix_Data_member_restore(ids[g], 1, buffers[g], SHARED, -1, NULL)), FENIX_SUCCESS);
      CHECK_INT(wrong(buffers[g], 0, count, g, round_value(g, round), rank), 0);
    }
  }
}

/* More stores under way than there are tags. */
static void burst(int small[GROUPS])
{
  Fenix_Request request;
  for (int i = 1; i <= BURST; i++)
    for (int g = 0; g < GROUPS; g++) {
      small[g] = i * (rank + g + 1);
      CHECK_INT(Fenix_Data_member_istore(ids[g], 2, FENIX_DATA_SUBSET_FULL, &request), FENIX_SUCCESS);
    }
  for (int g = 0; g < GROUPS; g++) {
    CHECK_INT(Fenix_Data_commit_barrier(ids[g], NULL), FENIX_SUCCESS);
    small[g] = 0;
    CHECK_INT(common(Fenix_Data_member_restore(ids[g], 2, &small[g], 1, -1, NULL)), FENIX_SUCCESS);
    CHECK_INT(small[g], BURST * (rank + g + 1));
  }
}

/* Groups on the resilient communicator need none of their own, unless threads may use them at once: fewer that a failure can
 * interrupt. */
static void check_groups(const struct policy* policy, int bursts)
{
  int* buffers[GROUPS];
  int small[GROUPS], flag;
  for (int g = 0; g < GROUPS; g++) {
    int value[3] = { policy->value[0], policy->value[1], policy->value[2] };
    made = 0;
    CHECK_INT(Fenix_Data_group_create(ids[g], world, 0, 0, policy->name, value, &flag), FENIX_SUCCESS);
    CHECK_INT(made, wanted);
    buffers[g] = calloc(SHARED, sizeof(int));
    small[g] = rank + g;
    CHECK_INT(Fenix_Data_member_create(ids[g], 1, buffers[g], SHARED - 3 * rank, MPI_INT), FENIX_SUCCESS);
    CHECK_INT(Fenix_Data_member_create(ids[g], 2, &small[g], 1, MPI_INT), FENIX_SUCCESS);
  }
  interleave(buffers);
  if (bursts) burst(small);
  for (int g = 0; g < GROUPS; g++) {
    CHECK_INT(Fenix_Data_group_delete(ids[g]), FENIX_SUCCESS);
    free(buffers[g]);
  }
}

/* A communicator that the program frees takes nothing of the group with it. */
static void check_freed(void)
{
  MPI_Comm own;
  MPI_Comm_dup(world, &own);
  made = 0;
  if (create_on(own, &policies[0], 0, 0) != FENIX_SUCCESS) {
    MPI_Comm_free(&own);
    return;
  }
  CHECK(made > 0);
  MPI_Comm_free(&own);
  fill(memory[1], 100, 1, 1);
  CHECK_INT(Fenix_Data_member_create(GROUP, 1, memory[1], 100, MPI_INT), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_store(GROUP, 1, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  clear(memory[1], 100);
  CHECK_INT(Fenix_Data_member_restore(GROUP, 1, memory[1], 100, -1, NULL), FENIX_SUCCESS);
  CHECK_INT(wrong(memory[1], 0, 100, 1, 1, rank), 0);
  CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
}

int main(int argc, char** argv)
{
  int threads = argc > 1 && strcmp(argv[1], "threads") == 0;
  wanted = begin_at(threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &argc, &argv) == MPI_THREAD_MULTIPLE;
  for (int i = 0; i < MEMBERS; i++) memory[i] = calloc(MOST, sizeof(int));
  for (int i = 0; i < POLICIES; i++) {
    if (!has_group(&policies[i], 0, 1)) continue;
    for (int m = 0; m < MEMBERS; m++)
      CHECK_INT(Fenix_Data_member_create(GROUP, m, memory[m], count_of(m), MPI_INT), FENIX_SUCCESS);
    check_orders();
    check_mixed();
    check_requests();
    CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS); /* one store may still be under way */
    if (i == 0 || i == 2 || i == 3) check_groups(&policies[i], i == 0); /* copies, parity, Reed-Solomon codes */
  }
  check_freed();
  for (int i = 0; i < MEMBERS; i++) free(memory[i]);
  return end();
}
