/* Arrays of any type and rank on their way from Fortran to PIO. Their descriptors differ from compiler to compiler:
 * this file belongs to the modules and is compiled with them, not to the library. */
#include "pio_arrays.h"

#include <stdlib.h>
#include <string.h>

/* The type's number in PIO, or 0. Several names of C may be one type, so this is no switch. */
static int kind_of(const CFI_cdesc_t* array)
{
  CFI_type_t type = array->type;
  if (type == CFI_type_float) return PIO_FLOAT;
  if (type == CFI_type_double) return PIO_DOUBLE;
  if (type == CFI_type_int || type == CFI_type_int32_t) return PIO_INT;
  if (type == CFI_type_short || type == CFI_type_int16_t) return PIO_SHORT;
  if (type == CFI_type_signed_char || type == CFI_type_int8_t) return PIO_BYTE;
  if (type == CFI_type_long_long || type == CFI_type_int64_t) return PIO_INT64;
  if (type == CFI_type_char) return PIO_CHAR;
  return 0;
}

static PIO_Offset elements_of(const CFI_cdesc_t* array)
{
  PIO_Offset elements = array->base_addr ? 1 : 0; /* NULL: not allocated */
  for (int d = 0; d < array->rank; d++) elements *= array->dim[d].extent > 0 ? array->dim[d].extent : 0;
  return elements;
}

static int is_contiguous(const CFI_cdesc_t* array)
{
  CFI_index_t step = (CFI_index_t)array->elem_len;
  for (int d = 0; d < array->rank; d++) {
    if (array->dim[d].extent != 1 && array->dim[d].sm != step) return 0;
    step *= array->dim[d].extent;
  }
  return 1;
}

/* Copies the elements in order, between where they are and `packed`. */
static void copy_elements(const CFI_cdesc_t* array, char* packed, int pack)
{
  CFI_index_t at[CFI_MAX_RANK] = { 0 };
  size_t size = array->elem_len;
  CFI_index_t row = array->dim[0].extent;
  for (PIO_Offset rows = elements_of(array) / row; rows > 0; rows--) {
    char* element = array->base_addr;
    for (int d = 1; d < array->rank; d++) element += at[d] * array->dim[d].sm;
    for (CFI_index_t i = 0; i < row; i++, element += array->dim[0].sm, packed += size)
      memcpy(pack ? packed : element, pack ? element : packed, size);
    for (int d = 1; d < array->rank && ++at[d] == array->dim[d].extent; d++) at[d] = 0;
  }
}

struct piof_array piof_open(const CFI_cdesc_t* array, int with_contents)
{
  struct piof_array view = { array, kind_of(array), elements_of(array), array->base_addr, PIO_NOERR };
  if (!view.kind) view.error = PIO_EBADTYPE;
  if (view.error || is_contiguous(array) || view.elements == 0) return view;
  view.data = malloc((size_t)view.elements * array->elem_len);
  if (!view.data) view.error = PIO_ENOMEM;
  else if (with_contents) copy_elements(array, view.data, 1);
  return view;
}

void piof_store(struct piof_array* view)
{
  if (view->data != view->array->base_addr) copy_elements(view->array, view->data, 0);
}

void piof_close(struct piof_array* view)
{
  if (view->data != view->array->base_addr) free(view->data);
}

/* Why an array and its fill value cannot be used with a decomposition, or PIO_NOERR. What its arrays are made of is
 * fixed when it is made. */
static int unfit(const struct piof_array* view, int ioid, const CFI_cdesc_t* fill)
{
  int kind = stanchion_pio_decomp_type(ioid);
  if (!view->kind || (kind >= 0 && kind != view->kind)) return PIO_EBADTYPE;
  if (fill && kind_of(fill) != view->kind) return PIO_EBADTYPE;
  return view->error;
}

int stanchion_piof_write_darray(int ncid, int varid, int ioid, const CFI_cdesc_t* array, const CFI_cdesc_t* fill)
{
  struct piof_array view = piof_open(array, 1);
  int code = unfit(&view, ioid, fill);
  code = code ? stanchion_pio_refuse_array(ncid, code)
              : PIOc_write_darray(ncid, varid, ioid, view.elements, view.data, fill ? fill->base_addr : NULL);
  piof_close(&view);
  return code;
}

/* One value for each variable, one behind the other: this is what the C function wants. */
static char* repeated(const CFI_cdesc_t* value, int times)
{
  char* values = malloc((size_t)(times > 0 ? times : 1) * value->elem_len);
  for (int i = 0; values && i < times; i++) memcpy(values + (size_t)i * value->elem_len, value->base_addr, value->elem_len);
  return values;
}

int stanchion_piof_write_darray_multi(int ncid, int nvars, const int* varids, int ioid, const CFI_cdesc_t* array,
                                      const CFI_cdesc_t* fill)
{
  struct piof_array view = piof_open(array, 1);
  int code = unfit(&view, ioid, fill);
  void* fills = fill && !code ? repeated(fill, nvars) : NULL;
  if (fill && !code && !fills) code = PIO_ENOMEM;
  if (!code && (nvars < 1 || view.elements % nvars != 0)) code = PIO_EINVAL;
  code = code ? stanchion_pio_refuse_array(ncid, code)
              : PIOc_write_darray_multi(ncid, varids, ioid, nvars, view.elements / nvars, view.data, NULL, fills, false);
  free(fills);
  piof_close(&view);
  return code;
}

int stanchion_piof_read_darray(int ncid, int varid, int ioid, const CFI_cdesc_t* array)
{
  struct piof_array view = piof_open(array, 1);
  int code = unfit(&view, ioid, NULL);
#if STANCHION_PIO_NCAR /* whose module sets all to 0 first; elsewhere holes keep what they have */
  if (!code && view.elements > 0) memset(view.data, 0, (size_t)view.elements * array->elem_len);
#endif
  code = code ? stanchion_pio_refuse_array(ncid, code)
              : PIOc_read_darray(ncid, varid, ioid, view.elements, view.data);
  if (code == PIO_NOERR) piof_store(&view);
  piof_close(&view);
  return code;
}

int stanchion_piof_inq_var_fill(int ncid, int varid, int* no_fill, const CFI_cdesc_t* value)
{
  int kind = 0, code = PIOc_inq_vartype(ncid, varid, &kind);
  if (code != PIO_NOERR) return code;
  int fits = kind == kind_of(value);
  code = PIOc_inq_var_fill(ncid, varid, no_fill, fits ? value->base_addr : NULL);
  return code == PIO_NOERR && !fits ? PIO_EBADTYPE : code;
}
