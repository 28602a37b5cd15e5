/* What the C files of the Fortran modules share. */
#ifndef PIO_ARRAYS_H
#define PIO_ARRAYS_H

#include <ISO_Fortran_binding.h>
#include <pio.h>
#include <stanchion.h>

/* An array whose elements follow each other in `data`: its own memory, or a copy where it has gaps. */
struct piof_array {
  const CFI_cdesc_t* array;
  int kind;            /* the type's number in PIO, 0 for a type it does not have */
  PIO_Offset elements; /* text: strings */
  void* data;
  int error;
};

struct piof_array piof_open(const CFI_cdesc_t* array, int with_contents);
void piof_store(struct piof_array* view); /* puts `data` into the array */
void piof_close(struct piof_array* view);

#endif
