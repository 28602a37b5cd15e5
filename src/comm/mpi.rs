//! Ranks as MPI processes.
//!
//! Collectives run on a private duplicate of the user's communicator, which the user's communicator
//! carries as an attribute: made at the first call, found again by later ones, freed along with it.
//! Point-to-point calls that have no collective moment run on the user's communicator itself.
//! In both cases MPI returns its errors to us and the user's error handler is found as it was left.
//!
//! Data goes from and to the caller's memory, in pieces of at most [`PIECE`] bytes because MPI counts
//! with an `int`.
#![allow(unsafe_code)]

mod attribute;
mod datatype;
mod delivery;
mod entry;
mod failure;
mod flight;
mod info;
mod matched;
mod parts;
pub(super) mod registry;
mod user;
mod window;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

use mpi_sys::{self as ffi, MPI_Op};
pub use mpi_sys::{MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Info, MPI_Request, MPI_Status};

use super::{Buffer, Comm, Error, Limit, Op, Result, Tag, check_length, check_rank, ulfm};
pub(super) use attribute::Attribute;
pub use datatype::{Datatype, Number, null_datatype};
pub use entry::{ENTRY_NAME, entry};
pub(super) use failure::{Failure, failure_of};
pub use failure::{note_failure, take_failure};
use flight::Flight;
pub use flight::{Journey, null_request};
pub use info::Info;
pub use registry::set_resilient_handler;
pub(super) use user::dress;
use user::{ReturnErrors, free, return_errors, split};
pub use user::{
    check_running, comm_of_fortran, is_null, is_proc_null, is_resilient, is_running, null_comm,
    rank_of_process, revoke_for_user, split_for_user,
};

const PIECE: usize = 1 << 30;
const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// Longer than any MPI's longest text, since the one at hand may not be the one we were built for.
const TEXT: usize = 16 << 10;

/// Whose communicator it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
    piece: usize,
    kind: Kind,
    /// Which of two tags the next delivery takes.
    deliveries: AtomicI32,
}

// SAFETY: a handle names the communicator in every thread of the process. Which calls threads may make at once is
// for the thread level to say that the program asked MPI for.
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
        Self::new(user::duplicate_of(user)?, Kind::Carried)
    }

    /// The user's communicator itself, for point-to-point calls: nothing here is collective.
    ///
    /// Until the result is dropped, errors on `user` come back as codes in all threads.
    pub fn borrowed(user: MPI_Comm) -> Result<Borrowed> {
        let handler = ReturnErrors::on(user)?;
        Ok(Borrowed {
            comm: Self::new(user, Kind::Borrowed)?,
            _handler: handler,
        })
    }

    fn new(comm: MPI_Comm, kind: Kind) -> Result<Self> {
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
            piece: PIECE,
            kind,
            deliveries: AtomicI32::new(0),
        })
    }

    /// Takes over a communicator that MPI has made for us.
    pub(super) fn adopt(comm: MPI_Comm) -> Result<Self> {
        return_errors(comm)?;
        Self::new(comm, Kind::Owned)
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

    /// The handle for a call of MPI, which must be running for that.
    pub(super) fn live(&self) -> Result<MPI_Comm> {
        check_running().map(|()| self.comm)
    }

    /// As [`Comm::split`]; other ranks may not have their part yet.
    pub(super) fn split_unsettled(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        let Some(comm) = split(self, color, key)? else {
            return Ok(None);
        };
        let part = Self::adopt(comm)?;
        registry::add_part(self.comm, comm);
        Ok(Some(part.with_piece(self.piece)))
    }

    /// Cuts transfers into smaller pieces than needed, to test the cutting; the same on all ranks.
    #[doc(hidden)]
    pub fn with_piece(mut self, bytes: usize) -> Self {
        self.piece = bytes.clamp(1, PIECE);
        self
    }

    /// The pieces of a message: at least one, since an empty message is sent too.
    fn pieces(&self, length: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let piece = self.piece;
        let starts = (0..length.max(1)).step_by(piece);
        starts.map(move |start| start..length.min(start.saturating_add(piece)))
    }

    /// As signed numbers: MPICH 4.0 compares unsigned ones as if they were signed.
    fn reduce(&self, call: &'static str, run: Reduction, op: Op, values: &mut [u64]) -> Result<()> {
        let shift = match op {
            Op::Sum => 0,
            Op::Min | Op::Max => 1 << 63,
        };
        let comm = self.live()?;
        for values in values.chunks_mut((self.piece / size_of::<u64>()).max(1)) {
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

/// Frees a communicator made by `split`. MPI wants this on all of its ranks in the same order.
impl Drop for MpiComm {
    fn drop(&mut self) {
        if self.kind != Kind::Owned {
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
    type Underway<B: Buffer> = Journey<B>;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, tag: Tag, bytes: &[u8]) -> Result<()> {
        check_rank(to, self.size)?;
        let comm = self.live()?;
        for range in self.pieces(bytes.len()) {
            let piece = &bytes[range];
            let (data, count) = (piece.as_ptr().cast(), piece.len() as c_int);
            // SAFETY: `piece` outlives the blocking call.
            self.check("MPI_Send", unsafe {
                ffi::MPI_Send(data, count, bytes_type(), to as c_int, tag, comm)
            })?;
        }
        Ok(())
    }

    fn recv(&self, from: usize, tag: Tag, bytes: &mut [u8]) -> Result<()> {
        check_rank(from, self.size)?;
        let expected = bytes.len();
        for range in self.pieces(expected) {
            let message = self.wait_for(from, tag)?;
            if message.length() != range.len() {
                return check_length(from, expected, range.start + message.length());
            }
            message.receive(&mut bytes[range])?;
        }
        Ok(())
    }

    /// All messages are started and completed even after a failure, since the peers wait for them;
    /// only what is left of a message that failed or came short is called off. So no request is left
    /// on the caller's memory, except where MPI itself gives up on one without completing it.
    /// A peer that never sends keeps this waiting, as it does any receive of MPI.
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
        let mut peers = sends.iter().map(|s| s.0).chain(recvs.iter().map(|r| r.0));
        peers.try_for_each(|peer| check_rank(peer, self.size))?;
        let mut flight = Flight::new(sends.len() + recvs.len());
        for (message, (from, bytes)) in recvs.iter_mut().enumerate() {
            let started = flight.start_recv(self, tag, message, *from, bytes);
            flight.note(started);
        }
        for (to, bytes) in sends {
            let started = flight.start_send(self, tag, *to, bytes);
            flight.note(started);
        }
        flight.finish()
    }

    fn transfer_limited(
        &self,
        tag: Tag,
        limit: Limit,
        sends: &[(usize, &[u8])],
        recvs: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        if limit == Limit::default() {
            return self.transfer(tag, sends, recvs);
        }
        let mut peers = sends.iter().map(|s| s.0).chain(recvs.iter().map(|r| r.0));
        peers.try_for_each(|peer| check_rank(peer, self.size))?;
        self.transfer_in_window(tag, limit, sends, recvs)
    }

    /// As [`Comm::transfer`] in what it does about failures.
    fn transfer_in_turn(
        &self,
        tag: Tag,
        sends: &[(usize, &[u8])],
        turns: &[Option<(usize, usize)>],
        rooms: &mut [&mut [u8]],
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()> {
        let senders = turns.iter().flatten().map(|turn| turn.0);
        let mut peers = sends.iter().map(|s| s.0).chain(senders);
        peers.try_for_each(|peer| check_rank(peer, self.size))?;
        self.transfer_through_rooms(tag, sends, turns, rooms, take)
    }

    /// Takes nothing more from a sender with whom it has failed, but all from the others.
    fn recv_in_parts(&self, tag: Tag, recvs: &mut [(usize, &mut [u8])]) -> Result<()> {
        recvs
            .iter()
            .try_for_each(|recv| check_rank(recv.0, self.size))?;
        self.receive_parts(tag, recvs)
    }

    /// As [`Comm::transfer`] in what it does about failures.
    fn start<B: Buffer>(
        &self,
        tag: Tag,
        sends: Vec<(usize, Arc<B>)>,
        recvs: Vec<(usize, B)>,
    ) -> Result<Journey<B>> {
        let mut peers = sends.iter().map(|s| s.0).chain(recvs.iter().map(|r| r.0));
        peers.try_for_each(|peer| check_rank(peer, self.size))?;
        let mut journey = Journey::with(sends.len() + recvs.len());
        for (from, bytes) in recvs {
            journey.receive(self, tag, from, bytes);
        }
        for (to, bytes) in sends {
            journey.send(self, tag, to, bytes);
        }
        Ok(journey)
    }

    fn barrier(&self) -> Result<()> {
        let comm = self.live()?;
        // SAFETY: `comm` is valid for the life of `self`.
        self.check("MPI_Barrier", unsafe { ffi::MPI_Barrier(comm) })
    }

    fn bcast(&self, root: usize, bytes: &mut [u8]) -> Result<()> {
        check_rank(root, self.size)?;
        let comm = self.live()?;
        for piece in bytes.chunks_mut(self.piece) {
            let (data, count) = (piece.as_mut_ptr().cast(), piece.len() as c_int);
            // SAFETY: `piece` holds `count` bytes and outlives the blocking call.
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
        if mine.len() > self.piece {
            // One block per rank and call: gathered pieces would need a second buffer to be sorted.
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

    fn deliver(&self, tag: Tag, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut peers = messages.iter().map(|(to, _)| *to);
        peers.try_for_each(|peer| check_rank(peer, self.size))?;
        self.deliver_sparsely(tag, messages)
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
        Some(Failure::Process) => return Err(Error::ProcessFailed { call }),
        Some(Failure::Revoked) => return Err(Error::Revoked { call }),
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

/// The ranks in `comm` of the members of `group`, which is freed.
#[cfg(stanchion_ulfm)]
pub(super) fn ranks_of(mut group: ffi::MPI_Group, comm: MPI_Comm) -> Result<Vec<usize>> {
    let mut size = 0;
    // SAFETY: `group` is valid, `size` is ours to write.
    check("MPI_Group_size", unsafe {
        ffi::MPI_Group_size(group, &mut size)
    })?;
    let members: Vec<c_int> = (0..size).collect();
    let ranks = translate(group, &members, comm);
    // SAFETY: `group` is ours and not used again.
    unsafe { ffi::MPI_Group_free(&mut group) };
    Ok(ranks?.into_iter().flatten().collect())
}

/// Whether all ranks of a communicator are in another, too; of one between two groups, those of the own group.
#[cfg(stanchion_ulfm)]
pub(super) fn is_within(part: MPI_Comm, whole: MPI_Comm) -> Result<bool> {
    let size = MpiComm::new(part, Kind::Borrowed)?.size();
    Ok(ranks_of(group_of(part)?, whole)?.len() == size)
}

/// The rank that member `rank` of one communicator has in another.
pub fn rank_in(of: MPI_Comm, rank: c_int, to: MPI_Comm) -> Result<Option<usize>> {
    let _handler = ReturnErrors::on(of)?;
    let mut group = group_of(of)?;
    let ranks = translate(group, &[rank], to);
    // SAFETY: `group` is ours and not used again.
    unsafe { ffi::MPI_Group_free(&mut group) };
    Ok(ranks?[0])
}

fn group_of(comm: MPI_Comm) -> Result<ffi::MPI_Group> {
    // SAFETY: a constant of the MPI shim, never written.
    let mut group = unsafe { ffi::RSMPI_GROUP_NULL };
    // SAFETY: `comm` is valid, `group` is ours to write.
    check("MPI_Comm_group", unsafe {
        ffi::MPI_Comm_group(comm, &mut group)
    })?;
    Ok(group)
}

fn translate(group: ffi::MPI_Group, ranks: &[c_int], to: MPI_Comm) -> Result<Vec<Option<usize>>> {
    let mut all = group_of(to)?;
    let mut found = vec![0; ranks.len()];
    let count = ranks.len() as c_int;
    // SAFETY: both arrays hold `count` numbers; MPI writes only the second.
    let translated = check("MPI_Group_translate_ranks", unsafe {
        ffi::MPI_Group_translate_ranks(group, count, ranks.as_ptr(), all, found.as_mut_ptr())
    });
    // SAFETY: `all` is ours and not used again.
    unsafe { ffi::MPI_Group_free(&mut all) };
    translated?;
    Ok(found
        .into_iter()
        .map(|rank| usize::try_from(rank).ok())
        .collect())
}

/// Tests a request of the user; an error goes to the handler of its communicator. Returns its code once it has
/// ended.
///
/// # Safety
/// As for MPI_Test.
pub unsafe fn test(request: *mut MPI_Request, status: *mut MPI_Status) -> Option<c_int> {
    if !is_running() {
        return Some(ffi::MPI_ERR_OTHER as c_int);
    }
    let mut done = 0;
    // SAFETY: promised by the caller; `done` is ours to write.
    let code = unsafe { ffi::MPI_Test(request, &mut done, status) };
    (done != 0 || code != SUCCESS).then_some(code)
}
