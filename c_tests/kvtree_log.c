/* Messages that nobody can read: standard error is full, then closed, then a pipe without a reader. A call returns its code
 * all the same, also from a handler that runs at exit, and no signal is left behind. In a file a message is one line that names the
 * host, and looking for what is not there is no error. */
#define _POSIX_C_SOURCE 200809L
#include "kvtree.h"
#include "kvtree_util.h"
#include "stanchion.h"
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int fails_and_returns(void)
{
  kvtree* tree = kvtree_new();
  int code = kvtree_write_file("no/such/file", tree);
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

static void is_pending_and_blocked(int* pending, int* blocked)
{
  sigset_t set;
  sigpending(&set);
  *pending = sigismember(&set, SIGPIPE);
  sigprocmask(SIG_BLOCK, NULL, &set);
  *blocked = sigismember(&set, SIGPIPE);
}

/* The signal would end this process. One that the program itself waits for stays. */
static void with_a_pipe_that_nobody_reads(void)
{
  int ends[2], pending, blocked;
  sigset_t own;
  CHECK_INT(pipe(ends), 0);
  close(ends[0]);
  with_standard_error(ends[1]);
  is_pending_and_blocked(&pending, &blocked);
  CHECK_INT(pending, 0);
  CHECK_INT(blocked, 0);
  sigemptyset(&own);
  sigaddset(&own, SIGPIPE);
  sigprocmask(SIG_BLOCK, &own, NULL);
  raise(SIGPIPE);
  with_standard_error(ends[1]);
  is_pending_and_blocked(&pending, &blocked);
  CHECK_INT(pending, 1);
  CHECK_INT(blocked, 1);
  sigwait(&own, &pending);
  sigprocmask(SIG_UNBLOCK, &own, NULL);
  close(ends[1]);
}

static int looks_for_what_is_absent(void)
{
  int number, found = 0;
  kvtree* tree = kvtree_new();
  found += kvtree_util_get_int(tree, "absent", &number) == KVTREE_SUCCESS;
  found += kvtree_util_get_int(NULL, "absent", &number) == KVTREE_SUCCESS;
  found += kvtree_read_file("absent", tree) == KVTREE_SUCCESS;
  found += kvtree_read_file("no/such/file", tree) == KVTREE_SUCCESS;
  kvtree_delete(&tree);
  return found == 0;
}

/* What `action` prints. */
static const char* printed_by(int (*action)(void))
{
  static char text[1024];
  int own = dup(STDERR_FILENO), file = open("errors", O_RDWR | O_CREAT | O_TRUNC, 0600);
  dup2(file, STDERR_FILENO);
  int fine = action();
  dup2(own, STDERR_FILENO);
  ssize_t length = pread(file, text, sizeof text - 1, 0);
  text[length < 0 ? 0 : length] = '\0';
  close(own);
  close(file);
  CHECK(fine);
  return text;
}

/* Outside of MPI: no rank. */
static void names_the_host(void)
{
  char host[256] = "", wanted[512];
  gethostname(host, sizeof host - 1);
  const char* printed = printed_by(fails_and_returns);
  snprintf(wanted, sizeof wanted, "stanchion: %s: cannot ", host);
  if (strncmp(printed, wanted, strlen(wanted)) != 0) CHECK_STR(printed, wanted);
  CHECK(strchr(printed, '\n') == printed + strlen(printed) - 1);
}

static void absence_is_for_debugging(void)
{
  CHECK_STR(printed_by(looks_for_what_is_absent), "");
  stanchion_set_log_level(STANCHION_LOG_INFO);
  CHECK_STR(printed_by(looks_for_what_is_absent), "");
  stanchion_set_log_level(STANCHION_LOG_DEBUG);
  CHECK(strstr(printed_by(looks_for_what_is_absent), "\"absent\"") != NULL);
  stanchion_set_log_level(STANCHION_LOG_ERROR);
}

int main(void)
{
  atexit(at_exit);
  stanchion_set_log_level(STANCHION_LOG_ERROR);
  names_the_host();
  absence_is_for_debugging();
  int full = open("/dev/full", O_WRONLY);
  CHECK(full >= 0);
  with_standard_error(full);
  with_standard_error(-1);
  with_a_pipe_that_nobody_reads();
  int result = check_result();
  /* The handler at exit finds it full as well. */
  if (!result) dup2(full, STDERR_FILENO);
  return result;
}
