! Writing of variables that every rank has as a whole: all of one, a part or a single value. Values have any type that
! the library converts, and any rank.
module pionfput_mod
  use, intrinsic :: iso_c_binding, only: c_int
  use pio_types
  implicit none
  private

  public :: put_var

  interface put_var
    module procedure put_var_desc
    module procedure put_var_vid
    module procedure put_vara_desc
    module procedure put_vara_vid
    module procedure put_var1_desc
    module procedure put_var1_vid
  end interface

  interface
    integer(c_int) function c_put_var(ncid, varid, given, start, count, values) bind(C, name="stanchion_piof_put_var")
      import :: c_int
      integer(c_int), value :: ncid, varid, given
      integer(c_int), intent(in), optional :: start(*), count(*)
      type(*), dimension(..), intent(in) :: values
    end function
  end interface

contains

  integer function put_var_desc(file, vardesc, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    type(*), dimension(..), intent(in) :: ival
    ierr = c_put_var(file%fh, vardesc%varid - 1, -1, values=ival)
  end function

  integer function put_var_vid(file, varid, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    type(*), dimension(..), intent(in) :: ival
    ierr = c_put_var(file%fh, varid - 1, -1, values=ival)
  end function

  integer function put_vara_desc(file, vardesc, start, count, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(in) :: start(:), count(:)
    type(*), dimension(..), intent(in) :: ival
    ierr = c_put_var(file%fh, vardesc%varid - 1, min(size(start), size(count)), start, count, ival)
  end function

  integer function put_vara_vid(file, varid, start, count, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    type(*), dimension(..), intent(in) :: ival
    ierr = c_put_var(file%fh, varid - 1, min(size(start), size(count)), start, count, ival)
  end function

  ! The value at index; a text begins there.
  integer function put_var1_desc(file, vardesc, index, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(in) :: index(:)
    type(*), dimension(..), intent(in) :: ival
    ierr = put_var1_vid(file, vardesc%varid, index, ival)
  end function

  integer function put_var1_vid(file, varid, index, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, index(:)
    type(*), dimension(..), intent(in) :: ival
    ierr = c_put_var(file%fh, varid - 1, size(index), index, values=ival)
  end function

end module pionfput_mod
