//! Writing and reading by all I/O tasks together, in one of two ways.
//!
//! Directly: each task writes its own pieces with independent calls. This is the faster way when they are large
//! and without gaps, as those of a box or of a merged subset are: nothing is exchanged between the tasks, and what is
//! swapped is still in the cache when it goes to the file. It needs no more of a file system than that writes
//! of different tasks to different bytes both arrive, which MPI promises as well without atomic mode.
//!
//! Collectively: MPI exchanges small pieces between the tasks until the file sees large ones.
//!
//! All tasks agree on the way first. Records that a task has added in the direct way are known to all, and in the
//! file's header, when the library leaves its independent mode.

use std::borrow::Cow;
use std::ffi::{c_int, c_void};

use super::File;
use crate::comm::{Comm, Op};
use crate::pio::format::Write;
use crate::pio::format::calls::{ByKind, Call, Calls, Pnetcdf, of_kind};
use crate::pio::format::classic::{Handle, check_buffer};
use crate::pio::format::pieces::{Request, Shape, cut, elements, rounds};
use crate::pio::{Error, Kind, Regions, Result};

/// Bytes of the average run that make the direct way worth while: about where both ways take the same time.
const DIRECT: u64 = 64 << 10;
/// Bytes of a piece in the direct way: small enough for a processor's cache, large enough for a file system.
const PIECE: u64 = 512 << 10;
/// Elements of all requests that are waited for at once: the library takes less than 2 GiB.
const ROUND: u64 = 128 << 20;
/// What stands for no request.
const NONE: c_int = -1;

type Lists = *const *mut u64;
type Data = *mut c_void;
type OfRegion = unsafe extern "C" fn(c_int, c_int, *const u64, *const u64, Data) -> c_int;
type OfRegions = unsafe extern "C" fn(c_int, c_int, c_int, Lists, Lists, Data, *mut c_int) -> c_int;

/// The functions of one direction.
pub(super) struct Direction {
    calls: &'static Pnetcdf,
    direct: &'static ByKind<OfRegion>,
    collective: &'static ByKind<OfRegions>,
}

impl Direction {
    pub(super) fn put(calls: &'static Pnetcdf) -> Self {
        Self {
            calls,
            direct: &calls.both.put_vara,
            collective: &calls.iput_varn,
        }
    }

    pub(super) fn get(calls: &'static Pnetcdf) -> Self {
        Self {
            calls,
            direct: &calls.both.get_vara,
            collective: &calls.iget_varn,
        }
    }
}

/// What one task has to do for one variable; its buffer has been checked.
struct Part<'a> {
    var: i32,
    kind: Kind,
    regions: &'a Regions,
    shape: Shape,
    data: *mut u8,
}

impl Part<'_> {
    fn is_direct(&self) -> bool {
        let runs = self.shape.runs(self.regions);
        self.regions.elements() * self.kind.size() as u64 >= runs * DIRECT
    }

    fn pieces(&self) -> Cow<'_, Regions> {
        let most = PIECE / self.kind.size() as u64;
        cut(self.regions, |counts| self.shape.run(counts).min(most))
    }

    /// PnetCDF before 1.13 takes a region of several records for more than it is.
    fn requests(&self) -> Cow<'_, Regions> {
        cut(self.regions, |counts| {
            self.shape.of_record(counts).min(ROUND)
        })
    }
}

/// The first thing that went wrong; the others wait for this task all the same.
struct Verdict {
    calls: &'static Calls,
    error: Option<Error>,
}

impl Verdict {
    fn on(file: &Handle) -> Self {
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

/// Collective over the tasks that have the file, with equally many variables in the same order.
pub(super) fn transfer(
    library: &File,
    file: &Handle,
    direction: &Direction,
    writes: &mut [Write],
) -> Result<()> {
    let mut verdict = Verdict::on(file);
    let parts = parts(file, writes, &mut verdict);
    let objection = !library.independent || !parts.iter().all(Part::is_direct);
    let requests: Vec<_> = parts.iter().map(Part::requests).collect();
    let rounds = rounds(&requests, ROUND);
    let mut most = [u64::from(objection), rounds.len() as u64];
    library.comm.allreduce(Op::Max, &mut most)?;
    match most {
        [_, 0] => {}
        [0, _] => direct(file, direction, &parts, &mut verdict),
        [_, count] => {
            for at in 0..count as usize {
                let round = rounds.get(at).map_or(&[][..], Vec::as_slice);
                collective(file, direction, &parts, &requests, round, &mut verdict);
            }
        }
    }
    verdict.result()
}

/// Collective as [`transfer`]. The tasks that may not write on their own, or fail to know what to write, are reasons for
/// all of them to go the collective way, where what failed is told.
pub(super) fn begin_pieces(
    library: &File,
    file: &Handle,
    parts: &[(i32, Kind, &Regions)],
) -> Result<Option<Vec<Regions>>> {
    let part = |&(var, kind, regions): &(i32, Kind, _)| {
        Ok(Part {
            var,
            kind,
            regions,
            shape: shape(file, var)?,
            data: std::ptr::null_mut(),
        })
    };
    let parts = parts.iter().map(part).collect::<Result<Vec<_>>>();
    let is_direct = |parts: &Vec<Part>| parts.iter().all(Part::is_direct);
    let objection = !library.independent || !parts.as_ref().is_ok_and(is_direct);
    let mut any = [u64::from(objection)];
    library.comm.allreduce(Op::Max, &mut any)?;
    let Some(parts) = parts.ok().filter(|_| any == [0]) else {
        return Ok(None);
    };
    // A failure here is told by every piece, and by the end.
    // SAFETY: the file is open.
    unsafe { (library.calls.begin_indep_data.run)(file.id) };
    let pieces = parts.iter().map(|part| part.pieces().into_owned());
    Ok(Some(pieces.collect()))
}

pub(super) fn piece(file: &Handle, direction: &Direction, write: &mut Write) -> Result<()> {
    check_buffer(write.kind, write.regions, write.data)?;
    let call = of_kind(direction.direct, write.kind);
    let mut data = write.data.as_mut_ptr();
    let mut verdict = Verdict::on(file);
    for (start, counts) in write.regions.iter() {
        put_or_get(file, call, write.var, (start, counts), data, &mut verdict);
        data = data.wrapping_add(elements(counts) as usize * write.kind.size());
    }
    verdict.result()
}

/// Collective as [`begin_pieces`].
pub(super) fn end_pieces(library: &File, file: &Handle) -> Result<()> {
    let end = &library.calls.end_indep_data;
    // SAFETY: the file is open.
    file.calls.check(end.name, unsafe { (end.run)(file.id) })
}

fn parts<'a>(file: &Handle, writes: &'a mut [Write], verdict: &mut Verdict) -> Vec<Part<'a>> {
    let part = |write: &'a mut Write| {
        check_buffer(write.kind, write.regions, write.data)?;
        Ok(Part {
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

fn shape(file: &Handle, var: i32) -> Result<Shape> {
    let dims = file.var(var)?.dims;
    let record = dims.first() == Some(&file.counts()?.unlimited);
    let lengths = dims.into_iter().map(|dim| Ok(file.dim(dim)?.1));
    let lengths = lengths.collect::<Result<_>>()?;
    Ok(Shape { lengths, record })
}

fn direct(file: &Handle, direction: &Direction, parts: &[Part], verdict: &mut Verdict) {
    let (begin, end) = (
        &direction.calls.begin_indep_data,
        &direction.calls.end_indep_data,
    );
    // SAFETY: the file is open.
    let code = unsafe { (begin.run)(file.id) };
    if verdict.note(begin.name, code) {
        for part in parts {
            let call = of_kind(direction.direct, part.kind);
            each_piece(file, call, part, verdict);
        }
    }
    // SAFETY: as above.
    let code = unsafe { (end.run)(file.id) };
    verdict.note(end.name, code);
}

fn each_piece(file: &Handle, call: &Call<OfRegion>, part: &Part, verdict: &mut Verdict) {
    let mut data = part.data;
    for (start, counts) in part.pieces().iter() {
        put_or_get(file, call, part.var, (start, counts), data, verdict);
        data = data.wrapping_add(elements(counts) as usize * part.kind.size());
    }
}

/// One piece; `data` is as long as it says.
fn put_or_get(
    file: &Handle,
    call: &Call<OfRegion>,
    var: i32,
    (start, counts): (&[u64], &[u64]),
    data: *mut u8,
    verdict: &mut Verdict,
) {
    let (start, counts) = (start.as_ptr(), counts.as_ptr());
    // SAFETY: the file is open; start, counts and data are as long as the piece says.
    let code = unsafe { (call.run)(file.id, var, start, counts, data.cast()) };
    verdict.note(call.name, code);
}

/// Collective, also for a task that has nothing to do.
fn collective(
    file: &Handle,
    direction: &Direction,
    parts: &[Part],
    regions: &[Cow<'_, Regions>],
    round: &[Request],
    verdict: &mut Verdict,
) {
    let mut ids = Vec::new();
    for request in round {
        let (part, regions) = (&parts[request.list], &regions[request.list]);
        ids.push(start(file, direction, part, regions, request, verdict));
    }
    ids.retain(|id| *id != NONE);
    wait(file, &direction.calls.wait_all, ids, verdict);
}

fn start(
    file: &Handle,
    direction: &Direction,
    part: &Part,
    regions: &Regions,
    request: &Request,
    verdict: &mut Verdict,
) -> c_int {
    let range = request.first..request.first + request.count;
    let lists = range.map(|at| regions.at(at));
    // The library does not write to them, whatever its prototype says.
    let (starts, counts): (Vec<_>, Vec<_>) = lists
        .map(|(start, count)| (start.as_ptr().cast_mut(), count.as_ptr().cast_mut()))
        .unzip();
    let call = of_kind(direction.collective, part.kind);
    let data = part
        .data
        .wrapping_add(request.offset as usize * part.kind.size());
    let mut id = NONE;
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
    // Numbers out of range are an error, but the request is there and the others are written.
    verdict.note(call.name, code);
    id
}

type Wait = unsafe extern "C" fn(c_int, c_int, *mut c_int, *mut c_int) -> c_int;

fn wait(file: &Handle, all: &Call<Wait>, mut ids: Vec<c_int>, verdict: &mut Verdict) {
    let mut codes = vec![0; ids.len()];
    let (count, ids) = (ids.len() as c_int, ids.as_mut_ptr());
    // SAFETY: the file is open; both arrays are as long as said.
    let code = unsafe { (all.run)(file.id, count, ids, codes.as_mut_ptr()) };
    verdict.note(all.name, code);
    for code in codes {
        verdict.note(all.name, code);
    }
}
