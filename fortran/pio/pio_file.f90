! Files as a whole, and the records that arrays are written to and read from.
module pio_file
  use, intrinsic :: iso_c_binding, only: c_char, c_int
  use pio_kinds, only: i4, i8
  use pio_text, only: c_text
  use pio_types
  implicit none
  private

  public :: PIO_createfile, PIO_openfile, PIO_closefile, PIO_syncfile, PIO_deletefile, PIO_file_is_open
  public :: PIO_setframe, PIO_advanceframe

  interface PIO_createfile
    module procedure createfile
  end interface

  interface PIO_openfile
    module procedure openfile
  end interface

  interface PIO_closefile
    module procedure closefile
  end interface

  interface PIO_syncfile
    module procedure syncfile
  end interface

  interface PIO_setframe
    module procedure setframe_i4
    module procedure setframe_i8
  end interface

  interface PIO_advanceframe
    module procedure advanceframe
  end interface

  interface
    integer(c_int) function PIOc_createfile(iosysid, ncid, iotype, fname, mode) bind(C, name="PIOc_createfile")
      import :: c_char, c_int
      integer(c_int), value :: iosysid, mode
      integer(c_int), intent(inout) :: ncid, iotype
      character(kind=c_char), intent(in) :: fname(*)
    end function

    integer(c_int) function PIOc_openfile(iosysid, ncid, iotype, fname, mode) bind(C, name="PIOc_openfile")
      import :: c_char, c_int
      integer(c_int), value :: iosysid, mode
      integer(c_int), intent(inout) :: ncid, iotype
      character(kind=c_char), intent(in) :: fname(*)
    end function

    integer(c_int) function PIOc_closefile(ncid) bind(C, name="PIOc_closefile")
      import :: c_int
      integer(c_int), value :: ncid
    end function

    integer(c_int) function PIOc_sync(ncid) bind(C, name="PIOc_sync")
      import :: c_int
      integer(c_int), value :: ncid
    end function

    integer(c_int) function PIOc_deletefile(iosysid, fname) bind(C, name="PIOc_deletefile")
      import :: c_char, c_int
      integer(c_int), value :: iosysid
      character(kind=c_char), intent(in) :: fname(*)
    end function

    integer(c_int) function PIOc_File_is_Open(ncid) bind(C, name="PIOc_File_is_Open")
      import :: c_int
      integer(c_int), value :: ncid
    end function

    integer(c_int) function PIOc_setframe(ncid, varid, frame) bind(C, name="PIOc_setframe")
      import :: c_int
      integer(c_int), value :: ncid, varid, frame
    end function

    integer(c_int) function PIOc_advanceframe(ncid, varid) bind(C, name="PIOc_advanceframe")
      import :: c_int
      integer(c_int), value :: ncid, varid
    end function
  end interface

contains

  integer function createfile(iosystem, file, iotype, fname, amode_in) result(ierr)
    type(iosystem_desc_t), intent(in), target :: iosystem
    type(file_desc_t), intent(out) :: file
    integer, intent(in) :: iotype
    character(len=*), intent(in) :: fname
    integer, intent(in), optional :: amode_in
    integer(c_int) :: mode, used
    mode = PIO_clobber
    if (present(amode_in)) mode = amode_in
    used = iotype
    ierr = PIOc_createfile(iosystem%iosysid, file%fh, used, c_text(fname), mode)
    call attach(file, iosystem, ierr)
  end function

  integer function openfile(iosystem, file, iotype, fname, mode) result(ierr)
    type(iosystem_desc_t), intent(in), target :: iosystem
    type(file_desc_t), intent(out) :: file
    integer, intent(in) :: iotype
    character(len=*), intent(in) :: fname
    integer, intent(in), optional :: mode
    integer(c_int) :: access, used
    access = PIO_nowrite
    if (present(mode)) access = mode
    used = iotype
    ierr = PIOc_openfile(iosystem%iosysid, file%fh, used, c_text(fname), access)
    call attach(file, iosystem, ierr)
  end function

  subroutine attach(file, iosystem, code)
    type(file_desc_t), intent(inout) :: file
    type(iosystem_desc_t), intent(in), target :: iosystem
    integer, intent(in) :: code
    if (code /= PIO_noerr) file%fh = -1
    file%iosystem => iosystem
  end subroutine

  subroutine closefile(file, ierr)
    type(file_desc_t), intent(inout) :: file
    integer, intent(out), optional :: ierr
    integer(c_int) :: code
    code = PIOc_closefile(file%fh)
    file%fh = -1
    nullify (file%iosystem)
    if (present(ierr)) ierr = code
  end subroutine

  subroutine syncfile(file, ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(out), optional :: ierr
    integer(c_int) :: code
    code = PIOc_sync(file%fh)
    if (present(ierr)) ierr = code
  end subroutine

  subroutine PIO_deletefile(ios, fname, rc)
    type(iosystem_desc_t), intent(in) :: ios
    character(len=*), intent(in) :: fname
    integer, intent(out), optional :: rc
    integer(c_int) :: code
    code = PIOc_deletefile(ios%iosysid, c_text(fname))
    if (present(rc)) rc = code
  end subroutine

  logical function PIO_file_is_open(file) result(open)
    type(file_desc_t), intent(in) :: file
    open = associated(file%iosystem)
    if (open) open = PIOc_File_is_Open(file%fh) == 1
  end function

  ! Records count from 1.
  subroutine setframe_i4(file, vardesc, frame, ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer(i4), intent(in) :: frame
    integer, intent(out), optional :: ierr
    call setframe_i8(file, vardesc, int(frame, i8), ierr)
  end subroutine

  subroutine setframe_i8(file, vardesc, frame, ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer(i8), intent(in) :: frame
    integer, intent(out), optional :: ierr
    integer(c_int) :: code
    code = PIO_EINVAL
    if (frame >= 1 .and. frame <= huge(code)) code = PIOc_setframe(file%fh, vardesc%varid - 1, int(frame - 1, c_int))
    if (present(ierr)) ierr = code
  end subroutine

  subroutine advanceframe(file, vardesc, ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vardesc
    integer, intent(out), optional :: ierr
    integer(c_int) :: code
    code = PIOc_advanceframe(file%fh, vardesc%varid - 1)
    if (present(ierr)) ierr = code
  end subroutine

end module pio_file
