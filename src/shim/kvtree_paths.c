/* kvtree_setf and kvtree_getf: fetching variadic arguments is what Rust cannot do. The format is cut
 * at spaces, each piece names the type of one argument; what the arguments mean is decided in Rust
 * (src/capi/kvtree/paths.rs). */
#include "kvtree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum kind { UNKNOWN, STRING, SIGNED, UNSIGNED, HEX, REAL, ADDRESS };

struct key_argument {
  int kind;
  const char* text;
  int64_t as_signed;
  uint64_t as_unsigned;
  double real;
};

kvtree* stanchion_internal_kvtree_setf(kvtree* hash, kvtree* value, const struct key_argument* arguments, size_t count);
kvtree* stanchion_internal_kvtree_getf(const kvtree* hash, const struct key_argument* arguments, size_t count);

struct arguments {
  struct key_argument* list;
  size_t count;
  char* tokens; /* a copy of the format, cut into strings */
};

static struct key_argument fetch(const char* token, va_list* source)
{
  struct key_argument argument = {UNKNOWN, token, 0, 0, 0.0};
  if (strcmp(token, "%s") == 0) {
    argument.kind = STRING;
    argument.text = va_arg(*source, const char*);
  } else if (strcmp(token, "%d") == 0) {
    argument.kind = SIGNED;
    argument.as_signed = va_arg(*source, int);
  } else if (strcmp(token, "%lld") == 0) {
    argument.kind = SIGNED;
    argument.as_signed = va_arg(*source, long long);
  } else if (strcmp(token, "%lu") == 0) {
    argument.kind = UNSIGNED;
    argument.as_unsigned = va_arg(*source, unsigned long);
  } else if (strcmp(token, "%llu") == 0) {
    argument.kind = UNSIGNED;
    argument.as_unsigned = va_arg(*source, unsigned long long);
  } else if (strcmp(token, "%#x") == 0) {
    argument.kind = HEX;
    argument.as_unsigned = va_arg(*source, unsigned int);
  } else if (strcmp(token, "%#lx") == 0) {
    argument.kind = HEX;
    argument.as_unsigned = va_arg(*source, unsigned long);
  } else if (strcmp(token, "%f") == 0) {
    argument.kind = REAL;
    argument.real = va_arg(*source, double);
  } else if (strcmp(token, "%p") == 0) {
    argument.kind = ADDRESS;
    argument.as_unsigned = (uint64_t)(uintptr_t)va_arg(*source, void*);
  }
  return argument;
}

/* An unknown token ends the list: the size of its argument is not known, so no other can be fetched. */
static int fetch_all(struct arguments* all, const char* format, va_list* source)
{
  size_t length = format ? strlen(format) : 0;
  all->count = 0;
  all->tokens = malloc(length + 1);
  all->list = malloc((length / 2 + 1) * sizeof(*all->list));
  if (!format || !all->tokens || !all->list) return 0;
  memcpy(all->tokens, format, length + 1);

  char* rest = NULL;
  char* token = strtok_r(all->tokens, " ", &rest);
  int known = 1;
  while (token && known) {
    all->list[all->count] = fetch(token, source);
    known = all->list[all->count].kind != UNKNOWN;
    all->count++;
    token = strtok_r(NULL, " ", &rest);
  }
  return 1;
}

static void forget_all(struct arguments* all)
{
  free(all->tokens);
  free(all->list);
}

kvtree* kvtree_setf(kvtree* hash, kvtree* hash_value, const char* format, ...)
{
  struct arguments all;
  kvtree* found = NULL;
  va_list source;
  va_start(source, format);
  if (fetch_all(&all, format, &source))
    found = stanchion_internal_kvtree_setf(hash, hash_value, all.list, all.count);
  va_end(source);
  forget_all(&all);
  return found;
}

kvtree* kvtree_getf(const kvtree* hash, const char* format, ...)
{
  struct arguments all;
  kvtree* found = NULL;
  va_list source;
  va_start(source, format);
  if (fetch_all(&all, format, &source))
    found = stanchion_internal_kvtree_getf(hash, all.list, all.count);
  va_end(source);
  forget_all(&all);
  return found;
}
