! All of PIO.
module pio
  use, intrinsic :: iso_c_binding
  use pio_kinds, only: PIO_OFFSET_KIND
  use pio_types
  use pio_version
  use pio_iosystem
  use pio_decomp
  use pio_file
  use pio_nf
  use piodarray, only: PIO_write_darray, PIO_read_darray
  use pionfatt_mod, only: PIO_put_att => put_att, PIO_get_att => get_att, PIO_inq_var_fill => inq_var_fill
  use pionfput_mod, only: PIO_put_var => put_var
  use pionfget_mod, only: PIO_get_var => get_var
  implicit none
  public
end module pio
