/* Files that the original library wrote (golden/, given as argument): they are read, hold what they
 * should, and are written back byte by byte as they were. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kvtree.h"
#include "kvtree_util.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char* in(const char* directory, const char* name)
{
  static char paths[4][4096];
  static int turn;
  char* path = paths[turn++ % 4];
  if (strlen(directory) + strlen(name) + 2 > sizeof paths[0]) exit(2);
  strcat(strcat(strcpy(path, directory), "/"), name);
  return path;
}

/* The bytes of the tree at the start of a file are the same after reading and writing; returns how
 * many bytes follow them. */
static long written_back(const char* path, kvtree* tree)
{
  char before[16384], after[16384];
  struct stat found;
  int fd = open(path, O_RDONLY);
  CHECK(fd >= 0 && fstat(fd, &found) == 0);
  ssize_t size = kvtree_read_fd(path, fd, tree);
  CHECK(size > 20 && size <= (ssize_t)sizeof before);
  CHECK_INT(lseek(fd, 0, SEEK_CUR), size);
  CHECK_INT(pread(fd, before, (size_t)size, 0), size);
  close(fd);

  fd = open("again", O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK_INT(kvtree_write_fd("again", fd, tree), size);
  CHECK_INT(pread(fd, after, (size_t)size, 0), size);
  close(fd);
  if (memcmp(before, after, (size_t)size) != 0) fprintf(stderr, "%s is written back differently\n", path);
  CHECK(memcmp(before, after, (size_t)size) == 0);

  kvtree* whole = kvtree_new();
  CHECK_INT(kvtree_read_file(path, whole), KVTREE_SUCCESS); /* what follows does not matter */
  CHECK_INT(kvtree_write_file("again", whole), KVTREE_SUCCESS);
  fd = open("again", O_RDONLY);
  CHECK_INT(read(fd, after, sizeof after), size);
  close(fd);
  CHECK(memcmp(before, after, (size_t)size) == 0);
  kvtree_delete(&whole);
  return (long)(found.st_size - size);
}

static void is_of_rank(const kvtree* data, int rank)
{
  char host[16];
  int number = -1;
  unsigned long size = 0;
  uLong crc = 0;
  snprintf(host, sizeof host, "node%d", rank);
  CHECK_INT(kvtree_size(data), 5);
  CHECK_INT(kvtree_util_get_int(data, "RANK_ID", &number), KVTREE_SUCCESS);
  CHECK_INT(number, rank);
  CHECK_STR(kvtree_get_val(data, "HOST"), host);
  CHECK_INT(kvtree_util_get_bytecount(data, "SIZE", &size), KVTREE_SUCCESS);
  CHECK_INT(size, 123456789 + rank);
  CHECK_INT(kvtree_util_get_crc32(data, "CRC", &crc), KVTREE_SUCCESS);
  CHECK_INT(crc, 0xdeadbeefUL >> rank);
  CHECK_INT(kvtree_util_get_int(kvtree_get_kv(data, "LIST", "A"), "N", &number), KVTREE_SUCCESS);
  CHECK_INT(number, rank * rank);
}

static void single_tree(const char* set)
{
  kvtree* tree = kvtree_new();
  CHECK_INT(written_back(in(set, "tree.kv"), tree), 0);
  is_of_rank(tree, 0);
  kvtree_delete(&tree);
}

static void gathered(const char* set, int ranks)
{
  kvtree* tree = kvtree_new();
  CHECK_INT(written_back(in(set, "gather"), tree), 0);
  CHECK_STR(kvtree_get_val(tree, "LEVEL"), "1");
  CHECK_INT(atoi(kvtree_get_val(tree, "RANKS")), ranks);
  CHECK_STR(kvtree_get_val(kvtree_get_kv_int(tree, "RANK", 0), "FILE"), ".0.0");
  CHECK_STR(kvtree_get_val(kvtree_get_kv_int(tree, "RANK", 0), "OFFSET"), "0");
  kvtree_unset_all(tree);

  CHECK_INT(written_back(in(set, "gather.0.0"), tree), 0);
  CHECK_STR(kvtree_get_val(tree, "LEVEL"), "0");
  CHECK_INT(kvtree_size(kvtree_get(tree, "RANK")), ranks);
  for (int rank = 0; rank < ranks; rank++) is_of_rank(kvtree_get_kv_int(tree, "RANK", rank), rank);
  kvtree_unset_all(tree);

  CHECK_INT(kvtree_read_scatter_single(in(set, "gather"), tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(tree), ranks);
  for (int rank = 0; rank < ranks; rank++) is_of_rank(kvtree_getf(tree, "%d", rank), rank);
  kvtree_delete(&tree);
}

/* ck.<rank>.redset holds descriptors, ck.<rank>.<scheme>.<...>.redset a header and redundancy. */
static void redundancy(const char* set, const char* type, int ranks)
{
  char directory[4096];
  strcpy(directory, in(set, "enc"));
  DIR* entries = opendir(directory);
  CHECK(entries != NULL);
  int found = 0;
  for (struct dirent* entry; entries && (entry = readdir(entries));) {
    int rank = -1, end = 0;
    if (sscanf(entry->d_name, "ck.%d.%n", &rank, &end) != 1) continue;
    int is_descriptor = strcmp(entry->d_name + end, "redset") == 0;
    kvtree* tree = kvtree_new();
    long follows = written_back(in(directory, entry->d_name), tree);
    const kvtree* desc;
    if (is_descriptor) {
      desc = kvtree_getf(tree, "%d %s", rank, "DESC");
      CHECK_INT(follows, 0);
    } else {
      char* set_rank = kvtree_get_val(tree, "RANK");
      desc = kvtree_getf(tree, "%s %s %s", "DESC", set_rank ? set_rank : "", "DESC");
      CHECK(strcmp(type, "SINGLE") == 0 ? follows == 0 : follows > 0);
    }
    CHECK_STR(kvtree_get_val(desc, "TYPE"), type);
    CHECK_INT(atoi(kvtree_get_val(desc, "WRANK")), rank);
    CHECK_INT(atoi(kvtree_get_val(desc, "WRANKS")), ranks);
    kvtree_delete(&tree);
    found++;
  }
  if (entries) closedir(entries);
  CHECK_INT(found, 2 * ranks);
}

int main(int argc, char** argv)
{
  static const struct {
    const char *name, *type;
    int ranks;
  } sets[] = {{"single_n2", "SINGLE", 2}, {"partner_n4_k1", "PARTNER", 4}, {"partner_n5_k2", "PARTNER", 5},
              {"xor_n4", "XOR", 4},       {"rs_n4_k2", "RS", 4}};
  if (argc != 2) return 2;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    char set[4096];
    strcpy(set, in(argv[1], sets[i].name));
    single_tree(set);
    gathered(set, sets[i].ranks);
    redundancy(set, sets[i].type, sets[i].ranks);
  }
  return check_result();
}
