/* The trees of all ranks in files and back: with MPI on both sides, on either, and on none; which
 * files there are; the same bytes as the original library (golden/, given as argument). */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_mpi.h"
#include "kvtree_util.h"
#include "check.h"

#include <dirent.h>
#include <unistd.h>

static int rank, size;

static kvtree* small(int of)
{
  kvtree* tree = kvtree_new();
  kvtree_util_set_int(tree, "rank", of);
  for (int i = 0; i <= of; i++) kvtree_set_kv_int(tree, "list", i);
  return tree;
}

static kvtree* sized(int of, size_t bytes)
{
  kvtree* tree = small(of);
  char* text = malloc(bytes + 1);
  memset(text, 'A' + of % 20, bytes);
  text[bytes] = '\0';
  kvtree_util_set_str(tree, "bulk", text);
  free(text);
  return tree;
}

static int exists(const char* prefix, int level, int writer)
{
  char name[64];
  snprintf(name, sizeof name, "%s.%d.%d", prefix, level, writer);
  return access(name, F_OK) == 0;
}

static void holds(const char* prefix, const kvtree* wanted)
{
  kvtree* read = kvtree_new();
  CHECK_INT(kvtree_read_scatter(prefix, read, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK(check_equal(read, wanted));
  kvtree_delete(&read);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void holds_for_one_process(const char* prefix, kvtree* (*tree_of)(int))
{
  if (rank == 0) {
    kvtree* all = kvtree_new();
    CHECK_INT(kvtree_read_scatter_single(prefix, all), KVTREE_SUCCESS);
    CHECK_INT(kvtree_size(all), size);
    for (int i = 0; i < size; i++) {
      kvtree* wanted = tree_of(i);
      CHECK(check_equal(kvtree_getf(all, "%d", i), wanted));
      kvtree_delete(&wanted);
    }
    kvtree_delete(&all);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void writes(const char* prefix, kvtree* tree)
{
  kvtree* before = kvtree_new();
  kvtree_merge(before, tree);
  CHECK_INT(kvtree_write_gather(prefix, tree, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK(check_equal(tree, before));
  kvtree_delete(&before);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void empty(void)
{
  kvtree* tree = kvtree_new();
  writes("empty", tree);
  holds("empty", tree);
  kvtree_delete(&tree);
}

static void of_some_ranks_only(void)
{
  kvtree* tree = rank % 2 ? kvtree_new() : small(rank);
  writes("some", tree);
  holds("some", tree);
  kvtree_delete(&tree);
}

static void little(void)
{
  kvtree* tree = small(rank);
  writes("little", tree);
  CHECK(exists("little", 0, 0));
  for (int i = 1; i < size; i++) CHECK(!exists("little", 0, i));
  CHECK(!exists("little", 1, 0));
  holds("little", tree);
  holds_for_one_process("little", small);

  /* Into a tree that is not empty, and again over the same files. */
  kvtree* read = kvtree_new();
  kvtree_set_kv(read, "mine", "x");
  CHECK_INT(kvtree_read_scatter("little", read, MPI_COMM_WORLD), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(read), 3);
  kvtree_set_kv(tree, "more", "y");
  MPI_Barrier(MPI_COMM_WORLD);
  writes("little", tree);
  holds("little", tree);
  kvtree_delete(&read);
  kvtree_delete(&tree);
}

static kvtree* much(int of)
{
  return sized(of, 620 * 1000 + (size_t)of * 10007);
}

/* A rank writes where the data of the ranks, one after the other, passes a multiple of 1 MiB. */
static int is_writer(int of)
{
  unsigned long long start = 0, end = 0;
  for (int i = 0; i <= of; i++) {
    kvtree* tree = much(i);
    start = end;
    end += kvtree_pack_size(tree);
    kvtree_delete(&tree);
  }
  return of == 0 || (end - 1) >> 20 > start >> 20;
}

static void much_then_little(void)
{
  kvtree* tree = much(rank);
  writes("much", tree);
  int writers = 0;
  for (int i = 0; i < size; i++) {
    writers += is_writer(i);
    CHECK_INT(exists("much", 0, i), is_writer(i));
    CHECK(!exists("much", 1, i)); /* the maps fit into one */
  }
  CHECK(size < 3 || writers > 1);
  holds("much", tree);
  holds_for_one_process("much", much);
  kvtree_delete(&tree);

  /* A smaller set takes other names, and the files of the larger one go. */
  tree = small(rank);
  writes("much", tree);
  for (int i = 0; i < size; i++) CHECK(!exists("much", 0, i));
  CHECK_INT(access("much.0.00", F_OK), 0);
  holds("much", tree);
  holds_for_one_process("much", small);
  kvtree_delete(&tree);
}

/* The third set has the names of the first. */
static void an_old_file_among_new_ones(void)
{
  kvtree* tree = small(rank);
  writes("turns", tree);
  if (rank == 0) CHECK_INT(link("turns.0.0", "old"), 0);
  for (int i = 0; i < 2; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    writes("turns", tree);
  }
  holds("turns", tree);
  if (rank == 0) CHECK_INT(rename("old", "turns.0.0"), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  kvtree* read = kvtree_new();
  CHECK(kvtree_read_scatter("turns", read, MPI_COMM_WORLD) != KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(read), 0);
  CHECK(kvtree_read_scatter_single("turns", read) != KVTREE_SUCCESS);
  kvtree_delete(&read);
  kvtree_delete(&tree);
}

static void written_by_one_process(const char* per_file)
{
  setenv("KVTREE_ENTRIES_PER_FILE", per_file, 1);
  if (rank == 0) {
    kvtree* all = kvtree_new();
    for (int i = 0; i < size; i++) kvtree_setf(all, small(i), "%d", i);
    CHECK_INT(kvtree_write_to_gather("one", all, size), KVTREE_SUCCESS);
    kvtree_delete(&all);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) CHECK_INT(exists("one", 0, i), i % atoi(per_file) == 0);
  kvtree* tree = small(rank);
  holds("one", tree);
  holds_for_one_process("one", small);
  kvtree_delete(&tree);
  if (rank == 0)
    for (int i = 0; i < size; i++) {
      char name[32];
      snprintf(name, sizeof name, "one.0.%d", i);
      unlink(name);
    }
  if (rank == 0) unlink("one");
  MPI_Barrier(MPI_COMM_WORLD);
  unsetenv("KVTREE_ENTRIES_PER_FILE");
}

static void leaves_nothing_else_behind(void)
{
  if (rank == 0) {
    DIR* entries = opendir(".");
    for (struct dirent* entry; (entry = readdir(entries));)
      CHECK(entry->d_name[0] != '.' || entry->d_name[1] == '\0' || entry->d_name[1] == '.');
    closedir(entries);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void same_bytes(const char* file, const char* golden)
{
  static char ours[65536], theirs[65536];
  FILE *a = fopen(file, "rb"), *b = fopen(golden, "rb");
  CHECK(a != NULL && b != NULL);
  if (!a || !b) return;
  size_t size_a = fread(ours, 1, sizeof ours, a), size_b = fread(theirs, 1, sizeof theirs, b);
  CHECK_INT(size_a, size_b);
  if (memcmp(ours, theirs, size_a) != 0) fprintf(stderr, "%s differs from %s\n", file, golden);
  CHECK(memcmp(ours, theirs, size_a) == 0);
  fclose(a);
  fclose(b);
}

/* Ours has one key more. */
static void same_but_for_the_generation(const char* file, const char* golden)
{
  kvtree* tree = kvtree_new();
  CHECK_INT(kvtree_read_file(file, tree), KVTREE_SUCCESS);
  CHECK(kvtree_get(tree, "GENERATION") != NULL);
  kvtree_unset(tree, "GENERATION");
  kvtree* theirs = kvtree_new();
  CHECK_INT(kvtree_read_file(golden, theirs), KVTREE_SUCCESS);
  CHECK_INT(kvtree_write_file("ours.kv", tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_write_file("theirs.kv", theirs), KVTREE_SUCCESS);
  same_bytes("ours.kv", "theirs.kv");
  kvtree_delete(&tree);
  kvtree_delete(&theirs);
}

static void like_the_original(const char* golden)
{
  const char* set = size == 2 ? "single_n2" : size == 4 ? "xor_n4" : size == 5 ? "partner_n5_k2" : NULL;
  if (!set) return;
  char path[4096], host[16];
  kvtree* tree = kvtree_new();
  snprintf(host, sizeof host, "node%d", rank);
  kvtree_util_set_int(tree, "RANK_ID", rank);
  kvtree_util_set_str(tree, "HOST", host);
  kvtree_util_set_int(kvtree_set_kv(tree, "LIST", "A"), "N", rank * rank);
  kvtree_util_set_bytecount(tree, "SIZE", 123456789UL + (unsigned long)rank);
  kvtree_util_set_crc32(tree, "CRC", 0xdeadbeefUL >> rank);

  /* Theirs is read; ours has the same keys in the same order. */
  snprintf(path, sizeof path, "%s/%s/gather", golden, set);
  holds(path, tree);
  writes("gather", tree);
  if (rank == 0) {
    same_but_for_the_generation("gather", path);
    snprintf(path, sizeof path, "%s/%s/gather.0.0", golden, set);
    same_but_for_the_generation("gather.0.0", path);
    snprintf(path, sizeof path, "%s/%s/tree.kv", golden, set);
    CHECK_INT(kvtree_write_file("tree.kv", tree), KVTREE_SUCCESS);
    same_bytes("tree.kv", path);
  }
  kvtree_delete(&tree);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  empty();
  of_some_ranks_only();
  little();
  much_then_little();
  an_old_file_among_new_ones();
  written_by_one_process("1");
  written_by_one_process("3");
  like_the_original(argv[1]);
  leaves_nothing_else_behind();
  return check_result_mpi();
}
