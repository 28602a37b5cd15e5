//! Speed and quality of failure-domain layouts.
//!
//! cargo bench --bench failure_domain -- [maps] [memory] [load]
//!
//! Maps: nanoseconds a call, both ways, for trees of growing size. Memory: what trees and layouts keep. Load: how evenly
//! the rebuild of one target loads the targets outside its rack, as highest by mean, over 400 tiles.

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use stanchion::failure_domain::{
    DomainTree, FileId, Layout, LayoutSettings, PermutationMode, TargetAddress, UnitAddress, Units,
};

fn main() {
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let parts: [(&str, fn()); 3] = [("maps", maps), ("memory", memory), ("load", load)];
    for (name, part) in parts {
        if named.is_empty() || named.iter().any(|wanted| wanted == name) {
            part();
        }
    }
}

/// Counts the bytes that are allocated at the moment.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        ALLOCATED.fetch_add(block.size(), Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, address: *mut u8, block: Block) {
        ALLOCATED.fetch_sub(block.size(), Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(address, block) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What something keeps, in bytes.
fn kept<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.load(Ordering::Relaxed);
    let made = make();
    (made, ALLOCATED.load(Ordering::Relaxed) - before)
}

fn units(data: u32, parity: u32, spare: u32) -> Units {
    Units {
        data,
        parity,
        spare,
    }
}

/// Every domain of a level has as many children.
fn regular(degrees: &[u32]) -> Vec<Vec<u32>> {
    tree_of(degrees.len(), |level, _| degrees[level])
}

/// Domains with a tenth more or fewer children.
fn unlike(degrees: &[u32]) -> Vec<Vec<u32>> {
    let mut numbers = scattered(u64::MAX);
    tree_of(degrees.len(), |level, _| {
        let degree = degrees[level];
        let spread = if level == 0 { 0 } else { degree / 5 };
        degree - spread / 2 + (numbers.next().unwrap_or(0) % u64::from(spread + 1)) as u32
    })
}

/// The first rack has a single target.
fn with_a_small_rack(degrees: &[u32]) -> Vec<Vec<u32>> {
    tree_of(degrees.len(), |level, index| match (level, index) {
        (1.., 0) => 1,
        _ => degrees[level],
    })
}

fn tree_of(depth: usize, mut degree: impl FnMut(usize, usize) -> u32) -> Vec<Vec<u32>> {
    let mut width = 1;
    let levels = (0..depth).map(|level| {
        let degrees: Vec<u32> = (0..width).map(|index| degree(level, index)).collect();
        width = degrees.iter().sum::<u32>() as usize;
        degrees
    });
    levels.collect()
}

fn layout(degrees: &[Vec<u32>], units: Units, mode: PermutationMode) -> Layout {
    let settings = LayoutSettings {
        mode,
        water_filling: true,
        ..LayoutSettings::new(units)
    };
    let tree = DomainTree::from_degrees(degrees).expect("a tree");
    Layout::new(Arc::new(tree), &settings).expect("a layout")
}

struct Case {
    kind: &'static str,
    degrees: Vec<u32>,
    tree: Vec<Vec<u32>>,
    units: Units,
}

fn cases() -> Vec<Case> {
    type Make = fn(&[u32]) -> Vec<Vec<u32>>;
    let case = |kind, make: Make, degrees: &[u32], units| Case {
        kind,
        degrees: degrees.to_vec(),
        tree: make(degrees),
        units,
    };
    vec![
        case("regular", regular, &[8, 7, 2, 4], units(8, 2, 2)),
        case("regular", regular, &[8, 7, 2, 82], units(8, 2, 2)),
        case("regular", regular, &[10, 10, 10, 10], units(17, 3, 3)),
        case("regular", regular, &[20, 10, 10, 50], units(8, 2, 2)),
        case("regular", regular, &[100, 100, 100], units(8, 2, 1)),
        case("regular", regular, &[10; 6], units(8, 2, 2)),
        case("regular", regular, &[60000], units(8, 2, 1)),
        case("unlike", unlike, &[8, 7, 10], units(8, 2, 2)),
        case("unlike", unlike, &[20, 10, 10, 50], units(8, 2, 2)),
        case("unlike", unlike, &[100, 100, 100], units(8, 2, 1)),
        case("filled", with_a_small_rack, &[5, 8, 10], units(17, 3, 3)),
        case(
            "filled",
            with_a_small_rack,
            &[10, 10, 10, 100],
            units(17, 3, 3),
        ),
        case(
            "filled",
            with_a_small_rack,
            &[10, 100, 1000],
            units(17, 3, 3),
        ),
    ]
}

/// Like 8x7x2x4.
fn name(degrees: &[u32]) -> String {
    let parts: Vec<String> = degrees.iter().map(u32::to_string).collect();
    parts.join("x")
}

/// Numbers that jump about.
fn scattered(limit: u64) -> impl Iterator<Item = u64> {
    let mut state = 1_u64;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((u128::from(state) * u128::from(limit)) >> 64) as u64
    })
}

/// The best of many short runs, in nanoseconds a call: what else runs on the machine disturbs only some.
fn nanoseconds(calls: &[u64], mut call: impl FnMut(u64)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        let start = Instant::now();
        calls.iter().for_each(|&number| call(number));
        best = best.min(start.elapsed().as_nanos() as f64 / calls.len() as f64);
    }
    best
}

/// Groups or frames of one tile, units and targets at random; warm.
fn maps() {
    println!("maps, ns a call                              declustered      like Motr");
    println!("tree                     units      targets  there   back   there   back");
    for case in cases() {
        let declustered = layout(&case.tree, case.units, PermutationMode::Declustered);
        let (there, back) = map_times(&declustered);
        let motr = map_times(&layout(&case.tree, case.units, PermutationMode::Motr));
        println!(
            "{:8} {:15} {:>6} {:12} {there:6.0} {back:6.0} {:7.0} {:6.0}",
            case.kind,
            name(&case.degrees),
            text(case.units),
            declustered.tree().leaf_count(),
            motr.0,
            motr.1
        );
    }
}

fn text(units: Units) -> String {
    format!("{}+{}+{}", units.data, units.parity, units.spare)
}

fn memory() {
    println!("\nmemory                   domains   bytes a domain: tree   layout");
    for case in cases() {
        let domains: usize = case
            .tree
            .iter()
            .flatten()
            .map(|&degree| degree as usize)
            .sum();
        let (tree, of_tree) =
            kept(|| Arc::new(DomainTree::from_degrees(&case.tree).expect("a tree")));
        let settings = LayoutSettings {
            water_filling: true,
            ..LayoutSettings::new(case.units)
        };
        let (layout, of_layout) = kept(|| Layout::new(tree.clone(), &settings));
        black_box(layout.expect("a layout"));
        println!(
            "{:8} {:15} {domains:8} {:22.1} {:8.1}",
            case.kind,
            name(&case.degrees),
            of_tree as f64 / domains as f64,
            of_layout as f64 / domains as f64
        );
    }
}

fn map_times(layout: &Layout) -> (f64, f64) {
    let file = FileId {
        container: 7,
        key: 9,
    };
    let (rows, groups) = layout.tile();
    let targets = layout.tree().leaf_count() as u64;
    // All in one tile: the tables of Motr's permutations are made once.
    let calls: Vec<u64> = scattered(u64::MAX).take(2000).collect();
    let there = nanoseconds(&calls, |number| {
        let source = UnitAddress {
            group: 5 * groups + number % groups,
            unit: ((number >> 32) % layout.group_size()) as u32,
        };
        let _ = black_box(layout.place(file, source));
    });
    let back = nanoseconds(&calls, |number| {
        let place = TargetAddress {
            target: number % targets,
            frame: 5 * rows + (number >> 32) % rows,
        };
        let _ = black_box(layout.source(file, place));
    });
    (there, back)
}

fn load() {
    println!("\nload of a rebuild, highest by mean, 400 tiles, every target of many files");
    println!(
        "tree          units   draws  median  worst  above  idle  all targets: median  worst   like Motr: median  idle"
    );
    for (degrees, units, files, most) in [
        (vec![4, 3, 4], units(6, 2, 0), 60, 1.5),
        (vec![6, 4, 4], units(6, 2, 0), 60, 1.5),
        (vec![8, 2, 4], units(8, 2, 2), 60, 1.5),
        (vec![4, 4, 4], units(4, 1, 0), 60, 1.5),
        (vec![8, 7, 2, 4], units(8, 2, 2), 12, 2.0),
    ] {
        let tree = regular(&degrees);
        let (ours, motr) = (
            layout(&tree, units, PermutationMode::Declustered),
            layout(&tree, units, PermutationMode::Motr),
        );
        let (loads, motr) = (loads(&ours, files), loads(&motr, 3));
        let above = loads.outside.iter().filter(|&&load| load > most).count();
        println!(
            "{:12} {:>6} {:7} {:7.2} {:6.2} {above:6} {:4.0}% {:20.2} {:6.2} {:19.1} {:4.0}%",
            name(&degrees),
            text(units),
            loads.outside.len(),
            loads.outside[loads.outside.len() / 2],
            loads.outside[loads.outside.len() - 1],
            loads.idle,
            loads.all[loads.all.len() / 2],
            loads.all[loads.all.len() - 1],
            motr.outside[motr.outside.len() / 2],
            motr.idle
        );
    }
}

/// How the rebuild of each target loads the others.
#[derive(Default)]
struct Loads {
    /// Highest by mean outside of the rack, ascending.
    outside: Vec<f64>,
    /// The same with the rack.
    all: Vec<f64>,
    /// Survivors outside that never had any to do, in percent.
    idle: f64,
}

fn loads(layout: &Layout, files: u64) -> Loads {
    let mut loads = Loads::default();
    for key in 0..files {
        let file = FileId { container: 1, key };
        let shared = shared_groups(layout, file);
        for (failed, shared) in shared.iter().enumerate() {
            loads.add(layout.tree(), failed, shared);
        }
    }
    loads.outside.sort_by(f64::total_cmp);
    loads.all.sort_by(f64::total_cmp);
    loads.idle *= 100.0 / loads.outside.len() as f64;
    loads
}

/// Of every two targets: how many groups have units on both.
fn shared_groups(layout: &Layout, file: FileId) -> Vec<Vec<u32>> {
    let targets = layout.tree().leaf_count();
    let mut shared = vec![vec![0; targets]; targets];
    for group in 0..400 * layout.tile().1 {
        let place = |unit| {
            layout
                .place(file, UnitAddress { group, unit })
                .expect("a unit")
        };
        let of_group: Vec<usize> = (0..layout.group_size() as u32)
            .map(|unit| place(unit).target as usize)
            .collect();
        for &one in &of_group {
            of_group.iter().for_each(|&other| shared[one][other] += 1);
        }
    }
    shared
}

impl Loads {
    fn add(&mut self, tree: &DomainTree, failed: usize, shared: &[u32]) {
        let rack = tree.leaves_below(tree.ancestor(failed, 0));
        let of = |targets: &mut dyn Iterator<Item = usize>| {
            let loads: Vec<u32> = targets.map(|target| shared[target]).collect();
            let mean = loads.iter().sum::<u32>() as f64 / loads.len() as f64;
            let most = loads.iter().copied().max().unwrap_or(0) as f64;
            let idle = loads.iter().filter(|&&load| load == 0).count() as f64;
            (most / mean, idle / loads.len() as f64)
        };
        let (outside, idle) = of(&mut (0..shared.len()).filter(|target| !rack.contains(target)));
        let (all, _) = of(&mut (0..shared.len()).filter(|&target| target != failed));
        self.outside.push(outside);
        self.all.push(all);
        self.idle += idle;
    }
}
