! Reading of variables that every rank has as a whole: all of one, a part or a single value. Values have any type that
! the library converts, and any rank.
module pionfget_mod
  use, intrinsic :: iso_c_binding, only: c_int
  use pio_types
  implicit none
  private

  public :: get_var

  interface get_var
    module procedure get_var_desc
    module procedure get_var_vid
    module procedure get_vara_desc
    module procedure get_vara_vid
    module procedure get_var1_desc
    module procedure get_var1_vid
  end interface

  interface
    integer(c_int) function c_get_var(ncid, varid, given, start, count, values) bind(C, name="stanchion_piof_get_var")
      import :: c_int
      integer(c_int), value :: ncid, varid, given
      integer(c_int), intent(in), optional :: start(*), count(*)
      type(*), dimension(..), intent(inout) :: values
    end function
  end interface

contains

  integer function get_var_desc(file, vardesc, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    type(*), dimension(..), intent(inout) :: ival
    ierr = c_get_var(file%fh, vardesc%varid - 1, -1, values=ival)
  end function

  integer function get_var_vid(file, varid, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid
    type(*), dimension(..), intent(inout) :: ival
    ierr = c_get_var(file%fh, varid - 1, -1, values=ival)
  end function

  integer function get_vara_desc(file, vardesc, start, count, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(in) :: start(:), count(:)
    type(*), dimension(..), intent(inout) :: ival
    ierr = c_get_var(file%fh, vardesc%varid - 1, min(size(start), size(count)), start, count, ival)
  end function

  integer function get_vara_vid(file, varid, start, count, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    type(*), dimension(..), intent(inout) :: ival
    ierr = c_get_var(file%fh, varid - 1, min(size(start), size(count)), start, count, ival)
  end function

  ! The value at index; a text begins there.
  integer function get_var1_desc(file, vardesc, index, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(in) :: index(:)
    type(*), dimension(..), intent(inout) :: ival
    ierr = get_var1_vid(file, vardesc%varid, index, ival)
  end function

  integer function get_var1_vid(file, varid, index, ival) result(ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: varid, index(:)
    type(*), dimension(..), intent(inout) :: ival
    ierr = c_get_var(file%fh, varid - 1, size(index), index, values=ival)
  end function

end module pionfget_mod
