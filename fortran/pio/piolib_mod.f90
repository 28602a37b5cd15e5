! I/O systems, decompositions and files under the name that programs know.
module piolib_mod
  use pio_decomp
  use pio_file
  use pio_iosystem, only: PIO_init, PIO_finalize, PIO_get_numiotasks, PIO_getnumiotasks, PIO_iotype_available, &
    PIO_set_hint, PIO_set_rearr_opts, PIO_seterrorhandling, PIO_setdebuglevel
  implicit none
  public
end module piolib_mod
