//! Properties that all layouts have, and published values.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

mod errors;
mod levels;
mod load;
mod maps;
mod sparing;
mod water_filling;

pub(super) const FILE: FileId = FileId {
    container: 7,
    key: 9,
};

pub(super) fn units(data: u32, parity: u32, spare: u32) -> Units {
    Units {
        data,
        parity,
        spare,
    }
}

/// A symmetric tree.
pub(super) fn regular(degrees: &[u32]) -> Arc<DomainTree> {
    let mut width = 1;
    let levels = degrees.iter().map(|&degree| {
        let level = vec![degree; width];
        width *= degree as usize;
        level
    });
    Arc::new(DomainTree::from_degrees(&levels.collect::<Vec<_>>()).unwrap())
}

/// Racks with these numbers of targets.
fn racks(sizes: &[u32]) -> Arc<DomainTree> {
    let degrees = [vec![sizes.len() as u32], sizes.to_vec()];
    Arc::new(DomainTree::from_degrees(&degrees).unwrap())
}

pub(super) fn layout(tree: &Arc<DomainTree>, units: Units) -> Layout {
    Layout::new(tree.clone(), &LayoutSettings::new(units)).unwrap()
}

pub(super) fn targets_of(layout: &Layout, file: FileId, group: u64) -> Vec<usize> {
    let place = |unit| layout.place(file, UnitAddress { group, unit }).unwrap();
    let all = 0..layout.group_size() as u32;
    all.map(|unit| place(unit).target as usize).collect()
}

fn units_below(tree: &DomainTree, domain: Domain, targets: &[usize]) -> u64 {
    let leaves = tree.leaves_below(domain);
    targets.iter().filter(|leaf| leaves.contains(leaf)).count() as u64
}

/// Degrees of a tree, level by level.
fn degrees(depth: usize, seed: &[u32]) -> Vec<Vec<u32>> {
    let mut seed = seed.iter().cycle();
    let mut width = 1;
    let levels = (0..depth).map(|_| {
        let level: Vec<u32> = seed.by_ref().take(width).copied().collect();
        width = level.iter().sum::<u32>() as usize;
        level
    });
    levels.collect()
}

prop_compose! {
    pub(super) fn any_tree()(depth in 1_usize..5, seed in prop::collection::vec(1_u32..5, 1..9)) -> Arc<DomainTree> {
        Arc::new(DomainTree::from_degrees(&degrees(depth, &seed)).unwrap())
    }
}

/// Group sizes from 1 to `most`.
pub(super) fn any_units(most: u64, share: (u32, u32, u32)) -> Units {
    let group = 1 + u64::from(share.0) % most;
    let parity = u64::from(share.1) % group;
    let spare = u64::from(share.2) % (group - parity);
    units((group - parity - spare) as u32, parity as u32, spare as u32)
}
