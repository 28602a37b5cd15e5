! What is in a file as a whole, and its dimensions, which count from 1; a number that was not found is -1.
module pio_inquire_file
  use, intrinsic :: iso_c_binding, only: c_char, c_int
  use pio_kinds, only: PIO_OFFSET_KIND
  use pio_text, only: c_name, c_text, first_error, from_c
  use pio_types
  implicit none
  private

  public :: PIO_inquire, PIO_inq_ndims, PIO_inq_nvars, PIO_inq_natts, PIO_inq_unlimdim
  public :: PIO_inq_dimid, PIO_inq_dimname, PIO_inq_dimlen, PIO_inquire_dimension

  interface PIO_inquire
    module procedure inquire_desc
    module procedure inquire_id
  end interface

  interface PIO_inq_ndims
    module procedure inq_ndims_desc
    module procedure inq_ndims_id
  end interface

  interface PIO_inq_nvars
    module procedure inq_nvars_desc
    module procedure inq_nvars_id
  end interface

  interface PIO_inq_natts
    module procedure inq_natts_desc
    module procedure inq_natts_id
  end interface

  interface PIO_inq_unlimdim
    module procedure inq_unlimdim_desc
    module procedure inq_unlimdim_id
  end interface

  interface PIO_inq_dimid
    module procedure inq_dimid_desc
    module procedure inq_dimid_id
  end interface

  interface PIO_inq_dimname
    module procedure inq_dimname_desc
    module procedure inq_dimname_id
  end interface

  interface PIO_inq_dimlen
    module procedure inq_dimlen_desc
    module procedure inq_dimlen_id
    module procedure inq_dimlen_desc_long
    module procedure inq_dimlen_id_long
  end interface

  interface PIO_inquire_dimension
    module procedure inquire_dimension_desc
    module procedure inquire_dimension_id
  end interface

  interface
    integer(c_int) function PIOc_inq_ndims(ncid, number) bind(C, name="PIOc_inq_ndims")
      import :: c_int
      integer(c_int), value :: ncid
      integer(c_int), intent(inout) :: number
    end function

    integer(c_int) function PIOc_inq_nvars(ncid, number) bind(C, name="PIOc_inq_nvars")
      import :: c_int
      integer(c_int), value :: ncid
      integer(c_int), intent(inout) :: number
    end function

    integer(c_int) function PIOc_inq_natts(ncid, number) bind(C, name="PIOc_inq_natts")
      import :: c_int
      integer(c_int), value :: ncid
      integer(c_int), intent(inout) :: number
    end function

    integer(c_int) function PIOc_inq_unlimdim(ncid, number) bind(C, name="PIOc_inq_unlimdim")
      import :: c_int
      integer(c_int), value :: ncid
      integer(c_int), intent(inout) :: number
    end function

    integer(c_int) function PIOc_inq_dimid(ncid, name, number) bind(C, name="PIOc_inq_dimid")
      import :: c_char, c_int
      integer(c_int), value :: ncid
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(inout) :: number
    end function

    integer(c_int) function PIOc_inq_dimname(ncid, dimid, name) bind(C, name="PIOc_inq_dimname")
      import :: c_char, c_int
      integer(c_int), value :: ncid, dimid
      character(kind=c_char), intent(inout) :: name(*)
    end function

    integer(c_int) function PIOc_inq_dimlen(ncid, dimid, len) bind(C, name="PIOc_inq_dimlen")
      import :: c_int, PIO_OFFSET_KIND
      integer(c_int), value :: ncid, dimid
      integer(PIO_OFFSET_KIND), intent(inout) :: len
    end function
  end interface

contains

  integer function inquire_desc(file, nDimensions, nVariables, nAttributes, unlimitedDimID) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(out), optional :: nDimensions, nVariables, nAttributes, unlimitedDimID
    ierr = inquire_id(file%fh, nDimensions, nVariables, nAttributes, unlimitedDimID)
  end function

  integer function inquire_id(ncid, nDimensions, nVariables, nAttributes, unlimitedDimID) result(ierr)
    integer, intent(in) :: ncid
    integer, intent(out), optional :: nDimensions, nVariables, nAttributes, unlimitedDimID
    ierr = PIO_noerr
    if (present(nDimensions)) ierr = first_error(ierr, inq_ndims_id(ncid, nDimensions))
    if (present(nVariables)) ierr = first_error(ierr, inq_nvars_id(ncid, nVariables))
    if (present(nAttributes)) ierr = first_error(ierr, inq_natts_id(ncid, nAttributes))
    if (present(unlimitedDimID)) ierr = first_error(ierr, inq_unlimdim_id(ncid, unlimitedDimID))
  end function

  integer function inq_ndims_desc(file, ndims) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(out) :: ndims
    ierr = inq_ndims_id(file%fh, ndims)
  end function

  integer function inq_ndims_id(ncid, ndims) result(ierr)
    integer, intent(in) :: ncid
    integer, intent(out) :: ndims
    ndims = -1
    ierr = PIOc_inq_ndims(ncid, ndims)
  end function

  integer function inq_nvars_desc(file, nvars) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(out) :: nvars
    ierr = inq_nvars_id(file%fh, nvars)
  end function

  integer function inq_nvars_id(ncid, nvars) result(ierr)
    integer, intent(in) :: ncid
    integer, intent(out) :: nvars
    nvars = -1
    ierr = PIOc_inq_nvars(ncid, nvars)
  end function

  integer function inq_natts_desc(file, natts) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(out) :: natts
    ierr = inq_natts_id(file%fh, natts)
  end function

  integer function inq_natts_id(ncid, natts) result(ierr)
    integer, intent(in) :: ncid
    integer, intent(out) :: natts
    natts = -1
    ierr = PIOc_inq_natts(ncid, natts)
  end function

  ! -1 when there is none.
  integer function inq_unlimdim_desc(file, unlimdim) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(out) :: unlimdim
    ierr = inq_unlimdim_id(file%fh, unlimdim)
  end function

  integer function inq_unlimdim_id(ncid, unlimdim) result(ierr)
    integer, intent(in) :: ncid
    integer, intent(out) :: unlimdim
    unlimdim = -1
    ierr = PIOc_inq_unlimdim(ncid, unlimdim)
    if (unlimdim >= 0) unlimdim = unlimdim + 1
  end function

  integer function inq_dimid_desc(file, name, dimid) result(ierr)
    type(file_desc_t), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(out) :: dimid
    ierr = inq_dimid_id(file%fh, name, dimid)
  end function

  integer function inq_dimid_id(ncid, name, dimid) result(ierr)
    integer, intent(in) :: ncid
    character(len=*), intent(in) :: name
    integer, intent(out) :: dimid
    ierr = PIOc_inq_dimid(ncid, c_text(name), dimid)
    dimid = merge(dimid + 1, -1, ierr == PIO_noerr)
  end function

  integer function inq_dimname_desc(file, dimid, name) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: dimid
    character(len=*), intent(out) :: name
    ierr = inq_dimname_id(file%fh, dimid, name)
  end function

  integer function inq_dimname_id(ncid, dimid, name) result(ierr)
    integer, intent(in) :: ncid, dimid
    character(len=*), intent(out) :: name
    type(c_name) :: found
    ierr = PIOc_inq_dimname(ncid, dimid - 1, found%text)
    call from_c(found%text, name)
  end function

  integer function inq_dimlen_desc(file, dimid, len) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: dimid
    integer, intent(out) :: len
    ierr = inq_dimlen_id(file%fh, dimid, len)
  end function

  ! A length that the integer cannot hold is an error.
  integer function inq_dimlen_id(ncid, dimid, len) result(ierr)
    integer, intent(in) :: ncid, dimid
    integer, intent(out) :: len
    integer(PIO_OFFSET_KIND) :: length
    ierr = inq_dimlen_id_long(ncid, dimid, length)
    if (length > huge(len)) ierr = PIO_EINVAL
    len = int(min(length, int(huge(len), PIO_OFFSET_KIND)))
  end function

  integer function inq_dimlen_desc_long(file, dimid, len) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: dimid
    integer(PIO_OFFSET_KIND), intent(out) :: len
    ierr = inq_dimlen_id_long(file%fh, dimid, len)
  end function

  integer function inq_dimlen_id_long(ncid, dimid, len) result(ierr)
    integer, intent(in) :: ncid, dimid
    integer(PIO_OFFSET_KIND), intent(out) :: len
    len = -1
    ierr = PIOc_inq_dimlen(ncid, dimid - 1, len)
  end function

  integer function inquire_dimension_desc(file, dimid, name, len) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: dimid
    character(len=*), intent(out), optional :: name
    integer, intent(out), optional :: len
    ierr = inquire_dimension_id(file%fh, dimid, name, len)
  end function

  integer function inquire_dimension_id(ncid, dimid, name, len) result(ierr)
    integer, intent(in) :: ncid, dimid
    character(len=*), intent(out), optional :: name
    integer, intent(out), optional :: len
    ierr = PIO_noerr
    if (present(len)) ierr = inq_dimlen_id(ncid, dimid, len)
    if (present(name)) ierr = first_error(ierr, inq_dimname_id(ncid, dimid, name))
  end function

end module pio_inquire_file
