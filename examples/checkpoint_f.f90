! A Fortran code whose files survive the loss of a rank: the short twin of checkpoint.c.
!   mpifort redset.f90 checkpoint_f.f90 $(pkg-config --libs stanchion) -o checkpoint_f && mpiexec -n 4 ./checkpoint_f
program checkpoint
  use mpi
  use redset
  use, intrinsic :: iso_c_binding, only: c_ptr
  implicit none

  integer, parameter :: cells = 100000
  integer :: rank, ranks, failed, unit, wrong
  real(kind(1d0)) :: field(cells), read_back(cells)
  character(len=64) :: node, files(1)
  type(c_ptr) :: d

  call MPI_Init(failed)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, failed)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, failed)
  write (node, '("fnode", i0)') rank
  write (files(1), '("fortran.", i0, ".checkpoint")') rank
  call random_number(field)
  field = field + rank

  open (newunit=unit, file=files(1), form='unformatted', access='stream', status='replace')
  write (unit) field
  close (unit)
  call need(redset_init(), 'redset_init')
  call need(redset_create_rs(MPI_COMM_WORLD, node, ranks, 2, d), 'redset_create_rs')
  call need(redset_apply(files, 'fortran.ck.', d), 'redset_apply')
  call need(redset_delete(d), 'redset_delete')
  if (rank == 0) print '(a)', '1. every rank wrote a checkpoint; redset_apply protects them (Reed-Solomon, two ranks may be lost)'

  if (rank >= ranks - 2) then
    open (newunit=unit, file=files(1), status='old')
    close (unit, status='delete')
  end if
  call MPI_Barrier(MPI_COMM_WORLD, failed)
  if (rank == 0) print '(a)', '2. the last two ranks lose their checkpoints'

  call need(redset_recover(MPI_COMM_WORLD, 'fortran.ck.', d), 'redset_recover')
  call need(redset_verify(MPI_COMM_WORLD, 'fortran.ck.'), 'redset_verify')
  open (newunit=unit, file=files(1), form='unformatted', access='stream', status='old')
  read (unit) read_back
  close (unit, status='delete')
  call need(redset_unapply('fortran.ck.', d), 'redset_unapply')
  call need(redset_delete(d), 'redset_delete')
  call need(redset_finalize(), 'redset_finalize')

  wrong = merge(0, 1, all(field == read_back))
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, failed)
  if (rank == 0 .and. wrong == 0) print '(a)', '3. redset_recover rebuilt them: all ranks read back what they had written'
  call MPI_Finalize(failed)
  if (wrong /= 0) error stop 'a checkpoint came back wrong'

contains

  ! All ranks get the same code, so all of them stop.
  subroutine need(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    if (code == REDSET_SUCCESS) return
    print '(a, i0, 4a)', 'rank ', rank, ': ', what, ' failed: ', redset_last_error()
    call MPI_Finalize(failed)
    error stop 1
  end subroutine

end program checkpoint
