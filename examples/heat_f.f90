! The heat equation on a ring, which goes on when ranks die: the short twin of heat.c, in memory only.
! Fortran cannot be jumped to, so every step looks at the codes of its calls and leaves when one met a failure.
! Each argument <step>:<rank> kills one rank, for which one of the ranks at the end stands by as a spare.
!   mpifort fenix.f90 heat_f.f90 $(pkg-config --libs stanchion) -o heat_f && mpiexec -n 4 ./heat_f
!   mpiexec --with-ft ulfm --mca async_mpi_finalize 1 --mca mpi_add_procs_cutoff 1024 --mca coll ^han,hcoll,portals4 \
!     -n 5 ./heat_f 25:1
program heat
  use mpi
  use fenix
  use, intrinsic :: iso_c_binding, only: c_int, c_loc
  implicit none

  interface
    integer(c_int) function raise(signal) bind(C, name='raise')
      import :: c_int
      integer(c_int), value :: signal
    end function
  end interface

  integer, parameter :: cells = 100000, steps = 60, save_every = 10, group = 1, field_id = 1, step_id = 2
  integer, target, volatile :: role, world, error
  integer, target, save :: step
  real(kind(1d0)), target, save :: field(0:cells + 1)
  integer :: rank, ranks, code, i
  logical :: initial
  real(kind(1d0)) :: total

  call MPI_Init(code)
  call need(Fenix_Init(role, MPI_COMM_WORLD, world, command_argument_count(), error), 'Fenix_Init')
  initial = role == FENIX_ROLE_INITIAL_RANK
  do
    call start_or_go_back
    do while (step < steps)
      if (mod(step, save_every) == 0) then
        if (.not. saved()) exit
      end if
      if (.not. advanced()) exit
      call die_if_told
    end do
    if (step < steps) cycle
    call MPI_Allreduce(sum(field(1:cells)**2), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, world, code)
    if (code /= MPI_SUCCESS) cycle
    code = Fenix_Finalize()
    if (code /= FENIX_ERROR_CANCELLED) exit ! else a rank was lost before all were here: back to work
  end do
  call need(code, 'Fenix_Finalize')
  if (rank == 0) print '(a, i0, a, i0, a, es17.10)', 'Fortran: after ', step, ' steps on ', ranks, &
    ' ranks the sum of squares is ', total
  call MPI_Finalize(code)

contains

  subroutine start_or_go_back
    integer :: flag
    call MPI_Comm_rank(world, rank, code)
    call MPI_Comm_size(world, ranks, code)
    call need(Fenix_Data_group_create(group, world, 0, 0, FENIX_DATA_POLICY_IN_MEMORY_RAID, [1, 1], flag), 'group_create')
    if (role == FENIX_ROLE_INITIAL_RANK) then
      step = 0
      field(1:cells) = [(1d-3 * mod(i * 37, 1000) + rank, i = 1, cells)]
      call need(Fenix_Data_member_create(group, field_id, c_loc(field), cells + 2, MPI_DOUBLE_PRECISION), 'member_create')
      call need(Fenix_Data_member_create(group, step_id, c_loc(step), 1, MPI_INTEGER), 'member_create')
      return
    end if
    call need(Fenix_Data_member_restore(group, field_id, c_loc(field), cells + 2, FENIX_DATA_SNAPSHOT_LATEST), 'restore')
    call need(Fenix_Data_member_restore(group, step_id, c_loc(step), 1, FENIX_DATA_SNAPSHOT_LATEST), 'restore')
    call need(Fenix_Data_member_set_buffer(group, field_id, c_loc(field)), 'set_buffer')
    call need(Fenix_Data_member_set_buffer(group, step_id, c_loc(step)), 'set_buffer')
    if (rank == 0) print '(a, i0)', 'Fortran: back to step ', step
  end subroutine

  logical function saved()
    code = Fenix_Data_member_store(group, field_id, FENIX_DATA_SUBSET_FULL)
    if (code == FENIX_SUCCESS) code = Fenix_Data_member_store(group, step_id, FENIX_DATA_SUBSET_FULL)
    if (code == FENIX_SUCCESS) code = Fenix_Data_commit_barrier(group)
    saved = code == FENIX_SUCCESS
  end function

  logical function advanced()
    integer :: left, right, first, second
    left = modulo(rank - 1, ranks)
    right = modulo(rank + 1, ranks)
    second = MPI_SUCCESS
    call MPI_Sendrecv(field(1), 1, MPI_DOUBLE_PRECISION, left, 0, field(cells + 1), 1, MPI_DOUBLE_PRECISION, right, 0, &
      world, MPI_STATUS_IGNORE, first)
    if (first == MPI_SUCCESS) call MPI_Sendrecv(field(cells), 1, MPI_DOUBLE_PRECISION, right, 1, field(0), 1, &
      MPI_DOUBLE_PRECISION, left, 1, world, MPI_STATUS_IGNORE, second)
    advanced = first == MPI_SUCCESS .and. second == MPI_SUCCESS
    if (.not. advanced) return
    field(1:cells) = field(1:cells) + 0.25d0 * (field(0:cells - 1) - 2 * field(1:cells) + field(2:cells + 1))
    step = step + 1
  end function

  ! Whoever takes a rank's place is not killed once more.
  subroutine die_if_told
    character(len=32) :: argument
    integer :: at, whom, colon, number, ignored
    do number = 1, command_argument_count()
      call get_command_argument(number, argument)
      colon = index(argument, ':')
      read (argument(:colon - 1), *) at
      read (argument(colon + 1:), *) whom
      if (initial .and. at == step .and. whom == rank) ignored = raise(9)
    end do
  end subroutine

  subroutine need(returned, what)
    integer, intent(in) :: returned
    character(len=*), intent(in) :: what
    if (returned == FENIX_SUCCESS) return
    print '(5a)', what, ' failed: ', Fenix_last_error()
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine

end program heat
