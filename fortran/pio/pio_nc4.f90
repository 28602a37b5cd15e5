! Compression and chunks, which belong to netCDF-4: programs that ask for them compile, and get PIO_ENOTNC4 from files of other
! kinds.
module pio_nc4
  use, intrinsic :: iso_c_binding, only: c_int
  use pio_kinds, only: PIO_OFFSET_KIND
  use pio_inquire_var, only: PIO_inq_varndims
  use pio_types
  implicit none
  private

  public :: PIO_def_var_deflate, PIO_inq_var_deflate, PIO_def_var_chunking, PIO_inq_var_chunking
  integer, parameter, public :: PIO_CHUNKED = 0, PIO_CONTIGUOUS = 1, PIO_COMPACT = 2

  interface PIO_def_var_deflate
    module procedure def_var_deflate_desc
    module procedure def_var_deflate_vid
    module procedure def_var_deflate_id
  end interface

  interface PIO_inq_var_deflate
    module procedure inq_var_deflate_desc
    module procedure inq_var_deflate_vid
    module procedure inq_var_deflate_id
  end interface

  interface PIO_def_var_chunking
    module procedure def_var_chunking_desc
    module procedure def_var_chunking_vid
    module procedure def_var_chunking_id
  end interface

  interface PIO_inq_var_chunking
    module procedure inq_var_chunking_desc
    module procedure inq_var_chunking_vid
    module procedure inq_var_chunking_id
  end interface

  interface
    integer(c_int) function PIOc_def_var_deflate(ncid, varid, shuffle, deflate, level) bind(C, name="PIOc_def_var_deflate")
      import :: c_int
      integer(c_int), value :: ncid, varid, shuffle, deflate, level
    end function

    integer(c_int) function PIOc_inq_var_deflate(ncid, varid, shuffle, deflate, level) bind(C, name="PIOc_inq_var_deflate")
      import :: c_int
      integer(c_int), value :: ncid, varid
      integer(c_int), intent(inout) :: shuffle, deflate, level
    end function

    integer(c_int) function PIOc_def_var_chunking(ncid, varid, storage, sizes) bind(C, name="PIOc_def_var_chunking")
      import :: c_int, PIO_OFFSET_KIND
      integer(c_int), value :: ncid, varid, storage
      integer(PIO_OFFSET_KIND), intent(in) :: sizes(*)
    end function

    integer(c_int) function PIOc_inq_var_chunking(ncid, varid, storage, sizes) bind(C, name="PIOc_inq_var_chunking")
      import :: c_int, PIO_OFFSET_KIND
      integer(c_int), value :: ncid, varid
      integer(c_int), intent(inout) :: storage
      integer(PIO_OFFSET_KIND), intent(inout) :: sizes(*)
    end function
  end interface

contains

  integer function def_var_deflate_desc(file, vardesc, shuffle, deflate, deflate_level) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(in) :: shuffle, deflate, deflate_level
    ierr = PIOc_def_var_deflate(file%fh, vardesc%varid - 1, shuffle, deflate, deflate_level)
  end function

  integer function def_var_deflate_vid(file, varid, shuffle, deflate, deflate_level) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, shuffle, deflate, deflate_level
    ierr = PIOc_def_var_deflate(file%fh, varid - 1, shuffle, deflate, deflate_level)
  end function

  integer function def_var_deflate_id(ncid, varid, shuffle, deflate, deflate_level) result(ierr)
    integer, intent(in) :: ncid, varid, shuffle, deflate, deflate_level
    ierr = PIOc_def_var_deflate(ncid, varid - 1, shuffle, deflate, deflate_level)
  end function

  integer function inq_var_deflate_desc(file, vardesc, shuffle, deflate, deflate_level) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(out) :: shuffle, deflate, deflate_level
    ierr = inq_var_deflate_id(file%fh, vardesc%varid, shuffle, deflate, deflate_level)
  end function

  integer function inq_var_deflate_vid(file, varid, shuffle, deflate, deflate_level) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    integer, intent(out) :: shuffle, deflate, deflate_level
    ierr = inq_var_deflate_id(file%fh, varid, shuffle, deflate, deflate_level)
  end function

  integer function inq_var_deflate_id(ncid, varid, shuffle, deflate, deflate_level) result(ierr)
    integer, intent(in) :: ncid, varid
    integer, intent(out) :: shuffle, deflate, deflate_level
    shuffle = 0
    deflate = 0
    deflate_level = 0
    ierr = PIOc_inq_var_deflate(ncid, varid - 1, shuffle, deflate, deflate_level)
  end function

  integer function def_var_chunking_desc(file, vardesc, storage, chunksizes) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(in) :: storage, chunksizes(:)
    ierr = def_var_chunking_id(file%fh, vardesc%varid, storage, chunksizes)
  end function

  integer function def_var_chunking_vid(file, varid, storage, chunksizes) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, storage, chunksizes(:)
    ierr = def_var_chunking_id(file%fh, varid, storage, chunksizes)
  end function

  integer function def_var_chunking_id(ncid, varid, storage, chunksizes) result(ierr)
    integer, intent(in) :: ncid, varid, storage, chunksizes(:)
    ierr = PIOc_def_var_chunking(ncid, varid - 1, storage, int(chunksizes(size(chunksizes):1:-1), PIO_OFFSET_KIND))
  end function

  integer function inq_var_chunking_desc(file, vardesc, storage, chunksizes) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(out) :: storage
    integer(PIO_OFFSET_KIND), intent(inout) :: chunksizes(:)
    ierr = inq_var_chunking_id(file%fh, vardesc%varid, storage, chunksizes)
  end function

  integer function inq_var_chunking_vid(file, varid, storage, chunksizes) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    integer, intent(out) :: storage
    integer(PIO_OFFSET_KIND), intent(inout) :: chunksizes(:)
    ierr = inq_var_chunking_id(file%fh, varid, storage, chunksizes)
  end function

  integer function inq_var_chunking_id(ncid, varid, storage, chunksizes) result(ierr)
    integer, intent(in) :: ncid, varid
    integer, intent(out) :: storage
    integer(PIO_OFFSET_KIND), intent(inout) :: chunksizes(:)
    integer(PIO_OFFSET_KIND), allocatable :: sizes(:)
    integer :: ndims
    storage = 0
    ierr = PIO_inq_varndims(ncid, varid, ndims)
    if (ierr /= PIO_noerr) return
    allocate (sizes(ndims), source=0_PIO_OFFSET_KIND)
    ierr = PIOc_inq_var_chunking(ncid, varid - 1, storage, sizes)
    if (ierr == PIO_noerr .and. size(chunksizes) < ndims) ierr = PIO_EINSUFFBUF
    if (ierr == PIO_noerr) chunksizes(:ndims) = sizes(ndims:1:-1)
  end function

end module pio_nc4
