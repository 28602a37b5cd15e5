/* A process that may have little more memory than it has: what does not fit is an error, and later it works. */
#define _POSIX_C_SOURCE 200809L
#include "redset.h"
#include "stanchion.h"

#include "check.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATHS = 200000, LEFT = 16 << 20 };

static char texts[PATHS][24];
static const char* paths[PATHS];

/* Limits the addresses of the process to LEFT bytes more than it has. */
static struct rlimit limit_memory(void)
{
  struct rlimit before, now;
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%ld", &pages) == 1);
  if (file) fclose(file);
  CHECK_INT(getrlimit(RLIMIT_AS, &before), 0);
  now = before;
  now.rlim_cur = (rlim_t)pages * sysconf(_SC_PAGESIZE) + LEFT;
  CHECK_INT(setrlimit(RLIMIT_AS, &now), 0);
  return before;
}

static void create(int count, int tree_code, int placement_code)
{
  fdp_scheme scheme = { .type = REDSET_COPY_PARTNER, .count = 1, .set_size = 2 };
  fdp_t* placement = NULL;
  fdt_t* tree = NULL;
  CHECK_INT(fdt_create_paths(paths, count, '/', &tree), tree_code);
  CHECK_INT(fdp_create_local(paths, count, &scheme, &placement), placement_code);
  CHECK((tree == NULL) == (tree_code != 0) && (placement == NULL) == (placement_code != 0));
  fdp_destroy(placement);
  fdt_destroy(tree);
}

int main(void)
{
  for (int i = 0; i < PATHS; i++) {
    snprintf(texts[i], sizeof texts[i], "rack%d/node%d", i / 100, i);
    paths[i] = texts[i];
  }
  struct rlimit before = limit_memory();
  create(PATHS, -ENOMEM, -ENOMEM);
  create(100, 0, 0);
  CHECK_INT(setrlimit(RLIMIT_AS, &before), 0);
  create(2000, 0, 0);
  return check_result();
}
