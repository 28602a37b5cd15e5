! Dimensions and variables of a file that is being defined. Their numbers count from 1, and a variable's dimensions
! are in Fortran's order.
module pio_define
  use, intrinsic :: iso_c_binding, only: c_char, c_int
  use pio_kinds, only: PIO_OFFSET_KIND
  use pio_text, only: c_text
  use pio_types
  implicit none
  private

  public :: PIO_def_dim, PIO_def_var, PIO_redef, PIO_enddef, PIO_set_fill

  interface PIO_def_dim
    module procedure def_dim_desc
    module procedure def_dim_id
    module procedure def_dim_int_desc
    module procedure def_dim_int_id
  end interface

  interface PIO_def_var
    module procedure def_var_0d_desc
    module procedure def_var_md_desc
    module procedure def_var_0d_id
    module procedure def_var_md_id
  end interface

  interface PIO_redef
    module procedure redef_desc
    module procedure redef_id
  end interface

  interface PIO_enddef
    module procedure enddef_desc
    module procedure enddef_id
  end interface

  interface PIO_set_fill
    module procedure set_fill_desc
    module procedure set_fill_id
  end interface

  interface
    integer(c_int) function PIOc_def_dim(ncid, name, len, dimid) bind(C, name="PIOc_def_dim")
      import :: c_char, c_int, PIO_OFFSET_KIND
      integer(c_int), value :: ncid
      character(kind=c_char), intent(in) :: name(*)
      integer(PIO_OFFSET_KIND), value :: len
      integer(c_int), intent(inout) :: dimid
    end function

    integer(c_int) function PIOc_def_var(ncid, name, xtype, ndims, dimids, varid) bind(C, name="PIOc_def_var")
      import :: c_char, c_int
      integer(c_int), value :: ncid, xtype, ndims
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(in) :: dimids(*)
      integer(c_int), intent(inout) :: varid
    end function

    integer(c_int) function PIOc_redef(ncid) bind(C, name="PIOc_redef")
      import :: c_int
      integer(c_int), value :: ncid
    end function

    integer(c_int) function PIOc_enddef(ncid) bind(C, name="PIOc_enddef")
      import :: c_int
      integer(c_int), value :: ncid
    end function

    integer(c_int) function PIOc_set_fill(ncid, fillmode, old_mode) bind(C, name="PIOc_set_fill")
      import :: c_int
      integer(c_int), value :: ncid, fillmode
      integer(c_int), intent(inout) :: old_mode
    end function
  end interface

contains

  integer function def_dim_desc(file, name, len, dimid) result(ierr)
    type(file_desc_t), intent(in) :: file
    character(len=*), intent(in) :: name
    integer(PIO_OFFSET_KIND), intent(in) :: len
    integer, intent(out) :: dimid
    ierr = def_dim_id(file%fh, name, len, dimid)
  end function

  integer function def_dim_int_desc(file, name, len, dimid) result(ierr)
    type(file_desc_t), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(in) :: len
    integer, intent(out) :: dimid
    ierr = def_dim_id(file%fh, name, int(len, PIO_OFFSET_KIND), dimid)
  end function

  integer function def_dim_int_id(ncid, name, len, dimid) result(ierr)
    integer, intent(in) :: ncid
    character(len=*), intent(in) :: name
    integer, intent(in) :: len
    integer, intent(out) :: dimid
    ierr = def_dim_id(ncid, name, int(len, PIO_OFFSET_KIND), dimid)
  end function

  integer function def_dim_id(ncid, name, len, dimid) result(ierr)
    integer, intent(in) :: ncid
    character(len=*), intent(in) :: name
    integer(PIO_OFFSET_KIND), intent(in) :: len
    integer, intent(out) :: dimid
    ierr = PIOc_def_dim(ncid, c_text(name), len, dimid)
    dimid = merge(dimid + 1, -1, ierr == PIO_noerr)
  end function

  integer function def_var_0d_desc(file, name, type, vardesc) result(ierr)
    type(file_desc_t), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(in) :: type
    type(var_desc_t), intent(inout) :: vardesc
    integer :: none(0)
    ierr = def_var_md_desc(file, name, type, none, vardesc)
  end function

  integer function def_var_md_desc(file, name, type, dimids, vardesc) result(ierr)
    type(file_desc_t), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(in) :: type, dimids(:)
    type(var_desc_t), intent(inout) :: vardesc
    ierr = def_var_md_id(file%fh, name, type, dimids, vardesc%varid)
    vardesc%ncid = file%fh
  end function

  integer function def_var_0d_id(ncid, name, type, varid) result(ierr)
    integer, intent(in) :: ncid
    character(len=*), intent(in) :: name
    integer, intent(in) :: type
    integer, intent(out) :: varid
    integer :: none(0)
    ierr = def_var_md_id(ncid, name, type, none, varid)
  end function

  integer function def_var_md_id(ncid, name, type, dimids, varid) result(ierr)
    integer, intent(in) :: ncid
    character(len=*), intent(in) :: name
    integer, intent(in) :: type, dimids(:)
    integer, intent(out) :: varid
    ierr = PIOc_def_var(ncid, c_text(name), type, size(dimids), dimids(size(dimids):1:-1) - 1, varid)
    varid = merge(varid + 1, -1, ierr == PIO_noerr)
  end function

  integer function redef_desc(file) result(ierr)
    type(file_desc_t), intent(in) :: file
    ierr = PIOc_redef(file%fh)
  end function

  integer function redef_id(ncid) result(ierr)
    integer, intent(in) :: ncid
    ierr = PIOc_redef(ncid)
  end function

  integer function enddef_desc(file) result(ierr)
    type(file_desc_t), intent(in) :: file
    ierr = PIOc_enddef(file%fh)
  end function

  integer function enddef_id(ncid) result(ierr)
    integer, intent(in) :: ncid
    ierr = PIOc_enddef(ncid)
  end function

  integer function set_fill_desc(file, fillmode, old_mode) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: fillmode
    integer, intent(out), optional :: old_mode
    ierr = set_fill_id(file%fh, fillmode, old_mode)
  end function

  integer function set_fill_id(ncid, fillmode, old_mode) result(ierr)
    integer, intent(in) :: ncid, fillmode
    integer, intent(out), optional :: old_mode
    integer(c_int) :: old
    old = fillmode
    ierr = PIOc_set_fill(ncid, fillmode, old)
    if (present(old_mode)) old_mode = old
  end function

end module pio_define
