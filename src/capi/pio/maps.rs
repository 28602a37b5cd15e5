//! # Maps
//!
//! Decompositions in files.

use crate::capi::pio::args::{NAME_ROOM, array, name, path, store_name};
use crate::capi::pio::decompositions::{Given, dims, make};
use crate::capi::pio::errors::status;
use crate::capi::pio::library as pio;
use crate::capi::pio::open::Opening;
use crate::capi::pio::registry::{self as registry, System, on_system, same};
use crate::capi::pio::types::PIO_Offset;
use crate::capi::{alloc, ptr};
use crate::comm::mpi::{self, MPI_Comm, MpiComm};
use crate::pio::decomp_file::{self, About, Stored};
use crate::pio::map_file::{self, Style, TextMap};
use crate::pio::{Decomp, Error, Result, agree};
use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an I/O system was made by Fortran: SCORPIO then writes dimensions in its order.
static FORTRAN: AtomicBool = AtomicBool::new(false);

pub(in crate::capi) fn expect_fortran() {
    FORTRAN.store(true, Ordering::Relaxed);
}

// ---- text files ----

/// Reads this rank's map from a text file of PIOc_writemap. There may be more ranks than wrote it.
///
/// # Returns
/// PIO_NOERR; the dimensions in `gdims` and the map in `map`, both to be given to free(), their lengths in `ndims`
/// and `fmaplen`.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_readmap(
    file: *const c_char,
    ndims: *mut c_int,
    gdims: *mut *mut c_int,
    fmaplen: *mut PIO_Offset,
    map: *mut *mut PIO_Offset,
    comm: MPI_Comm,
) -> c_int {
    status(|| {
        let comm = MpiComm::private(comm)?;
        let places = [
            ndims.is_null(),
            gdims.is_null(),
            fmaplen.is_null(),
            map.is_null(),
        ];
        let given = match places.contains(&true) {
            true => Err(Error::Null("ndims, gdims, fmaplen or map")),
            // SAFETY: arguments of the caller.
            false => unsafe { path("file", file) },
        };
        let read = map_file::read(&comm, file_path(same(&comm, "files", given)?))?;
        let (dims, entries) = agree(&comm, copies(&read))?;
        // SAFETY: not NULL, or the ranks had not agreed.
        unsafe {
            ndims.write(read.dims.len() as c_int);
            gdims.write(dims);
            fmaplen.write(read.map.len() as PIO_Offset);
            map.write(entries);
        }
        Ok(())
    })
}

fn file_path(path: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(path.to_bytes()))
}

/// What C frees: dimensions and map.
fn copies(read: &TextMap) -> Result<(*mut c_int, *mut PIO_Offset)> {
    let dims: Vec<c_int> = read.dims.iter().map(|dim| *dim as c_int).collect();
    let dims = alloc::copy(&dims).ok_or(Error::Memory(4 * read.dims.len() as u64))?;
    match alloc::copy(&read.map) {
        Some(map) => Ok((dims, map)),
        None => {
            // SAFETY: from malloc, and nobody has it.
            unsafe { libc::free(dims.cast()) };
            Err(Error::Memory(8 * read.map.len() as u64))
        }
    }
}

/// As PIOc_readmap with the communicator as Fortran has it.
///
/// # Collective
/// As PIOc_readmap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_readmap_from_f90(
    file: *const c_char,
    ndims: *mut c_int,
    gdims: *mut *mut c_int,
    maplen: *mut PIO_Offset,
    map: *mut *mut PIO_Offset,
    f90_comm: c_int,
) -> c_int {
    let comm = mpi::comm_of_fortran(f90_comm);
    // SAFETY: arguments of the caller.
    unsafe { PIOc_readmap(file, ndims, gdims, maplen, map, comm) }
}

/// Writes the maps of all ranks into a text file, which changes at once or not at all.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_writemap(
    file: *const c_char,
    ndims: c_int,
    gdims: *const c_int,
    maplen: PIO_Offset,
    map: *const PIO_Offset,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe { write_map(file, Style::Ncar, ndims, gdims, maplen, map, comm) }
}

/// Writes the maps of all ranks into a text file, which changes at once or not at all. `ioid` is noted there.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_writemap(
    file: *const c_char,
    ioid: c_int,
    ndims: c_int,
    gdims: *const c_int,
    maplen: PIO_Offset,
    map: *const PIO_Offset,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: arguments of the caller.
    unsafe {
        write_map(
            file,
            Style::Scorpio { ioid },
            ndims,
            gdims,
            maplen,
            map,
            comm,
        )
    }
}

/// As PIOc_writemap with the communicator as Fortran has it.
///
/// # Collective
/// As PIOc_writemap.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_writemap_from_f90(
    file: *const c_char,
    ndims: c_int,
    gdims: *const c_int,
    maplen: PIO_Offset,
    map: *const PIO_Offset,
    f90_comm: c_int,
) -> c_int {
    let comm = mpi::comm_of_fortran(f90_comm);
    // SAFETY: arguments of the caller.
    unsafe { PIOc_writemap(file, ndims, gdims, maplen, map, comm) }
}

/// As PIOc_writemap with the communicator as Fortran has it.
///
/// # Collective
/// As PIOc_writemap.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_writemap_from_f90(
    file: *const c_char,
    ioid: c_int,
    ndims: c_int,
    gdims: *const c_int,
    maplen: PIO_Offset,
    map: *const PIO_Offset,
    f90_comm: c_int,
) -> c_int {
    let comm = mpi::comm_of_fortran(f90_comm);
    // SAFETY: arguments of the caller.
    unsafe { PIOc_writemap(file, ioid, ndims, gdims, maplen, map, comm) }
}

unsafe fn write_map(
    file: *const c_char,
    style: Style,
    ndims: c_int,
    gdims: *const c_int,
    maplen: PIO_Offset,
    map: *const PIO_Offset,
    comm: MPI_Comm,
) -> c_int {
    status(|| {
        let comm = MpiComm::private(comm)?;
        // SAFETY: promised by the caller.
        let (map, dims) = unsafe { (array("map", map, maplen), dims(ndims, gdims)) };
        // SAFETY: as above.
        let given = unsafe { path("file", file) }.and_then(|file| Ok((file, dims?)));
        let given = given.and_then(|given| map.clone().and(Ok(given)));
        let (file, dims) = same(&comm, "files or dimensions", given)?;
        let map = map?;
        map_file::write(&comm, file_path(file), style, &in_order(dims), map)
    })
}

/// The dimensions as SCORPIO writes them.
fn in_order(mut dims: Vec<u64>) -> Vec<u64> {
    if cfg!(not(feature = "pio_ncar")) && FORTRAN.load(Ordering::Relaxed) {
        dims.reverse();
    }
    dims
}

/// Writes a decomposition into a text file, in the order in which the maps were given.
///
/// # Collective
/// Called by all ranks of `comm`, which are those of the I/O system. They all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_write_decomp(
    file: *const c_char,
    iosysid: c_int,
    ioid: c_int,
    comm: MPI_Comm,
) -> c_int {
    on_system(iosysid, |system| {
        let decomp = registry::decomp_of(system, ioid);
        // SAFETY: arguments of the caller.
        let given = unsafe { path("file", file) };
        let given = given.and_then(|file| match mpi::is_null(comm) {
            true => Err(Error::Null("comm")),
            false => Ok((file, decomp.as_ref().map_err(Error::clone)?.number)),
        });
        // Before `comm` is used, which not all ranks may have.
        let (file, _) = system.agree_same("files or decompositions", given)?;
        let decomp = decomp?;
        let comm = system.agree(MpiComm::private(comm).map_err(Error::from))?;
        let style = match cfg!(feature = "pio_ncar") {
            true => Style::Ncar,
            false => Style::Scorpio { ioid },
        };
        let dims = in_order(decomp.dims.clone());
        let map = system.agree(decomp.map())?;
        map_file::write(&comm, file_path(file), style, &dims, &map)
    })
}

// ---- netCDF files ----

/// Writes a decomposition into a netCDF file, in the order in which the maps were given. `cmode` is as for
/// PIOc_create; `title` and `history` may be NULL.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_write_nc_decomp(
    iosysid: c_int,
    filename: *const c_char,
    cmode: c_int,
    ioid: c_int,
    title: *const c_char,
    history: *const c_char,
    fortran_order: c_int,
) -> c_int {
    on_system(iosysid, |system| {
        let decomp = registry::decomp_of(system, ioid);
        // SAFETY: arguments of the caller.
        let about = unsafe { about(title, history, fortran_order != 0) };
        // SAFETY: as above.
        let given = unsafe { Opening::by_mode(filename, cmode) };
        let given = given.and_then(|opening| {
            let (decomp, about) = (decomp.clone()?, about.as_ref().map_err(Error::clone)?);
            let texts = (
                about.title.is_some(),
                about.history.is_some(),
                about.fortran,
            );
            Ok((opening, decomp.number, texts))
        });
        let (opening, ..) = system.agree_same("files or decompositions", given)?;
        write_nc(system, opening, &*decomp?, &about?)
    })
}

unsafe fn about(title: *const c_char, history: *const c_char, fortran: bool) -> Result<About> {
    let optional = |argument, text: *const c_char| {
        // SAFETY: promised by the caller.
        let text = (!text.is_null()).then(|| unsafe { name(argument, text) });
        text.transpose().map(|text| text.map(CString::from))
    };
    Ok(About {
        version: CString::new(pio::version()).unwrap_or_default(),
        title: optional("title", title)?,
        history: optional("history", history)?,
        fortran,
    })
}

fn write_nc(system: &Arc<System>, opening: Opening, decomp: &Decomp, about: &About) -> Result<()> {
    let opening = match decomp_file::is_small(&decomp.dims) {
        true => opening,
        false => opening.with_large_numbers(),
    };
    let map = system.agree(decomp.map())?;
    let mut file = opening.filling().create_file(system)?;
    let written = decomp_file::write(&mut file, &decomp.dims, &map, about);
    written.and(file.close())
}

/// Makes a decomposition of a netCDF file of PIOc_write_nc_decomp, which as many ranks wrote. `title` and `history`
/// have room for PIO_MAX_NAME characters and a NUL; they and `fortran_order` may be NULL.
///
/// # Returns
/// PIO_NOERR, and the id in `ioid`.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code; `comm` is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PIOc_read_nc_decomp(
    iosysid: c_int,
    filename: *const c_char,
    ioid: *mut c_int,
    comm: MPI_Comm,
    pio_type: c_int,
    title: *mut c_char,
    history: *mut c_char,
    fortran_order: *mut c_int,
) -> c_int {
    let _ = comm;
    on_system(iosysid, |system| {
        // SAFETY: arguments of the caller.
        let given = unsafe { Opening::by_mode(filename, 0) };
        let given = match ioid.is_null() {
            true => Err(Error::Null("ioid")),
            false => given,
        };
        let stored = read_nc(system, system.agree_same("files", given)?)?;
        let given = Given::new(system, pio_type, stored.dims, &stored.map, None);
        let id = make(system, given)?;
        // SAFETY: arguments of the caller; `ioid` is not NULL, or the ranks had not agreed.
        unsafe {
            ioid.write(id);
            ptr::store(fortran_order, stored.about.fortran.into());
            for (place, text) in [(title, stored.about.title), (history, stored.about.history)] {
                store_name(place, NAME_ROOM, &text.unwrap_or_default());
            }
        }
        Ok(())
    })
}

fn read_nc(system: &Arc<System>, opening: Opening) -> Result<Stored> {
    let mut file = opening.open_file(system)?;
    let stored = decomp_file::read(&mut file, opening.file_length());
    let closed = file.close();
    stored.and_then(|stored| closed.map(|()| stored))
}
