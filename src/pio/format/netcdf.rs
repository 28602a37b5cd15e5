//! Files through serial netCDF: only the first I/O task has the file.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use super::calls::{ByKind, Call, Calls, by_kind, calls_of, of_kind};
use super::classic::{Classic, FILL_VALUE, Handle, Library, check_buffer, unfilled};
use super::{Format, Write};
use crate::pio::{Error, Kind, Regions, Result};

#[link(name = "netcdf")]
unsafe extern "C" {
    fn nc_create(path: *const c_char, mode: c_int, id: *mut c_int) -> c_int;
    fn nc_open(path: *const c_char, mode: c_int, id: *mut c_int) -> c_int;
}

type Regional<D> = unsafe extern "C" fn(c_int, c_int, *const u64, *const u64, D) -> c_int;

static CALLS: Calls = calls_of!("nc_");
static PUT: ByKind<Regional<*const c_void>> = by_kind!(
    "nc_",
    "put_vara_",
    "",
    fn(c_int, c_int, *const u64, *const u64, *const c_void)
);
static GET: ByKind<Regional<*mut c_void>> = by_kind!(
    "nc_",
    "get_vara_",
    "",
    fn(c_int, c_int, *const u64, *const u64, *mut c_void)
);

const EPERM: i32 = -37;
const ENOTATT: i32 = -43;
const ERANGE: i32 = -60;

struct Netcdf;

/// The library's words for an error.
pub(super) fn text_of(code: i32) -> String {
    CALLS.text_of(code)
}

/// As PIO has it: nothing is filled unless asked for.
pub fn create(path: &CStr, mode: i32) -> Result<Box<dyn Format>> {
    unfilled(started("nc_create", nc_create, path, mode)?)
}

pub fn open(path: &CStr, mode: i32) -> Result<Box<dyn Format>> {
    started("nc_open", nc_open, path, mode)
}

type Start = unsafe extern "C" fn(*const c_char, c_int, *mut c_int) -> c_int;

fn started(call: &'static str, start: Start, path: &CStr, mode: i32) -> Result<Box<dyn Format>> {
    let mut id = -1;
    // SAFETY: the path ends with NUL, `id` is ours to write.
    CALLS.check(call, unsafe { start(path.as_ptr(), mode, &mut id) })?;
    Ok(Box::new(Classic {
        handle: Handle { id, calls: &CALLS },
        library: Netcdf,
    }))
}

impl Library for Netcdf {
    /// The library fills whole files or nothing in these formats: one variable that is to be filled turns it on.
    fn def_var_fill(
        &mut self,
        file: &Handle,
        var: i32,
        fill: bool,
        value: Option<&[u8]>,
    ) -> Result<()> {
        if fill {
            file.set_fill(true)?;
        }
        let Some(value) = value else {
            return Ok(());
        };
        let kind = file.kind_of(var)?;
        file.put_attribute(var, FILL_VALUE, kind, kind, value)
    }

    /// Of a file that cannot be written it says that it is filled, as PnetCDF does.
    fn inq_var_fill(&mut self, file: &Handle, var: i32) -> Result<(bool, Vec<u8>)> {
        let kind = file.kind_of(var)?;
        let fill = match file.set_fill(true) {
            Err(Error::Format { code: EPERM, .. }) => true,
            old => {
                let old = old?;
                file.set_fill(old)?;
                old
            }
        };
        let mut value = match file.get_attribute(var, FILL_VALUE, kind) {
            Err(Error::Format { code: ENOTATT, .. }) => kind.default_fill(),
            value => value?,
        };
        value.resize(kind.size(), 0);
        Ok((fill, value))
    }

    fn write(&mut self, file: &Handle, writes: &mut [Write]) -> Result<()> {
        let results = writes.iter().map(|write| {
            check_buffer(write.kind, write.regions, write.data)?;
            let (call, data) = (of_kind(&PUT, write.kind), write.data.as_ptr());
            each(file, call, write.var, write.kind, write.regions, |offset| {
                data.wrapping_add(offset).cast()
            })
        });
        results.fold(Ok(()), Result::and)
    }

    fn read(
        &mut self,
        file: &Handle,
        var: i32,
        kind: Kind,
        regions: &Regions,
        data: &mut [u8],
    ) -> Result<()> {
        check_buffer(kind, regions, data)?;
        let data = data.as_mut_ptr();
        each(file, of_kind(&GET, kind), var, kind, regions, |offset| {
            data.wrapping_add(offset).cast()
        })
    }
}

/// Calls once for each region; `data` points to a place in the buffer, which has been checked.
fn each<D>(
    file: &Handle,
    call: &Call<Regional<D>>,
    var: i32,
    kind: Kind,
    regions: &Regions,
    data: impl Fn(usize) -> D,
) -> Result<()> {
    let (mut offset, mut verdict) = (0, Ok(()));
    for (start, count) in regions.iter() {
        // SAFETY: the file is open; start, count and data are as long as the region says.
        let code =
            unsafe { (call.run)(file.id, var, start.as_ptr(), count.as_ptr(), data(offset)) };
        // Numbers out of range are an error, but all others are still to be moved.
        verdict = verdict.and(CALLS.check(call.name, code));
        if code != 0 && code != ERANGE {
            break;
        }
        offset += count.iter().product::<u64>() as usize * kind.size();
    }
    verdict
}
