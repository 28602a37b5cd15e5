! A field that is spread over all ranks, in one file: the twin of darray.c.
!   mpifort -I$(pkg-config --variable=includedir pio) darray_f.f90 $(pkg-config --libs piof) -o darray_f
!   mpiexec -n 4 ./darray_f && ncdump -h field.nc
program darray
  use mpi
  use pio
  implicit none

  integer, parameter :: rows = 100, columns = 60, steps = 3 ! the first dimension is the one that varies fastest
  type(iosystem_desc_t), target :: iosystem
  integer :: rank, ranks, iotype, tasks, wrong, code

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  iotype = PIO_iotype_pnetcdf
  if (.not. PIO_iotype_available(iotype)) iotype = PIO_iotype_netcdf
  if (PIO_iotype_available(iotype)) then
    tasks = min(2, ranks)
    call PIO_init(rank, MPI_COMM_WORLD, tasks, 0, ranks / tasks, PIO_rearr_subset, iosystem, ierr=code)
    call need(code, 'PIO_init')
    call write_field('field.nc')
    wrong = wrong_in('field.nc')
    call PIO_finalize(iosystem, code)
    call need(code, 'PIO_finalize')
    if (rank == 0) print '(a, i0, a, i0, a, i0, a, i0, a, i0, a)', 'Fortran: ', steps, ' steps of a ', rows, ' x ', &
      columns, ' grid on ', ranks, ' ranks: ', wrong, ' values wrong'
    if (wrong /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, code)
  else if (rank == 0) then
    print '(a)', 'this library was built without PnetCDF and netCDF: there is nothing to write files with'
  end if
  call MPI_Finalize(code)

contains

  ! What a grid point has at a time: anything that tells points apart.
  elemental real(kind(1d0)) function value(step, place)
    integer, intent(in) :: step, place
    value = step * 1d4 + place
  end function

  subroutine write_field(name)
    character(len=*), intent(in) :: name
    type(file_desc_t) :: file
    type(var_desc_t) :: field
    type(io_desc_t) :: iodesc
    integer, allocatable :: map(:, :)
    integer :: row, column, dims(3), step
    ! Every ranks-th column; places in the grid count from 1, the first dimension first.
    map = reshape([((row + rows * (column - 1), row=1, rows), column=rank + 1, columns, ranks)], &
                  [rows, (columns - rank - 1) / ranks + 1])
    call PIO_initdecomp(iosystem, PIO_double, [rows, columns], reshape(map, [size(map)]), iodesc, ierr=code)
    call need(code, 'PIO_initdecomp')
    call need(PIO_createfile(iosystem, file, iotype, name, PIO_clobber), 'PIO_createfile')
    call need(PIO_def_dim(file, 'row', rows, dims(1)), 'PIO_def_dim')
    call need(PIO_def_dim(file, 'column', columns, dims(2)), 'PIO_def_dim')
    call need(PIO_def_dim(file, 'time', PIO_unlimited, dims(3)), 'PIO_def_dim')
    call need(PIO_def_var(file, 'field', PIO_double, dims, field), 'PIO_def_var')
    call need(PIO_put_att(file, field, 'units', 'none'), 'PIO_put_att')
    call need(PIO_enddef(file), 'PIO_enddef')
    do step = 1, steps
      call PIO_setframe(file, field, step)
      call PIO_write_darray(file, field, iodesc, value(step, map), code) ! an array of any rank
      call need(code, 'PIO_write_darray')
    end do
    call PIO_closefile(file, code)
    call need(code, 'PIO_closefile')
    call PIO_freedecomp(iosystem, iodesc)
  end subroutine

  integer function wrong_in(name) result(all)
    character(len=*), intent(in) :: name
    type(file_desc_t) :: file
    type(var_desc_t) :: field
    type(io_desc_t) :: iodesc
    integer, allocatable :: map(:)
    real(kind(1d0)), allocatable :: part(:)
    integer :: row, column, step, wrong
    ! Rows that follow each other.
    map = [((row + rows * (column - 1), row=rows * rank / ranks + 1, rows * (rank + 1) / ranks), column=1, columns)]
    allocate (part(size(map)))
    call PIO_initdecomp(iosystem, PIO_double, [rows, columns], map, iodesc, rearr=PIO_rearr_box, ierr=code)
    call need(code, 'PIO_initdecomp')
    call need(PIO_openfile(iosystem, file, iotype, name, PIO_nowrite), 'PIO_openfile')
    call need(PIO_inq_varid(file, 'field', field), 'PIO_inq_varid')
    wrong = 0
    do step = 1, steps
      call PIO_setframe(file, field, step)
      call PIO_read_darray(file, field, iodesc, part, code)
      call need(code, 'PIO_read_darray')
      wrong = wrong + count(part /= value(step, map))
    end do
    call PIO_closefile(file)
    call PIO_freedecomp(iosystem, iodesc)
    call MPI_Allreduce(wrong, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  end function

  subroutine need(returned, what)
    integer, intent(in) :: returned
    character(len=*), intent(in) :: what
    character(len=512) :: why
    if (returned == PIO_noerr) return
    call PIO_last_error(why)
    print '(3a)', what, ' failed: ', trim(why)
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine

end program darray
