/* stanchion.h: version, error texts, log level and callback. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kvtree.h"
#include "kvtree_util.h"
#include "stanchion.h"

#include <pthread.h>

static void version(void)
{
  int major = -1, minor = -1, patch = -1;
  CHECK_STR(stanchion_version(), STANCHION_VERSION);
  CHECK_INT(sscanf(stanchion_version(), "%d.%d.%d", &major, &minor, &patch), 3);
  CHECK_INT(major, STANCHION_VERSION_MAJOR);
  CHECK_INT(minor, STANCHION_VERSION_MINOR);
  CHECK_INT(patch, STANCHION_VERSION_PATCH);
  CHECK_INT(STANCHION_VERSION_NUMBER, major * 10000 + minor * 100 + patch);
  CHECK_STR(KVTREE_VERSION, "1.5.0");
  CHECK(strstr(stanchion_build_info(), STANCHION_VERSION) != NULL);
  CHECK(strchr(stanchion_build_info(), '\n') == NULL);
  CHECK(stanchion_build_info() == stanchion_build_info());
}

static void* last_error_of_another_thread(void* length)
{
  *(size_t*)length = stanchion_last_error(NULL, 0);
  return NULL;
}

static void last_error(void)
{
  char text[512], cut[512];
  memset(text, 'z', sizeof text);
  CHECK_INT(stanchion_last_error(text, sizeof text), 0);
  CHECK_STR(text, "");

  kvtree* tree = kvtree_new();
  CHECK(kvtree_read_file("this file does not exist", tree) != KVTREE_SUCCESS);
  size_t length = stanchion_last_error(NULL, 0);
  CHECK(length > strlen("this file does not exist"));
  CHECK_INT(stanchion_last_error(text, sizeof text), length);
  CHECK_INT(strlen(text), length);
  CHECK(strstr(text, "this file does not exist") != NULL);
  for (size_t size = 0; size <= length + 2; size++) {
    memset(cut, 'z', sizeof cut);
    CHECK_INT(stanchion_last_error(cut, size), length);
    size_t kept = size == 0 ? 0 : size - 1 < length ? size - 1 : length;
    CHECK(memcmp(cut, text, kept) == 0);
    if (size > 0) CHECK(cut[kept] == '\0');
    CHECK(cut[size > kept ? kept + (size > 0) : size] == 'z');
  }
  CHECK_INT(stanchion_last_error(NULL, 100), length);

  /* Success leaves it as it is; the next error replaces it. */
  kvtree_set_kv(tree, "k", "v");
  kvtree_set_kv(tree, "k", "w");
  stanchion_last_error(cut, sizeof cut);
  CHECK_STR(cut, text);
  unsigned long count;
  CHECK(kvtree_util_get_unsigned_long(tree, "k", &count) != KVTREE_SUCCESS);
  stanchion_last_error(cut, sizeof cut);
  CHECK(strcmp(cut, text) != 0);
  CHECK(strstr(cut, "\"k\"") != NULL);

  size_t other = 1;
  pthread_t thread;
  CHECK_INT(pthread_create(&thread, NULL, last_error_of_another_thread, &other), 0);
  pthread_join(thread, NULL);
  CHECK_INT(other, 0);
  kvtree_delete(&tree);
}

struct seen {
  int count, level;
  char text[256];
};

static void see(int level, const char* text, void* user)
{
  struct seen* seen = user;
  seen->count++;
  seen->level = level;
  snprintf(seen->text, sizeof seen->text, "%s", text);
}

static void fail(void)
{
  kvtree* tree = kvtree_new();
  kvtree_write_file("no/such file", tree);
  kvtree_delete(&tree);
}

static void log_callback(void)
{
  struct seen first = {0, 0, ""}, second = {0, 0, ""};
  stanchion_set_log_callback(see, &first);
  fail();
  CHECK_INT(first.count, 0); /* silent unless asked */
  stanchion_set_log_level(STANCHION_LOG_ERROR);
  fail();
  CHECK_INT(first.count, 1);
  CHECK_INT(first.level, STANCHION_LOG_ERROR);
  CHECK(strstr(first.text, "no/such file") != NULL);
  stanchion_set_log_level(100);
  fail();
  CHECK(first.count >= 2);
  stanchion_set_log_level(-100);
  int before = first.count;
  fail();
  CHECK_INT(first.count, before);
  stanchion_set_log_level(STANCHION_LOG_DEBUG);
  stanchion_set_log_callback(see, &second);
  fail();
  CHECK_INT(first.count, before);
  CHECK(second.count >= 1);
  stanchion_set_log_level(STANCHION_LOG_NONE);
  stanchion_set_log_callback(NULL, NULL);
  fail();
}

int main(void)
{
  version();
  last_error();
  log_callback();
  return check_result();
}
