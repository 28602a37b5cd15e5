! Writing of variables that every rank has as a whole: all of one, a part (start and count) or a single value (index). Values
! have any rank.
module pionfput_mod
  use pio_values_text, only: put_var
  use pio_values_real, only: put_var
  use pio_values_double, only: put_var
  use pio_values_int, only: put_var
  use pio_values_short, only: put_var
  implicit none
  private
  public :: put_var
end module pionfput_mod
