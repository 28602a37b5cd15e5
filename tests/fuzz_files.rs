//! Real files, mutated: whatever is in a file, reading it ends, with a tree or an error, and takes
//! no more memory than the file's size allows.

use proptest::prelude::*;
use proptest::sample::Index;
use stanchion::kvtree::pack::{self, Order};
use stanchion::kvtree::{Tree, file};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

// ---- memory ---------------------------------------------------------------------------------

/// Counts what the calling thread holds. Trees themselves come from malloc and are not seen here;
/// their elements are counted instead.
struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn taken(bytes: usize) {
    let held = HELD.get().wrapping_add(bytes);
    HELD.set(held);
    // A thread may free what another took: then this wraps, and is no peak.
    if held as isize > PEAK.get() as isize {
        PEAK.set(held);
    }
}

fn given_back(bytes: usize) {
    HELD.set(HELD.get().wrapping_sub(bytes));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that was held at a time while `f` ran, beyond what was held before.
fn peak_of<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = f();
    (result, PEAK.get().wrapping_sub(before))
}

// ---- files ----------------------------------------------------------------------------------

const HEADER: usize = 20;
const SIZE_FIELD: Range<usize> = 8..16;
const CRC: usize = 4;
const SMALLEST_ELEMENT: usize = 5;

/// A tree file, and the data that follows the tree.
#[derive(Clone)]
struct Seed {
    tree: Vec<u8>,
    data: Vec<u8>,
}

impl Seed {
    fn of(path: &Path) -> Seed {
        let mut tree = fs::read(path).unwrap();
        let size = u64::from_be_bytes(tree[SIZE_FIELD].try_into().unwrap());
        let data = tree.split_off(size as usize);
        Seed { tree, data }
    }
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() {
            files_below(&path, found);
        } else if name.starts_with("gather") || name.ends_with(".kv") || name.ends_with(".redset") {
            found.push(path);
        }
    }
}

static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(|| {
    let mut paths = Vec::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("c_tests/golden");
    files_below(&golden, &mut paths);
    paths.sort();
    assert!(paths.len() >= 10);
    paths.iter().map(|path| Seed::of(path)).collect()
});

#[derive(Clone, Debug)]
enum Mutation {
    Flip(Index, u8),
    /// Counts and sizes that are just too large, or much too large.
    Number(Index, u32),
    Cut(Index),
    Remove(Index, usize),
    Insert(Index, Vec<u8>),
    Duplicate(Index, usize, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let number = prop_oneof![0..9u32, Just(u32::MAX), Just(0x7fff_ffff), 1000..100_000u32];
    prop_oneof![
        (any::<Index>(), 1..=255u8).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        (any::<Index>(), number).prop_map(|(at, n)| Mutation::Number(at, n)),
        any::<Index>().prop_map(Mutation::Cut),
        (any::<Index>(), 1..40usize).prop_map(|(at, n)| Mutation::Remove(at, n)),
        (
            any::<Index>(),
            proptest::collection::vec(any::<u8>(), 1..40)
        )
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        (any::<Index>(), 1..400usize, any::<Index>())
            .prop_map(|(at, n, to)| Mutation::Duplicate(at, n, to)),
    ]
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        let run = |at: &Index, n: usize| at.index(length)..(at.index(length) + n).min(length);
        match self {
            Mutation::Flip(at, bits) => bytes[at.index(length)] ^= bits,
            Mutation::Number(at, number) => {
                let place = run(at, 4);
                let digits = &number.to_be_bytes()[..place.len()];
                bytes[place].copy_from_slice(digits);
            }
            Mutation::Cut(at) => bytes.truncate(at.index(length)),
            Mutation::Remove(at, n) => drop(bytes.drain(run(at, *n))),
            Mutation::Insert(at, new) => {
                let at = at.index(length);
                bytes.splice(at..at, new.iter().copied());
            }
            Mutation::Duplicate(at, n, to) => {
                let copy = bytes[run(at, *n)].to_vec();
                let to = to.index(length);
                bytes.splice(to..to, copy);
            }
        }
    }
}

/// Makes header and checksum right again, so that what is behind them is reached.
fn reseal(bytes: &mut Vec<u8>, original: &[u8]) {
    bytes.resize(bytes.len().max(HEADER + CRC), 0);
    bytes[..HEADER].copy_from_slice(&original[..HEADER]);
    let size = bytes.len() as u64;
    bytes[SIZE_FIELD].copy_from_slice(&size.to_be_bytes());
    let content = bytes.len() - CRC;
    let crc = crc32fast::hash(&bytes[..content]);
    bytes[content..].copy_from_slice(&crc.to_be_bytes());
}

// ---- reading --------------------------------------------------------------------------------

fn elements(tree: &Tree) -> usize {
    tree.view().preorder().count()
}

/// Runs one reader: it ends soon, takes little memory and makes no more elements than bytes allow.
fn bounded(length: usize, read: impl FnOnce(&mut Tree) -> bool) -> bool {
    let start = Instant::now();
    let mut tree = Tree::new();
    let (outcome, peak) = peak_of(|| read(&mut tree));
    assert!(peak <= 64 * length + (1 << 20), "{peak} for {length}");
    assert!(elements(&tree) <= length / SMALLEST_ELEMENT);
    assert!(start.elapsed() < Duration::from_secs(10));
    outcome
}

/// Whether the bytes are a good file, by every way of reading them.
fn parse(bytes: &[u8]) -> bool {
    let mut temporary = tempfile::NamedTempFile::new().unwrap();
    temporary.write_all(bytes).unwrap();
    temporary.rewind().unwrap();
    let name = temporary.path();
    let by_name = bounded(bytes.len(), |tree| {
        file::read_file(name, tree.edit()).is_ok()
    });
    let by_descriptor = bounded(bytes.len(), |tree| {
        let outcome = file::read_fd(name, temporary.as_file(), tree.edit());
        outcome.is_ok_and(|used| used <= bytes.len() as u64)
    });
    assert_eq!(by_name, by_descriptor);
    by_name
}

/// The packed tree alone, which nothing protects.
fn unpack(bytes: &[u8]) {
    for order in [Order::AsPacked, Order::Reversed] {
        bounded(bytes.len(), |tree| {
            let outcome = pack::unpack_into(bytes, tree.edit(), order);
            outcome.is_ok_and(|used| used <= bytes.len())
        });
    }
}

#[test]
fn the_seeds_are_good_files() {
    for seed in &*SEEDS {
        assert!(parse(&seed.tree));
        assert!(parse(&[&seed.tree[..], &seed.data].concat()));
        let mut tree = Tree::new();
        let packed = &seed.tree[HEADER..seed.tree.len() - CRC];
        pack::unpack_into(packed, tree.edit(), Order::AsPacked).unwrap();
        assert_eq!(pack::packed(Some(tree.view())).unwrap(), packed);
        assert!(elements(&tree) > 0);
    }
}

#[test]
fn the_counter_counts() {
    let (_, peak) = peak_of(|| {
        drop(vec![0u8; 100_000]);
        vec![0u8; 10]
    });
    assert!((100_000..101_000).contains(&peak), "{peak}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn mutated_files_are_trees_or_errors(
        seed in any::<Index>(),
        mutations in proptest::collection::vec(mutation(), 1..5),
        resealed: bool,
    ) {
        let seed = seed.get(&SEEDS);
        let mut bytes = seed.tree.clone();
        mutations.iter().for_each(|mutation| mutation.apply(&mut bytes));
        if resealed {
            reseal(&mut bytes, &seed.tree);
        }
        bytes.extend(&seed.data);
        parse(&bytes);
        unpack(&bytes);
        if let Some(body) = bytes.get(HEADER..) {
            unpack(body);
        }
    }
}
