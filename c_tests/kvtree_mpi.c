/* Trees between ranks: point to point, broadcast, exchange; on communicators that come and go, with
 * the user's error handler left alone. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_mpi.h"
#include "kvtree_util.h"
#include "check.h"

static int rank, size;

/* A tree that can be told from those of other ranks. */
static kvtree* message(int from, int to)
{
  kvtree* tree = kvtree_new();
  kvtree_util_set_int(tree, "from", from);
  kvtree_util_set_int(tree, "to", to);
  for (int i = 0; i < from + 2; i++) kvtree_set_kv_int(kvtree_set_kv_int(tree, "list", i), "to", to);
  return tree;
}

static kvtree* deep(int depth)
{
  kvtree *tree = kvtree_new(), *at = tree;
  for (int i = 0; i < depth; i++) at = kvtree_set(at, "down", kvtree_new());
  return tree;
}

static kvtree* wide(int width)
{
  kvtree* tree = kvtree_new();
  for (int i = 0; i < width; i++) kvtree_set_kv_int(tree, "wide", i);
  return tree;
}

static void put(kvtree* send, int to, kvtree* tree)
{
  char key[16];
  snprintf(key, sizeof key, "%d", to);
  kvtree_set(send, key, tree);
}

static void came(const kvtree* recv, int from, int to)
{
  kvtree* wanted = message(from, to);
  CHECK(check_equal(kvtree_getf(recv, "%d", from), wanted));
  kvtree_delete(&wanted);
}

static void send_and_recv(MPI_Comm comm)
{
  kvtree* tree = kvtree_new();
  for (int from = 0; from < size; from++)
    for (int to = 0; to < size; to++) {
      if (from == to) continue;
      kvtree* sent = message(from, to);
      if (rank == from) CHECK_INT(kvtree_send(sent, to, comm), KVTREE_SUCCESS);
      if (rank == to) {
        kvtree_set_kv(tree, "old", "content");
        CHECK_INT(kvtree_recv(tree, from, comm), KVTREE_SUCCESS);
        CHECK(check_equal(tree, sent));
      }
      kvtree_delete(&sent);
    }
  kvtree_set_kv(tree, "old", "content");
  CHECK_INT(kvtree_send(tree, MPI_PROC_NULL, comm), KVTREE_SUCCESS);
  CHECK_INT(kvtree_recv(tree, MPI_PROC_NULL, comm), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(tree), 0);
  kvtree_delete(&tree);
}

static void ring_of(const kvtree* sent, const kvtree* wanted)
{
  kvtree* tree = kvtree_new();
  kvtree_set_kv(tree, "old", "content");
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  CHECK_INT(kvtree_sendrecv(sent, right, tree, left, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK(kvtree_pack_size(tree) == kvtree_pack_size(wanted));
  CHECK(kvtree_get(tree, "old") == NULL);
  kvtree_delete(&tree);
}

static void sendrecv_in_a_ring(void)
{
  int left = (rank + size - 1) % size;
  kvtree *sent = message(rank, 0), *wanted = message(left, 0), *tree = kvtree_new();
  CHECK_INT(kvtree_sendrecv(sent, (rank + 1) % size, tree, left, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK(check_equal(tree, wanted));
  kvtree_delete(&wanted);
  kvtree_delete(&sent);

  sent = deep(check_size(50000, 2000));
  ring_of(sent, sent);
  kvtree_delete(&sent);
  sent = wide(check_size(20000, 1000));
  ring_of(sent, sent);
  kvtree_delete(&sent);

  /* A chain: the ends have no neighbour. */
  sent = message(rank, 1);
  int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  kvtree_unset_all(tree);
  CHECK_INT(kvtree_sendrecv(sent, right, tree, left, MPI_COMM_WORLD), KVTREE_SUCCESS);
  wanted = rank > 0 ? message(rank - 1, 1) : kvtree_new();
  CHECK(check_equal(tree, wanted));
  CHECK_INT(kvtree_sendrecv(sent, MPI_PROC_NULL, tree, MPI_PROC_NULL, MPI_COMM_WORLD), KVTREE_SUCCESS);
  kvtree_delete(&wanted);
  kvtree_delete(&sent);
  kvtree_delete(&tree);
}

static void bcast_from_each_root(void)
{
  for (int root = 0; root < size; root++) {
    kvtree *tree = rank == root ? message(root, -1) : kvtree_new(), *wanted = message(root, -1);
    if (rank != root) kvtree_set_kv(tree, "old", "content");
    CHECK_INT(kvtree_bcast(tree, root, MPI_COMM_WORLD), KVTREE_SUCCESS);
    CHECK(check_equal(tree, wanted));
    kvtree_delete(&wanted);
    kvtree_delete(&tree);
  }
  kvtree *tree = rank == 0 ? deep(check_size(50000, 2000)) : kvtree_new();
  CHECK_INT(kvtree_bcast(tree, 0, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK_INT(kvtree_pack_size(tree), 4 + 9 * (long long)check_size(50000, 2000));
  if (rank == 0) kvtree_unset_all(tree);
  CHECK_INT(kvtree_bcast(tree, 0, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(tree), 0);
  kvtree_delete(&tree);
}

enum way { SHORT, RIGHT, LEFT };

static int exchange(enum way way, const kvtree* send, kvtree* recv, MPI_Comm comm)
{
  if (way == SHORT) return kvtree_exchange(send, recv, comm);
  return kvtree_exchange_direction(send, recv, comm, way == RIGHT ? KVTREE_EXCHANGE_RIGHT : KVTREE_EXCHANGE_LEFT);
}

/* Who sends to whom; a different pattern for every number. */
static int sends(int pattern, int from, int to)
{
  if (pattern == 0) return 0;
  if (pattern == 1) return 1;
  if (pattern == 2) return to == (from + 1) % size;
  if (pattern == 3) return to == (from + size - 1) % size;
  if (pattern == 4) return to == from;
  if (pattern == 5) return to == 0;
  if (pattern == 6) return from == size - 1;
  unsigned state = 1u + (unsigned)(pattern * 1000 + from * 31 + to * 7);
  for (int i = 0; i < 5; i++) check_random(&state);
  return state % 3 == 0;
}

static void exchanges(enum way way, int pattern, MPI_Comm comm)
{
  kvtree *send = kvtree_new(), *recv = kvtree_new();
  for (int to = 0; to < size; to++)
    if (sends(pattern, rank, to)) put(send, to, message(rank, to));
  kvtree* before = kvtree_new();
  kvtree_merge(before, send);
  CHECK_INT(exchange(way, send, recv, comm), KVTREE_SUCCESS);
  CHECK(check_equal(send, before));
  int arrived = 0;
  for (int from = 0; from < size; from++) {
    if (!sends(pattern, from, rank)) continue;
    came(recv, from, rank);
    arrived++;
  }
  CHECK_INT(kvtree_size(recv), arrived);

  /* Once more into what is there: nothing is doubled, what else was there stays. */
  kvtree_set_kv(recv, "mine", "content");
  kvtree_setf(recv, kvtree_new(), "%d %s", 0, "extra");
  CHECK_INT(exchange(way, send, recv, comm), KVTREE_SUCCESS);
  CHECK_STR(kvtree_get_val(recv, "mine"), "content");
  CHECK(kvtree_getf(recv, "%d %s", 0, "extra") != NULL);
  kvtree_unset_kv(recv, "0", "extra");
  for (int from = 0; from < size; from++)
    if (sends(pattern, from, rank)) came(recv, from, rank);
  CHECK_INT(kvtree_size(recv), arrived + 1);
  kvtree_delete(&before);
  kvtree_delete(&recv);
  kvtree_delete(&send);
}

static void empty_messages(void)
{
  kvtree *send = kvtree_new(), *recv = kvtree_new();
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  put(send, right, rank % 2 ? NULL : kvtree_new());
  CHECK_INT(kvtree_exchange(send, recv, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(recv), 1);
  CHECK(kvtree_getf(recv, "%d", left) != NULL);
  CHECK_INT(kvtree_size(kvtree_getf(recv, "%d", left)), 0);
  kvtree_unset_all(recv);
  CHECK_INT(kvtree_exchange(NULL, recv, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(recv), 0);
  kvtree_delete(&recv);
  kvtree_delete(&send);
}

static void queued_messages(void)
{
  kvtree *send = kvtree_new(), *recv = kvtree_new();
  for (int to = 0; to < size; to++) {
    kvtree* part = kvtree_new();
    kvtree_set_kv_int(part, "first", rank);
    CHECK_INT(kvtree_exchange_sendq(send, to, part), KVTREE_SUCCESS);
    kvtree_unset_all(part);
    kvtree_set_kv_int(part, "second", to);
    CHECK_INT(kvtree_exchange_sendq(send, to, part), KVTREE_SUCCESS);
    CHECK_INT(kvtree_exchange_sendq(send, to, NULL), KVTREE_SUCCESS);
    kvtree_delete(&part); /* a copy was queued */
  }
  CHECK_INT(kvtree_size(send), size);
  CHECK(kvtree_exchange_sendq(NULL, 0, send) != KVTREE_SUCCESS);
  CHECK_INT(kvtree_exchange(send, recv, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(recv), size);
  for (int from = 0; from < size; from++) {
    kvtree* got = kvtree_getf(recv, "%d", from);
    CHECK_INT(kvtree_size(got), 2);
    CHECK(kvtree_get_kv_int(got, "first", from) != NULL);
    CHECK(kvtree_get_kv_int(got, "second", rank) != NULL);
  }
  kvtree_delete(&recv);
  kvtree_delete(&send);
}

static void large_messages(void)
{
  kvtree *send = kvtree_new(), *recv = kvtree_new();
  for (int to = 0; to < size; to++) put(send, to, to % 2 ? deep(check_size(20000, 500)) : wide(check_size(3000, 200)));
  CHECK_INT(kvtree_exchange(send, recv, MPI_COMM_WORLD), KVTREE_SUCCESS);
  kvtree* wanted = rank % 2 ? deep(check_size(20000, 500)) : wide(check_size(3000, 200));
  CHECK_INT(kvtree_size(recv), size);
  for (kvtree_elem* e = kvtree_elem_first(recv); e; e = kvtree_elem_next(e))
    CHECK_INT(kvtree_pack_size(kvtree_elem_hash(e)), kvtree_pack_size(wanted));
  kvtree_delete(&wanted);
  kvtree_delete(&recv);
  kvtree_delete(&send);
}

static int handled;

static void handle(MPI_Comm* comm, int* code, ...)
{
  (void)comm;
  (void)code;
  handled++;
}

static void everything_on(MPI_Comm comm)
{
  kvtree *sent = message(rank, 0), *tree = kvtree_new();
  for (int way = 0; way < 3; way++) exchanges((enum way)way, 1, comm);
  CHECK_INT(kvtree_sendrecv(sent, (rank + 1) % size, tree, (rank + size - 1) % size, comm), KVTREE_SUCCESS);
  CHECK_INT(kvtree_bcast(tree, 0, comm), KVTREE_SUCCESS);
  CHECK(kvtree_send(tree, size + 7, comm) != KVTREE_SUCCESS);
  kvtree_delete(&tree);
  kvtree_delete(&sent);
}

static void the_error_handler_stays(void)
{
  MPI_Comm comm;
  MPI_Errhandler own, found;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handle, &own);
  MPI_Comm_set_errhandler(comm, own);
  everything_on(comm);
  CHECK_INT(handled, 0);
  MPI_Comm_get_errhandler(comm, &found);
  CHECK(found == own);
  MPI_Errhandler_free(&found);
  MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  CHECK_INT(handled, 1);

  MPI_Errhandler predefined[] = {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN};
  for (int i = 0; i < 2; i++) {
    MPI_Comm_set_errhandler(comm, predefined[i]);
    everything_on(comm);
    MPI_Comm_get_errhandler(comm, &found);
    CHECK(found == predefined[i]);
  }
  MPI_Errhandler_free(&own);
  MPI_Comm_free(&comm);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
  CHECK(found == MPI_ERRORS_ARE_FATAL);
}

/* On half of the ranks, numbered from the back, and on a duplicate. */
static void communicators_come_and_go(void)
{
  int world_rank = rank, world_size = size;
  for (int i = 0; i < check_size(200, 5); i++) {
    MPI_Comm part, copy;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &part);
    MPI_Comm_rank(part, &rank);
    MPI_Comm_size(part, &size);
    exchanges(SHORT, i % 10, part);
    MPI_Comm_dup(part, &copy);
    exchanges(RIGHT, i % 10, copy);
    if (i % 2) MPI_Comm_free(&part);
    exchanges(LEFT, i % 10, copy);
    MPI_Comm_free(&copy);
    if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
    rank = world_rank;
    size = world_size;
  }
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  send_and_recv(MPI_COMM_WORLD);
  sendrecv_in_a_ring();
  bcast_from_each_root();
  for (int way = 0; way < 3; way++)
    for (int pattern = 0; pattern < 47; pattern++)
      exchanges((enum way)way, pattern, MPI_COMM_WORLD);
  empty_messages();
  queued_messages();
  large_messages();
  the_error_handler_stays();
  communicators_come_and_go();
  return check_result_mpi();
}
