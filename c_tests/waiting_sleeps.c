/* Put before the MPI library (LD_PRELOAD) of every test: a rank that waits sleeps for a moment instead of spinning.
 * Tests run more ranks than there are cores. Open MPI then calls sched_yield, which often gives the core to another rank
 * that waits as well; MPICH over UCX gives it to nobody, and eight ranks on two cores take fifty times as long. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void sleep_a_moment(void)
{
  struct timespec moment = {0, 1000};
  nanosleep(&moment, NULL);
}

int sched_yield(void)
{
  sleep_a_moment();
  return 0;
}

/* MPICH asks UCX for news in every round of waiting. */
unsigned ucp_worker_progress(void *worker)
{
  enum { ROUNDS_BEFORE_SLEEP = 32 };
  static unsigned (*progress)(void *);
  static _Thread_local unsigned rounds_without_news;
  if (!progress) *(void **)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
  unsigned news = progress(worker);
  rounds_without_news = news ? 0 : rounds_without_news + 1;
  if (rounds_without_news >= ROUNDS_BEFORE_SLEEP) {
    rounds_without_news = 0;
    sleep_a_moment();
  }
  return news;
}
