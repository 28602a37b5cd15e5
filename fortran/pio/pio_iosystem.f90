! I/O systems, error handling and settings.
!
! Where a call has an argument for the code it is optional: without it the error handler's message is what tells of
! a failure, and the description that the call should have made is invalid, so that its next use fails too.
module pio_iosystem
  use, intrinsic :: iso_c_binding, only: c_bool, c_char, c_int, c_loc, c_null_ptr, c_ptr, c_size_t
  use pio_kinds, only: i4, PIO_OFFSET_KIND
  use pio_text, only: c_text, from_c
  use pio_types
  implicit none
  private

  public :: PIO_init, PIO_finalize, PIO_get_numiotasks, PIO_getnumiotasks, PIO_iam_iotask, PIO_iotask_rank
  public :: PIO_iosystem_is_active, PIO_iotype_available, PIO_set_hint, PIO_set_rearr_opts, PIO_set_blocksize
  public :: PIO_set_buffer_size_limit, PIO_seterrorhandling, PIO_setdebuglevel, PIO_set_log_level, PIO_strerror
  public :: PIO_last_error

  ! The forms with I/O tasks of their own, which do nothing else, are not there.
  interface PIO_init
    module procedure init_intracom
  end interface

  interface PIO_finalize
    module procedure finalize
  end interface

  interface PIO_get_numiotasks
    module procedure getnumiotasks
  end interface

  interface PIO_getnumiotasks
    module procedure getnumiotasks
  end interface

  interface PIO_seterrorhandling
    module procedure seterrorhandlingfile
    module procedure seterrorhandlingiosystem
    module procedure seterrorhandlingiosysid
  end interface

  interface PIO_set_log_level
    module procedure set_log_level
    module procedure set_global_log_level
  end interface

  interface PIO_setdebuglevel
    module procedure setdebuglevel
  end interface

  interface
    integer(c_int) function PIOc_Init_Intracomm_from_F90(comp_comm, num_iotasks, stride, base, rearr, rearr_opts, iosysid) &
        bind(C, name="PIOc_Init_Intracomm_from_F90")
      import :: c_int, c_ptr
      integer(c_int), value :: comp_comm, num_iotasks, stride, base, rearr
      type(c_ptr), value :: rearr_opts
      integer(c_int), intent(out) :: iosysid
    end function

    integer(c_int) function PIOc_finalize(iosysid) bind(C, name="PIOc_finalize")
      import :: c_int
      integer(c_int), value :: iosysid
    end function

    integer(c_int) function PIOc_get_numiotasks(iosysid, numiotasks) bind(C, name="PIOc_get_numiotasks")
      import :: c_int
      integer(c_int), value :: iosysid
      integer(c_int), intent(out) :: numiotasks
    end function

    integer(c_int) function PIOc_iam_iotask(iosysid, iotask) bind(C, name="PIOc_iam_iotask")
      import :: c_bool, c_int
      integer(c_int), value :: iosysid
      logical(c_bool), intent(out) :: iotask
    end function

    integer(c_int) function PIOc_iotask_rank(iosysid, rank) bind(C, name="PIOc_iotask_rank")
      import :: c_int
      integer(c_int), value :: iosysid
      integer(c_int), intent(out) :: rank
    end function

    integer(c_int) function PIOc_iosystem_is_active(iosysid, active) bind(C, name="PIOc_iosystem_is_active")
      import :: c_bool, c_int
      integer(c_int), value :: iosysid
      logical(c_bool), intent(out) :: active
    end function

    integer(c_int) function PIOc_iotype_available(iotype) bind(C, name="PIOc_iotype_available")
      import :: c_int
      integer(c_int), value :: iotype
    end function

    integer(c_int) function PIOc_set_hint(iosysid, hint, hintval) bind(C, name="PIOc_set_hint")
      import :: c_char, c_int
      integer(c_int), value :: iosysid
      character(kind=c_char), intent(in) :: hint(*), hintval(*)
    end function

    integer(c_int) function PIOc_set_rearr_opts(iosysid, comm_type, fcd, hs_c2i, isend_c2i, pend_c2i, hs_i2c, isend_i2c, &
        pend_i2c) bind(C, name="PIOc_set_rearr_opts")
      import :: c_bool, c_int
      integer(c_int), value :: iosysid, comm_type, fcd, pend_c2i, pend_i2c
      logical(c_bool), value :: hs_c2i, isend_c2i, hs_i2c, isend_i2c
    end function

    integer(c_int) function PIOc_set_blocksize(blocksize) bind(C, name="PIOc_set_blocksize")
      import :: c_int
      integer(c_int), value :: blocksize
    end function

    integer(PIO_OFFSET_KIND) function PIOc_set_buffer_size_limit(limit) bind(C, name="PIOc_set_buffer_size_limit")
      import :: PIO_OFFSET_KIND
      integer(PIO_OFFSET_KIND), value :: limit
    end function

    integer(c_int) function PIOc_set_iosystem_error_handling(iosysid, method, old_method) &
        bind(C, name="PIOc_set_iosystem_error_handling")
      import :: c_int
      integer(c_int), value :: iosysid, method
      integer(c_int), intent(out) :: old_method
    end function

    integer(c_int) function PIOc_set_log_level(level) bind(C, name="PIOc_set_log_level")
      import :: c_int
      integer(c_int), value :: level
    end function

    integer(c_int) function PIOc_set_global_log_level(iosysid, level) bind(C, name="PIOc_set_global_log_level")
      import :: c_int
      integer(c_int), value :: iosysid, level
    end function

    integer(c_int) function c_strerror(code, text, length) bind(C, name="stanchion_piof_strerror")
      import :: c_char, c_int
      integer(c_int), value :: code, length
      character(kind=c_char), intent(inout) :: text(*)
    end function

    integer(c_size_t) function c_last_error(text, length) bind(C, name="stanchion_last_error")
      import :: c_char, c_size_t
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: length
    end function
  end interface

contains

  ! comp_rank and num_aggregator are not used.
  subroutine init_intracom(comp_rank, comp_comm, num_iotasks, num_aggregator, stride, rearr, iosystem, base, rearr_opts, ierr)
    integer(i4), intent(in) :: comp_rank, comp_comm, num_iotasks, num_aggregator, stride, rearr
    type(iosystem_desc_t), intent(out) :: iosystem
    integer(i4), intent(in), optional :: base
    type(PIO_rearr_opt_t), intent(in), optional, target :: rearr_opts
    integer(i4), intent(out), optional :: ierr
    type(c_ptr) :: options
    integer(c_int) :: first, code
    if (comp_rank == num_aggregator) continue
    first = 0
    if (present(base)) first = base
    options = c_null_ptr
    if (present(rearr_opts)) options = c_loc(rearr_opts)
    code = PIOc_Init_Intracomm_from_F90(comp_comm, num_iotasks, stride, first, rearr, options, iosystem%iosysid)
    if (code /= PIO_noerr) iosystem%iosysid = -1
    if (present(ierr)) ierr = code
  end subroutine

  ! The description is invalid afterwards; one that is so already is nothing to finalize.
  subroutine finalize(iosystem, ierr)
    type(iosystem_desc_t), intent(inout) :: iosystem
    integer(i4), intent(out) :: ierr
    ierr = PIO_noerr
    if (iosystem%iosysid /= -1) ierr = PIOc_finalize(iosystem%iosysid)
    iosystem%iosysid = -1
  end subroutine

  subroutine getnumiotasks(iosystem, numiotasks, ierr)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(out) :: numiotasks
    integer(i4), intent(out), optional :: ierr
    integer(c_int) :: code
    numiotasks = 0
    code = PIOc_get_numiotasks(iosystem%iosysid, numiotasks)
    if (present(ierr)) ierr = code
  end subroutine

  logical function PIO_iam_iotask(iosystem, ierr) result(task)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(out), optional :: ierr
    logical(c_bool) :: answer
    integer(c_int) :: code
    answer = .false.
    code = PIOc_iam_iotask(iosystem%iosysid, answer)
    task = answer
    if (present(ierr)) ierr = code
  end function

  ! This rank's number among the I/O tasks, or -1.
  integer function PIO_iotask_rank(iosystem, ierr) result(rank)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(out), optional :: ierr
    integer(c_int) :: answer, code
    answer = -1
    code = PIOc_iotask_rank(iosystem%iosysid, answer)
    rank = answer
    if (present(ierr)) ierr = code
  end function

  subroutine PIO_iosystem_is_active(iosystem, active, ierr)
    type(iosystem_desc_t), intent(in) :: iosystem
    logical, intent(out) :: active
    integer(i4), intent(out), optional :: ierr
    logical(c_bool) :: answer
    integer(c_int) :: code
    answer = .false.
    code = PIOc_iosystem_is_active(iosystem%iosysid, answer)
    active = answer
    if (present(ierr)) ierr = code
  end subroutine

  logical function PIO_iotype_available(iotype) result(available)
    integer, intent(in) :: iotype
    available = PIOc_iotype_available(iotype) == 1
  end function

  subroutine PIO_set_hint(iosystem, hint, hintval, ierr)
    type(iosystem_desc_t), intent(in) :: iosystem
    character(len=*), intent(in) :: hint, hintval
    integer(i4), intent(out), optional :: ierr
    integer(c_int) :: code
    code = PIOc_set_hint(iosystem%iosysid, c_text(hint), c_text(hintval))
    if (present(ierr)) ierr = code
  end subroutine

  integer function PIO_set_rearr_opts(ios, comm_type, fcd, enable_hs_c2i, enable_isend_c2i, max_pend_req_c2i, &
      enable_hs_i2c, enable_isend_i2c, max_pend_req_i2c) result(ierr)
    type(iosystem_desc_t), intent(in) :: ios
    integer, intent(in) :: comm_type, fcd, max_pend_req_c2i, max_pend_req_i2c
    logical, intent(in) :: enable_hs_c2i, enable_isend_c2i, enable_hs_i2c, enable_isend_i2c
    ierr = PIOc_set_rearr_opts(ios%iosysid, comm_type, fcd, logical(enable_hs_c2i, c_bool), &
      logical(enable_isend_c2i, c_bool), max_pend_req_c2i, logical(enable_hs_i2c, c_bool), &
      logical(enable_isend_i2c, c_bool), max_pend_req_i2c)
  end function

  subroutine PIO_set_blocksize(blocksize, ierr)
    integer, intent(in) :: blocksize
    integer(i4), intent(out), optional :: ierr
    integer(c_int) :: code
    code = PIOc_set_blocksize(blocksize)
    if (present(ierr)) ierr = code
  end subroutine

  subroutine PIO_set_buffer_size_limit(limit, prev_limit)
    integer(PIO_OFFSET_KIND), intent(in) :: limit
    integer(PIO_OFFSET_KIND), intent(out), optional :: prev_limit
    integer(PIO_OFFSET_KIND) :: old
    old = PIOc_set_buffer_size_limit(limit)
    if (present(prev_limit)) prev_limit = old
  end subroutine

  ! A file has the method of its I/O system.
  subroutine seterrorhandlingfile(file, method, oldmethod, ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: method
    integer, intent(out), optional :: oldmethod, ierr
    if (associated(file%iosystem)) then
      call seterrorhandlingiosysid(file%iosystem%iosysid, method, oldmethod, ierr)
    else if (present(ierr)) then
      ierr = PIO_EBADID
    end if
  end subroutine

  subroutine seterrorhandlingiosystem(iosystem, method, oldmethod, ierr)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer, intent(in) :: method
    integer, intent(out), optional :: oldmethod, ierr
    call seterrorhandlingiosysid(iosystem%iosysid, method, oldmethod, ierr)
  end subroutine

  ! PIO_DEFAULT instead of an id: for all I/O systems to come.
  subroutine seterrorhandlingiosysid(iosysid, method, oldmethod, ierr)
    integer, intent(in) :: iosysid, method
    integer, intent(out), optional :: oldmethod, ierr
    integer(c_int) :: old, code
    old = method
    code = PIOc_set_iosystem_error_handling(iosysid, method, old)
    if (present(oldmethod)) oldmethod = old
    if (present(ierr)) ierr = code
  end subroutine

  subroutine setdebuglevel(level, ierr)
    integer(i4), intent(in) :: level
    integer(i4), intent(out), optional :: ierr
    integer :: code
    code = set_log_level(level)
    if (present(ierr)) ierr = code
  end subroutine

  integer function set_log_level(log_level) result(ierr)
    integer, intent(in) :: log_level
    ierr = PIOc_set_log_level(log_level)
  end function

  integer function set_global_log_level(iosys, log_level) result(ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: log_level
    ierr = PIOc_set_global_log_level(iosys%iosysid, log_level)
  end function

  integer function PIO_strerror(errcode, errmsg) result(ierr)
    integer, intent(in) :: errcode
    character(len=*), intent(out) :: errmsg
    character(kind=c_char) :: text(PIO_MAX_NAME + 1)
    ierr = c_strerror(errcode, text, size(text))
    call from_c(text, errmsg)
  end function

  ! What went wrong in the last call that failed, in words; also where the handler has been told to be silent.
  subroutine PIO_last_error(errmsg)
    character(len=*), intent(out) :: errmsg
    character(kind=c_char) :: text(1024)
    integer(c_size_t) :: ignored
    ignored = c_last_error(text, size(text, kind=c_size_t))
    call from_c(text, errmsg)
  end subroutine

end module pio_iosystem
