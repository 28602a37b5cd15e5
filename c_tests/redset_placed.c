/* Sets placed by failure domains: whatever fdp_survives says of a loss is what happens to the files. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "kvtree.h"
#include "redset.h"
#include "stanchion.h"
#include "check.h"
#include "domains.h"

enum { FILES = 2 };

static MPI_Comm comm; /* not the world: its ranks stand in reverse order */
static int rank, size;
static int step = 1; /* of all losses, every step-th */

/* ---- files ---- */

static const char* file_name(int which) { return text("r%d/file%d", rank, which); }

static const char* prefix(void) { return text("r%d/ck", rank); }

/* All files of this rank: its own ones, then those that redset wrote. */
struct kept {
  char paths[FILES + 4][256];
  struct bytes bytes[FILES + 4];
  int count;
};

static void keep(struct kept* kept, const char* path)
{
  snprintf(kept->paths[kept->count], sizeof kept->paths[0], "%s", path);
  kept->bytes[kept->count++] = read_bytes(path);
}

static struct kept keep_files(redset d)
{
  struct kept kept = {.count = 0};
  for (int i = 0; i < FILES; i++) keep(&kept, file_name(i));
  redset_filelist written = redset_filelist_enc_get(prefix(), d);
  for (int i = 0; i < redset_filelist_count(written); i++) keep(&kept, redset_filelist_file(written, i));
  redset_filelist_release(&written);
  CHECK_INT(kept.count, FILES + 2);
  return kept;
}

static void remove_kept(const struct kept* kept)
{
  for (int i = 0; i < kept->count; i++) CHECK_INT(remove(kept->paths[i]), 0);
}

static void check_kept(const struct kept* kept)
{
  for (int i = 0; i < kept->count; i++) CHECK(file_is(kept->paths[i], kept->bytes[i]));
}

/* ---- losses ---- */

/* Loses the files of all ranks of two domains (or of one, twice). Returns whether they came back. */
static int lose(const fdp_t* placement, const struct kept* kept, const struct domain* one, const struct domain* other)
{
  int is_lost = is_in(one, rank) || is_in(other, rank), comes_back = survives(placement, one, other);
  if (is_lost) remove_kept(kept);
  MPI_Barrier(comm);

  redset d = NULL;
  int failure = redset_recover(comm, prefix(), &d);
  redset_delete(&d);
  CHECK_INT(failure, !comes_back);
  if (failure != !comes_back) fprintf(stderr, "rank %d: %s and %s\n", rank, one->path, other->path);
  if (comes_back) {
    check_kept(kept);
    return 1;
  }
  for (int i = 0; i < kept->count && is_lost; i++) {
    CHECK(!file_exists(kept->paths[i]));
    CHECK_INT(write_bytes(kept->paths[i], kept->bytes[i]), 0);
  }
  check_kept(kept);
  MPI_Barrier(comm);
  return 0;
}

/* What all losses do; one rack alone may be lost or not. */
static void lose_all(const fdp_t* placement, const struct kept* kept, int rack_survives)
{
  int fatal = 0;
  for (int i = 0; i < loss_count; i += step) {
    const struct domain *one = losses[i].one, *other = losses[i].other;
    int came_back = lose(placement, kept, one, other);
    if (one == other) CHECK_INT(came_back, !is_rack(one) || rack_survives);
    else fatal += !came_back;
  }
  CHECK(fatal > 0);
}

static void check_sets(redset d, const fdp_t* placement)
{
  stanchion_redset_info info;
  int set, place, ranks, sets;
  CHECK_INT(fdp_get(placement, rank, &set, &place, &ranks), 0);
  CHECK_INT(fdp_size(placement, NULL, &sets, NULL), 0);
  CHECK_INT(stanchion_redset_describe(d, &info), 0);
  CHECK_INT(info.groups, sets);
  CHECK_INT(info.group_id, set);
  CHECK_INT(info.ranks, ranks);
  CHECK_INT(info.rank, place);
  int members[MOST_RANKS];
  size_t count = MOST_RANKS;
  CHECK_INT(fdp_members(placement, set, members, &count), 0);
  for (size_t i = 0; i < count; i++) CHECK_INT(info.group_map[i], members[i]);
}

static void protect(const fdp_t* placement, redset d, int rack_survives)
{
  const char* files[FILES];
  for (int i = 0; i < FILES; i++) files[i] = file_name(i);
  check_sets(d, placement);
  CHECK_OK(redset_apply(FILES, files, prefix(), d));
  struct kept kept = keep_files(d);
  lose_all(placement, &kept, rack_survives);
  CHECK_OK(redset_unapply(prefix(), d));
  for (int i = 0; i < kept.count; i++) free_bytes(&kept.bytes[i]);
}

static fdp_t* placed(fdp_scheme scheme)
{
  fdp_t* placement = NULL;
  CHECK_OK(fdp_create(comm, path_of(rank), &scheme, &placement));
  return placement;
}

static void protect_by(fdp_scheme scheme, int rack_survives)
{
  fdp_t* placement = placed(scheme);
  redset d = NULL;
  CHECK_OK(stanchion_redset_create_placed(comm, placement, &d));
  protect(placement, d, rack_survives);
  redset_delete(&d);
  fdp_destroy(placement);
}

/* ---- without touching the code ---- */

static void by_environment(void)
{
  fdp_t* placement = placed((fdp_scheme){REDSET_COPY_RS, 2, 4, NULL, 0});
  redset d = NULL;
  setenv("STANCHION_TOPOLOGY", chassis(rank), 1); /* the failure group is the last part, */
  CHECK_OK(redset_create_rs(comm, node(rank), 4, 2, &d));
  check_sets(d, placement);
  redset_delete(&d);
  setenv("STANCHION_TOPOLOGY", path_of(rank), 1); /* or names it once more */
  CHECK_OK(redset_create_rs(comm, node(rank), 4, 2, &d));
  protect(placement, d, 1);
  redset_delete(&d);
  fdp_destroy(placement);

  placement = placed((fdp_scheme){REDSET_COPY_PARTNER, 1, 8, NULL, 0}); /* as redset_create wants them by default */
  CHECK_OK(redset_create(REDSET_COPY_PARTNER, comm, node(rank), &d));
  check_sets(d, placement);
  redset_delete(&d);
  fdp_destroy(placement);
  CHECK_OK(redset_create_single(comm, node(rank), &d));
  redset_delete(&d);
  unsetenv("STANCHION_TOPOLOGY");
}

/* ---- what fails, fails on all ranks ---- */

static void errors(void)
{
  fdp_t *xor = placed((fdp_scheme){REDSET_COPY_XOR, 0, 4, NULL, 0}), *pairs = placed((fdp_scheme){REDSET_COPY_XOR, 0, 2, NULL, 0});
  redset d = NULL;
  int last = rank == size - 1;
  CHECK_INT(stanchion_redset_create_placed(comm, last ? NULL : xor, &d), 1);
  CHECK_INT(stanchion_redset_create_placed(comm, xor, last ? NULL : &d), 1);
  CHECK_INT(stanchion_redset_create_placed(comm, last ? pairs : xor, &d), 1);
  CHECK_ERROR("different placements");
  CHECK_INT(stanchion_redset_create_placed(MPI_COMM_SELF, xor, &d), 1);
  CHECK_ERROR("the communicator has 1");
  CHECK_INT(stanchion_redset_create_placed(MPI_COMM_NULL, xor, &d), 1);
  CHECK(d == NULL);
  fdp_destroy(xor);
  fdp_destroy(pairs);

  if (!last) setenv("STANCHION_TOPOLOGY", chassis(rank), 1);
  CHECK_INT(redset_create_xor(comm, node(rank), 4, &d), 1);
  CHECK_ERROR("on some ranks only");
  setenv("STANCHION_TOPOLOGY", last ? "rack1" : chassis(rank), 1);
  CHECK_INT(redset_create_xor(comm, node(rank), 4, &d), 1);
  CHECK_ERROR(text("rank %d ", size - 1));
  setenv("STANCHION_TOPOLOGY", last ? "file:/no/such/file" : chassis(rank), 1);
  CHECK_INT(redset_create_xor(comm, node(rank), 4, &d), 1);
  CHECK_ERROR("/no/such/file");
  setenv("STANCHION_TOPOLOGY", chassis(rank), 1);
  CHECK_INT(redset_create_xor(MPI_COMM_SELF, node(rank), 4, &d), 1);
  CHECK_INT(redset_create_xor(comm, node(rank), 1, &d), 1);
  CHECK_INT(redset_create_rs(comm, node(rank), size, size, &d), 1);
  CHECK(d == NULL);
  unsetenv("STANCHION_TOPOLOGY");
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  comm = check_reversed(&rank, &size);
  if (argc > 1) step = atoi(argv[1]);
  find_domains(size);
  find_losses();
  redset_init();
  CHECK_INT(mkdir(text("r%d", rank), 0755), 0);
  for (int i = 0; i < FILES; i++) {
    struct bytes made = made_bytes(1000 + 500 * i + 77 * rank, (unsigned)(rank * FILES + i));
    CHECK_INT(write_bytes(file_name(i), made), 0);
    free_bytes(&made);
  }
  protect_by((fdp_scheme){REDSET_COPY_XOR, 0, 4, NULL, 0}, 0);
  protect_by((fdp_scheme){REDSET_COPY_PARTNER, 1, 4, NULL, 0}, 1);
  by_environment(); /* RS */
  errors();
  redset_finalize();
  MPI_Comm_free(&comm);
  return check_result_mpi();
}
