//! Serial netCDF: only the first I/O task has the file open.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};

use super::calls::{Call, Netcdf, VaraFn, of_kind};
use super::classic::{Classic, DataAccess, FILL_VALUE, NcFile, check_buffer, unfilled};
use super::load::{LibraryNames, Loaded};
use super::{Format, Transfer};
use crate::pio::{Error, Result};

const SOURCE: LibraryNames = LibraryNames {
    title: "netCDF",
    names: env!("STANCHION_NETCDF_NAMES"),
};

const EPERM: i32 = -37;
const ENOTATT: i32 = -43;
const ERANGE: i32 = -60;

struct NetcdfFile;

/// The library's functions; loads it at the first call, and keeps an error, too. Local.
pub(super) fn calls() -> Result<&'static Netcdf> {
    static LOADED: Loaded<Netcdf> = Loaded::new();
    let loaded = LOADED.get_or_init(|| SOURCE.load(Netcdf::find));
    loaded.as_ref().map_err(Error::clone)
}

/// Turns filling off, as PIO does.
pub fn create(path: &CStr, mode: i32) -> Result<Box<dyn Format>> {
    unfilled(start(|calls| &calls.create, path, mode)?)
}

pub fn open(path: &CStr, mode: i32) -> Result<Box<dyn Format>> {
    start(|calls| &calls.open, path, mode)
}

type OpenFn = unsafe extern "C" fn(*const c_char, c_int, *mut c_int) -> c_int;

fn start(
    open: fn(&'static Netcdf) -> &'static Call<OpenFn>,
    path: &CStr,
    mode: i32,
) -> Result<Box<dyn Format>> {
    let calls = calls()?;
    let (open, calls) = (open(calls), &calls.both);
    let mut id = -1;
    // SAFETY: the path ends with NUL, `id` is ours to write.
    calls.check(open.name, unsafe {
        (open.run)(path.as_ptr(), mode, &mut id)
    })?;
    Ok(Box::new(Classic {
        handle: NcFile { id, calls },
        library: NetcdfFile,
    }))
}

impl DataAccess for NetcdfFile {
    /// In these formats the library fills all variables or none: one that is to be filled turns filling on.
    fn def_var_fill(
        &mut self,
        file: &NcFile,
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

    /// A file that cannot be written counts as filled, as with PnetCDF.
    fn inq_var_fill(&mut self, file: &NcFile, var: i32) -> Result<(bool, Vec<u8>)> {
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

    fn write(&mut self, file: &NcFile, writes: &mut [Transfer]) -> Result<()> {
        let results = writes.iter_mut().map(|write| {
            let call = of_kind(&file.calls.put_vara, write.kind);
            each_region(file, call, write)
        });
        results.fold(Ok(()), Result::and)
    }

    fn read(&mut self, file: &NcFile, read: &mut Transfer) -> Result<()> {
        each_region(file, of_kind(&file.calls.get_vara, read.kind), read)
    }
}

fn each_region(file: &NcFile, call: &Call<VaraFn>, transfer: &mut Transfer) -> Result<()> {
    check_buffer(transfer)?;
    let (mut data, mut verdict) = (transfer.data.as_mut_ptr(), Ok(()));
    for (start, count) in transfer.regions.iter() {
        let (start, counts) = (start.as_ptr(), count.as_ptr());
        // SAFETY: the file is open; start, count and data are as long as the region says.
        let code = unsafe { (call.run)(file.id, transfer.var, start, counts, data.cast()) };
        // NC_ERANGE: some numbers do not fit, but all others are still transferred.
        verdict = verdict.and(file.calls.check(call.name, code));
        if code != 0 && code != ERANGE {
            break;
        }
        let bytes = count.iter().product::<u64>() as usize * transfer.kind.size();
        data = data.wrapping_add(bytes);
    }
    verdict
}
