/* Stanchion: part of fenix.h, compatible with Fenix 1.0: what the macro Fenix_Init needs, and the headers and
 * types that programs get along with it.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/fenix_process_recovery.h. */
#ifndef __FENIX_PROCESS_RECOVERY__
#define __FENIX_PROCESS_RECOVERY__

#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
#include <stdarg.h>
#include <stdint.h>
#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

#define __FENIX_RESUME_AT_INIT 0
#define __FENIX_RESUME_NO_JUMP 200

typedef void (*recover)(MPI_Comm, int, void*);

typedef struct fcouple {
  recover x;
  void* y;
} fenix_callback_func;

typedef struct __fenix_callback_list {
  fenix_callback_func* callback;
  struct __fenix_callback_list* next;
} fenix_callback_list_t;

typedef struct __fenix_comm_list_elm {
  struct __fenix_comm_list_elm* next;
  struct __fenix_comm_list_elm* prev;
  MPI_Comm* comm;
} fenix_comm_list_elm_t;

typedef struct {
  fenix_comm_list_elm_t* head;
  fenix_comm_list_elm_t* tail;
} fenix_comm_list_t;

/* The two halves of Fenix_Init, for its macro only. */
int __fenix_preinit(int* role, MPI_Comm comm, MPI_Comm* newcomm, int* argc, char*** argv, int spare_ranks,
                    int spawn, MPI_Info info, int* error, jmp_buf* jump_environment);
void __fenix_postinit(int* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
