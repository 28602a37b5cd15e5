! Writing and reading of distributed arrays: of any rank, and of the type that the decomposition was made for.
module piodarray
  use, intrinsic :: iso_c_binding, only: c_int
  use pio_iosystem, only: PIO_set_buffer_size_limit
  use pio_types
  implicit none
  private

  public :: PIO_write_darray, PIO_read_darray, PIO_set_buffer_size_limit

  interface PIO_write_darray
    module procedure write_darray
    module procedure write_darray_multi
  end interface

  interface PIO_read_darray
    module procedure read_darray
  end interface

  interface
    integer(c_int) function c_write_darray(ncid, varid, ioid, array, fillval) bind(C, name="stanchion_piof_write_darray")
      import :: c_int
      integer(c_int), value :: ncid, varid, ioid
      type(*), dimension(..), intent(in) :: array
      type(*), dimension(..), intent(in), optional :: fillval
    end function

    integer(c_int) function c_write_darray_multi(ncid, nvars, varids, ioid, array, fillval) &
        bind(C, name="stanchion_piof_write_darray_multi")
      import :: c_int
      integer(c_int), value :: ncid, nvars, ioid
      integer(c_int), intent(in) :: varids(*)
      type(*), dimension(..), intent(in) :: array
      type(*), dimension(..), intent(in), optional :: fillval
    end function

    integer(c_int) function c_read_darray(ncid, varid, ioid, array) bind(C, name="stanchion_piof_read_darray")
      import :: c_int
      integer(c_int), value :: ncid, varid, ioid
      type(*), dimension(..), intent(inout) :: array
    end function
  end interface

contains

  subroutine write_darray(file, vardesc, iodesc, array, iostat, fillval)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    type(io_desc_t), intent(in) :: iodesc
    type(*), dimension(..), intent(in) :: array
    integer, intent(out) :: iostat
    type(*), dimension(..), intent(in), optional :: fillval
    iostat = c_write_darray(file%fh, vardesc%varid - 1, iodesc%ioid, array, fillval)
  end subroutine

  ! One array for several variables: what belongs to one follows what belongs to the one before.
  subroutine write_darray_multi(file, vardesc, iodesc, array, iostat, fillval)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc(:)
    type(io_desc_t), intent(in) :: iodesc
    type(*), dimension(..), intent(in) :: array
    integer, intent(out) :: iostat
    type(*), dimension(..), intent(in), optional :: fillval
    iostat = c_write_darray_multi(file%fh, size(vardesc), vardesc%varid - 1, iodesc%ioid, array, fillval)
  end subroutine

  ! Holes keep what they had (SCORPIO) or are 0 afterwards (NCAR).
  subroutine read_darray(file, vardesc, iodesc, array, iostat)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    type(io_desc_t), intent(in) :: iodesc
    type(*), dimension(..), intent(inout) :: array
    integer, intent(out) :: iostat
    iostat = c_read_darray(file%fh, vardesc%varid - 1, iodesc%ioid, array)
  end subroutine

end module piodarray
