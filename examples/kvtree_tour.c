/* A tour of kvtree and rankstr: what a checkpoint library does with them.
 *
 * Every rank describes its checkpoint files in a tree and gives a copy of it to a partner.
 * One rank loses its tree and gets it back. All trees go to disk and come back. A damaged file is an
 * error on all ranks, not the end of the job.
 *   mpicc kvtree_tour.c $(pkg-config --cflags --libs stanchion) -o kvtree_tour && mpiexec -n 4 ./kvtree_tour
 */
#include <kvtree_mpi.h>
#include <kvtree_util.h>
#include <mpi.h>
#include <rankstr_mpi.h>
#include <stanchion.h>

#include <stdio.h>
#include <string.h>

#define RANKS_PER_NODE 2
static int rank, ranks, failures;

/* What must hold: says where and why it does not. */
#define CHECK(condition) check(condition, #condition, __LINE__)
static void check(int holds, const char* condition, int line)
{
  char why[512] = "";
  if (holds) return;
  stanchion_last_error(why, sizeof why);
  fprintf(stderr, "rank %d, line %d: %s is false; last error: %s\n", rank, line, condition, why);
  failures++;
}

static int all_well(void)
{
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all == 0;
}

/* Said once, and only while all is well on all ranks: call it on all. */
#define SAY(...) (void)(all_well() && rank == 0 && printf(__VA_ARGS__))

/* The checkpoint files of a rank: FILE/<name>/{SIZE,CRC,TIME}. Sizes and checksums are made up. */
static kvtree* describe(int owner)
{
  kvtree* tree = kvtree_new();
  for (int part = 0; part <= owner % 2; part++) {
    char name[64];
    snprintf(name, sizeof name, "ckpt.7/rank_%d.part_%d", owner, part);
    kvtree* file = kvtree_set_kv(tree, "FILE", name);
    kvtree_util_set_bytecount(file, "SIZE", 1048576ul * (unsigned long)(owner + 1));
    kvtree_util_set_crc32(file, "CRC", 0x5eed0000ul + (unsigned long)owner);
    kvtree_util_set_double(file, "TIME", 1700000000.0 + owner / 3.0);
  }
  return tree;
}

/* The same keys at every level, in any order. */
static int same(const kvtree* a, const kvtree* b)
{
  if (kvtree_size(a) != kvtree_size(b)) return 0;
  for (kvtree_elem* e = kvtree_elem_first(a); e; e = kvtree_elem_next(e)) {
    kvtree_elem* twin = kvtree_elem_get(b, kvtree_elem_key(e));
    if (!twin || !same(kvtree_elem_hash(e), kvtree_elem_hash(twin))) return 0;
  }
  return 1;
}

/* Ranks with the same string form a group. A real code gives the name from MPI_Get_processor_name. */
static void group_by_node(void)
{
  MPI_Comm node_comm;
  char node[32];
  int nodes = 0, id = -1, here = 0;
  snprintf(node, sizeof node, "node%d", rank / RANKS_PER_NODE);
  rankstr_mpi(node, MPI_COMM_WORLD, 0, 1, &nodes, &id);
  rankstr_mpi_comm_split(MPI_COMM_WORLD, node, rank, 0, 1, &node_comm);
  CHECK(id >= 0 && id < nodes && node_comm != MPI_COMM_NULL);
  if (node_comm != MPI_COMM_NULL) {
    MPI_Comm_size(node_comm, &here);
    MPI_Comm_free(&node_comm);
  }
  SAY("1. rankstr: %d ranks grouped by node name (made up): nodes %d, ranks on %s %d\n", ranks, nodes, node, here);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  SAY("%s\n", stanchion_build_info());
  group_by_node();

  /* Give a copy to the partner, keep the copy of the rank whose partner we are. */
  const int step = ranks > RANKS_PER_NODE ? RANKS_PER_NODE : 1;
  const int partner = (rank + step) % ranks, source = (rank - step + ranks) % ranks;
  kvtree *mine = describe(rank), *send = kvtree_new(), *copies = kvtree_new();
  kvtree *expected = describe(rank), *back = kvtree_new(), *read = kvtree_new();
  kvtree_exchange_sendq(send, partner, mine);
  CHECK(kvtree_exchange(send, copies, MPI_COMM_WORLD) == KVTREE_SUCCESS);
  CHECK(kvtree_getf(copies, "%d %s", source, "FILE") != NULL);
  SAY("2. kvtree_exchange: every rank r gave a copy of its tree to rank r+%d\n", step);

  /* The last rank loses its tree; the rank that keeps the copy sends it back. */
  const int lost = ranks - 1;
  kvtree_unset_all(send);
  if (rank == lost) kvtree_delete(&mine);
  if (source == lost) kvtree_exchange_sendq(send, lost, kvtree_getf(copies, "%d", lost));
  CHECK(kvtree_exchange(send, back, MPI_COMM_WORLD) == KVTREE_SUCCESS);
  if (rank == lost) mine = kvtree_extract(back, kvtree_elem_key(kvtree_elem_first(back)));
  CHECK(same(mine, expected));
  SAY("3. rank %d lost its tree and got it back from rank %d\n", lost, (lost + step) % ranks);

  /* All trees to disk and back. Doubles come back with every bit. */
  CHECK(kvtree_write_gather("checkpoint", mine, MPI_COMM_WORLD) == KVTREE_SUCCESS);
  CHECK(kvtree_read_scatter("checkpoint", read, MPI_COMM_WORLD) == KVTREE_SUCCESS);
  kvtree* first = kvtree_elem_hash(kvtree_elem_first(kvtree_get(read, "FILE")));
  double time = 0;
  CHECK(same(read, expected));
  CHECK(kvtree_util_get_double(first, "TIME", &time) == KVTREE_SUCCESS && time == 1700000000.0 + rank / 3.0);
  SAY("4. kvtree_write_gather, kvtree_read_scatter: every rank read back what it had written\n");

  /* One process can read the trees of all ranks. Then it damages a file. */
  if (rank == 0) {
    kvtree* all = kvtree_new();
    CHECK(kvtree_read_scatter_single("checkpoint", all) == KVTREE_SUCCESS && kvtree_size(all) == ranks);
    kvtree_sort_int(all, KVTREE_SORT_ASCENDING);
    CHECK(kvtree_write_file("tour.kv", all) == KVTREE_SUCCESS);
    kvtree_delete(&all);
    FILE* file = fopen("checkpoint.0.0", "r+b");
    CHECK(file && fseek(file, 60, SEEK_SET) == 0 && fputc('#', file) != EOF && fclose(file) == 0);
  }

  /* Rank 0 finds the damage; every rank hears of it. */
  MPI_Barrier(MPI_COMM_WORLD);
  char why[512] = "";
  int failed = kvtree_read_scatter("checkpoint", read, MPI_COMM_WORLD) != KVTREE_SUCCESS, all_failed = 0;
  if (rank == lost) stanchion_last_error(why, sizeof why);
  MPI_Bcast(why, sizeof why, MPI_CHAR, lost, MPI_COMM_WORLD);
  MPI_Allreduce(&failed, &all_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all_failed == ranks && strstr(why, "checksum") != NULL);
  SAY("5. one byte of checkpoint.0.0 damaged: kvtree_read_scatter failed on %d of %d ranks; on rank %d:\n   %s\n",
      all_failed, ranks, lost, why);

  kvtree* trees[] = {mine, send, copies, back, expected, read};
  for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) kvtree_delete(&trees[i]);
  SAY("All as expected. The trees of all ranks are in tour.kv, for kvtree_print.\n");
  failed = !all_well();
  MPI_Finalize();
  return failed;
}
