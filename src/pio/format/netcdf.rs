//! Files through serial netCDF: only the first I/O task has the file.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use super::calls::{Call, Netcdf, of_kind};
use super::classic::{Classic, FILL_VALUE, Handle, Library, check_buffer, unfilled};
use super::load::{Loaded, Source};
use super::{Format, Write};
use crate::pio::{Error, Kind, Regions, Result};

const SOURCE: Source = Source {
    title: "netCDF",
    names: env!("STANCHION_NETCDF_NAMES"),
};

type OfRegion = unsafe extern "C" fn(c_int, c_int, *const u64, *const u64, *mut c_void) -> c_int;

const EPERM: i32 = -37;
const ENOTATT: i32 = -43;
const ERANGE: i32 = -60;

struct File;

/// Loads the library if nobody has. Local; an error is kept as well.
pub(super) fn calls() -> Result<&'static Netcdf> {
    static LOADED: Loaded<Netcdf> = Loaded::new();
    let loaded = LOADED.get_or_init(|| SOURCE.load(Netcdf::find));
    loaded.as_ref().map_err(Error::clone)
}

/// As PIO has it: nothing is filled unless asked for.
pub fn create(path: &CStr, mode: i32) -> Result<Box<dyn Format>> {
    unfilled(started(|calls| &calls.create, path, mode)?)
}

pub fn open(path: &CStr, mode: i32) -> Result<Box<dyn Format>> {
    started(|calls| &calls.open, path, mode)
}

type Start = unsafe extern "C" fn(*const c_char, c_int, *mut c_int) -> c_int;

fn started(
    start: fn(&'static Netcdf) -> &'static Call<Start>,
    path: &CStr,
    mode: i32,
) -> Result<Box<dyn Format>> {
    let calls = calls()?;
    let (start, calls) = (start(calls), &calls.both);
    let mut id = -1;
    // SAFETY: the path ends with NUL, `id` is ours to write.
    calls.check(start.name, unsafe {
        (start.run)(path.as_ptr(), mode, &mut id)
    })?;
    Ok(Box::new(Classic {
        handle: Handle { id, calls },
        library: File,
    }))
}

impl Library for File {
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
        let results = writes.iter_mut().map(|write| {
            check_buffer(write.kind, write.regions, write.data)?;
            let call = of_kind(&file.calls.put_vara, write.kind);
            each(file, call, write)
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
        let mut read = Write {
            var,
            kind,
            regions,
            data,
        };
        each(file, of_kind(&file.calls.get_vara, kind), &mut read)
    }
}

/// Calls once for each region; the buffer has been checked.
fn each(file: &Handle, call: &Call<OfRegion>, transfer: &mut Write) -> Result<()> {
    let (mut data, mut verdict) = (transfer.data.as_mut_ptr(), Ok(()));
    for (start, count) in transfer.regions.iter() {
        let (start, counts) = (start.as_ptr(), count.as_ptr());
        // SAFETY: the file is open; start, count and data are as long as the region says.
        let code = unsafe { (call.run)(file.id, transfer.var, start, counts, data.cast()) };
        // Numbers out of range are an error, but all others are still to be moved.
        verdict = verdict.and(file.calls.check(call.name, code));
        if code != 0 && code != ERANGE {
            break;
        }
        let bytes = count.iter().product::<u64>() as usize * transfer.kind.size();
        data = data.wrapping_add(bytes);
    }
    verdict
}
