! A client of the Fortran module: members in memory, subsets, background stores, and what is wrong.
program client
  use mpi
  use fenix
  use, intrinsic :: iso_c_binding, only: c_int, c_loc, c_null_ptr
  implicit none

  integer, target, volatile :: role, world, error
  integer, target, save :: step
  real(kind(1d0)), target, save :: field(100), other(100)
  type(Fenix_Data_subset) :: part, found
  type(Fenix_Request) :: request
  integer :: rank, ranks, code, flag, number, stamp, i
  integer(c_int) :: policy(3)
  integer(c_int), pointer :: lost(:)

  call MPI_Init(code)
  call expect(Fenix_Initialized(flag), FENIX_SUCCESS)
  call expect(flag, 0)
  call expect(Fenix_Data_commit(1), FENIX_ERROR_UNINITIALIZED)
  call expect(Fenix_Init(role, MPI_COMM_WORLD, world, 0, error), FENIX_SUCCESS)
  call expect(error, FENIX_SUCCESS)
  call expect(role, FENIX_ROLE_INITIAL_RANK)
  call expect(merge(1, 0, world == Fenix_comm()), 1)
  call MPI_Comm_rank(world, rank, code)
  call MPI_Comm_size(world, ranks, code)
  call expect(Fenix_get_role(world, ranks - 1, number), FENIX_SUCCESS)
  call expect(number, FENIX_ROLE_INITIAL_RANK)
  call expect(Fenix_get_number_of_ranks_with_role(FENIX_ROLE_INITIAL_RANK, number), FENIX_SUCCESS)
  call expect(number, ranks)

  call expect(Fenix_Data_group_create(1, world, 0, 1, FENIX_DATA_POLICY_IN_MEMORY_RAID, [1, 0], flag), FENIX_ERROR_GROUP_CREATE)
  call expect(merge(1, 0, len(Fenix_last_error()) > 0), 1)
  call expect(Fenix_Data_group_create(1, world, 0, 1, FENIX_DATA_POLICY_IN_MEMORY_RAID, [5, 1, 3], flag), FENIX_SUCCESS)
  call expect(flag, 0)
  policy = 0
  call expect(Fenix_Data_group_get_redundancy_policy(1, number, policy, flag), FENIX_SUCCESS)
  call expect(number, FENIX_DATA_POLICY_IN_MEMORY_RAID)
  call expect(merge(1, 0, all(policy == [5, 1, 3])), 1)
  call expect(Fenix_Process_fail_list(lost), 0)
  call expect(merge(1, 0, associated(lost)), 0)
  call expect(Fenix_Data_member_create(1, 8, c_loc(field), 100, MPI_DOUBLE_PRECISION), FENIX_SUCCESS)
  call expect(Fenix_Data_member_create(1, 3, c_loc(step), 1, MPI_INTEGER), FENIX_SUCCESS)
  call expect(Fenix_Data_member_create(1, 3, c_loc(step), 1, MPI_INTEGER), FENIX_ERROR_INVALID_MEMBERID)
  call expect(Fenix_Data_group_get_number_of_members(1, number), FENIX_SUCCESS)
  call expect(number, 2)
  call expect(Fenix_Data_group_get_member_at_position(1, number, 0), FENIX_SUCCESS)
  call expect(number, 3)
  call expect(Fenix_Data_member_get_count(1, 8, number), FENIX_SUCCESS)
  call expect(number, 100)
  call expect(Fenix_Data_member_get_count(1, 3, number, 0), FENIX_SUCCESS)
  call expect(number, 1)

  step = 7
  field = [(real(i + 1000 * rank, kind(1d0)), i = 1, 100)]
  call expect(Fenix_Data_member_store(1, FENIX_DATA_MEMBER_ALL, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS)
  call expect(Fenix_Data_member_storev(1, 8, FENIX_DATA_SUBSET_EMPTY), FENIX_SUCCESS)
  call expect(Fenix_Data_commit_barrier(1, stamp), FENIX_SUCCESS)
  call expect(stamp, 0)

  call expect(Fenix_Data_subset_createv([0, 50], [9, 59], part), FENIX_SUCCESS)
  field = -field
  call expect(Fenix_Data_member_istorev(1, 8, part, request), FENIX_SUCCESS)
  field = 0
  call expect(Fenix_Data_wait(request), FENIX_SUCCESS)
  call expect(Fenix_Data_test(request, flag), FENIX_SUCCESS)
  call expect(flag, 1)
  call expect(Fenix_Data_subset_delete(part), FENIX_SUCCESS)
  call expect(Fenix_Data_commit(1), FENIX_SUCCESS)
  call expect(Fenix_Data_group_get_number_of_snapshots(1, number), FENIX_SUCCESS)
  call expect(number, 2)
  call expect(Fenix_Data_group_get_snapshot_at_position(1, 0, number), FENIX_SUCCESS)
  call expect(number, 1)

  step = 0
  call expect(Fenix_Data_member_restore(1, 8, c_loc(field), 100, FENIX_DATA_SNAPSHOT_LATEST, found), FENIX_SUCCESS)
  call expect(found%num_blocks, 1)
  call expect(Fenix_Data_subset_delete(found), FENIX_SUCCESS)
  call expect(Fenix_Data_member_restore(1, 3, c_loc(step), 1, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS)
  call expect(step, 7)
  do i = 1, 100
    call expect(nint(field(i)), merge(-1, 1, mod((i - 1) / 10, 5) == 0) * (i + 1000 * rank))
  end do
  call expect(Fenix_Data_member_lrestore(1, 8, c_loc(other), 100, 0), FENIX_SUCCESS)
  call expect(nint(other(1)), 1 + 1000 * rank)
  call expect(Fenix_Data_member_restore_from_rank(1, 8, c_loc(other), 50, 0, 0), FENIX_WARNING_PARTIAL_RESTORE)
  call expect(nint(other(50)), 50)
  call expect(Fenix_Data_member_restore(1, 8, c_null_ptr, 100, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS)

  ! One rank loses everything, and all create the group again.
  if (rank == 0) call expect(Fenix_Data_group_delete(1), FENIX_SUCCESS)
  call expect(Fenix_Data_group_create(1, world, 0, 1, FENIX_DATA_POLICY_IN_MEMORY_RAID, [5, 1, 3], flag), FENIX_SUCCESS)
  field = 0
  call expect(Fenix_Data_member_restore(1, 8, c_loc(field), 100, FENIX_DATA_SNAPSHOT_LATEST), FENIX_SUCCESS)
  call expect(nint(field(100)), 100 + 1000 * rank)
  call expect(Fenix_Data_member_set_buffer(1, 8, c_loc(other)), FENIX_SUCCESS)
  call expect(Fenix_Data_member_store(1, 8, FENIX_DATA_SUBSET_FULL), FENIX_SUCCESS)
  call expect(Fenix_Data_barrier(1), FENIX_SUCCESS)
  call expect(Fenix_Data_snapshot_delete(1, FENIX_DATA_SNAPSHOT_ALL), FENIX_SUCCESS)
  call expect(Fenix_Data_member_delete(1, 8), FENIX_SUCCESS)
  call expect(Fenix_Data_group_delete(1), FENIX_SUCCESS)
  call expect(Fenix_Finalize(), FENIX_SUCCESS)
  call MPI_Finalize(code)

contains

  subroutine expect(got, wanted)
    integer, intent(in) :: got, wanted
    integer, save :: calls = 0
    calls = calls + 1
    if (got == wanted) return
    print '(a, i0, a, i0, a, i0, 2a)', 'check ', calls, ': ', got, ' instead of ', wanted, '; ', Fenix_last_error()
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine

end program client
