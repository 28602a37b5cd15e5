/* Memory that runs out: in turn each of the first requests for memory that a call makes fails, on one rank. No call ends
 * the process or waits for ever, all ranks give the same verdict, and what succeeds has the right data.
 * alloc_faults_calls [sample|large|all] [how many requests fail in a row] [case]
 * `all` goes through each of the first requests, the others through a sample; with `large`, data has some MiB, so that
 * not only small requests fail. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include "fenix.h"
#include "kvtree.h"
#include "kvtree_mpi.h"
#include "kvtree_util.h"
#include "pio.h"
#include "redset.h"
#include "stanchion.h"

#include "alloc_faults.h"
#include "check.h"

#include <unistd.h>

enum { REQUESTS = 600, ENTRIES = 40, PATIENCE_SECONDS = 60 };

static int rank, size, faulty;
static const char* current;
static int elements; /* of data: numbers, four bytes each */
static int *numbers, *back;

/* One verdict on all ranks; where they differ, all go on as if it had failed. */
static int common(int failed, const char* what)
{
  int both[2] = { failed != 0, failed == 0 }, any[2];
  MPI_Allreduce(both, any, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any[0] && any[1]) {
    char why[200] = "";
    stanchion_last_error(why, sizeof why);
    check_failed(current, 0, what, failed ? why : "a success", "the same on all ranks");
  }
  return any[0];
}

/* The calls of a case, one after the other, until one fails. */
#define DO(call)                                   \
  do {                                             \
    if (common((call) != 0, #call)) return 1;      \
  } while (0)

/* ---- trees ---- */

static kvtree* filled(void)
{
  kvtree* tree = kvtree_new();
  for (int i = 0; tree && i < ENTRIES; i++) {
    char key[16];
    snprintf(key, sizeof key, "key%d", i);
    kvtree* below = kvtree_set(tree, key, kvtree_new());
    if (!below || kvtree_util_set_int(below, "value", i) != KVTREE_SUCCESS) kvtree_delete(&tree);
  }
  return tree;
}

static int is_filled(const kvtree* tree)
{
  for (int i = 0; i < ENTRIES; i++) {
    char key[16];
    int value = -1;
    snprintf(key, sizeof key, "key%d", i);
    if (kvtree_util_get_int(kvtree_get(tree, key), "value", &value) != KVTREE_SUCCESS || value != i) return 0;
  }
  return 1;
}

/* Calls of one process: each rank for itself. */
static int trees(void)
{
  kvtree *tree = filled(), *read = kvtree_new();
  char name[32];
  snprintf(name, sizeof name, "tree.%d", rank);
  int failed = !tree || !read || kvtree_write_file(name, tree) != KVTREE_SUCCESS ||
               kvtree_read_file(name, read) != KVTREE_SUCCESS || kvtree_sort(read, KVTREE_SORT_ASCENDING) != KVTREE_SUCCESS;
  if (!failed) CHECK(is_filled(read));
  kvtree_delete(&tree);
  kvtree_delete(&read);
  return failed;
}

static kvtree *shared, *got;

static void prepare_trees(void)
{
  shared = filled();
  got = kvtree_new();
}

static int exchange_trees(void)
{
  kvtree* told = kvtree_new();
  kvtree* to = kvtree_new();
  char right[16];
  snprintf(right, sizeof right, "%d", (rank + 1) % size);
  kvtree_merge(told, shared);
  kvtree_set(to, right, told);
  int failed = common(kvtree_exchange(to, got, MPI_COMM_WORLD) != KVTREE_SUCCESS, "kvtree_exchange");
  kvtree_delete(&to);
  if (failed) return 1;
  DO(kvtree_write_gather("gathered", shared, MPI_COMM_WORLD));
  kvtree_unset_all(got);
  DO(kvtree_read_scatter("gathered", got, MPI_COMM_WORLD));
  CHECK(is_filled(got));
  return 0;
}

static int broadcast_tree(void)
{
  if (rank) kvtree_unset_all(shared);
  DO(kvtree_bcast(shared, 0, MPI_COMM_WORLD));
  CHECK(is_filled(shared));
  return 0;
}

static void release_trees(void)
{
  kvtree_delete(&shared);
  kvtree_delete(&got);
}

/* ---- files ---- */

static char file_name[32];
static redset descriptor;

static void write_bytes(void)
{
  snprintf(file_name, sizeof file_name, "data.%d", rank);
  FILE* file = fopen(file_name, "w");
  CHECK(file && fwrite(numbers, sizeof *numbers, elements, file) == (size_t)elements && fclose(file) == 0);
  descriptor = NULL;
}

static int has_bytes(void)
{
  FILE* file = fopen(file_name, "r");
  int whole = file && fread(back, sizeof *back, elements, file) == (size_t)elements && fgetc(file) == EOF;
  if (file) fclose(file);
  return whole && memcmp(back, numbers, elements * sizeof *numbers) == 0;
}

static int protect(void)
{
  const char* files[] = { file_name };
  char group[16];
  snprintf(group, sizeof group, "node%d", rank);
  DO(redset_create_xor(MPI_COMM_WORLD, group, 4, &descriptor));
  DO(redset_apply(1, files, "set", descriptor));
  DO(redset_delete(&descriptor));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) unlink(file_name);
  DO(redset_recover(MPI_COMM_WORLD, "set", &descriptor));
  CHECK(has_bytes());
  DO(redset_unapply("set", descriptor));
  return 0;
}

static void release_files(void)
{
  if (descriptor) redset_delete(&descriptor);
}

/* ---- failure domains ---- */

static int place(void)
{
  static char texts[64][32];
  const char* paths[64];
  for (int i = 0; i < 64; i++) {
    snprintf(texts[i], sizeof texts[i], "rack%d/node%d/%d", i / 16, i / 4, i);
    paths[i] = texts[i];
  }
  fdp_scheme scheme = { .type = REDSET_COPY_XOR, .set_size = 4 };
  fdp_t* placement = NULL;
  fdt_t* tree = NULL;
  static char report[1 << 16];
  size_t length = sizeof report;
  int failed = fdp_create_local(paths, 64, &scheme, &placement) != 0 || fdp_report(placement, report, &length) != 0;
  failed = failed || fdt_create_paths(paths, 64, '/', &tree) != 0;
  fdp_destroy(placement);
  fdt_destroy(tree);
  return failed;
}

static int place_together(void)
{
  char path[32];
  snprintf(path, sizeof path, "rack%d/node%d", rank / 2, rank);
  fdp_scheme scheme = { .type = REDSET_COPY_PARTNER, .count = 1, .set_size = 2 };
  fdp_t* placement = NULL;
  int failed = common(fdp_create(MPI_COMM_WORLD, path, &scheme, &placement) != 0, "fdp_create");
  fdp_destroy(placement);
  return failed;
}

/* ---- data in memory ---- */

static MPI_Comm resilient;

static int keep_in_memory(void)
{
  int policy[3] = { 1, 1, 0 }, flag, stamp;
  DO(Fenix_Data_group_create(7, resilient, 0, 2, FENIX_DATA_POLICY_IN_MEMORY_RAID, policy, &flag));
  DO(Fenix_Data_member_create(7, 3, numbers, elements, MPI_INT));
  DO(Fenix_Data_member_store(7, 3, FENIX_DATA_SUBSET_FULL));
  DO(Fenix_Data_commit_barrier(7, &stamp));
  DO(Fenix_Data_member_restore(7, 3, back, elements, FENIX_DATA_SNAPSHOT_LATEST, NULL));
  CHECK(memcmp(back, numbers, elements * sizeof *numbers) == 0);
  return 0;
}

static void release_group(void) { Fenix_Data_group_delete(7); }

/* ---- arrays in files ---- */

static int system_id = -1, file_id, decomposition;
static PIO_Offset* map;

static void start_pio(void) { system_id = file_id = decomposition = -1; }

static int write_array(void)
{
  int dims[1] = { elements * size }, type = PIO_IOTYPE_PNETCDF, dim, variable;
  if (!PIOc_iotype_available(type)) type = PIO_IOTYPE_NETCDF;
  DO(PIOc_Init_Intracomm(MPI_COMM_WORLD, size, 1, 0, PIO_REARR_BOX, &system_id));
  DO(PIOc_init_decomp(system_id, PIO_INT, 1, dims, elements, map, &decomposition, PIO_REARR_BOX, NULL, NULL));
  DO(PIOc_createfile(system_id, &file_id, &type, "array.nc", PIO_CLOBBER));
  DO(PIOc_def_dim(file_id, "x", elements * size, &dim));
  DO(PIOc_def_var(file_id, "v", PIO_INT, 1, &dim, &variable));
  DO(PIOc_put_att_text(file_id, variable, "units", 1, "m"));
  DO(PIOc_enddef(file_id));
  DO(PIOc_write_darray(file_id, variable, decomposition, elements, numbers, NULL));
  DO(PIOc_sync(file_id));
  DO(PIOc_read_darray(file_id, variable, decomposition, elements, back));
  CHECK(memcmp(back, numbers, elements * sizeof *numbers) == 0);
  return 0;
}

static void end_pio(void)
{
  if (file_id >= 0) PIOc_closefile(file_id);
  if (decomposition >= 0) PIOc_freedecomp(system_id, decomposition);
  if (system_id >= 0) PIOc_finalize(system_id);
}

/* ---- all ---- */

static void nothing(void) {}

static void make_data(int large)
{
  elements = large ? 700000 : 700;
  numbers = malloc(elements * sizeof *numbers);
  back = malloc(elements * sizeof *back);
  map = malloc(elements * sizeof *map);
  for (int i = 0; i < elements; i++) numbers[i] = i * 7 + rank, map[i] = (PIO_Offset)i * size + rank;
}

static const struct {
  const char* name;
  void (*prepare)(void);
  int (*run)(void); /* whether it failed */
  void (*release)(void);
} cases[] = {
  { "trees", nothing, trees, nothing },
  { "exchange_trees", prepare_trees, exchange_trees, release_trees },
  { "broadcast_tree", prepare_trees, broadcast_tree, release_trees },
  { "protect", write_bytes, protect, release_files },
  { "place", nothing, place, nothing },
  { "place_together", nothing, place_together, nothing },
  { "keep_in_memory", nothing, keep_in_memory, release_group },
  { "write_array", start_pio, write_array, end_pio },
};

/* How many requests the case makes on the rank that makes most. `first` of 0: none fails. */
static long run(int which, long first, long count, int* failed)
{
  current = cases[which].name;
  cases[which].prepare();
  memset(back, 0, elements * sizeof *back);
  faulty = first > 0 && rank == first % size;
  MPI_Barrier(MPI_COMM_WORLD);
  alarm(PATIENCE_SECONDS);
  alloc_faults_arm(faulty ? first : LONG_MAX, faulty ? count : 0);
  *failed = cases[which].run();
  long seen = alloc_faults_seen(), most;
  alloc_faults_arm(LONG_MAX, 0);
  cases[which].release();
  MPI_Allreduce(&seen, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static int has_file_library(void)
{
  return PIOc_iotype_available(PIO_IOTYPE_PNETCDF) || PIOc_iotype_available(PIO_IOTYPE_NETCDF);
}

static void run_all(int which, int samples, long count)
{
  if (cases[which].run == write_array && !has_file_library()) return;
  int failed, failures = 0, runs = 0;
  run(which, 0, 0, &failed); /* what is made once for all */
  long requests = run(which, 0, 0, &failed);
  CHECK_INT(failed, 0);
  CHECK(requests > 0);
  if (requests > REQUESTS) requests = REQUESTS;
  long step = requests < samples ? 1 : requests / samples;
  for (long first = 1; first <= requests; first += step, runs++) {
    run(which, first, count, &failed);
    failures += failed;
  }
  run(which, 0, 0, &failed);
  CHECK_INT(failed, 0);
  if (rank == 0) printf("%-16s %3ld requests, %3d runs, %3d of them failed\n", cases[which].name, requests, runs, failures);
}

/* No request of one rank succeeds any more, and it fills a tree: at last it is told so, and so are all ranks. */
static void spend_reserve(void)
{
  enum { TOO_MANY = 100000 };
  current = "spend_reserve";
  kvtree* tree = kvtree_new();
  fdp_scheme scheme = { .type = REDSET_COPY_PARTNER, .count = 1, .set_size = 2 };
  fdp_t* placement = NULL;
  redset d = NULL;
  char why[200] = "";
  int entries = 0;
  faulty = rank == size - 1;
  alloc_faults_arm(faulty ? 1 : LONG_MAX, faulty ? LONG_MAX : 0);
  while (faulty && entries < TOO_MANY && kvtree_set_kv_int(tree, "key", entries)) entries++;
  CHECK(entries < TOO_MANY);
  CHECK(common(redset_create_single(MPI_COMM_WORLD, "group", &d) != 0, "redset_create_single"));
  stanchion_last_error(why, sizeof why);
  CHECK(strstr(why, "memory has run out"));
  CHECK(common(fdp_create(MPI_COMM_WORLD, "node", &scheme, &placement) != 0, "fdp_create"));
  alloc_faults_arm(LONG_MAX, 0);
  CHECK_INT(kvtree_size(kvtree_get(tree, "key")), entries);
  kvtree_delete(&tree);
  CHECK_INT(common(redset_create_single(MPI_COMM_WORLD, "group", &d) != 0, "redset_create_single"), 0);
  redset_delete(&d);
}

int main(int argc, char** argv)
{
  int role, error;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Fenix_Init(&role, MPI_COMM_WORLD, &resilient, &argc, &argv, 0, 0, MPI_INFO_NULL, &error);
  CHECK_INT(error, 0);
  PIOc_Set_IOSystem_Error_Handling(PIO_DEFAULT, PIO_RETURN_ERROR);
  redset_init();
  const char* mode = argc > 1 ? argv[1] : "sample";
  int large = strcmp(mode, "large") == 0, all = strcmp(mode, "all") == 0;
  make_data(large);
  long count = argc > 2 ? atol(argv[2]) : 1;
  for (size_t which = 0; which < sizeof cases / sizeof *cases; which++)
    if (argc <= 3 || strcmp(argv[3], cases[which].name) == 0) run_all((int)which, all ? REQUESTS : large ? 40 : 12, count);
  alarm(PATIENCE_SECONDS);
  spend_reserve();
  CHECK_INT(Fenix_Finalize(), 0);
  return check_result_mpi();
}
