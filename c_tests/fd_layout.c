/* Failure-domain layouts: trees, tolerance, maps both ways (also those that Motr computed: golden/fd_golden.txt, whose
 * directory is the argument), verdicts, repair, and errors instead of aborts. */
#include "check.h"
#include "stanchion.h"

#include <errno.h>

static const fd_gfid file = {7, 9};

/* Every domain of a level has as many children. */
static fdt_t* regular(const uint32_t* children, unsigned depth)
{
  size_t per_level[8], all = 0, width = 1;
  for (unsigned level = 0; level < depth; level++) {
    per_level[level] = width;
    all += width;
    width *= children[level];
  }
  uint32_t *degrees = malloc(all * sizeof *degrees), *next = degrees;
  for (unsigned level = 0; level < depth; level++)
    for (size_t i = 0; i < per_level[level]; i++) *next++ = children[level];
  fdt_t* tree = NULL;
  CHECK_INT(fdt_create_degrees(degrees, per_level, depth, &tree), 0);
  free(degrees);
  return tree;
}

static fdt_layout_t* layout_of(const fdt_t* tree, uint32_t data, uint32_t parity, uint32_t spare)
{
  fdt_attr attr = {.data = data, .parity = parity, .spare = spare};
  fdt_layout_t* layout = NULL;
  CHECK_INT(fdt_ft_perm_generate(tree, &attr, &layout), 0);
  return layout;
}

static void trees(void)
{
  const char* paths[] = {"r1/n0", "r0/n0", "r1/n1", "r0/n1", "r2/n0"};
  fdt_t* tree = NULL;
  CHECK_INT(fdt_create_paths(paths, 5, '/', &tree), 0);
  uint32_t depth = 0;
  uint64_t width = 0;
  fdt_domain domain = {9, 9};
  CHECK_INT(fdt_depth_get(tree, &depth), 0);
  CHECK_INT(depth, 2);
  CHECK_INT(fdt_width_get(tree, 0, &width), 0);
  CHECK_INT(width, 3);
  CHECK_INT(fdt_width_get(tree, 2, &width), -EINVAL);
  CHECK_INT(fdt_domain_find(tree, "r0/n1", '/', &domain), 0);
  CHECK_INT(domain.level, 1);
  CHECK_INT(domain.index, 3);
  CHECK_INT(fdt_domain_find(tree, "r2", '/', &domain), 0);
  CHECK_INT(domain.level, 0);
  CHECK_INT(fdt_domain_find(tree, "r3", '/', &domain), -ENOENT);

  /* Two racks of two nodes and one of one: a symmetric tree of 3 x 1. */
  fdt_attr attr = {.data = 2, .parity = 1};
  uint32_t children[2] = {0, 0}, states[2] = {9, 9};
  CHECK_INT(fdt_vsymm_tree_generate(tree, &attr, children, &depth, states), 0);
  CHECK_INT(depth, 2);
  CHECK_INT(children[0], 3);
  CHECK_INT(children[1], 1);
  CHECK_INT(states[0], FDT_LEVEL_KEPT);
  attr.spare = 1;
  CHECK_INT(fdt_vsymm_tree_generate(tree, &attr, children, &depth, states), -ENOSPC);
  attr.options = FDT_WATER_FILLING;
  CHECK_INT(fdt_vsymm_tree_generate(tree, &attr, children, &depth, states), 1);
  attr.options = 0;
  const uint32_t wanted[2] = {1, 1};
  attr.tolerance = wanted;
  CHECK_INT(fdt_vsymm_tree_generate(tree, &attr, children, &depth, states), 0);
  CHECK_INT(depth, 1);
  CHECK_INT(children[0], 5);
  CHECK_INT(states[0], FDT_LEVEL_UNMET);
  CHECK_INT(states[1], FDT_LEVEL_KEPT);
  fdt_destroy(tree);

  const char* twice[] = {"a/b", "a/c", "a/b"};
  const char* uneven[] = {"a/b", "a"};
  const char* hollow[] = {"a//b"};
  const char* null[] = {"a/b", NULL};
  const char* bytes[] = {"\xff/b"};
  tree = NULL;
  CHECK_INT(fdt_create_paths(twice, 3, '/', &tree), -EEXIST);
  CHECK_INT(fdt_create_paths(uneven, 2, '/', &tree), -EINVAL);
  CHECK_INT(fdt_create_paths(hollow, 1, '/', &tree), -EINVAL);
  CHECK_INT(fdt_create_paths(null, 2, '/', &tree), -EINVAL);
  CHECK_INT(fdt_create_paths(bytes, 1, '/', &tree), -EINVAL);
  CHECK_INT(fdt_create_paths(twice, 2, '\0', &tree), -EINVAL);
  CHECK_INT(fdt_create_paths(twice, 0, '/', &tree), -EINVAL);
  const uint32_t empty[] = {2, 1, 0};
  const size_t per_level[] = {1, 2}, wrong[] = {1, 1};
  CHECK_INT(fdt_create_degrees(empty, per_level, 2, &tree), -EINVAL);
  CHECK_INT(fdt_create_degrees(empty, wrong, 2, &tree), -EINVAL);
  CHECK_INT(fdt_create_degrees(empty, per_level, 0, &tree), -EINVAL);
  CHECK(tree == NULL);
  char text[128];
  CHECK(stanchion_last_error(text, sizeof text) > 0);
}

static void tolerance(void)
{
  const uint32_t children[] = {8, 7, 2, 4}, odd[] = {2, 3, 2, 4}, five[] = {5, 2};
  uint32_t exact[4], bound[4], bad = 9;
  CHECK_INT(fdt_tolerance_max(children, 4, 8, 2, 2, exact, bound), 0);
  const uint32_t wanted[] = {1, 2, 2, 2};
  CHECK(memcmp(exact, wanted, sizeof wanted) == 0);
  CHECK(memcmp(bound, wanted, sizeof wanted) == 0);
  CHECK_INT(fdt_tolerance_max(five, 2, 3, 3, 0, exact, bound), 0);
  CHECK_INT(exact[0], 2);
  CHECK_INT(bound[0], 1);
  CHECK_INT(fdt_tolerance_max(five, 2, 8, 3, 0, exact, NULL), -ENOSPC);
  CHECK_INT(fdt_tolerance_max(five, 2, 0, 3, 0, exact, NULL), -EINVAL);

  /* Motr accepts this one. */
  const uint32_t too_much[] = {0, 1, 3, 5}, fine[] = {0, 1, 2, 5};
  CHECK_INT(fdt_tolerance_check(odd, 4, 5, 5, 5, too_much, &bad), 1);
  CHECK_INT(bad, 2);
  CHECK_INT(fdt_tolerance_check(odd, 4, 5, 5, 5, fine, &bad), 0);

  const uint32_t document[] = {9, 2, 2, 4};
  size_t count = 0, room;
  CHECK_INT(fdt_tolerance_vectors(document, 4, 8, 5, 5, NULL, &count), 1);
  CHECK(count > 4);
  room = count;
  uint32_t* vectors = malloc(4 * count * sizeof *vectors);
  CHECK_INT(fdt_tolerance_vectors(document, 4, 8, 5, 5, vectors, &room), 0);
  CHECK_INT(room, count);
  fdt_t* tree = regular(document, 4);
  fdt_layout_t* layout = layout_of(tree, 8, 5, 5);
  fdt_destroy(tree); /* the layout keeps what it needs */
  for (size_t i = 0; i < count; i++) {
    fdt_verdict verdict = {0, 0, 0};
    CHECK_INT(fdt_failvec_check(layout, vectors + 4 * i, FDT_EXACT, &verdict), 0);
    CHECK(verdict.tolerable);
  }
  free(vectors);

  uint64_t a[5 * 4], b[5];
  uint32_t rows = 0;
  CHECK_INT(fdt_polytope_get(layout, a, b, &rows), 0);
  CHECK_INT(rows, 1);
  CHECK_INT(a[0], 5);
  CHECK_INT(a[1], 2);
  CHECK_INT(b[0], 10);
  const uint32_t outside[] = {2, 0, 0, 1}, lost[] = {2, 0, 0, 2}, many[] = {10, 0, 0, 0};
  fdt_verdict verdict;
  CHECK_INT(fdt_failvec_check(layout, outside, FDT_POLYTOPE_B, &verdict), 0);
  CHECK_INT(verdict.tolerable, 0);
  CHECK_INT(fdt_failvec_check(layout, outside, FDT_SUM, &verdict), 0);
  CHECK_INT(verdict.tolerable, 1);
  CHECK_INT(fdt_failvec_check(layout, lost, FDT_EXACT, &verdict), 0);
  CHECK_INT(verdict.tolerable, 0);
  CHECK_INT(verdict.loss, 6);
  CHECK_INT(verdict.slack, 0);
  CHECK_INT(fdt_failvec_check(layout, many, FDT_EXACT, &verdict), -EINVAL);
  CHECK_INT(fdt_failvec_check(layout, lost, 3, &verdict), -EINVAL);

  /* A node in a rack that failed as well counts once. */
  const fdt_domain set[] = {{0, 3}, {1, 6}, {3, 50}, {0, 4}};
  CHECK_INT(fdt_failset_check(layout, set, 4, &verdict), 0);
  CHECK_INT(verdict.loss, 4);
  CHECK_INT(verdict.slack, 1);
  CHECK_INT(fdt_failset_check(layout, NULL, 0, &verdict), 0);
  CHECK_INT(verdict.loss, 0);
  const fdt_domain nowhere = {4, 0};
  CHECK_INT(fdt_failset_check(layout, &nowhere, 1, &verdict), -ENOENT);
  fdt_layout_destroy(layout);
}

static void maps(void)
{
  const uint32_t children[] = {4, 3, 2};
  fdt_t* tree = regular(children, 3);
  fdt_layout_t* layout = layout_of(tree, 4, 2, 1);
  fdt_shape shape;
  CHECK_INT(fdt_layout_get(layout, &shape), 0);
  CHECK_INT(shape.units, 7);
  CHECK_INT(shape.targets, 24);
  CHECK_INT(shape.used, 24);
  CHECK_INT(shape.rows, 7);
  CHECK_INT(shape.groups, 24);
  CHECK_INT(shape.filled, 0);
  for (uint64_t group = 1000; group < 1000 + shape.groups; group++) {
    uint64_t seen = 0;
    for (uint32_t unit = 0; unit < shape.units; unit++) {
      uint64_t target, frame, group_back = 0;
      uint32_t unit_back = 99;
      CHECK_INT(fd_pg2tgt_map(layout, file, group, unit, &target, &frame), 0);
      CHECK(!(seen & (uint64_t)1 << target));
      seen |= (uint64_t)1 << target;
      CHECK_INT(fd_tgt2pg_map(layout, file, target, frame, &group_back, &unit_back), 0);
      CHECK_INT(group_back, group);
      CHECK_INT(unit_back, unit);
    }
  }
  uint64_t target, frame, group;
  uint32_t unit;
  CHECK_INT(fd_pg2tgt_map(layout, file, 0, 7, &target, &frame), -EINVAL);
  CHECK_INT(fd_tgt2pg_map(layout, file, 24, 0, &group, &unit), -EINVAL);
  CHECK_INT(fd_tgt2pg_map(layout, file, 0, UINT64_MAX, &group, &unit), -ERANGE);

  /* Repair: the spare takes a lost unit; then there is none left. */
  uint32_t slots[6] = {0, 1, 2, 3, 4, 5};
  fdt_domain failed[2] = {{2, 0}, {2, 0}};
  CHECK_INT(fd_pg2tgt_map(layout, file, 5, 2, &failed[0].index, &frame), 0);
  CHECK_INT(fd_pg2tgt_map(layout, file, 5, 4, &failed[1].index, &frame), 0);
  CHECK_INT(fd_repair_map(layout, file, 5, failed, 1, slots), 0);
  CHECK_INT(slots[2], 6);
  CHECK_INT(fd_repair_map(layout, file, 5, failed, 2, slots), 1);
  CHECK_INT(slots[2], 6);
  CHECK_INT(slots[4], FD_UNPLACED);
  fdt_domain all[3] = {{0, 0}, {0, 1}, {0, 2}};
  CHECK_INT(fd_repair_map(layout, file, 5, all, 3, slots), -EIO);
  fdt_layout_destroy(layout);
  fdt_destroy(tree);
}

/* Racks of 4, 4, 4, 4 and 1: no symmetric tree, but a rack may fail. */
static void water(void)
{
  const uint32_t degrees[] = {5, 4, 4, 4, 4, 1};
  const size_t per_level[] = {1, 5};
  fdt_t* tree = NULL;
  CHECK_INT(fdt_create_degrees(degrees, per_level, 2, &tree), 0);
  fdt_attr attr = {.data = 6, .parity = 2};
  fdt_layout_t* layout = NULL;
  CHECK_INT(fdt_ft_perm_generate(tree, &attr, &layout), -ENOSPC);
  CHECK(layout == NULL);
  attr.options = FDT_WATER_FILLING;
  CHECK_INT(fdt_ft_perm_generate(tree, &attr, &layout), 0);
  uint32_t exact[2];
  CHECK_INT(fdt_layout_tolerance(layout, exact, NULL), 0);
  CHECK_INT(exact[0], 1);
  CHECK_INT(exact[1], 2);
  uint64_t target, frame, group = 0;
  uint32_t unit = 0;
  CHECK_INT(fd_pg2tgt_map(layout, file, 77, 3, &target, &frame), 0);
  CHECK_INT(fd_tgt2pg_map(layout, file, target, frame, &group, &unit), 0);
  CHECK_INT(group, 77);
  CHECK_INT(unit, 3);
  fdt_layout_destroy(layout);
  attr.mode = 7;
  CHECK_INT(fdt_ft_perm_generate(tree, &attr, &layout), -EINVAL);
  attr.mode = 0;
  attr.options = 2;
  CHECK_INT(fdt_ft_perm_generate(tree, &attr, &layout), -EINVAL);
  attr.options = 0;
  attr.first_level = 2;
  CHECK_INT(fdt_ft_perm_generate(tree, &attr, &layout), -EINVAL);
  fdt_destroy(tree);
}

/* "[[3], [2, 2, 2]]": the numbers, and how many each inner list has. */
static fdt_t* tree_of(const char* text)
{
  uint32_t degrees[64];
  size_t per_level[8] = {0}, all = 0;
  unsigned depth = 0;
  for (const char* at = text + 1; *at; at++) {
    if (*at == ']') depth++;
    if (*at < '0' || *at > '9') continue;
    degrees[all++] = (uint32_t)strtoul(at, (char**)&at, 10);
    per_level[depth]++;
    at--;
  }
  fdt_t* tree = NULL;
  CHECK_INT(fdt_create_degrees(degrees, per_level, depth - 1, &tree), 0);
  return tree;
}

static void golden(const char* directory)
{
  char path[4096], line[512];
  snprintf(path, sizeof path, "%s/fd_golden.txt", directory);
  FILE* values = fopen(path, "r");
  CHECK(values != NULL);
  if (!values) return;
  fdt_layout_t* layout = NULL;
  fd_gfid gfid = {0, 0};
  int checked = 0;
  while (fgets(line, sizeof line, values)) {
    if (line[0] == '#') continue;
    char* degrees = strchr(line, ';');
    if (degrees) {
      fdt_attr attr = {.mode = FDT_MOTR_COMPAT};
      unsigned long long numbers[4] = {0};
      char* units = strchr(degrees + 1, ';');
      *units++ = '\0';
      CHECK_INT(sscanf(units, "%u %u %u;%llu %llu;%llu %llu", &attr.data, &attr.parity, &attr.spare, &numbers[0],
                       &numbers[1], &numbers[2], &numbers[3]), 7);
      attr.seed[0] = numbers[0];
      attr.seed[1] = numbers[1];
      gfid.container = numbers[2];
      gfid.key = numbers[3];
      fdt_t* tree = tree_of(degrees + 1);
      fdt_layout_destroy(layout);
      layout = NULL;
      CHECK_INT(fdt_ft_perm_generate(tree, &attr, &layout), 0);
      fdt_destroy(tree);
      continue;
    }
    unsigned long long group, target, frame;
    uint64_t found_target = 0, found_frame = 0, found_group = 0;
    uint32_t unit, found_unit = 0;
    CHECK_INT(sscanf(line, "%llu %u -> %llu %llu", &group, &unit, &target, &frame), 4);
    CHECK_INT(fd_pg2tgt_map(layout, gfid, group, unit, &found_target, &found_frame), 0);
    CHECK_INT(found_target, target);
    CHECK_INT(found_frame, frame);
    CHECK_INT(fd_tgt2pg_map(layout, gfid, target, frame, &found_group, &found_unit), 0);
    CHECK_INT(found_group, group);
    CHECK_INT(found_unit, unit);
    checked++;
  }
  CHECK_INT(checked, 162);
  fdt_layout_destroy(layout);
  fclose(values);
}

static void null(void)
{
  const uint32_t children[] = {3, 2};
  const char* path = "a";
  const size_t one = 1;
  uint32_t number;
  uint64_t large;
  size_t count = 0;
  fdt_domain domain;
  fdt_t* tree = NULL;
  fdt_attr attr = {.data = 2, .parity = 1};
  CHECK_INT(fdt_create_paths(NULL, 1, '/', &tree), -EINVAL);
  CHECK_INT(fdt_create_paths(&path, 1, '/', NULL), -EINVAL);
  CHECK_INT(fdt_create_degrees(NULL, &one, 1, &tree), -EINVAL);
  CHECK_INT(fdt_create_degrees(children, NULL, 1, &tree), -EINVAL);
  CHECK_INT(fdt_create_degrees(children, &one, 1, NULL), -EINVAL);
  CHECK_INT(fdt_depth_get(NULL, &number), -EINVAL);
  CHECK_INT(fdt_width_get(NULL, 0, &large), -EINVAL);
  CHECK_INT(fdt_domain_find(NULL, path, '/', &domain), -EINVAL);
  CHECK_INT(fdt_vsymm_tree_generate(NULL, &attr, &number, &number, NULL), -EINVAL);
  CHECK_INT(fdt_tolerance_max(NULL, 2, 2, 1, 0, NULL, NULL), -EINVAL);
  CHECK_INT(fdt_tolerance_max(children, 2, 2, 1, 0, NULL, NULL), 0);
  CHECK_INT(fdt_tolerance_check(children, 2, 2, 1, 0, NULL, NULL), -EINVAL);
  CHECK_INT(fdt_tolerance_vectors(children, 2, 2, 1, 0, NULL, NULL), -EINVAL);
  CHECK_INT(fdt_tolerance_vectors(NULL, 2, 2, 1, 0, NULL, &count), -EINVAL);
  fdt_layout_t* layout = NULL;
  CHECK_INT(fdt_ft_perm_generate(NULL, &attr, &layout), -EINVAL);
  tree = regular(children, 2);
  CHECK_INT(fdt_depth_get(tree, NULL), -EINVAL);
  CHECK_INT(fdt_width_get(tree, 0, NULL), -EINVAL);
  CHECK_INT(fdt_domain_find(tree, NULL, '/', &domain), -EINVAL);
  CHECK_INT(fdt_domain_find(tree, "0", '/', NULL), -EINVAL);
  CHECK_INT(fdt_vsymm_tree_generate(tree, &attr, NULL, &number, NULL), -EINVAL);
  CHECK_INT(fdt_ft_perm_generate(tree, NULL, &layout), -EINVAL);
  CHECK_INT(fdt_ft_perm_generate(tree, &attr, NULL), -EINVAL);
  layout = layout_of(tree, 2, 1, 0);
  fdt_verdict verdict;
  fdt_shape shape;
  uint32_t slots[3] = {0, 1, 2};
  const fdt_layout_t* layouts[] = {NULL, layout};
  for (int real = 0; real < 2; real++) {
    const fdt_layout_t* here = layouts[real];
    CHECK_INT(fdt_layout_get(here, real ? NULL : &shape), -EINVAL);
    CHECK_INT(fd_pg2tgt_map(here, file, 0, 0, real ? NULL : &large, &large), -EINVAL);
    CHECK_INT(fd_pg2tgt_map(here, file, 0, 0, &large, real ? NULL : &large), -EINVAL);
    CHECK_INT(fd_tgt2pg_map(here, file, 0, 0, real ? NULL : &large, &number), -EINVAL);
    CHECK_INT(fd_tgt2pg_map(here, file, 0, 0, &large, real ? NULL : &number), -EINVAL);
    CHECK_INT(fdt_failvec_check(here, real ? NULL : children, FDT_SUM, &verdict), -EINVAL);
    CHECK_INT(fdt_failset_check(here, real ? NULL : &domain, 1, &verdict), -EINVAL);
    CHECK_INT(fdt_failset_check(here, NULL, 0, real ? NULL : &verdict), -EINVAL);
    CHECK_INT(fdt_polytope_get(here, NULL, NULL, real ? NULL : &number), -EINVAL);
    CHECK_INT(fd_repair_map(here, file, 0, NULL, 0, real ? NULL : slots), -EINVAL);
  }
  CHECK_INT(fdt_layout_tolerance(NULL, &number, NULL), -EINVAL);
  fdt_layout_destroy(layout);
  fdt_destroy(tree);
  fdt_layout_destroy(NULL);
  fdt_destroy(NULL);
}

int main(int argc, char** argv)
{
  trees();
  tolerance();
  maps();
  water();
  if (argc > 1) golden(argv[1]);
  CHECK(argc > 1);
  null();
  return check_result();
}
