/* Messages that nobody can read: standard error is full, then closed. A call returns its code all the same, also from
 * a handler that runs at exit. */
#define _POSIX_C_SOURCE 200809L
#include "kvtree.h"
#include "stanchion.h"
#include "check.h"

#include <fcntl.h>
#include <unistd.h>

static int fails_and_returns(void)
{
  kvtree* tree = kvtree_new();
  int code = kvtree_read_file("no/such/file", tree);
  kvtree_delete(&tree);
  return code != KVTREE_SUCCESS;
}

static void at_exit(void)
{
  if (!fails_and_returns()) _exit(3);
}

static void with_standard_error(int other)
{
  int own = dup(STDERR_FILENO);
  if (other < 0) {
    close(STDERR_FILENO);
  } else {
    dup2(other, STDERR_FILENO);
  }
  int fine = fails_and_returns();
  dup2(own, STDERR_FILENO);
  close(own);
  CHECK(fine);
  char text[256];
  CHECK(stanchion_last_error(text, sizeof text) > 0);
  CHECK(strstr(text, "no/such/file") != NULL);
}

int main(void)
{
  atexit(at_exit);
  stanchion_set_log_level(STANCHION_LOG_ERROR);
  int full = open("/dev/full", O_WRONLY);
  CHECK(full >= 0);
  with_standard_error(full);
  with_standard_error(-1);
  int result = check_result();
  /* The handler at exit finds it full as well. */
  if (!result) dup2(full, STDERR_FILENO);
  return result;
}
