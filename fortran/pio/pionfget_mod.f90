! Reading of variables that every rank has as a whole: all of one, a part (start and count) or a single value (index). Values
! have any rank.
module pionfget_mod
  use pio_values_text, only: get_var
  use pio_values_real, only: get_var
  use pio_values_double, only: get_var
  use pio_values_int, only: get_var
  use pio_values_short, only: get_var
  implicit none
  private
  public :: get_var
end module pionfget_mod
