//! How a rebuild loads the targets that are left.

use super::*;

/// For each failed target: the load of its rebuild on the targets outside its rack, maximum by mean.
fn rebuild_loads(layout: &Layout, file: FileId, tiles: u64) -> Vec<f64> {
    let targets = layout.tree().leaf_count();
    let mut shared = vec![vec![0_u32; targets]; targets];
    for group in 0..tiles * layout.tile().1 {
        let of_group = targets_of(layout, file, group);
        for &one in &of_group {
            of_group.iter().for_each(|&other| shared[one][other] += 1);
        }
    }
    let load = |failed: usize| {
        let tree = layout.tree();
        let rack = tree.leaves_below(tree.ancestor(failed, 0));
        let outside = (0..targets).filter(|target| !rack.contains(target));
        let loads: Vec<f64> = outside
            .map(|target| shared[failed][target].into())
            .collect();
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        loads.iter().copied().fold(0.0, f64::max) / mean
    };
    (0..targets).map(load).collect()
}

#[test]
fn a_rebuild_loads_all_survivors_alike() {
    // Motr's permutations give 4 to 31.
    for (degrees, group, files, most) in [
        (vec![4, 3, 4], units(6, 2, 0), 10, 1.5),
        (vec![6, 4, 4], units(6, 2, 0), 10, 1.5),
        (vec![8, 2, 4], units(8, 2, 2), 5, 1.5),
        (vec![4, 4, 4], units(4, 1, 0), 5, 1.5),
        (vec![8, 7, 2, 4], units(8, 2, 2), 1, 2.0),
    ] {
        let layout = layout(&regular(&degrees), group);
        for key in 0..files {
            let loads = rebuild_loads(&layout, FileId { container: 1, key }, 400);
            let highest = loads.into_iter().fold(0.0, f64::max);
            assert!(highest <= most, "{degrees:?}: {highest}");
        }
    }
}

/// Parity must move between racks: reads of data would otherwise leave one rack idle.
#[test]
fn parity_goes_around_among_racks() {
    for (degrees, group) in [
        (vec![6, 4, 4], units(5, 1, 0)),
        (vec![6, 4, 2], units(11, 1, 0)),
    ] {
        let layout = layout(&regular(&degrees), group);
        let (rows, groups) = layout.tile();
        assert_eq!(rows, 1);
        let rack = |group| {
            let parity = targets_of(&layout, FILE, group).pop().unwrap();
            layout.tree().ancestor(parity, 0).index
        };
        let mut held = [0; 6];
        (0..12 * groups).for_each(|group| held[rack(group)] += 1);
        assert!(held.iter().all(|&held| held < 4 * groups), "{held:?}");
    }
}
