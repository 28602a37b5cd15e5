/* rankstr_mpi.h: groups of ranks with the same string, and communicators of them. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "rankstr_mpi.h"
#include "check.h"

static int rank, size;

/* The string of a rank; `pattern` says how they are alike. */
static char* string_of(int pattern, int of)
{
  static char text[100001];
  static const char* words[] = {"node12", "node2", "", "\xff", "Node1", "node1", "node", "node 1"};
  switch (pattern) {
    case 0: return "the same";
    case 1: snprintf(text, sizeof text, "host%d", of); break;
    case 2: snprintf(text, sizeof text, "host%d", size - of); break; /* strcmp: 10 before 9 */
    case 3: snprintf(text, sizeof text, "%s", words[of % 8]); break;
    case 4: snprintf(text, sizeof text, "parity%d", of % 2); break;
    default: /* long ones that differ at the end */
      memset(text, 'x', 100000);
      text[99999] = (char)('a' + of % 3);
      text[100000] = '\0';
  }
  return text;
}

static int compare(const void* a, const void* b)
{
  return strcmp(*(char* const*)a, *(char* const*)b);
}

/* The answer, worked out from the strings of all ranks. */
static int position(int pattern, int* groups)
{
  char** all = malloc((size_t)size * sizeof(char*));
  for (int i = 0; i < size; i++) all[i] = strdup(string_of(pattern, i));
  qsort(all, (size_t)size, sizeof(char*), compare);
  const char* own = string_of(pattern, rank);
  int id = -1;
  *groups = 0;
  for (int i = 0; i < size; i++) {
    if (i > 0 && strcmp(all[i], all[i - 1]) == 0) continue;
    if (strcmp(all[i], own) == 0) id = *groups;
    ++*groups;
  }
  for (int i = 0; i < size; i++) free(all[i]);
  free(all);
  return id;
}

static void groups_and_ids(int pattern)
{
  int groups = -7, id = -7, wanted_groups;
  int wanted_id = position(pattern, &wanted_groups);
  rankstr_mpi(string_of(pattern, rank), MPI_COMM_WORLD, 1, 2, &groups, &id);
  CHECK_INT(groups, wanted_groups);
  CHECK_INT(id, wanted_id);
}

static void split(int pattern, int key)
{
  MPI_Comm part = MPI_COMM_WORLD;
  rankstr_mpi_comm_split(MPI_COMM_WORLD, string_of(pattern, rank), key, 1, 2, &part);
  CHECK(part != MPI_COMM_NULL && part != MPI_COMM_WORLD);
  int part_rank, part_size, members = 0, before = 0;
  char* own = strdup(string_of(pattern, rank));
  MPI_Comm_rank(part, &part_rank);
  MPI_Comm_size(part, &part_size);
  for (int i = 0; i < size; i++) {
    if (strcmp(string_of(pattern, i), own) != 0) continue;
    members++;
    /* Equal keys are ordered by rank. */
    before += key < 0 ? i > rank : i < rank;
  }
  CHECK_INT(part_size, members);
  CHECK_INT(part_rank, before);
  free(own);
  int sum = 1, all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, part);
  CHECK_INT(all, members);
  MPI_Comm_free(&part);
}

static void null_strings(int without)
{
  int groups = -7, id = -7;
  rankstr_mpi(rank == without ? NULL : "string", MPI_COMM_WORLD, 1, 2, &groups, &id);
  CHECK_INT(groups, 0);
  CHECK_INT(id, -1);
  groups_and_ids(4);

  MPI_Comm part = MPI_COMM_WORLD;
  rankstr_mpi_comm_split(MPI_COMM_WORLD, rank == without ? NULL : "string", 0, 1, 2, &part);
  CHECK((part == MPI_COMM_NULL) == (rank == without));
  if (part != MPI_COMM_NULL) {
    int part_size;
    MPI_Comm_size(part, &part_size);
    CHECK_INT(part_size, size - 1);
    MPI_Comm_free(&part);
  }
  rankstr_mpi_comm_split(MPI_COMM_WORLD, NULL, 0, 1, 2, &part);
  CHECK(part == MPI_COMM_NULL);

  /* Ranks without a string do not mix with those that give an empty one. */
  rankstr_mpi_comm_split(MPI_COMM_WORLD, rank == without ? NULL : "", 0, 1, 2, &part);
  CHECK((part == MPI_COMM_NULL) == (rank == without));
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
}

static void null_outputs(void)
{
  int groups = -7, id = -7;
  rankstr_mpi("x", MPI_COMM_WORLD, 1, 2, NULL, &id);
  CHECK_INT(id, 0);
  rankstr_mpi("x", MPI_COMM_WORLD, 1, 2, &groups, NULL);
  CHECK_INT(groups, 1);
}

static int handled;

static void handle(MPI_Comm* comm, int* code, ...)
{
  (void)comm;
  (void)code;
  handled++;
}

static void the_error_handler_is_handed_on(void)
{
  MPI_Comm parent, part;
  MPI_Errhandler own, found;
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  MPI_Comm_create_errhandler(handle, &own);
  MPI_Errhandler handlers[] = {own, MPI_ERRORS_RETURN, MPI_ERRORS_ARE_FATAL};
  for (int i = 0; i < 3; i++) {
    MPI_Comm_set_errhandler(parent, handlers[i]);
    rankstr_mpi_comm_split(parent, string_of(4, rank), 0, 1, 2, &part);
    MPI_Comm_get_errhandler(part, &found);
    CHECK(found == handlers[i]);
    MPI_Comm_get_errhandler(parent, &found);
    CHECK(found == handlers[i]);
    if (i == 0) {
      MPI_Comm_call_errhandler(part, MPI_ERR_OTHER);
      CHECK_INT(handled, 1);
    }
    MPI_Comm_free(&part);
  }
  MPI_Errhandler_free(&own);
  MPI_Comm_free(&parent);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_STR(RANKSTR_VERSION, "0.4.0");
  for (int pattern = 0; pattern < 6; pattern++) {
    groups_and_ids(pattern);
    split(pattern, 0);
    split(pattern, rank);
    split(pattern, -rank - 1);
  }
  for (int without = 0; without < size; without += size < 3 ? 1 : size - 1) null_strings(without);
  null_outputs();
  the_error_handler_is_handed_on();
  for (int i = 0; i < 100; i++) split(4, 0);
  return check_result_mpi();
}
