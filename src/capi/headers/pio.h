/* Stanchion: pio.h, compatible with the C API of PIO.
 *
 * Arrays that are spread over many ranks are written and read by a few of them, the I/O tasks. There are two
 * PIOs whose binaries differ, SCORPIO 2.0 and NCAR ParallelIO 2.7: STANCHION_PIO_NCAR says which of them the
 * library was configured for (-DSTANCHION_PIO_ABI).
 *
 * Functions return PIO_NOERR or an error code, unless stated otherwise; stanchion_last_error() in stanchion.h then
 * tells why. Functions that take an ncid, unless stated otherwise, and those that say so are collective: called by
 * all ranks of the I/O system, which all return the same code. They use a private duplicate of the communicator.
 * Output arguments may be NULL.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/pio.h and src/capi/pio/. */
#ifndef STANCHION_PIO_H
#define STANCHION_PIO_H

#ifndef STANCHION_PIO_NCAR
#define STANCHION_PIO_NCAR 0
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"

/* Programs expect the NC_ names from this header; no name below needs them. */
#if defined(__has_include)
#if __has_include(<netcdf.h>)
#include <netcdf.h>
#define STANCHION_PIO_NC_TYPE
#elif __has_include(<pnetcdf.h>)
#include <pnetcdf.h>
#define STANCHION_PIO_NC_TYPE
#endif
#endif
#ifndef STANCHION_PIO_NC_TYPE
typedef int nc_type;
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if STANCHION_PIO_NCAR
#define PIO_VERSION_MAJOR 2
#define PIO_VERSION_MINOR 7
#define PIO_VERSION_PATCH 0
#else
#define PIO_VERSION_MAJOR 2
#define PIO_VERSION_MINOR 0
#define PIO_VERSION_PATCH 1
#endif

typedef MPI_Offset PIO_Offset;
#define PIO_OFFSET MPI_OFFSET

/* For the iosysid: I/O systems to come. */
#define PIO_DEFAULT (-1)
/* For the varid: the file itself. */
#define PIO_GLOBAL (-1)
/* For the length of a dimension. */
#define PIO_UNLIMITED (0)

#define PIO_MAX_NAME     (256)
#define PIO_MAX_DIMS     (1024)
#define PIO_MAX_VARS     (8192)
#define PIO_MAX_VAR_DIMS (1024)
#define PIO_MAX_ATTRS    (8192)

/* Types */
#define PIO_NAT    (0)
#define PIO_BYTE   (1)
#define PIO_CHAR   (2)
#define PIO_SHORT  (3)
#define PIO_INT    (4)
#define PIO_FLOAT  (5)
#define PIO_REAL   (5)
#define PIO_DOUBLE (6)
#define PIO_UBYTE  (7)
#define PIO_USHORT (8)
#define PIO_UINT   (9)
#define PIO_INT64  (10)
#define PIO_UINT64 (11)
#define PIO_STRING (12)

/* Modes of files */
#define PIO_NOWRITE      (0)
#define PIO_WRITE        (1)
#define PIO_CLOBBER      (0)
#define PIO_NOCLOBBER    (4)
#define PIO_64BIT_DATA   (32)
#define PIO_64BIT_OFFSET (512)
#define PIO_FILL         (0)
#define PIO_NOFILL       (256)

#if STANCHION_PIO_NCAR
/* Modes of PIOc_def_var_quantize */
#define PIO_NOQUANTIZE          (0)
#define PIO_QUANTIZE_BITGROOM   (1)
#define PIO_QUANTIZE_GRANULARBR (2)
#define PIO_QUANTIZE_BITROUND   (3)
#endif

/* How a file is written and read. */
enum PIO_IOTYPE {
  PIO_IOTYPE_PNETCDF  = 1, /**< parallel: PnetCDF */
  PIO_IOTYPE_NETCDF   = 2, /**< serial: netCDF on the first I/O task */
  PIO_IOTYPE_NETCDF4C = 3,
  PIO_IOTYPE_NETCDF4P = 4,
#if STANCHION_PIO_NCAR
  PIO_IOTYPE_GDAL = 5
#else
  PIO_IOTYPE_NETCDF4P_NCZARR = 5,
  PIO_IOTYPE_ADIOS           = 6,
  PIO_IOTYPE_ADIOSC          = 7,
  PIO_IOTYPE_HDF5            = 8,
  PIO_IOTYPE_HDF5C           = 9
#endif
};

/* What an I/O task holds of a decomposed array. */
enum PIO_REARRANGERS {
  PIO_REARR_BOX = 1, /**< one contiguous block of the array */
#if STANCHION_PIO_NCAR
  PIO_REARR_SUBSET = 2 /**< what its own subset of the ranks has */
#else
  PIO_REARR_SUBSET = 2, /**< what its own subset of the ranks has */
  PIO_REARR_ANY    = 3, /**< the library chooses */
  PIO_REARR_CONTIG = 4  /**< as PIO_REARR_BOX */
#endif
};

/* How errors are reported; the code is returned on all ranks in all cases. */
enum PIO_ERROR_HANDLERS {
  PIO_INTERNAL_ERROR = -51, /**< a message as well, from the rank that failed */
  PIO_BCAST_ERROR    = -52,
#if STANCHION_PIO_NCAR
  PIO_RETURN_ERROR = -53
#else
  PIO_REDUCE_ERROR = -53,
  PIO_RETURN_ERROR = -54
#endif
};

enum PIO_REARR_COMM_TYPE {
  PIO_REARR_COMM_P2P  = 0,
  PIO_REARR_COMM_COLL = 1
};

/* The directions of flow control. */
enum PIO_REARR_COMM_FC_DIR {
  PIO_REARR_COMM_FC_2D_ENABLE  = 0,
  PIO_REARR_COMM_FC_1D_COMP2IO = 1,
  PIO_REARR_COMM_FC_1D_IO2COMP = 2,
  PIO_REARR_COMM_FC_2D_DISABLE = 3
};

#define PIO_REARR_COMM_UNLIMITED_PEND_REQ (-1)

/** Flow control in one direction: see PIOc_set_rearr_opts. */
typedef struct rearr_comm_fc_opt {
  bool hs;
  bool isend;
  int max_pend_req;
} rearr_comm_fc_opt_t;

typedef struct rearr_opt {
  int comm_type;
  int fcd;
  rearr_comm_fc_opt_t comp2io;
  rearr_comm_fc_opt_t io2comp;
} rearr_opt_t;

/* Error codes: those of netCDF and PnetCDF, */
#define PIO_NOERR (0)
#define PIO_EBADID         (-33)
#define PIO_ENFILE         (-34)
#define PIO_EEXIST         (-35)
#define PIO_EINVAL         (-36)
#define PIO_EPERM          (-37)
#define PIO_ENOTINDEFINE   (-38)
#define PIO_EINDEFINE      (-39)
#define PIO_EINVALCOORDS   (-40)
#define PIO_EMAXDIMS       (-41)
#define PIO_ENAMEINUSE     (-42)
#define PIO_ENOTATT        (-43)
#define PIO_EMAXATTS       (-44)
#define PIO_EBADTYPE       (-45)
#define PIO_EBADDIM        (-46)
#define PIO_EUNLIMPOS      (-47)
#define PIO_EMAXVARS       (-48)
#define PIO_ENOTVAR        (-49)
#define PIO_EGLOBAL        (-50)
#define PIO_ENOTNC         (-51)
#define PIO_ESTS           (-52)
#define PIO_EMAXNAME       (-53)
#define PIO_EUNLIMIT       (-54)
#define PIO_ENORECVARS     (-55)
#define PIO_ECHAR          (-56)
#define PIO_EEDGE          (-57)
#define PIO_ESTRIDE        (-58)
#define PIO_EBADNAME       (-59)
#define PIO_ERANGE         (-60)
#define PIO_ENOMEM         (-61)
#define PIO_EVARSIZE       (-62)
#define PIO_EDIMSIZE       (-63)
#define PIO_ETRUNC         (-64)
#define PIO_EAXISTYPE      (-65)
#define PIO_EDAP           (-66)
#define PIO_ECURL          (-67)
#define PIO_EIO            (-68)
#define PIO_ENODATA        (-69)
#define PIO_EDAPSVC        (-70)
#define PIO_EDAS           (-71)
#define PIO_EDDS           (-72)
#define PIO_EDATADDS       (-73)
#define PIO_EDAPURL        (-74)
#define PIO_EDAPCONSTRAINT (-75)
#define PIO_ETRANSLATION   (-76)
#define PIO_EHDFERR        (-101)
#define PIO_ECANTREAD      (-102)
#define PIO_ECANTWRITE     (-103)
#define PIO_ECANTCREATE    (-104)
#define PIO_EFILEMETA      (-105)
#define PIO_EDIMMETA       (-106)
#define PIO_EATTMETA       (-107)
#define PIO_EVARMETA       (-108)
#define PIO_ENOCOMPOUND    (-109)
#define PIO_EATTEXISTS     (-110)
#define PIO_ENOTNC4        (-111)
#define PIO_ESTRICTNC3     (-112)
#define PIO_ENOTNC3        (-113)
#define PIO_ENOPAR         (-114)
#define PIO_EPARINIT       (-115)
#define PIO_EBADGRPID      (-116)
#define PIO_EBADTYPID      (-117)
#define PIO_ETYPDEFINED    (-118)
#define PIO_EBADFIELD      (-119)
#define PIO_EBADCLASS      (-120)
#define PIO_EMAPTYPE       (-121)
#define PIO_ELATEFILL      (-122)
#define PIO_ELATEDEF       (-123)
#define PIO_EDIMSCALE      (-124)
#define PIO_ENOGRP         (-125)
#define PIO_ESTORAGE       (-126)
#define PIO_EBADCHUNK      (-127)
#define PIO_ENOTBUILT      (-128)
#define PIO_EDISKLESS      (-129)
#define PIO_EINDEP     (-203)
#define PIO_EINSUFFBUF (-219)
/* and those of PIO. */
#define PIO_FIRST_ERROR_CODE (-500)
#define PIO_EBADIOTYPE       (-500)
#if STANCHION_PIO_NCAR
#define PIO_EVARDIMMISMATCH (-501)
#define PIO_REQ_NULL        (-2)
#else
#define PIO_EINTERNAL (-501)
#define PIO_REQ_NULL  (-1)
#endif
#define PIO_EBADREARR (-502)

/* Default fill values. */
#define PIO_FILL_BYTE   ((signed char)-127)
#define PIO_FILL_CHAR   ((char)0)
#define PIO_FILL_SHORT  ((short)-32767)
#define PIO_FILL_INT    (-2147483647)
#define PIO_FILL_FLOAT  (9.9692099683868690e+36f)
#define PIO_FILL_DOUBLE (9.9692099683868690e+36)
#define PIO_FILL_UBYTE  (255)
#define PIO_FILL_USHORT (65535)
#define PIO_FILL_UINT   (4294967295U)
#define PIO_FILL_INT64  ((long long)-9223372036854775806LL)
#define PIO_FILL_UINT64 ((unsigned long long)18446744073709551614ULL)

/* Names in the files of PIOc_write_nc_decomp. */
#if STANCHION_PIO_NCAR
#define DECOMP_VERSION_ATT_NAME     "PIO_library_version"
#else
#define DECOMP_VERSION_ATT_NAME     "version"
#endif
#define DECOMP_MAX_MAPLEN_ATT_NAME  "max_maplen"
#define DECOMP_TITLE_ATT_NAME       "title"
#define DECOMP_HISTORY_ATT_NAME     "history"
#define DECOMP_SOURCE_ATT_NAME      "source"
#define DECOMP_ORDER_ATT_NAME       "array_order"
#define DECOMP_BACKTRACE_ATT_NAME   "backtrace"
#define DECOMP_DIM_DIM              "dims"
#define DECOMP_TASK_DIM_NAME        "task"
#define DECOMP_MAPELEM_DIM_NAME     "map_element"
#define DECOMP_NDIMS                "ndims"
#define DECOMP_GLOBAL_SIZE_VAR_NAME "global_size"
#define DECOMP_MAPLEN_VAR_NAME      "maplen"
#define DECOMP_MAP_VAR_NAME         "map"
#define DECOMP_C_ORDER_STR          "C"
#define DECOMP_FORTRAN_ORDER_STR    "Fortran"

//CHAPTER io_systems
//CHAPTER decompositions
//CHAPTER maps
//CHAPTER files
//CHAPTER dimensions
//CHAPTER variables
//CHAPTER attributes
//CHAPTER darrays
//CHAPTER data
//CHAPTER netcdf4
//CHAPTER library
/* Typed variants of the functions above: data in memory are of the type that ends the name, and are converted to and
 * from the type in the file. xtype is the type that an attribute is stored as. */
#define STANCHION_PIO_DATA(suffix, type)                                                                       \
  int PIOc_put_var_##suffix(int ncid, int varid, const type* op);                                              \
  int PIOc_get_var_##suffix(int ncid, int varid, type* buf);                                                   \
  int PIOc_put_var1_##suffix(int ncid, int varid, const PIO_Offset* index, const type* op);                    \
  int PIOc_get_var1_##suffix(int ncid, int varid, const PIO_Offset* index, type* buf);                         \
  int PIOc_put_vara_##suffix(int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count,            \
                             const type* op);                                                                  \
  int PIOc_get_vara_##suffix(int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count, type* buf); \
  int PIOc_put_vars_##suffix(int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count,            \
                             const PIO_Offset* stride, const type* op);                                        \
  int PIOc_get_vars_##suffix(int ncid, int varid, const PIO_Offset* start, const PIO_Offset* count,            \
                             const PIO_Offset* stride, type* buf);
#define STANCHION_PIO_VARD(suffix, type)                                                                       \
  int PIOc_put_vard_##suffix(int ncid, int varid, int decompid, PIO_Offset recnum, const type* op);            \
  int PIOc_get_vard_##suffix(int ncid, int varid, int decompid, PIO_Offset recnum, type* buf);
#define STANCHION_PIO_ATT(suffix, type)                                                                        \
  int PIOc_put_att_##suffix(int ncid, int varid, const char* name, nc_type xtype, PIO_Offset len,              \
                            const type* op);                                                                   \
  int PIOc_get_att_##suffix(int ncid, int varid, const char* name, type* ip);
#define STANCHION_PIO_TYPE(suffix, type)                                                                       \
  STANCHION_PIO_ATT(suffix, type) STANCHION_PIO_DATA(suffix, type) STANCHION_PIO_VARD(suffix, type)

STANCHION_PIO_DATA(text, char)
STANCHION_PIO_VARD(text, char)
STANCHION_PIO_TYPE(schar, signed char)
STANCHION_PIO_TYPE(uchar, unsigned char)
STANCHION_PIO_TYPE(short, short)
STANCHION_PIO_TYPE(ushort, unsigned short)
STANCHION_PIO_TYPE(int, int)
STANCHION_PIO_TYPE(uint, unsigned int)
STANCHION_PIO_ATT(long, long)
STANCHION_PIO_DATA(long, long)
STANCHION_PIO_TYPE(longlong, long long)
STANCHION_PIO_TYPE(ulonglong, unsigned long long)
STANCHION_PIO_TYPE(float, float)
STANCHION_PIO_TYPE(double, double)

#undef STANCHION_PIO_TYPE
#undef STANCHION_PIO_ATT
#undef STANCHION_PIO_VARD
#undef STANCHION_PIO_DATA

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
