! Attributes: text, or numbers of the type that the values have. PIO_global as the number of a variable is the file. Values that
! do not fit are PIO_EINSUFFBUF.
module pionfatt_mod
  use, intrinsic :: iso_c_binding, only: c_char, c_int
  use pio_kinds, only: PIO_OFFSET_KIND
  use pio_text, only: c_name, c_text, from_c
  use pio_types
  use pio_values_text, only: put_att, get_att
  use pio_values_real, only: put_att, get_att
  use pio_values_double, only: put_att, get_att
  use pio_values_int, only: put_att, get_att
  use pio_values_short, only: put_att, get_att
  implicit none
  private

  public :: put_att, get_att, inq_var_fill, inq_att, inq_attlen, inq_attname, inq_attid, copy_att

  interface inq_att
    module procedure inq_att_desc
    module procedure inq_att_vid
    module procedure inq_att_id
  end interface

  interface inq_attlen
    module procedure inq_attlen_desc
    module procedure inq_attlen_vid
    module procedure inq_attlen_id
  end interface

  interface inq_attname
    module procedure inq_attname_desc
    module procedure inq_attname_vid
    module procedure inq_attname_id
  end interface

  interface inq_attid
    module procedure inq_attid_desc
    module procedure inq_attid_vid
    module procedure inq_attid_id
  end interface

  interface
    integer(c_int) function c_inq_var_fill(ncid, varid, no_fill, fillvalue) bind(C, name="stanchion_piof_inq_var_fill")
      import :: c_int
      integer(c_int), value :: ncid, varid
      integer(c_int), intent(inout) :: no_fill
      type(*), dimension(..), intent(inout) :: fillvalue
    end function

    integer(c_int) function PIOc_inq_att(ncid, varid, name, xtype, len) bind(C, name="PIOc_inq_att")
      import :: c_char, c_int, PIO_OFFSET_KIND
      integer(c_int), value :: ncid, varid
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(inout) :: xtype
      integer(PIO_OFFSET_KIND), intent(inout) :: len
    end function

    integer(c_int) function PIOc_inq_attname(ncid, varid, attnum, name) bind(C, name="PIOc_inq_attname")
      import :: c_char, c_int
      integer(c_int), value :: ncid, varid, attnum
      character(kind=c_char), intent(inout) :: name(*)
    end function

    integer(c_int) function PIOc_copy_att(ncid, varid, name, to_ncid, to_varid) bind(C, name="PIOc_copy_att")
      import :: c_char, c_int
      integer(c_int), value :: ncid, varid, to_ncid, to_varid
      character(kind=c_char), intent(in) :: name(*)
    end function

    integer(c_int) function PIOc_inq_attid(ncid, varid, name, attnum) bind(C, name="PIOc_inq_attid")
      import :: c_char, c_int
      integer(c_int), value :: ncid, varid
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(inout) :: attnum
    end function
  end interface

contains

  ! fillvalue has the type of the variable.
  integer function inq_var_fill(file, vdesc, no_fill, fillvalue) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    integer, intent(out) :: no_fill
    type(*), dimension(..), intent(inout) :: fillvalue
    no_fill = -1
    ierr = c_inq_var_fill(file%fh, vdesc%varid - 1, no_fill, fillvalue)
  end function

  integer function inq_att_desc(file, vardesc, name, xtype, len) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: xtype
    integer(PIO_OFFSET_KIND), intent(out), optional :: len
    ierr = inq_att_id(file%fh, vardesc%varid, name, xtype, len)
  end function

  integer function inq_att_vid(file, varid, name, xtype, len) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: xtype
    integer(PIO_OFFSET_KIND), intent(out), optional :: len
    ierr = inq_att_id(file%fh, varid, name, xtype, len)
  end function

  integer function inq_att_id(ncid, varid, name, xtype, len) result(ierr)
    integer, intent(in) :: ncid, varid
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: xtype
    integer(PIO_OFFSET_KIND), intent(out), optional :: len
    integer(c_int) :: type
    integer(PIO_OFFSET_KIND) :: length
    type = -1
    length = -1
    ierr = PIOc_inq_att(ncid, varid - 1, c_text(name), type, length)
    if (present(xtype)) xtype = type
    if (present(len)) len = length
  end function

  integer function inq_attlen_desc(file, vardesc, name, len) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    character(len=*), intent(in) :: name
    integer(PIO_OFFSET_KIND), intent(out) :: len
    ierr = inq_att_id(file%fh, vardesc%varid, name, len=len)
  end function

  integer function inq_attlen_vid(file, varid, name, len) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer(PIO_OFFSET_KIND), intent(out) :: len
    ierr = inq_att_id(file%fh, varid, name, len=len)
  end function

  integer function inq_attlen_id(ncid, varid, name, len) result(ierr)
    integer, intent(in) :: ncid, varid
    character(len=*), intent(in) :: name
    integer(PIO_OFFSET_KIND), intent(out) :: len
    ierr = inq_att_id(ncid, varid, name, len=len)
  end function

  integer function inq_attname_desc(file, vdesc, attnum, name) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    integer, intent(in) :: attnum
    character(len=*), intent(out) :: name
    ierr = inq_attname_id(file%fh, vdesc%varid, attnum, name)
  end function

  integer function inq_attname_vid(file, varid, attnum, name) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, attnum
    character(len=*), intent(out) :: name
    ierr = inq_attname_id(file%fh, varid, attnum, name)
  end function

  integer function inq_attname_id(ncid, varid, attnum, name) result(ierr)
    integer, intent(in) :: ncid, varid, attnum
    character(len=*), intent(out) :: name
    type(c_name) :: found
    ierr = PIOc_inq_attname(ncid, varid - 1, attnum - 1, found%text)
    call from_c(found%text, name)
  end function

  integer function inq_attid_desc(file, vdesc, name, attid) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    character(len=*), intent(in) :: name
    integer, intent(out) :: attid
    ierr = inq_attid_id(file%fh, vdesc%varid, name, attid)
  end function

  integer function inq_attid_vid(file, varid, name, attid) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer, intent(out) :: attid
    ierr = inq_attid_id(file%fh, varid, name, attid)
  end function

  integer function inq_attid_id(ncid, varid, name, attid) result(ierr)
    integer, intent(in) :: ncid, varid
    character(len=*), intent(in) :: name
    integer, intent(out) :: attid
    ierr = PIOc_inq_attid(ncid, varid - 1, c_text(name), attid)
    attid = merge(attid + 1, -1, ierr == PIO_noerr)
  end function

  integer function copy_att(from_file, from_varid, attname, to_file, to_varid) result(ierr)
    type(file_desc_t), intent(in) :: from_file, to_file
    integer, intent(in) :: from_varid, to_varid
    character(len=*), intent(in) :: attname
    ierr = PIOc_copy_att(from_file%fh, from_varid - 1, c_text(attname), to_file%fh, to_varid - 1)
  end function

end module pionfatt_mod
