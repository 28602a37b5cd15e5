/* Groups whose sets are placed by failure domains: whatever fdp_survives says of a loss is what happens to the data.
 * Ranks are lost without a failure, as in fenix_loss; those that come in their places say that they are elsewhere. */
#define _POSIX_C_SOURCE 200809L
#include "fenix_data.h"
#include "domains.h"

enum { MEMBER = 4, COUNT = 3000, PAIRS = 2, K = 2 };

static int memory[COUNT];

static int count_of(int of) { return COUNT - 13 * of; }

/* How a group is asked for. */
struct wanted {
  int mode, by_environment;
};

static int create(struct wanted wanted, const char* path)
{
  int raid[3] = { wanted.mode, 1, 4 }, rs[3] = { 1, 4, K };
  stanchion_fenix_placed placed = { wanted.mode, 4, path, K };
  if (!wanted.by_environment) return Fenix_Data_group_create(GROUP, world, 0, 0, STANCHION_FENIX_POLICY_PLACED, &placed, NULL);
  setenv("STANCHION_TOPOLOGY", path, 1);
  int code = wanted.mode == 6 ? Fenix_Data_group_create(GROUP, world, 0, 0, STANCHION_FENIX_POLICY_RS, rs, NULL)
                              : Fenix_Data_group_create(GROUP, world, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, raid, NULL);
  unsetenv("STANCHION_TOPOLOGY");
  return code;
}

static void check_policy(struct wanted wanted)
{
  int name = 0, value[3] = { 0, 0, -9 }, flag = 0;
  CHECK_INT(Fenix_Data_group_get_redundancy_policy(GROUP, &name, value, &flag), FENIX_SUCCESS);
  if (wanted.mode == 6) {
    CHECK_INT(name, wanted.by_environment ? STANCHION_FENIX_POLICY_RS : STANCHION_FENIX_POLICY_PLACED);
    CHECK_INT(value[0], wanted.by_environment ? 1 : 6);
    CHECK_INT(value[1], 4);
    CHECK_INT(value[2], K);
    return;
  }
  CHECK_INT(name, wanted.by_environment ? FENIX_DATA_POLICY_IN_MEMORY_RAID : STANCHION_FENIX_POLICY_PLACED);
  CHECK_INT(value[0], wanted.mode);
  CHECK_INT(value[1], wanted.by_environment ? 1 : wanted.mode == 5 ? 4 : PAIRS);
  CHECK_INT(value[2], wanted.by_environment && wanted.mode == 5 ? 4 : -9);
}

static fdp_t* report(int mode)
{
  int type = mode == 5 ? REDSET_COPY_XOR : mode == 6 ? REDSET_COPY_RS : REDSET_COPY_PARTNER;
  fdp_scheme scheme = { type, mode == 6 ? K : 1, mode == 1 ? PAIRS : 4, NULL, 0 };
  fdp_t* placement = NULL;
  CHECK_OK(fdp_create(world, path_of(rank), &scheme, &placement));
  return placement;
}

/* Loses the ranks of two domains (or of one, twice) and returns whether the data came back. */
static int lose(struct wanted wanted, const fdp_t* placement, const struct domain* one, const struct domain* other)
{
  static int values[COUNT];
  int is_lost = is_in(one, rank) || is_in(other, rank), comes_back = survives(placement, one, other);
  CHECK_OK(create(wanted, path_of(rank)));
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, count_of(rank), MPI_INT), FENIX_SUCCESS);
  fill(memory, count_of(rank), MEMBER, 1);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);

  if (is_lost) CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
  CHECK_OK(create(wanted, is_lost ? "rack7/chassis7/spare" : path_of(rank)));
  check_policy(wanted);
  clear(values, COUNT);
  int code = common(Fenix_Data_member_restore(GROUP, MEMBER, values, COUNT, -1, NULL));
  /* Where all ranks are lost, nobody knows of the group. */
  int nobody = is_in(one, 0) + is_in(other, 0) > 0 && one->count + other->count == size && one != other;
  CHECK(comes_back ? code == FENIX_SUCCESS : code == FENIX_ERROR_NODATA_FOUND || nobody);
  CHECK(code <= 0 && (code == 0) == comes_back);
  if (code == FENIX_SUCCESS) CHECK_INT(wrong(values, 0, count_of(rank), MEMBER, 1, rank), 0);
  else CHECK_INT(touched(values, 0, COUNT), 0);
  CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
  return code == FENIX_SUCCESS;
}

static void lose_all(struct wanted wanted)
{
  fdp_t* placement = report(wanted.mode);
  int fatal = 0;
  for (int i = 0; i < loss_count; i++) {
    const struct domain *one = losses[i].one, *other = losses[i].other;
    int came_back = lose(wanted, placement, one, other);
    if (one == other) CHECK_INT(came_back, !is_rack(one) || wanted.mode != 5);
    else fatal += !came_back;
  }
  CHECK(fatal > 0);
  fdp_destroy(placement);
}

/* What one rank says wrongly fails on all. */
static void errors(void)
{
  int last = rank == size - 1;
  struct wanted copies = { 1, 0 }, parity = { 5, 1 };
  CHECK_INT(common(create(copies, last ? "rack0" : path_of(rank))), FENIX_ERROR_GROUP_CREATE);
  CHECK_ERROR(text("rank %d ", size - 1));
  CHECK_INT(common(create((struct wanted){ last ? 5 : 1, 0 }, path_of(rank))), FENIX_ERROR_GROUP_CREATE);
  CHECK_INT(common(create((struct wanted){ 3, 0 }, path_of(rank))), FENIX_ERROR_GROUP_CREATE);
  CHECK_INT(common(create(parity, last ? "file:/no/such/file" : path_of(rank))), FENIX_ERROR_GROUP_CREATE);
  CHECK_ERROR("/no/such/file");
  CHECK_INT(common(create(parity, last ? "" : path_of(rank))), FENIX_ERROR_GROUP_CREATE); /* as if it were not set */
  CHECK_ERROR("placement by failure domains");
  CHECK_INT(common(create((struct wanted){ 1, last }, path_of(rank))), FENIX_SUCCESS); /* both ways mean the same */
  CHECK_INT(common(create(copies, NULL)), FENIX_SUCCESS); /* the sets stay, whatever the paths are now */
  int raid[3] = { 1, 1, 0 };
  CHECK_INT(common(Fenix_Data_group_create(GROUP, world, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, raid, NULL)), FENIX_ERROR_GROUP_CREATE);
  CHECK_ERROR("another policy");
  CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
  CHECK_INT(common(create(copies, NULL)), FENIX_SUCCESS); /* all on one host, by its name */
  CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
}

int main(int argc, char** argv)
{
  begin(&argc, &argv);
  find_domains(size);
  find_losses();
  lose_all((struct wanted){ 1, 0 });
  lose_all((struct wanted){ 5, 1 });
  lose_all((struct wanted){ 6, 0 });
  lose_all((struct wanted){ 6, 1 });
  errors();
  return end();
}
