/* A job that survives the loss of a rack.
 *
 * Every rank says where it is: here the ranks are spread over two racks with two nodes each. Placement chooses which
 * ranks protect each other, and reports what that survives. redset protects files in these sets. Then the first rack
 * is lost with all its files, and they come back, as the report has said.
 *   mpicc placement.c $(pkg-config --cflags --libs redset stanchion) -o placement && mpiexec -n 4 ./placement
 */
#include <mpi.h>
#include <redset.h>
#include <stanchion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RACKS = 2, NODES = 4 };

static int rank, ranks;
static char path[64], directory[64], file[128]; /* where this rank is, and what stands for the disk of its node */

/* These calls return the same code on all ranks, so all of them leave here. */
static void need(int code, const char* what)
{
  char why[512] = "";
  if (code == 0) return;
  stanchion_last_error(why, sizeof why);
  fprintf(stderr, "rank %d: %s failed: %s\n", rank, what, why);
  MPI_Finalize();
  exit(1);
}

#define SAY(...) (void)(rank == 0 && printf(__VA_ARGS__))

static int is_in_first_rack(void) { return strncmp(path, "rack0/", 6) == 0; }

static void say_where_we_are(void)
{
  int node = rank * NODES / ranks;
  snprintf(path, sizeof path, "rack%d/node%d", node * RACKS / NODES, node);
  snprintf(directory, sizeof directory, "disk_of_rank%d", rank);
  snprintf(file, sizeof file, "%s/data", directory);
}

/* Rank 0 has the report on the screen, and a picture of the job in placement.svg. */
static void show(const fdp_t* placement)
{
  size_t length = 0, picture_length = 0;
  fdp_report(placement, NULL, &length);
  fdp_picture(placement, NULL, &picture_length);
  char *report = malloc(length), *picture = malloc(picture_length);
  FILE* svg = fopen("placement.svg", "w");
  if (report && fdp_report(placement, report, &length) == 0) printf("%s\n", report);
  if (svg && picture && fdp_picture(placement, picture, &picture_length) == 0) fputs(picture, svg);
  if (svg) fclose(svg);
  free(report);
  free(picture);
}

static void write_file(void)
{
  mkdir(directory, 0755);
  FILE* out = fopen(file, "w");
  for (int line = 0; out && line < 1000; line++) fprintf(out, "line %d of rank %d\n", line, rank);
  if (out) fclose(out);
}

static int is_whole(void)
{
  char found[64], wanted[64];
  int line = 0;
  FILE* in = fopen(file, "r");
  for (; in && fgets(found, sizeof found, in); line++) {
    snprintf(wanted, sizeof wanted, "line %d of rank %d\n", line, rank);
    if (strcmp(found, wanted) != 0) break;
  }
  if (in) fclose(in);
  return line == 1000;
}

/* What a node that is exchanged for a new one has lost: this rank's file, and what redset wrote beside it. */
static void lose_files(redset d, const char* name)
{
  redset_filelist written = redset_filelist_enc_get(name, d);
  remove(file);
  for (int i = 0; i < redset_filelist_count(written); i++) remove(redset_filelist_file(written, i));
  redset_filelist_release(&written);
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  need(redset_init(), "redset_init");
  say_where_we_are();
  if (ranks < NODES) {
    SAY("This example needs %d ranks at least.\n", NODES);
    MPI_Finalize();
    return 0;
  }

  fdp_scheme scheme = { REDSET_COPY_XOR, 0, 2, NULL, 0 };
  fdp_t* placement;
  need(fdp_create(MPI_COMM_WORLD, path, &scheme, &placement), "fdp_create");
  if (rank == 0) show(placement);
  const char* failed[] = { "rack0" };
  int survives = fdp_survives(placement, failed, 1, NULL);
  SAY("The loss of rack0 %s.\n", survives == 1 ? "is survived" : "would lose data");

  char name[96];
  const char* files[] = { file };
  redset d;
  snprintf(name, sizeof name, "%s/ck.", directory);
  write_file();
  need(stanchion_redset_create_placed(MPI_COMM_WORLD, placement, &d), "stanchion_redset_create_placed");
  need(redset_apply(1, files, name, d), "redset_apply");
  fdp_destroy(placement);

  if (is_in_first_rack()) lose_files(d, name);
  redset_delete(&d);
  MPI_Barrier(MPI_COMM_WORLD);
  SAY("rack0 has lost all its files.\n");
  need(redset_recover(MPI_COMM_WORLD, name, &d), "redset_recover");
  redset_delete(&d);

  int whole = is_whole(), all = 0;
  MPI_Allreduce(&whole, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  SAY("%s\n", all ? "All files are there again." : "Files are missing or damaged.");
  redset_finalize();
  MPI_Finalize();
  return !all;
}
