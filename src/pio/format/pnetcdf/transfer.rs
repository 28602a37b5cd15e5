//! Writing and reading by all I/O tasks together, with independent or collective calls.
//!
//! Independent: each task transfers its own pieces. This is faster for large pieces without gaps, as those of the box
//! rearranger: the tasks exchange nothing, and swapped bytes are still in the cache when they go to the file. The file
//! system need only keep concurrent writes of different tasks to different bytes, which MPI promises, too, without atomic
//! mode.
//!
//! Collective: MPI exchanges small pieces between the tasks, so that the file sees large ones.
//!
//! All tasks agree on the mode first. Records that a task adds in independent mode are known to all, and in the file's
//! header, when the library leaves that mode.

use std::borrow::Cow;
use std::ffi::{c_int, c_void};

use super::PnetcdfFile;
use crate::comm::{Comm, Op};
use crate::pio::format::Transfer;
use crate::pio::format::calls::{ByKind, Call, Calls, Pnetcdf, VaraFn, of_kind};
use crate::pio::format::classic::{NcFile, check_buffer};
use crate::pio::format::pieces::{RegionBatch, VarLayout, cut, elements, rounds};
use crate::pio::{Error, Hyperslabs, Kind, Result};

/// Bytes of the average run from which on independent calls are used: about where both modes take the same time.
const INDEPENDENT: u64 = 64 << 10;
/// Bytes of a piece in independent mode: small enough for a processor's cache, large enough for a file system.
const PIECE: u64 = 512 << 10;
/// Elements of all requests in one wait_all: the library takes less than 2 GiB.
const ROUND: u64 = 128 << 20;
/// As NC_REQ_NULL.
const NO_REQUEST: c_int = -1;

/// iput_varn or iget_varn: many regions.
type VarnFn = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    *const *mut u64,
    *const *mut u64,
    *mut c_void,
    *mut c_int,
) -> c_int;

/// The functions that write, or those that read.
pub(super) struct TransferCalls {
    calls: &'static Pnetcdf,
    independent: &'static ByKind<VaraFn>,
    collective: &'static ByKind<VarnFn>,
}

impl TransferCalls {
    pub(super) fn put(calls: &'static Pnetcdf) -> Self {
        Self {
            calls,
            independent: &calls.both.put_vara,
            collective: &calls.iput_varn,
        }
    }

    pub(super) fn get(calls: &'static Pnetcdf) -> Self {
        Self {
            calls,
            independent: &calls.both.get_vara,
            collective: &calls.iget_varn,
        }
    }
}

/// A [`Transfer`] of this task, with a buffer that has been checked, and the variable's shape.
struct VarTransfer<'a> {
    var: i32,
    kind: Kind,
    regions: &'a Hyperslabs,
    shape: VarLayout,
    data: *mut u8,
}

impl VarTransfer<'_> {
    fn is_independent(&self) -> bool {
        let runs = self.shape.runs(self.regions);
        self.regions.elements() * self.kind.size() as u64 >= runs * INDEPENDENT
    }

    fn pieces(&self) -> Cow<'_, Hyperslabs> {
        let most = PIECE / self.kind.size() as u64;
        cut(self.regions, |counts| self.shape.run(counts).min(most))
    }

    /// Each within one record: PnetCDF before 1.13 miscounts regions of several records.
    fn requests(&self) -> Cow<'_, Hyperslabs> {
        cut(self.regions, |counts| {
            self.shape.of_record(counts).min(ROUND)
        })
    }
}

/// Keeps the first error: a task goes on after a failure, since the others wait for it.
struct FirstError {
    calls: &'static Calls,
    error: Option<Error>,
}

impl FirstError {
    fn on(file: &NcFile) -> Self {
        let calls = file.calls;
        Self { calls, error: None }
    }

    fn note(&mut self, call: &'static str, code: c_int) -> bool {
        self.take(self.calls.check(call, code)).is_some()
    }

    fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.error.get_or_insert(error)).ok()
    }

    fn result(self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

/// Collective over the tasks that have the file open, with equally many variables in the same order.
pub(super) fn transfer(
    library: &PnetcdfFile,
    file: &NcFile,
    direction: &TransferCalls,
    writes: &mut [Transfer],
) -> Result<()> {
    let mut verdict = FirstError::on(file);
    let parts = parts(file, writes, &mut verdict);
    let objection = !library.independent || !parts.iter().all(VarTransfer::is_independent);
    let requests: Vec<_> = parts.iter().map(VarTransfer::requests).collect();
    let rounds = rounds(&requests, ROUND);
    let mut most = [u64::from(objection), rounds.len() as u64];
    library.comm.allreduce(Op::Max, &mut most)?;
    match most {
        [_, 0] => {}
        [0, _] => independent(file, direction, &parts, &mut verdict),
        [_, count] => {
            for at in 0..count as usize {
                let round = rounds.get(at).map_or(&[][..], Vec::as_slice);
                collective(file, direction, &parts, &requests, round, &mut verdict);
            }
        }
    }
    verdict.result()
}

/// Collective as [`transfer`]. If one task may not use independent I/O, or cannot learn a variable's shape, all of them
/// use collective calls, which report the failure.
pub(super) fn begin_pieces(
    library: &PnetcdfFile,
    file: &NcFile,
    parts: &[(i32, Kind, &Hyperslabs)],
) -> Result<Option<Vec<Hyperslabs>>> {
    let part = |&(var, kind, regions): &(i32, Kind, _)| {
        Ok(VarTransfer {
            var,
            kind,
            regions,
            shape: shape(file, var)?,
            data: std::ptr::null_mut(),
        })
    };
    let parts = parts.iter().map(part).collect::<Result<Vec<_>>>();
    let fits = |parts: &Vec<VarTransfer>| parts.iter().all(VarTransfer::is_independent);
    let objection = !library.independent || !parts.as_ref().is_ok_and(fits);
    let mut any = [u64::from(objection)];
    library.comm.allreduce(Op::Max, &mut any)?;
    let Some(parts) = parts.ok().filter(|_| any == [0]) else {
        return Ok(None);
    };
    // A failure here shows up again in every piece, and in end_pieces.
    // SAFETY: the file is open.
    unsafe { (library.calls.begin_indep_data.run)(file.id) };
    let pieces = parts.iter().map(|part| part.pieces().into_owned());
    Ok(Some(pieces.collect()))
}

pub(super) fn piece(file: &NcFile, direction: &TransferCalls, write: &mut Transfer) -> Result<()> {
    check_buffer(write)?;
    let call = of_kind(direction.independent, write.kind);
    let mut data = write.data.as_mut_ptr();
    let mut verdict = FirstError::on(file);
    for (start, counts) in write.regions.iter() {
        put_or_get(file, call, write.var, (start, counts), data, &mut verdict);
        data = data.wrapping_add(elements(counts) as usize * write.kind.size());
    }
    verdict.result()
}

/// Collective as [`begin_pieces`].
pub(super) fn end_pieces(library: &PnetcdfFile, file: &NcFile) -> Result<()> {
    let end = &library.calls.end_indep_data;
    // SAFETY: the file is open.
    file.calls.check(end.name, unsafe { (end.run)(file.id) })
}

fn parts<'a>(
    file: &NcFile,
    writes: &'a mut [Transfer],
    verdict: &mut FirstError,
) -> Vec<VarTransfer<'a>> {
    let part = |write: &'a mut Transfer| {
        check_buffer(write)?;
        Ok(VarTransfer {
            var: write.var,
            kind: write.kind,
            regions: write.regions,
            shape: shape(file, write.var)?,
            data: write.data.as_mut_ptr(),
        })
    };
    let parts = writes.iter_mut().map(part);
    parts.filter_map(|part| verdict.take(part)).collect()
}

fn shape(file: &NcFile, var: i32) -> Result<VarLayout> {
    let dims = file.var(var)?.dims;
    let record = dims.first() == Some(&file.counts()?.unlimited);
    let lengths = dims.into_iter().map(|dim| Ok(file.dim(dim)?.1));
    let lengths = lengths.collect::<Result<_>>()?;
    Ok(VarLayout { lengths, record })
}

fn independent(
    file: &NcFile,
    direction: &TransferCalls,
    parts: &[VarTransfer],
    verdict: &mut FirstError,
) {
    let (begin, end) = (
        &direction.calls.begin_indep_data,
        &direction.calls.end_indep_data,
    );
    // SAFETY: the file is open.
    let code = unsafe { (begin.run)(file.id) };
    if verdict.note(begin.name, code) {
        for part in parts {
            let call = of_kind(direction.independent, part.kind);
            each_piece(file, call, part, verdict);
        }
    }
    // SAFETY: as above.
    let code = unsafe { (end.run)(file.id) };
    verdict.note(end.name, code);
}

fn each_piece(file: &NcFile, call: &Call<VaraFn>, part: &VarTransfer, verdict: &mut FirstError) {
    let mut data = part.data;
    for (start, counts) in part.pieces().iter() {
        put_or_get(file, call, part.var, (start, counts), data, verdict);
        data = data.wrapping_add(elements(counts) as usize * part.kind.size());
    }
}

/// One region; `data` is as long.
fn put_or_get(
    file: &NcFile,
    call: &Call<VaraFn>,
    var: i32,
    (start, counts): (&[u64], &[u64]),
    data: *mut u8,
    verdict: &mut FirstError,
) {
    let (start, counts) = (start.as_ptr(), counts.as_ptr());
    // SAFETY: the file is open; start, counts and data are as long as the piece says.
    let code = unsafe { (call.run)(file.id, var, start, counts, data.cast()) };
    verdict.note(call.name, code);
}

/// Collective, also for a task that has nothing to do.
fn collective(
    file: &NcFile,
    direction: &TransferCalls,
    parts: &[VarTransfer],
    regions: &[Cow<'_, Hyperslabs>],
    round: &[RegionBatch],
    verdict: &mut FirstError,
) {
    let mut ids = Vec::new();
    for request in round {
        let (part, regions) = (&parts[request.list], &regions[request.list]);
        ids.push(start(file, direction, part, regions, request, verdict));
    }
    ids.retain(|id| *id != NO_REQUEST);
    wait(file, &direction.calls.wait_all, ids, verdict);
}

fn start(
    file: &NcFile,
    direction: &TransferCalls,
    part: &VarTransfer,
    regions: &Hyperslabs,
    request: &RegionBatch,
    verdict: &mut FirstError,
) -> c_int {
    let range = request.first..request.first + request.count;
    let lists = range.map(|at| regions.at(at));
    // The library only reads them, although its prototype lacks `const`.
    let (starts, counts): (Vec<_>, Vec<_>) = lists
        .map(|(start, count)| (start.as_ptr().cast_mut(), count.as_ptr().cast_mut()))
        .unzip();
    let call = of_kind(direction.collective, part.kind);
    let data = part
        .data
        .wrapping_add(request.offset as usize * part.kind.size());
    let mut id = NO_REQUEST;
    // SAFETY: the file is open; starts and counts are as many as said, the data as long as they say; they live until
    // they have been waited for.
    let code = unsafe {
        (call.run)(
            file.id,
            part.var,
            request.count as c_int,
            starts.as_ptr(),
            counts.as_ptr(),
            data.cast(),
            &mut id,
        )
    };
    // After NC_ERANGE the request exists all the same: all numbers that fit are transferred.
    verdict.note(call.name, code);
    id
}

type WaitFn = unsafe extern "C" fn(c_int, c_int, *mut c_int, *mut c_int) -> c_int;

fn wait(file: &NcFile, all: &Call<WaitFn>, mut ids: Vec<c_int>, verdict: &mut FirstError) {
    let mut codes = vec![0; ids.len()];
    let (count, ids) = (ids.len() as c_int, ids.as_mut_ptr());
    // SAFETY: the file is open; both arrays are as long as said.
    let code = unsafe { (all.run)(file.id, count, ids, codes.as_mut_ptr()) };
    verdict.note(all.name, code);
    for code in codes {
        verdict.note(all.name, code);
    }
}
