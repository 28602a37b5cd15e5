! Which PIO the library stands for; SCORPIO has these.
module pio_version
  use, intrinsic :: iso_c_binding, only: c_char, c_int
  use pio_text, only: c_name, from_c
  implicit none
  private

  public :: PIO_get_version, PIO_get_version_major, PIO_get_version_minor, PIO_get_version_patch
  public :: PIO_get_version_string, PIO_get_version_hash

  interface
    integer(c_int) function PIO_get_version_major() bind(C, name="PIOc_get_version_major")
      import :: c_int
    end function

    integer(c_int) function PIO_get_version_minor() bind(C, name="PIOc_get_version_minor")
      import :: c_int
    end function

    integer(c_int) function PIO_get_version_patch() bind(C, name="PIOc_get_version_patch")
      import :: c_int
    end function

    integer(c_int) function PIOc_get_version_string(vstr, length) bind(C, name="PIOc_get_version_string")
      import :: c_char, c_int
      character(kind=c_char), intent(inout) :: vstr(*)
      integer(c_int), value :: length
    end function

    integer(c_int) function PIOc_get_version_hash(vstr, length) bind(C, name="PIOc_get_version_hash")
      import :: c_char, c_int
      character(kind=c_char), intent(inout) :: vstr(*)
      integer(c_int), value :: length
    end function
  end interface

contains

  integer function PIO_get_version_string(vstr) result(ierr)
    character(len=*), intent(out) :: vstr
    type(c_name) :: found
    ierr = PIOc_get_version_string(found%text, size(found%text))
    call from_c(found%text, vstr)
  end function

  integer function PIO_get_version_hash(vstr) result(ierr)
    character(len=*), intent(out) :: vstr
    type(c_name) :: found
    ierr = PIOc_get_version_hash(found%text, size(found%text))
    call from_c(found%text, vstr)
  end function

  integer function PIO_get_version(major, minor, patch, vstr) result(ierr)
    integer, intent(out), optional :: major, minor, patch
    character(len=*), intent(out), optional :: vstr
    ierr = 0
    if (present(major)) major = PIO_get_version_major()
    if (present(minor)) minor = PIO_get_version_minor()
    if (present(patch)) patch = PIO_get_version_patch()
    if (present(vstr)) ierr = PIO_get_version_string(vstr)
  end function

end module pio_version
