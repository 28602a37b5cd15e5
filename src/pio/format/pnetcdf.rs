//! Files through PnetCDF: every I/O task has the file.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use super::calls::{ByKind, Call, Calls, Text, by_kind, calls_of, of_kind};
use super::classic::{Classic, Handle, Library, check_buffer};
use super::{Format, Write};
use crate::comm::mpi::{Info, MPI_Comm, MPI_Info, MpiComm};
use crate::pio::{Error, Kind, Regions, Result};

#[link(name = "pnetcdf")]
unsafe extern "C" {
    fn ncmpi_create(
        comm: MPI_Comm,
        path: *const c_char,
        mode: c_int,
        info: MPI_Info,
        id: *mut c_int,
    ) -> c_int;
    fn ncmpi_open(
        comm: MPI_Comm,
        path: *const c_char,
        mode: c_int,
        info: MPI_Info,
        id: *mut c_int,
    ) -> c_int;
    fn ncmpi_def_var_fill(id: c_int, var: c_int, nofill: c_int, value: *const c_void) -> c_int;
    fn ncmpi_inq_var_fill(id: c_int, var: c_int, nofill: *mut c_int, value: *mut c_void) -> c_int;
    fn ncmpi_wait_all(id: c_int, count: c_int, requests: *mut c_int, codes: *mut c_int) -> c_int;
}

type Regional<D, R> =
    unsafe extern "C" fn(c_int, c_int, c_int, *const *mut i64, *const *mut i64, D, R) -> c_int;

static CALLS: Calls = calls_of!("ncmpi_");
static IPUT: ByKind<Regional<*const c_void, *mut c_int>> = by_kind!(
    "ncmpi_",
    "iput_varn_",
    "",
    fn(c_int, c_int, c_int, *const *mut i64, *const *mut i64, *const c_void, *mut c_int)
);
static IGET: ByKind<Regional<*mut c_void, *mut c_int>> = by_kind!(
    "ncmpi_",
    "iget_varn_",
    "",
    fn(c_int, c_int, c_int, *const *mut i64, *const *mut i64, *mut c_void, *mut c_int)
);

/// What stands for no request.
const NONE: c_int = -1;

struct Pnetcdf;

/// The library's words for an error.
pub(super) fn text_of(code: i32) -> String {
    CALLS.text_of(code)
}

/// Collective over `comm`. As PIO has it: nothing is filled unless asked for.
pub fn create(
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    let mut file = started("ncmpi_create", ncmpi_create, comm, path, mode, hints)?;
    file.set_fill(false)?;
    Ok(file)
}

/// Collective over `comm`.
pub fn open(
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    started("ncmpi_open", ncmpi_open, comm, path, mode, hints)
}

type Start = unsafe extern "C" fn(MPI_Comm, Text, c_int, MPI_Info, *mut c_int) -> c_int;

fn started(
    call: &'static str,
    start: Start,
    comm: &MpiComm,
    path: &CStr,
    mode: i32,
    hints: &[(CString, CString)],
) -> Result<Box<dyn Format>> {
    let info = Info::new(hints)?;
    let mut id = -1;
    // SAFETY: communicator and info are valid, the path ends with NUL, `id` is ours to write.
    CALLS.check(call, unsafe {
        start(comm.handle(), path.as_ptr(), mode, info.handle(), &mut id)
    })?;
    Ok(Box::new(Classic {
        handle: Handle { id, calls: &CALLS },
        library: Pnetcdf,
    }))
}

impl Library for Pnetcdf {
    fn def_var_fill(
        &mut self,
        file: &Handle,
        var: i32,
        fill: bool,
        value: Option<&[u8]>,
    ) -> Result<()> {
        let value = value.map_or(std::ptr::null(), <[u8]>::as_ptr);
        // SAFETY: the file is open; the value is one of the variable's kind, or NULL.
        CALLS.check("ncmpi_def_var_fill", unsafe {
            ncmpi_def_var_fill(file.id, var, c_int::from(!fill), value.cast())
        })
    }

    fn inq_var_fill(&mut self, file: &Handle, var: i32) -> Result<(bool, Vec<u8>)> {
        let mut value = vec![0; file.kind_of(var)?.size()];
        let mut nofill = 0;
        // SAFETY: the file is open; there is room for one value of the variable's kind.
        CALLS.check("ncmpi_inq_var_fill", unsafe {
            ncmpi_inq_var_fill(file.id, var, &mut nofill, value.as_mut_ptr().cast())
        })?;
        Ok((nofill == 0, value))
    }

    /// Collective, so a task that cannot take part in one variable still waits with the others.
    fn write(&mut self, file: &Handle, writes: &mut [Write]) -> Result<()> {
        let mut requests = Requests::default();
        for write in writes {
            let (var, data) = (write.var, write.data.as_ptr().cast());
            let call = of_kind(&IPUT, write.kind);
            if requests.may_start(write.kind, write.regions, write.data) {
                requests.start_by_record(file, call, var, write.regions, data);
            }
        }
        requests.wait(file)
    }

    fn read(
        &mut self,
        file: &Handle,
        var: i32,
        kind: Kind,
        regions: &Regions,
        data: &mut [u8],
    ) -> Result<()> {
        let mut requests = Requests::default();
        if requests.may_start(kind, regions, data) {
            let call = of_kind(&IGET, kind);
            let data = data.as_mut_ptr().cast();
            requests.start_by_record(file, call, var, regions, data);
        }
        requests.wait(file)
    }
}

/// The same elements in regions of one record each: PnetCDF 1.12 makes an invalid datatype of several records in one
/// region of a list, and the tasks that did not fail wait for ever.
fn by_record<'a>(file: &Handle, var: i32, regions: &'a Regions) -> Result<Cow<'a, Regions>> {
    let records = |count: &[u64]| count.first().map_or(1, |records| *records);
    if regions.iter().all(|(_, count)| records(count) <= 1) || !file.has_records(var)? {
        return Ok(Cow::Borrowed(regions));
    }
    let number: u64 = regions.iter().map(|(_, count)| records(count)).sum();
    let mut split = Regions::with_room(regions.dimensions(), number as usize)?;
    for (start, count) in regions.iter() {
        let (mut one, mut at) = (count.to_vec(), start.to_vec());
        one[0] = 1;
        for record in start[0]..start[0] + count[0] {
            at[0] = record;
            split.push(&at, &one);
        }
    }
    Ok(Cow::Owned(split))
}

/// What was started and is not complete yet, and the first thing that went wrong.
#[derive(Default)]
struct Requests {
    ids: Vec<c_int>,
    failure: Option<Error>,
}

impl Requests {
    fn note(&mut self, result: Result<()>) -> bool {
        let fine = result.is_ok();
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
        fine
    }

    fn may_start(&mut self, kind: Kind, regions: &Regions, data: &[u8]) -> bool {
        self.note(check_buffer(kind, regions, data)) && !regions.is_empty()
    }

    /// `data` has been checked and lives until [`Requests::wait`].
    fn start_by_record<D>(
        &mut self,
        file: &Handle,
        call: &Call<Regional<D, *mut c_int>>,
        var: i32,
        regions: &Regions,
        data: D,
    ) {
        match by_record(file, var, regions) {
            Ok(regions) => self.start(file, call, var, &regions, data),
            Err(error) => drop(self.note(Err(error))),
        }
    }

    fn start<D>(
        &mut self,
        file: &Handle,
        call: &Call<Regional<D, *mut c_int>>,
        var: i32,
        regions: &Regions,
        data: D,
    ) {
        let mut request = NONE;
        let pointers = |numbers: &[u64]| numbers.as_ptr().cast_mut().cast::<i64>();
        let starts: Vec<_> = regions.iter().map(|region| pointers(region.0)).collect();
        let counts: Vec<_> = regions.iter().map(|region| pointers(region.1)).collect();
        let count = regions.len() as c_int;
        // SAFETY: the file is open; starts and counts are as many as `count`, which the library only reads; the data are
        // as long as they say.
        let code = unsafe {
            (call.run)(
                file.id,
                var,
                count,
                starts.as_ptr(),
                counts.as_ptr(),
                data,
                &mut request,
            )
        };
        self.note(CALLS.check(call.name, code));
        // Numbers out of range are an error, but the others of the request are still to be written.
        if request != NONE {
            self.ids.push(request);
        }
    }

    /// Collective, also for a task that started nothing.
    fn wait(mut self, file: &Handle) -> Result<()> {
        let mut codes = vec![0; self.ids.len()];
        let (count, ids) = (self.ids.len() as c_int, self.ids.as_mut_ptr());
        // SAFETY: the file is open; both arrays hold `count` numbers.
        let code = unsafe { ncmpi_wait_all(file.id, count, ids, codes.as_mut_ptr()) };
        codes.insert(0, code);
        for code in codes {
            self.note(CALLS.check("ncmpi_wait_all", code));
        }
        self.failure.map_or(Ok(()), Err)
    }
}
