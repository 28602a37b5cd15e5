/* What the redset tests share: files with a known content, and taking them away and comparing them. */
#ifndef REDSET_FILES_H
#define REDSET_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* Eight texts live at a time. */
static inline char* text(const char* format, ...)
{
  static char texts[8][4096];
  static int turn;
  char* result = texts[turn++ % 8];
  va_list values;
  va_start(values, format);
  vsnprintf(result, sizeof texts[0], format, values);
  va_end(values);
  return result;
}

struct bytes {
  char* data;
  long size; /* -1: there is no such file */
};

static inline struct bytes read_bytes(const char* path)
{
  struct bytes file = {NULL, -1};
  struct stat found;
  int fd = open(path, O_RDONLY);
  if (fd < 0) return file;
  if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode)) {
    file.size = (long)found.st_size;
    file.data = malloc((size_t)file.size + 1);
    for (long got = 0, n = 1; got < file.size && n > 0; got += n) n = read(fd, file.data + got, (size_t)(file.size - got));
  }
  close(fd);
  return file;
}

static inline int write_bytes(const char* path, struct bytes file)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return -1;
  long done = 0, n = 1;
  for (; done < file.size && n > 0; done += n) n = write(fd, file.data + done, (size_t)(file.size - done));
  return close(fd) == 0 && done == file.size ? 0 : -1;
}

static inline int same_bytes(struct bytes a, struct bytes b)
{
  return a.size == b.size && (a.size <= 0 || memcmp(a.data, b.data, (size_t)a.size) == 0);
}

static inline void free_bytes(struct bytes* file)
{
  free(file->data);
  file->data = NULL;
  file->size = -1;
}

/* Bytes that only this seed gives. */
static inline struct bytes made_bytes(long size, unsigned seed)
{
  struct bytes file = {malloc((size_t)size + 8), size};
  unsigned state = seed * 2654435761u + 12345u;
  if (state == 0) state = 1;
  for (long i = 0; i < size; i += 4) {
    unsigned word = check_random(&state);
    memcpy(file.data + i, &word, 4);
  }
  return file;
}

static inline int file_is(const char* path, struct bytes wanted)
{
  struct bytes found = read_bytes(path);
  int same = same_bytes(found, wanted);
  free_bytes(&found);
  return same;
}

static inline int file_exists(const char* path)
{
  struct stat found;
  return stat(path, &found) == 0;
}

/* Turns one bit of the byte at `at`, counted from the end if negative. */
static inline void flip(const char* path, long at)
{
  struct bytes file = read_bytes(path);
  CHECK(file.size > (at < 0 ? -at - 1 : at));
  if (file.size > 0) {
    file.data[at < 0 ? file.size + at : at] ^= 0x10;
    CHECK_INT(write_bytes(path, file), 0);
  }
  free_bytes(&file);
}

#ifdef STANCHION_H
/* The last error of this rank says `words`, or tells of a rank that failed with them. */
#define CHECK_ERROR(words)                                                                       \
  do {                                                                                           \
    char text_[4096] = "";                                                                       \
    stanchion_last_error(text_, sizeof text_);                                                   \
    if (!strstr(text_, words)) check_failed(__FILE__, __LINE__, "the last error", text_, words); \
  } while (0)

/* A call that should succeed: says why it did not. */
#define CHECK_OK(call)                                                                                    \
  do {                                                                                                    \
    char text_[4096] = "";                                                                                \
    if ((call) != 0) {                                                                                    \
      stanchion_last_error(text_, sizeof text_);                                                          \
      check_failed(__FILE__, __LINE__, #call " failed with the text", text_, "a success");                \
    }                                                                                                     \
  } while (0)
#endif

#endif
