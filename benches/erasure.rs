//! `cargo bench --bench erasure`: our kernels beside ISA-L's and beside memcpy, on the same bytes.
//!
//! The two sides take turns, and each one's best round counts: so a noisy machine disturbs both alike.

use stanchion::erasure::{self, matrix};
use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;
use std::mem::transmute;
use std::time::Instant;

const BLOCK: usize = 1 << 20;
const ROUNDS: usize = 200;

type InitTables = unsafe extern "C" fn(c_int, c_int, *const u8, *mut u8);
type Encode =
    unsafe extern "C" fn(c_int, c_int, c_int, *const u8, *const *const u8, *const *mut u8);

/// The two functions of ISA-L that make parity.
struct Isal {
    init_tables: InitTables,
    encode: Encode,
}

impl Isal {
    fn load() -> Option<Self> {
        // SAFETY: the name is a C string, and loading ISA-L runs no code that relies on anything of ours.
        let library = unsafe { libc::dlopen(c"libisal.so.2".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return None;
        }
        let init_tables = symbol(library, c"ec_init_tables")?;
        let encode = symbol(library, c"ec_encode_data")?;
        // SAFETY: these are the signatures in ISA-L's erasure_code.h.
        unsafe {
            Some(Self {
                init_tables: transmute::<*mut c_void, InitTables>(init_tables),
                encode: transmute::<*mut c_void, Encode>(encode),
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
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a library that dlopen gave, and a C string.
    let place = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!place.is_null()).then_some(place)
}

fn blocks(count: usize) -> Vec<Vec<u8>> {
    let byte = |block: usize, i: usize| (i.wrapping_mul(2_654_435_761) >> 11) as u8 ^ block as u8;
    let block = |block| (0..BLOCK).map(|i| byte(block, i)).collect();
    (0..count).map(block).collect()
}

fn slices(blocks: &[Vec<u8>]) -> Vec<&[u8]> {
    blocks.iter().map(Vec::as_slice).collect()
}

fn slices_mut(blocks: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    blocks.iter_mut().map(Vec::as_mut_slice).collect()
}

/// The best time of each side in seconds.
fn race(mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (f64, f64) {
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    let mut best = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        best.0 = best.0.min(time(&mut ours));
        best.1 = best.1.min(time(&mut theirs));
    }
    best
}

/// Rates count the bytes of the sources.
fn print(what: &str, sources: usize, ours: f64, other: Option<(f64, &str)>) {
    let rate = |seconds: f64| (sources * BLOCK) as f64 / seconds / 1e9;
    print!("{what:<28} {:7.2} GB/s", rate(ours));
    if let Some((seconds, name)) = other {
        print!(
            "   {name} {:7.2} GB/s   ratio {:.2}",
            rate(seconds),
            seconds / ours
        );
    }
    println!();
}

fn bench_combine(isal: Option<&Isal>, sources: usize, parities: usize) {
    let coefficients = matrix::parity_rows(sources, parities).expect("few enough rows");
    let rows = slices(&coefficients);
    let data = blocks(sources);
    let data = slices(&data);
    let (mut ours, mut theirs) = (blocks(parities), blocks(parities));
    let (mut our_targets, mut their_targets) = (slices_mut(&mut ours), slices_mut(&mut theirs));
    let tables = isal.map(|isal| isal.tables(&rows));
    let (our_time, their_time) = race(
        || erasure::combine(black_box(&mut our_targets), &rows, black_box(&data), false),
        || {
            if let (Some(isal), Some(tables)) = (isal, &tables) {
                isal.encode(tables, black_box(&data), black_box(&mut their_targets));
            }
        },
    );
    assert!(isal.is_none() || ours == theirs, "ISA-L gives other bytes");
    let what = format!("{sources} sources, {parities} parities");
    print(
        &what,
        sources,
        our_time,
        isal.map(|_| (their_time, "ISA-L")),
    );
}

fn bench_xor(sources: usize) {
    let data = blocks(sources);
    let data = slices(&data);
    let (mut target, mut copy) = (vec![0; BLOCK], vec![0; sources * BLOCK]);
    let (ours, memcpy) = race(
        || erasure::xor_all(black_box(&mut target), black_box(&data)),
        || {
            for (to, from) in copy.chunks_mut(BLOCK).zip(black_box(&data)) {
                black_box(to).copy_from_slice(from);
            }
        },
    );
    let what = format!("XOR of {sources} sources");
    print(&what, sources, ours, Some((memcpy, "memcpy")));
}

fn main() {
    println!("kernel {}, blocks of {BLOCK} bytes", erasure::kernel_name());
    let isal = Isal::load();
    if isal.is_none() {
        println!("no libisal.so.2 to compare with (Debian: libisal2)");
    }
    for sources in [4, 8, 10] {
        for parities in [1, 2, 3, 4, 6] {
            bench_combine(isal.as_ref(), sources, parities);
        }
    }
    for sources in [2, 4, 8] {
        bench_xor(sources);
    }
}
