//! Ranks as MPI processes.
//!
//! Collectives run on a private duplicate of the user's communicator, which the user's communicator
//! carries as an attribute: made at the first call, found again by later ones, freed along with it.
//! Point-to-point calls in which not all ranks take part run on the user's communicator itself.
//! In both cases MPI returns its errors to us, and the user's error handler is restored afterwards.
//!
//! Data goes from and to the caller's memory, in chunks of at most [`MAX_CHUNK`] bytes because MPI counts
//! with an `int`.
#![allow(unsafe_code)]

mod datatype;
mod delivery;
mod entry;
mod failure;
mod group;
mod info;
mod keyval;
mod matched;
mod patience;
pub(super) mod registry;
mod requests;
mod sparse;
mod user;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

use mpi_sys::{self as ffi, MPI_Op};
pub use mpi_sys::{MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Info, MPI_Request, MPI_Status};

use super::{Buffer, Comm, Error, Op, Result, Tag, check_length, check_peers, check_rank, ulfm};
pub use datatype::{Datatype, NumberType, null_datatype};
pub use entry::{ENTRY_NAME, entry};
pub(super) use failure::{FailureClass, failure_of};
pub use failure::{note_failure, take_failure};
use group::UserRanks;
pub use group::rank_in;
#[cfg(stanchion_ulfm)]
pub(super) use group::{is_within, ranks_of};
pub use info::Info;
pub(super) use keyval::Keyval;
pub use registry::set_resilient_handler;
use requests::Requests;
pub use requests::{OwnedRequests, null_request, test};
pub(super) use user::make_resilient;
use user::{ReturnErrors, free, return_errors, split};
pub use user::{
    check_running, comm_of_fortran, is_concurrent, is_null, is_proc_null, is_resilient, is_running,
    null_comm, rank_of_process, revoke_for_user, split_for_user,
};

/// Bytes of a message at most.
const MAX_CHUNK: usize = 1 << 30;
const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// Longer than any MPI's longest text: the loaded MPI may not be the one that we were built for.
const TEXT: usize = 16 << 10;

/// Who frees a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    /// The user's own.
    Borrowed,
    /// The private duplicate that the user's carries.
    Carried,
    /// Ours, to be freed.
    Owned,
}

/// A communicator on which MPI returns its errors to us.
pub struct MpiComm {
    comm: MPI_Comm,
    rank: usize,
    size: usize,
    chunk: usize,
    ownership: Ownership,
    /// Known if it was split off from another one.
    users: Option<Arc<UserRanks>>,
    /// Alternates the tags of deliveries: 0 or 1.
    deliveries: AtomicI32,
}

// SAFETY: a handle is valid in all threads of the process. MPI's thread level says which calls may run concurrently.
unsafe impl Send for MpiComm {}
// SAFETY: as above; all else is read only, or atomic.
unsafe impl Sync for MpiComm {}

/// The user's communicator, with MPI's errors returned to us until this is dropped.
pub struct Borrowed {
    comm: MpiComm,
    _handler: ReturnErrors,
}

impl Deref for Borrowed {
    type Target = MpiComm;

    fn deref(&self) -> &MpiComm {
        &self.comm
    }
}

impl MpiComm {
    /// The private duplicate of the user's communicator.
    ///
    /// It lives as long as the user's communicator, which must outlive the result.
    ///
    /// # Collective
    /// Called by all ranks of `user`: the first call on a communicator makes the duplicate.
    pub fn private(user: MPI_Comm) -> Result<Self> {
        Self::new(user::duplicate_of(user)?, Ownership::Carried)
    }

    /// The user's communicator itself, for point-to-point calls: nothing here is collective.
    ///
    /// Until the result is dropped, errors on `user` come back as codes in all threads.
    pub fn borrowed(user: MPI_Comm) -> Result<Borrowed> {
        let handler = ReturnErrors::on(user)?;
        Ok(Borrowed {
            comm: Self::new(user, Ownership::Borrowed)?,
            _handler: handler,
        })
    }

    fn new(comm: MPI_Comm, ownership: Ownership) -> Result<Self> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: `comm` is a valid communicator and `rank` is ours to write.
        check("MPI_Comm_rank", unsafe {
            ffi::MPI_Comm_rank(comm, &mut rank)
        })?;
        // SAFETY: as above, for `size`.
        check("MPI_Comm_size", unsafe {
            ffi::MPI_Comm_size(comm, &mut size)
        })?;
        Ok(Self {
            comm,
            rank: rank as usize,
            size: size as usize,
            chunk: MAX_CHUNK,
            ownership,
            users: None,
            deliveries: AtomicI32::new(0),
        })
    }

    /// Takes over a communicator that MPI has made for us.
    pub(super) fn adopt(comm: MPI_Comm) -> Result<Self> {
        return_errors(comm)?;
        Self::new(comm, Ownership::Owned)
    }

    /// Ends the job. Only where the user has asked for that.
    pub fn abort(&self, code: c_int) {
        if let Ok(comm) = self.live() {
            // SAFETY: `comm` is valid for the life of `self`.
            unsafe { ffi::MPI_Abort(comm, code) };
        }
    }

    pub fn handle(&self) -> MPI_Comm {
        self.comm
    }

    /// The handle for a call of MPI, which must be running.
    pub(super) fn live(&self) -> Result<MPI_Comm> {
        check_running().map(|()| self.comm)
    }

    /// As [`Comm::split`]; other ranks may not have theirs yet.
    pub(super) fn split_unsettled(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        let Some(comm) = split(self, color, key)? else {
            return Ok(None);
        };
        let mut part = Self::adopt(comm)?;
        registry::add_part(self.comm, comm);
        // Without it, messages name a rank of this part.
        part.users = UserRanks::of(comm, self.comm, self.users.as_deref())
            .ok()
            .map(Arc::new);
        Ok(Some(part.with_chunk(self.chunk)))
    }

    /// Splits transfers into smaller chunks than MPI needs, for tests; the same on all ranks.
    #[doc(hidden)]
    pub fn with_chunk(mut self, bytes: usize) -> Self {
        self.chunk = bytes.clamp(1, MAX_CHUNK);
        self
    }

    /// The chunks of a message: at least one, since an empty message is sent too.
    fn chunks(&self, length: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let chunk = self.chunk;
        let starts = (0..length.max(1)).step_by(chunk);
        starts.map(move |start| start..length.min(start.saturating_add(chunk)))
    }

    /// Reduces as signed numbers: MPICH 4.0 compares unsigned ones as if they were signed.
    fn reduce(&self, call: &'static str, run: Reduction, op: Op, values: &mut [u64]) -> Result<()> {
        let shift = match op {
            Op::Sum => 0,
            Op::Min | Op::Max => 1 << 63,
        };
        let comm = self.live()?;
        for values in values.chunks_mut((self.chunk / size_of::<u64>()).max(1)) {
            let given: Vec<u64> = values.iter().map(|value| value ^ shift).collect();
            let (from, to) = (given.as_ptr().cast(), values.as_mut_ptr().cast());
            let count = values.len() as c_int;
            // SAFETY: both buffers hold `count` values, and MPI is done with them on return.
            self.check(call, unsafe {
                run(from, to, count, signed(), op.into(), comm)
            })?;
            values.iter_mut().for_each(|value| *value ^= shift);
        }
        Ok(())
    }
}

/// Frees a communicator made by `split`: collective, in the same order on all of its ranks.
impl Drop for MpiComm {
    fn drop(&mut self) {
        if self.ownership != Ownership::Owned {
            return;
        }
        registry::remove(self.comm);
        if is_running() && !ulfm::keeps_id(self.comm) {
            free(self.comm);
        }
    }
}

type Reduction = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    c_int,
    MPI_Datatype,
    MPI_Op,
    MPI_Comm,
) -> c_int;

impl From<Op> for MPI_Op {
    fn from(op: Op) -> Self {
        // SAFETY: constants of the MPI shim, never written.
        unsafe {
            match op {
                Op::Sum => ffi::RSMPI_SUM,
                Op::Min => ffi::RSMPI_MIN,
                Op::Max => ffi::RSMPI_MAX,
            }
        }
    }
}

fn bytes_type() -> MPI_Datatype {
    // SAFETY: a constant of the MPI shim, never written.
    unsafe { ffi::RSMPI_UINT8_T }
}

fn numbers() -> MPI_Datatype {
    // SAFETY: a constant of the MPI shim, never written.
    unsafe { ffi::RSMPI_UINT64_T }
}

fn signed() -> MPI_Datatype {
    // SAFETY: a constant of the MPI shim, never written.
    unsafe { ffi::RSMPI_INT64_T }
}

impl Comm for MpiComm {
    type Underway<B: Buffer> = OwnedRequests<B>;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn user_rank(&self, rank: usize) -> usize {
        let users = self.users.as_deref();
        users.and_then(|users| users.find(rank)).unwrap_or(rank)
    }

    fn send(&self, to: usize, tag: Tag, bytes: &[u8]) -> Result<()> {
        check_rank(to, self.size)?;
        let comm = self.live()?;
        for range in self.chunks(bytes.len()) {
            let chunk = &bytes[range];
            let (data, count) = (chunk.as_ptr().cast(), chunk.len() as c_int);
            // SAFETY: `chunk` outlives the blocking call.
            self.check("MPI_Send", unsafe {
                ffi::MPI_Send(data, count, bytes_type(), to as c_int, tag, comm)
            })?;
        }
        Ok(())
    }

    fn recv(&self, from: usize, tag: Tag, bytes: &mut [u8]) -> Result<()> {
        check_rank(from, self.size)?;
        let expected = bytes.len();
        for range in self.chunks(expected) {
            let message = self.wait_for(from, tag)?;
            if message.length() != range.len() {
                let from = self.user_rank(from);
                return check_length(from, expected, range.start + message.length());
            }
            message.receive(&mut bytes[range])?;
        }
        Ok(())
    }

    /// All messages are started and completed even after a failure, since the peers wait for them; only the remaining
    /// chunks of a message that failed or was too short are cancelled. So no request keeps using the caller's memory,
    /// except where MPI itself gives up on one without completing it. A peer that never sends blocks this, as any
    /// receive of MPI.
    ///
    /// Here a message must not be longer than agreed. MPI promises an error for that, but Open MPI may
    /// write past the buffer, and MPICH hands the failure of a non-blocking request to the error
    /// handler of the world communicator, which is not ours to change.
    fn transfer(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        check_peers(self.size, sends, recvs)?;
        let mut requests = Requests::new(sends.len() + recvs.len());
        for (message, (from, bytes)) in recvs.iter_mut().enumerate() {
            requests.receive(self, tag, message, *from, bytes);
        }
        for (to, bytes) in sends {
            requests.send(self, tag, *to, bytes);
        }
        requests.finish()
    }

    /// Treats failures as [`Comm::transfer`] does.
    fn start<B: Buffer>(
        &self,
        tag: Tag,
        sends: Vec<(usize, Arc<B>)>,
        recvs: Vec<(usize, B)>,
    ) -> Result<OwnedRequests<B>> {
        check_peers(self.size, &sends, &recvs)?;
        let mut requests = OwnedRequests::new(sends.len() + recvs.len());
        for (from, bytes) in recvs {
            requests.receive(self, tag, from, bytes);
        }
        for (to, bytes) in sends {
            requests.send(self, tag, to, bytes);
        }
        Ok(requests)
    }

    fn barrier(&self) -> Result<()> {
        let comm = self.live()?;
        // SAFETY: `comm` is valid for the life of `self`.
        self.check("MPI_Barrier", unsafe { ffi::MPI_Barrier(comm) })
    }

    fn bcast(&self, root: usize, bytes: &mut [u8]) -> Result<()> {
        check_rank(root, self.size)?;
        let comm = self.live()?;
        for chunk in bytes.chunks_mut(self.chunk) {
            let (data, count) = (chunk.as_mut_ptr().cast(), chunk.len() as c_int);
            // SAFETY: `chunk` holds `count` bytes and outlives the blocking call.
            self.check("MPI_Bcast", unsafe {
                ffi::MPI_Bcast(data, count, bytes_type(), root as c_int, comm)
            })?;
        }
        Ok(())
    }

    fn allreduce(&self, op: Op, values: &mut [u64]) -> Result<()> {
        self.reduce("MPI_Allreduce", ffi::MPI_Allreduce, op, values)
    }

    fn scan(&self, op: Op, values: &mut [u64]) -> Result<()> {
        self.reduce("MPI_Scan", ffi::MPI_Scan, op, values)
    }

    fn allgather(&self, mine: &[u8], all: &mut [u8]) -> Result<()> {
        check_length(self.rank, self.size * mine.len(), all.len())?;
        if mine.is_empty() {
            // Empty slices may share an address, which Open MPI takes for aliased buffers.
            return Ok(());
        }
        if mine.len() > self.chunk {
            // One block per rank and call: gathered chunks would need a second buffer to be reordered.
            all[self.rank * mine.len()..][..mine.len()].copy_from_slice(mine);
            let mut blocks = all.chunks_mut(mine.len()).enumerate();
            return blocks.try_for_each(|(root, block)| self.bcast(root, block));
        }
        let (data, count) = (mine.as_ptr().cast(), mine.len() as c_int);
        let (into, bytes) = (all.as_mut_ptr().cast(), bytes_type());
        let comm = self.live()?;
        // SAFETY: `mine` holds `count` bytes and `all` holds `count` for each rank (checked above).
        self.check("MPI_Allgather", unsafe {
            ffi::MPI_Allgather(data, count, bytes, into, count, bytes, comm)
        })
    }

    fn alltoall(&self, values: &[u64]) -> Result<Vec<u64>> {
        check_length(self.rank, 8 * self.size, 8 * values.len())?;
        let mut got = vec![0u64; self.size];
        let comm = self.live()?;
        let (data, into) = (values.as_ptr().cast(), got.as_mut_ptr().cast());
        // SAFETY: both buffers hold one value for each rank (checked above).
        self.check("MPI_Alltoall", unsafe {
            ffi::MPI_Alltoall(data, 1, numbers(), into, 1, numbers(), comm)
        })?;
        Ok(got)
    }

    fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        let part = self.split_unsettled(color, key)?;
        if ulfm::available() {
            self.barrier()?;
        }
        if let Some(part) = &part {
            registry::settle(part.comm);
        }
        Ok(part)
    }
}

pub(super) fn no_status() -> MPI_Status {
    // SAFETY: a C struct of integers, for which zero is a value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn count_of(status: &MPI_Status) -> Result<usize> {
    let mut count = 0;
    // SAFETY: MPI filled `status`; `count` is ours to write.
    check("MPI_Get_count", unsafe {
        ffi::MPI_Get_count(status, bytes_type(), &mut count)
    })?;
    usize::try_from(count).map_err(|_| Error::Transport {
        call: "MPI_Get_count",
        code: ffi::MPI_ERR_COUNT as c_int,
        text: format!("a message has more than {} bytes", c_int::MAX),
    })
}

pub(super) fn check(call: &'static str, code: c_int) -> Result<()> {
    if code == SUCCESS {
        return Ok(());
    }
    match failure_of(code) {
        Some(FailureClass::Process) => return Err(Error::ProcessFailed { call }),
        Some(FailureClass::Revoked) => return Err(Error::Revoked { call }),
        None => {}
    }
    let text = text_of(|text, length| {
        // SAFETY: `text` is longer than any MPI's error text, `length` is ours to write.
        unsafe { ffi::MPI_Error_string(code, text, length) };
    });
    Err(Error::Transport { call, code, text })
}

fn class_of(code: c_int) -> c_int {
    let mut class = code;
    // SAFETY: `class` is ours to write.
    unsafe { ffi::MPI_Error_class(code, &mut class) };
    class
}

/// The text that `write` leaves in a buffer of [`TEXT`] bytes.
fn text_of(write: impl FnOnce(*mut c_char, &mut c_int)) -> String {
    let mut bytes = vec![0u8; TEXT];
    write(bytes.as_mut_ptr().cast(), &mut 0);
    let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
    text.to_string_lossy().trim_end().into()
}
