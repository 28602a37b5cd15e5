! redset for Fortran, on the C functions of Stanchion: compile it with the compiler of your program.
!
! Every function returns REDSET_SUCCESS or another number; redset_last_error() then tells why. A
! communicator is the integer of `use mpi`; with `use mpi_f08` give comm%MPI_VAL. Blanks at the end of a
! name are no part of it.
module redset
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_loc, c_null_char, c_null_ptr, c_ptr, c_size_t
  implicit none
  private

  integer, parameter, public :: REDSET_SUCCESS = 0
  integer, parameter, public :: REDSET_COPY_SINGLE = 1, REDSET_COPY_PARTNER = 2, REDSET_COPY_XOR = 3, REDSET_COPY_RS = 4

  public :: redset_init, redset_finalize, redset_create, redset_create_single, redset_create_partner
  public :: redset_create_xor, redset_create_rs, redset_delete, redset_apply, redset_recover, redset_unapply
  public :: redset_verify, redset_last_error

  interface
    function redset_init() bind(C)
      import :: c_int
      integer(c_int) :: redset_init
    end function

    function redset_finalize() bind(C)
      import :: c_int
      integer(c_int) :: redset_finalize
    end function

    ! The descriptor is set to c_null_ptr.
    function redset_delete(d) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: d
      integer(c_int) :: redset_delete
    end function

    function c_create(scheme, comm, group, d) bind(C, name="stanchion_redset_create_f")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: scheme, comm
      character(kind=c_char), intent(in) :: group(*)
      type(c_ptr), intent(out) :: d
      integer(c_int) :: c_create
    end function

    function c_create_single(comm, group, d) bind(C, name="stanchion_redset_create_single_f")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: group(*)
      type(c_ptr), intent(out) :: d
      integer(c_int) :: c_create_single
    end function

    function c_create_partner(comm, group, set_size, replicas, d) bind(C, name="stanchion_redset_create_partner_f")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: comm, set_size, replicas
      character(kind=c_char), intent(in) :: group(*)
      type(c_ptr), intent(out) :: d
      integer(c_int) :: c_create_partner
    end function

    function c_create_xor(comm, group, set_size, d) bind(C, name="stanchion_redset_create_xor_f")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: comm, set_size
      character(kind=c_char), intent(in) :: group(*)
      type(c_ptr), intent(out) :: d
      integer(c_int) :: c_create_xor
    end function

    function c_create_rs(comm, group, set_size, k, d) bind(C, name="stanchion_redset_create_rs_f")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: comm, set_size, k
      character(kind=c_char), intent(in) :: group(*)
      type(c_ptr), intent(out) :: d
      integer(c_int) :: c_create_rs
    end function

    function c_apply(count, files, name, d) bind(C, name="redset_apply")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: count
      type(c_ptr), intent(in) :: files(*)
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: d
      integer(c_int) :: c_apply
    end function

    function c_recover(comm, name, d) bind(C, name="stanchion_redset_recover_f")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: d
      integer(c_int) :: c_recover
    end function

    function c_unapply(name, d) bind(C, name="redset_unapply")
      import :: c_char, c_int, c_ptr
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: d
      integer(c_int) :: c_unapply
    end function

    function c_verify(comm, name, report) bind(C, name="stanchion_redset_verify_f")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: report
      integer(c_int) :: c_verify
    end function

    function c_last_error(buffer, length) bind(C, name="stanchion_last_error")
      import :: c_char, c_size_t
      character(kind=c_char), intent(inout) :: buffer(*)
      integer(c_size_t), value :: length
      integer(c_size_t) :: c_last_error
    end function
  end interface

contains

  integer function redset_create(scheme, comm, group, d) result(code)
    integer, intent(in) :: scheme, comm
    character(len=*), intent(in) :: group
    type(c_ptr), intent(out) :: d
    code = c_create(scheme, comm, c_text(group), d)
  end function

  integer function redset_create_single(comm, group, d) result(code)
    integer, intent(in) :: comm
    character(len=*), intent(in) :: group
    type(c_ptr), intent(out) :: d
    code = c_create_single(comm, c_text(group), d)
  end function

  integer function redset_create_partner(comm, group, set_size, replicas, d) result(code)
    integer, intent(in) :: comm, set_size, replicas
    character(len=*), intent(in) :: group
    type(c_ptr), intent(out) :: d
    code = c_create_partner(comm, c_text(group), set_size, replicas, d)
  end function

  integer function redset_create_xor(comm, group, set_size, d) result(code)
    integer, intent(in) :: comm, set_size
    character(len=*), intent(in) :: group
    type(c_ptr), intent(out) :: d
    code = c_create_xor(comm, c_text(group), set_size, d)
  end function

  integer function redset_create_rs(comm, group, set_size, k, d) result(code)
    integer, intent(in) :: comm, set_size, k
    character(len=*), intent(in) :: group
    type(c_ptr), intent(out) :: d
    code = c_create_rs(comm, c_text(group), set_size, k, d)
  end function

  integer function redset_apply(files, name, d) result(code)
    character(len=*), intent(in) :: files(:), name
    type(c_ptr), intent(in) :: d
    character(kind=c_char), allocatable, target :: texts(:, :)
    type(c_ptr), allocatable :: places(:)
    integer :: i
    allocate (texts(len(files) + 1, size(files)), places(size(files)))
    do i = 1, size(files)
      texts(:len_trim(files(i)) + 1, i) = c_text(files(i))
      places(i) = c_loc(texts(1, i))
    end do
    code = c_apply(size(files), places, c_text(name), d)
  end function

  integer function redset_recover(comm, name, d) result(code)
    integer, intent(in) :: comm
    character(len=*), intent(in) :: name
    type(c_ptr), intent(out) :: d
    code = c_recover(comm, c_text(name), d)
  end function

  integer function redset_unapply(name, d) result(code)
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: d
    code = c_unapply(c_text(name), d)
  end function

  ! Compares all files and their redundancy with their checksums; changes nothing.
  integer function redset_verify(comm, name) result(code)
    integer, intent(in) :: comm
    character(len=*), intent(in) :: name
    code = c_verify(comm, c_text(name), c_null_ptr)
  end function

  function redset_last_error() result(message)
    character(len=:), allocatable :: message
    character(kind=c_char) :: buffer(1024)
    integer :: length, i
    length = int(min(c_last_error(buffer, int(size(buffer), c_size_t)), int(size(buffer) - 1, c_size_t)))
    allocate (character(len=length) :: message)
    do i = 1, length
      message(i:i) = buffer(i)
    end do
  end function

  ! As C wants it: without blanks at the end, with a NUL.
  pure function c_text(text)
    character(len=*), intent(in) :: text
    character(kind=c_char) :: c_text(len_trim(text) + 1)
    integer :: i
    do i = 1, len_trim(text)
      c_text(i) = text(i:i)
    end do
    c_text(len_trim(text) + 1) = c_null_char
  end function

end module redset
