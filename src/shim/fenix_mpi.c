/* Process recovery, what Rust cannot do: the error handler of MPI, the jump, the user's callbacks. Rust decides
 * (src/capi/fenix/recovery.rs); when one of these functions jumps or calls the user, no Rust frame is on the stack. */
#include "fenix.h"

#include <stdarg.h>
#include <string.h>

/* As in src/capi/fenix/recovery.rs. */
enum { SPARE_ENDS = -1, SPARE_ABANDONED = -2 };
enum { NOTHING, RETURN, JUMP, PRINT };

struct start {
  int* role;
  MPI_Comm comm;
  MPI_Comm* newcomm;
  int spares;
  int spawn;
  int* error;
  MPI_Errhandler handler;
  int no_jump;
  int prints;
  jmp_buf* resume;
};

struct callback {
  void (*function)(MPI_Comm, int, void*);
  MPI_Comm comm;
  int error;
  void* data;
};

int inner_fenix_preinit(const struct start* start);
void inner_fenix_postinit(int* error);
int inner_fenix_next_callback(struct callback* next);
int inner_fenix_on_error(MPI_Comm comm, int code, int constructs);
jmp_buf* inner_fenix_resume(void);

static void print_unhandled(int code)
{
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "Fenix: an error that is no process failure: %s\n", text);
}

/* Whether a call has met the error in which all ranks make a communicator. Open MPI names the call after the code. One
 * that only some ranks of a communicator make leaves nothing behind. */
static int is_constructor(const char* call)
{
  static const char* const words[] = {"create", "split", "dup", "Cart_", "Graph_", "merge", "spawn", "accept", "connect"};
  if (!call || strstr(call, "create_group")) return 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(call, words[i])) return 1;
  return 0;
}

static void on_error(MPI_Comm* comm, int* code, ...)
{
  const char* call = NULL;
#ifdef OPEN_MPI
  va_list more;
  va_start(more, code);
  call = va_arg(more, const char*);
  va_end(more);
#endif
  switch (inner_fenix_on_error(*comm, *code, is_constructor(call))) {
    case RETURN: __fenix_postinit(NULL); break;
    case JUMP: longjmp(*inner_fenix_resume(), 1);
    case PRINT: print_unhandled(*code); break;
    default: break;
  }
}

/* Made once and kept: communicators that the user has made of a resilient one still have it after Fenix_Finalize. */
static MPI_Errhandler handler(void)
{
  static MPI_Errhandler made;
  static int is_made;
  if (!is_made) is_made = MPI_Comm_create_errhandler(on_error, &made) == MPI_SUCCESS;
  return made;
}

static int has(MPI_Info info, const char* key, const char* wanted)
{
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  if (info != MPI_INFO_NULL) MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  return found && strcmp(value, wanted) == 0;
}

int __fenix_preinit(int* role, MPI_Comm comm, MPI_Comm* newcomm, int* argc, char*** argv, int spares, int spawn,
                    MPI_Info info, int* error, jmp_buf* resume)
{
  struct start start = {
      role,
      comm,
      newcomm,
      spares,
      spawn,
      error,
      handler(),
      has(info, "FENIX_RESUME_MODE", "NO_JUMP"),
      has(info, "FENIX_UNHANDLED_MODE", "NO_JUMP"),
      resume,
  };
  (void)argc;
  (void)argv;
  int begun = inner_fenix_preinit(&start);
  if (begun == SPARE_ENDS || begun == SPARE_ABANDONED) {
    MPI_Finalize();
    exit(begun == SPARE_ENDS ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  return begun;
}

/* A callback may meet a failure itself: then the recovery of that one runs what was left here. */
void __fenix_postinit(int* error)
{
  struct callback next;
  inner_fenix_postinit(error);
  while (inner_fenix_next_callback(&next)) next.function(next.comm, next.error, next.data);
}
