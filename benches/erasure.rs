//! `cargo bench --bench erasure`: our kernels beside ISA-L's, on the same bytes, at three lengths of blocks.
//!
//! `ISAL=<path of libisal.so>` names the library to compare with; without it the system's libisal.so.2 is taken. A
//! version before 2.31 has no code for GFNI. The two sides take turns, and each one's best round counts: so a noisy
//! machine disturbs both alike.

use stanchion::erasure::{self, matrix};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::hint::black_box;
use std::mem::transmute;
use std::time::Instant;

/// Lengths of blocks: four to fourteen of them are in the second-level cache, in the third, in neither.
const LENGTHS: [(usize, &str); 3] = [
    (16 << 10, "16 KiB"),
    (1 << 20, "1 MiB"),
    (16 << 20, "16 MiB"),
];
/// What a side does in all of its rounds together, in bytes of sources, and what it does at least in one.
const WORK: usize = 6 << 30;
const ROUND: usize = 4 << 20;
/// ISA-L wants its arrays for XOR to start at multiples of 32.
const ALIGNMENT: usize = 64;

type InitTables = unsafe extern "C" fn(c_int, c_int, *const u8, *mut u8);
type Encode =
    unsafe extern "C" fn(c_int, c_int, c_int, *const u8, *const *const u8, *const *mut u8);
type XorGen = unsafe extern "C" fn(c_int, c_int, *const *mut c_void) -> c_int;
type VersionText = unsafe extern "C" fn() -> *const c_char;

/// The functions of ISA-L that make parity.
struct Isal {
    init_tables: InitTables,
    encode: Encode,
    xor_gen: XorGen,
    version: String,
}

impl Isal {
    fn load(path: &str) -> Option<Self> {
        let path = CString::new(path).ok()?;
        // SAFETY: the path is a C string, and loading ISA-L runs no code that relies on anything of ours.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return None;
        }
        let init_tables = symbol(library, c"ec_init_tables")?;
        let encode = symbol(library, c"ec_encode_data")?;
        let xor_gen = symbol(library, c"xor_gen")?;
        // SAFETY: these are the signatures in ISA-L's erasure_code.h and raid.h.
        unsafe {
            Some(Self {
                init_tables: transmute::<*mut c_void, InitTables>(init_tables),
                encode: transmute::<*mut c_void, Encode>(encode),
                xor_gen: transmute::<*mut c_void, XorGen>(xor_gen),
                version: version(library),
            })
        }
    }

    /// 32 bytes for each coefficient.
    fn tables(&self, rows: &[&[u8]]) -> Vec<u8> {
        let mut tables = vec![0; 32 * rows.len() * rows[0].len()];
        let (sources, targets) = (rows[0].len() as c_int, rows.len() as c_int);
        // SAFETY: as many coefficients as said, and room for all tables.
        unsafe {
            (self.init_tables)(
                sources,
                targets,
                rows.concat().as_ptr(),
                tables.as_mut_ptr(),
            );
        }
        tables
    }

    fn encode(&self, tables: &[u8], sources: &[&[u8]], targets: &mut [&mut [u8]]) {
        let from: Vec<_> = sources.iter().map(|s| s.as_ptr()).collect();
        let to: Vec<_> = targets.iter_mut().map(|t| t.as_mut_ptr()).collect();
        // SAFETY: all slices have the length given, and the tables belong to these numbers of slices.
        unsafe {
            (self.encode)(
                sources[0].len() as c_int,
                from.len() as c_int,
                to.len() as c_int,
                tables.as_ptr(),
                from.as_ptr(),
                to.as_ptr(),
            );
        }
    }

    fn xor(&self, sources: &[&[u8]], target: &mut [u8]) {
        let arrays = sources
            .iter()
            .map(|source| source.as_ptr().cast_mut().cast());
        let arrays: Vec<*mut c_void> = arrays.chain([target.as_mut_ptr().cast()]).collect();
        // SAFETY: all slices have the length given and start where ISA-L wants it; it writes to the last only.
        let code = unsafe {
            (self.xor_gen)(
                arrays.len() as c_int,
                target.len() as c_int,
                arrays.as_ptr(),
            )
        };
        assert_eq!(code, 0, "xor_gen fails");
    }
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a library that dlopen gave, and a C string.
    let place = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!place.is_null()).then_some(place)
}

/// As the library says it; those before 2.32 do not, and the name of their file ends in it.
fn version(library: *mut c_void) -> String {
    if let Some(place) = symbol(library, c"isal_get_version_str") {
        // SAFETY: the signature in ISA-L's isal_api.h; the text is there as long as the library.
        let text = unsafe { CStr::from_ptr(transmute::<*mut c_void, VersionText>(place)()) };
        return format!("ISA-L {}", text.to_string_lossy());
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let file = maps
        .split(['/', '\n'])
        .find(|name| name.starts_with("libisal"));
    file.unwrap_or("ISA-L of an unknown version").to_string()
}

/// Bytes that start at a multiple of [`ALIGNMENT`].
struct Block {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Block {
    fn new(number: usize, length: usize) -> Self {
        let mut bytes = vec![0; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        let content = &mut bytes[start..start + length];
        for (i, byte) in content.iter_mut().enumerate() {
            *byte = (i.wrapping_mul(2_654_435_761) >> 11) as u8 ^ number as u8;
        }
        Self {
            bytes,
            start,
            length,
        }
    }

    fn slice(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    fn slice_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

fn blocks(count: usize, length: usize) -> Vec<Block> {
    (0..count)
        .map(|number| Block::new(number, length))
        .collect()
}

/// The best time of each side in seconds, for one call; `bytes` are those of the sources of a call.
fn race(bytes: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (f64, f64) {
    let calls = ROUND.div_ceil(bytes);
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed().as_secs_f64() / calls as f64
    };
    let mut best = (f64::MAX, f64::MAX);
    for _ in 0..WORK.div_ceil(bytes * calls) {
        best.0 = best.0.min(time(&mut ours));
        best.1 = best.1.min(time(&mut theirs));
    }
    best
}

/// Rates count the bytes of the sources.
fn print(what: &str, bytes: usize, ours: f64, theirs: Option<f64>) {
    let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
    print!("{what:<34} {:7.2} GB/s", rate(ours));
    if let Some(theirs) = theirs {
        print!(
            "   ISA-L {:7.2} GB/s   ratio {:.2}",
            rate(theirs),
            theirs / ours
        );
    }
    println!();
}

fn bench_combine(isal: Option<&Isal>, length: (usize, &str), sources: usize, parities: usize) {
    let coefficients = matrix::parity_rows(sources, parities).expect("few enough rows");
    let rows: Vec<_> = coefficients.iter().map(Vec::as_slice).collect();
    let data = blocks(sources, length.0);
    let data: Vec<_> = data.iter().map(Block::slice).collect();
    let mut ours = blocks(parities, length.0);
    let mut theirs = blocks(parities, length.0);
    let mut our_targets: Vec<_> = ours.iter_mut().map(Block::slice_mut).collect();
    let mut their_targets: Vec<_> = theirs.iter_mut().map(Block::slice_mut).collect();
    let tables = isal.map(|isal| isal.tables(&rows));
    let (our_time, their_time) = race(
        sources * length.0,
        || erasure::combine(black_box(&mut our_targets), &rows, black_box(&data), false),
        || {
            if let (Some(isal), Some(tables)) = (isal, &tables) {
                isal.encode(tables, black_box(&data), black_box(&mut their_targets));
            }
        },
    );
    assert!(
        isal.is_none() || our_targets == their_targets,
        "ISA-L gives other bytes"
    );
    let what = format!("{:>7}: {sources} sources, {parities} parities", length.1);
    let theirs = isal.map(|_| their_time);
    print(&what, sources * length.0, our_time, theirs);
}

fn bench_xor(isal: Option<&Isal>, length: (usize, &str), sources: usize) {
    let data = blocks(sources, length.0);
    let data: Vec<_> = data.iter().map(Block::slice).collect();
    let (mut ours, mut theirs) = (Block::new(0, length.0), Block::new(0, length.0));
    let (our_time, their_time) = race(
        sources * length.0,
        || erasure::xor_all(black_box(ours.slice_mut()), black_box(&data)),
        || {
            if let Some(isal) = isal {
                isal.xor(black_box(&data), black_box(theirs.slice_mut()));
            }
        },
    );
    assert!(
        isal.is_none() || ours.slice() == theirs.slice(),
        "ISA-L gives other bytes"
    );
    let what = format!("{:>7}: XOR of {sources} sources", length.1);
    let theirs = isal.map(|_| their_time);
    print(&what, sources * length.0, our_time, theirs);
}

fn main() {
    let path = std::env::var("ISAL").unwrap_or_else(|_| "libisal.so.2".to_string());
    let isal = Isal::load(&path);
    match &isal {
        Some(isal) => println!("kernel {}, beside {}", erasure::kernel_name(), isal.version),
        None => println!(
            "kernel {}; {path} cannot be loaded (ISAL=<path of libisal.so>; Debian: libisal2)",
            erasure::kernel_name()
        ),
    }
    for length in LENGTHS {
        for sources in [2, 3, 4, 8, 16] {
            bench_xor(isal.as_ref(), length, sources);
        }
        for sources in [3, 4, 8, 10] {
            for parities in 1..=4 {
                bench_combine(isal.as_ref(), length, sources, parities);
            }
        }
    }
}
