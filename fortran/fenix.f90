! Fenix for Fortran, on the C functions of Stanchion: compile it with the compiler of your program.
!
! Every function returns FENIX_SUCCESS, an error below 0 or a warning above; Fenix_last_error() then tells why.
! Communicators and datatypes are the integers of `use mpi`; with `use mpi_f08` give comm%MPI_VAL. A buffer is
! c_loc(array): the library keeps the address, so the array is a target that lives as long as the member.
!
! Fortran cannot be jumped to. After a failure the MPI call that met it returns, with an error code, and the
! communicator has been repaired: role is FENIX_ROLE_SURVIVOR_RANK then and newcomm another one. So a program
! looks at the codes of its MPI calls (or at role) and goes back to its last snapshot:
!
!   integer, target, volatile :: role, world, error
!   code = Fenix_Init(role, MPI_COMM_WORLD, world, spares, error)
!   do
!     code = Fenix_Data_group_create(1, world, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, [1, 1], flag)
!     if (role == FENIX_ROLE_INITIAL_RANK) then; create members; else; restore them; end if
!     ... steps, each left by `cycle` of this loop when a call returns an error ...
!   end do
!
! role, newcomm and error are written at every recovery, without their being arguments of a call at that moment:
! therefore `volatile`. Who does not want that asks Fenix_comm() for the communicator. Set role to
! FENIX_ROLE_INITIAL_RANK again once everything is restored to notice the next failure by it.
module fenix
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_int, c_int64_t, c_null_ptr, c_ptr, c_size_t
  implicit none
  private

  integer, parameter, public :: FENIX_SUCCESS = 0
  integer, parameter, public :: FENIX_ERROR_UNINITIALIZED = -9, FENIX_ERROR_NOCATEGORY = -10
  integer, parameter, public :: FENIX_ERROR_CALLBACK_NOT_REGISTERED = -11, FENIX_ERROR_GROUP_CREATE = -12
  integer, parameter, public :: FENIX_ERROR_MEMBER_CREATE = -13, FENIX_ERROR_COMMIT_BARRIER = -133
  integer, parameter, public :: FENIX_ERROR_INVALID_GROUPID = -14, FENIX_ERROR_INVALID_MEMBERID = -15
  integer, parameter, public :: FENIX_ERROR_INVALID_LOGIC_CALL = -155, FENIX_ERROR_INVALID_TIMESTAMP = -16
  integer, parameter, public :: FENIX_ERROR_INVALID_DEPTH = -17, FENIX_ERROR_INVALID_ATTRIBUTE_NAME = -18
  integer, parameter, public :: FENIX_ERROR_INVALID_ATTRIBUTE_VALUE = -19, FENIX_ERROR_INVALID_POSITION = -20
  integer, parameter, public :: FENIX_ERROR_DATA_WAIT = -21, FENIX_ERROR_SUBSET_NUM_BLOCKS = -22
  integer, parameter, public :: FENIX_ERROR_SUBSET_START_OFFSET = -23, FENIX_ERROR_SUBSET_END_OFFSET = -24
  integer, parameter, public :: FENIX_ERROR_SUBSET_STRIDE = -25, FENIX_ERROR_NODATA_FOUND = -30
  integer, parameter, public :: FENIX_ERROR_INTERN = -40, FENIX_ERROR_CANCELLED = -50
  integer, parameter, public :: FENIX_WARNING_SPARE_RANKS_DEPLETED = 100, FENIX_WARNING_PARTIAL_RESTORE = 101
  integer, parameter, public :: FENIX_ROLE_INITIAL_RANK = 0, FENIX_ROLE_RECOVERED_RANK = 1
  integer, parameter, public :: FENIX_ROLE_SURVIVOR_RANK = 2
  integer, parameter, public :: FENIX_DATA_GROUP_WORLD_ID = 10, FENIX_DATA_MEMBER_ALL = 15
  integer, parameter, public :: FENIX_DATA_SNAPSHOT_LATEST = -1, FENIX_DATA_SNAPSHOT_ALL = 16
  integer, parameter, public :: FENIX_DATA_POLICY_IN_MEMORY_RAID = 13
  integer, parameter, public :: STANCHION_FENIX_POLICY_PLACED = 113
  integer, parameter, public :: STANCHION_FENIX_POLICY_RS = 114

  ! As in C: elements are counted from 0.
  type, bind(C), public :: Fenix_Data_subset
    integer(c_int) :: num_blocks = 0
    type(c_ptr) :: start_offsets = c_null_ptr, end_offsets = c_null_ptr, num_repeats = c_null_ptr
    integer(c_int) :: stride = 0
    integer(c_int) :: specifier = 1
  end type

  type(Fenix_Data_subset), parameter, public :: FENIX_DATA_SUBSET_EMPTY = &
    Fenix_Data_subset(0, c_null_ptr, c_null_ptr, c_null_ptr, 0, 1)
  type(Fenix_Data_subset), parameter, public :: FENIX_DATA_SUBSET_FULL = &
    Fenix_Data_subset(0, c_null_ptr, c_null_ptr, c_null_ptr, 0, 2)

  ! A store under way.
  type, bind(C), public :: Fenix_Request
    integer(c_int64_t) :: words(2) = 0
  end type

  public :: Fenix_Init, Fenix_Finalize, Fenix_Initialized, Fenix_comm, Fenix_get_role
  public :: Fenix_get_number_of_ranks_with_role, Fenix_Process_detect_failures, Fenix_Process_fail_list
  public :: Fenix_last_error
  public :: Fenix_Data_group_create, Fenix_Data_group_delete, Fenix_Data_member_create, Fenix_Data_member_delete
  public :: Fenix_Data_member_set_buffer, Fenix_Data_member_get_count
  public :: Fenix_Data_member_store, Fenix_Data_member_storev, Fenix_Data_member_istore, Fenix_Data_member_istorev
  public :: Fenix_Data_group_get_redundancy_policy
  public :: Fenix_Data_wait, Fenix_Data_test, Fenix_Data_commit, Fenix_Data_commit_barrier, Fenix_Data_barrier
  public :: Fenix_Data_member_restore, Fenix_Data_member_lrestore, Fenix_Data_member_restore_from_rank
  public :: Fenix_Data_subset_create, Fenix_Data_subset_createv, Fenix_Data_subset_delete
  public :: Fenix_Data_group_get_number_of_members, Fenix_Data_group_get_member_at_position
  public :: Fenix_Data_group_get_number_of_snapshots, Fenix_Data_group_get_snapshot_at_position
  public :: Fenix_Data_snapshot_delete

  interface
    ! Returns what error gets.
    function Fenix_Init(role, comm, newcomm, spare_ranks, error) bind(C, name="stanchion_fenix_init_f")
      import :: c_int
      integer(c_int), target, volatile, intent(inout) :: role, newcomm, error
      integer(c_int), value :: comm, spare_ranks
      integer(c_int) :: Fenix_Init
    end function

    function Fenix_Finalize() bind(C, name="Fenix_Finalize")
      import :: c_int
      integer(c_int) :: Fenix_Finalize
    end function

    function Fenix_Initialized(flag) bind(C, name="Fenix_Initialized")
      import :: c_int
      integer(c_int), intent(out) :: flag
      integer(c_int) :: Fenix_Initialized
    end function

    ! The repaired communicator.
    function Fenix_comm() bind(C, name="stanchion_fenix_comm_f")
      import :: c_int
      integer(c_int) :: Fenix_comm
    end function

    function Fenix_get_role(comm, rank, role) bind(C, name="stanchion_fenix_get_role_f")
      import :: c_int
      integer(c_int), value :: comm, rank
      integer(c_int), intent(out) :: role
      integer(c_int) :: Fenix_get_role
    end function

    function Fenix_get_number_of_ranks_with_role(role, number) bind(C, name="Fenix_get_number_of_ranks_with_role")
      import :: c_int
      integer(c_int), value :: role
      integer(c_int), intent(out) :: number
      integer(c_int) :: Fenix_get_number_of_ranks_with_role
    end function

    function Fenix_Process_detect_failures(do_recovery) bind(C, name="Fenix_Process_detect_failures")
      import :: c_int
      integer(c_int), value :: do_recovery
      integer(c_int) :: Fenix_Process_detect_failures
    end function

    ! policy_value is [1, rank separation] or [5, rank separation, set size]; with STANCHION_FENIX_POLICY_PLACED it is
    ! [1], [5, set size] or [6, set size, k], and STANCHION_TOPOLOGY or the name of the host says where a rank is; with
    ! STANCHION_FENIX_POLICY_RS it is [rank separation, set size, k].
    function Fenix_Data_group_create(group_id, comm, start_time_stamp, depth, policy_name, policy_value, flag) &
        bind(C, name="stanchion_fenix_group_create_f")
      import :: c_int
      integer(c_int), value :: group_id, comm, start_time_stamp, depth, policy_name
      integer(c_int), intent(in) :: policy_value(*)
      integer(c_int), intent(out) :: flag
      integer(c_int) :: Fenix_Data_group_create
    end function

    ! policy_value gets what Fenix_Data_group_create was told, up to three numbers.
    function Fenix_Data_group_get_redundancy_policy(group_id, policy_name, policy_value, flag) &
        bind(C, name="Fenix_Data_group_get_redundancy_policy")
      import :: c_int
      integer(c_int), value :: group_id
      integer(c_int), intent(out) :: policy_name, flag
      integer(c_int), intent(inout) :: policy_value(3)
      integer(c_int) :: Fenix_Data_group_get_redundancy_policy
    end function

    function Fenix_Data_group_delete(group_id) bind(C, name="Fenix_Data_group_delete")
      import :: c_int
      integer(c_int), value :: group_id
      integer(c_int) :: Fenix_Data_group_delete
    end function

    function Fenix_Data_member_create(group_id, member_id, buffer, count, datatype) &
        bind(C, name="stanchion_fenix_member_create_f")
      import :: c_int, c_ptr
      integer(c_int), value :: group_id, member_id, count, datatype
      type(c_ptr), value :: buffer
      integer(c_int) :: Fenix_Data_member_create
    end function

    function Fenix_Data_member_delete(group_id, member_id) bind(C, name="Fenix_Data_member_delete")
      import :: c_int
      integer(c_int), value :: group_id, member_id
      integer(c_int) :: Fenix_Data_member_delete
    end function

    function Fenix_Data_member_store(group_id, member_id, subset) bind(C, name="Fenix_Data_member_store")
      import :: c_int, Fenix_Data_subset
      integer(c_int), value :: group_id, member_id
      type(Fenix_Data_subset), value :: subset
      integer(c_int) :: Fenix_Data_member_store
    end function

    function Fenix_Data_member_storev(group_id, member_id, subset) bind(C, name="Fenix_Data_member_storev")
      import :: c_int, Fenix_Data_subset
      integer(c_int), value :: group_id, member_id
      type(Fenix_Data_subset), value :: subset
      integer(c_int) :: Fenix_Data_member_storev
    end function

    function Fenix_Data_member_istore(group_id, member_id, subset, request) bind(C, name="stanchion_fenix_istore_f")
      import :: c_int, Fenix_Data_subset, Fenix_Request
      integer(c_int), value :: group_id, member_id
      type(Fenix_Data_subset), value :: subset
      type(Fenix_Request), intent(out) :: request
      integer(c_int) :: Fenix_Data_member_istore
    end function

    function Fenix_Data_wait(request) bind(C, name="stanchion_fenix_wait_f")
      import :: c_int, Fenix_Request
      type(Fenix_Request), intent(in) :: request
      integer(c_int) :: Fenix_Data_wait
    end function

    function Fenix_Data_test(request, flag) bind(C, name="stanchion_fenix_test_f")
      import :: c_int, Fenix_Request
      type(Fenix_Request), intent(in) :: request
      integer(c_int), intent(out) :: flag
      integer(c_int) :: Fenix_Data_test
    end function

    function Fenix_Data_commit(group_id, time_stamp) bind(C, name="Fenix_Data_commit")
      import :: c_int
      integer(c_int), value :: group_id
      integer(c_int), intent(out), optional :: time_stamp
      integer(c_int) :: Fenix_Data_commit
    end function

    function Fenix_Data_commit_barrier(group_id, time_stamp) bind(C, name="Fenix_Data_commit_barrier")
      import :: c_int
      integer(c_int), value :: group_id
      integer(c_int), intent(out), optional :: time_stamp
      integer(c_int) :: Fenix_Data_commit_barrier
    end function

    function Fenix_Data_barrier(group_id) bind(C, name="Fenix_Data_barrier")
      import :: c_int
      integer(c_int), value :: group_id
      integer(c_int) :: Fenix_Data_barrier
    end function

    ! A target of c_null_ptr only rebuilds what was lost. What was found is to be given to
    ! Fenix_Data_subset_delete.
    function Fenix_Data_member_restore(group_id, member_id, target, max_count, time_stamp, found) &
        bind(C, name="Fenix_Data_member_restore")
      import :: c_int, c_ptr, Fenix_Data_subset
      integer(c_int), value :: group_id, member_id, max_count, time_stamp
      type(c_ptr), value :: target
      type(Fenix_Data_subset), intent(out), optional :: found
      integer(c_int) :: Fenix_Data_member_restore
    end function

    function Fenix_Data_member_lrestore(group_id, member_id, target, max_count, time_stamp, found) &
        bind(C, name="Fenix_Data_member_lrestore")
      import :: c_int, c_ptr, Fenix_Data_subset
      integer(c_int), value :: group_id, member_id, max_count, time_stamp
      type(c_ptr), value :: target
      type(Fenix_Data_subset), intent(out), optional :: found
      integer(c_int) :: Fenix_Data_member_lrestore
    end function

    function c_restore_from_rank(group_id, member_id, target, max_count, time_stamp, found, source_rank) &
        bind(C, name="Fenix_Data_member_restore_from_rank")
      import :: c_int, c_ptr, Fenix_Data_subset
      integer(c_int), value :: group_id, member_id, max_count, time_stamp, source_rank
      type(c_ptr), value :: target
      type(Fenix_Data_subset), intent(out), optional :: found
      integer(c_int) :: c_restore_from_rank
    end function

    function Fenix_Data_subset_create(num_blocks, start_offset, end_offset, stride, subset) &
        bind(C, name="Fenix_Data_subset_create")
      import :: c_int, Fenix_Data_subset
      integer(c_int), value :: num_blocks, start_offset, end_offset, stride
      type(Fenix_Data_subset), intent(out) :: subset
      integer(c_int) :: Fenix_Data_subset_create
    end function

    function c_createv(num_blocks, start_offsets, end_offsets, subset) bind(C, name="Fenix_Data_subset_createv")
      import :: c_int, Fenix_Data_subset
      integer(c_int), value :: num_blocks
      integer(c_int), intent(in) :: start_offsets(*), end_offsets(*)
      type(Fenix_Data_subset), intent(out) :: subset
      integer(c_int) :: c_createv
    end function

    function Fenix_Data_subset_delete(subset) bind(C, name="Fenix_Data_subset_delete")
      import :: c_int, Fenix_Data_subset
      type(Fenix_Data_subset), intent(inout) :: subset
      integer(c_int) :: Fenix_Data_subset_delete
    end function

    function Fenix_Data_group_get_number_of_members(group_id, number) &
        bind(C, name="Fenix_Data_group_get_number_of_members")
      import :: c_int
      integer(c_int), value :: group_id
      integer(c_int), intent(out) :: number
      integer(c_int) :: Fenix_Data_group_get_number_of_members
    end function

    ! Positions are counted from 0, as in C.
    function Fenix_Data_group_get_member_at_position(group_id, member_id, position) &
        bind(C, name="Fenix_Data_group_get_member_at_position")
      import :: c_int
      integer(c_int), value :: group_id, position
      integer(c_int), intent(out) :: member_id
      integer(c_int) :: Fenix_Data_group_get_member_at_position
    end function

    function Fenix_Data_group_get_number_of_snapshots(group_id, number) &
        bind(C, name="Fenix_Data_group_get_number_of_snapshots")
      import :: c_int
      integer(c_int), value :: group_id
      integer(c_int), intent(out) :: number
      integer(c_int) :: Fenix_Data_group_get_number_of_snapshots
    end function

    function Fenix_Data_group_get_snapshot_at_position(group_id, position, time_stamp) &
        bind(C, name="Fenix_Data_group_get_snapshot_at_position")
      import :: c_int
      integer(c_int), value :: group_id, position
      integer(c_int), intent(out) :: time_stamp
      integer(c_int) :: Fenix_Data_group_get_snapshot_at_position
    end function

    function Fenix_Data_snapshot_delete(group_id, time_stamp) bind(C, name="Fenix_Data_snapshot_delete")
      import :: c_int
      integer(c_int), value :: group_id, time_stamp
      integer(c_int) :: Fenix_Data_snapshot_delete
    end function

    function c_attr_get(group_id, member_id, name, value_of, flag, source_rank) &
        bind(C, name="Fenix_Data_member_attr_get")
      import :: c_int
      integer(c_int), value :: group_id, member_id, name, source_rank
      integer(c_int), intent(out) :: value_of, flag
      integer(c_int) :: c_attr_get
    end function

    function c_fail_list(fail_list) bind(C, name="Fenix_Process_fail_list")
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: fail_list
      integer(c_int) :: c_fail_list
    end function

    function c_attr_set(group_id, member_id, name, buffer, flag) bind(C, name="Fenix_Data_member_attr_set")
      import :: c_int, c_ptr
      integer(c_int), value :: group_id, member_id, name
      type(c_ptr), value :: buffer
      integer(c_int), intent(out) :: flag
      integer(c_int) :: c_attr_set
    end function

    function c_last_error(buffer, length) bind(C, name="stanchion_last_error")
      import :: c_char, c_size_t
      character(kind=c_char), intent(inout) :: buffer(*)
      integer(c_size_t), value :: length
      integer(c_size_t) :: c_last_error
    end function
  end interface

contains

  ! The number of processes that were lost in the last repair; fail_list is valid until the next.
  integer function Fenix_Process_fail_list(fail_list) result(number)
    integer(c_int), pointer, intent(out) :: fail_list(:)
    type(c_ptr) :: list
    list = c_null_ptr
    number = c_fail_list(list)
    nullify (fail_list)
    if (number > 0) call c_f_pointer(list, fail_list, [number])
  end function

  ! A store under way takes extents that differ by rank as they are.
  integer function Fenix_Data_member_istorev(group_id, member_id, subset, request) result(code)
    integer, intent(in) :: group_id, member_id
    type(Fenix_Data_subset), intent(in) :: subset
    type(Fenix_Request), intent(out) :: request
    code = Fenix_Data_member_istore(group_id, member_id, subset, request)
  end function

  ! Says where a member is that came back after a failure.
  integer function Fenix_Data_member_set_buffer(group_id, member_id, buffer) result(code)
    integer, intent(in) :: group_id, member_id
    type(c_ptr), intent(in) :: buffer
    integer(c_int) :: flag
    code = c_attr_set(group_id, member_id, 11, buffer, flag)
  end function

  ! How many elements the member has on this rank, or on source_rank: then called by all ranks of the group.
  integer function Fenix_Data_member_get_count(group_id, member_id, count, source_rank) result(code)
    integer, intent(in) :: group_id, member_id
    integer, intent(out) :: count
    integer, intent(in), optional :: source_rank
    integer(c_int) :: flag
    if (present(source_rank)) then
      code = c_attr_get(group_id, member_id, 12, count, flag, source_rank)
    else
      code = c_attr_get(group_id, member_id, 12, count, flag, -1)
    end if
  end function

  integer function Fenix_Data_member_restore_from_rank(group_id, member_id, target, max_count, time_stamp, source_rank, &
      found) result(code)
    integer, intent(in) :: group_id, member_id, max_count, time_stamp, source_rank
    type(c_ptr), intent(in) :: target
    type(Fenix_Data_subset), intent(out), optional :: found
    code = c_restore_from_rank(group_id, member_id, target, max_count, time_stamp, found, source_rank)
  end function

  integer function Fenix_Data_subset_createv(start_offsets, end_offsets, subset) result(code)
    integer, intent(in) :: start_offsets(:), end_offsets(:)
    type(Fenix_Data_subset), intent(out) :: subset
    code = c_createv(min(size(start_offsets), size(end_offsets)), start_offsets, end_offsets, subset)
  end function

  function Fenix_last_error() result(message)
    character(len=:), allocatable :: message
    character(kind=c_char) :: buffer(1024)
    integer :: length, i
    length = int(min(c_last_error(buffer, int(size(buffer), c_size_t)), int(size(buffer) - 1, c_size_t)))
    allocate (character(len=length) :: message)
    do i = 1, length
      message(i:i) = buffer(i)
    end do
  end function

end module fenix
