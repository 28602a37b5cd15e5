/* PIO: as raise_mpi.c does for the others. */
#include <stdint.h>

#include "pio.h"
#include "raise.h"
#include "stanchion.h"

#define RAISED(name, parameters, arguments) \
  INNER(name);                              \
  int name parameters { return stanchion_raised(inner_##name arguments); }

RAISED(PIOc_Init_Intracomm, (MPI_Comm comp_comm, int num_iotasks, int stride, int base, int rearr, int* iosysidp),
       (comp_comm, num_iotasks, stride, base, rearr, iosysidp))
RAISED(PIOc_Init_Intracomm_from_F90,
       (int f90_comp_comm, int num_iotasks, int stride, int base, int rearr, rearr_opt_t* rearr_opts, int* iosysidp),
       (f90_comp_comm, num_iotasks, stride, base, rearr, rearr_opts, iosysidp))
RAISED(PIOc_finalize, (int iosysid), (iosysid))
RAISED(PIOc_free_iosystem, (int iosysid), (iosysid))
RAISED(PIOc_Set_IOSystem_Error_Handling, (int iosysid, int method), (iosysid, method))
RAISED(PIOc_set_iosystem_error_handling, (int iosysid, int method, int* old_method), (iosysid, method, old_method))
RAISED(PIOc_set_rearr_opts,
       (int iosysid, int comm_type, int fcd, bool enable_hs_c2i, bool enable_isend_c2i, int max_pend_req_c2i,
        bool enable_hs_i2c, bool enable_isend_i2c, int max_pend_req_i2c),
       (iosysid, comm_type, fcd, enable_hs_c2i, enable_isend_c2i, max_pend_req_c2i, enable_hs_i2c, enable_isend_i2c,
        max_pend_req_i2c))
RAISED(PIOc_set_hint, (int iosysid, const char* hint, const char* hintval), (iosysid, hint, hintval))
RAISED(PIOc_InitDecomp,
       (int iosysid, int pio_type, int ndims, const int* gdimlen, int maplen, const PIO_Offset* compmap, int* ioidp,
        const int* rearr, const PIO_Offset* iostart, const PIO_Offset* iocount),
       (iosysid, pio_type, ndims, gdimlen, maplen, compmap, ioidp, rearr, iostart, iocount))
RAISED(PIOc_InitDecomp_ReadOnly,
       (int iosysid, int pio_type, int ndims, const int* gdimlen, int maplen, const PIO_Offset* compmap, int* ioidp,
        const int* rearr, const PIO_Offset* iostart, const PIO_Offset* iocount),
       (iosysid, pio_type, ndims, gdimlen, maplen, compmap, ioidp, rearr, iostart, iocount))
RAISED(PIOc_init_decomp,
       (int iosysid, int pio_type, int ndims, const int* gdimlen, int maplen, const PIO_Offset* compmap, int* ioidp,
        int rearranger, const PIO_Offset* iostart, const PIO_Offset* iocount),
       (iosysid, pio_type, ndims, gdimlen, maplen, compmap, ioidp, rearranger, iostart, iocount))
RAISED(PIOc_InitDecomp_bc,
       (int iosysid, int basetype, int ndims, const int* gdimlen, const long* start, const long* count, int* ioidp),
       (iosysid, basetype, ndims, gdimlen, start, count, ioidp))
RAISED(PIOc_freedecomp, (int iosysid, int ioid), (iosysid, ioid))
RAISED(PIOc_readmap,
       (const char* file, int* ndims, int** gdims, PIO_Offset* fmaplen, PIO_Offset** map, MPI_Comm comm),
       (file, ndims, gdims, fmaplen, map, comm))
RAISED(PIOc_readmap_from_f90,
       (const char* file, int* ndims, int** gdims, PIO_Offset* maplen, PIO_Offset** map, int f90_comm),
       (file, ndims, gdims, maplen, map, f90_comm))
#if STANCHION_PIO_NCAR
RAISED(PIOc_writemap,
       (const char* file, int ndims, const int* gdims, PIO_Offset maplen, const PIO_Offset* map, MPI_Comm comm),
       (file, ndims, gdims, maplen, map, comm))
#else
RAISED(PIOc_writemap,
       (const char* file, int ioid, int ndims, const int* gdims, PIO_Offset maplen, const PIO_Offset* map,
        MPI_Comm comm),
       (file, ioid, ndims, gdims, maplen, map, comm))
#endif
#if STANCHION_PIO_NCAR
RAISED(PIOc_writemap_from_f90,
       (const char* file, int ndims, const int* gdims, PIO_Offset maplen, const PIO_Offset* map, int f90_comm),
       (file, ndims, gdims, maplen, map, f90_comm))
#else
RAISED(PIOc_writemap_from_f90,
       (const char* file, int ioid, int ndims, const int* gdims, PIO_Offset maplen, const PIO_Offset* map,
        int f90_comm),
       (file, ioid, ndims, gdims, maplen, map, f90_comm))
#endif
RAISED(PIOc_write_decomp, (const char* file, int iosysid, int ioid, MPI_Comm comm), (file, iosysid, ioid, comm))
RAISED(PIOc_write_nc_decomp,
       (int iosysid, const char* filename, int cmode, int ioid, const char* title, const char* history,
        int fortran_order),
       (iosysid, filename, cmode, ioid, title, history, fortran_order))
RAISED(PIOc_read_nc_decomp,
       (int iosysid, const char* filename, int* ioid, MPI_Comm comm, int pio_type, char* title, char* history,
        int* fortran_order),
       (iosysid, filename, ioid, comm, pio_type, title, history, fortran_order))
RAISED(PIOc_createfile, (int iosysid, int* ncidp, const int* iotype, const char* fname, int mode),
       (iosysid, ncidp, iotype, fname, mode))
RAISED(PIOc_create, (int iosysid, const char* path, int cmode, int* ncidp), (iosysid, path, cmode, ncidp))
RAISED(PIOc_openfile, (int iosysid, int* ncidp, int* iotype, const char* fname, int mode),
       (iosysid, ncidp, iotype, fname, mode))
RAISED(PIOc_openfile2, (int iosysid, int* ncidp, int* iotype, const char* fname, int mode),
       (iosysid, ncidp, iotype, fname, mode))
RAISED(PIOc_openfile_retry, (int iosysid, int* ncidp, int* iotype, const char* filename, int mode, int retry),
       (iosysid, ncidp, iotype, filename, mode, retry))
RAISED(PIOc_open, (int iosysid, const char* path, int mode, int* ncidp), (iosysid, path, mode, ncidp))
RAISED(PIOc_closefile, (int ncid), (ncid))
RAISED(PIOc_deletefile, (int iosysid, const char* filename), (iosysid, filename))
RAISED(PIOc_sync, (int ncid), (ncid))
RAISED(PIOc_redef, (int ncid), (ncid))
RAISED(PIOc_enddef, (int ncid), (ncid))
RAISED(PIOc_set_fill, (int ncid, int fillmode, int* old_modep), (ncid, fillmode, old_modep))
RAISED(PIOc_inq, (int ncid, int* ndimsp, int* nvarsp, int* ngattsp, int* unlimdimidp),
       (ncid, ndimsp, nvarsp, ngattsp, unlimdimidp))
RAISED(PIOc_inq_ndims, (int ncid, int* ndimsp), (ncid, ndimsp))
RAISED(PIOc_inq_nvars, (int ncid, int* nvarsp), (ncid, nvarsp))
RAISED(PIOc_inq_natts, (int ncid, int* ngattsp), (ncid, ngattsp))
RAISED(PIOc_inq_unlimdim, (int ncid, int* unlimdimidp), (ncid, unlimdimidp))
RAISED(PIOc_inq_unlimdims, (int ncid, int* nunlimdimsp, int* unlimdimidsp), (ncid, nunlimdimsp, unlimdimidsp))
RAISED(PIOc_inq_format, (int ncid, int* formatp), (ncid, formatp))
RAISED(PIOc_def_dim, (int ncid, const char* name, PIO_Offset len, int* idp), (ncid, name, len, idp))
RAISED(PIOc_inq_dim, (int ncid, int dimid, char* name, PIO_Offset* lenp), (ncid, dimid, name, lenp))
RAISED(PIOc_inq_dimid, (int ncid, const char* name, int* idp), (ncid, name, idp))
RAISED(PIOc_inq_dimname, (int ncid, int dimid, char* name), (ncid, dimid, name))
RAISED(PIOc_inq_dimlen, (int ncid, int dimid, PIO_Offset* lenp), (ncid, dimid, lenp))
RAISED(PIOc_rename_dim, (int ncid, int dimid, const char* name), (ncid, dimid, name))
RAISED(PIOc_def_var, (int ncid, const char* name, nc_type xtype, int ndims, const int* dimidsp, int* varidp),
       (ncid, name, xtype, ndims, dimidsp, varidp))
RAISED(PIOc_inq_varid, (int ncid, const char* name, int* varidp), (ncid, name, varidp))
#if STANCHION_PIO_NCAR
RAISED(PIOc_inq_var, (int ncid, int varid, char* name, nc_type* xtypep, int* ndimsp, int* dimidsp, int* nattsp),
       (ncid, varid, name, xtypep, ndimsp, dimidsp, nattsp))
#else
RAISED(PIOc_inq_var,
       (int ncid, int varid, char* name, int namelen, nc_type* xtypep, int* ndimsp, int* dimidsp, int* nattsp),
       (ncid, varid, name, namelen, xtypep, ndimsp, dimidsp, nattsp))
#endif
#if STANCHION_PIO_NCAR
RAISED(PIOc_inq_varname, (int ncid, int varid, char* name), (ncid, varid, name))
#else
RAISED(PIOc_inq_varname, (int ncid, int varid, char* name, int namelen), (ncid, varid, name, namelen))
#endif
RAISED(PIOc_inq_vartype, (int ncid, int varid, nc_type* xtypep), (ncid, varid, xtypep))
RAISED(PIOc_inq_varndims, (int ncid, int varid, int* ndimsp), (ncid, varid, ndimsp))
RAISED(PIOc_inq_vardimid, (int ncid, int varid, int* dimidsp), (ncid, varid, dimidsp))
RAISED(PIOc_inq_varnatts, (int ncid, int varid, int* nattsp), (ncid, varid, nattsp))
RAISED(PIOc_rename_var, (int ncid, int varid, const char* name), (ncid, varid, name))
RAISED(PIOc_inq_type, (int ncid, nc_type xtype, char* name, PIO_Offset* sizep), (ncid, xtype, name, sizep))
RAISED(PIOc_def_var_fill, (int ncid, int varid, int no_fill, const void* fill_value),
       (ncid, varid, no_fill, fill_value))
RAISED(PIOc_inq_var_fill, (int ncid, int varid, int* no_fill, void* fill_valuep), (ncid, varid, no_fill, fill_valuep))
RAISED(PIOc_inq_att, (int ncid, int varid, const char* name, nc_type* xtypep, PIO_Offset* lenp),
       (ncid, varid, name, xtypep, lenp))
RAISED(PIOc_inq_attlen, (int ncid, int varid, const char* name, PIO_Offset* lenp), (ncid, varid, name, lenp))
RAISED(PIOc_inq_atttype, (int ncid, int varid, const char* name, nc_type* xtypep), (ncid, varid, name, xtypep))
RAISED(PIOc_inq_attid, (int ncid, int varid, const char* name, int* idp), (ncid, varid, name, idp))
RAISED(PIOc_inq_attname, (int ncid, int varid, int attnum, char* name), (ncid, varid, attnum, name))
RAISED(PIOc_rename_att, (int ncid, int varid, const char* name, const char* newname), (ncid, varid, name, newname))
RAISED(PIOc_del_att, (int ncid, int varid, const char* name), (ncid, varid, name))
RAISED(PIOc_copy_att, (int incid, int ivarid, const char* name, int oncid, int ovarid),
       (incid, ivarid, name, oncid, ovarid))
RAISED(PIOc_put_att, (int ncid, int varid, const char* name, nc_type xtype, PIO_Offset len, const void* op),
       (ncid, varid, name, xtype, len, op))
RAISED(PIOc_put_att_text, (int ncid, int varid, const char* name, PIO_Offset len, const char* op),
       (ncid, varid, name, len, op))
RAISED(PIOc_get_att, (int ncid, int varid, const char* name, void* ip), (ncid, varid, name, ip))
RAISED(PIOc_get_att_text, (int ncid, int varid, const char* name, char* ip), (ncid, varid, name, ip))
RAISED(PIOc_write_darray,
       (int ncid, int varid, int ioid, PIO_Offset arraylen, const void* array, const void* fillvalue),
       (ncid, varid, ioid, arraylen, array, fillvalue))
#if STANCHION_PIO_NCAR
RAISED(PIOc_write_darray_multi,
       (int ncid, const int* varids, int ioid, int nvars, PIO_Offset arraylen, const void* array, const int* frame,
        void** fillvalue, bool flushtodisk),
       (ncid, varids, ioid, nvars, arraylen, array, frame, fillvalue, flushtodisk))
#else
RAISED(PIOc_write_darray_multi,
       (int ncid, const int* varids, int ioid, int nvars, PIO_Offset arraylen, const void* array, const int* frame,
        const void** fillvalue, bool flushtodisk),
       (ncid, varids, ioid, nvars, arraylen, array, frame, fillvalue, flushtodisk))
#endif
RAISED(PIOc_read_darray, (int ncid, int varid, int ioid, PIO_Offset arraylen, void* array),
       (ncid, varid, ioid, arraylen, array))
RAISED(PIOc_put_vard, (int ncid, int varid, int decompid, PIO_Offset recnum, const void* buf),
       (ncid, varid, decompid, recnum, buf))
RAISED(PIOc_get_vard, (int ncid, int varid, int decompid, PIO_Offset recnum, void* buf),
       (ncid, varid, decompid, recnum, buf))
RAISED(PIOc_put_var, (int ncid, int varid, const void* buf), (ncid, varid, buf))
RAISED(PIOc_get_var, (int ncid, int varid, void* buf), (ncid, varid, buf))
RAISED(PIOc_put_var1, (int ncid, int varid, const PIO_Offset* index, const void* buf), (ncid, varid, index, buf))
RAISED(PIOc_get_var1, (int ncid, int varid, const PIO_Offset* index, void* buf), (ncid, varid, index, buf))
RAISED(PIOc_put_vara, (int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const void* buf),
       (ncid, varid, start, count, buf))
RAISED(PIOc_get_vara, (int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, void* buf),
       (ncid, varid, start, count, buf))
RAISED(PIOc_put_vars,
       (int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const PIO_Offset* stride,
        const void* buf),
       (ncid, varid, start, count, stride, buf))
RAISED(PIOc_get_vars,
       (int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const PIO_Offset* stride, void* buf),
       (ncid, varid, start, count, stride, buf))
RAISED(PIOc_set_chunk_cache, (int iosysid, int iotype, PIO_Offset size, PIO_Offset nelems, float preemption),
       (iosysid, iotype, size, nelems, preemption))
RAISED(PIOc_get_chunk_cache, (int iosysid, int iotype, PIO_Offset* sizep, PIO_Offset* nelemsp, float* preemptionp),
       (iosysid, iotype, sizep, nelemsp, preemptionp))
RAISED(PIOc_set_var_chunk_cache, (int ncid, int varid, PIO_Offset size, PIO_Offset nelems, float preemption),
       (ncid, varid, size, nelems, preemption))
RAISED(PIOc_get_var_chunk_cache, (int ncid, int varid, PIO_Offset* sizep, PIO_Offset* nelemsp, float* preemptionp),
       (ncid, varid, sizep, nelemsp, preemptionp))
RAISED(PIOc_def_var_deflate, (int ncid, int varid, int shuffle, int deflate, int deflate_level),
       (ncid, varid, shuffle, deflate, deflate_level))
RAISED(PIOc_inq_var_deflate, (int ncid, int varid, int* shufflep, int* deflatep, int* deflate_levelp),
       (ncid, varid, shufflep, deflatep, deflate_levelp))
RAISED(PIOc_def_var_chunking, (int ncid, int varid, int storage, const PIO_Offset* chunksizesp),
       (ncid, varid, storage, chunksizesp))
RAISED(PIOc_inq_var_chunking, (int ncid, int varid, int* storagep, PIO_Offset* chunksizesp),
       (ncid, varid, storagep, chunksizesp))
RAISED(PIOc_def_var_endian, (int ncid, int varid, int endian), (ncid, varid, endian))
RAISED(PIOc_inq_var_endian, (int ncid, int varid, int* endianp), (ncid, varid, endianp))
RAISED(PIOc_def_var_szip, (int ncid, int varid, int options_mask, int pixels_per_block),
       (ncid, varid, options_mask, pixels_per_block))
RAISED(PIOc_def_var_zstandard, (int ncid, int varid, int level), (ncid, varid, level))
RAISED(PIOc_inq_var_zstandard, (int ncid, int varid, int* hasfilterp, int* levelp), (ncid, varid, hasfilterp, levelp))
RAISED(PIOc_def_var_quantize, (int ncid, int varid, int quantize_mode, int nsd), (ncid, varid, quantize_mode, nsd))
RAISED(PIOc_inq_var_quantize, (int ncid, int varid, int* quantize_mode, int* nsdp),
       (ncid, varid, quantize_mode, nsdp))
RAISED(PIOc_def_var_filter, (int ncid, int varid, unsigned int id, size_t nparams, unsigned int* params),
       (ncid, varid, id, nparams, params))
RAISED(PIOc_inq_var_filter_ids, (int ncid, int varid, size_t* nfiltersp, unsigned int* ids),
       (ncid, varid, nfiltersp, ids))
RAISED(PIOc_inq_var_filter_info, (int ncid, int varid, unsigned int id, size_t* nparamsp, unsigned int* params),
       (ncid, varid, id, nparamsp, params))
RAISED(PIOc_inq_filter_avail, (int ncid, unsigned int id), (ncid, id))

/* For each type of data in memory. */

#define RAISED_DATA(suffix, type)                                                                              \
  RAISED(PIOc_put_var_##suffix, (int ncid, int varid, const type* op), (ncid, varid, op))                      \
  RAISED(PIOc_get_var_##suffix, (int ncid, int varid, type* buf), (ncid, varid, buf))                          \
  RAISED(PIOc_put_var1_##suffix, (int ncid, int varid, const PIO_Offset* index, const type* op),               \
         (ncid, varid, index, op))                                                                             \
  RAISED(PIOc_get_var1_##suffix, (int ncid, int varid, const PIO_Offset* index, type* buf),                    \
         (ncid, varid, index, buf))                                                                            \
  RAISED(PIOc_put_vara_##suffix,                                                                               \
         (int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const type* op),              \
         (ncid, varid, start, count, op))                                                                      \
  RAISED(PIOc_get_vara_##suffix,                                                                               \
         (int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, type* buf),                   \
         (ncid, varid, start, count, buf))                                                                     \
  RAISED(PIOc_put_vars_##suffix,                                                                               \
         (int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const PIO_Offset* stride,     \
          const type* op),                                                                                     \
         (ncid, varid, start, count, stride, op))                                                              \
  RAISED(PIOc_get_vars_##suffix,                                                                               \
         (int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, const PIO_Offset* stride,     \
          type* buf),                                                                                          \
         (ncid, varid, start, count, stride, buf))
#define RAISED_VARD(suffix, type)                                                                              \
  RAISED(PIOc_put_vard_##suffix, (int ncid, int varid, int decompid, PIO_Offset recnum, const type* op),       \
         (ncid, varid, decompid, recnum, op))                                                                  \
  RAISED(PIOc_get_vard_##suffix, (int ncid, int varid, int decompid, PIO_Offset recnum, type* buf),            \
         (ncid, varid, decompid, recnum, buf))
#define RAISED_ATT(suffix, type)                                                                               \
  RAISED(PIOc_put_att_##suffix,                                                                                \
         (int ncid, int varid, const char* name, nc_type xtype, PIO_Offset len, const type* op),               \
         (ncid, varid, name, xtype, len, op))                                                                  \
  RAISED(PIOc_get_att_##suffix, (int ncid, int varid, const char* name, type* ip), (ncid, varid, name, ip))
#define RAISED_TYPE(suffix, type) RAISED_ATT(suffix, type) RAISED_DATA(suffix, type) RAISED_VARD(suffix, type)

RAISED_DATA(text, char)
RAISED_VARD(text, char)
RAISED_TYPE(schar, signed char)
RAISED_TYPE(uchar, unsigned char)
RAISED_TYPE(short, short)
RAISED_TYPE(ushort, unsigned short)
RAISED_TYPE(int, int)
RAISED_TYPE(uint, unsigned int)
RAISED_ATT(long, long)
RAISED_DATA(long, long)
RAISED_TYPE(longlong, long long)
RAISED_TYPE(ulonglong, unsigned long long)
RAISED_TYPE(float, float)
RAISED_TYPE(double, double)

/* stanchion.h */

RAISED(stanchion_pio_to_io,
       (int ioid, const void* array, int64_t array_length, const void* fill, void* held, int64_t held_length),
       (ioid, array, array_length, fill, held, held_length))
RAISED(stanchion_pio_to_compute, (int ioid, const void* held, int64_t held_length, void* array, int64_t array_length),
       (ioid, held, held_length, array, array_length))
RAISED(stanchion_pio_put_attribute,
       (int ncid, int varid, const char* name, int xtype, int64_t size, int64_t elements, void* data, int error),
       (ncid, varid, name, xtype, size, elements, data, error))
RAISED(stanchion_pio_get_attribute,
       (int ncid, int varid, const char* name, int xtype, int64_t size, int64_t elements, void* data, int error),
       (ncid, varid, name, xtype, size, elements, data, error))
RAISED(stanchion_pio_put_variable,
       (int ncid, int varid, int given, const int* start, const int* count, int xtype, int64_t size, int64_t elements,
        void* data, int error),
       (ncid, varid, given, start, count, xtype, size, elements, data, error))
RAISED(stanchion_pio_get_variable,
       (int ncid, int varid, int given, const int* start, const int* count, int xtype, int64_t size, int64_t elements,
        void* data, int error),
       (ncid, varid, given, start, count, xtype, size, elements, data, error))
RAISED(stanchion_pio_refuse_array, (int ncid, int code), (ncid, code))
