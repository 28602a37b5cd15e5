/* fdp_create: the ranks of a communicator place themselves, by what they give or by their environment. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "stanchion.h"
#include "check.h"
#include "redset_files.h"

#include <errno.h>
#include <unistd.h>

enum { MOST = 64 };

static MPI_Comm comm; /* not the world: its ranks stand in reverse order */
static int rank, size;
static char texts[MOST][64];

/* Two ranks a node, two nodes a rack. */
static const char* path_of(int of)
{
  snprintf(texts[of], sizeof texts[of], "rack%d/node%d", of / 4, of / 2);
  return texts[of];
}

/* Sets and tolerance are those that one process finds for all paths. */
static void check_like_alone(fdp_t* placement, const char* const* paths, const fdp_scheme* scheme)
{
  fdp_t* alone = NULL;
  CHECK_INT(fdp_create_local(paths, size, scheme, &alone), 0);
  unsigned levels = 0, levels_alone = 0;
  CHECK_INT(fdp_size(placement, NULL, NULL, &levels), 0);
  CHECK_INT(fdp_size(alone, NULL, NULL, &levels_alone), 0);
  CHECK_INT(levels, levels_alone);
  for (unsigned level = 0; level < levels; level++) {
    uint32_t any = 77, any_alone = 78;
    CHECK_INT(fdp_tolerance(placement, level, &any, NULL), 0);
    CHECK_INT(fdp_tolerance(alone, level, &any_alone, NULL), 0);
    CHECK_INT(any, any_alone);
  }
  for (int of = 0; of < size; of++) {
    int found[3], wanted[3];
    CHECK_INT(fdp_get(placement, of, &found[0], &found[1], &found[2]), 0);
    CHECK_INT(fdp_get(alone, of, &wanted[0], &wanted[1], &wanted[2]), 0);
    for (int i = 0; i < 3; i++) CHECK_INT(found[i], wanted[i]);
  }
  fdp_destroy(alone);
}

static void placed(const char* path, const char* const* paths)
{
  fdp_scheme scheme = { REDSET_COPY_PARTNER, 1, 2, NULL, 0 };
  fdp_t* placement = NULL;
  int code = fdp_create(comm, path, &scheme, &placement);
  CHECK_INT(code, size == 1 ? -EINVAL : 0); /* nobody to be a partner of */
  if (size == 1) {
    CHECK(placement == NULL);
    return;
  }
  check_like_alone(placement, paths, &scheme);
  fdp_destroy(placement);
}

static void by_environment(const char* const* paths)
{
  char host[256] = "", file[] = "placement_XXXXXX", value[300];
  gethostname(host, sizeof host - 1);
  const char* hosts[MOST];
  for (int of = 0; of < size; of++) hosts[of] = host;

  unsetenv("STANCHION_TOPOLOGY");
  placed(NULL, hosts);
  setenv("STANCHION_TOPOLOGY", "host", 1);
  placed(NULL, hosts);
  setenv("STANCHION_TOPOLOGY", paths[rank], 1);
  placed(NULL, paths);

  const char* by_slurm[MOST];
  char slurm_texts[MOST][64];
  for (int of = 0; of < size; of++) {
    snprintf(slurm_texts[of], sizeof slurm_texts[of], "s%d/tux%d.site", of % 2, of);
    by_slurm[of] = slurm_texts[of];
  }
  snprintf(value, sizeof value, "s%d.tux%d.site", rank % 2, rank);
  setenv("STANCHION_TOPOLOGY", "slurm", 1);
  setenv("SLURM_TOPOLOGY_ADDR", value, 1);
  setenv("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.node", 1);
  placed(NULL, by_slurm);

  int fd = mkstemp(file);
  CHECK(fd >= 0);
  FILE* lines = fdopen(fd, "w");
  fprintf(lines, "# where hosts are\nother rack9/node9\n%s %s\n", host, path_of(rank));
  fclose(lines);
  snprintf(value, sizeof value, "file:%s", file);
  setenv("STANCHION_TOPOLOGY", value, 1);
  placed(NULL, paths);
  remove(file);
  unsetenv("STANCHION_TOPOLOGY");
}

/* What one rank gets wrong fails on all. */
static void errors(const char* path)
{
  fdp_scheme scheme = { REDSET_COPY_XOR, 0, 2, NULL, 0 }, other = { REDSET_COPY_XOR, 0, 3, NULL, 0 };
  int is_wrong = rank == size - 1;
  fdp_t* placement = NULL;
  CHECK_INT(fdp_create(comm, is_wrong ? "" : path, &scheme, &placement), -EINVAL);
  CHECK_INT(fdp_create(comm, path, is_wrong ? NULL : &scheme, &placement), -EINVAL);
  CHECK_INT(fdp_create(comm, path, &scheme, is_wrong ? NULL : &placement), -EINVAL);
  CHECK_INT(fdp_create(comm, is_wrong ? "\xff" : path, &scheme, &placement), -EINVAL);
  if (size > 1) {
    CHECK_INT(fdp_create(comm, is_wrong ? "rack0" : path, &scheme, &placement), -EINVAL);
    CHECK_ERROR(text("rank %d ", size - 1));
    CHECK_INT(fdp_create(comm, path, is_wrong ? &other : &scheme, &placement), -EINVAL);
  }
  setenv("STANCHION_TOPOLOGY", "file:/no/such/file", 1);
  CHECK_INT(fdp_create(comm, is_wrong ? NULL : path, &scheme, &placement), -EINVAL);
  unsetenv("STANCHION_TOPOLOGY");
  CHECK(placement == NULL);
  uint32_t too_much[1] = { 2 };
  scheme.required = too_much;
  scheme.levels = 1;
  CHECK_INT(fdp_create(comm, path, &scheme, &placement), size == 1 ? -EINVAL : -ENOTSUP);
  CHECK_INT(fdp_create(MPI_COMM_NULL, path, &scheme, &placement), -EIO);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  comm = check_reversed(&rank, &size);
  const char* paths[MOST];
  for (int of = 0; of < size && of < MOST; of++) paths[of] = path_of(of);
  placed(paths[rank], paths);
  by_environment(paths);
  errors(paths[rank]);
  MPI_Comm_free(&comm);
  return check_result_mpi();
}
