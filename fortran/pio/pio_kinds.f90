! PIO for Fortran, on the C functions of Stanchion. The modules have the names that programs know; `use pio` has
! all of them.
module pio_kinds
  use, intrinsic :: iso_c_binding, only: c_double, c_float, c_int, c_int64_t, c_short
  implicit none
  private

  integer, parameter, public :: char_len = 360
  integer, parameter, public :: log_kind = kind(.true.)
  integer, parameter, public :: int_kind = kind(1)
  integer, parameter, public :: i2 = c_short
  integer, parameter, public :: i4 = c_int
  integer, parameter, public :: i8 = c_int64_t
  integer, parameter, public :: r4 = c_float
  integer, parameter, public :: r8 = c_double

  ! That of MPI_OFFSET_KIND, which has 8 bytes with every MPI; so the modules need no MPI to be compiled.
  integer, parameter, public :: PIO_OFFSET_KIND = c_int64_t

end module pio_kinds
