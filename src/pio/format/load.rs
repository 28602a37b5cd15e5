//! Loads a file library at its first use: programs that use no files of PIO need neither it nor its dependencies.
//!
//! If the process has already loaded a library of that name, that one is used. In a static program the functions may be
//! linked in (feature `linked`); then nothing is loaded.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::calls::Call;
#[cfg(feature = "mpi")]
use crate::comm::mpi;
use crate::pio;

/// The names under which a file library is looked for.
pub(super) struct LibraryNames {
    pub(super) title: &'static str,
    /// Separated by colons, in the order in which they are tried.
    pub(super) names: &'static str,
}

/// The result of [`LibraryNames::load`], kept for the life of the process.
pub(super) type Loaded<T> = OnceLock<pio::Result<T>>;

/// Finds functions of one library by their names.
pub(super) struct Find<'a>(&'a dyn Fn(&str) -> Option<*const c_void>);

impl Find<'_> {
    /// # Safety
    /// `F` is the type of a pointer to the function of that name.
    pub(super) unsafe fn call<F: Copy>(&self, name: &'static str) -> Result<Call<F>, String> {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        let found = (self.0)(name).filter(|function| !function.is_null());
        let function = found.ok_or_else(|| format!("it has no function {name}"))?;
        // SAFETY: a pointer to the function, says the caller, and as long as one.
        let run = unsafe { std::mem::transmute_copy(&function) };
        Ok(Call { name, run })
    }
}

/// Looks up all functions of a library, or says why it cannot.
type FindAll<T> = fn(&Find) -> Result<T, String>;

impl LibraryNames {
    /// The functions of the first library that can be used.
    pub(super) fn load<T>(&self, find_all: FindAll<T>) -> pio::Result<T> {
        let loaded = match linked() {
            Some(table) => {
                let in_table = |name: &str| table.iter().find_map(|entry| entry.if_named(name));
                find_all(&Find(&in_table))
            }
            None => self.load_first(find_all),
        };
        let title = self.title;
        loaded.map_err(|text| pio::Error::Library { title, text })
    }

    fn load_first<T>(&self, find_all: FindAll<T>) -> Result<T, String> {
        let mut reasons = Vec::new();
        for name in self.names.split(':').filter(|name| !name.is_empty()) {
            match load(name, find_all) {
                Ok(found) => return Ok(found),
                Err(reason) => reasons.push(format!("{name}: {reason}")),
            }
        }
        Err(match reasons.is_empty() {
            true => "this build knows no shared library of it".into(),
            false => reasons.join("; "),
        })
    }
}

fn load<T>(name: &str, find_all: FindAll<T>) -> Result<T, String> {
    // SAFETY: the library's initializers run as in every program that is linked with it.
    let opened = unsafe { Library::open(Some(OsStr::new(name)), RTLD_NOW | RTLD_LOCAL) };
    let library = opened.map_err(|error| error.to_string())?;
    #[cfg(feature = "mpi")]
    check_mpi(look_up(&library, mpi::ENTRY_NAME), mpi::entry())?;
    let found = find_all(&Find(&|name| look_up(&library, name)))?;
    // Never unloaded: its functions may be called until the process ends.
    std::mem::forget(library);
    Ok(found)
}

/// Refuses a library built for another MPI, whose handles differ. A library that names no MPI uses the one in use.
#[cfg(feature = "mpi")]
fn check_mpi(theirs: Option<*const c_void>, own: *const c_void) -> Result<(), String> {
    let (Some(theirs), Some(own)) = (theirs.and_then(object_of), object_of(own)) else {
        return Ok(());
    };
    if theirs.base == own.base {
        return Ok(());
    }
    let (theirs, own) = (theirs.file, own.file);
    Err(format!(
        "built for another MPI ({theirs}) than the one in use ({own})"
    ))
}

/// Looks in the library and its dependencies.
fn look_up(library: &Library, name: &str) -> Option<*const c_void> {
    // SAFETY: only the address is taken.
    let symbol = unsafe { library.get::<*const c_void>(name.as_bytes()) };
    Some(symbol.ok()?.as_raw_ptr().cast_const())
}

/// A shared object, or the program itself, in memory.
#[cfg(feature = "mpi")]
struct Object {
    base: usize,
    file: String,
}

#[cfg(feature = "mpi")]
fn object_of(address: *const c_void) -> Option<Object> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: writes to what it is given; every address may be asked for.
    if unsafe { libc::dladdr(address, found.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: all zeros is valid, and the call has filled it.
    let found = unsafe { found.assume_init() };
    if found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: ends with NUL and lives as long as the object is loaded.
    let file = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(Object {
        base: found.dli_fbase as usize,
        file: file.to_string_lossy().into_owned(),
    })
}

/// A function that is linked into a static program.
#[repr(C)]
struct LinkedFunction {
    name: *const c_char,
    function: *const c_void,
}

impl LinkedFunction {
    fn if_named(&self, name: &str) -> Option<*const c_void> {
        // SAFETY: a literal of the table.
        let own = unsafe { CStr::from_ptr(self.name) };
        (own.to_bytes() == name.as_bytes()).then_some(self.function)
    }
}

/// The table of PIO's static library; the last entry has no name.
#[cfg(feature = "linked")]
fn linked() -> Option<&'static [LinkedFunction]> {
    unsafe extern "C" {
        fn stanchion_linked_table() -> *const LinkedFunction;
    }
    // SAFETY: takes nothing and changes nothing.
    let table = unsafe { stanchion_linked_table() };
    if table.is_null() {
        return None;
    }
    // SAFETY: an entry without a name ends the table.
    let is_entry = |at: &usize| !unsafe { (*table.add(*at)).name }.is_null();
    let count = (0..).take_while(is_entry).count();
    // SAFETY: a constant array with so many entries.
    Some(unsafe { std::slice::from_raw_parts(table, count) })
}

#[cfg(not(feature = "linked"))]
fn linked() -> Option<&'static [LinkedFunction]> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use pio::error::EBADIOTYPE;

    const NOWHERE: &str = "libstanchion-nowhere.so.7:/nowhere/libstanchion-nowhere.so.7";
    /// Has `cos`, and nothing of files.
    const OTHER: &str = "libstanchion-nowhere.so.7:libm.so.6";

    type Cosine = unsafe extern "C" fn(f64) -> f64;

    fn cosine(find: &Find) -> Result<Call<Cosine>, String> {
        // SAFETY: its type in C.
        unsafe { find.call("cos") }
    }

    fn of_files(find: &Find) -> Result<Call<Cosine>, String> {
        // SAFETY: there is none.
        unsafe { find.call("nc_no_such_function") }
    }

    fn source(names: &'static str) -> LibraryNames {
        let title = "netCDF";
        LibraryNames { title, names }
    }

    fn text_of<T>(result: pio::Result<T>) -> String {
        let error = result.err().unwrap();
        assert_eq!(error.code(), EBADIOTYPE);
        error.to_string()
    }

    #[test]
    fn what_was_tried_is_told() {
        let text = text_of(source(NOWHERE).load(cosine));
        assert!(text.starts_with("netCDF cannot be used: "), "{text}");
        for name in NOWHERE.split(':') {
            assert!(text.contains(&format!("{name}: ")), "{text}");
        }
        assert!(text.contains("No such file"), "{text}");
        let text = text_of(source("").load(cosine));
        assert!(text.contains("no shared library"), "{text}");
    }

    #[test]
    fn the_first_name_that_can_be_loaded_is_taken() {
        let cosine = source(OTHER).load(cosine).unwrap();
        assert_eq!(cosine.name, "cos");
        // SAFETY: the function of that name.
        assert_eq!(unsafe { (cosine.run)(0.0) }, 1.0);
    }

    #[test]
    fn a_library_that_lacks_a_function_is_refused() {
        let text = text_of(source(OTHER).load(of_files));
        assert!(
            text.contains("libm.so.6: it has no function nc_no_such_function"),
            "{text}"
        );
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn a_library_of_another_mpi_is_refused() {
        let own = mpi::entry();
        assert_eq!(check_mpi(None, own), Ok(()));
        assert_eq!(check_mpi(Some(own), own), Ok(()));
        let other = source(OTHER).load(cosine).unwrap().run as *const c_void;
        let text = check_mpi(Some(other), own).unwrap_err();
        let files = [own, other].map(|address| object_of(address).unwrap().file);
        assert!(
            files[0].contains("mpi") && files[1].contains("libm"),
            "{files:?}"
        );
        assert!(files.iter().all(|file| text.contains(file)), "{text}");
    }
}
