/* Attributes, and variables that all ranks have as a whole. */
#include "pio_arrays.h"

#include <stdlib.h>
#include <string.h>

/* Calls the function for the type of the values; type PIO_CHAR has its own functions. */
#define FOR_KIND(kind, function, ...)                                        \
  ((kind) == PIO_FLOAT    ? function##_float(__VA_ARGS__)                    \
   : (kind) == PIO_DOUBLE ? function##_double(__VA_ARGS__)                   \
   : (kind) == PIO_INT    ? function##_int(__VA_ARGS__)                      \
   : (kind) == PIO_SHORT  ? function##_short(__VA_ARGS__)                    \
   : (kind) == PIO_BYTE   ? function##_schar(__VA_ARGS__)                    \
   : (kind) == PIO_INT64  ? function##_longlong(__VA_ARGS__)                 \
                          : PIO_EBADTYPE)

/* ---- text: blanks at the end of a string are no part of it, in the file NULs take their place ---- */

static size_t trimmed(const char* text, size_t length)
{
  while (length > 0 && text[length - 1] == ' ') length--;
  return length;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Strings of `from` characters become rows of `row`. What does not fit is an error. */
static int text_to_rows(const char* strings, size_t from, char* rows, size_t row, size_t count)
{
  int code = PIO_NOERR;
  for (size_t i = 0; i < count; i++, strings += from, rows += row) {
    size_t length = trimmed(strings, from);
    if (length > row) code = PIO_EINSUFFBUF;
    memset(rows, 0, row);
    memcpy(rows, strings, smaller(length, row));
  }
  return code;
}

static int rows_to_text(const char* rows, size_t row, char* strings, size_t to, size_t count)
{
  int code = PIO_NOERR;
  for (size_t i = 0; i < count; i++, rows += row, strings += to) {
    const char* end = memchr(rows, 0, row);
    size_t length = trimmed(rows, end ? (size_t)(end - rows) : row);
    if (length > to) code = PIO_EINSUFFBUF;
    memset(strings, ' ', to);
    memcpy(strings, rows, smaller(length, to));
  }
  return code;
}

/* ---- attributes ---- */

static int put_text(int ncid, int varid, const char* name, const struct piof_array* values)
{
  size_t length = values->array->elem_len, total = length * (size_t)values->elements;
  if (values->elements == 1) return PIOc_put_att_text(ncid, varid, name, (PIO_Offset)trimmed(values->data, length), values->data);
  char* rows = malloc(total + 1);
  if (!rows) return PIO_ENOMEM;
  text_to_rows(values->data, length, rows, length, (size_t)values->elements);
  int code = PIOc_put_att_text(ncid, varid, name, (PIO_Offset)total, rows);
  free(rows);
  return code;
}

int stanchion_piof_put_att(int ncid, int varid, const char* name, const CFI_cdesc_t* array)
{
  struct piof_array values = piof_open(array, 1);
  int code = values.error;
  if (code == PIO_NOERR)
    code = values.kind == PIO_CHAR
               ? put_text(ncid, varid, name, &values)
               : FOR_KIND(values.kind, PIOc_put_att, ncid, varid, name, values.kind, values.elements, values.data);
  piof_close(&values);
  return code;
}

static int get_text(int ncid, int varid, const char* name, PIO_Offset length, const struct piof_array* values)
{
  size_t to = values->array->elem_len;
  size_t row = values->elements == 1 ? (size_t)length : to;
  size_t found = values->elements == 1 ? 1 : (size_t)length / (to ? to : 1);
  char* rows = calloc((size_t)length + 1, 1);
  if (!rows) return PIO_ENOMEM;
  int code = PIOc_get_att_text(ncid, varid, name, rows);
  if (code == PIO_NOERR && found > (size_t)values->elements) code = PIO_EINSUFFBUF;
  if (code == PIO_NOERR) code = rows_to_text(rows, row, values->data, to, found);
  free(rows);
  return code;
}

/* An attribute longer than the array is an error and leaves it alone; text is cut off and an error. */
int stanchion_piof_get_att(int ncid, int varid, const char* name, const CFI_cdesc_t* array)
{
  PIO_Offset length = 0;
  int code = PIOc_inq_attlen(ncid, varid, name, &length);
  if (code != PIO_NOERR) return code;
  struct piof_array values = piof_open(array, 1);
  code = values.error;
  if (code == PIO_NOERR && values.kind == PIO_CHAR) code = get_text(ncid, varid, name, length, &values);
  else if (code == PIO_NOERR && length > values.elements) code = PIO_EINSUFFBUF;
  else if (code == PIO_NOERR) code = FOR_KIND(values.kind, PIOc_get_att, ncid, varid, name, values.data);
  if (code == PIO_NOERR || code == PIO_EINSUFFBUF) piof_store(&values);
  piof_close(&values);
  return code;
}

/* ---- variables ---- */

/* The part of a variable that is meant, as C wants it. */
struct part {
  int ndims;
  PIO_Offset *start, *count;
  PIO_Offset row, rows; /* of the fastest dimension, and how many */
};

static void free_part(struct part* part)
{
  free(part->start); /* count is in the same memory */
  part->start = part->count = NULL;
}

static PIO_Offset elements_of(const struct part* part, int from)
{
  PIO_Offset elements = 1;
  for (int d = from; d < part->ndims; d++) elements *= part->count[d];
  return elements;
}

/* `holds` values are put into as many records as they make. */
static int whole_variable(int ncid, int varid, struct part* part, PIO_Offset holds, int putting)
{
  int unlimited = -1, *dims = malloc(((size_t)part->ndims + 1) * sizeof *dims);
  int code = dims ? PIOc_inq_vardimid(ncid, varid, dims) : PIO_ENOMEM;
  for (int d = 0; d < part->ndims && code == PIO_NOERR; d++) code = PIOc_inq_dimlen(ncid, dims[d], &part->count[d]);
  if (code == PIO_NOERR) code = PIOc_inq_unlimdim(ncid, &unlimited);
  if (code == PIO_NOERR && putting && part->ndims > 0 && dims[0] == unlimited) {
    PIO_Offset record = elements_of(part, 1);
    part->count[0] = record > 0 ? holds / record : 0;
  }
  free(dims);
  return code;
}

/* start and count as Fortran gives them: the fastest dimension first, from 1. Slower dimensions that are not given are
 * taken at their first place, and what is given beyond the variable's dimensions is not looked at. Without count it is
 * one value, or one string. */
static void given_part(struct part* part, int given, const int* start, const int* count, PIO_Offset string)
{
  for (int d = 0; d < part->ndims; d++) {
    int f = part->ndims - 1 - d;
    part->start[d] = f < given ? start[f] - 1 : 0;
    part->count[d] = f < given && count ? count[f] : 1;
  }
  if (!count && part->ndims > 0) part->count[part->ndims - 1] = string;
}

/* Without start it is the whole variable. */
static int find_part(int ncid, int varid, int given, const int* start, const int* count, const struct piof_array* values,
                     int putting, struct part* part)
{
  int text = values->kind == PIO_CHAR;
  int code = PIOc_inq_varndims(ncid, varid, &part->ndims);
  if (code != PIO_NOERR) return code;
  part->start = calloc(2 * ((size_t)part->ndims + 1), sizeof *part->start);
  if (!part->start) return PIO_ENOMEM;
  part->count = part->start + part->ndims + 1;
  if (start) given_part(part, given, start, count, text ? (PIO_Offset)values->array->elem_len : 1);
  else code = whole_variable(ncid, varid, part, values->elements, putting);
  part->row = text && part->ndims > 0 ? part->count[part->ndims - 1] : 1;
  part->rows = part->row > 0 ? elements_of(part, 0) / part->row : 0;
  if (code == PIO_NOERR && part->rows > values->elements) code = PIO_EINSUFFBUF;
  return code;
}

static int put_text_rows(int ncid, int varid, const struct part* part, const struct piof_array* values)
{
  char* rows = malloc((size_t)(part->row * part->rows) + 1);
  if (!rows) return PIO_ENOMEM;
  int code = text_to_rows(values->data, values->array->elem_len, rows, (size_t)part->row, (size_t)part->rows);
  if (code == PIO_NOERR) code = PIOc_put_vara_text(ncid, varid, part->start, part->count, rows);
  free(rows);
  return code;
}

static int get_text_rows(int ncid, int varid, const struct part* part, const struct piof_array* values)
{
  char* rows = malloc((size_t)(part->row * part->rows) + 1);
  if (!rows) return PIO_ENOMEM;
  int code = PIOc_get_vara_text(ncid, varid, part->start, part->count, rows);
  if (code == PIO_NOERR)
    code = rows_to_text(rows, (size_t)part->row, values->data, values->array->elem_len, (size_t)part->rows);
  free(rows);
  return code;
}

int stanchion_piof_put_var(int ncid, int varid, int given, const int* start, const int* count, const CFI_cdesc_t* array)
{
  struct piof_array values = piof_open(array, 1);
  struct part part = { 0, NULL, NULL, 0, 0 };
  int code = values.error;
  if (code == PIO_NOERR) code = find_part(ncid, varid, given, start, count, &values, 1, &part);
  if (code == PIO_NOERR)
    code = values.kind == PIO_CHAR
               ? put_text_rows(ncid, varid, &part, &values)
               : FOR_KIND(values.kind, PIOc_put_vara, ncid, varid, part.start, part.count, values.data);
  free_part(&part);
  piof_close(&values);
  return code;
}

int stanchion_piof_get_var(int ncid, int varid, int given, const int* start, const int* count, const CFI_cdesc_t* array)
{
  struct piof_array values = piof_open(array, 1);
  struct part part = { 0, NULL, NULL, 0, 0 };
  int code = values.error;
  if (code == PIO_NOERR) code = find_part(ncid, varid, given, start, count, &values, 0, &part);
  if (code == PIO_NOERR)
    code = values.kind == PIO_CHAR
               ? get_text_rows(ncid, varid, &part, &values)
               : FOR_KIND(values.kind, PIOc_get_vara, ncid, varid, part.start, part.count, values.data);
  if (code == PIO_NOERR || code == PIO_EINSUFFBUF) piof_store(&values);
  free_part(&part);
  piof_close(&values);
  return code;
}
