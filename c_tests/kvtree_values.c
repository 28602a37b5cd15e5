/* kvtree_util.h, kvtree_setf and kvtree_getf: how values are written down, and what is read back. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kvtree.h"
#include "kvtree_util.h"

#include <float.h>
#include <limits.h>
#include <math.h>

static void texts(void)
{
  kvtree* tree = kvtree_new();
  int place = 0;
  kvtree_util_set_bytecount(tree, "bytes", 18446744073709551615UL);
  CHECK_STR(kvtree_get_val(tree, "bytes"), "18446744073709551615");
  kvtree_util_set_crc32(tree, "crc", 0xdeadbeefUL);
  CHECK_STR(kvtree_get_val(tree, "crc"), "0xdeadbeef");
  kvtree_util_set_crc32(tree, "crc", 0);
  CHECK_STR(kvtree_get_val(tree, "crc"), "0");
  kvtree_util_set_crc32(tree, "crc", 0x1000000ffUL); /* 32 bits count */
  CHECK_STR(kvtree_get_val(tree, "crc"), "0xff");
  kvtree_util_set_int(tree, "int", INT_MIN);
  CHECK_STR(kvtree_get_val(tree, "int"), "-2147483648");
  kvtree_util_set_unsigned_long(tree, "ulong", 0);
  CHECK_STR(kvtree_get_val(tree, "ulong"), "0");
  kvtree_util_set_int64(tree, "int64", INT64_MIN);
  CHECK_STR(kvtree_get_val(tree, "int64"), "-9223372036854775808");
  kvtree_util_set_str(tree, "str", "");
  CHECK_STR(kvtree_get_val(tree, "str"), "");
  kvtree_util_set_ptr(tree, "ptr", NULL);
  CHECK_STR(kvtree_get_val(tree, "ptr"), "(nil)");
  kvtree_util_set_ptr(tree, "ptr", &place);
  char text[32];
  snprintf(text, sizeof text, "%p", (void*)&place);
  CHECK_STR(kvtree_get_val(tree, "ptr"), text);
  CHECK_INT(kvtree_size(tree), 7);
  kvtree_delete(&tree);
}

static void what_was_set_is_got(void)
{
  kvtree* tree = kvtree_new();
  unsigned long count = 0;
  uLong crc = 0;
  int number = 0;
  int64_t wide = 0;
  char* text = NULL;
  void* address = &count;
  unsigned long counts[] = {0, 1, 4294967296UL, ULONG_MAX};
  for (int i = 0; i < 4; i++) {
    kvtree_util_set_bytecount(tree, "k", counts[i]);
    CHECK_INT(kvtree_util_get_bytecount(tree, "k", &count), KVTREE_SUCCESS);
    CHECK(count == counts[i]);
    kvtree_util_set_unsigned_long(tree, "k", counts[i]);
    CHECK_INT(kvtree_util_get_unsigned_long(tree, "k", &count), KVTREE_SUCCESS);
    CHECK(count == counts[i]);
    kvtree_util_set_crc32(tree, "k", counts[i]);
    CHECK_INT(kvtree_util_get_crc32(tree, "k", &crc), KVTREE_SUCCESS);
    CHECK(crc == (counts[i] & 0xffffffffUL));
  }
  int numbers[] = {0, -1, INT_MAX, INT_MIN};
  int64_t wides[] = {0, -1, INT64_MAX, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    kvtree_util_set_int(tree, "k", numbers[i]);
    CHECK_INT(kvtree_util_get_int(tree, "k", &number), KVTREE_SUCCESS);
    CHECK_INT(number, numbers[i]);
    kvtree_util_set_int64(tree, "k", wides[i]);
    CHECK_INT(kvtree_util_get_int64(tree, "k", &wide), KVTREE_SUCCESS);
    CHECK_INT(wide, wides[i]);
  }
  kvtree_util_set_str(tree, "k", "some text\n");
  CHECK_INT(kvtree_util_get_str(tree, "k", &text), KVTREE_SUCCESS);
  CHECK_STR(text, "some text\n");
  CHECK(text == kvtree_get_val(tree, "k"));
  kvtree_util_set_str(tree, "k", NULL);
  CHECK(kvtree_util_get_str(tree, "k", &text) != KVTREE_SUCCESS);
  CHECK(kvtree_elem_get(tree, "k") != NULL);
  kvtree_util_set_ptr(tree, "k", tree);
  CHECK_INT(kvtree_util_get_ptr(tree, "k", &address), KVTREE_SUCCESS);
  CHECK(address == tree);
  kvtree_util_set_ptr(tree, "k", NULL);
  CHECK_INT(kvtree_util_get_ptr(tree, "k", &address), KVTREE_SUCCESS);
  CHECK(address == NULL);
  CHECK_INT(kvtree_size(tree), 1);
  CHECK_INT(kvtree_size(kvtree_get(tree, "k")), 1);
  kvtree_delete(&tree);
}

static void what_stands_below_a_value(void)
{
  kvtree* tree = kvtree_new();
  kvtree_util_set_int(tree, "int", 1);
  CHECK(kvtree_get_kv(tree, "int", "1") != NULL);
  kvtree_util_set_str(tree, "str", "s");
  CHECK(kvtree_get_kv(tree, "str", "s") != NULL);
  kvtree_util_set_bytecount(tree, "bytes", 1);
  CHECK(kvtree_elem_get(kvtree_get(tree, "bytes"), "1") != NULL);
  CHECK(kvtree_get_kv(tree, "bytes", "1") == NULL); /* nothing, until it is copied */
  kvtree* copy = kvtree_new();
  kvtree_merge(copy, tree);
  CHECK(kvtree_get_kv(copy, "bytes", "1") != NULL);
  kvtree_delete(&copy);
  kvtree_delete(&tree);
}

static void bases(void)
{
  static const struct {
    const char* text;
    unsigned long wanted;
  } cases[] = {{"0x10", 16}, {"010", 8}, {"10", 10}, {"0X1f", 31}, {"0", 0},  {" 7", 7},
               {"7 8", 7},   {"", 0},    {"x", 0},   {"0x", 0},    {"09", 0}, {"99999999999999999999", ULONG_MAX}};
  kvtree* tree = kvtree_new();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned long count = 1, value = 1;
    uLong crc = 1;
    int64_t wide = 1;
    kvtree_util_set_str(tree, "k", cases[i].text);
    CHECK_INT(kvtree_util_get_bytecount(tree, "k", &count), KVTREE_SUCCESS);
    CHECK_INT(kvtree_util_get_unsigned_long(tree, "k", &value), KVTREE_SUCCESS);
    CHECK_INT(kvtree_util_get_crc32(tree, "k", &crc), KVTREE_SUCCESS);
    CHECK_INT(kvtree_util_get_int64(tree, "k", &wide), KVTREE_SUCCESS);
    CHECK(count == cases[i].wanted);
    CHECK(value == cases[i].wanted);
    CHECK(crc == cases[i].wanted);
    CHECK_INT(wide, cases[i].wanted > INT64_MAX ? INT64_MAX : (int64_t)cases[i].wanted);
  }
  int number = 1;
  kvtree_util_set_str(tree, "k", "010"); /* an int is decimal */
  kvtree_util_get_int(tree, "k", &number);
  CHECK_INT(number, 10);
  kvtree_util_set_str(tree, "k", "0x10");
  kvtree_util_get_int(tree, "k", &number);
  CHECK_INT(number, 0);
  int64_t wide = 0;
  kvtree_util_set_str(tree, "k", "-0x10");
  kvtree_util_get_int64(tree, "k", &wide);
  CHECK_INT(wide, -16);
  kvtree_delete(&tree);
}

static void missing_and_ambiguous(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set(tree, "empty", kvtree_new());
  kvtree_set(tree, "nothing", NULL);
  kvtree_set_kv(tree, "two", "1");
  kvtree_set_kv(tree, "two", "2");
  const char* keys[] = {"missing", "empty", "nothing", "two"};
  for (int i = 0; i < 4; i++) {
    unsigned long count = 7;
    uLong crc = 7;
    int64_t wide = 7;
    double real = 7;
    char text[] = "t", *string = text;
    void* address = text;
    CHECK(kvtree_util_get_bytecount(tree, keys[i], &count) != KVTREE_SUCCESS);
    CHECK(kvtree_util_get_unsigned_long(tree, keys[i], &count) != KVTREE_SUCCESS);
    CHECK(kvtree_util_get_crc32(tree, keys[i], &crc) != KVTREE_SUCCESS);
    CHECK(kvtree_util_get_int64(tree, keys[i], &wide) != KVTREE_SUCCESS);
    CHECK(kvtree_util_get_double(tree, keys[i], &real) != KVTREE_SUCCESS);
    CHECK(kvtree_util_get_str(tree, keys[i], &string) != KVTREE_SUCCESS);
    CHECK(kvtree_util_get_ptr(tree, keys[i], &address) != KVTREE_SUCCESS);
    CHECK(count == 7 && crc == 7 && wide == 7 && real == 7 && string == text && address == text);
  }
  int number = 7;
  for (int i = 0; i < 3; i++) CHECK(kvtree_util_get_int(tree, keys[i], &number) != KVTREE_SUCCESS);
  CHECK_INT(number, 7);
  CHECK_INT(kvtree_util_get_int(tree, "two", &number), KVTREE_SUCCESS); /* an int takes the first */
  CHECK_INT(number, 2);
  kvtree_delete(&tree);
}

static void setters_replace_all_values(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set_kv(tree, "k", "1");
  kvtree_set_kv(tree, "k", "2");
  kvtree_set_kv(tree, "later", "x");
  kvtree_util_set_int64(tree, "k", 3);
  CHECK_STR(kvtree_get_val(tree, "k"), "3");
  CHECK_STR(kvtree_elem_key(kvtree_elem_first(tree)), "k");
  kvtree_delete(&tree);
}

static void doubles(void)
{
  double values[] = {0.0,     -0.0,     1.5,     0.25,     0.1,      1e-9,  1 / 3e5, DBL_MIN, DBL_MAX,
                     -DBL_MAX, INFINITY, -INFINITY, 5e-324, 123456.789, 1e300, -1e-300, DBL_EPSILON};
  kvtree* tree = kvtree_new();
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    double got = 7;
    kvtree_util_set_double(tree, "k", values[i]);
    CHECK_INT(kvtree_util_get_double(tree, "k", &got), KVTREE_SUCCESS);
    if (memcmp(&got, &values[i], sizeof got) != 0) fprintf(stderr, "%a is read back as %a\n", values[i], got);
    CHECK(memcmp(&got, &values[i], sizeof got) == 0);
    /* Others can read it, too. */
    double other = strtod(kvtree_get_val(tree, "k"), NULL);
    CHECK(memcmp(&other, &values[i], sizeof got) == 0);
  }
  kvtree_util_set_double(tree, "k", 1.5);
  CHECK_STR(kvtree_get_val(tree, "k"), "1.500000");
  kvtree_util_set_double(tree, "k", 0.25);
  CHECK_STR(kvtree_get_val(tree, "k"), "0.250000");
  kvtree_util_set_double(tree, "k", 0.1);
  CHECK_STR(kvtree_get_val(tree, "k"), "0.100000");
  kvtree_util_set_double(tree, "k", -0.0);
  CHECK_STR(kvtree_get_val(tree, "k"), "-0.000000");

  double got = 7;
  kvtree_util_set_double(tree, "k", NAN);
  CHECK_INT(kvtree_util_get_double(tree, "k", &got), KVTREE_SUCCESS);
  CHECK(isnan(got));
  got = 7;
  kvtree_util_set_str(tree, "k", "1e999");
  CHECK(kvtree_util_get_double(tree, "k", &got) != KVTREE_SUCCESS);
  CHECK(got == 7);
  kvtree_util_set_str(tree, "k", "0.000003");
  CHECK_INT(kvtree_util_get_double(tree, "k", &got), KVTREE_SUCCESS);
  CHECK(got == 0.000003);
  kvtree_delete(&tree);
}

static void formats(void)
{
  kvtree* tree = kvtree_new();
  kvtree* value = kvtree_new();
  CHECK(kvtree_setf(tree, value, "%s %d %lld %lu %llu %#x %#lx %f %p", "text", -1, -2LL, 3UL, 4ULL, 0x5u, 0x6UL, 0.5,
                    NULL) == value);
  CHECK(kvtree_getf(tree, "%s %s %s %s %s %s %s %s %s", "text", "-1", "-2", "3", "4", "0x5", "0x6", "0.500000", "(nil)") ==
        value);
  CHECK(kvtree_getf(tree, "%s %d %lld %lu %llu %#x %#lx %f %p", "text", -1, -2LL, 3UL, 4ULL, 0x5u, 0x6UL, 0.5, NULL) ==
        value);
  CHECK(kvtree_getf(tree, "%s %d", "text", -2) == NULL);
  CHECK(kvtree_getf(tree, "%s  %d ", "text", -1) == kvtree_get_kv(tree, "text", "-1"));
  CHECK(kvtree_getf(tree, "") == tree);
  CHECK(kvtree_setf(tree, NULL, "") == tree);
  CHECK(kvtree_setf(tree, NULL, "%#x", 0u) == NULL);
  CHECK(kvtree_elem_get(tree, "0") != NULL);

  /* Replaces and moves to the head, as kvtree_set does. */
  kvtree* other = kvtree_new();
  CHECK(kvtree_setf(tree, other, "%s", "text") == other);
  CHECK(kvtree_get(tree, "text") == other);
  CHECK_STR(kvtree_elem_key(kvtree_elem_first(tree)), "text");

  kvtree* kept = kvtree_new();
  const char* unknown[] = {"%q", "%s %q", "text", "%5d", "%s%d", "%"};
  for (int i = 0; i < 6; i++) {
    CHECK(kvtree_setf(tree, kept, unknown[i], "name", 1) == NULL);
    CHECK(kvtree_getf(tree, unknown[i], "text", 1) == NULL);
  }
  CHECK_INT(kvtree_size(tree), 2);
  kvtree_delete(&kept);

  static char key[5001];
  memset(key, 'k', sizeof key - 1);
  value = kvtree_new();
  CHECK(kvtree_setf(tree, value, "%s %s", key, key) == value);
  CHECK(kvtree_getf(tree, "%s %s", key, key) == value);
  CHECK(kvtree_get_kv(tree, key, key) == value);
  kvtree_delete(&tree);
}

int main(void)
{
  texts();
  what_was_set_is_got();
  what_stands_below_a_value();
  bases();
  missing_and_ambiguous();
  setters_replace_all_values();
  doubles();
  formats();
  return check_result();
}
