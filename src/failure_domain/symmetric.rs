//! Symmetric trees, in which all domains of a level have the same number of children, and the failures that a group
//! spread over one tolerates.
//!
//! A group of G units is split evenly among the n domains of a level: each holds q = G / n units, and G mod n of them,
//! the *heavy* ones, hold one more. This holds at all levels at once; all tolerances follow from it.

use super::{DomainTree, Error, Result};

/// The units of a parity group, in this order: N data, K parity, S spare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    pub data: u32,
    pub parity: u32,
    pub spare: u32,
}

impl Units {
    /// G = N + K + S.
    pub fn total(&self) -> Result<u64> {
        let total = u64::from(self.data) + u64::from(self.parity) + u64::from(self.spare);
        if self.data == 0 || total > u64::from(u32::MAX) {
            return Err(Error::GroupSize);
        }
        Ok(total)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymmetricTree {
    degrees: Vec<u32>,
    /// The number of domains in each level.
    nodes: Vec<u64>,
}

/// For each level: how many failures every group survives, if all of them are in that level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupTolerance {
    /// The largest such number.
    pub exact: Vec<u32>,
    /// Bound B, K / ceil(G / n): never larger than `exact`. The polytope is made from it.
    pub bound: Vec<u32>,
}

impl SymmetricTree {
    /// From the number of children of the root, of each domain of level 0, and so on.
    pub fn new(degrees: &[u32]) -> Result<SymmetricTree> {
        if degrees.is_empty() || degrees.contains(&0) {
            return Err(Error::Empty);
        }
        let mut nodes = Vec::with_capacity(degrees.len());
        let mut width: u64 = 1;
        for &degree in degrees {
            width *= u64::from(degree);
            if width > u64::from(u32::MAX) {
                return Err(Error::TooWide);
            }
            nodes.push(width);
        }
        let degrees = degrees.to_vec();
        Ok(SymmetricTree { degrees, nodes })
    }

    /// The largest symmetric tree within the given levels (ascending) of a tree: all domains of the first level, and in
    /// each further level the minimum number of children.
    pub fn within(tree: &DomainTree, levels: &[usize]) -> Result<SymmetricTree> {
        let mut degrees = Vec::with_capacity(levels.len());
        let mut above = None;
        for &level in levels {
            let least = tree.fan_outs(above, level).min().unwrap_or(0);
            degrees.push(least as u32);
            above = Some(level);
        }
        SymmetricTree::new(&degrees)
    }

    pub fn depth(&self) -> usize {
        self.degrees.len()
    }

    pub fn degrees(&self) -> &[u32] {
        &self.degrees
    }

    /// The number of domains in a level.
    pub fn nodes(&self, level: usize) -> u64 {
        self.nodes[level]
    }

    pub fn targets(&self) -> u64 {
        self.nodes.last().copied().unwrap_or(0)
    }

    /// The size of a group; an error if there are fewer targets than units.
    pub fn group(&self, units: Units) -> Result<u64> {
        let (total, targets) = (units.total()?, self.targets());
        if total > targets {
            return Err(Error::TooFewTargets {
                units: total,
                targets,
            });
        }
        Ok(total)
    }

    pub fn tolerance(&self, units: Units) -> Result<GroupTolerance> {
        let group = self.group(units)?;
        let parity = u64::from(units.parity);
        let exact = self
            .nodes
            .iter()
            .map(|&nodes| most(group, nodes, parity) as u32);
        let bound = self
            .nodes
            .iter()
            .map(|&nodes| (parity / group.div_ceil(nodes)) as u32);
        Ok(GroupTolerance {
            exact: exact.collect(),
            bound: bound.collect(),
        })
    }

    /// Fails with the first level that tolerates fewer failures than wanted.
    pub fn check(&self, units: Units, wanted: &[u32]) -> Result<()> {
        let possible = self.tolerance(units)?.exact;
        if wanted.len() != self.depth() {
            return Err(Error::Levels {
                found: wanted.len(),
                wanted: self.depth(),
            });
        }
        for (level, (&wanted, possible)) in wanted.iter().zip(possible).enumerate() {
            if wanted > possible {
                return Err(Error::Unmet {
                    level,
                    wanted,
                    possible,
                });
            }
        }
        Ok(())
    }
}

/// The units that a group loses in the worst case when `failed` of `nodes` domains of a level fail.
pub(super) fn loss(group: u64, nodes: u64, failed: u64) -> u64 {
    failed * (group / nodes) + failed.min(group % nodes)
}

/// The largest number of failed domains, of `nodes`, that costs every group at most `parity` units.
fn most(group: u64, nodes: u64, parity: u64) -> u64 {
    let (each, heavy) = (group / nodes, group % nodes);
    let most = match parity / (each + 1) {
        failed if failed < heavy => failed,
        _ if each == 0 => nodes,
        _ => (parity - heavy) / each,
    };
    most.min(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const WIDE: Units = Units {
        data: 8,
        parity: 2,
        spare: 2,
    };

    fn units(data: u32, parity: u32, spare: u32) -> Units {
        Units {
            data,
            parity,
            spare,
        }
    }

    #[test]
    fn tolerance_is_as_published() {
        for (degrees, wanted) in [
            ([8, 7, 2, 4], [1, 2, 2, 2]),
            ([4, 3, 2, 6], [0, 2, 2, 2]),
            ([6, 2, 2, 8], [1, 2, 2, 2]),
            ([12, 1, 1, 4], [2, 2, 2, 2]),
            ([2, 3, 2, 4], [0, 1, 2, 2]),
        ] {
            let tolerance = SymmetricTree::new(&degrees)
                .unwrap()
                .tolerance(WIDE)
                .unwrap();
            assert_eq!(tolerance.exact, wanted, "{degrees:?}");
            assert_eq!(tolerance.bound, wanted, "{degrees:?}");
        }
        let document = SymmetricTree::new(&[9, 2, 2, 4]).unwrap();
        let tolerance = document.tolerance(units(8, 5, 5)).unwrap();
        assert_eq!(tolerance.bound, [2, 5, 5, 5]);
    }

    #[test]
    fn bound_b_is_no_upper_bound() {
        let tree = SymmetricTree::new(&[5, 2]).unwrap();
        let tolerance = tree.tolerance(units(3, 3, 0)).unwrap();
        assert_eq!((tolerance.bound[0], tolerance.exact[0]), (1, 2));
    }

    #[test]
    fn the_exact_tolerance_is_the_largest() {
        for nodes in 1..20 {
            for group in 1..20 {
                for parity in 0..group {
                    let most = most(group, nodes, parity);
                    assert!(loss(group, nodes, most) <= parity);
                    assert!(most == nodes || loss(group, nodes, most + 1) > parity);
                }
            }
        }
    }

    #[test]
    fn vectors_are_checked_at_every_level() {
        // Upstream accepts this one: three controllers hold 6 units.
        let tree = SymmetricTree::new(&[2, 3, 2, 4]).unwrap();
        let unmet = tree.check(units(5, 5, 5), &[0, 1, 3, 5]).unwrap_err();
        let (level, wanted, possible) = (2, 3, 2);
        assert_eq!(
            unmet,
            Error::Unmet {
                level,
                wanted,
                possible
            }
        );
        assert_eq!(tree.check(units(5, 5, 5), &[0, 1, 2, 5]), Ok(()));
        assert!(matches!(
            tree.check(units(5, 5, 5), &[0, 1]),
            Err(Error::Levels { .. })
        ));
    }

    #[test]
    fn the_largest_symmetric_tree_within_another() {
        let tree = DomainTree::from_degrees(&[vec![4], vec![3, 3, 3, 2]]).unwrap();
        let whole = SymmetricTree::within(&tree, &[0, 1]).unwrap();
        assert_eq!(whole.degrees(), [4, 2]);
        assert_eq!(whole.tolerance(units(6, 2, 0)).unwrap().exact, [1, 2]);
        assert_eq!(SymmetricTree::within(&tree, &[1]).unwrap().degrees(), [11]);
        let tree = DomainTree::from_degrees(&[vec![2], vec![2, 4]]).unwrap();
        let small = SymmetricTree::within(&tree, &[0, 1]).unwrap();
        assert_eq!(small.degrees(), [2, 2]);
        assert_eq!(small.tolerance(units(3, 1, 0)).unwrap().exact, [0, 1]);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let tree = SymmetricTree::new(&[2, 3]).unwrap();
        assert!(tree.tolerance(units(4, 1, 1)).is_ok());
        let (units_, targets) = (7, 6);
        let error = Error::TooFewTargets {
            units: units_,
            targets,
        };
        assert_eq!(tree.tolerance(units(5, 1, 1)), Err(error));
        assert_eq!(tree.tolerance(units(0, 1, 1)), Err(Error::GroupSize));
        assert_eq!(tree.tolerance(units(u32::MAX, 1, 1)), Err(Error::GroupSize));
        assert_eq!(SymmetricTree::new(&[]), Err(Error::Empty));
        assert_eq!(SymmetricTree::new(&[3, 0]), Err(Error::Empty));
        assert_eq!(SymmetricTree::new(&[1 << 16, 1 << 16]), Err(Error::TooWide));
    }
}
