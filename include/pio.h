/* Stanchion: pio.h, compatible with the C API of PIO.
 *
 * Arrays that are spread over many ranks are written and read by a few of them, the I/O tasks. There are two
 * PIOs whose binaries differ, SCORPIO 2.0 and NCAR ParallelIO 2.7: STANCHION_PIO_NCAR says which of them the
 * library was configured for (-DSTANCHION_PIO_ABI).
 *
 * Functions return PIO_NOERR or another number, unless it says otherwise; stanchion_last_error() in stanchion.h
 * then tells why. All functions that take an ncid, and those that say so, are collective: called by all ranks of
 * the I/O system, which all return the same code. They use a private duplicate of the communicator.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/pio.h and src/capi/pio*.rs. */
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

/* Programs expect the NC_ names from here; no name below needs them. */
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

/* What becomes of errors; the code is returned on all ranks in all cases. */
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

/* What unwritten places hold. */
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
#define DECOMP_VERSION_ATT_NAME     "PIO_library_version"
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

/**
 * Makes an I/O system of all ranks of `comp_comm`. I/O tasks are `num_iotasks` of them: rank `base` and every
 * `stride`-th after it. `rearr` is for the decompositions that ask for no other rearranger.
 *
 * # Returns
 * PIO_NOERR, and the id in `iosysidp`; PIO_EINVAL if so many I/O tasks do not fit.
 *
 * # Collective
 * Called by all ranks of `comp_comm`, which all return the same code.
 */
int PIOc_Init_Intracomm(MPI_Comm comp_comm, int num_iotasks, int stride, int base, int rearr, int *iosysidp);

/**
 * As PIOc_Init_Intracomm with the communicator as Fortran has it, and the options of PIOc_set_rearr_opts
 * unless `rearr_opts` is NULL.
 *
 * # Collective
 * As PIOc_Init_Intracomm.
 */
int PIOc_Init_Intracomm_from_F90(int f90_comp_comm,
                                 int num_iotasks,
                                 int stride,
                                 int base,
                                 int rearr,
                                 rearr_opt_t *rearr_opts,
                                 int *iosysidp);

/**
 * Ends an I/O system. Its decompositions are freed; files that are still open are written out and closed.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int PIOc_finalize(int iosysid);

/**
 * As PIOc_finalize.
 *
 * # Collective
 * As PIOc_finalize.
 */
int PIOc_free_iosystem(int iosysid);

/**
 * The number of I/O tasks. `numiotasks` may be NULL.
 */
int PIOc_get_numiotasks(int iosysid, int *numiotasks);

/**
 * Whether this rank is an I/O task. `ioproc` may be NULL.
 */
int PIOc_iam_iotask(int iosysid, bool *ioproc);

/**
 * The number of this rank among the I/O tasks, or -1. `iorank` may be NULL.
 */
int PIOc_iotask_rank(int iosysid, int *iorank);

/**
 * Whether there is such an I/O system. `active` may be NULL.
 *
 * # Returns
 * PIO_NOERR in any case.
 */
int PIOc_iosystem_is_active(int iosysid, bool *active);

/**
 * The I/O system of an open file.
 *
 * # Returns
 * Its id; PIO_EBADID if there is no such file.
 */
int PIOc_get_iosystem(int ncid);

/**
 * Says what becomes of errors: PIO_INTERNAL_ERROR (a message from the rank that failed), PIO_BCAST_ERROR or
 * PIO_RETURN_ERROR; the code is returned on all ranks in all cases. PIO_DEFAULT as `iosysid` is for I/O
 * systems to come and for calls that belong to none.
 *
 * # Returns
 * The method until now; PIO_EBADID or PIO_EINVAL.
 */
int PIOc_Set_IOSystem_Error_Handling(int iosysid, int method);

/**
 * As PIOc_Set_IOSystem_Error_Handling, with the method until now in `old_method`, which may be NULL.
 *
 * # Returns
 * PIO_NOERR, PIO_EBADID or PIO_EINVAL.
 */
int PIOc_set_iosystem_error_handling(int iosysid, int method, int *old_method);

/**
 * As PIOc_Set_IOSystem_Error_Handling for the I/O system of an open file.
 *
 * # Returns
 * The method until now; PIO_EBADID or PIO_EINVAL.
 */
int PIOc_Set_File_Error_Handling(int ncid, int method);

/**
 * How data move between ranks and I/O tasks. With PIO_REARR_COMM_P2P, in the directions that `fcd` names,
 * at most `max_pend_req` messages are under way at once (PIO_REARR_COMM_UNLIMITED_PEND_REQ and 0: any number),
 * a sender waits until it is asked (`hs`) and does not wait for its messages one by one (`isend`). Otherwise all
 * messages are under way at once.
 */
int PIOc_set_rearr_opts(int iosysid,
                        int comm_type,
                        int fcd,
                        bool enable_hs_c2i,
                        bool enable_isend_c2i,
                        int max_pend_req_c2i,
                        bool enable_hs_i2c,
                        bool enable_isend_i2c,
                        int max_pend_req_i2c);

/**
 * Gives a hint to MPI-IO for files that are created or opened from now on.
 */
int PIOc_set_hint(int iosysid, const char *hint, const char *hintval);

/**
 * Makes a decomposition: `compmap` has the places in the array of this rank's elements, counted from 1, 0
 * for an element that is in no file (a hole). The order is free. `rearr` NULL: as the I/O system has it.
 * `iostart` and `iocount`, unless NULL, say what this I/O task shall hold (box rearranger only).
 *
 * # Returns
 * PIO_NOERR, and the id in `ioidp`. PIO_EINVAL if an entry is outside of the array, or if an element is in the
 * maps more than once: with the box rearranger always, with the subset rearranger if
 * stanchion_pio_strict asks for it.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int PIOc_InitDecomp(int iosysid,
                    int pio_type,
                    int ndims,
                    const int *gdimlen,
                    int maplen,
                    const PIO_Offset *compmap,
                    int *ioidp,
                    const int *rearr,
                    const PIO_Offset *iostart,
                    const PIO_Offset *iocount);

/**
 * As PIOc_InitDecomp for a decomposition that is only read with: an element may be in the maps many times.
 *
 * # Collective
 * As PIOc_InitDecomp.
 */
int PIOc_InitDecomp_ReadOnly(int iosysid,
                             int pio_type,
                             int ndims,
                             const int *gdimlen,
                             int maplen,
                             const PIO_Offset *compmap,
                             int *ioidp,
                             const int *rearr,
                             const PIO_Offset *iostart,
                             const PIO_Offset *iocount);

/**
 * As PIOc_InitDecomp with places counted from 0 and -1 for a hole; `rearranger` 0: as the I/O system has it.
 *
 * # Collective
 * As PIOc_InitDecomp.
 */
int PIOc_init_decomp(int iosysid,
                     int pio_type,
                     int ndims,
                     const int *gdimlen,
                     int maplen,
                     const PIO_Offset *compmap,
                     int *ioidp,
                     int rearranger,
                     const PIO_Offset *iostart,
                     const PIO_Offset *iocount);

/**
 * Makes a decomposition in which this rank has one block of the array: `count` elements from `start` (counted
 * from 0) in each dimension. With the subset rearranger.
 *
 * # Collective
 * As PIOc_InitDecomp.
 */
int PIOc_InitDecomp_bc(int iosysid,
                       int basetype,
                       int ndims,
                       const int *gdimlen,
                       const long *start,
                       const long *count,
                       int *ioidp);

/**
 * Frees a decomposition. What was handed to PIOc_write_darray with it is still written.
 *
 * # Collective
 * Called by all ranks of the I/O system.
 */
int PIOc_freedecomp(int iosysid, int ioid);

/**
 * The length of this rank's map.
 *
 * # Returns
 * The length; PIO_EBADID if there is no such decomposition.
 */
int PIOc_get_local_array_size(int ioid);

/**
 * Sets the fewest bytes that an I/O task is used for by the box rearranger, for decompositions that are made
 * from now on. To be the same on all ranks. Ignored if not positive.
 */
int PIOc_set_blocksize(int newblocksize);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
