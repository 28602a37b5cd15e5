/* kvtree_print, kvtree_print_mode and kvtree_log: text, indentation, where it goes. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kvtree.h"
#include "stanchion.h"

#include <fcntl.h>
#include <unistd.h>

enum output { OUTPUT = 1, ERRORS = 2 };

static char text[8192];

/* What `print` writes to standard output or standard error. */
static const char* printed(enum output stream, int (*print)(const kvtree*, int, int), const kvtree* tree, int a, int b)
{
  fflush(stdout);
  int saved = dup(stream);
  int file = open("printed", O_RDWR | O_CREAT | O_TRUNC, 0600);
  dup2(file, stream);
  int result = print(tree, a, b);
  fflush(stdout);
  dup2(saved, stream);
  close(saved);
  ssize_t size = pread(file, text, sizeof text - 1, 0);
  close(file);
  text[size < 0 ? 0 : size] = '\0';
  CHECK_INT(result, KVTREE_SUCCESS);
  return text;
}

static int print(const kvtree* tree, int indent, int unused)
{
  (void)unused;
  return kvtree_print(tree, indent);
}

static kvtree* sample(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set(kvtree_set_kv(tree, "nested", "a"), "b", kvtree_new());
  kvtree_set_kv(tree, "two", "1");
  kvtree_set_kv(tree, "two", "2");
  kvtree_set(tree, "empty", kvtree_new());
  kvtree_set_kv(tree, "key", "value");
  return tree;
}

static void modes(void)
{
  kvtree* tree = sample();
  const char* as_tree =
      "  key\n    value\n  empty\n  two\n    2\n    1\n  nested\n    a\n      b\n";
  CHECK_STR(printed(OUTPUT, print, tree, 0, 0), as_tree);
  CHECK_STR(printed(OUTPUT, kvtree_print_mode, tree, 0, KVTREE_PRINT_TREE), as_tree);
  CHECK_STR(printed(OUTPUT, kvtree_print_mode, tree, 0, KVTREE_PRINT_KEYVAL),
            "  key = value\n  empty\n  two\n    2\n    1\n  nested\n    a = b\n");
  CHECK_STR(printed(OUTPUT, print, tree, 3, 0),
            "     key\n       value\n     empty\n     two\n       2\n       1\n     nested\n       a\n         b\n");
  CHECK_STR(printed(OUTPUT, print, NULL, 2, 0), "  NULL LIST\n");
  kvtree_set(tree, "nothing", NULL);
  CHECK(strncmp(printed(OUTPUT, print, tree, 0, 0), "  nothing\n  NULL LIST\n  key\n", 28) == 0);
  kvtree_unset_all(tree);
  CHECK_STR(printed(OUTPUT, print, tree, 0, 0), "");
  kvtree_delete(&tree);
}

static void wide_indent(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set(tree, "k", kvtree_new());
  printed(OUTPUT, print, tree, 3000, 0);
  CHECK_INT(strlen(text), 3000 + 2 + 2);
  CHECK_STR(text + 3002, "k\n");
  CHECK_STR(printed(OUTPUT, print, tree, -5, 0), "  k\n");
  kvtree_delete(&tree);
}

static void among_the_lines_of_the_program(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set(tree, "middle", kvtree_new());
  fflush(stdout);
  int saved = dup(OUTPUT);
  int file = open("printed", O_RDWR | O_CREAT | O_TRUNC, 0600);
  dup2(file, OUTPUT);
  printf("first\n");
  kvtree_print(tree, 0);
  printf("last\n");
  fflush(stdout);
  dup2(saved, OUTPUT);
  close(saved);
  ssize_t size = pread(file, text, sizeof text - 1, 0);
  close(file);
  text[size < 0 ? 0 : size] = '\0';
  CHECK_STR(text, "first\n  middle\nlast\n");
  kvtree_delete(&tree);
}

struct lines {
  char text[1024];
  int level;
};

static void take(int level, const char* line, void* user)
{
  struct lines* lines = user;
  lines->level = level;
  strcat(strcat(lines->text, line), "\n");
}

static void logged(void)
{
  kvtree* tree = kvtree_new();
  kvtree_set_kv(tree, "k", "v");
  stanchion_set_log_level(STANCHION_LOG_NONE);
  CHECK_STR(printed(ERRORS, kvtree_log, tree, 1, 0), "");
  stanchion_set_log_level(STANCHION_LOG_WARNING);
  printed(ERRORS, kvtree_log, tree, STANCHION_LOG_WARNING, 1);
  CHECK(strstr(text, "   k\n") && strstr(text, "     v\n"));
  CHECK_STR(printed(ERRORS, kvtree_log, tree, STANCHION_LOG_INFO, 0), "");
  CHECK_STR(printed(OUTPUT, kvtree_log, tree, STANCHION_LOG_INFO, 0), "");

  struct lines lines = {"", 0};
  stanchion_set_log_callback(take, &lines);
  CHECK_INT(kvtree_log(tree, STANCHION_LOG_WARNING, 1), KVTREE_SUCCESS);
  CHECK_STR(lines.text, "   k\n     v\n");
  CHECK_INT(lines.level, STANCHION_LOG_WARNING);
  lines.text[0] = '\0';
  CHECK_INT(kvtree_log(NULL, STANCHION_LOG_ERROR, 0), KVTREE_SUCCESS);
  CHECK_STR(lines.text, "NULL LIST\n");
  CHECK_INT(lines.level, STANCHION_LOG_ERROR);
  stanchion_set_log_callback(NULL, NULL);
  stanchion_set_log_level(STANCHION_LOG_NONE);
  kvtree_delete(&tree);
}

int main(void)
{
  modes();
  wide_indent();
  among_the_lines_of_the_program();
  logged();
  return check_result();
}
