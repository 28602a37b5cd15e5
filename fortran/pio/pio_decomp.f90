! Decompositions: what of an array each rank holds. compdof names places in the array in Fortran's order, from 1;
! 0 is a hole. dims are in Fortran's order too.
module pio_decomp
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_int, c_loc, c_long, c_null_ptr, c_ptr
  use pio_kinds, only: i4, PIO_OFFSET_KIND
  use pio_text, only: c_text
  use pio_types
  implicit none
  private

  public :: PIO_initdecomp, PIO_initdecomp_readonly, PIO_freedecomp, PIO_get_local_array_size
  public :: PIO_readdof, PIO_writedof, PIO_write_nc_dof, PIO_read_nc_dof

  ! The forms with lenblocks are those of long ago: what they say about the I/O tasks is left to the subset
  ! rearranger, which changes nothing in the file.
  interface PIO_initdecomp
    module procedure PIO_initdecomp_dof_i4
    module procedure PIO_initdecomp_dof_i8
    module procedure PIO_initdecomp_bc
    module procedure initdecomp_1dof_bin_i4
    module procedure initdecomp_1dof_bin_i8
    module procedure initdecomp_1dof_nf_i4
    module procedure initdecomp_1dof_nf_i8
    module procedure initdecomp_2dof_nf_i4
    module procedure initdecomp_2dof_nf_i8
  end interface

  ! Ranks may hold the same elements.
  interface PIO_initdecomp_readonly
    module procedure initdecomp_readonly_i4
    module procedure initdecomp_readonly_i8
  end interface

  interface PIO_freedecomp
    module procedure freedecomp_ios
    module procedure freedecomp_file
  end interface

  interface PIO_writedof
    module procedure writedof_i4
    module procedure writedof_i8
  end interface

  abstract interface
    integer(c_int) function init_decomp(iosysid, basetype, ndims, dims, maplen, compmap, ioid, rearr, iostart, iocount) bind(C)
      import :: c_int, c_ptr, PIO_OFFSET_KIND
      integer(c_int), value :: iosysid, basetype, ndims, maplen
      integer(c_int), intent(in) :: dims(*)
      integer(PIO_OFFSET_KIND), intent(in) :: compmap(*)
      integer(c_int), intent(out) :: ioid
      type(c_ptr), value :: rearr, iostart, iocount
    end function
  end interface

  procedure(init_decomp), bind(C, name="PIOc_InitDecomp") :: PIOc_InitDecomp
  procedure(init_decomp), bind(C, name="PIOc_InitDecomp_ReadOnly") :: PIOc_InitDecomp_ReadOnly

  interface
    integer(c_int) function PIOc_InitDecomp_bc(iosysid, basetype, ndims, dims, start, count, ioid) &
        bind(C, name="PIOc_InitDecomp_bc")
      import :: c_int, c_long
      integer(c_int), value :: iosysid, basetype, ndims
      integer(c_int), intent(in) :: dims(*)
      integer(c_long), intent(in) :: start(*), count(*)
      integer(c_int), intent(out) :: ioid
    end function

    integer(c_int) function PIOc_freedecomp(iosysid, ioid) bind(C, name="PIOc_freedecomp")
      import :: c_int
      integer(c_int), value :: iosysid, ioid
    end function

    integer(c_int) function PIOc_sync(ncid) bind(C, name="PIOc_sync")
      import :: c_int
      integer(c_int), value :: ncid
    end function

    integer(c_int) function PIOc_get_local_array_size(ioid) bind(C, name="PIOc_get_local_array_size")
      import :: c_int
      integer(c_int), value :: ioid
    end function

    integer(c_int) function PIOc_readmap_from_f90(file, ndims, gdims, maplen, map, comm) &
        bind(C, name="PIOc_readmap_from_f90")
      import :: c_char, c_int, c_ptr, PIO_OFFSET_KIND
      character(kind=c_char), intent(in) :: file(*)
      integer(c_int), intent(out) :: ndims
      type(c_ptr), intent(out) :: gdims, map
      integer(PIO_OFFSET_KIND), intent(out) :: maplen
      integer(c_int), value :: comm
    end function

    integer(c_int) function c_writemap(file, ioid, ndims, gdims, maplen, map, comm) bind(C, name="stanchion_piof_writemap")
      import :: c_char, c_int, PIO_OFFSET_KIND
      character(kind=c_char), intent(in) :: file(*)
      integer(c_int), value :: ioid, ndims, comm
      integer(c_int), intent(in) :: gdims(*)
      integer(PIO_OFFSET_KIND), value :: maplen
      integer(PIO_OFFSET_KIND), intent(in) :: map(*)
    end function

    integer(c_int) function PIOc_write_nc_decomp(iosysid, filename, cmode, ioid, title, history, fortran_order) &
        bind(C, name="PIOc_write_nc_decomp")
      import :: c_char, c_int
      integer(c_int), value :: iosysid, cmode, ioid, fortran_order
      character(kind=c_char), intent(in) :: filename(*)
      character(kind=c_char), intent(in), optional :: title(*), history(*)
    end function

    integer(c_int) function c_read_nc_decomp(iosysid, filename, ioid, comm, basetype, title, title_length, history, &
        history_length, fortran_order) bind(C, name="stanchion_piof_read_nc_decomp")
      import :: c_char, c_int
      integer(c_int), value :: iosysid, comm, basetype, title_length, history_length
      character(kind=c_char), intent(in) :: filename(*)
      integer(c_int), intent(out) :: ioid, fortran_order
      character(kind=c_char), intent(inout) :: title(*), history(*)
    end function
  end interface

contains

  subroutine PIO_initdecomp_dof_i4(iosystem, basepiotype, dims, compdof, iodesc, rearr, iostart, iocount, ierr)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:), compdof(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(in), optional :: rearr
    integer(PIO_OFFSET_KIND), intent(in), optional :: iostart(:), iocount(:)
    integer, intent(out), optional :: ierr
    call describe(PIOc_InitDecomp, iosystem, basepiotype, dims, int(compdof, PIO_OFFSET_KIND), iodesc, rearr, iostart, &
      iocount, ierr)
  end subroutine

  subroutine PIO_initdecomp_dof_i8(iosystem, basepiotype, dims, compdof, iodesc, rearr, iostart, iocount, ierr)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:)
    integer(PIO_OFFSET_KIND), intent(in) :: compdof(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(in), optional :: rearr
    integer(PIO_OFFSET_KIND), intent(in), optional :: iostart(:), iocount(:)
    integer, intent(out), optional :: ierr
    call describe(PIOc_InitDecomp, iosystem, basepiotype, dims, compdof, iodesc, rearr, iostart, iocount, ierr)
  end subroutine

  subroutine initdecomp_readonly_i4(iosystem, basepiotype, dims, compdof, iodesc, rearr, iostart, iocount, ierr)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:), compdof(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(in), optional :: rearr
    integer(PIO_OFFSET_KIND), intent(in), optional :: iostart(:), iocount(:)
    integer, intent(out), optional :: ierr
    call describe(PIOc_InitDecomp_ReadOnly, iosystem, basepiotype, dims, int(compdof, PIO_OFFSET_KIND), iodesc, rearr, &
      iostart, iocount, ierr)
  end subroutine

  subroutine initdecomp_readonly_i8(iosystem, basepiotype, dims, compdof, iodesc, rearr, iostart, iocount, ierr)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:)
    integer(PIO_OFFSET_KIND), intent(in) :: compdof(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(in), optional :: rearr
    integer(PIO_OFFSET_KIND), intent(in), optional :: iostart(:), iocount(:)
    integer, intent(out), optional :: ierr
    call describe(PIOc_InitDecomp_ReadOnly, iosystem, basepiotype, dims, compdof, iodesc, rearr, iostart, iocount, ierr)
  end subroutine

  ! What all forms with a map come down to. What C has no words for, a map too long or regions of other dimensions, is
  ! made a map that it refuses, so that all ranks hear of it.
  subroutine describe(init, iosystem, basepiotype, dims, compdof, iodesc, rearr, iostart, iocount, ierr)
    procedure(init_decomp) :: init
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:)
    integer(PIO_OFFSET_KIND), intent(in) :: compdof(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(in), optional :: rearr
    integer(PIO_OFFSET_KIND), intent(in), optional :: iostart(:), iocount(:)
    integer, intent(out), optional :: ierr
    integer(c_int), target :: rearranger
    integer(PIO_OFFSET_KIND), target :: start(size(dims)), count(size(dims))
    type(c_ptr) :: to_rearranger, to_start, to_count
    integer(c_int) :: code, maplen
    to_rearranger = c_null_ptr
    to_start = c_null_ptr
    to_count = c_null_ptr
    maplen = -1
    if (size(compdof, kind=PIO_OFFSET_KIND) <= huge(maplen)) maplen = size(compdof)
    if (present(rearr)) then
      rearranger = rearr
      to_rearranger = c_loc(rearranger)
    end if
    if (present(iostart) .and. present(iocount)) then
      if (size(iostart) == size(dims) .and. size(iocount) == size(dims)) then
        start = reversed(iostart) - 1
        count = reversed(iocount)
        to_start = c_loc(start)
        to_count = c_loc(count)
      else
        maplen = -1
      end if
    end if
    code = init(iosystem%iosysid, basepiotype, size(dims), int(reversed(int(dims, PIO_OFFSET_KIND)), c_int), maplen, &
      compdof, iodesc%ioid, to_rearranger, to_start, to_count)
    call finish(code, iodesc, ierr)
  end subroutine

  ! A rectangle of the array: where it starts, from 1, and how long it is.
  subroutine PIO_initdecomp_bc(iosystem, basepiotype, dims, compstart, compcount, iodesc, ierr)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:)
    integer(PIO_OFFSET_KIND), intent(in) :: compstart(:), compcount(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(out), optional :: ierr
    integer(c_int) :: code
    code = PIOc_InitDecomp_bc(iosystem%iosysid, basepiotype, size(dims), int(reversed(int(dims, PIO_OFFSET_KIND)), c_int), &
      int(reversed(compstart) - 1, c_long), int(reversed(compcount), c_long), iodesc%ioid)
    call finish(code, iodesc, ierr)
  end subroutine

  subroutine initdecomp_1dof_bin_i4(iosystem, basepiotype, dims, lenblocks, compdof, iodofr, iodesc)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:), lenblocks, compdof(:), iodofr(:)
    type(io_desc_t), intent(inout) :: iodesc
    if (lenblocks == size(iodofr)) continue
    call PIO_initdecomp_dof_i4(iosystem, basepiotype, dims, compdof, iodesc, PIO_rearr_subset)
  end subroutine

  subroutine initdecomp_1dof_bin_i8(iosystem, basepiotype, dims, lenblocks, compdof, iodofr, iodesc)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:), lenblocks
    integer(PIO_OFFSET_KIND), intent(in) :: compdof(:), iodofr(:)
    type(io_desc_t), intent(inout) :: iodesc
    if (lenblocks == size(iodofr)) continue
    call PIO_initdecomp_dof_i8(iosystem, basepiotype, dims, compdof, iodesc, PIO_rearr_subset)
  end subroutine

  subroutine initdecomp_1dof_nf_i4(iosystem, basepiotype, dims, lenblocks, compdof, iodof, start, count, iodesc)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:), lenblocks, compdof(:), iodof(:)
    integer(PIO_OFFSET_KIND), intent(in) :: start(:), count(:)
    type(io_desc_t), intent(inout) :: iodesc
    if (size(start) == size(count)) continue
    call initdecomp_1dof_bin_i4(iosystem, basepiotype, dims, lenblocks, compdof, iodof, iodesc)
  end subroutine

  subroutine initdecomp_1dof_nf_i8(iosystem, basepiotype, dims, lenblocks, compdof, iodof, start, count, iodesc)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:), lenblocks
    integer(PIO_OFFSET_KIND), intent(in) :: compdof(:), iodof(:), start(:), count(:)
    type(io_desc_t), intent(inout) :: iodesc
    if (size(start) == size(count)) continue
    call initdecomp_1dof_bin_i8(iosystem, basepiotype, dims, lenblocks, compdof, iodof, iodesc)
  end subroutine

  subroutine initdecomp_2dof_nf_i4(iosystem, basepiotype, dims, lenblocks, compdof, iodofr, iodofw, start, count, iodesc)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:), lenblocks, compdof(:), iodofr(:), iodofw(:)
    integer(PIO_OFFSET_KIND), intent(in) :: start(:), count(:)
    type(io_desc_t), intent(inout) :: iodesc
    if (size(iodofw) == size(start) + size(count)) continue
    call initdecomp_1dof_bin_i4(iosystem, basepiotype, dims, lenblocks, compdof, iodofr, iodesc)
  end subroutine

  subroutine initdecomp_2dof_nf_i8(iosystem, basepiotype, dims, lenblocks, compdof, iodofr, iodofw, start, count, iodesc)
    type(iosystem_desc_t), intent(in) :: iosystem
    integer(i4), intent(in) :: basepiotype, dims(:), lenblocks
    integer(PIO_OFFSET_KIND), intent(in) :: compdof(:), iodofr(:), iodofw(:), start(:), count(:)
    type(io_desc_t), intent(inout) :: iodesc
    if (size(iodofw) == size(start) + size(count)) continue
    call initdecomp_1dof_bin_i8(iosystem, basepiotype, dims, lenblocks, compdof, iodofr, iodesc)
  end subroutine

  subroutine freedecomp_ios(ios, iodesc, ierr)
    type(iosystem_desc_t), intent(in) :: ios
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(out), optional :: ierr
    integer(c_int) :: code
    code = PIOc_freedecomp(ios%iosysid, iodesc%ioid)
    iodesc%ioid = -1
    if (present(ierr)) ierr = code
  end subroutine

  ! What the file still has to write with it is written first.
  subroutine freedecomp_file(file, iodesc, ierr)
    type(file_desc_t), intent(in) :: file
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(out), optional :: ierr
    integer(c_int) :: synced
    synced = PIOc_sync(file%fh)
    if (associated(file%iosystem)) then
      call freedecomp_ios(file%iosystem, iodesc, ierr)
    else if (present(ierr)) then
      ierr = PIO_EBADID
    end if
    if (present(ierr) .and. synced /= PIO_noerr) ierr = synced
  end subroutine

  integer function PIO_get_local_array_size(iodesc, ierr) result(length)
    type(io_desc_t), intent(in) :: iodesc
    integer, intent(out), optional :: ierr
    length = PIOc_get_local_array_size(iodesc%ioid)
    if (present(ierr)) ierr = min(length, 0)
  end function

  ! gdims and dof are the caller's to deallocate.
  subroutine PIO_readdof(file, ndims, gdims, dof, comm, ierr)
    character(len=*), intent(in) :: file
    integer, intent(out) :: ndims
    integer, pointer :: gdims(:)
    integer(PIO_OFFSET_KIND), pointer :: dof(:)
    integer, intent(in) :: comm
    integer, intent(out), optional :: ierr
    type(c_ptr) :: to_dims, to_map
    integer(PIO_OFFSET_KIND) :: maplen
    integer(c_int) :: code
    nullify (gdims, dof)
    ndims = 0
    code = PIOc_readmap_from_f90(c_text(file), ndims, to_dims, maplen, to_map, comm)
    if (code == PIO_noerr) then
      call c_f_pointer(to_dims, gdims, [ndims])
      call c_f_pointer(to_map, dof, [maplen])
    end if
    if (present(ierr)) ierr = code
  end subroutine

  ! gdims are written as they are given (NCAR), or as C has them (SCORPIO), and read as they are in the file.
  subroutine writedof_i4(file, gdims, dof, comm, ioid, ierr)
    character(len=*), intent(in) :: file
    integer, intent(in) :: gdims(:), comm
    integer(i4), intent(in) :: dof(:)
    integer, intent(in), optional :: ioid
    integer, intent(out), optional :: ierr
    call writedof_i8(file, gdims, int(dof, PIO_OFFSET_KIND), comm, ioid, ierr)
  end subroutine

  subroutine writedof_i8(file, gdims, dof, comm, ioid, ierr)
    character(len=*), intent(in) :: file
    integer, intent(in) :: gdims(:), comm
    integer(PIO_OFFSET_KIND), intent(in) :: dof(:)
    integer, intent(in), optional :: ioid
    integer, intent(out), optional :: ierr
    integer(c_int) :: code, id
    id = -1
    if (present(ioid)) id = ioid
    code = c_writemap(c_text(file), id, size(gdims), gdims, size(dof, kind=PIO_OFFSET_KIND), dof, comm)
    if (present(ierr)) ierr = code
  end subroutine

  subroutine PIO_write_nc_dof(ios, filename, cmode, iodesc, ret, title, history, fortran_order)
    type(iosystem_desc_t), intent(in) :: ios
    character(len=*), intent(in) :: filename
    integer, intent(in) :: cmode
    type(io_desc_t), intent(in) :: iodesc
    integer, intent(out) :: ret
    character(len=*), intent(in), optional :: title, history
    logical, intent(in), optional :: fortran_order
    character(len=:), allocatable :: c_title, c_history
    integer(c_int) :: order
    order = 0
    if (present(fortran_order)) order = merge(1, 0, fortran_order)
    if (present(title)) c_title = c_text(title)
    if (present(history)) c_history = c_text(history)
    ret = PIOc_write_nc_decomp(ios%iosysid, c_text(filename), cmode, iodesc%ioid, c_title, c_history, order)
  end subroutine

  ! comm is that of the I/O system; basepiotype is what the arrays will be made of, which the file does not tell.
  subroutine PIO_read_nc_dof(ios, filename, iodesc, ret, comm, basepiotype, title, history, fortran_order)
    use pio_text, only: from_c
    type(iosystem_desc_t), intent(in) :: ios
    character(len=*), intent(in) :: filename
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(out) :: ret
    integer, intent(in) :: comm, basepiotype
    character(len=*), intent(out), optional :: title, history
    logical, intent(out), optional :: fortran_order
    character(kind=c_char) :: texts(PIO_MAX_NAME + 1, 2)
    integer(c_int) :: order
    ret = c_read_nc_decomp(ios%iosysid, c_text(filename), iodesc%ioid, comm, basepiotype, texts(:, 1), size(texts, 1), &
      texts(:, 2), size(texts, 1), order)
    call finish(ret, iodesc)
    if (present(title)) call from_c(texts(:, 1), title)
    if (present(history)) call from_c(texts(:, 2), history)
    if (present(fortran_order)) fortran_order = order /= 0
  end subroutine

  subroutine finish(code, iodesc, ierr)
    integer(c_int), intent(in) :: code
    type(io_desc_t), intent(inout) :: iodesc
    integer, intent(out), optional :: ierr
    if (code /= PIO_noerr) iodesc%ioid = -1
    if (present(ierr)) ierr = code
  end subroutine

  ! C has the slowest dimension first.
  pure function reversed(values)
    integer(PIO_OFFSET_KIND), intent(in) :: values(:)
    integer(PIO_OFFSET_KIND) :: reversed(size(values))
    reversed = values(size(values):1:-1)
  end function

end module pio_decomp
