! Text on its way to C and back, and what else the modules share.
module pio_text
  use, intrinsic :: iso_c_binding, only: c_char, c_null_char
  use pio_types, only: PIO_MAX_NAME, PIO_noerr
  implicit none
  private

  public :: c_text, from_c, c_name, first_error

  ! What a C function writes a name into.
  type :: c_name
    character(kind=c_char) :: text(PIO_MAX_NAME + 1) = c_null_char
  end type

contains

  ! Blanks at the end are no part of a name.
  pure function c_text(text) result(ended)
    character(len=*), intent(in) :: text
    character(len=len_trim(text) + 1, kind=c_char) :: ended
    ended = trim(text)//c_null_char
  end function

  pure subroutine from_c(text, result)
    character(kind=c_char), intent(in) :: text(:)
    character(len=*), intent(out) :: result
    integer :: i
    result = ' '
    do i = 1, min(size(text), len(result))
      if (text(i) == c_null_char) exit
      result(i:i) = text(i)
    end do
  end subroutine

  pure integer function first_error(earlier, later)
    integer, intent(in) :: earlier, later
    first_error = merge(later, earlier, earlier == PIO_noerr)
  end function

end module pio_text
