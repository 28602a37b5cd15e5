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

/* ======== I/O systems ========
 * Their ranks, error handling and settings. */

/**
 * Makes an I/O system of all ranks of `comp_comm`. Its I/O tasks are `num_iotasks` of them: rank `base` and every
 * `stride`-th after it. `rearr` is the rearranger of decompositions that ask for no other.
 *
 * # Returns
 * PIO_NOERR, and the id in `iosysidp`; PIO_EINVAL if so many I/O tasks do not fit.
 *
 * # Collective
 * Called by all ranks of `comp_comm`, which all return the same code.
 */
int PIOc_Init_Intracomm(MPI_Comm comp_comm, int num_iotasks, int stride, int base, int rearr, int *iosysidp);

/**
 * As PIOc_Init_Intracomm with the communicator as Fortran has it, and the options of PIOc_set_rearr_opts unless
 * `rearr_opts` is NULL.
 */
int PIOc_Init_Intracomm_from_F90(int f90_comp_comm,
                                 int num_iotasks,
                                 int stride,
                                 int base,
                                 int rearr,
                                 rearr_opt_t *rearr_opts,
                                 int *iosysidp);

/**
 * Ends an I/O system: frees its decompositions, and flushes and closes files that are still open.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int PIOc_finalize(int iosysid);

/**
 * As PIOc_finalize.
 */
int PIOc_free_iosystem(int iosysid);

/**
 * Gets the number of I/O tasks.
 */
int PIOc_get_numiotasks(int iosysid, int *numiotasks);

/**
 * Tells whether this rank is an I/O task.
 */
int PIOc_iam_iotask(int iosysid, bool *ioproc);

/**
 * Gets the number of this rank among the I/O tasks, or -1.
 */
int PIOc_iotask_rank(int iosysid, int *iorank);

/**
 * Tells whether there is such an I/O system. Always returns PIO_NOERR.
 */
int PIOc_iosystem_is_active(int iosysid, bool *active);

/**
 * Returns the id of the I/O system of an open file; PIO_EBADID if there is no such file.
 */
int PIOc_get_iosystem(int ncid);

/**
 * Sets what is done about errors: PIO_INTERNAL_ERROR (a message from the rank that failed), PIO_BCAST_ERROR or
 * PIO_RETURN_ERROR; the code is returned on all ranks in all cases. PIO_DEFAULT as `iosysid` is for I/O systems to come
 * and for calls that belong to none.
 *
 * # Returns
 * The previous method; PIO_EBADID or PIO_EINVAL.
 */
int PIOc_Set_IOSystem_Error_Handling(int iosysid, int method);

/**
 * As PIOc_Set_IOSystem_Error_Handling, with the previous method in `old_method`, which may be NULL.
 *
 * # Returns
 * PIO_NOERR, PIO_EBADID or PIO_EINVAL.
 */
int PIOc_set_iosystem_error_handling(int iosysid, int method, int *old_method);

/**
 * As PIOc_Set_IOSystem_Error_Handling for the I/O system of an open file.
 *
 * # Returns
 * The previous method; PIO_EBADID or PIO_EINVAL.
 */
int PIOc_Set_File_Error_Handling(int ncid, int method);

/**
 * Sets how data move between ranks and I/O tasks. With PIO_REARR_COMM_P2P, in the directions that `fcd` names, at most
 * `max_pend_req` messages are pending at once (PIO_REARR_COMM_UNLIMITED_PEND_REQ and 0: any number), a sender waits for a
 * handshake (`hs`), and sends do not block (`isend`). Otherwise all messages are pending at once.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
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
 * Sets a hint of MPI-IO for files that are created or opened from now on. Not collective.
 */
int PIOc_set_hint(int iosysid, const char *hint, const char *hintval);

/* ======== Decompositions ========
 * A decomposition says which elements of an array each rank has: its map. */

/**
 * Makes a decomposition: `compmap` has the place in the array of each of this rank's elements, counted from 1; 0 is an
 * element that is in no file (a hole). The order is free. `rearr` is another rearranger than the I/O system's, or NULL.
 * `iostart` and `iocount`, unless NULL, say what this I/O task shall hold (box rearranger only).
 *
 * # Returns
 * PIO_NOERR, and the id in `ioidp`. PIO_EINVAL if an entry is outside of the array, or if an element is in the maps more
 * than once: always with the box rearranger, with the subset rearranger if stanchion_pio_strict asks for it.
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
 * As PIOc_InitDecomp with places counted from 0 and -1 for a hole; a `rearranger` of 0 is the I/O system's.
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
 * Makes a decomposition in which this rank has one block of the array: `count` elements from `start`, counted from 0, in
 * each dimension. With the subset rearranger.
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
 * Frees a decomposition. Data that PIOc_write_darray has buffered with it are still written.
 *
 * # Collective
 * Called by all ranks of the I/O system.
 */
int PIOc_freedecomp(int iosysid, int ioid);

/**
 * Returns the length of this rank's map; PIO_EBADID if there is no such decomposition.
 */
int PIOc_get_local_array_size(int ioid);

/**
 * Sets the fewest bytes for which the box rearranger uses another I/O task, for decompositions that are made from now on.
 * It must be the same on all ranks. Ignored if not positive.
 */
int PIOc_set_blocksize(int newblocksize);

/* ======== Maps ========
 * Decompositions in files: text files of maps, and netCDF files. */

/**
 * Reads this rank's map from a text file of PIOc_writemap. There may be more ranks than wrote it.
 *
 * # Returns
 * PIO_NOERR; the dimensions in `gdims` and the map in `map`, both malloc'ed for the caller to free, their lengths in
 * `ndims` and `fmaplen`.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int PIOc_readmap(const char *file, int *ndims, int **gdims, PIO_Offset *fmaplen, PIO_Offset **map, MPI_Comm comm);

/**
 * As PIOc_readmap with the communicator as Fortran has it.
 */
int PIOc_readmap_from_f90(const char *file,
                          int *ndims,
                          int **gdims,
                          PIO_Offset *maplen,
                          PIO_Offset **map,
                          int f90_comm);

#if STANCHION_PIO_NCAR
/**
 * Writes the maps of all ranks into a text file, which is replaced atomically.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int PIOc_writemap(const char *file,
                  int ndims,
                  const int *gdims,
                  PIO_Offset maplen,
                  const PIO_Offset *map,
                  MPI_Comm comm);
#endif

#if !STANCHION_PIO_NCAR
/**
 * Writes the maps of all ranks into a text file, which is replaced atomically and records `ioid`.
 *
 * # Collective
 * Called by all ranks of `comm`, which all return the same code.
 */
int PIOc_writemap(const char *file,
                  int ioid,
                  int ndims,
                  const int *gdims,
                  PIO_Offset maplen,
                  const PIO_Offset *map,
                  MPI_Comm comm);
#endif

#if STANCHION_PIO_NCAR
/**
 * As PIOc_writemap with the communicator as Fortran has it.
 */
int PIOc_writemap_from_f90(const char *file,
                           int ndims,
                           const int *gdims,
                           PIO_Offset maplen,
                           const PIO_Offset *map,
                           int f90_comm);
#endif

#if !STANCHION_PIO_NCAR
/**
 * As PIOc_writemap with the communicator as Fortran has it.
 */
int PIOc_writemap_from_f90(const char *file,
                           int ioid,
                           int ndims,
                           const int *gdims,
                           PIO_Offset maplen,
                           const PIO_Offset *map,
                           int f90_comm);
#endif

/**
 * Writes a decomposition into a text file, in the order in which the maps were given.
 *
 * # Collective
 * Called by all ranks of `comm`, which are those of the I/O system. They all return the same code.
 */
int PIOc_write_decomp(const char *file, int iosysid, int ioid, MPI_Comm comm);

/**
 * Writes a decomposition into a netCDF file, in the order in which the maps were given. `cmode` is as for
 * PIOc_create; `title` and `history` may be NULL.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int PIOc_write_nc_decomp(int iosysid,
                         const char *filename,
                         int cmode,
                         int ioid,
                         const char *title,
                         const char *history,
                         int fortran_order);

/**
 * Makes a decomposition from a netCDF file of PIOc_write_nc_decomp, which as many ranks must have written. `title` and `history`
 * have room for PIO_MAX_NAME characters and a NUL; they and `fortran_order` may be NULL.
 *
 * # Returns
 * PIO_NOERR, and the id in `ioid`.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code; `comm` is not used.
 */
int PIOc_read_nc_decomp(int iosysid,
                        const char *filename,
                        int *ioid,
                        MPI_Comm comm,
                        int pio_type,
                        char *title,
                        char *history,
                        int *fortran_order);

/* ======== Files ======== */

/**
 * Tells whether this process can use an I/O type: the build knows the file library, and it can be loaded, which this call
 * does.
 *
 * # Returns
 * 1 or 0.
 */
int PIOc_iotype_available(int iotype);

/**
 * Creates a file. Unwritten places are not filled, unless PIOc_set_fill or PIOc_def_var_fill ask for it.
 *
 * # Returns
 * PIO_NOERR, and the id in `ncidp`; PIO_EBADIOTYPE if the library was built without that I/O type, or an I/O task cannot
 * load the file library.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int PIOc_createfile(int iosysid,
                    int *ncidp,
                    const int *iotype,
                    const char *fname,
                    int mode);

/**
 * As PIOc_createfile with the I/O type in the `mode`: PnetCDF with NC_PNETCDF, else netCDF, which fills.
 */
int PIOc_create(int iosysid, const char *path, int cmode, int *ncidp);

/**
 * Opens a file, for writing too if `mode` has PIO_WRITE. A file that the I/O type cannot open is opened as
 * PIO_IOTYPE_NETCDF; `iotype` is not changed.
 *
 * # Returns
 * PIO_NOERR, and the id in `ncidp`.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int PIOc_openfile(int iosysid, int *ncidp, int *iotype, const char *fname, int mode);

/**
 * As PIOc_openfile with that I/O type only.
 */
int PIOc_openfile2(int iosysid, int *ncidp, int *iotype, const char *fname, int mode);

/**
 * As PIOc_openfile if `retry` is not 0, else as PIOc_openfile2.
 */
int PIOc_openfile_retry(int iosysid, int *ncidp, int *iotype, const char *filename, int mode, int retry);

/**
 * As PIOc_openfile2 with the I/O type in the `mode`: PnetCDF with NC_PNETCDF, else netCDF.
 */
int PIOc_open(int iosysid, const char *path, int mode, int *ncidp);

/**
 * Flushes buffered data and closes the file. It is closed even if that fails.
 */
int PIOc_closefile(int ncid);

/**
 * Removes a file.
 *
 * # Collective
 * Called by all ranks of the I/O system, which all return the same code.
 */
int PIOc_deletefile(int iosysid, const char *filename);

/**
 * Flushes buffered data, and the buffers of the file library.
 */
int PIOc_sync(int ncid);

/**
 * Enters define mode: dimensions, variables and attributes can be changed.
 */
int PIOc_redef(int ncid);

/**
 * Leaves define mode: data can be written and read.
 */
int PIOc_enddef(int ncid);

/**
 * Tells whether there is such an open file. Not collective.
 *
 * # Returns
 * 1 or 0.
 */
int PIOc_File_is_Open(int ncid);

/**
 * Sets whether unwritten places are filled (PIO_FILL) or not (PIO_NOFILL), for variables without a setting of their own.
 * `old_modep` gets the previous mode.
 */
int PIOc_set_fill(int ncid,
                  int fillmode,
                  int *old_modep);

/**
 * Gets the number of dimensions, of variables and of global attributes, and the unlimited dimension or -1.
 */
int PIOc_inq(int ncid, int *ndimsp, int *nvarsp, int *ngattsp, int *unlimdimidp);

/**
 * Gets the number of dimensions.
 */
int PIOc_inq_ndims(int ncid, int *ndimsp);

/**
 * Gets the number of variables.
 */
int PIOc_inq_nvars(int ncid, int *nvarsp);

/**
 * Gets the number of global attributes.
 */
int PIOc_inq_natts(int ncid, int *ngattsp);

/**
 * Gets the unlimited dimension, or -1.
 */
int PIOc_inq_unlimdim(int ncid, int *unlimdimidp);

/**
 * Gets the number of unlimited dimensions, and their ids.
 */
int PIOc_inq_unlimdims(int ncid, int *nunlimdimsp, int *unlimdimidsp);

/**
 * Gets the format of the file, as nc_inq_format numbers it.
 */
int PIOc_inq_format(int ncid, int *formatp);

/* ======== Dimensions ======== */

/**
 * Defines a dimension; PIO_UNLIMITED as `len` lets it grow. `idp` gets its id.
 */
int PIOc_def_dim(int ncid, const char *name, PIO_Offset len, int *idp);

/**
 * Gets name and length of a dimension. `name` has room for PIO_MAX_NAME characters and a NUL.
 */
int PIOc_inq_dim(int ncid, int dimid, char *name, PIO_Offset *lenp);

/**
 * Gets the id of the dimension of that name.
 */
int PIOc_inq_dimid(int ncid, const char *name, int *idp);

/**
 * Gets the name of a dimension. `name` has room for PIO_MAX_NAME characters and a NUL.
 */
int PIOc_inq_dimname(int ncid, int dimid, char *name);

/**
 * Gets the length of a dimension; of the unlimited one, the number of records.
 */
int PIOc_inq_dimlen(int ncid, int dimid, PIO_Offset *lenp);

/**
 * Renames a dimension.
 */
int PIOc_rename_dim(int ncid, int dimid, const char *name);

/* ======== Variables ========
 * What variables are made of, and what they are filled with. */

/**
 * Defines a variable of `ndims` dimensions, the slowest first. `varidp` gets its id.
 */
int PIOc_def_var(int ncid, const char *name, nc_type xtype, int ndims, const int *dimidsp, int *varidp);

/**
 * Gets the id of the variable of that name.
 */
int PIOc_inq_varid(int ncid, const char *name, int *varidp);

#if STANCHION_PIO_NCAR
/**
 * Gets what a variable is made of. `name` has room for PIO_MAX_NAME characters and a NUL.
 */
int PIOc_inq_var(int ncid, int varid, char *name, nc_type *xtypep, int *ndimsp, int *dimidsp, int *nattsp);
#endif

#if !STANCHION_PIO_NCAR
/**
 * Gets what a variable is made of. The name is cut to `namelen` bytes with its NUL.
 */
int PIOc_inq_var(int ncid, int varid, char *name, int namelen, nc_type *xtypep, int *ndimsp, int *dimidsp, int *nattsp);
#endif

#if STANCHION_PIO_NCAR
/**
 * Gets the name of a variable. `name` has room for PIO_MAX_NAME characters and a NUL.
 */
int PIOc_inq_varname(int ncid, int varid, char *name);
#endif

#if !STANCHION_PIO_NCAR
/**
 * Gets the name of a variable, cut to `namelen` bytes with its NUL.
 */
int PIOc_inq_varname(int ncid, int varid, char *name, int namelen);
#endif

/**
 * Gets the type of a variable.
 */
int PIOc_inq_vartype(int ncid, int varid, nc_type *xtypep);

/**
 * Gets the number of a variable's dimensions.
 */
int PIOc_inq_varndims(int ncid, int varid, int *ndimsp);

/**
 * Gets the ids of a variable's dimensions, the slowest first.
 */
int PIOc_inq_vardimid(int ncid, int varid, int *dimidsp);

/**
 * Gets the number of a variable's attributes.
 */
int PIOc_inq_varnatts(int ncid, int varid, int *nattsp);

/**
 * Renames a variable.
 */
int PIOc_rename_var(int ncid, int varid, const char *name);

/**
 * Gets name and size of a type. `name` has room for PIO_MAX_NAME characters and a NUL.
 */
int PIOc_inq_type(int ncid, nc_type xtype, char *name, PIO_Offset *sizep);

/**
 * Sets whether unwritten places of a variable are filled (`no_fill` 0) or not (PIO_NOFILL), and with what: one element
 * of the variable's type. It may be NULL where nothing is filled.
 */
int PIOc_def_var_fill(int ncid, int varid, int no_fill, const void *fill_value);

/**
 * Gets whether unwritten places of a variable are left alone (`no_fill` 1) or filled (0), and with what. `fill_valuep`
 * has room for one element of the variable's type.
 */
int PIOc_inq_var_fill(int ncid, int varid, int *no_fill, void *fill_valuep);

/* ======== Attributes ========
 * PIO_GLOBAL as `varid` stands for the file itself. */

/**
 * Gets type and length of an attribute.
 */
int PIOc_inq_att(int ncid, int varid, const char *name, nc_type *xtypep, PIO_Offset *lenp);

/**
 * Gets the number of elements of an attribute.
 */
int PIOc_inq_attlen(int ncid, int varid, const char *name, PIO_Offset *lenp);

/**
 * Gets the type of an attribute.
 */
int PIOc_inq_atttype(int ncid, int varid, const char *name, nc_type *xtypep);

/**
 * Gets the number of the attribute of that name.
 */
int PIOc_inq_attid(int ncid, int varid, const char *name, int *idp);

/**
 * Gets the name of the attribute of that number. `name` has room for PIO_MAX_NAME characters and a NUL.
 */
int PIOc_inq_attname(int ncid, int varid, int attnum, char *name);

/**
 * Renames an attribute.
 */
int PIOc_rename_att(int ncid, int varid, const char *name, const char *newname);

/**
 * Removes an attribute.
 */
int PIOc_del_att(int ncid, int varid, const char *name);

/**
 * Copies an attribute of a variable to another one, which may be in another file of the same I/O system.
 */
int PIOc_copy_att(int incid, int ivarid, const char *name, int oncid, int ovarid);

/**
 * Sets an attribute of `len` elements of type `xtype`.
 */
int PIOc_put_att(int ncid, int varid, const char *name, nc_type xtype, PIO_Offset len, const void *op);

/**
 * Sets an attribute to a text of `len` characters.
 */
int PIOc_put_att_text(int ncid, int varid, const char *name, PIO_Offset len, const char *op);

/**
 * Reads an attribute as it is stored. `ip` has room for all of it.
 */
int PIOc_get_att(int ncid, int varid, const char *name, void *ip);

/**
 * Reads a text. `ip` has room for all of it; no NUL is added.
 */
int PIOc_get_att_text(int ncid, int varid, const char *name, char *ip);

/* ======== Darrays ========
 * Arrays that are distributed over the ranks by a decomposition. */

/**
 * Sets the record that the next writes and reads of a variable go to, counted from 0. Not collective.
 */
int PIOc_setframe(int ncid, int varid, int frame);

/**
 * Goes on to the next record of a variable. Not collective.
 */
int PIOc_advanceframe(int ncid, int varid);

/**
 * Writes a distributed array: this rank's part has `arraylen` elements of the decomposition's type, in the order of its
 * map. The part is copied; it is in the file after PIOc_sync or PIOc_closefile. Places that are in no rank's map get
 * `fillvalue`, or the variable's fill value if that is NULL.
 */
int PIOc_write_darray(int ncid, int varid, int ioid, PIO_Offset arraylen, const void *array, const void *fillvalue);

#if STANCHION_PIO_NCAR
/**
 * As PIOc_write_darray for `nvars` variables, whose parts follow each other in `array`, `arraylen` elements each. `frame`,
 * unless NULL, has the record of each. `fillvalue`, unless NULL, points to an array with one value for each, as upstream
 * takes it.
 */
int PIOc_write_darray_multi(int ncid,
                            const int *varids,
                            int ioid,
                            int nvars,
                            PIO_Offset arraylen,
                            const void *array,
                            const int *frame,
                            void **fillvalue,
                            bool flushtodisk);
#endif

#if !STANCHION_PIO_NCAR
/**
 * As PIOc_write_darray for `nvars` variables, whose parts follow each other in `array`, `arraylen` elements each. `frame`,
 * unless NULL, has the record of each. `fillvalue`, unless NULL, points to an array with one value for each, as upstream
 * takes it.
 */
int PIOc_write_darray_multi(int ncid,
                            const int *varids,
                            int ioid,
                            int nvars,
                            PIO_Offset arraylen,
                            const void *array,
                            const int *frame,
                            const void **fillvalue,
                            bool flushtodisk);
#endif

/**
 * Reads this rank's part of a distributed array: `arraylen` elements of the decomposition's type, at least as many as its
 * map has. Holes keep what they had.
 */
int PIOc_read_darray(int ncid,
                     int varid,
                     int ioid,
                     PIO_Offset arraylen,
                     void *array);

/**
 * Sets how many bytes of PIOc_write_darray a rank may buffer before it writes them. The limit must be the same on all
 * ranks. A negative one is ignored, and 0 too in the ABI of NCAR.
 *
 * # Returns
 * The previous limit.
 */
PIO_Offset PIOc_set_buffer_size_limit(PIO_Offset limit);

/**
 * Writes record `recnum` of a variable as PIOc_setframe and PIOc_write_darray do. The array is as long as the map.
 */
int PIOc_put_vard(int ncid, int varid, int decompid, PIO_Offset recnum, const void *buf);

/**
 * Reads record `recnum` of a variable as PIOc_setframe and PIOc_read_darray do. The array is as long as the map.
 */
int PIOc_get_vard(int ncid, int varid, int decompid, PIO_Offset recnum, void *buf);

/* ======== Data ========
 * Variables that are not distributed. All ranks ask for the same part of a variable; the data of the first I/O task are
 * written, and all ranks get what is read. */

/**
 * Writes a whole variable. The data are of its type, as in all functions without a type in their name.
 */
int PIOc_put_var(int ncid, int varid, const void *buf);

/**
 * Reads a whole variable.
 */
int PIOc_get_var(int ncid, int varid, void *buf);

/**
 * Writes one element.
 */
int PIOc_put_var1(int ncid, int varid, const PIO_Offset *index, const void *buf);

/**
 * Reads one element.
 */
int PIOc_get_var1(int ncid, int varid, const PIO_Offset *index, void *buf);

/**
 * Writes a block: `count` elements from `start` in each dimension.
 */
int PIOc_put_vara(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, const void *buf);

/**
 * Reads a block.
 */
int PIOc_get_vara(int ncid, int varid, const PIO_Offset *start, const PIO_Offset *count, void *buf);

/**
 * Writes `count` elements from `start` that are `stride` apart, in each dimension.
 */
int PIOc_put_vars(int ncid,
                  int varid,
                  const PIO_Offset *start,
                  const PIO_Offset *count,
                  const PIO_Offset *stride,
                  const void *buf);

/**
 * Reads as PIOc_put_vars writes.
 */
int PIOc_get_vars(int ncid,
                  int varid,
                  const PIO_Offset *start,
                  const PIO_Offset *count,
                  const PIO_Offset *stride,
                  void *buf);

/* ======== netCDF-4 ========
 * Settings of netCDF-4 files, which the library does not write yet: each function returns PIO_ENOTNC4 for a file and
 * PIO_EBADIOTYPE for an I/O type of netCDF-4. */

/**
 * Sets the chunk cache of variables of new files. netCDF-4 only, as all functions of this chapter.
 */
int PIOc_set_chunk_cache(int iosysid, int iotype, PIO_Offset size, PIO_Offset nelems, float preemption);

/**
 * Gets the chunk cache of variables of new files. netCDF-4 only.
 */
int PIOc_get_chunk_cache(int iosysid, int iotype, PIO_Offset *sizep, PIO_Offset *nelemsp, float *preemptionp);

/**
 * Sets the chunk cache of a variable. netCDF-4 only.
 */
int PIOc_set_var_chunk_cache(int ncid, int varid, PIO_Offset size, PIO_Offset nelems, float preemption);

/**
 * Gets the chunk cache of a variable. netCDF-4 only.
 */
int PIOc_get_var_chunk_cache(int ncid, int varid, PIO_Offset *sizep, PIO_Offset *nelemsp, float *preemptionp);

/**
 * Compresses a variable. netCDF-4 only.
 */
int PIOc_def_var_deflate(int ncid, int varid, int shuffle, int deflate, int deflate_level);

/**
 * Gets how a variable is compressed. netCDF-4 only.
 */
int PIOc_inq_var_deflate(int ncid, int varid, int *shufflep, int *deflatep, int *deflate_levelp);

/**
 * Sets the chunk sizes of a variable. netCDF-4 only.
 */
int PIOc_def_var_chunking(int ncid, int varid, int storage, const PIO_Offset *chunksizesp);

/**
 * Gets the chunk sizes of a variable. netCDF-4 only.
 */
int PIOc_inq_var_chunking(int ncid, int varid, int *storagep, PIO_Offset *chunksizesp);

/**
 * Sets the byte order of a variable. netCDF-4 only.
 */
int PIOc_def_var_endian(int ncid, int varid, int endian);

/**
 * Gets the byte order of a variable. netCDF-4 only.
 */
int PIOc_inq_var_endian(int ncid, int varid, int *endianp);

/**
 * Compresses a variable with szip. netCDF-4 only.
 */
int PIOc_def_var_szip(int ncid, int varid, int options_mask, int pixels_per_block);

/**
 * Compresses a variable with Zstandard. netCDF-4 only.
 */
int PIOc_def_var_zstandard(int ncid, int varid, int level);

/**
 * Tells whether a variable is compressed with Zstandard. netCDF-4 only.
 */
int PIOc_inq_var_zstandard(int ncid, int varid, int *hasfilterp, int *levelp);

/**
 * Quantizes the data of a variable. netCDF-4 only.
 */
int PIOc_def_var_quantize(int ncid, int varid, int quantize_mode, int nsd);

/**
 * Gets how the data of a variable are quantized. netCDF-4 only.
 */
int PIOc_inq_var_quantize(int ncid, int varid, int *quantize_mode, int *nsdp);

/**
 * Adds a filter to a variable. netCDF-4 only.
 */
int PIOc_def_var_filter(int ncid, int varid, unsigned int id, size_t nparams, unsigned int *params);

/**
 * Gets the filters of a variable. netCDF-4 only.
 */
int PIOc_inq_var_filter_ids(int ncid, int varid, size_t *nfiltersp, unsigned int *ids);

/**
 * Gets the parameters of a filter of a variable. netCDF-4 only.
 */
int PIOc_inq_var_filter_info(int ncid, int varid, unsigned int id, size_t *nparamsp, unsigned int *params);

/**
 * Tells whether there is such a filter. netCDF-4 only.
 */
int PIOc_inq_filter_avail(int ncid, unsigned int id);

/* ======== Library ========
 * Meanings of error codes, messages, versions. */

#if STANCHION_PIO_NCAR
/**
 * Gets the meaning of an error code. `errstr` has room for PIO_MAX_NAME characters and a NUL. stanchion_last_error tells
 * more.
 */
int PIOc_strerror(int pioerr,
                  char *errstr);
#endif

#if !STANCHION_PIO_NCAR
/**
 * Gets the meaning of an error code, cut to `errmsg_sz` bytes with the closing NUL. stanchion_last_error tells more.
 */
int PIOc_strerror(int pioerr, char *errmsg, size_t errmsg_sz);
#endif

/**
 * Sets which messages are logged: -1 none, 0 errors, 1 warnings, 2 information, 3 and more all. As
 * stanchion_set_log_level.
 */
int PIOc_set_log_level(int level);

/**
 * As PIOc_set_log_level with the level of the first rank on all of them.
 *
 * # Collective
 * Called by all ranks of the I/O system.
 */
int PIOc_set_global_log_level(int iosysid, int level);

/**
 * Returns PIO_VERSION_MAJOR of the library.
 */
int PIOc_get_version_major(void);

/**
 * Returns PIO_VERSION_MINOR of the library.
 */
int PIOc_get_version_minor(void);

/**
 * Returns PIO_VERSION_PATCH of the library.
 */
int PIOc_get_version_patch(void);

/**
 * Gets the version as text, cut to `len` bytes with the closing NUL.
 */
int PIOc_get_version_string(char *vstr, int len);

/**
 * Gets what stands for the commit: the version of Stanchion, cut to `len` bytes with the closing NUL.
 */
int PIOc_get_version_hash(char *vstr, int len);

/**
 * Gets the numbers of the version and its text. Each may be NULL.
 */
int PIOc_get_version(int *major, int *minor, int *patch, char *vstr, int vstr_len);

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
