/* Attributes, and variables that all ranks have as a whole. A rank whose array cannot be used calls the library all the
 * same, which tells all ranks. */
#include "pio_arrays.h"

/* How an array is handed to the library. */
#define ARRAY(values) (values).kind, (int64_t)(values).array->elem_len, (values).elements, (values).data, (values).error

int stanchion_piof_put_att(int ncid, int varid, const char* name, const CFI_cdesc_t* array)
{
  struct piof_array values = piof_open(array, 1);
  int code = stanchion_pio_put_attribute(ncid, varid, name, ARRAY(values));
  piof_close(&values);
  return code;
}

/* Text that was cut off is an error, but there. */
static int end_reading(struct piof_array* values, int code)
{
  if (!values->error && (code == PIO_NOERR || code == PIO_EINSUFFBUF)) piof_store(values);
  piof_close(values);
  return code;
}

int stanchion_piof_get_att(int ncid, int varid, const char* name, const CFI_cdesc_t* array)
{
  struct piof_array values = piof_open(array, 1);
  return end_reading(&values, stanchion_pio_get_attribute(ncid, varid, name, ARRAY(values)));
}

int stanchion_piof_put_var(int ncid, int varid, int given, const int* start, const int* count, const CFI_cdesc_t* array)
{
  struct piof_array values = piof_open(array, 1);
  int code = stanchion_pio_put_variable(ncid, varid, given, start, count, ARRAY(values));
  piof_close(&values);
  return code;
}

int stanchion_piof_get_var(int ncid, int varid, int given, const int* start, const int* count, const CFI_cdesc_t* array)
{
  struct piof_array values = piof_open(array, 1);
  return end_reading(&values, stanchion_pio_get_variable(ncid, varid, given, start, count, ARRAY(values)));
}
