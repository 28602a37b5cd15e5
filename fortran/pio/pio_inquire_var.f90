! What variables are, which count from 1; a number that was not found is -1.
module pio_inquire_var
  use, intrinsic :: iso_c_binding, only: c_char, c_int
  use pio_text, only: c_name, c_text, first_error, from_c
  use pio_types
  implicit none
  private

  public :: PIO_inq_varid, PIO_inq_varname, PIO_inq_vartype, PIO_inq_varndims, PIO_inq_vardimid, PIO_inq_varnatts
  public :: PIO_inquire_variable

  interface PIO_inq_varid
    module procedure inq_varid_desc
    module procedure inq_varid_vid
    module procedure inq_varid_id
  end interface

  interface PIO_inq_varname
    module procedure inq_varname_desc
    module procedure inq_varname_vid
    module procedure inq_varname_id
  end interface

  interface PIO_inq_vartype
    module procedure inq_vartype_desc
    module procedure inq_vartype_vid
    module procedure inq_vartype_id
  end interface

  interface PIO_inq_varndims
    module procedure inq_varndims_desc
    module procedure inq_varndims_vid
    module procedure inq_varndims_id
  end interface

  interface PIO_inq_vardimid
    module procedure inq_vardimid_desc
    module procedure inq_vardimid_vid
    module procedure inq_vardimid_id
  end interface

  interface PIO_inq_varnatts
    module procedure inq_varnatts_desc
    module procedure inq_varnatts_vid
    module procedure inq_varnatts_id
  end interface

  interface PIO_inquire_variable
    module procedure inquire_variable_desc
    module procedure inquire_variable_vid
    module procedure inquire_variable_id
  end interface

  interface
    integer(c_int) function PIOc_inq_varid(ncid, name, number) bind(C, name="PIOc_inq_varid")
      import :: c_char, c_int
      integer(c_int), value :: ncid
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(inout) :: number
    end function

    integer(c_int) function c_inq_varname(ncid, varid, name, length) bind(C, name="stanchion_piof_inq_varname")
      import :: c_char, c_int
      integer(c_int), value :: ncid, varid, length
      character(kind=c_char), intent(inout) :: name(*)
    end function

    integer(c_int) function PIOc_inq_vardimid(ncid, varid, dimids) bind(C, name="PIOc_inq_vardimid")
      import :: c_int
      integer(c_int), value :: ncid, varid
      integer(c_int), intent(inout) :: dimids(*)
    end function

    integer(c_int) function PIOc_inq_vartype(ncid, varid, number) bind(C, name="PIOc_inq_vartype")
      import :: c_int
      integer(c_int), value :: ncid, varid
      integer(c_int), intent(inout) :: number
    end function

    integer(c_int) function PIOc_inq_varndims(ncid, varid, number) bind(C, name="PIOc_inq_varndims")
      import :: c_int
      integer(c_int), value :: ncid, varid
      integer(c_int), intent(inout) :: number
    end function

    integer(c_int) function PIOc_inq_varnatts(ncid, varid, number) bind(C, name="PIOc_inq_varnatts")
      import :: c_int
      integer(c_int), value :: ncid, varid
      integer(c_int), intent(inout) :: number
    end function
  end interface

contains

  integer function inq_varid_desc(file, name, vardesc) result(ierr)
    type(file_desc_t), intent(in) :: file
    character(len=*), intent(in) :: name
    type(var_desc_t), intent(inout) :: vardesc
    ierr = inq_varid_id(file%fh, name, vardesc%varid)
    vardesc%ncid = file%fh
  end function

  integer function inq_varid_vid(file, name, varid) result(ierr)
    type(file_desc_t), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(out) :: varid
    ierr = inq_varid_id(file%fh, name, varid)
  end function

  integer function inq_varid_id(ncid, name, varid) result(ierr)
    integer, intent(in) :: ncid
    character(len=*), intent(in) :: name
    integer, intent(out) :: varid
    ierr = PIOc_inq_varid(ncid, c_text(name), varid)
    varid = merge(varid + 1, -1, ierr == PIO_noerr)
  end function

  integer function inq_varname_desc(file, vardesc, name) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    character(len=*), intent(out) :: name
    ierr = inq_varname_id(file%fh, vardesc%varid, name)
  end function

  integer function inq_varname_vid(file, varid, name) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(out) :: name
    ierr = inq_varname_id(file%fh, varid, name)
  end function

  integer function inq_varname_id(ncid, varid, name) result(ierr)
    integer, intent(in) :: ncid, varid
    character(len=*), intent(out) :: name
    type(c_name) :: found
    ierr = c_inq_varname(ncid, varid - 1, found%text, size(found%text))
    call from_c(found%text, name)
  end function

  integer function inq_vartype_desc(file, vardesc, type) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(out) :: type
    ierr = inq_vartype_id(file%fh, vardesc%varid, type)
  end function

  integer function inq_vartype_vid(file, varid, type) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    integer, intent(out) :: type
    ierr = inq_vartype_id(file%fh, varid, type)
  end function

  integer function inq_vartype_id(ncid, varid, type) result(ierr)
    integer, intent(in) :: ncid, varid
    integer, intent(out) :: type
    type = -1
    ierr = PIOc_inq_vartype(ncid, varid - 1, type)
  end function

  integer function inq_varndims_desc(file, vardesc, ndims) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(out) :: ndims
    ierr = inq_varndims_id(file%fh, vardesc%varid, ndims)
  end function

  integer function inq_varndims_vid(file, varid, ndims) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    integer, intent(out) :: ndims
    ierr = inq_varndims_id(file%fh, varid, ndims)
  end function

  integer function inq_varndims_id(ncid, varid, ndims) result(ierr)
    integer, intent(in) :: ncid, varid
    integer, intent(out) :: ndims
    ndims = -1
    ierr = PIOc_inq_varndims(ncid, varid - 1, ndims)
  end function

  integer function inq_varnatts_desc(file, vardesc, natts) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(out) :: natts
    ierr = inq_varnatts_id(file%fh, vardesc%varid, natts)
  end function

  integer function inq_varnatts_vid(file, varid, natts) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    integer, intent(out) :: natts
    ierr = inq_varnatts_id(file%fh, varid, natts)
  end function

  integer function inq_varnatts_id(ncid, varid, natts) result(ierr)
    integer, intent(in) :: ncid, varid
    integer, intent(out) :: natts
    natts = -1
    ierr = PIOc_inq_varnatts(ncid, varid - 1, natts)
  end function

  integer function inq_vardimid_desc(file, vardesc, dimids) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(out) :: dimids(:)
    ierr = inq_vardimid_id(file%fh, vardesc%varid, dimids)
  end function

  integer function inq_vardimid_vid(file, varid, dimids) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    integer, intent(out) :: dimids(:)
    ierr = inq_vardimid_id(file%fh, varid, dimids)
  end function

  integer function inq_vardimid_id(ncid, varid, dimids) result(ierr)
    integer, intent(in) :: ncid, varid
    integer, intent(out) :: dimids(:)
    integer, allocatable :: found(:)
    integer :: ndims
    dimids = -1
    ierr = inq_varndims_id(ncid, varid, ndims)
    if (ierr /= PIO_noerr) return
    allocate (found(ndims))
    ierr = PIOc_inq_vardimid(ncid, varid - 1, found)
    if (ierr == PIO_noerr .and. size(dimids) < ndims) ierr = PIO_EINSUFFBUF
    if (ierr == PIO_noerr) dimids(:ndims) = found(ndims:1:-1) + 1
  end function

  integer function inquire_variable_desc(file, vardesc, name, xtype, ndims, dimids, natts) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    character(len=*), intent(out), optional :: name
    integer, intent(out), optional :: xtype, ndims, dimids(:), natts
    ierr = inquire_variable_id(file%fh, vardesc%varid, name, xtype, ndims, dimids, natts)
  end function

  integer function inquire_variable_vid(file, varid, name, xtype, ndims, dimids, natts) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(out), optional :: name
    integer, intent(out), optional :: xtype, ndims, dimids(:), natts
    ierr = inquire_variable_id(file%fh, varid, name, xtype, ndims, dimids, natts)
  end function

  integer function inquire_variable_id(ncid, varid, name, xtype, ndims, dimids, natts) result(ierr)
    integer, intent(in) :: ncid, varid
    character(len=*), intent(out), optional :: name
    integer, intent(out), optional :: xtype, ndims, dimids(:), natts
    ierr = PIO_noerr
    if (present(name)) ierr = inq_varname_id(ncid, varid, name)
    if (present(xtype)) ierr = first_error(ierr, inq_vartype_id(ncid, varid, xtype))
    if (present(ndims)) ierr = first_error(ierr, inq_varndims_id(ncid, varid, ndims))
    if (present(dimids)) ierr = first_error(ierr, inq_vardimid_id(ncid, varid, dimids))
    if (present(natts)) ierr = first_error(ierr, inq_varnatts_id(ncid, varid, natts))
  end function

end module pio_inquire_var
