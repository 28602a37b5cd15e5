//! The user's datatypes: extents, packing and unpacking.

use std::ffi::c_int;

use mpi_sys::{self as ffi, MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype};

use super::{MAX_CHUNK, MpiComm, bytes_type, check, check_running, is_running};
use crate::comm::{Error, Result};

/// A datatype of the user that stays valid after the user frees it.
pub struct Datatype {
    handle: MPI_Datatype,
    /// A duplicate of the user's; predefined ones need none.
    owned: bool,
    size: u64,
    extent: isize,
    /// Elements lie side by side without holes.
    dense: bool,
    /// Where packing reports its errors.
    comm: MPI_Comm,
}

impl Datatype {
    pub fn of(user: MPI_Datatype) -> Result<Datatype> {
        let comm = MpiComm::private(own_process())?.comm;
        check("MPI_Type_size", null_code(user))?;
        let size = size_of_type(user)?;
        let (low, extent) = bounds("MPI_Type_get_extent", ffi::MPI_Type_get_extent, user)?;
        let ask = ffi::MPI_Type_get_true_extent;
        let (true_low, true_extent) = bounds("MPI_Type_get_true_extent", ask, user)?;
        let bytes = size as isize;
        let dense = low == 0 && true_low == 0 && extent == bytes && true_extent == bytes;
        if !dense && size > MAX_CHUNK as u64 {
            return Err(too_large(size));
        }
        let (handle, owned) = keep(user)?;
        Ok(Datatype {
            handle,
            owned,
            size,
            extent,
            dense,
            comm,
        })
    }

    /// Valid until this is dropped; a predefined datatype is the user's own.
    pub fn handle(&self) -> MPI_Datatype {
        self.handle
    }

    /// Packed bytes of an element.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn is_dense(&self) -> bool {
        self.dense
    }

    /// Packs as many elements as `into` has room for, from the element `index` of `buffer` on.
    ///
    /// # Safety
    /// `buffer` has these elements.
    pub unsafe fn pack(&self, buffer: *const u8, index: u64, into: &mut [u8]) -> Result<()> {
        self.check_packable()?;
        let chunks = into.chunks_mut(self.chunk());
        for (from, chunk) in self.starts(index).zip(chunks) {
            let count = (chunk.len() as u64 / self.size) as c_int;
            let (length, mut position) = (chunk.len() as c_int, 0);
            let from = buffer.wrapping_byte_offset(from).cast();
            let (into, kind) = (chunk.as_mut_ptr().cast(), self.handle);
            // SAFETY: the caller's elements; `chunk` has room for `count` of them.
            check("MPI_Pack", unsafe {
                ffi::MPI_Pack(from, count, kind, into, length, &mut position, self.comm)
            })?;
        }
        Ok(())
    }

    /// Unpacks elements; gaps in them are not touched.
    ///
    /// # Safety
    /// As for [`Datatype::pack`]; the elements may be written to.
    pub unsafe fn unpack(&self, buffer: *mut u8, index: u64, from: &[u8]) -> Result<()> {
        self.check_packable()?;
        for (to, chunk) in self.starts(index).zip(from.chunks(self.chunk())) {
            let count = (chunk.len() as u64 / self.size) as c_int;
            let (length, mut position) = (chunk.len() as c_int, 0);
            let to = buffer.wrapping_byte_offset(to).cast();
            let (from, kind) = (chunk.as_ptr().cast(), self.handle);
            // SAFETY: the caller's elements; `chunk` holds `count` of them.
            check("MPI_Unpack", unsafe {
                ffi::MPI_Unpack(from, length, &mut position, to, count, kind, self.comm)
            })?;
        }
        Ok(())
    }

    /// Dense elements may be longer than what MPI packs at once: they are copied.
    fn check_packable(&self) -> Result<()> {
        check_running()?;
        match self.size <= MAX_CHUNK as u64 {
            true => Ok(()),
            false => Err(too_large(self.size)),
        }
    }

    /// Packed bytes that one call of MPI takes: whole elements.
    fn chunk(&self) -> usize {
        let size = self.size.max(1) as usize;
        (MAX_CHUNK / size).max(1) * size
    }

    /// Where the elements of each chunk begin in the buffer.
    fn starts(&self, index: u64) -> impl Iterator<Item = isize> + use<> {
        let (extent, step) = (self.extent, self.chunk() as u64 / self.size.max(1));
        (0..).map(move |chunk| (index + chunk * step) as isize * extent)
    }
}

impl Drop for Datatype {
    fn drop(&mut self) {
        if self.owned && is_running() {
            // SAFETY: a duplicate of ours that nobody uses any more.
            unsafe { ffi::MPI_Type_free(&mut self.handle) };
        }
    }
}

fn own_process() -> MPI_Comm {
    // SAFETY: a constant of the MPI shim, never written.
    unsafe { ffi::RSMPI_COMM_SELF }
}

/// A predefined type of numbers, by its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    Signed(usize),
    Unsigned(usize),
    Real(usize),
}

impl NumberType {
    pub fn datatype(self) -> MPI_Datatype {
        // SAFETY: constants of the MPI shim, never written.
        unsafe {
            match self {
                NumberType::Signed(1) => ffi::RSMPI_INT8_T,
                NumberType::Signed(2) => ffi::RSMPI_INT16_T,
                NumberType::Signed(4) => ffi::RSMPI_INT32_T,
                NumberType::Signed(8) => ffi::RSMPI_INT64_T,
                NumberType::Unsigned(1) => ffi::RSMPI_UINT8_T,
                NumberType::Unsigned(2) => ffi::RSMPI_UINT16_T,
                NumberType::Unsigned(4) => ffi::RSMPI_UINT32_T,
                NumberType::Unsigned(8) => ffi::RSMPI_UINT64_T,
                NumberType::Real(4) => ffi::RSMPI_FLOAT,
                NumberType::Real(8) => ffi::RSMPI_DOUBLE,
                _ => ffi::RSMPI_DATATYPE_NULL,
            }
        }
    }
}

/// The handle of no datatype.
pub fn null_datatype() -> MPI_Datatype {
    // SAFETY: a constant of the MPI shim, never written.
    unsafe { ffi::RSMPI_DATATYPE_NULL }
}

/// A handle of zero bits is no datatype in any MPI, but what an unset C variable holds.
fn null_code(user: MPI_Datatype) -> c_int {
    // SAFETY: a handle is an integer or a raw pointer, for which zero is a value.
    let unset: MPI_Datatype = unsafe { std::mem::zeroed() };
    match user == unset || user == null_datatype() {
        true => ffi::MPI_ERR_TYPE as c_int,
        false => super::SUCCESS,
    }
}

fn too_large(size: u64) -> Error {
    Error::Transport {
        call: "MPI_Pack",
        code: ffi::MPI_ERR_COUNT as c_int,
        text: format!("an element to be packed has {size} bytes, more than {MAX_CHUNK}"),
    }
}

fn size_of_type(user: MPI_Datatype) -> Result<u64> {
    let mut size: MPI_Count = 0;
    // SAFETY: `user` is a datatype of the caller and `size` is ours to write.
    check("MPI_Type_size_x", unsafe {
        ffi::MPI_Type_size_x(user, &mut size)
    })?;
    u64::try_from(size).map_err(|_| too_large(u64::MAX))
}

type Bounds = unsafe extern "C" fn(MPI_Datatype, *mut MPI_Aint, *mut MPI_Aint) -> c_int;

/// Lower bound and extent, as `ask` knows them.
#[allow(clippy::unnecessary_cast)] // an MPI_Aint is another type with another MPI
fn bounds(call: &'static str, ask: Bounds, user: MPI_Datatype) -> Result<(isize, isize)> {
    let (mut low, mut extent): (MPI_Aint, MPI_Aint) = (0, 0);
    // SAFETY: `user` is a datatype of the caller; both numbers are ours to write.
    check(call, unsafe { ask(user, &mut low, &mut extent) })?;
    Ok((low as isize, extent as isize))
}

/// How the datatype was constructed.
fn combiner_of(user: MPI_Datatype) -> Result<c_int> {
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    let numbers = (&mut integers, &mut addresses, &mut types);
    // SAFETY: `user` is a valid datatype; the numbers are ours to write.
    check("MPI_Type_get_envelope", unsafe {
        ffi::MPI_Type_get_envelope(user, numbers.0, numbers.1, numbers.2, &mut combiner)
    })?;
    Ok(combiner)
}

/// A committed datatype that outlives the user's, and whether it must be freed.
fn keep(user: MPI_Datatype) -> Result<(MPI_Datatype, bool)> {
    let predefined = combiner_of(bytes_type())?;
    if combiner_of(user)? == predefined {
        return Ok((user, false));
    }
    let mut kept = null_datatype();
    // SAFETY: `user` is a datatype of the caller and `kept` is ours to write.
    check("MPI_Type_dup", unsafe {
        ffi::MPI_Type_dup(user, &mut kept)
    })?;
    // SAFETY: a datatype of ours; committing it again does nothing.
    check("MPI_Type_commit", unsafe {
        ffi::MPI_Type_commit(&mut kept)
    })?;
    Ok((kept, true))
}
