//! How long placement takes, from paths to sets and their tolerance, on one core.
//!
//! cargo bench --bench placement [-- repetitions]
//!
//! Shows the best of the repetitions: all of it, and how much of it the tree of domains takes; for jobs of even and
//! uneven nodes, and for jobs where ranks must be exchanged. Then how long answers take.

use std::time::{Duration, Instant};

use stanchion::failure_domain::placement::{
    Placement, PlacementRequest, PlacementScheme, SEPARATOR,
};
use stanchion::failure_domain::{Domain, DomainTree};

/// One path a rank: racks of chassis of 16 nodes. Nodes have `ranks` ranks; if uneven, every seventh has twice as many.
fn paths(count: usize, ranks: usize, uneven: bool) -> Vec<String> {
    let mut paths = Vec::with_capacity(count);
    for node in 0.. {
        let (chassis, rack) = (node / 16, node / 128);
        let path = format!("rack{rack}/chassis{chassis}/node{node}");
        let more = if uneven && node % 7 == 0 { 2 } else { 1 };
        for _ in 0..ranks * more {
            if paths.len() == count {
                return paths;
            }
            paths.push(path.clone());
        }
    }
    paths
}

/// Racks, and nodes in them, of very different sizes: the stride rule misses what counting does not rule out.
fn odd_sizes(count: usize) -> Vec<String> {
    let mut paths = Vec::with_capacity(count);
    let mut chance: usize = 12345;
    let mut below = |most: usize| {
        chance = (chance * 1_103_515_245 + 12345) % (1 << 31);
        1 + (chance >> 8) % most
    };
    for rack in 0.. {
        for node in 0..below(count / 64) {
            for _ in 0..below(16) {
                if paths.len() == count {
                    return paths;
                }
                paths.push(format!("rack{rack}/node{node}"));
            }
        }
    }
    paths
}

fn best(repetitions: usize, mut work: impl FnMut()) -> Duration {
    let times = (0..repetitions).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn show(name: &str, paths: &[String], request: &PlacementRequest, repetitions: usize) {
    let place = || Placement::of_paths(paths, request).expect("the job can be placed");
    let whole = best(repetitions, || drop(std::hint::black_box(place())));
    let tree = best(repetitions, || {
        drop(std::hint::black_box(DomainTree::of_ranks(paths, SEPARATOR)))
    });
    let placement = place();
    let tolerance: Vec<_> = placement.tolerance().iter().map(|t| t.any).collect();
    println!(
        "{:>9} ranks  {name:<28} {:9.2} ms, of it the tree {:8.2} ms; {} sets, tolerance {tolerance:?}",
        paths.len(),
        milliseconds(whole),
        milliseconds(tree),
        placement.sets().count(),
    );
}

fn show_questions(paths: &[String], request: &PlacementRequest, repetitions: usize) {
    let placement = Placement::of_paths(paths, request).expect("the job can be placed");
    let racks = [0, 1].map(|index| Domain { level: 0, index });
    let verdict = best(repetitions, || {
        std::hint::black_box(placement.lost_set(&racks));
    });
    let report = best(repetitions, || drop(placement.report()));
    println!(
        "{:>9} ranks  two racks fail: verdict in {:.3} ms; report in {:.1} ms",
        paths.len(),
        milliseconds(verdict),
        milliseconds(report)
    );
}

fn main() {
    let given = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let repetitions = given.unwrap_or(5);
    let rs = PlacementRequest::new(PlacementScheme::ReedSolomon { k: 2 }, 16);
    for count in [10_000, 100_000, 1_000_000] {
        let even = paths(count, 8, false);
        let uneven = paths(count, 7, true);
        show("RS 16, k 2", &even, &rs, repetitions);
        show("RS 16, k 2, uneven", &uneven, &rs, repetitions);
        show(
            "XOR 8",
            &even,
            &PlacementRequest::new(PlacementScheme::Xor, 8),
            repetitions,
        );
        show(
            "XOR 8, uneven",
            &uneven,
            &PlacementRequest::new(PlacementScheme::Xor, 8),
            repetitions,
        );
        let pairs = PlacementRequest::new(PlacementScheme::Partner { replicas: 1 }, 2);
        show("PARTNER, pairs", &even, &pairs, repetitions);
        let rings = PlacementRequest::new(PlacementScheme::Partner { replicas: 2 }, 8);
        show(
            "PARTNER, 2 copies, rings of 8",
            &uneven,
            &rings,
            repetitions,
        );
        let odd = odd_sizes(count);
        show(
            "RS 12, k 3, odd sizes",
            &odd,
            &PlacementRequest::new(PlacementScheme::ReedSolomon { k: 3 }, 12),
            1,
        );
        show(
            "PARTNER, 3 copies, odd sizes",
            &odd,
            &PlacementRequest::new(PlacementScheme::Partner { replicas: 3 }, 8),
            1,
        );
        show_questions(&even, &rs, 1);
        show_questions(&odd, &rs, 1);
    }
}
