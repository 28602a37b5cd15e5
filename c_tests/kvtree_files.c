/* Trees in files: bytes, damage, data behind a tree, locks, names in messages. */
#define _POSIX_C_SOURCE 200809L
#include "kvtree.h"
#include "check.h"
#include "kvtree_util.h"
#include "stanchion.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static kvtree* sample(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set_kv(tree, "b", "1");
  kvtree_util_set_bytecount(tree, "a", 77);
  kvtree_set_kv_int(kvtree_set_kv(tree, "b", "2"), "deep", -3);
  return tree;
}

static void put(const char* file, const void* bytes, size_t size)
{
  int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CHECK_INT(write(fd, bytes, size), size);
  close(fd);
}

static size_t get(const char* file, char* bytes, size_t room)
{
  int fd = open(file, O_RDONLY);
  ssize_t size = read(fd, bytes, room);
  close(fd);
  return size < 0 ? 0 : (size_t)size;
}

static int reads(const char* file)
{
  kvtree* tree = kvtree_new();
  int result = kvtree_read_file(file, tree);
  if (result != KVTREE_SUCCESS) CHECK_INT(kvtree_size(tree), 0);
  kvtree_delete(&tree);
  return result == KVTREE_SUCCESS;
}

static void big_endian(unsigned char* at, int bytes, unsigned long long value)
{
  while (bytes--) {
    at[bytes] = (unsigned char)value;
    value >>= 8;
  }
}

static void persisted_bytes(void)
{
  kvtree* tree = sample();
  void* buffer = NULL;
  size_t size = 0, packed = kvtree_pack_size(tree);
  CHECK_INT(kvtree_write_persist(&buffer, &size, tree), KVTREE_SUCCESS);
  CHECK_INT(size, packed + 24);
  unsigned char* wanted = malloc(size);
  big_endian(wanted, 4, 0x951fc3f5);
  big_endian(wanted + 4, 2, 1);
  big_endian(wanted + 6, 2, 1);
  big_endian(wanted + 8, 8, size);
  big_endian(wanted + 16, 4, 1);
  kvtree_pack((char*)wanted + 20, tree);
  big_endian(wanted + size - 4, 4, crc32(crc32(0, NULL, 0), wanted, (uInt)size - 4));
  CHECK(memcmp(buffer, wanted, size) == 0);

  char content[1024];
  CHECK_INT(kvtree_write_file("persisted", tree), KVTREE_SUCCESS);
  CHECK_INT(get("persisted", content, sizeof content), size);
  CHECK(memcmp(content, wanted, size) == 0);
  free(wanted);
  free(buffer);
  kvtree_delete(&tree);
}

static void round_trip(void)
{
  kvtree *tree = sample(), *read = kvtree_new();
  CHECK_INT(kvtree_write_file("tree", tree), KVTREE_SUCCESS);
  struct stat before, after;
  stat("tree", &before);
  mode_t mask = umask(0);
  umask(mask);
  CHECK_INT(before.st_mode & 0777, 0666 & ~mask);
  CHECK_INT(kvtree_read_file("tree", read), KVTREE_SUCCESS);
  CHECK(check_same(tree, read));
  CHECK(kvtree_get_kv(read, "a", "77") != NULL);
  /* Reading merges into what is there. */
  kvtree_set_kv(read, "mine", "1");
  CHECK_INT(kvtree_read_file("tree", read), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(read), 3);

  chmod("tree", 0640);
  CHECK_INT(kvtree_write_file("tree", read), KVTREE_SUCCESS);
  stat("tree", &after);
  CHECK_INT(after.st_mode & 0777, 0640);

  kvtree* empty = kvtree_new();
  CHECK_INT(kvtree_write_file("tree", empty), KVTREE_SUCCESS);
  CHECK(reads("tree"));
  kvtree_delete(&empty);
  kvtree_delete(&read);
  kvtree_delete(&tree);
}

static void many_keys(void)
{
  int count = check_size(20000, 500);
  kvtree *tree = kvtree_new(), *read = kvtree_new();
  for (int i = 0; i < count; i++) kvtree_set_kv_int(kvtree_set_kv_int(tree, "K", i), "v", -i);
  CHECK_INT(kvtree_write_file("large", tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_read_file("large", read), KVTREE_SUCCESS);
  CHECK(check_same(tree, read));
  kvtree_delete(&read);
  kvtree_delete(&tree);
}

static void data_behind_the_tree(void)
{
  kvtree *tree = sample(), *second = kvtree_new();
  kvtree_set_kv(second, "second", "tree");
  int fd = open("followed", O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK_INT(write(fd, "head", 4), 4);
  ssize_t size = kvtree_write_fd("followed", fd, tree);
  CHECK_INT(size, kvtree_pack_size(tree) + 24);
  CHECK_INT(lseek(fd, 0, SEEK_CUR), 4 + size);
  ssize_t size2 = kvtree_write_fd("followed", fd, second);
  CHECK_INT(write(fd, "tail", 4), 4);

  lseek(fd, 4, SEEK_SET);
  kvtree* read = kvtree_new();
  CHECK_INT(kvtree_read_fd("followed", fd, read), size);
  CHECK_INT(lseek(fd, 0, SEEK_CUR), 4 + size);
  CHECK(check_same(tree, read));
  kvtree_unset_all(read);
  CHECK_INT(kvtree_read_fd("followed", fd, read), size2);
  CHECK(check_same(second, read));
  char tail[5] = "";
  CHECK_INT(lseek(fd, 0, SEEK_CUR), 4 + size + size2);
  CHECK_INT(read ? (int)pread(fd, tail, 4, 4 + size + size2) : 0, 4);
  CHECK_STR(tail, "tail");
  CHECK_INT(kvtree_read_fd("followed", fd, read), -1); /* "tail" is no tree */
  CHECK(check_same(second, read));
  lseek(fd, 0, SEEK_END);
  CHECK_INT(kvtree_read_fd("followed", fd, read), 0);
  close(fd);
  kvtree_delete(&read);
  kvtree_delete(&second);
  kvtree_delete(&tree);
}

static void empty_and_missing(void)
{
  char text[256] = "";
  put("empty", "", 0);
  CHECK(reads("empty"));
  CHECK(!reads("missing"));
  CHECK(stanchion_last_error(text, sizeof text) > 0);
  CHECK(strstr(text, "missing") != NULL);
  CHECK(access("missing", F_OK) != 0);
  CHECK(!reads(".")); /* a directory */
}

static void damaged(void)
{
  kvtree* tree = sample();
  void* buffer = NULL;
  size_t size = 0;
  kvtree_write_persist(&buffer, &size, tree);
  unsigned char* bytes = buffer;

  for (size_t length = 1; length < size; length++) {
    put("damaged", bytes, length);
    CHECK(!reads("damaged"));
  }
  for (size_t at = 0; at < size; at++) {
    static const unsigned char flips[] = {0xff, 0x01, 0x80, 0x10};
    for (int i = 0; i < 4; i++) {
      bytes[at] ^= flips[i];
      put("damaged", bytes, size);
      if (reads("damaged")) fprintf(stderr, "byte %zu changed by %#x was not noticed\n", at, flips[i]);
      CHECK(!reads("damaged"));
      bytes[at] ^= flips[i];
    }
  }
  put("damaged", bytes, size);
  CHECK(reads("damaged"));

  /* Header fields with a right checksum. */
  static const struct {
    int at, length;
    unsigned long long value;
  } fields[] = {{0, 4, 0x951fc3f4}, {4, 2, 2}, {6, 2, 2},           {8, 8, 0},          {8, 8, 23},
                {8, 8, 1ULL << 40}, {8, 8, 1ULL << 62}, {8, 8, ~0ULL}, {20, 4, 0xffffffff}, {20, 4, 3}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    unsigned char* copy = malloc(size);
    memcpy(copy, bytes, size);
    big_endian(copy + fields[i].at, fields[i].length, fields[i].value);
    big_endian(copy + size - 4, 4, crc32(crc32(0, NULL, 0), copy, (uInt)size - 4));
    put("damaged", copy, size);
    CHECK(!reads("damaged"));
    free(copy);
  }
  char text[256] = "";
  stanchion_last_error(text, sizeof text);
  CHECK(strstr(text, "damaged") != NULL);
  free(buffer);
  kvtree_delete(&tree);
}

static void without_checksum(void)
{
  kvtree *tree = sample(), *read = kvtree_new();
  size_t size = 20 + kvtree_pack_size(tree);
  unsigned char* bytes = malloc(size + 4);
  big_endian(bytes, 4, 0x951fc3f5);
  big_endian(bytes + 4, 4, 0x00010001);
  big_endian(bytes + 8, 8, size);
  big_endian(bytes + 16, 4, 0);
  kvtree_pack((char*)bytes + 20, tree);
  put("plain", bytes, size);
  CHECK_INT(kvtree_read_file("plain", read), KVTREE_SUCCESS);
  CHECK(check_same(tree, read));
  for (size_t length = 1; length < size; length++) {
    put("plain", bytes, length);
    CHECK(!reads("plain"));
  }
  /* Nothing tells of a changed key, but whatever is changed, nothing breaks. */
  for (size_t at = 0; at < size; at++) {
    bytes[at] ^= 0xff;
    put("plain", bytes, size);
    reads("plain");
    bytes[at] ^= 0xff;
  }
  free(bytes);
  kvtree_delete(&read);
  kvtree_delete(&tree);
}

static void places_that_cannot_be_written(void)
{
  kvtree* tree = sample();
  char text[512] = "";
  CHECK(kvtree_write_file("no/such/directory/file", tree) != KVTREE_SUCCESS);
  size_t length = stanchion_last_error(text, sizeof text);
  CHECK_INT(length, strlen(text));
  CHECK(strstr(text, "no/such/directory/file") != NULL);
  CHECK(kvtree_write_with_lock("no/such/directory/file", tree) != KVTREE_SUCCESS);
  CHECK(kvtree_read_with_lock("no/such/directory/file", tree) != KVTREE_SUCCESS);
  int fd = 7;
  CHECK(kvtree_lock_open_read("no/such/directory/file", &fd, tree) != KVTREE_SUCCESS);
  CHECK_INT(fd, -1);
  mkdir("directory", 0700);
  CHECK(kvtree_write_file("directory", tree) != KVTREE_SUCCESS);
  fd = open("/dev/null", O_RDONLY);
  CHECK_INT(kvtree_write_fd("null", fd, tree), -1);
  close(fd);
  CHECK_INT(kvtree_write_fd("closed", fd, tree), -1);
  kvtree_delete(&tree);
}

static void links_stay(void)
{
  kvtree* tree = sample();
  struct stat found;
  mkdir("elsewhere", 0700);
  CHECK_INT(symlink("elsewhere/target", "link"), 0);
  for (int i = 0; i < 2; i++) { /* the target is made, then replaced */
    kvtree_util_set_int(tree, "round", i);
    CHECK_INT(kvtree_write_file("link", tree), KVTREE_SUCCESS);
    CHECK_INT(lstat("link", &found), 0);
    CHECK(S_ISLNK(found.st_mode));
    CHECK_INT(lstat("elsewhere/target", &found), 0);
    CHECK(S_ISREG(found.st_mode));
    kvtree* read = kvtree_new();
    CHECK_INT(kvtree_read_file("link", read), KVTREE_SUCCESS);
    CHECK(check_same(tree, read));
    kvtree_delete(&read);
  }
  kvtree_delete(&tree);
}

static void locked_files(void)
{
  kvtree *tree = sample(), *read = kvtree_new();
  CHECK_INT(kvtree_read_with_lock("created", read), KVTREE_SUCCESS);
  CHECK_INT(access("created", F_OK), 0);
  CHECK_INT(kvtree_size(read), 0);

  CHECK_INT(kvtree_write_with_lock("locked", tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_read_with_lock("locked", read), KVTREE_SUCCESS);
  CHECK(check_same(tree, read));

  /* A shorter tree leaves nothing of the longer one behind. */
  kvtree* shorter = kvtree_new();
  CHECK_INT(kvtree_write_with_lock("locked", shorter), KVTREE_SUCCESS);
  struct stat found;
  stat("locked", &found);
  CHECK_INT(found.st_size, 28);
  kvtree_delete(&shorter);

  int fd = -1;
  kvtree_unset_all(read);
  CHECK_INT(kvtree_lock_open_read("locked", &fd, read), KVTREE_SUCCESS);
  CHECK(fd >= 0);
  CHECK_INT(kvtree_size(read), 0);
  int other = open("locked", O_RDWR);
  CHECK(flock(other, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK);
  CHECK_INT(kvtree_write_close_unlock("locked", &fd, tree), KVTREE_SUCCESS);
  CHECK_INT(fd, -1);
  CHECK_INT(flock(other, LOCK_EX | LOCK_NB), 0);
  close(other);
  CHECK(reads("locked"));

  /* What is no tree is neither read nor overwritten, and not left locked. */
  put("locked", "not a tree at all, no", 21);
  CHECK(kvtree_read_with_lock("locked", read) != KVTREE_SUCCESS);
  CHECK(kvtree_lock_open_read("locked", &fd, read) != KVTREE_SUCCESS);
  CHECK_INT(fd, -1);
  other = open("locked", O_RDWR);
  CHECK_INT(flock(other, LOCK_EX | LOCK_NB), 0);
  close(other);
  char text[32] = "";
  CHECK_INT(get("locked", text, sizeof text), 21);
  CHECK(memcmp(text, "not a tree", 10) == 0);
  kvtree_delete(&read);
  kvtree_delete(&tree);
}

static int in_child(int (*work)(void))
{
  int status = -1;
  pid_t child = fork();
  if (child == 0) _exit(work());
  CHECK(child > 0);
  CHECK_INT(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int read_without_permission_to_write(void)
{
  kvtree* tree = kvtree_new();
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 0;
  if (access("readonly", R_OK) != 0) return 0; /* this directory is closed to others */
  int failed = kvtree_read_with_lock("readonly", tree) != KVTREE_SUCCESS || kvtree_size(tree) != 2;
  failed |= kvtree_write_file("readonly", tree) == KVTREE_SUCCESS;
  kvtree_delete(&tree);
  return failed;
}

/* A file that someone replaces without asking for the lock: the holder of the lock still has the last
 * word, and who waited for the lock gets the new file. */
static void replaced_while_locked(void)
{
  kvtree* tree = kvtree_new();
  int fd = -1, value = 0;
  kvtree_util_set_int(tree, "V", 1);
  CHECK_INT(kvtree_write_file("replaced", tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_lock_open_read("replaced", &fd, tree), KVTREE_SUCCESS);
  kvtree_util_set_int(tree, "V", 2);
  CHECK_INT(kvtree_write_file("replaced", tree), KVTREE_SUCCESS);
  kvtree_util_set_int(tree, "V", 3);
  CHECK_INT(kvtree_write_close_unlock("replaced", &fd, tree), KVTREE_SUCCESS);
  kvtree_unset_all(tree);
  CHECK_INT(kvtree_read_with_lock("replaced", tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_get_int(tree, "V", &value), KVTREE_SUCCESS);
  CHECK_INT(value, 3);
  kvtree_delete(&tree);
}

static void read_only_data(void)
{
  kvtree* tree = sample();
  CHECK_INT(kvtree_write_file("readonly", tree), KVTREE_SUCCESS);
  chmod("readonly", 0444);
  CHECK_INT(in_child(read_without_permission_to_write), 0);
  CHECK(reads("readonly"));
  kvtree_delete(&tree);
}

static int add_many_times(void)
{
  for (int i = 0; i < check_size(200, 20); i++) {
    int fd = -1, sum = 0;
    kvtree* tree = kvtree_new();
    if (kvtree_lock_open_read("sum", &fd, tree) != KVTREE_SUCCESS) return 1;
    kvtree_util_get_int(tree, "sum", &sum);
    kvtree_util_set_int(tree, "sum", sum + 1);
    if (kvtree_write_close_unlock("sum", &fd, tree) != KVTREE_SUCCESS) return 2;
    kvtree_delete(&tree);
  }
  return 0;
}

static void two_processes_add(void)
{
  int sum = 0, status = -1;
  pid_t child = fork();
  if (child == 0) _exit(add_many_times());
  CHECK_INT(add_many_times(), 0);
  waitpid(child, &status, 0);
  CHECK_INT(status, 0);
  kvtree* tree = kvtree_new();
  CHECK_INT(kvtree_read_with_lock("sum", tree), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_get_int(tree, "sum", &sum), KVTREE_SUCCESS);
  CHECK_INT(sum, 2 * check_size(200, 20));
  kvtree_delete(&tree);
}

static void write_to_gather_and_back(void)
{
  setenv("KVTREE_ENTRIES_PER_FILE", "3", 1);
  kvtree *all = kvtree_new(), *read = kvtree_new();
  for (int rank = 0; rank < 8; rank++) {
    char key[16];
    snprintf(key, sizeof key, "%d", (rank * 5) % 8);
    kvtree_set(all, key, sample());
    kvtree_util_set_int(kvtree_get(all, key), "rank", (rank * 5) % 8);
  }
  CHECK_INT(kvtree_write_to_gather("all", all, 8), KVTREE_SUCCESS);
  CHECK(access("all.0.0", F_OK) == 0 && access("all.0.3", F_OK) == 0 && access("all.0.6", F_OK) == 0);
  CHECK(access("all.0.1", F_OK) != 0);
  CHECK_INT(kvtree_read_scatter_single("all", read), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(read), 8);
  for (int rank = 0; rank < 8; rank++) {
    int found = -1;
    kvtree_util_get_int(kvtree_getf(read, "%d", rank), "rank", &found);
    CHECK_INT(found, rank);
  }
  kvtree_unset_all(read);
  unlink("all.0.3");
  CHECK(kvtree_read_scatter_single("all", read) != KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(read), 0);
  unsetenv("KVTREE_ENTRIES_PER_FILE");
  CHECK_INT(kvtree_write_to_gather("all", all, 8), KVTREE_SUCCESS); /* one file now */
  CHECK_INT(kvtree_read_scatter_single("all", read), KVTREE_SUCCESS);
  CHECK_INT(kvtree_size(read), 8);
  kvtree_unset_all(read);
  CHECK_INT(kvtree_write_to_gather("all", all, 9), KVTREE_SUCCESS); /* one rank gave nothing */
  CHECK(kvtree_read_scatter_single("all", read) != KVTREE_SUCCESS);
  CHECK(kvtree_write_to_gather("no/such/directory/all", all, 8) != KVTREE_SUCCESS);
  CHECK(kvtree_read_scatter_single("no/such/directory/all", all) != KVTREE_SUCCESS);
  kvtree_delete(&read);
  kvtree_delete(&all);
}

int main(void)
{
  persisted_bytes();
  round_trip();
  many_keys();
  data_behind_the_tree();
  empty_and_missing();
  damaged();
  without_checksum();
  places_that_cannot_be_written();
  links_stay();
  locked_files();
  replaced_while_locked();
  read_only_data();
  two_processes_add();
  write_to_gather_and_back();
  return check_result();
}
