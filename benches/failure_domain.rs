//! Speed and quality of failure-domain layouts.
//!
//! cargo bench --bench failure_domain
//!
//! Maps: nanoseconds a call, both ways, for trees of growing size. Load: how evenly the rebuild of one target loads
//! the targets outside its rack, as highest by mean, over 400 tiles.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use stanchion::failure_domain::{File, Layout, Mode, Place, Settings, Source, Tree, Units};

fn main() {
    maps();
    load();
}

fn units(data: u32, parity: u32, spare: u32) -> Units {
    Units {
        data,
        parity,
        spare,
    }
}

/// Every domain of a level has as many children.
fn regular(degrees: &[u32]) -> Arc<Tree> {
    let mut levels = Vec::new();
    let mut width = 1;
    for &degree in degrees {
        levels.push(vec![degree; width]);
        width *= degree as usize;
    }
    Arc::new(Tree::from_degrees(&levels).expect("a tree"))
}

fn layout(degrees: &[u32], units: Units, mode: Mode) -> Layout {
    let settings = Settings {
        mode,
        ..Settings::new(units)
    };
    Layout::new(regular(degrees), &settings).expect("a layout")
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

/// Groups or frames of one tile after another, units and targets at random; warm.
fn maps() {
    println!("maps, ns a call                     declustered      like Motr");
    println!("tree              units      targets  there   back   there   back");
    for (degrees, units) in [
        (vec![8, 7, 2, 4], units(8, 2, 2)),
        (vec![8, 7, 2, 82], units(8, 2, 2)),
        (vec![10, 10, 10, 10], units(17, 3, 3)),
        (vec![20, 10, 10, 50], units(8, 2, 2)),
        (vec![100, 100, 100], units(8, 2, 1)),
        (vec![60000], units(8, 2, 1)),
    ] {
        let targets: u64 = degrees.iter().map(|&degree| u64::from(degree)).product();
        let (there, back) = map_times(&layout(&degrees, units, Mode::Declustered));
        let motr = map_times(&layout(&degrees, units, Mode::Motr));
        println!(
            "{:16} {:>6} {targets:12} {there:6.0} {back:6.0} {:7.0} {:6.0}",
            name(&degrees),
            format!("{}+{}+{}", units.data, units.parity, units.spare),
            motr.0,
            motr.1
        );
    }
}

fn map_times(layout: &Layout) -> (f64, f64) {
    let file = File {
        container: 7,
        key: 9,
    };
    let (rows, groups) = layout.tile();
    let targets = layout.tree().leaf_count() as u64;
    // All in one tile: the tables of Motr's permutations are made once.
    let calls: Vec<u64> = scattered(u64::MAX).take(2000).collect();
    let there = nanoseconds(&calls, |number| {
        let source = Source {
            group: 5 * groups + number % groups,
            unit: ((number >> 32) % layout.group_size()) as u32,
        };
        let _ = black_box(layout.place(file, source));
    });
    let back = nanoseconds(&calls, |number| {
        let place = Place {
            target: number % targets,
            frame: 5 * rows + (number >> 32) % rows,
        };
        let _ = black_box(layout.source(file, place));
    });
    (there, back)
}

fn load() {
    println!("\nload of a rebuild, highest by mean, 400 tiles, 30 files and targets");
    println!("tree             units    median  worst  idle   like Motr: median  idle");
    for (degrees, units) in [
        (vec![4, 3, 4], units(6, 2, 0)),
        (vec![6, 4, 4], units(6, 2, 0)),
        (vec![8, 2, 4], units(8, 2, 2)),
        (vec![4, 4, 4], units(4, 1, 0)),
        (vec![8, 7, 2, 4], units(8, 2, 2)),
    ] {
        let (loads, idle) = loads(&layout(&degrees, units, Mode::Declustered));
        let (motr, motr_idle) = loads_like_motr(&degrees, units);
        println!(
            "{:16} {:>6} {:8.2} {:6.2} {:4.0}% {motr:19.1} {motr_idle:4.0}%",
            name(&degrees),
            format!("{}+{}+{}", units.data, units.parity, units.spare),
            loads[loads.len() / 2],
            loads[loads.len() - 1],
            idle
        );
    }
}

fn loads_like_motr(degrees: &[u32], units: Units) -> (f64, f64) {
    let (loads, idle) = loads(&layout(degrees, units, Mode::Motr));
    (loads[loads.len() / 2], idle)
}

/// Ascending, with the share of survivors that never had any to do, in percent.
fn loads(layout: &Layout) -> (Vec<f64>, f64) {
    let targets = layout.tree().leaf_count() as u64;
    let picks = scattered(targets).take(30).zip(0..);
    let (mut loads, mut idle) = (Vec::new(), 0.0);
    for (failed, key) in picks {
        let file = File { container: 1, key };
        let (load, without) = load_outside(layout, file, failed);
        loads.push(load);
        idle += without / 30.0;
    }
    loads.sort_by(f64::total_cmp);
    (loads, idle)
}

fn load_outside(layout: &Layout, file: File, failed: u64) -> (f64, f64) {
    let tree = layout.tree();
    let mut load = vec![0_u64; tree.leaf_count()];
    for frame in 0..400 * layout.tile().0 {
        let place = Place {
            target: failed,
            frame,
        };
        let Ok(Some(source)) = layout.source(file, place) else {
            continue;
        };
        for unit in 0..layout.group_size() as u32 {
            let place = layout.place(file, Source { unit, ..source });
            load[place.expect("a unit").target as usize] += 1;
        }
    }
    let rack = tree.leaves_below(tree.ancestor(failed as usize, 0));
    let outside = || (0..load.len()).filter(|target| !rack.contains(target));
    let count = outside().count() as f64;
    let mean = outside().map(|target| load[target]).sum::<u64>() as f64 / count;
    let most = outside().map(|target| load[target]).max().unwrap_or(0) as f64;
    let without = outside().filter(|&target| load[target] == 0).count() as f64;
    (most / mean, 100.0 * without / count)
}
