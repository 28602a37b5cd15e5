//! The loops that all kernels share.
//!
//! A sweep goes along up to four targets at once and, at each step, over all sources: so a step of a
//! source is loaded once for all of these targets, and a step of a target is written once. Everything
//! is inlined into the functions that enable the instructions; only there the intrinsics compile to them.
//!
//! A job that is too long for the caches prefetches its sources and streams its targets past the caches: an ordinary
//! store would read first what it overwrites.

use super::tables::NIBBLE_PRODUCTS;

/// What there is to do. One row per target, or none at all where every coefficient is 1; one coefficient
/// per source in each row; every slice is `length` bytes long.
pub(super) struct Job<'a, 'b> {
    pub(super) targets: &'a mut [&'b mut [u8]],
    pub(super) rows: &'a [&'a [u8]],
    pub(super) sources: &'a [&'a [u8]],
    pub(super) length: usize,
    pub(super) accumulate: bool,
}

/// A register full of bytes.
///
/// # Safety
/// All methods: this CPU has the instructions that the implementation is made of.
pub(super) trait Vector: Copy {
    const BYTES: usize;

    unsafe fn zero() -> Self;
    /// # Safety
    /// `BYTES` bytes can be read, at any alignment.
    unsafe fn load(from: *const u8) -> Self;
    /// # Safety
    /// `BYTES` bytes can be written, at any alignment.
    unsafe fn store(self, to: *mut u8);
    /// As [`Vector::store`], past the caches if there is an instruction for it. Seen by other threads after
    /// [`Vector::end_streams`].
    ///
    /// # Safety
    /// As for [`Vector::store`], at a multiple of `BYTES`.
    #[inline(always)]
    unsafe fn stream(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { self.store(to) }
    }
    #[inline(always)]
    unsafe fn end_streams() {}
    /// Asks for what lies at a place, which need not exist, without waiting for it.
    #[inline(always)]
    unsafe fn prefetch(_from: *const u8) {}
    unsafe fn xor(self, other: Self) -> Self;
}

/// A coefficient in the form in which registers of type `V` are multiplied.
pub(super) trait Factor<V>: Copy {
    fn of(coefficient: u8) -> Self;
    /// # Safety
    /// This CPU has the instructions that the implementation is made of.
    unsafe fn times(&self, vector: V) -> V;
}

/// The factor 1.
#[derive(Clone, Copy)]
pub(super) struct One;

impl<V> Factor<V> for One {
    #[inline(always)]
    fn of(_: u8) -> Self {
        One
    }
    #[inline(always)]
    unsafe fn times(&self, vector: V) -> V {
        vector
    }
}

impl Vector for u8 {
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn zero() -> Self {
        0
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: promised by the caller.
        unsafe { from.read() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { to.write(self) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }
}

impl Factor<u8> for u8 {
    #[inline(always)]
    fn of(coefficient: u8) -> Self {
        coefficient
    }
    #[inline(always)]
    unsafe fn times(&self, byte: u8) -> u8 {
        let [low, high] = &NIBBLE_PRODUCTS[usize::from(*self)];
        low[usize::from(byte & 15)] ^ high[usize::from(byte >> 4)]
    }
}

/// Sources of one sweep: their factors stay in the first-level cache.
const GROUP: usize = 16;
/// Bytes of one sweep: when the next rows or sources come by, sources and targets are still cached.
const STRIP: usize = 16 << 10;

/// Bytes of sources and targets together that are taken to be in no cache.
const FAR: usize = if cfg!(test) { 64 << 10 } else { 16 << 20 };
/// Bytes between the place that is used and the one that is prefetched.
const AHEAD: usize = 512;
/// Bytes that one prefetch brings.
const LINE: usize = 64;
/// Most sources that are prefetched for a single target: more displace each other in the first-level cache.
const PREFETCHED: usize = 10;
/// Most targets that are streamed side by side: with more, processors write parts of lines.
const STREAMED_ROWS: usize = 2;

/// What one sweep covers of a job: sources `first..last`, bytes `at..end`.
#[derive(Clone, Copy)]
struct Portion {
    first: usize,
    last: usize,
    at: usize,
    end: usize,
}

/// # Safety
/// The job has been checked, and this CPU has the instructions of `V` and `F`.
#[inline(always)]
pub(super) unsafe fn combine<V: Vector, F: Factor<V>>(job: &mut Job) {
    let mut next = first_part(job);
    while let Some(part) = next {
        let mut row = 0;
        while row < job.rows.len() {
            // SAFETY: promised by the caller; the rows from `row` on are there.
            row += unsafe {
                match job.rows.len() - row {
                    1 => rows::<V, F, 1, 4>(job, row, part),
                    2 => rows::<V, F, 2, 2>(job, row, part),
                    3 => rows::<V, F, 3, 2>(job, row, part),
                    _ => rows::<V, F, 4, 2>(job, row, part),
                }
            };
        }
        next = part_after(job, part);
    }
    // SAFETY: promised by the caller.
    unsafe { V::end_streams() };
}

/// # Safety
/// As for [`combine`]; the job has one target.
#[inline(always)]
pub(super) unsafe fn xor<V: Vector>(job: &mut Job) {
    let mut next = first_part(job);
    while let Some(part) = next {
        // SAFETY: promised by the caller.
        unsafe { rows::<V, One, 1, 4>(job, 0, part) };
        next = part_after(job, part);
    }
    // SAFETY: promised by the caller.
    unsafe { V::end_streams() };
}

/// Without any source there is still a part: it clears the targets.
fn first_part(job: &Job) -> Option<Portion> {
    (job.length > 0).then(|| Portion {
        first: 0,
        last: GROUP.min(job.sources.len()),
        at: 0,
        end: STRIP.min(job.length),
    })
}

fn part_after(job: &Job, part: Portion) -> Option<Portion> {
    let (first, at) = match part.last < job.sources.len() {
        true => (part.last, part.at),
        false => (0, part.end),
    };
    (at < job.length).then(|| Portion {
        first,
        last: (first + GROUP).min(job.sources.len()),
        at,
        end: (at + STRIP).min(job.length),
    })
}

/// Does a part for the `ROWS` targets from `row` on, and returns `ROWS`.
///
/// # Safety
/// As for [`combine`]; these targets exist.
#[inline(always)]
unsafe fn rows<V: Vector, F: Factor<V>, const ROWS: usize, const STEPS: usize>(
    job: &mut Job,
    row: usize,
    part: Portion,
) -> usize {
    // SAFETY: promised by the caller.
    unsafe {
        let part = sweep::<V, F, ROWS, STEPS>(job, row, part);
        let part = sweep::<V, F, ROWS, 1>(job, row, part);
        if part.at < part.end {
            end::<ROWS>(job, row, part);
        }
    }
    ROWS
}

/// What does not fill a register, byte by byte. Apart, so that all kernels share one copy.
///
/// # Safety
/// As for [`rows`].
#[inline(never)]
unsafe fn end<const ROWS: usize>(job: &mut Job, row: usize, part: Portion) {
    // SAFETY: promised by the caller.
    unsafe { sweep::<u8, u8, ROWS, 1>(job, row, part) };
}

/// Goes `STEPS` registers at a time as far as these fit, and returns the part that is left.
///
/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn sweep<V: Vector, F: Factor<V>, const ROWS: usize, const STEPS: usize>(
    job: &mut Job,
    row: usize,
    part: Portion,
) -> Portion {
    if part.end - part.at < STEPS * V::BYTES {
        return part;
    }
    let factors = factors::<V, F, ROWS>(job, row, part);
    let sources = &job.sources[part.first..part.last];
    let factors = &factors[..sources.len()];
    let add = job.accumulate || part.first > 0;
    let mut targets = [std::ptr::null_mut(); ROWS];
    for (i, target) in job.targets[row..row + ROWS].iter_mut().enumerate() {
        targets[i] = target.as_mut_ptr();
    }
    let last = part.last == job.sources.len();
    let aligned = targets.iter().all(|t| is_aligned::<V>(*t, part.at));
    let how = CacheUse {
        add,
        stream: is_far(job) && last && !job.accumulate && aligned && ROWS <= STREAMED_ROWS,
        ahead: is_far(job) && (ROWS > 1 || sources.len() <= PREFETCHED),
    };
    let mut at = part.at;
    while part.end - at >= STEPS * V::BYTES {
        // SAFETY: `STEPS` registers from `at` on end before `part.end`, hence inside all slices; steps keep the alignment.
        unsafe { step::<V, F, ROWS, STEPS>(&targets, sources, factors, at, how) };
        at += STEPS * V::BYTES;
    }
    Portion { at, ..part }
}

/// What a sweep does to targets and caches.
#[derive(Clone, Copy)]
struct CacheUse {
    /// Adds to what is in the targets.
    add: bool,
    /// Streams the targets.
    stream: bool,
    /// Prefetches the sources.
    ahead: bool,
}

/// Whether the slices together are too long for the caches.
fn is_far(job: &Job) -> bool {
    job.length >= FAR / (job.sources.len() + job.targets.len())
}

fn is_aligned<V: Vector>(target: *mut u8, at: usize) -> bool {
    target.wrapping_add(at).addr() % V::BYTES == 0
}

#[inline(always)]
fn factors<V: Vector, F: Factor<V>, const ROWS: usize>(
    job: &Job,
    row: usize,
    part: Portion,
) -> [[F; ROWS]; GROUP] {
    let mut factors = [[F::of(0); ROWS]; GROUP];
    for (i, source) in (part.first..part.last).enumerate() {
        for (r, factor) in factors[i].iter_mut().enumerate() {
            *factor = F::of(job.rows.get(row + r).map_or(1, |row| row[source]));
        }
    }
    factors
}

/// # Safety
/// From `at` on, `STEPS` registers lie inside each target and source, aligned in targets if these are streamed; and as
/// for [`combine`].
#[inline(always)]
unsafe fn step<V: Vector, F: Factor<V>, const ROWS: usize, const STEPS: usize>(
    targets: &[*mut u8; ROWS],
    sources: &[&[u8]],
    factors: &[[F; ROWS]],
    at: usize,
    how: CacheUse,
) {
    // SAFETY: promised by the caller.
    unsafe {
        let mut sums = [[V::zero(); STEPS]; ROWS];
        if how.add {
            for (sum, target) in sums.iter_mut().zip(targets) {
                *sum = load(target.add(at));
            }
        }
        for (source, factors) in sources.iter().zip(factors) {
            let place = source.as_ptr().add(at);
            if how.ahead {
                prefetch::<V, STEPS>(place.wrapping_add(AHEAD));
            }
            let bytes = load(place);
            for (sum, factor) in sums.iter_mut().zip(factors) {
                add_product(sum, factor, bytes);
            }
        }
        for (sum, target) in sums.into_iter().zip(targets) {
            match how.stream {
                true => stream(sum, target.add(at)),
                false => store(sum, target.add(at)),
            }
        }
    }
}

/// # Safety
/// As for [`Vector::load`], for `STEPS` registers one after another.
#[inline(always)]
unsafe fn load<V: Vector, const STEPS: usize>(from: *const u8) -> [V; STEPS] {
    // SAFETY: promised by the caller.
    unsafe {
        let mut vectors = [V::zero(); STEPS];
        for (i, vector) in vectors.iter_mut().enumerate() {
            *vector = V::load(from.add(i * V::BYTES));
        }
        vectors
    }
}

/// # Safety
/// As for [`Vector::prefetch`].
#[inline(always)]
unsafe fn prefetch<V: Vector, const STEPS: usize>(from: *const u8) {
    for line in 0..(STEPS * V::BYTES).div_ceil(LINE) {
        // SAFETY: promised by the caller.
        unsafe { V::prefetch(from.wrapping_add(line * LINE)) };
    }
}

/// # Safety
/// As for [`Vector::store`], for `STEPS` registers one after another.
#[inline(always)]
unsafe fn store<V: Vector, const STEPS: usize>(vectors: [V; STEPS], to: *mut u8) {
    for (i, vector) in vectors.into_iter().enumerate() {
        // SAFETY: promised by the caller.
        unsafe { vector.store(to.add(i * V::BYTES)) };
    }
}

/// # Safety
/// As for [`Vector::stream`], for `STEPS` registers one after another.
#[inline(always)]
unsafe fn stream<V: Vector, const STEPS: usize>(vectors: [V; STEPS], to: *mut u8) {
    for (i, vector) in vectors.into_iter().enumerate() {
        // SAFETY: promised by the caller.
        unsafe { vector.stream(to.add(i * V::BYTES)) };
    }
}

/// # Safety
/// As for [`Factor::times`].
#[inline(always)]
unsafe fn add_product<V: Vector, F: Factor<V>, const STEPS: usize>(
    sum: &mut [V; STEPS],
    factor: &F,
    bytes: [V; STEPS],
) {
    for (sum, bytes) in sum.iter_mut().zip(bytes) {
        // SAFETY: promised by the caller.
        *sum = unsafe { sum.xor(factor.times(bytes)) };
    }
}
