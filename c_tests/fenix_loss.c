/* Ranks that lose a group get their data back. Without a failure: such a rank deletes the group, and then all
 * create it again, as survivors and a rank that is new would. */
#include "fenix_data.h"

enum { MOST = 48, LARGE = 5000, MEMBERS = 3, CHILD = 100 };

static const int ids[MEMBERS] = { 9, -3, 4 }; /* not in order */
static int memory[MEMBERS][LARGE];

static int count_of(int member, int of_rank) { return member == 2 ? LARGE - of_rank : 20 + 7 * (of_rank % 4) + member; }

static void create_members(void)
{
  for (int i = 0; i < MEMBERS; i++)
    CHECK_INT(Fenix_Data_member_create(GROUP, ids[i], memory[i], count_of(i, rank), MPI_INT), FENIX_SUCCESS);
}

static void store_all(int round)
{
  for (int i = 0; i < MEMBERS; i++) fill(memory[i], count_of(i, rank), i, round);
  for (int i = MEMBERS - 1; i >= 0; i--) CHECK_INT(Fenix_Data_member_store(GROUP, ids[i], FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
}

static void check_snapshot(int stamp, int round)
{
  static int values[LARGE];
  for (int i = 0; i < MEMBERS; i++) {
    clear(values, LARGE);
    CHECK_INT(common(Fenix_Data_member_restore(GROUP, ids[i], values, LARGE, stamp, NULL)), FENIX_SUCCESS);
    CHECK_INT(wrong(values, 0, count_of(i, rank), i, round, rank), 0);
    CHECK_INT(touched(values, count_of(i, rank), LARGE), 0);
  }
}

/* What a rank that is new knows of a member after the first restore, and what it must be told. Datatypes that
 * it is not told stay unknown. */
static void attach(int is_new, int was_new)
{
  int flag = -9, count = -9;
  MPI_Datatype type = MPI_INT;
  for (int i = 0; i < MEMBERS; i++) {
    CHECK_INT(Fenix_Data_member_attr_get(GROUP, ids[i], FENIX_DATA_MEMBER_ATTRIBUTE_COUNT, &count, &flag, -1), FENIX_SUCCESS);
    CHECK_INT(count, count_of(i, rank));
    CHECK_INT(Fenix_Data_member_attr_get(GROUP, ids[i], FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE, &type, &flag, -1), FENIX_SUCCESS);
    CHECK_INT(flag, !is_new && !(was_new && i > 0));
    CHECK(type == (flag ? MPI_INT : MPI_DATATYPE_NULL));
    if (!is_new) continue;
    if (i == 0) { /* a second create does, too */
      CHECK_INT(Fenix_Data_member_create(GROUP, ids[i], memory[i], count_of(i, rank), MPI_INT), FENIX_SUCCESS);
    } else {
      CHECK_INT(Fenix_Data_member_attr_set(GROUP, ids[i], FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, memory[i], &flag), FENIX_SUCCESS);
    }
  }
}

/* Every rank is lost once, one after the other, at each depth. */
static void check_each_rank(const struct policy* policy, int depth)
{
  if (!has_group(policy, 0, depth)) return;
  create_members();
  for (int round = 0; round <= depth; round++) store_all(round);
  for (int lost = 0; lost < size; lost++) {
    int stamp = -9, newest = depth + lost;
    if (rank == lost) CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
    CHECK(has_group(policy, 0, depth));
    CHECK_INT(Fenix_Data_group_get_snapshot_at_position(GROUP, 0, &stamp), FENIX_SUCCESS);
    CHECK_INT(stamp, newest);
    check_snapshot(FENIX_DATA_SNAPSHOT_LATEST, newest);
    attach(rank == lost, rank < lost);
    for (int age = 1; age <= depth; age++) check_snapshot(newest - age, newest - age);
    store_all(newest + 1);
  }
  CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
}

/* With Reed-Solomon codes any k ranks are lost at once. */
static void check_k_ranks(const struct policy* policy)
{
  int k = policy->value[2];
  if (policy->name != STANCHION_FENIX_POLICY_RS || !has_group(policy, 0, 1)) return;
  create_members();
  for (int round = 0; round < 2; round++) store_all(round);
  for (int first = 0; first < size; first++) {
    int is_lost = (rank - first + size) % size < k;
    if (is_lost) CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
    CHECK(has_group(policy, 0, 1));
    for (int round = 1; round >= 0; round--) check_snapshot(round, round);
  }
  CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
}

/* What was staged is gone, what was committed is there; a member that was stored in parts comes back whole. */
static void check_parts(const struct policy* policy)
{
  int values[MOST], part[MOST];
  Fenix_Data_subset odd, found;
  if (!has_group(policy, 5, 2)) return;
  CHECK_INT(Fenix_Data_subset_create(10, 1, 1, 2, &odd), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_create(GROUP, CHILD, part, 30, MPI_INT), FENIX_SUCCESS);
  fill(part, 30, CHILD, 0);
  CHECK_INT(Fenix_Data_member_store(GROUP, CHILD, odd), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  fill(part, 30, CHILD, 1);
  CHECK_INT(Fenix_Data_member_store(GROUP, CHILD, rank % 2 ? odd : FENIX_DATA_SUBSET_EMPTY), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_store(GROUP, CHILD, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS); /* not committed */
  if (rank == size / 2) CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
  CHECK(has_group(policy, 5, 2));
  clear(values, MOST);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, CHILD, values, MOST, -1, &found)), FENIX_WARNING_PARTIAL_RESTORE);
  CHECK(found.num_blocks == 1 && found.num_repeats[0] == 9 && found.stride == 2);
  CHECK_INT(Fenix_Data_subset_delete(&found), FENIX_SUCCESS);
  for (int i = 0; i < MOST; i++)
    CHECK_INT(values[i], i < 20 && i % 2 ? value_of(CHILD, rank % 2, rank, i) : UNTOUCHED);
  int stamp = -9;
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, &stamp), FENIX_SUCCESS);
  CHECK_INT(stamp, 7);
  CHECK_INT(Fenix_Data_subset_delete(&odd), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
}

/* All ranks are new but one: nothing can protect against that, and all hear of it. */
static void check_too_much(const struct policy* policy)
{
  int values[MOST];
  if (size < 3 || !has_group(policy, 0, 1)) return;
  create_members();
  store_all(0);
  if (rank != size - 1) CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
  CHECK(has_group(policy, 0, 1));
  clear(values, MOST);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, ids[0], values, MOST, -1, NULL)), FENIX_ERROR_NODATA_FOUND);
  CHECK_INT(touched(values, 0, MOST), 0);
  /* Only what this rank has: its own, or what its set could rebuild. */
  int code = Fenix_Data_member_lrestore(GROUP, ids[0], values, MOST, -1, NULL);
  CHECK(code == FENIX_SUCCESS || (code < 0 && rank != size - 1));
  CHECK_INT(code == 0 ? wrong(values, 0, count_of(0, rank), 0, 0, rank) : touched(values, 0, MOST), 0);
  CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
}

/* Fewer ranks than before: own data only, and a policy for more ranks than there are is fitted to two. */
static void check_fewer_ranks(const struct policy* policy)
{
  int values[MOST], code;
  MPI_Comm fewer, whole = world;
  if (!has_group(policy, 0, 1)) return;
  create_members();
  store_all(0);
  MPI_Comm_split(world, rank == 1 ? MPI_UNDEFINED : 0, rank, &fewer);
  if (rank == 1) {
    CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
    return;
  }
  code = create_on(fewer, policy, 0, 1);
  CHECK_INT(code, size - 1 < 2 ? FENIX_ERROR_GROUP_CREATE : FENIX_SUCCESS);
  if (code == FENIX_SUCCESS) {
    clear(values, MOST);
    world = fewer;
    CHECK_INT(common(Fenix_Data_member_restore(GROUP, ids[0], values, MOST, -1, NULL)), FENIX_ERROR_NODATA_FOUND);
    world = whole;
    CHECK_INT(touched(values, 0, MOST), 0);
  }
  clear(values, MOST); /* also where the group could not be created */
  CHECK_INT(Fenix_Data_member_lrestore(GROUP, ids[0], values, MOST, -1, NULL), FENIX_SUCCESS);
  CHECK_INT(wrong(values, 0, count_of(0, rank), 0, 0, rank), 0);
  CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
  MPI_Comm_free(&fewer);
}

int main(int argc, char** argv)
{
  begin(&argc, &argv);
  for (int checksums = check_size(0, 1); checksums < 2; checksums++) {
    CHECK_INT(stanchion_fenix_checksums(checksums), 0);
    for (int i = 0; i < POLICIES; i += check_size(1, 2)) {
      for (int depth = 0; depth < 3; depth += check_size(1, 2)) check_each_rank(&policies[i], depth);
      check_k_ranks(&policies[i]);
      check_parts(&policies[i]);
      check_too_much(&policies[i]);
      check_fewer_ranks(&policies[i]);
      MPI_Barrier(world);
    }
  }
  CHECK_INT(stanchion_fenix_checksums(0), 1);
  return end();
}
