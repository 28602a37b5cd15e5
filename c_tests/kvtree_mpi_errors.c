/* What fails on one rank of a collective fails on all: nobody waits, nothing is changed, every rank
 * can tell why, and the next call works. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_mpi.h"
#include "kvtree_util.h"
#include "stanchion.h"
#include "check.h"

#include <sys/stat.h>
#include <unistd.h>

static int rank, size;

/* The last error of this rank says `words`, or tells of a rank that failed with them. */
#define CHECK_ERROR(words)                                                        \
  do {                                                                            \
    char text_[2048] = "";                                                        \
    stanchion_last_error(text_, sizeof text_);                                    \
    if (!strstr(text_, words)) check_failed(__FILE__, __LINE__, "the last error", text_, words); \
  } while (0)

static kvtree* own(void)
{
  kvtree* tree = kvtree_new();
  kvtree_util_set_int(tree, "rank", rank);
  kvtree_set_kv(tree, "host", "some");
  return tree;
}

static void exchange_works(void)
{
  kvtree *send = kvtree_new(), *recv = kvtree_new();
  for (int to = 0; to < size; to++) {
    kvtree* tree = own();
    kvtree_exchange_sendq(send, to, tree);
    kvtree_delete(&tree);
  }
  CHECK_INT(kvtree_exchange(send, recv, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(recv), size);
  for (int from = 0; from < size; from++) {
    int found = -1;
    kvtree_util_get_int(kvtree_getf(recv, "%d", from), "rank", &found);
    CHECK_INT(found, from);
  }
  kvtree_delete(&recv);
  kvtree_delete(&send);
}

static int call_exchange(int way, const kvtree* send, kvtree* recv)
{
  if (way == 0) return kvtree_exchange(send, recv, MPI_COMM_WORLD);
  return kvtree_exchange_direction(send, recv, MPI_COMM_WORLD, way == 1 ? KVTREE_EXCHANGE_RIGHT : KVTREE_EXCHANGE_LEFT);
}

static void exchange_fails(int way, int bad)
{
  kvtree *send = kvtree_new(), *recv = own(), *before = own();
  char outside[16];
  snprintf(outside, sizeof outside, "%d", size);
  const char* keys[] = {"-1", "nobody", "", "1x", "4294967296", outside};

  CHECK(call_exchange(way, send, rank == bad ? NULL : recv) != KVTREE_SUCCESS);
  CHECK_ERROR("NULL");
  CHECK(check_same(recv, before));
  exchange_works();
  for (int i = 0; i < 6; i++) {
    kvtree_unset_all(send);
    for (int to = 0; to < size; to++) kvtree_setf(send, own(), "%d", to);
    if (rank == bad) kvtree_set(send, keys[i], own());
    CHECK(call_exchange(way, send, recv) != KVTREE_SUCCESS);
    CHECK_ERROR(keys[i]);
    CHECK_ERROR("not a rank");
    CHECK(check_same(recv, before));
    exchange_works();
  }
  kvtree_delete(&before);
  kvtree_delete(&recv);
  kvtree_delete(&send);
}

static void bcast_fails(int bad)
{
  int root = (bad + 1) % size;
  kvtree *tree = own(), *before = own();
  if (size > 1) {
    CHECK(kvtree_bcast(rank == bad ? NULL : tree, root, MPI_COMM_WORLD) != KVTREE_SUCCESS);
    CHECK_ERROR("NULL");
    CHECK(check_same(tree, before));
  }
  CHECK(kvtree_bcast(tree, size, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK(kvtree_bcast(tree, -1, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK(check_same(tree, before));
  CHECK_INT(kvtree_bcast(tree, root, MPI_COMM_WORLD), KVTREE_SUCCESS);
  int found = -1;
  kvtree_util_get_int(tree, "rank", &found);
  CHECK_INT(found, root);
  kvtree_delete(&before);
  kvtree_delete(&tree);
}

/* Point to point calls fail alone, and before anything is sent. */
static void one_to_one_fails(void)
{
  kvtree *tree = own(), *before = own();
  CHECK(kvtree_send(tree, size, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK(kvtree_send(tree, -77, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK(kvtree_recv(tree, size, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK(kvtree_recv(NULL, 0, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK(kvtree_sendrecv(tree, size, tree, MPI_PROC_NULL, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK(kvtree_sendrecv(tree, MPI_PROC_NULL, tree, size, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK(kvtree_sendrecv(tree, rank, NULL, rank, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK(kvtree_send(tree, 0, MPI_COMM_NULL) != KVTREE_SUCCESS);
  CHECK(kvtree_recv(tree, 0, MPI_COMM_NULL) != KVTREE_SUCCESS);
  CHECK(kvtree_exchange(tree, tree, MPI_COMM_NULL) != KVTREE_SUCCESS);
  CHECK(kvtree_write_gather("none", tree, MPI_COMM_NULL) != KVTREE_SUCCESS);
  CHECK(check_same(tree, before));
  kvtree_delete(&before);
  kvtree_delete(&tree);
  exchange_works();
}

/* ---- files ---- */

/* Large enough that every rank writes a file of its own. */
static kvtree* large(int mark)
{
  size_t bytes = 1100 * 1024;
  kvtree* tree = own();
  char* text = malloc(bytes + 1);
  memset(text, 'a' + rank % 20, bytes);
  text[bytes] = '\0';
  kvtree_util_set_str(tree, "bulk", text);
  kvtree_util_set_int(tree, "mark", mark);
  free(text);
  return tree;
}

static void gather_holds(const char* prefix, int mark)
{
  kvtree *read = kvtree_new(), *wanted = large(mark);
  CHECK_INT(kvtree_read_scatter(prefix, read, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK(check_equal(read, wanted));
  kvtree_delete(&wanted);
  kvtree_delete(&read);
}

static void write_gather_fails(int bad)
{
  kvtree *old = large(1), *new = large(2);
  CHECK_INT(kvtree_write_gather("kept", old, MPI_COMM_WORLD), KVTREE_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(kvtree_write_gather(rank == bad ? NULL : "kept", new, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK_ERROR("prefix");
  gather_holds("kept", 1);
  CHECK(kvtree_write_gather(rank == bad ? "no/such/directory/kept" : "kept", new, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK_ERROR("no/such/directory/kept");
  gather_holds("kept", 1);
  CHECK_INT(kvtree_write_gather("kept", new, MPI_COMM_WORLD), KVTREE_SUCCESS);
  gather_holds("kept", 2);
  kvtree_delete(&new);
  kvtree_delete(&old);
}

static void read_fails(const char* prefix, const char* words)
{
  kvtree *tree = own(), *before = own();
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(kvtree_read_scatter(prefix, tree, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK_ERROR(words);
  CHECK(check_same(tree, before));
  MPI_Barrier(MPI_COMM_WORLD);
  kvtree_delete(&before);
  kvtree_delete(&tree);
}

static void change_byte(const char* file, long at)
{
  FILE* stream = fopen(file, "r+b");
  CHECK(stream != NULL);
  if (!stream) return;
  fseek(stream, at, SEEK_SET);
  int byte = fgetc(stream);
  fseek(stream, at, SEEK_SET);
  fputc(byte ^ 0x20, stream);
  fclose(stream);
}

static void read_scatter_fails(int bad)
{
  char part[64];
  struct stat found;
  kvtree* tree = large(3);
  snprintf(part, sizeof part, "read.0.%d", bad);
  CHECK_INT(kvtree_write_gather("read", tree, MPI_COMM_WORLD), KVTREE_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(stat(part, &found), 0);

  kvtree *into = own(), *before = own();
  CHECK(kvtree_read_scatter("read", rank == bad ? NULL : into, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK_ERROR("NULL");
  CHECK(kvtree_read_scatter(rank == bad ? NULL : "read", into, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK_ERROR("prefix");
  CHECK(check_same(into, before));
  kvtree_delete(&before);
  kvtree_delete(&into);

  read_fails("absent", "absent");
  if (rank == 0) change_byte(part, (long)found.st_size / 2);
  read_fails("read", part);
  if (rank == 0) change_byte(part, (long)found.st_size / 2);
  gather_holds("read", 3);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK_INT(truncate(part, found.st_size - 1), 0);
  read_fails("read", part);
  if (rank == 0) CHECK_INT(truncate(part, 10), 0);
  read_fails("read", part);
  if (rank == 0) unlink(part);
  read_fails("read", part);
  CHECK_INT(kvtree_write_gather("read", tree, MPI_COMM_WORLD), KVTREE_SUCCESS);
  gather_holds("read", 3);

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) change_byte("read", 30);
  read_fails("read", "read");
  if (rank == 0) CHECK_INT(truncate("read", 0), 0);
  read_fails("read", "LEVEL");
  kvtree_delete(&tree);
}

static void maps_that_lead_nowhere(void)
{
  static const char* levels[] = {"2", "0", "-1", "1000000", "one"};
  for (int i = 0; i < 5; i++) {
    if (rank == 0) { /* it names itself */
      kvtree* map = kvtree_new();
      kvtree_set_kv(map, "LEVEL", levels[i]);
      kvtree_util_set_int(map, "RANKS", size);
      kvtree_setf(map, NULL, "%s %d %s %s", "RANK", 0, "FILE", "");
      kvtree_setf(map, NULL, "%s %d %s %s", "RANK", 0, "OFFSET", "0");
      CHECK_INT(kvtree_write_file("map", map), KVTREE_SUCCESS);
      kvtree_delete(&map);
    }
    read_fails("map", "map");
  }
}

static void of_another_rank_count(void)
{
  if (rank == 0) {
    kvtree* all = kvtree_new();
    for (int i = 0; i <= size; i++) kvtree_setf(all, own(), "%d", i);
    CHECK_INT(kvtree_write_to_gather("count", all, size + 1), KVTREE_SUCCESS);
    kvtree_delete(&all);
  }
  read_fails("count", "ranks");
  if (size == 1) return;
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &part);
  kvtree* tree = own();
  CHECK_INT(kvtree_write_gather(rank > 0 ? "fewer" : "one", tree, part), KVTREE_SUCCESS);
  kvtree_delete(&tree);
  MPI_Comm_free(&part);
  read_fails("fewer", "ranks");
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  exchange_works();
  for (int bad = 0; bad < size; bad++) {
    for (int way = 0; way < 3; way++) exchange_fails(way, bad);
    bcast_fails(bad);
  }
  one_to_one_fails();
  for (int bad = 0; bad < size; bad += size < 3 ? 1 : size - 1) {
    write_gather_fails(bad);
    read_scatter_fails(bad);
  }
  maps_that_lead_nowhere();
  of_another_rank_count();
  return check_result_mpi();
}
