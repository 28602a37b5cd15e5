//! # Maps
//!
//! Decompositions in files: text files of maps, and netCDF files.

use super::args::{NAME_ROOM, any_text, array, name};
use super::decompositions::{dims, make, spec};
use super::errors::status;
use super::library::version;
use super::open::Opening;
use super::registry::{self, System, on_system, same};
use super::types::PIO_Offset;
use crate::capi::boundary::{Array, Out, OutArray, Text, malloc_copy, path_of};
use crate::comm::mpi::{self, MPI_Comm, MpiComm};
use crate::pio::decomp_file::{self, About, StoredDecomp};
use crate::pio::map_file::{self, Style, TextMap};
use crate::pio::{Decomp, Error, Result, agree};
use std::ffi::{CString, c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an I/O system was made by Fortran: SCORPIO then writes dimensions in its order.
static FORTRAN: AtomicBool = AtomicBool::new(false);

pub(super) fn expect_fortran() {
    FORTRAN.store(true, Ordering::Relaxed);
}

// ---- text files ----

/// Reads this rank's map from a text file of PIOc_writemap. There may be more ranks than wrote it.
///
/// # Returns
/// PIO_NOERR; the dimensions in `gdims` and the map in `map`, both malloc'ed for the caller to free, their lengths in
/// `ndims` and `fmaplen`.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_readmap(
    file: Text,
    ndims: Out<c_int>,
    gdims: Out<*mut c_int>,
    fmaplen: Out<PIO_Offset>,
    map: Out<*mut PIO_Offset>,
    comm: MPI_Comm,
) -> c_int {
    status(|| {
        let comm = MpiComm::private(comm)?;
        let is_missing = ndims.is_null() || gdims.is_null() || fmaplen.is_null() || map.is_null();
        let given = match is_missing {
            true => Err(Error::Null("ndims, gdims, fmaplen or map")),
            false => any_text("file", file),
        };
        let read = map_file::read(&comm, path_of(same(&comm, "files", given)?))?;
        let (dims, entries) = agree(&comm, copies(&read))?;
        ndims.set(read.dims.len() as c_int);
        gdims.set(dims);
        fmaplen.set(read.map.len() as PIO_Offset);
        map.set(entries);
        Ok(())
    })
}

/// Copies of dimensions and map that C frees.
fn copies(read: &TextMap) -> Result<(*mut c_int, *mut PIO_Offset)> {
    let dims: Vec<c_int> = read.dims.iter().map(|dim| *dim as c_int).collect();
    let dims = malloc_copy(&dims).ok_or(Error::Memory(4 * read.dims.len() as u64))?;
    match malloc_copy(&read.map) {
        Some(map) => Ok((dims, map)),
        None => {
            // SAFETY: from malloc, and not given out.
            unsafe { libc::free(dims.cast()) };
            Err(Error::Memory(8 * read.map.len() as u64))
        }
    }
}

/// As PIOc_readmap with the communicator as Fortran has it.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_readmap_from_f90(
    file: Text,
    ndims: Out<c_int>,
    gdims: Out<*mut c_int>,
    maplen: Out<PIO_Offset>,
    map: Out<*mut PIO_Offset>,
    f90_comm: c_int,
) -> c_int {
    let comm = mpi::comm_of_fortran(f90_comm);
    PIOc_readmap(file, ndims, gdims, maplen, map, comm)
}

/// Writes the maps of all ranks into a text file, which is replaced atomically.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_writemap(
    file: Text,
    ndims: c_int,
    gdims: Array<c_int>,
    maplen: PIO_Offset,
    map: Array<PIO_Offset>,
    comm: MPI_Comm,
) -> c_int {
    write_map(file, Style::Ncar, ndims, gdims, maplen, map, comm)
}

/// Writes the maps of all ranks into a text file, which is replaced atomically and records `ioid`.
///
/// # Collective
/// Called by all ranks of `comm`, which all return the same code.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_writemap(
    file: Text,
    ioid: c_int,
    ndims: c_int,
    gdims: Array<c_int>,
    maplen: PIO_Offset,
    map: Array<PIO_Offset>,
    comm: MPI_Comm,
) -> c_int {
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

/// As PIOc_writemap with the communicator as Fortran has it.
#[cfg(feature = "pio_ncar")]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_writemap_from_f90(
    file: Text,
    ndims: c_int,
    gdims: Array<c_int>,
    maplen: PIO_Offset,
    map: Array<PIO_Offset>,
    f90_comm: c_int,
) -> c_int {
    let comm = mpi::comm_of_fortran(f90_comm);
    write_map(file, Style::Ncar, ndims, gdims, maplen, map, comm)
}

/// As PIOc_writemap with the communicator as Fortran has it.
#[cfg(not(feature = "pio_ncar"))]
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_writemap_from_f90(
    file: Text,
    ioid: c_int,
    ndims: c_int,
    gdims: Array<c_int>,
    maplen: PIO_Offset,
    map: Array<PIO_Offset>,
    f90_comm: c_int,
) -> c_int {
    let comm = mpi::comm_of_fortran(f90_comm);
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

fn write_map(
    file: Text,
    style: Style,
    ndims: c_int,
    gdims: Array<c_int>,
    maplen: PIO_Offset,
    map: Array<PIO_Offset>,
    comm: MPI_Comm,
) -> c_int {
    status(|| {
        let comm = MpiComm::private(comm)?;
        // SAFETY: the header says that the map has `maplen` entries.
        let map = unsafe { array("map", map, maplen) };
        let dims = dims(ndims, gdims);
        let given = any_text("file", file).and_then(|file| Ok((file, dims?)));
        let given = given.and_then(|given| map.clone().and(Ok(given)));
        let (file, dims) = same(&comm, "files or dimensions", given)?;
        map_file::write(&comm, path_of(file), style, &in_order(dims), map?)
    })
}

/// The dimensions in the order in which SCORPIO writes them.
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
pub extern "C" fn PIOc_write_decomp(
    file: Text,
    iosysid: c_int,
    ioid: c_int,
    comm: MPI_Comm,
) -> c_int {
    on_system(iosysid, |system| {
        let decomp = registry::decomp_of(system, ioid);
        let given = any_text("file", file).and_then(|file| match mpi::is_null(comm) {
            true => Err(Error::Null("comm")),
            false => Ok((file, decomp.as_ref().map_err(Error::clone)?.number)),
        });
        // Before `comm` is used: a rank may have given MPI_COMM_NULL.
        let (file, _) = system.agree_same("files or decompositions", given)?;
        let decomp = decomp?;
        let comm = system.agree(MpiComm::private(comm).map_err(Error::from))?;
        let style = match cfg!(feature = "pio_ncar") {
            true => Style::Ncar,
            false => Style::Scorpio { ioid },
        };
        let dims = in_order(decomp.dims.clone());
        let map = system.agree(decomp.map())?;
        map_file::write(&comm, path_of(file), style, &dims, &map)
    })
}

// ---- netCDF files ----

/// Writes a decomposition into a netCDF file, in the order in which the maps were given. `cmode` is as for
/// PIOc_create; `title` and `history` may be NULL.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_write_nc_decomp(
    iosysid: c_int,
    filename: Text,
    cmode: c_int,
    ioid: c_int,
    title: Text,
    history: Text,
    fortran_order: c_int,
) -> c_int {
    on_system(iosysid, |system| {
        let decomp = registry::decomp_of(system, ioid);
        let about = about(title, history, fortran_order != 0);
        let given = Opening::by_mode(filename, cmode);
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

fn about(title: Text, history: Text, fortran: bool) -> Result<About> {
    let optional = |argument, text: Text| {
        let text = (!text.is_null()).then(|| name(argument, text));
        text.transpose().map(|text| text.map(CString::from))
    };
    Ok(About {
        version: CString::new(version()).unwrap_or_default(),
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

/// Makes a decomposition from a netCDF file of PIOc_write_nc_decomp, which as many ranks must have written. `title` and `history`
/// have room for PIO_MAX_NAME characters and a NUL; they and `fortran_order` may be NULL.
///
/// # Returns
/// PIO_NOERR, and the id in `ioid`.
///
/// # Collective
/// Called by all ranks of the I/O system, which all return the same code; `comm` is not used.
#[unsafe(no_mangle)]
pub extern "C" fn PIOc_read_nc_decomp(
    iosysid: c_int,
    filename: Text,
    ioid: Out<c_int>,
    comm: MPI_Comm,
    pio_type: c_int,
    title: OutArray<c_char>,
    history: OutArray<c_char>,
    fortran_order: Out<c_int>,
) -> c_int {
    let _ = comm;
    on_system(iosysid, |system| {
        let given = match ioid.is_null() {
            true => Err(Error::Null("ioid")),
            false => Opening::by_mode(filename, 0),
        };
        let stored = read_nc(system, system.agree_same("files", given)?)?;
        let spec = spec(system, pio_type, stored.dims, None);
        let described = spec.map(|spec| (spec, stored.map.into()));
        ioid.set(make(system, described)?);
        fortran_order.set(stored.about.fortran.into());
        for (place, text) in [(title, stored.about.title), (history, stored.about.history)] {
            // SAFETY: the header says that there is so much room.
            unsafe { place.put(NAME_ROOM, &text.unwrap_or_default()) };
        }
        Ok(())
    })
}

fn read_nc(system: &Arc<System>, opening: Opening) -> Result<StoredDecomp> {
    let mut file = opening.open_file(system)?;
    let stored = decomp_file::read(&mut file, opening.file_length());
    let closed = file.close();
    stored.and_then(|stored| closed.map(|()| stored))
}
