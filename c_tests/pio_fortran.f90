! Every generic of `use pio`, on a 2-D array that the ranks have in stripes of the second dimension.
module pio_fortran_checks
  use pio
  implicit none

  integer, parameter :: rows = 6
  integer :: comm, rank, ranks, columns, failures = 0, iotype
  type(iosystem_desc_t), target :: iosystem

contains

  subroutine expect(what, got, wanted)
    character(len=*), intent(in) :: what
    integer, intent(in) :: got, wanted
    character(len=300) :: why
    if (got == wanted) return
    failures = failures + 1
    call PIO_last_error(why)
    if (failures <= 20) print '(3a, i0, a, i0, 2a)', 'Fortran: ', what, ' is ', got, ', should be ', wanted, '; ', trim(why)
  end subroutine

  subroutine need(what, got)
    character(len=*), intent(in) :: what
    integer, intent(in) :: got
    call expect(what, got, PIO_noerr)
  end subroutine

  subroutine expect_text(what, got, wanted)
    character(len=*), intent(in) :: what, got, wanted
    if (got == wanted) return
    failures = failures + 1
    print '(6a)', 'Fortran: ', what, ' is ', got, ', should be ', wanted
  end subroutine

  subroutine expect_true(what, got)
    character(len=*), intent(in) :: what
    logical, intent(in) :: got
    call expect(what, merge(1, 0, got), 1)
  end subroutine

  ! This rank's columns: every ranks-th.
  function own_map() result(map)
    integer, allocatable :: map(:)
    integer :: row, column
    map = [((row + rows * (column - 1), row=1, rows), column=rank + 1, columns, ranks)]
  end function

  integer function own_columns()
    own_columns = (columns - rank - 1) / ranks + 1
  end function

  ! ---- I/O systems and settings ----

  subroutine check_system
    type(iosystem_desc_t) :: other
    type(PIO_rearr_opt_t) :: options
    integer :: number, code, old
    integer(PIO_OFFSET_KIND) :: limit, set
    logical :: active
    character(len=100) :: text
    options%comm_type = PIO_rearr_comm_p2p
    options%fcd = PIO_rearr_comm_fc_2d_enable
    options%comm_fc_opts_comp2io = PIO_rearr_comm_fc_opt_t(.true._c_bool, .true._c_bool, 2)
    options%comm_fc_opts_io2comp = PIO_rearr_comm_fc_opt_t(.false._c_bool, .true._c_bool, PIO_REARR_COMM_UNLIMITED_PEND_REQ)
    call PIO_init(rank, comm, 1, 0, 1, PIO_rearr_box, other, base=ranks - 1, rearr_opts=options, ierr=code)
    call need('PIO_init', code)
    call PIO_getnumiotasks(other, number)
    call expect('PIO_getnumiotasks', number, 1)
    call PIO_get_numiotasks(other, number, code)
    call expect('PIO_get_numiotasks', number, 1)
    call expect_true('PIO_iam_iotask', PIO_iam_iotask(other) .eqv. rank == ranks - 1)
    call expect('PIO_iotask_rank', PIO_iotask_rank(other), merge(0, -1, rank == ranks - 1))
    call PIO_iosystem_is_active(other, active)
    call expect_true('PIO_iosystem_is_active', active)
    call need('PIO_set_rearr_opts', PIO_set_rearr_opts(other, PIO_rearr_comm_coll, PIO_rearr_comm_fc_2d_disable, .true., &
      .false., 3, .false., .true., 0))
    call PIO_set_hint(other, 'romio_cb_write  ', 'enable', code)
    call need('PIO_set_hint', code)
    call PIO_finalize(other, code)
    call need('PIO_finalize', code)
    call expect('iosysid', other%iosysid, -1)
    call PIO_finalize(other, code)
    call need('PIO_finalize of nothing', code)
    call PIO_init(rank, comm, ranks + 1, 0, 1, PIO_rearr_box, other, ierr=code)
    call expect('PIO_init of too many', code, PIO_EINVAL)

    call PIO_seterrorhandling(iosystem, PIO_BCAST_ERROR, old)
    call expect('the method', old, PIO_RETURN_ERROR)
    call PIO_seterrorhandling(iosystem, PIO_RETURN_ERROR, oldmethod=old, ierr=code)
    call need('PIO_seterrorhandling', code)
    call expect('the method', old, PIO_BCAST_ERROR)
    call PIO_seterrorhandling(PIO_DEFAULT, PIO_RETURN_ERROR, old)
    call expect('the default method', old, PIO_RETURN_ERROR)
    call PIO_set_buffer_size_limit(5000000_PIO_OFFSET_KIND, limit)
    call PIO_set_buffer_size_limit(limit, set)
    call expect('the limit', int(set), 5000000)
    call PIO_setdebuglevel(0)
    code = PIO_set_log_level(0)
    call need('PIO_get_version', PIO_get_version(number, vstr=text))
    call expect_true('version', number == PIO_get_version_major() .and. len_trim(text) > 0)
    code = PIO_strerror(PIO_EBADID, text)
    call expect_true('PIO_strerror', len_trim(text) > 5)
  end subroutine

  ! ---- decompositions ----

  subroutine check_decomp
    type(io_desc_t) :: iodesc
    integer, allocatable :: map(:), shape2(:)
    integer(PIO_OFFSET_KIND), allocatable :: map8(:)
    integer :: code, wrong(1)
    integer(PIO_OFFSET_KIND) :: start(2), count(2), whole(2)
    map = own_map()
    map8 = int(map, PIO_OFFSET_KIND)
    shape2 = [rows, columns]
    whole = [rows, columns]
    call PIO_initdecomp(iosystem, PIO_int, shape2, map, iodesc)
    call expect('PIO_get_local_array_size', PIO_get_local_array_size(iodesc), size(map))
    call PIO_freedecomp(iosystem, iodesc)
    call expect('ioid', iodesc%ioid, -1)
    call PIO_initdecomp(iosystem, PIO_int, shape2, map8, iodesc, rearr=PIO_rearr_box)
    call PIO_freedecomp(iosystem, iodesc, code)
    call need('PIO_freedecomp', code)
    ! I/O task n of two takes half of the columns; the others say nothing.
    start = 0
    count = 0
    if (PIO_iam_iotask(iosystem)) then
      count = [int(rows, PIO_OFFSET_KIND), whole(2) - columns / 2]
      start = [1, columns / 2 + 1]
      if (PIO_iotask_rank(iosystem) == 0) then
        start = 1
        count(2) = merge(columns / 2, columns, ranks > 1)
      end if
    end if
    call PIO_initdecomp(iosystem, PIO_int, shape2, map, iodesc, PIO_rearr_box, start, count, code)
    call need('PIO_initdecomp with iostart', code)
    call PIO_freedecomp(iosystem, iodesc)
    call PIO_initdecomp(iosystem, PIO_int, shape2, map8, iodesc, rearr=PIO_rearr_box, iostart=start, iocount=count, ierr=code)
    call need('PIO_initdecomp with iostart', code)
    call PIO_freedecomp(iosystem, iodesc)
    call PIO_initdecomp(iosystem, PIO_int, shape2, map8, iodesc, rearr=PIO_rearr_box, iostart=start(:1), iocount=count, ierr=code)
    call expect('PIO_initdecomp with other dimensions', code, PIO_EINVAL)
    start = [1, 2 * rank + 1]
    count = [rows, 2]
    call PIO_initdecomp(iosystem, PIO_int, [rows, 2 * ranks], start, count, iodesc, code)
    call need('PIO_initdecomp of a block', code)
    call expect('size of a block', PIO_get_local_array_size(iodesc), 2 * rows)
    call PIO_freedecomp(iosystem, iodesc)
    call PIO_initdecomp(iosystem, PIO_int, shape2, 1, map, map, iodesc)
    call freed(iodesc)
    call PIO_initdecomp(iosystem, PIO_int, shape2, 1, map8, map8, iodesc)
    call freed(iodesc)
    call PIO_initdecomp(iosystem, PIO_int, shape2, 1, map, map, start, count, iodesc)
    call freed(iodesc)
    call PIO_initdecomp(iosystem, PIO_int, shape2, 1, map8, map8, start, count, iodesc)
    call freed(iodesc)
    call PIO_initdecomp(iosystem, PIO_int, shape2, 1, map, map, map, start, count, iodesc)
    call freed(iodesc)
    call PIO_initdecomp(iosystem, PIO_int, shape2, 1, map8, map8, map8, start, count, iodesc)
    call freed(iodesc)
    wrong = rows * columns + 1
    call PIO_initdecomp(iosystem, PIO_int, shape2, wrong, iodesc, ierr=code)
    call expect('a place outside', code, PIO_EINVAL)
    call expect('its ioid', iodesc%ioid, -1)
    call PIO_initdecomp_readonly(iosystem, PIO_int, shape2, [1, 2], iodesc, PIO_rearr_subset, ierr=code)
    call need('PIO_initdecomp_readonly', code)
    call freed(iodesc)
    call PIO_initdecomp_readonly(iosystem, PIO_int, shape2, [1_PIO_OFFSET_KIND], iodesc, PIO_rearr_subset, ierr=code)
    call need('PIO_initdecomp_readonly', code)
    call freed(iodesc)
    call check_map_files(map, map8)
  end subroutine

  subroutine freed(iodesc)
    type(io_desc_t), intent(inout) :: iodesc
    integer :: code
    call expect_true('a decomposition', iodesc%ioid >= 0)
    call PIO_freedecomp(iosystem, iodesc, code)
    call need('PIO_freedecomp', code)
  end subroutine

  subroutine check_map_files(map, map8)
    integer, intent(in) :: map(:)
    integer(PIO_OFFSET_KIND), intent(in) :: map8(:)
    integer, pointer :: dims(:)
    integer(PIO_OFFSET_KIND), pointer :: back(:)
    integer :: ndims, code
    call PIO_writedof('map.txt', [rows, columns], map, comm, ierr=code)
    call need('PIO_writedof', code)
    call PIO_writedof('map8.txt', [rows, columns], map8, comm)
    call PIO_readdof('map8.txt', ndims, dims, back, comm, code)
    call need('PIO_readdof', code)
    if (code /= PIO_noerr) return
    call expect('ndims', ndims, 2)
    ! SCORPIO has them as in C in the file, NCAR as they were given.
    call expect_true('dims', all(dims == [rows, columns]) .or. all(dims == [columns, rows]))
    call expect('the map', size(back), size(map))
    if (size(back) == size(map)) call expect_true('the map', all(back == map8))
    deallocate (dims, back)
    call PIO_readdof('no_such_map.txt', ndims, dims, back, comm, code)
    call expect_true('no map', code /= PIO_noerr .and. .not. associated(dims))
  end subroutine

  ! ---- arrays of all types and ranks ----

  subroutine check_darrays
    type(file_desc_t) :: file
    type(io_desc_t) :: ints, shorts, reals, doubles
    type(var_desc_t) :: n, s, r, d
    integer :: dims(3), code
    integer, allocatable :: map(:)
    integer(c_short), allocatable :: shorts1(:)
    real(c_float), allocatable :: part(:, :), back(:, :), wide(:, :)
    real(c_double), allocatable :: one(:), seven(:, :, :, :, :, :, :), other(:, :, :)
    integer, allocatable :: many(:, :, :, :), back4(:, :, :, :)
    map = own_map()
    call PIO_initdecomp(iosystem, PIO_int, [rows, columns], map, ints)
    call PIO_initdecomp(iosystem, PIO_short, [rows, columns], map, shorts, rearr=PIO_rearr_box)
    call PIO_initdecomp(iosystem, PIO_real, [rows, columns], map, reals)
    call PIO_initdecomp(iosystem, PIO_double, [rows, columns], map, doubles)
    call need('PIO_createfile', PIO_createfile(iosystem, file, iotype, 'arrays.nc', PIO_clobber))
    call expect_true('PIO_file_is_open', PIO_file_is_open(file))
    call need('PIO_def_dim', PIO_def_dim(file, 'row', rows, dims(1)))
    call need('PIO_def_dim', PIO_def_dim(file, 'column', int(columns, PIO_OFFSET_KIND), dims(2)))
    call need('PIO_def_dim', PIO_def_dim(file, 'time', PIO_unlimited, dims(3)))
    call need('PIO_def_var', PIO_def_var(file, 'n', PIO_int, dims(:2), n))
    call need('PIO_def_var', PIO_def_var(file, 's', PIO_short, dims(:2), s))
    call need('PIO_def_var', PIO_def_var(file, 'r', PIO_real, dims(:2), r))
    call need('PIO_def_var', PIO_def_var(file, 'd', PIO_double, dims, d))
    call need('PIO_enddef', PIO_enddef(file))

    ! rank 1
    shorts1 = int(map, c_short)
    call PIO_write_darray(file, s, shorts, shorts1, code, fillval=-1_c_short)
    call need('write of short', code)
    ! rank 2, with gaps between the rows
    allocate (part(2 * rows, own_columns()), back(3 * rows, own_columns()))
    part = -5
    part(::2, :) = reshape(real(map, c_float), [rows, own_columns()])
    call PIO_write_darray(file, r, reals, part(::2, :), code)
    call need('write of real', code)
    ! rank 4
    many = reshape(map, [2, rows / 2, 1, own_columns()])
    call PIO_write_darray(file, n, ints, many, code)
    call need('write of int', code)
    ! rank 7, and record by record
    one = real(map, c_double)
    seven = reshape(one, [1, 1, rows, 1, 1, own_columns(), 1])
    call PIO_setframe(file, d, 1)
    call PIO_write_darray(file, d, doubles, seven, code)
    call need('write of double', code)
    call PIO_advanceframe(file, d, code)
    call need('PIO_advanceframe', code)
    call PIO_write_darray(file, d, doubles, seven + 1000, code, -1d0)
    call need('write of double', code)
    call PIO_setframe(file, d, 3_PIO_OFFSET_KIND, code)
    call PIO_write_darray(file, d, doubles, one + 2000, code)
    call need('write of double', code)
    call PIO_setframe(file, d, 0, code)
    call expect('record 0', code, PIO_EINVAL)
    call PIO_syncfile(file, code)
    call need('PIO_syncfile', code)

    ! What is not of the decomposition's type.
    call PIO_write_darray(file, r, reals, one, code)
    call expect('write of another type', code, PIO_EBADTYPE)
    call PIO_write_darray(file, d, doubles, one, code, fillval=1.0)
    call expect('write with a fill value of another type', code, PIO_EBADTYPE)
    call PIO_read_darray(file, r, reals, one, code)
    call expect('read of another type', code, PIO_EBADTYPE)

    ! Reading, with gaps and reversed: only what belongs to the array changes.
    back = -5
    call PIO_read_darray(file, r, reals, back(rows:1:-1, :), code)
    call need('read of real', code)
    call expect_true('values of real', all(back(rows:1:-1, :) == part(::2, :)) .and. all(back(rows + 1:, :) == -5))
    shorts1 = 0
    call PIO_read_darray(file, s, shorts, shorts1, code)
    call need('read of short', code)
    call expect_true('values of short', all(shorts1 == map))
    allocate (back4, mold=many)
    call PIO_read_darray(file, n, ints, back4, code)
    call need('read of int', code)
    call expect_true('values of int', all(back4 == many))
    call PIO_setframe(file, d, 2)
    allocate (other(rows, 1, own_columns()))
    call PIO_read_darray(file, d, doubles, other, code)
    call need('read of double', code)
    call expect_true('values of double', all(reshape(other, [size(one)]) == one + 1000))
    call PIO_setframe(file, d, 3)
    call PIO_read_darray(file, d, doubles, one, code)
    call expect_true('values of double', all(one == map + 2000))
    allocate (wide(0, 0)) ! too small, and empty where a rank has nothing
    call PIO_read_darray(file, r, reals, wide, code)
    call expect_true('read into nothing', code /= PIO_noerr)

    call PIO_freedecomp(file, ints, code)
    call need('PIO_freedecomp with a file', code)
    call PIO_freedecomp(file, shorts)
    call PIO_freedecomp(file, reals)
    call PIO_freedecomp(iosystem, doubles)
    call PIO_closefile(file, code)
    call need('PIO_closefile', code)
    call expect_true('PIO_file_is_open', .not. PIO_file_is_open(file))
  end subroutine

  ! Holes are neither written nor read; ranks without anything take part; several variables at once.
  subroutine check_holes_and_multi
    type(file_desc_t) :: file
    type(io_desc_t) :: iodesc, whole
    type(var_desc_t) :: v(2)
    integer :: dim, code, i
    integer, allocatable :: map(:), back(:), all_map(:), none(:)
    map = [(i, i=ranks, 1, -1)]
    map = pack([0, map, 0], [.true., map == rank + 1, .true.])
    if (rank == ranks - 1) map = [integer ::]
    call PIO_initdecomp(iosystem, PIO_int, [ranks + 5], map, iodesc, ierr=code)
    call need('PIO_initdecomp with holes', code)
    call need('PIO_createfile', PIO_createfile(iosystem, file, iotype, 'holes.nc'))
    call need('PIO_def_dim', PIO_def_dim(file%fh, 'x', ranks + 5, dim))
    call need('PIO_def_var', PIO_def_var(file, 'a', PIO_int, [dim], v(1)))
    call need('PIO_def_var', PIO_def_var(file, 'b', PIO_int, [dim], v(2)))
    call need('PIO_enddef', PIO_enddef(file%fh))
    call PIO_write_darray(file, v, iodesc, [10 * map, 20 * map], code, fillval=-9)
    call need('write of two variables', code)
    call PIO_syncfile(file)
    allocate (back(size(map)))
    back = 7
    call PIO_read_darray(file, v(2), iodesc, back, code)
    call need('read with holes', code)
    call expect_true('holes', all(back == merge(merge(0, 7, PIO_RETURN_ERROR == -53), 20 * map, map == 0)))
    all_map = [(i, i=1, ranks + 5)]
    if (rank > 0) all_map = [integer ::]
    call PIO_initdecomp(iosystem, PIO_int, [ranks + 5], all_map, whole)
    if (rank == 0) then
      call PIO_read_darray(file, v(1), whole, all_map, code)
      call expect_true('fill values', all(all_map(ranks:) == -9))
      call expect_true('values', all(all_map(:ranks - 1) == [(10 * i, i=1, ranks - 1)]))
    else
      call PIO_read_darray(file, v(1), whole, none, code) ! not even allocated
    end if
    call need('read by one rank', code)
    call PIO_freedecomp(iosystem, whole)
    call PIO_freedecomp(iosystem, iodesc)
    call PIO_closefile(file)
  end subroutine

  ! ---- what a file is made of ----

  subroutine check_metadata
    type(file_desc_t) :: file
    type(var_desc_t) :: scalar, matrix
    integer :: row, time, number, id, code, ids(2), natts, xtype
    integer :: more(4)
    integer(PIO_OFFSET_KIND) :: length, lengths(2)
    character(len=40) :: name
    call need('PIO_createfile', PIO_createfile(iosystem, file, iotype, 'metadata.nc   ', PIO_clobber))
    call need('PIO_def_dim', PIO_def_dim(file, 'row ', rows, row))
    call need('PIO_def_dim', PIO_def_dim(file%fh, 'time', int(PIO_unlimited, PIO_OFFSET_KIND), time))
    call need('PIO_def_var', PIO_def_var(file, 'scalar', PIO_double, scalar))
    call need('PIO_def_var', PIO_def_var(file, 'matrix', PIO_int, [row, time], matrix))
    call need('PIO_def_var', PIO_def_var(file%fh, 'by_number', PIO_real, [row], id))
    call expect('its number', id, 3)
    call need('PIO_def_var', PIO_def_var(file%fh, 'scalar_by_number', PIO_real, id))
    call need('PIO_set_fill', PIO_set_fill(file, PIO_nofill, number))
    call need('PIO_set_fill', PIO_set_fill(file%fh, PIO_fill))
    call need('PIO_put_att', PIO_put_att(file, PIO_global, 'title', 'a test   '))
    call need('PIO_enddef', PIO_enddef(file))
    call need('PIO_redef', PIO_redef(file))
    call need('PIO_enddef', PIO_enddef(file%fh))
    call need('PIO_redef', PIO_redef(file%fh))
    call need('PIO_enddef', PIO_enddef(file))

    call need('PIO_inquire', PIO_inquire(file, more(1), more(2), more(3), more(4)))
    call expect_true('PIO_inquire', all(more == [2, 4, 1, time]))
    call need('PIO_inquire', PIO_inquire(file%fh, nVariables=number))
    call expect('nVariables', number, 4)
    call need('PIO_inq_ndims', PIO_inq_ndims(file, number))
    call expect('PIO_inq_ndims', number, 2)
    call need('PIO_inq_nvars', PIO_inq_nvars(file%fh, number))
    call expect('PIO_inq_nvars', number, 4)
    call need('PIO_inq_natts', PIO_inq_natts(file, number))
    call expect('PIO_inq_natts', number, 1)
    call need('PIO_inq_unlimdim', PIO_inq_unlimdim(file, number))
    call expect('PIO_inq_unlimdim', number, time)
    call need('PIO_inq_dimid', PIO_inq_dimid(file, 'row', number))
    call expect('PIO_inq_dimid', number, row)
    call expect_true('PIO_inq_dimid of nothing', PIO_inq_dimid(file%fh, 'nothing', number) /= PIO_noerr .and. number == -1)
    call need('PIO_inq_dimname', PIO_inq_dimname(file, row, name))
    call expect_text('PIO_inq_dimname', name, 'row')
    call need('PIO_inq_dimlen', PIO_inq_dimlen(file, row, number))
    call expect('PIO_inq_dimlen', number, rows)
    call need('PIO_inq_dimlen', PIO_inq_dimlen(file%fh, row, length))
    call expect('PIO_inq_dimlen', int(length), rows)
    call need('PIO_inquire_dimension', PIO_inquire_dimension(file, time, name, number))
    call expect_text('PIO_inquire_dimension', name, 'time')
    call expect('PIO_inquire_dimension', number, 0)

    call need('PIO_inq_varid', PIO_inq_varid(file, 'matrix', matrix))
    call need('PIO_inq_varid', PIO_inq_varid(file, 'matrix', id))
    call expect('PIO_inq_varid', id, matrix%varid)
    code = PIO_inq_varid(file%fh, 'nothing', id)
    call expect('PIO_inq_varid of nothing', code, PIO_ENOTVAR)
    call expect('its number', id, -1)
    call need('PIO_inq_varname', PIO_inq_varname(file, scalar, name))
    call expect_text('PIO_inq_varname', name, 'scalar')
    call need('PIO_inq_vartype', PIO_inq_vartype(file, scalar, number))
    call expect('PIO_inq_vartype', number, PIO_double)
    call need('PIO_inq_varndims', PIO_inq_varndims(file, matrix%varid, number))
    call expect('PIO_inq_varndims', number, 2)
    call need('PIO_inq_vardimid', PIO_inq_vardimid(file, matrix, ids))
    call expect_true('PIO_inq_vardimid', all(ids == [row, time]))
    call expect('PIO_inq_vardimid', PIO_inq_vardimid(file%fh, matrix%varid, ids(:1)), PIO_EINSUFFBUF)
    call need('PIO_inq_varnatts', PIO_inq_varnatts(file, matrix, natts))
    call expect('PIO_inq_varnatts', natts, 0)
    call need('PIO_inquire_variable', PIO_inquire_variable(file, matrix, name, xtype, number, ids, natts))
    call expect_text('its name', name, 'matrix')
    call expect_true('PIO_inquire_variable', xtype == PIO_int .and. number == 2 .and. all(ids == [row, time]) .and. natts == 0)
    call expect('PIO_def_var_deflate', PIO_def_var_deflate(file, matrix, 1, 1, 4), PIO_ENOTNC4)
    call expect('PIO_def_var_chunking', PIO_def_var_chunking(file, matrix%varid, PIO_CHUNKED, [2, 1]), PIO_ENOTNC4)
    call expect_true('PIO_inq_var_deflate', PIO_inq_var_deflate(file, matrix, more(1), more(2), more(3)) /= PIO_noerr)
    call expect_true('PIO_inq_var_chunking', PIO_inq_var_chunking(file, matrix, number, lengths) /= PIO_noerr)
    call PIO_closefile(file)
    call PIO_deletefile(iosystem, 'metadata.nc', code)
    call need('PIO_deletefile', code)
    call expect_true('it is gone', PIO_openfile(iosystem, file, iotype, 'metadata.nc') /= PIO_noerr)
    call expect_true('it is not open', .not. PIO_file_is_open(file))
    call PIO_seterrorhandling(file, PIO_RETURN_ERROR, oldmethod=number)
    call expect('the method of a file', number, PIO_RETURN_ERROR)
  end subroutine

  subroutine check_attributes
    type(file_desc_t) :: file
    type(var_desc_t) :: v
    integer :: dim, number, xtype, few(2), fill_number
    integer(PIO_OFFSET_KIND) :: length
    real(c_float) :: r
    real(c_double) :: d(3)
    integer(c_short) :: s
    character(len=12) :: text
    character(len=3) :: short_text
    character(len=4) :: words(2)
    call need('PIO_createfile', PIO_createfile(iosystem, file, iotype, 'attributes.nc', PIO_clobber))
    call need('PIO_def_dim', PIO_def_dim(file, 'x', 3, dim))
    call need('PIO_def_var', PIO_def_var(file, 'v', PIO_int, [dim], v))
    call need('put of text', PIO_put_att(file, v, 'units', 'meter  '))
    call need('put of words', PIO_put_att(file, v%varid, 'words', ['one ', 'four']))
    call need('put of int', PIO_put_att(file%fh, PIO_global, 'ints', [1, 2, 3]))
    call need('put of double', PIO_put_att(file, PIO_global, 'doubles', [1d0, 2d0, 3d0]))
    call need('put of real', PIO_put_att(file, PIO_global, 'real', 1.5))
    call need('put of short', PIO_put_att(file, v, 'short', 7_c_short))
    call need('PIO_enddef', PIO_enddef(file))
    call need('get of text', PIO_get_att(file, v, 'units', text))
    call expect_text('units', text, 'meter')
    call expect('get of text that is too long', PIO_get_att(file, v, 'units', short_text), PIO_EINSUFFBUF)
    call expect_text('its begin', short_text, 'met')
    call need('get of words', PIO_get_att(file, v%varid, 'words', words))
    call expect_text('word', words(1)//words(2), 'one four')
    call need('get of double', PIO_get_att(file%fh, PIO_global, 'ints', d))
    call expect_true('doubles', all(d == [1, 2, 3]))
    few = -1
    call expect('get of too many', PIO_get_att(file, PIO_global, 'ints', few), PIO_EINSUFFBUF)
    call expect_true('nothing', all(few == -1))
    call need('get of real', PIO_get_att(file, PIO_global, 'real', r))
    call expect_true('real', r == 1.5)
    call need('get of short', PIO_get_att(file, v, 'short', s))
    call expect('short', int(s), 7)
    call need('PIO_inq_att', PIO_inq_att(file, PIO_global, 'doubles', xtype, length))
    call expect_true('PIO_inq_att', xtype == PIO_double .and. length == 3)
    call need('PIO_inq_attlen', PIO_inq_attlen(file, v, 'units', length))
    call expect('PIO_inq_attlen', int(length), 5)
    call need('PIO_inq_attname', PIO_inq_attname(file, v, 3, text))
    call expect_text('PIO_inq_attname', text, 'short')
    call need('PIO_inq_attid', PIO_inq_attid(file, v, 'short', number))
    call expect('PIO_inq_attid', number, 3)
    call need('PIO_redef', PIO_redef(file))
    call need('PIO_copy_att', PIO_copy_att(file, v%varid, 'units', file, PIO_global))
    call need('PIO_enddef', PIO_enddef(file))
    call need('get of a copy', PIO_get_att(file, PIO_global, 'units', text))
    call expect_text('the copy', text, 'meter')
    call expect_true('no attribute', PIO_get_att(file, v, 'nothing', text) /= PIO_noerr)
    call need('PIO_inq_var_fill', PIO_inq_var_fill(file, v, number, fill_number))
    call expect('the fill value', fill_number, PIO_FILL_INT)
    call expect('PIO_inq_var_fill of another type', PIO_inq_var_fill(file, v, number, r), PIO_EBADTYPE)
    call PIO_closefile(file)
  end subroutine

  subroutine check_values
    type(file_desc_t) :: file
    type(var_desc_t) :: scalar, matrix, names, growing
    integer :: x, y, time, letters, single, i
    integer :: values(3, 2), back(3, 2)
    real(c_double) :: d, column(6)
    character(len=5) :: word, list(2)
    call need('PIO_createfile', PIO_createfile(iosystem, file, iotype, 'values.nc', PIO_clobber))
    call need('PIO_def_dim', PIO_def_dim(file, 'x', 3, x))
    call need('PIO_def_dim', PIO_def_dim(file, 'y', 2, y))
    call need('PIO_def_dim', PIO_def_dim(file, 'letters', 8, letters))
    call need('PIO_def_dim', PIO_def_dim(file, 'time', PIO_unlimited, time))
    call need('PIO_def_var', PIO_def_var(file, 'scalar', PIO_double, scalar))
    call need('PIO_def_var', PIO_def_var(file, 'matrix', PIO_int, [x, y], matrix))
    call need('PIO_def_var', PIO_def_var(file, 'names', PIO_char, [letters, y], names))
    call need('PIO_def_var', PIO_def_var(file, 'growing', PIO_double, [x, time], growing))
    call need('PIO_enddef', PIO_enddef(file))
    values = reshape([(i, i=1, 6)], [3, 2])
    call need('put of a scalar', PIO_put_var(file, scalar, 2.5d0))
    call need('put of a matrix', PIO_put_var(file, matrix%varid, values))
    call need('put of words', PIO_put_var(file, names, ['hello', 'you  ']))
    call need('put of records', PIO_put_var(file, growing, real(values, c_double)))
    call need('put of a value', PIO_put_var(file, growing, [2, 1], 20d0))
    call need('put of a part', PIO_put_var(file, matrix, [2, 1], [2, 1], [20, 30]))
    call PIO_syncfile(file)
    call need('get of a scalar', PIO_get_var(file, scalar%varid, d))
    call expect_true('scalar', d == 2.5d0)
    call need('get of a matrix', PIO_get_var(file, matrix, back))
    call expect_true('matrix', all(reshape(back, [6]) == [1, 20, 30, 4, 5, 6]))
    call need('get of records', PIO_get_var(file, growing, column))
    call expect_true('records', all(column == [1, 20, 3, 4, 5, 6]))
    call need('get of words', PIO_get_var(file, names, list))
    call expect_text('words', list(1)//list(2), 'helloyou')
    call need('get of a word', PIO_get_var(file, names, [1, 2], word))
    call expect_text('word', word, 'you')
    call need('get of a part', PIO_get_var(file, matrix, [3, 1], [1, 2], back(1, :)))
    call expect_true('part', all(back(1, :) == [30, 6]))
    call need('get of a value', PIO_get_var(file, matrix%varid, [1, 2], single))
    call expect('value', single, 4)
    call expect('get into too few', PIO_get_var(file, matrix, back(:, 1)), PIO_EINSUFFBUF)
    call PIO_closefile(file)
  end subroutine

  ! The array or the part of the last rank is not that of the others: all get the same error, and nobody waits.
  subroutine check_one_rank
    type(file_desc_t) :: file
    type(var_desc_t) :: v, names, growing
    type(io_desc_t) :: iodesc
    integer :: x, letters, time, own(4), code, length
    integer, allocatable :: few(:), map(:)
    real(c_double) :: d(4)
    character(len=5) :: word
    character(len=:), allocatable :: text, texts(:)
    logical :: last
    last = rank == ranks - 1
    length = merge(2, 4, last)
    allocate (few(length), source=1)
    allocate (character(len=length) :: text)
    allocate (character(len=5) :: texts(2))
    call need('PIO_createfile', PIO_createfile(iosystem, file, iotype, 'one_rank.nc', PIO_clobber))
    call need('PIO_def_dim', PIO_def_dim(file, 'x', 4, x))
    call need('PIO_def_dim', PIO_def_dim(file, 'letters', 5, letters))
    call need('PIO_def_dim', PIO_def_dim(file, 'time', PIO_unlimited, time))
    call need('PIO_def_var', PIO_def_var(file, 'v', PIO_int, [x], v))
    call need('PIO_def_var', PIO_def_var(file, 'names', PIO_char, [letters], names))
    call need('PIO_def_var', PIO_def_var(file, 'growing', PIO_char, [letters, time], growing))
    call need('put of an attribute', PIO_put_att(file, v, 'ints', [1, 2, 3, 4]))
    call need('put of text', PIO_put_att(file, v, 'text', 'long'))
    if (ranks > 1) call expect('put of different lengths', PIO_put_att(file, v, 'few', few), PIO_EINVAL)
    call need('PIO_enddef', PIO_enddef(file))
    call need('put of values', PIO_put_var(file, v, [1, 2, 3, 4]))
    call need('put of text', PIO_put_var(file, names, 'names'))
    call expect('put of too few', PIO_put_var(file, v, few), PIO_EINSUFFBUF)
    call expect('put of too few, of a part', PIO_put_var(file, v, [1], [4], few), PIO_EINSUFFBUF)
    call expect('get into too few', PIO_get_var(file, v, few), PIO_EINSUFFBUF)
    call expect('get into too few, of a part', PIO_get_var(file, v, [1], [4], few), PIO_EINSUFFBUF)
    call expect('get of an attribute into too few', PIO_get_att(file, v, 'ints', few), PIO_EINSUFFBUF)
    call expect('get of text into too short', PIO_get_att(file, v, 'text', text), PIO_EINSUFFBUF)
    call expect('get of a text variable into too short', PIO_get_var(file, names, text), PIO_EINSUFFBUF)
    call expect_true('a part that is not there', PIO_get_var(file, v, [merge(9, 1, last)], own(1)) /= PIO_noerr)
    if (ranks > 1) then
      call expect('different parts', PIO_get_var(file, v, [merge(2, 1, last)], own(1)), PIO_EINVAL)
      if (last) code = PIO_get_var(file, v, d)
      if (.not. last) code = PIO_get_var(file, v, own)
      call expect('different types', code, PIO_EINVAL)
    end if
    call need('get of all', PIO_get_var(file, v, own))
    call expect_true('all', all(own == [1, 2, 3, 4]))

    ! As many records as there are strings.
    texts = ['one  ', 'three']
    call need('put of strings', PIO_put_var(file, growing, texts))
    call need('get of a string', PIO_get_var(file, growing, [1, 2], word))
    call expect_text('string', word, 'three')

    map = [integer ::]
    if (rank == 0) map = [1, 2, 3, 4]
    call PIO_initdecomp(iosystem, PIO_int, [4], map, iodesc)
    if (last) call PIO_write_darray(file, v, iodesc, [0d0, 0d0, 0d0, 0d0], code)
    if (.not. last) call PIO_write_darray(file, v, iodesc, map, code)
    call expect('write of another type', code, PIO_EBADTYPE)
    if (last) call PIO_read_darray(file, v, iodesc, d, code)
    if (.not. last) call PIO_read_darray(file, v, iodesc, own, code)
    call expect('read of another type', code, PIO_EBADTYPE)
    call PIO_freedecomp(iosystem, iodesc)
    call PIO_closefile(file)
  end subroutine

end module pio_fortran_checks

subroutine pio_fortran_tests(communicator, own_rank, number_of_ranks, failed) bind(C)
  use pio_fortran_checks
  implicit none
  integer(c_int), value :: communicator, own_rank, number_of_ranks
  integer(c_int), intent(out) :: failed
  integer :: code
  comm = communicator
  rank = own_rank
  ranks = number_of_ranks
  columns = 2 * ranks + 1
  call PIO_seterrorhandling(PIO_DEFAULT, PIO_RETURN_ERROR)
  call PIO_set_blocksize(8)
  call PIO_init(rank, comm, min(2, ranks), 0, ranks / min(2, ranks), PIO_rearr_subset, iosystem, ierr=code)
  call need('PIO_init', code)
  call check_system
  call check_decomp
  do iotype = PIO_iotype_pnetcdf, PIO_iotype_netcdf
    if (.not. PIO_iotype_available(iotype)) cycle
    call check_darrays
    call check_holes_and_multi
    call check_metadata
    call check_attributes
    call check_values
    call check_one_rank
  end do
  call PIO_finalize(iosystem, code)
  call need('PIO_finalize', code)
  failed = failures
end subroutine
