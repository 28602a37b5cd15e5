! What a file is made of, under the name that programs know.
module pio_nf
  use pio_define
  use pio_inquire_file
  use pio_inquire_var
  use pio_nc4
  use pio_iosystem, only: PIO_set_log_level, PIO_strerror
  use pionfatt_mod, only: PIO_inq_att => inq_att, PIO_inq_attlen => inq_attlen, PIO_inq_attname => inq_attname, &
    PIO_inq_attid => inq_attid, PIO_copy_att => copy_att
  implicit none
  public
end module pio_nf
