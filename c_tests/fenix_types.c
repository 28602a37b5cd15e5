/* Datatypes: elements lie at their extent, and what is between them is neither stored nor touched. */
#include "fenix_data.h"

#include <stddef.h>

struct particle {
  char kind;
  double place[3];
  short charge;
  int next;
};

enum { MOST = 300, MEMBER = 1 };

static MPI_Datatype particle_type(void)
{
  MPI_Datatype plain, type, parts[3] = { MPI_CHAR, MPI_DOUBLE, MPI_SHORT };
  int lengths[3] = { 1, 3, 1 };
  MPI_Aint places[3] = { offsetof(struct particle, kind), offsetof(struct particle, place), offsetof(struct particle, charge) };
  MPI_Type_create_struct(3, lengths, places, parts, &plain);
  MPI_Type_create_resized(plain, 0, sizeof(struct particle), &type);
  MPI_Type_free(&plain);
  return type; /* not committed, on purpose */
}

/* A column of a matrix of `columns` doubles a row: large elements with holes. */
static MPI_Datatype column_type(int rows, int columns)
{
  MPI_Datatype plain, type;
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &plain);
  MPI_Type_create_resized(plain, 0, sizeof(double), &type);
  MPI_Type_free(&plain);
  MPI_Type_commit(&type);
  return type;
}

static void check_particles(int count)
{
  static struct particle stored[MOST], got[MOST];
  MPI_Datatype type = particle_type(), shown = MPI_DATATYPE_NULL;
  int size_of = -9, flag = -9;
  memset(stored, 0x11, sizeof stored);
  for (int i = 0; i < count; i++) {
    stored[i].kind = (char)(i + rank);
    for (int d = 0; d < 3; d++) stored[i].place[d] = i + 0.25 * d + rank;
    stored[i].charge = (short)(3 * i);
  }
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, stored, count, type), FENIX_SUCCESS);
  MPI_Type_free(&type); /* the library keeps what it needs */
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, FENIX_DATA_MEMBER_ATTRIBUTE_SIZE, &size_of, &flag, -1), FENIX_SUCCESS);
  CHECK_INT(size_of, 1 + 3 * sizeof(double) + sizeof(short));
  CHECK_INT(Fenix_Data_member_attr_get(GROUP, MEMBER, FENIX_DATA_MEMBER_ATTRIBUTE_DATATYPE, &shown, &flag, -1), FENIX_SUCCESS);
  MPI_Type_size(shown, &size_of);
  CHECK_INT(size_of, 1 + 3 * sizeof(double) + sizeof(short));
  Fenix_Data_subset some;
  CHECK_INT(Fenix_Data_subset_create(count / 10, 3, 5, 10, &some), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  for (int i = 0; i < count; i++) stored[i].place[1] += 1000;
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, some), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  memset(got, 0x77, sizeof got);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, MEMBER, got, MOST, -1, NULL)), FENIX_SUCCESS);
  for (int i = 0; i < count; i++) {
    int newer = i < 10 * (count / 10) && i % 10 >= 3 && i % 10 <= 5;
    CHECK_INT(got[i].kind, stored[i].kind);
    CHECK_INT(got[i].charge, stored[i].charge);
    CHECK(got[i].place[0] == stored[i].place[0] && got[i].place[2] == stored[i].place[2]);
    CHECK(got[i].place[1] == stored[i].place[1] - (newer ? 0 : 1000));
    CHECK_INT(got[i].next, 0x77777777); /* holes */
    CHECK_INT(((char*)&got[i])[1], 0x77);
  }
  CHECK_INT(((char*)&got[count])[0], 0x77);
  clear((int*)got, MOST);
  CHECK_INT(Fenix_Data_member_lrestore(GROUP, MEMBER, got, count / 2, -1, NULL), FENIX_WARNING_PARTIAL_RESTORE);
  CHECK_INT(got[0].kind, stored[0].kind);
  CHECK_INT(Fenix_Data_subset_delete(&some), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_member_delete(GROUP, MEMBER), FENIX_SUCCESS);
}

/* Elements so large that each is cut into pieces on its way. */
static void check_columns(int rows, int columns)
{
  size_t bytes = (size_t)rows * (size_t)columns * sizeof(double);
  double *stored = malloc(bytes), *got = malloc(bytes);
  MPI_Datatype type = column_type(rows, columns);
  for (int i = 0; i < rows * columns; i++) stored[i] = i + 0.5 * rank;
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, stored, columns - 1, type), FENIX_SUCCESS);
  MPI_Type_free(&type);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  memset(got, 0x77, bytes);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, MEMBER, got, columns, -1, NULL)), FENIX_SUCCESS);
  int differ = 0, holes = 0;
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns - 1; c++) differ += got[r * columns + c] != stored[r * columns + c];
    holes += memcmp(&got[r * columns + columns - 1], "wwwwwwww", 8) != 0;
  }
  CHECK_INT(differ, 0);
  CHECK_INT(holes, 0);
  CHECK_INT(Fenix_Data_member_delete(GROUP, MEMBER), FENIX_SUCCESS);
  free(stored);
  free(got);
}

/* A type whose first byte is before the address of its element, and one that goes backwards. */
static void check_bounds(void)
{
  int stored[MOST], got[MOST], lengths[2] = { 1, 1 }, places[2] = { -1, 1 };
  MPI_Datatype around, type;
  MPI_Type_indexed(2, lengths, places, MPI_INT, &around);
  MPI_Type_create_resized(around, -(MPI_Aint)sizeof(int), 3 * (MPI_Aint)sizeof(int), &type);
  MPI_Type_free(&around);
  for (int i = 0; i < MOST; i++) stored[i] = 100 * rank + i;
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, stored + 1, 90, type), FENIX_SUCCESS);
  MPI_Type_free(&type);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  clear(got, MOST);
  CHECK_INT(common(Fenix_Data_member_restore(GROUP, MEMBER, got + 1, 90, -1, NULL)), FENIX_SUCCESS);
  for (int i = 0; i < MOST; i++) CHECK_INT(got[i], i < 270 && i % 3 != 1 ? stored[i] : UNTOUCHED);
  CHECK_INT(Fenix_Data_member_delete(GROUP, MEMBER), FENIX_SUCCESS);
}

/* A contiguous type, and the same bytes read by another rank. */
static void check_dense(void)
{
  double stored[30], got[30];
  MPI_Datatype three;
  MPI_Type_contiguous(3, MPI_DOUBLE, &three);
  MPI_Type_commit(&three);
  for (int i = 0; i < 30; i++) stored[i] = i + 100 * rank, got[i] = -1;
  CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, stored, 10, three), FENIX_SUCCESS);
  MPI_Type_free(&three);
  CHECK_INT(Fenix_Data_member_store(GROUP, MEMBER, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS);
  CHECK_INT(Fenix_Data_commit_barrier(GROUP, NULL), FENIX_SUCCESS);
  int source = (rank + size - 1) % size;
  CHECK_INT(common(Fenix_Data_member_restore_from_rank(GROUP, MEMBER, got, 10, -1, NULL, source)), FENIX_SUCCESS);
  for (int i = 0; i < 30; i++) CHECK(got[i] == i + 100 * source);
  CHECK_INT(Fenix_Data_member_delete(GROUP, MEMBER), FENIX_SUCCESS);
}

int main(int argc, char** argv)
{
  begin(&argc, &argv);
  for (int i = 0; i < POLICIES; i++) {
    if (!has_group(&policies[i], 0, 0)) continue;
    MPI_Datatype none;
    MPI_Type_contiguous(0, MPI_INT, &none);
    CHECK_INT(Fenix_Data_member_create(GROUP, MEMBER, &none, 1, none), FENIX_ERROR_MEMBER_CREATE);
    MPI_Type_free(&none);
    check_particles(MOST - 1);
    check_particles(17 + 10 * (rank % 3));
    check_columns(check_size(40000, 200), 3);
    check_bounds();
    check_dense();
    CHECK_INT(Fenix_Data_group_delete(GROUP), FENIX_SUCCESS);
  }
  return end();
}
