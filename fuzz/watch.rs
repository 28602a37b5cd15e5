//! What no input may do: end the process, take 10 seconds, or more memory than its length allows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicIsize, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const LONGEST: u64 = 10;
const FREE_MEMORY: usize = 16 << 20;
const MEMORY_PER_BYTE: usize = 64;

// ---- memory ----

/// Counts what the threads of this process hold. Trees come from malloc and are not seen here; targets count their
/// elements instead.
pub struct Counting;

static HELD: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size() as isize;
        PEAK.fetch_max(HELD.fetch_add(size, Relaxed) + size, Relaxed);
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as isize, Relaxed);
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Runs a reader of `length` bytes.
///
/// # Panics
/// If more memory was held than they allow.
pub fn bounded<T>(length: usize, read: impl FnOnce() -> T) -> T {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = read();
    let peak = (PEAK.load(Relaxed) - before).max(0) as usize;
    let most = MEMORY_PER_BYTE * length + FREE_MEMORY;
    assert!(
        peak <= most,
        "{peak} bytes were held for an input of {length}"
    );
    result
}

/// # Panics
/// If a limit would not be noticed.
pub fn check() {
    let too_much = || drop(std::hint::black_box(vec![0_u8; 2 * FREE_MEMORY]));
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    too_much();
    let peak = (PEAK.load(Relaxed) - before) as usize;
    assert!((2 * FREE_MEMORY..3 * FREE_MEMORY).contains(&peak), "{peak}");
}

// ---- time and crashes ----

static INPUT: AtomicU64 = AtomicU64::new(0);
static RUNNING: AtomicBool = AtomicBool::new(false);
static SIGNALLED: AtomicI32 = AtomicI32::new(0);
static TARGET: Mutex<&str> = Mutex::new("");

/// Starts the watch; to be called once.
pub fn begin() {
    std::thread::spawn(|| {
        let (mut last, mut seconds) = (0, 0);
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = INPUT.load(Relaxed);
            seconds = if now == last && RUNNING.load(Relaxed) {
                seconds + 1
            } else {
                0
            };
            last = now;
            if seconds > LONGEST {
                report("takes more than 10 seconds");
                std::process::exit(1);
            }
        }
    });
    let handler: extern "C" fn(i32) = on_signal;
    for signal in [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGABRT,
        libc::SIGFPE,
        libc::SIGILL,
    ] {
        // SAFETY: the handler only formats a number and leaves.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

extern "C" fn on_signal(signal: i32) {
    if SIGNALLED.swap(signal, Relaxed) == 0 {
        report("ends the process");
    }
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(1) };
}

fn report(what: &str) {
    let target = TARGET.try_lock().map(|name| *name).unwrap_or("?");
    let input = INPUT.load(Relaxed);
    let _ = writeln!(
        std::io::stderr(),
        "\n{target}: input {input} {what}; again: --target {target} --first {input} --inputs 1"
    );
}

/// Says which target runs now.
pub fn enter(target: &'static str) {
    if let Ok(mut name) = TARGET.lock() {
        *name = target;
    }
}

/// Runs one input; returns whether it ended well.
pub fn input(number: u64, run: impl FnOnce()) -> bool {
    INPUT.store(number, Relaxed);
    RUNNING.store(true, Relaxed);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    RUNNING.store(false, Relaxed);
    if outcome.is_err() {
        report("panics");
    }
    outcome.is_ok()
}
