/* Members, stores, snapshots and restores of a group that loses nobody: values, codes and counts. */
#include "fenix_data.h"

enum { MOST = 64, MEMBER = 1234567 };

static int own_count(void) { return 11 + 5 * (rank % 3); }

static int restored(int member, int* values, int max, int stamp)
{
  clear(values, MOST);
  return common(Fenix_Data_member_restore(GROUP, member, values, max, stamp, NULL));
}

static void commit(int wanted, int with_barrier)
{
  int stamp = -9;
  int code = with_barrier ? Fenix_Data_commit_barrier(GROUP, &stamp) : Fenix_Data_commit(GROUP, &stamp);
  CHECK_INT(code, FENIX_SUCCESS);
  CHECK_INT(stamp, wanted);
}

static void check_policy(const struct policy* policy)
{
  int name = -1, value[4] = { -9, -9, -9, -9 }, flag = -9;
  int values = policy->name == FENIX_DATA_POLICY_IN_MEMORY_RAID && policy->value[0] == 1 ? 2 : 3;
  CHECK_INT(Fenix_Data_group_get_redundancy_policy(GROUP, &name, value, &flag), FENIX_SUCCESS);
  CHECK_INT(name, policy->name);
  CHECK_INT(flag, 1);
  for (int i = 0; i < 4; i++) CHECK_INT(value[i], i < values ? policy->value[i] : -9);
}

/* Ids in any order, counts that differ from rank to rank. */
static void check_members(void)
{
  static int memory[4][MOST];
  const int ids[4] = { 30, -4, 2147483647, 12 }, sorted[4] = { -4, 12, 30, 2147483647 };
  int number = -9, id = -9;
  for (int i = 0; i < 4; i++) {
    CHECK_INT(Fenix_Data_member_create(GROUP, ids[i], memory[i], own_count() + i, MPI_INT), FENIX_SUCCESS);
    CHECK_INT(Fenix_Data_member_create(GROUP, ids[i], memory[i], 1, MPI_INT), FENIX_ERROR_INVALID_MEMBERID);
  }
  CHECK_INT(Fenix_Data_group_get_number_of_members(GROUP, &number), FENIX_SUCCESS);
  CHECK_INT(number, 4);
  for (int i = 0; i < 4; i++) {
    CHECK_INT(Fenix_Data_group_get_member_at_position(GROUP, &id, i), FENIX_SUCCESS);
    CHECK_INT(id, sorted[i]);
    fill(memory[i], own_count() + i, i, 0);
  }
  CHECK_INT(Fenix_Data_group_get_member_at_position(GROUP, &id, 4), FENIX_ERROR_INVALID_POSITION);
  CHECK_INT(Fenix_Data_group_get_member_at_position(GROUP, &id, -1), FENIX_ERROR_INVALID_POSITION);
  for (int i = 3; i >= 0; i--) CHECK_INT(Fenix_Data_member_store(GROUP, ids[i], FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  commit(3, 1);
  for (int i = 0; i < 4; i++) {
    int values[MOST];
    CHECK_INT(restored(ids[i], values, MOST, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS);
    CHECK_INT(wrong(values, 0, own_count() + i, i, 0, rank), 0);
    CHECK_INT(touched(values, own_count() + i, MOST), 0);
    CHECK_INT(Fenix_Data_member_delete(GROUP, ids[i]), FENIX_SUCCESS);
    CHECK_INT(Fenix_Data_member_delete(GROUP, ids[i]), FENIX_ERROR_INVALID_MEMBERID);
    CHECK_INT(restored(ids[i], values, MOST, FENIX_DATA_SNAPSHOT_LATEST), FENIX_ERROR_INVALID_MEMBERID);
  }
}

static void check_stamps(int first, int number)
{
  int found = -9, stamp = -9;
  CHECK_INT(Fenix_Data_group_get_number_of_snapshots(GROUP, &found), FENIX_SUCCESS);
  CHECK_INT(found, number);
  for (int i = 0; i < number; i++) {
    CHECK_INT(Fenix_Data_group_get_snapshot_at_position(GROUP, i, &stamp), FENIX_SUCCESS);
    CHECK_INT(stamp, first - i);
  }
  stamp = -9;
  CHECK_INT(Fenix_Data_group_get_snapshot_at_position(GROUP, number, &stamp), FENIX_ERROR_INVALID_POSITION);
  CHECK_INT(Fenix_Data_group_get_snapshot_at_position(GROUP, -1, &stamp), FENIX_ERROR_INVALID_POSITION);
  CHECK_INT(stamp, -9);
}

/* As many snapshots as the depth says; a restore takes the newest that is not newer than asked for. */
static void check_snapshots(int depth)
{
  int memory[MOST], values[MOST], count = own_count();
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, count, MPI_INT), FENIX_SUCCESS);
  CHECK_INT(restored(MEMBER, values, MOST, FENIX_DATA_SNAPSHOT_LATEST), FENIX_ERROR_NODATA_FOUND);
  check_stamps(0, 0);
  enum { ROUNDS = 5 };
  for (int round = 0; round < ROUNDS; round++) {
    fill(memory, count, MEMBER, round);
    CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
    commit(3 + round, round % 2);
    MPI_Barrier(world); /* a commit is local */
    int kept = depth >= 0 && round > depth ? depth + 1 : round + 1;
    check_stamps(3 + round, kept);
    for (int age = 0; age < kept; age++) {
      CHECK_INT(restored(MEMBER, values, MOST, 3 + round - age), FENIX_SUCCESS);
      CHECK_INT(wrong(values, 0, count, MEMBER, round - age, rank), 0);
      CHECK_INT(touched(values, count, MOST), 0);
    }
    CHECK_INT(restored(MEMBER, values, MOST, 999), FENIX_SUCCESS);
    CHECK_INT(wrong(values, 0, count, MEMBER, round, rank), 0);
    CHECK_INT(restored(MEMBER, values, MOST, 3 + round - kept), FENIX_ERROR_INVALID_TIMESTAMP);
    CHECK_INT(touched(values, 0, MOST), 0);
  }
  CHECK_INT(restored(MEMBER, values, 4, FENIX_DATA_SNAPSHOT_LATEST), FENIX_WARNING_PARTIAL_RESTORE);
  CHECK_INT(wrong(values, 0, 4, MEMBER, ROUNDS - 1, rank), 0);
  CHECK_INT(touched(values, 4, MOST), 0);
  CHECK_INT(restored(MEMBER, values, 0, FENIX_DATA_SNAPSHOT_LATEST), FENIX_WARNING_PARTIAL_RESTORE);
  CHECK_INT(restored(MEMBER, values, -1, FENIX_DATA_SNAPSHOT_LATEST), FENIX_ERROR_NOCATEGORY);
  CHECK_INT(touched(values, 0, MOST), 0);
}

/* Older snapshots fill what newer ones lack; what nobody stored is left alone. */
static void check_subsets(void)
{
  int memory[MOST], values[MOST], starts[2] = { 1, 40 }, ends[2] = { 2, 60 };
  Fenix_Data_subset strided, blocks, found;
  CHECK_INT(Fenix_Data_subset_create(3, 0, 1, 10, &strided), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_subset_createv(2, starts, ends, &blocks), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, 50, MPI_INT), FENIX_SUCCESS);
  fill(memory, 50, MEMBER, 0);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, strided), FENIX_SUCCESS);
  commit(3, 1);
  clear(values, MOST);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, MEMBER, values, MOST, 3, &found)), FENIX_WARNING_PARTIAL_RESTORE);
  CHECK(found.specifier == __FENIX_SUBSET_CREATE && found.num_blocks == 1 && found.stride == 10);
  CHECK(found.num_blocks == 1 && found.start_offsets[0] == 0 && found.end_offsets[0] == 1 && found.num_repeats[0] == 2);
  CHECK_INT(Fenix_Data_subset_delete(&found), FENIX_SUCCESS);
  for (int i = 0; i < MOST; i++) CHECK_INT(values[i], i < 30 && i % 10 < 2 ? memory[i] : UNTOUCHED);

  fill(memory, 50, MEMBER, 1);
  CHECK_INT(Fenix_Data_member_storev(GROUP, MEMBER, blocks), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_subset_delete(&blocks), FENIX_SUCCESS); /* before the commit */
  commit(4, 1);
  clear(values, MOST);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, MEMBER, values, MOST, 4, &found)), FENIX_WARNING_PARTIAL_RESTORE);
  CHECK_INT(found.specifier, __FENIX_SUBSET_CREATEV);
  CHECK(found.num_blocks == 4 && found.start_offsets[0] == 0 && found.end_offsets[0] == 2);
  CHECK(found.num_blocks == 4 && found.start_offsets[3] == 40 && found.end_offsets[3] == 49);
  CHECK_INT(Fenix_Data_subset_delete(&found), FENIX_SUCCESS);
  for (int i = 0; i < MOST; i++) {
    int newer = (i >= 1 && i <= 2) || (i >= 40 && i < 50), older = i < 30 && i % 10 < 2;
    CHECK_INT(values[i], newer ? value_of(MEMBER, 1, rank, i) : older ? value_of(MEMBER, 0, rank, i) : UNTOUCHED);
  }

  /* Two stores of one snapshot add up, the later one wins; each rank stores something else. */
  Fenix_Data_subset own;
  fill(memory, 50, MEMBER, 2);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  fill(memory, 50, MEMBER, 3);
  CHECK_INT(Fenix_Data_subset_create(1, rank, rank + 9, 1, &own), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_storev(GROUP, MEMBER, rank % 2 ? FENIX_DATA_SUBSET_EMPTY : own), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_EMPTY), FENIX_SUCCESS);
  commit(5, 1);
  CHECK_INT(restored(MEMBER, values, MOST, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS);
  for (int i = 0; i < 50; i++) {
    int round = rank % 2 == 0 && i >= rank && i < rank + 10 ? 3 : 2;
    CHECK_INT(values[i], value_of(MEMBER, round, rank, i));
  }
  CHECK_INT(Fenix_Data_subset_delete(&own), FENIX_SUCCESS);

  /* A snapshot of nothing. */
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_EMPTY), FENIX_SUCCESS);
  commit(6, 1);
  commit(7, 1);
  CHECK_INT(restored(MEMBER, values, MOST, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS);
  CHECK_INT(values[49], value_of(MEMBER, 2, rank, 49));
  Fenix_Data_subset_delete(&strided);
}

/* Without the others, of another rank, and without a buffer. */
static void check_other_restores(void)
{
  int memory[MOST], values[MOST], count = own_count(), next = (rank + 1) % size;
  Fenix_Data_subset found;
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, count, MPI_INT), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_lrestore(GROUP, MEMBER, values, MOST, -1, &found), FENIX_ERROR_NODATA_FOUND);
  CHECK_INT(found.specifier, __FENIX_SUBSET_EMPTY);
  CHECK_INT(Fenix_Data_member_lrestore(GROUP, 99, values, MOST, -1, NULL), FENIX_ERROR_INVALID_MEMBERID);
  fill(memory, count, MEMBER, 0);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  commit(3, 1);
  if (rank % 2 == 0) {
    clear(values, MOST);
    CHECK_INT(Fenix_Data_member_lrestore(GROUP, MEMBER, values, MOST, 3, &found), FENIX_SUCCESS);
    CHECK_INT(wrong(values, 0, count, MEMBER, 0, rank), 0);
    CHECK(found.num_blocks == 1 && found.start_offsets[0] == 0 && found.end_offsets[0] == count - 1);
    CHECK_INT(Fenix_Data_subset_delete(&found), FENIX_SUCCESS);
    CHECK_INT(Fenix_Data_member_lrestore(GROUP, MEMBER, values, 2, 3, NULL), FENIX_WARNING_PARTIAL_RESTORE);
    CHECK_INT(Fenix_Data_member_lrestore(GROUP, MEMBER, NULL, MOST, 3, NULL), FENIX_SUCCESS);
    CHECK_INT(Fenix_Data_member_lrestore(GROUP, MEMBER, values, -2, 3, NULL), FENIX_ERROR_NOCATEGORY);
    CHECK_INT(Fenix_Data_member_lrestore(GROUP, MEMBER, values, MOST, 2, NULL), FENIX_ERROR_INVALID_TIMESTAMP);
  }
  int of_next = 11 + 5 * (next % 3);
  clear(values, MOST);
  CHECK_INT(common(Fenix_Data_member_restore_from_rank(GROUP, MEMBER, values, MOST, -1, &found, next)), FENIX_SUCCESS);
  CHECK_INT(wrong(values, 0, of_next, MEMBER, 0, next), 0);
  CHECK_INT(touched(values, of_next, MOST), 0);
  CHECK_INT(found.num_blocks == 1 ? found.end_offsets[0] : -9, of_next - 1);
  CHECK_INT(Fenix_Data_subset_delete(&found), FENIX_SUCCESS);
  clear(values, MOST); /* all ask one rank */
  CHECK_INT(common(Fenix_Data_member_restore_from_rank(GROUP, MEMBER, values, MOST, 3, NULL, 0)), FENIX_SUCCESS);
  CHECK_INT(wrong(values, 0, 11, MEMBER, 0, 0), 0);
  int source = rank == size - 1 ? size : 0;
  clear(values, MOST);
  CHECK(common(Fenix_Data_member_restore_from_rank(GROUP, MEMBER, values, MOST, 3, NULL, source)) < 0);
  CHECK_INT(touched(values, 0, MOST), 0);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, MEMBER, NULL, MOST, -1, &found)), FENIX_SUCCESS);
  CHECK_INT(found.specifier, __FENIX_SUBSET_EMPTY);
}

static void check_deletes(int all)
{
  int memory[MOST], values[MOST];
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, FENIX_DATA_SNAPSHOT_LATEST), FENIX_ERROR_INVALID_TIMESTAMP);
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, FENIX_DATA_SNAPSHOT_ALL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, 20, MPI_INT), FENIX_SUCCESS);
  for (int round = 0; round < 18; round++) {
    fill(memory, 20, MEMBER, round);
    CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
    commit(round, 0);
  }
  check_stamps(17, 18);
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, 17), FENIX_ERROR_INVALID_TIMESTAMP);
  check_stamps(16, 17);
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, 16), FENIX_SUCCESS); /* the one with this number */
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, 14), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_snapshot_delete(GROUP, 14), FENIX_ERROR_INVALID_TIMESTAMP);
  CHECK_INT(restored(MEMBER, values, MOST, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS);
  CHECK_INT(wrong(values, 0, 20, MEMBER, 15, rank), 0);
  CHECK_INT(restored(MEMBER, values, MOST, 14), FENIX_SUCCESS);
  CHECK_INT(wrong(values, 0, 20, MEMBER, 13, rank), 0);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  commit(18, 1);
  if (all) CHECK_INT(Fenix_Data_snapshot_delete(GROUP, FENIX_DATA_SNAPSHOT_ALL), FENIX_SUCCESS);
  if (all) CHECK_INT(restored(MEMBER, values, MOST, -1), FENIX_ERROR_NODATA_FOUND);
}

static void check_all_members(void)
{
  int memory[3][MOST], values[MOST];
  const int ids[3] = { 20, 3, 15 };
  for (int with_15 = 0; with_15 < 2; with_15++) {
    for (int i = 0; i < 2 + with_15; i++) {
      int code = Fenix_Data_member_create(GROUP, ids[i], memory[i], own_count(), MPI_INT);
      CHECK_INT(code, with_15 && i < 2 ? FENIX_ERROR_INVALID_MEMBERID : FENIX_SUCCESS);
      fill(memory[i], own_count(), i, with_15);
    }
    CHECK_INT(Fenix_Data_member_store(GROUP, FENIX_DATA_MEMBER_ALL, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
    commit(3 + with_15, 1);
    for (int i = 0; i < 2 + with_15; i++) {
      CHECK_INT(restored(ids[i], values, MOST, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS);
      CHECK_INT(wrong(values, 0, own_count(), i, with_15 && i == 2, rank), 0); /* then only member 15 */
    }
  }
}

static void check_attributes(void)
{
  int memory[MOST], other[MOST], values[MOST], number = -9, flag = -9, count = own_count();
  void* buffer = NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int name[4] = { FENIX_DATA_MEMBER_ATTRIBUTE_COUNT, FENIX_DATA_MEMBER_ATTRIBUTE_SIZE,
                        FENIX_DATA_MEMBER_ATTRIBUTE_BUFFER, FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE };
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, count, MPI_INT), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, name[0], &number, &flag, -1), FENIX_SUCCESS);
  CHECK(number == count && flag == 1);
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, name[1], &number, &flag, -1), FENIX_SUCCESS);
  CHECK(number == sizeof(int) && flag == 1);
  for (int source = -1; source < 1; source++) {
    CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, name[2], &buffer, &flag, source), FENIX_SUCCESS);
    CHECK(buffer == memory && flag == 1);
    CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, name[3], &type, &flag, source), FENIX_SUCCESS);
    CHECK(type == MPI_INT && flag == 1);
  }
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, 10, &number, &flag, -1), FENIX_ERROR_INVALID_ATTRIBUTE_NAME);
  CHECK_INT(flag, 0);
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, 99, name[0], &number, &flag, -1), FENIX_ERROR_INVALID_MEMBERID);
  CHECK(Fenix_Data_member_attr_get(GROUP, MEMBER, name[0], NULL, &flag, -1) < 0);
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, name[0], &number, NULL, -1), FENIX_SUCCESS);

  /* From another rank: all ranks call. */
  int next = (rank + 1) % size;
  CHECK_INT(common(Fenix_Data_member_attr_get(GROUP, MEMBER, name[0], &number, &flag, next)), FENIX_SUCCESS);
  CHECK(number == 11 + 5 * (next % 3) && flag == 1);
  CHECK_INT(common(Fenix_Data_member_attr_get(GROUP, MEMBER, name[0], &number, &flag, 0)), FENIX_SUCCESS);
  CHECK_INT(number, 11);
  CHECK_INT(common(Fenix_Data_member_attr_get(GROUP, MEMBER, name[1], &number, &flag, size - 1)), FENIX_SUCCESS);
  CHECK_INT(number, sizeof(int));
  int source = rank == 0 ? size : 0;
  CHECK_INT(common(Fenix_Data_member_attr_get(GROUP, MEMBER, name[0], &number, &flag, source)),
            FENIX_ERROR_INVALID_ATTRIBUTE_VALUE);
  CHECK_INT(flag, 0);

  number = 9;
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, name[2], other, &flag), FENIX_SUCCESS);
  CHECK_INT(flag, 1);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, name[0], &number, &flag), FENIX_SUCCESS);
  type = MPI_FLOAT;
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, name[3], &type, NULL), FENIX_SUCCESS);
  number = -1;
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, name[0], &number, &flag), FENIX_ERROR_INVALID_ATTRIBUTE_VALUE);
  CHECK_INT(flag, 0);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, name[0], NULL, &flag), FENIX_ERROR_INVALID_ATTRIBUTE_VALUE);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, name[1], &number, &flag), FENIX_ERROR_INVALID_ATTRIBUTE_VALUE);
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, 10, &number, &flag), FENIX_ERROR_INVALID_ATTRIBUTE_NAME);
  type = MPI_DATATYPE_NULL;
  CHECK_INT(Fenix_Data_member_attr_set(GROUP, MEMBER, name[3], &type, &flag), FENIX_ERROR_INVALID_ATTRIBUTE_VALUE);
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, name[0], &number, &flag, -1), FENIX_SUCCESS);
  CHECK_INT(number, 9);
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, name[3], &type, &flag, -1), FENIX_SUCCESS);
  CHECK(type == MPI_FLOAT);
  fill(other, 9, MEMBER, 0);
  clear(memory, MOST);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  commit(3, 1);
  CHECK_INT(restored(MEMBER, values, MOST, -1), FENIX_SUCCESS);
  CHECK_INT(wrong(values, 0, 9, MEMBER, 0, rank), 0);
  CHECK_INT(touched(values, 9, MOST), 0);
}

/* Ranks that are one commit apart come together again. */
static void check_barrier(void)
{
  int memory[MOST], values[MOST], number = -9;
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, memory, 20, MPI_INT), FENIX_SUCCESS);
  fill(memory, 20, MEMBER, 0);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  commit(3, 1);
  fill(memory, 20, MEMBER, 1);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  if (rank != size - 1) commit(4, 0);
  CHECK_INT(common(Fenix_Data_barrier(GROUP)), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_group_get_number_of_snapshots(GROUP, &number), FENIX_SUCCESS);
  CHECK_INT(number, 1);
  CHECK_INT(restored(MEMBER, values, MOST, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS);
  CHECK_INT(wrong(values, 0, 20, MEMBER, 0, rank), 0);
}

static void check_depths(int policy)
{
  for (int depth = -1; depth < 3; depth++) {
    if (!has_group(&policies[policy], 3, depth)) return;
    check_policy(&policies[policy]);
    check_members();
    CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
    CHECK(has_group(&policies[policy], 3, depth));
    check_snapshots(depth);
    CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
  }
}

int main(int argc, char** argv)
{
  void (*const checks[])(void) = { check_subsets, check_other_restores, check_all_members, check_attributes, check_barrier };
  begin(&argc, &argv);
  for (int i = 0; i < POLICIES; i++) {
    check_depths(i);
    for (int check = 0; check < 5; check++) {
      if (!has_group(&policies[i], 3, 3)) continue;
      checks[check]();
      CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
      CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_ERROR_INVALID_GROUPID);
    }
    for (int all = 0; all < 2 && has_group(&policies[i], 0, -1); all++) {
      check_deletes(all);
      CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
    }
  }
  return end();
}
