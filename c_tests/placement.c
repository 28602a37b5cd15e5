/* fdp_*: sets placed by failure domains, without MPI. */
#define _POSIX_C_SOURCE 200809L
#include "stanchion.h"
#include "check.h"

#include <errno.h>

enum { RANKS = 16 };

/* 2 racks of 2 chassis of 2 nodes of 2 ranks */
static const char* paths[RANKS] = {
  "r0/c0/n0", "r0/c0/n0", "r0/c0/n1", "r0/c0/n1", "r0/c1/n2", "r0/c1/n2", "r0/c1/n3", "r0/c1/n3",
  "r1/c2/n4", "r1/c2/n4", "r1/c2/n5", "r1/c2/n5", "r1/c3/n6", "r1/c3/n6", "r1/c3/n7", "r1/c3/n7",
};

static fdp_t* placed(int type, int count, int set_size)
{
  fdp_scheme scheme = { type, count, set_size, NULL, 0 };
  fdp_t* placement = NULL;
  CHECK_INT(fdp_create_local(paths, RANKS, &scheme, &placement), 0);
  return placement;
}

static void sets(void)
{
  fdp_t* placement = placed(REDSET_COPY_RS, 2, 4);
  int ranks, count;
  unsigned levels;
  CHECK_INT(fdp_size(placement, &ranks, &count, &levels), 0);
  CHECK_INT(ranks, RANKS);
  CHECK_INT(count, 4);
  CHECK_INT(levels, 4);
  CHECK_INT(fdp_size(placement, NULL, NULL, NULL), 0);
  int seen[RANKS] = { 0 };
  for (int set = 0; set < count; set++) {
    int members[RANKS];
    size_t size = 0;
    CHECK_INT(fdp_members(placement, set, NULL, &size), 0);
    CHECK_INT(size, 4);
    size = 3;
    CHECK_INT(fdp_members(placement, set, members, &size), -ERANGE);
    CHECK_INT(size, 4);
    CHECK_INT(fdp_members(placement, set, members, &size), 0);
    for (int place = 0; place < (int)size; place++) {
      int of, at, ranks_of_set;
      CHECK_INT(fdp_get(placement, members[place], &of, &at, &ranks_of_set), 0);
      CHECK_INT(of, set);
      CHECK_INT(at, place);
      CHECK_INT(ranks_of_set, 4);
      seen[members[place]]++;
    }
  }
  for (int rank = 0; rank < RANKS; rank++) CHECK_INT(seen[rank], 1);
  CHECK_INT(fdp_get(placement, 0, NULL, NULL, NULL), 0);
  fdp_destroy(placement);
}

static void tolerance(void)
{
  fdp_t* placement = placed(REDSET_COPY_RS, 2, 4);
  uint32_t wanted[4] = { 1, 2, 2, 2 }, any, weakest;
  for (unsigned level = 0; level < 4; level++) {
    CHECK_INT(fdp_tolerance(placement, level, &any, &weakest), 0);
    CHECK_INT(any, wanted[level]);
    CHECK(weakest < 4);
  }
  CHECK_INT(fdp_tolerance(placement, 0, NULL, NULL), 0);
  fdp_destroy(placement);
  placement = placed(REDSET_COPY_PARTNER, 1, 2);
  for (unsigned level = 0; level < 4; level++) {
    CHECK_INT(fdp_tolerance(placement, level, &any, NULL), 0);
    CHECK_INT(any, 1);
  }
  fdp_destroy(placement);
}

static void survival(void)
{
  fdp_t* placement = placed(REDSET_COPY_XOR, 0, 2);
  const char* rack[] = { "r0", "r0/c0", "r0/c1/n3", "r0/c0/n0/1" };
  const char* both[] = { "r0/c0", "r1" };
  const char* unknown[] = { "r0/c9" };
  int lost = 77;
  CHECK_INT(fdp_survives(placement, rack, 4, &lost), 1);
  CHECK_INT(lost, -1);
  CHECK_INT(fdp_survives(placement, both, 2, &lost), 0);
  CHECK(lost >= 0);
  CHECK_INT(fdp_survives(placement, both, 2, NULL), 0);
  CHECK_INT(fdp_survives(placement, NULL, 0, &lost), 1);
  CHECK_INT(fdp_survives(placement, unknown, 1, &lost), -ENOENT);
  fdp_destroy(placement);
}

struct seen {
  const fdp_t* placement;
  int count, most;
};

static int see(const char* const* domains, size_t count, int lost_set, void* user)
{
  struct seen* seen = user;
  int lost;
  CHECK_INT(count, 2); /* XOR: two ranks of a set, and never one domain */
  CHECK_INT(fdp_survives(seen->placement, domains, count, &lost), 0);
  CHECK_INT(lost, lost_set);
  return ++seen->count == seen->most ? 5 : 0;
}

static void scenarios(void)
{
  fdp_t* placement = placed(REDSET_COPY_XOR, 0, 2);
  struct seen seen = { placement, 0, -1 };
  CHECK_INT(fdp_scenarios(placement, 1, see, &seen), 0);
  CHECK_INT(seen.count, 0);
  CHECK_INT(fdp_scenarios(placement, 3, see, &seen), 0);
  CHECK_INT(seen.count, RANKS / 2); /* the two ranks of each set */
  seen.count = 0;
  seen.most = 3;
  CHECK_INT(fdp_scenarios(placement, 3, see, &seen), 5);
  CHECK_INT(seen.count, 3);
  CHECK_INT(fdp_scenarios(placement, 3, NULL, NULL), -EINVAL);
  fdp_destroy(placement);
}

typedef int writer(const fdp_t*, char*, size_t*);

/* The text that a function writes, to be freed. */
static char* written(writer* write, const fdp_t* placement)
{
  size_t length = 0, cut = 10;
  char few[10] = "unchanged";
  CHECK_INT(write(placement, NULL, &length), 0);
  CHECK_INT(write(placement, few, &cut), -ERANGE);
  CHECK_INT(cut, length);
  CHECK_STR(few, "unchanged");
  char* text = malloc(length);
  CHECK_INT(write(placement, text, &length), 0);
  CHECK_INT(strlen(text) + 1, length);
  return text;
}

static void texts(void)
{
  fdp_t* placement = placed(REDSET_COPY_XOR, 0, 4);
  char* json = written(fdp_report, placement);
  CHECK(strstr(json, "\"name\": \"XOR\"") != NULL);
  CHECK(strstr(json, "\"level\": 1, \"domains\": 4, \"tolerance\": 1") != NULL);
  CHECK(strstr(json, "{\"domains\": [\"r0\"], \"lost_set\": 0}") != NULL);
  free(json);
  char* svg = written(fdp_picture, placement);
  CHECK(strncmp(svg, "<svg", 4) == 0);
  CHECK(strstr(svg, "survives the loss of any 1 of the 4 domains of level 1") != NULL);
  free(svg);
  fdp_destroy(placement);
}

static void required(void)
{
  uint32_t one_rack[1] = { 1 }, two_racks[5] = { 2, 0, 0, 0, 0 }, any;
  fdp_scheme scheme = { REDSET_COPY_XOR, 0, 8, one_rack, 1 };
  fdp_t* placement = NULL;
  CHECK_INT(fdp_create_local(paths, RANKS, &scheme, &placement), 0);
  CHECK_INT(fdp_tolerance(placement, 0, &any, NULL), 0);
  CHECK_INT(any, 1);
  fdp_destroy(placement);
  scheme.required = two_racks;
  CHECK_INT(fdp_create_local(paths, RANKS, &scheme, &placement), -ENOTSUP);
  CHECK(placement == NULL);
  char text[512];
  stanchion_last_error(text, sizeof text);
  CHECK(strstr(text, "level 0") != NULL);
  CHECK(strstr(text, "[1, 1, 1, 1]") != NULL);
  scheme.levels = 5;
  CHECK_INT(fdp_create_local(paths, RANKS, &scheme, &placement), -EINVAL);
}

static void refused(const char* const* wrong, size_t count, fdp_scheme scheme)
{
  fdp_t* placement = (fdp_t*)paths;
  CHECK_INT(fdp_create_local(wrong, count, &scheme, &placement), -EINVAL);
  CHECK(placement == NULL);
}

static void errors(void)
{
  fdp_scheme xor = { REDSET_COPY_XOR, 0, 4, NULL, 0 };
  const char* uneven[] = { "r0/c0", "r0" };
  const char* empty[] = { "r0", "" };
  const char* missing[] = { "r0", NULL };
  const char* no_text[] = { "r0", "\xff" };
  refused(NULL, 3, xor);
  refused(paths, 0, xor);
  refused(paths, 1, xor);
  refused(uneven, 2, xor);
  char text[512];
  stanchion_last_error(text, sizeof text);
  CHECK(strstr(text, "rank 1") != NULL);
  refused(empty, 2, xor);
  refused(missing, 2, xor);
  refused(no_text, 2, xor);
  refused(paths, RANKS, (fdp_scheme){ REDSET_COPY_XOR, 0, 1, NULL, 0 });
  refused(paths, RANKS, (fdp_scheme){ REDSET_COPY_XOR, 0, -4, NULL, 0 });
  refused(paths, RANKS, (fdp_scheme){ REDSET_COPY_RS, -1, 4, NULL, 0 });
  refused(paths, RANKS, (fdp_scheme){ REDSET_COPY_RS, 4, 4, NULL, 0 });
  refused(paths, RANKS, (fdp_scheme){ REDSET_COPY_PARTNER, 0, 4, NULL, 0 });
  refused(paths, RANKS, (fdp_scheme){ 99, 0, 4, NULL, 0 });
  fdp_t* placement = NULL;
  CHECK_INT(fdp_create_local(paths, RANKS, NULL, &placement), -EINVAL);
  CHECK_INT(fdp_create_local(paths, RANKS, &xor, NULL), -EINVAL);

  placement = placed(REDSET_COPY_XOR, 0, 4);
  int number;
  size_t length = 4;
  CHECK_INT(fdp_get(placement, -1, &number, NULL, NULL), -EINVAL);
  CHECK_INT(fdp_get(placement, RANKS, &number, NULL, NULL), -EINVAL);
  CHECK_INT(fdp_members(placement, 4, &number, &length), -EINVAL);
  CHECK_INT(fdp_members(placement, 0, &number, NULL), -EINVAL);
  CHECK_INT(fdp_tolerance(placement, 4, NULL, NULL), -EINVAL);
  CHECK_INT(fdp_survives(placement, NULL, 1, NULL), -EINVAL);
  CHECK_INT(fdp_report(placement, NULL, NULL), -EINVAL);
  fdp_destroy(placement);

  CHECK_INT(fdp_size(NULL, NULL, NULL, NULL), -EINVAL);
  CHECK_INT(fdp_get(NULL, 0, NULL, NULL, NULL), -EINVAL);
  CHECK_INT(fdp_members(NULL, 0, NULL, &length), -EINVAL);
  CHECK_INT(fdp_tolerance(NULL, 0, NULL, NULL), -EINVAL);
  CHECK_INT(fdp_scenarios(NULL, 1, see, NULL), -EINVAL);
  CHECK_INT(fdp_survives(NULL, NULL, 0, NULL), -EINVAL);
  CHECK_INT(fdp_report(NULL, NULL, &length), -EINVAL);
  CHECK_INT(fdp_picture(NULL, NULL, &length), -EINVAL);
  fdp_destroy(NULL);
}

int main(void)
{
  sets();
  tolerance();
  survival();
  scenarios();
  texts();
  required();
  errors();
  return check_result();
}
