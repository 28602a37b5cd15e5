/* Put before the C library (LD_PRELOAD): requests for memory that libstanchion makes can be made to fail. Those of other
 * libraries never do: MPI would end the process. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_faults.h"

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static uintptr_t library_start, library_end;
static atomic_long seen, first_failing, end_failing;

static int find_library(struct dl_phdr_info* info, size_t size, void* unused)
{
  (void)size, (void)unused;
  if (!strstr(info->dlpi_name, "libstanchion.so")) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    library_start = info->dlpi_addr + part->p_vaddr;
    library_end = library_start + part->p_memsz;
  }
  return 1;
}

void alloc_faults_arm(long first, long count)
{
  if (!library_end) dl_iterate_phdr(find_library, NULL);
  atomic_store(&seen, 0);
  atomic_store(&end_failing, count > LONG_MAX - first ? LONG_MAX : first + count);
  atomic_store(&first_failing, first);
}

long alloc_faults_seen(void) { return atomic_load(&seen); }

/* Whether this request is one that shall fail. */
static int fails(void* caller)
{
  uintptr_t address = (uintptr_t)caller;
  if (address < library_start || address >= library_end) return 0;
  long number = atomic_fetch_add(&seen, 1) + 1;
  if (number < atomic_load(&first_failing) || number >= atomic_load(&end_failing)) return 0;
  errno = ENOMEM;
  return 1;
}

#define FAILS() fails(__builtin_return_address(0))

void* malloc(size_t size) { return FAILS() ? NULL : __libc_malloc(size); }

void* calloc(size_t count, size_t size) { return FAILS() ? NULL : __libc_calloc(count, size); }

void* realloc(void* old, size_t size) { return FAILS() ? NULL : __libc_realloc(old, size); }

void* memalign(size_t alignment, size_t size) { return FAILS() ? NULL : __libc_memalign(alignment, size); }

void* aligned_alloc(size_t alignment, size_t size) { return FAILS() ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void** place, size_t alignment, size_t size)
{
  void* memory = FAILS() ? NULL : __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *place = memory;
  return 0;
}
