/* A member of more than 2 GiB on one rank: stored, lost there, and brought back. */
#include "fenix_data.h"

enum { MEMBER = 1 };

static double expected(long long i) { return (double)(i * 3 + rank); }

int main(int argc, char** argv)
{
  begin(&argc, &argv);
  for (int i = 0; i < POLICIES; i += 2) {
    if (!has_group(&policies[i], 0, 0)) continue;
    long long count = rank == 0 ? check_size(300000000, 1000) : 1000, wrong_ones = 0;
    double* field = malloc((size_t)count * sizeof *field);
    for (long long e = 0; field && e < count; e++) field[e] = expected(e);
    CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, field, (int)count, MPI_DOUBLE), FENIX_SUCCESS);
    CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
    CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
    memset(field, 0, (size_t)count * sizeof *field);
    if (rank == 0) CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
    CHECK(has_group(&policies[i], 0, 0));
    CHECK_INT(common(Fenix_Data_member_restore(GROUP, MEMBER, field, (int)count, -1, NULL)), FENIX_SUCCESS);
    for (long long e = 0; e < count; e++) wrong_ones += field[e] != expected(e);
    CHECK_INT(wrong_ones, 0);
    CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
    free(field);
  }
  return end();
}
